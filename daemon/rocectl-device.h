/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All there is to know of one device. */

#include <json-c/json.h>

#include "attribute.h"

/* Adds it to a device of the document. */
void device_add_detail(json_object *device);

/* Prints a device that has its detail. */
void device_print(json_object *device);

/* "RoCE v1, RoCE v2"; allocated. */
char *device_supported_text(json_object *port);

/* A line on an attribute of a port: found, wanted, state, since when, why. */
void device_print_attribute(json_object *port, Attribute attribute, unsigned indent);
