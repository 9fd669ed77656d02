/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Documents that rocectl itself wrote, read back from files. */

#include <json-c/json.h>

typedef struct json_tokener JsonTokener;

/* A document of a schema that we know; "-" is standard input. NULL: it cannot be taken, and why not has been
 * said with its place. "tokener" is lent by the caller, since a new one for each file costs more than the
 * file. */
json_object *document_read(const char *file, JsonTokener *tokener);
