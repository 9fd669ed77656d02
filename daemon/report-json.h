/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The JSON shapes that the daemon's state file and "rocectl --json" share. All functions give a new object to be released with
 * json_object_put(), and abort on lack of memory no more than json-c does: NULL then. */

#include <json-c/json.h>

#include "reconcile.h"

#define JSON_SCHEMA 1

static inline void json_object_putp(json_object **object) {
        json_object_put(*object);
}
#define _cleanup_json_ _cleanup_(json_object_putp)

/* NULL becomes null, and a byte that is no UTF-8 becomes U+FFFD. */
json_object *json_string(const char *text);

/* RFC 3339 in UTC with milliseconds; 0 becomes null. */
json_object *json_time(uint64_t realtime_usec);

/* {"wanted", "found", "state", "reason", "errno", "since"} */
json_object *json_verdict(const Verdict *verdict, Attribute attribute, uint64_t since_usec);

/* {"name", "source", "enforcement"} or null. */
json_object *json_rule(const Rule *rule, MatchResult match);

/* {"sha256", "files"}, without "stale" and "error"; null for no policy. */
json_object *json_policy(const Policy *policy);

/* Adds "driver", "pci", "node_guid", "function" to a device's object; all null without a device. */
void json_add_device(json_object *object, const Device *device);
