/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All there is to know of one device. */

#include <json-c/json.h>

/* Adds it to a device of the document. */
void device_add_detail(json_object *device);

/* Prints a device that has its detail. */
void device_print(json_object *device);
