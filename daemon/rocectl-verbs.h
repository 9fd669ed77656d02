/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A device as libibverbs sees it. It shows only devices for which ib_uverbs and a provider library in user
 * space are there. */

#include <json-c/json.h>

#define VERBS_TEXT_MAX 256

typedef struct Verbs Verbs;

/* Says in "why_not", on one line, what is in the way where it gives NULL. */
Verbs *verbs_open(const char *device, char why_not[static VERBS_TEXT_MAX]);
Verbs *verbs_close(Verbs *verbs);

/* NULL: not known. */
const char *verbs_firmware(const Verbs *verbs);

/* The GIDs of a port, as sysfs_gids() gives them; NULL: cannot be read. */
json_object *verbs_gids(const Verbs *verbs, unsigned port);
