/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the changes of a plan do to the ways from this host to others. */

#include <json-c/json.h>

#include "rocectl-fleet.h"
#include "rocectl-pass.h"

/* {"hosts", "cut_off": [{"device", "port", "from", "to", "certain", "hosts", "ports"}]}. Whom others reach
 * here does not hang on the mode of a port here. */
json_object *peers_judge(const Pass *pass, const Fleet *fleet);

/* The same in words. */
void peers_print(json_object *peers);
