/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Each rule that was tried for a port, as JSON. */

#include <json-c/json.h>

#include "policy.h"

/* A list of {"name", "source", "enforcement", "result", "key", "property", "value", "patterns", "mode", "tos"} in the
 * order of the policy, up to the one that ended the search. "result" is "no", "wins" or "not-settled"; of the other
 * two "key", for a udev property with its name, is what decided, "value" what the port has (null: nothing) and
 * "patterns" what the rule takes. */
json_object *json_rules_tried(const Policy *policy, const Device *device, const Port *port);

/* The values that rules may ask for: {"device", "port", …, "function"}. */
json_object *json_match_values(const Device *device, const Port *port);
