/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The JSON shapes that the daemon's state file and "rocectl --json" share. All functions give a new object to be released with
 * json_object_put(). json-c ends the program if it is to add something to what there was no memory for; these leave it out, and
 * json_take_lost() says so. */

#include <json-c/json.h>

#include "reconcile.h"

#define JSON_SCHEMA 1

static inline void json_object_putp(json_object **object) {
        json_object_put(*object);
}
#define _cleanup_json_ _cleanup_(json_object_putp)

/* Whether something was left out since the last call: what was built is not to be shown then. */
bool json_take_lost(void);

json_object *json_map(void);
json_object *json_list(void);
json_object *json_integer(int64_t number);

/* Both own "value". */
void json_put(json_object *map, const char *key, json_object *value);
void json_push(json_object *list, json_object *value);

/* NULL becomes null. */
json_object *json_string(const char *text);

/* RFC 3339 in UTC with milliseconds; 0 becomes null. */
json_object *json_time(uint64_t realtime_usec);

/* A mode as "v1" or "v2", a TOS as a number, VALUE_NONE as null. */
json_object *json_value(Attribute attribute, int value);

/* {"wanted", "found", "state", "reason", "errno", "since"} */
json_object *json_verdict(const Verdict *verdict, Attribute attribute, uint64_t since_usec);

/* {"name", "source", "enforcement"} or null. */
json_object *json_rule(const Rule *rule, MatchResult match);

/* {"sha256", "files"}, without "stale" and "error"; null for no policy. */
json_object *json_policy(const Policy *policy);

/* Adds "driver", "pci", "node_guid", "function" to a device's object; all null without a device. */
void json_add_device(json_object *object, const Device *device);
