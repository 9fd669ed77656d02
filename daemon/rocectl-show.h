/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How values, states and notes look in text, the same for every verb. */

#include <json-c/json.h>

#include "plan.h"
#include "rocectl-output.h"

Tone state_tone(State state);

/* The state that matters more of the two. */
State state_worse(State a, State b);

/* "v2", or "v1→v2" where the value found is not the one wanted; allocated. */
char *values_format(const char *found, const char *wanted);

/* The text of "found" or "wanted" in the document; allocated, NULL if absent. */
char *value_text(json_object *verdict, const char *key);

/* What is not compliant, a line for each attribute. */
void print_notes(json_object *devices);

/* "Warning: …", a line for each. */
void print_warnings(json_object *document);

/* "storage rail (policy.yaml:4)"; allocated, NULL: no rule. */
char *rule_text(json_object *rule);
