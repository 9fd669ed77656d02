/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How values, states and notes look in text, the same for every verb. */

#include <json-c/json.h>

#include "plan.h"
#include "rocectl-output.h"

Tone state_tone(State state);

/* The state that matters more of the two. */
State state_worse(State a, State b);

/* How roced is started, and made to load the policy on disk, with systemd or without:
 * '"systemctl start roced" starts it'. */
const char *advice_start(void);
const char *advice_reload(void);

/* "v2", or "v1→v2" where the value found is not the one wanted; allocated. */
char *values_format(const char *found, const char *wanted);

/* The text of "found" or "wanted" in the document; allocated, NULL if absent. */
char *value_text(json_object *verdict, const char *key);

/* Notes below a table. What is said of several ports is said once. */
typedef struct Note {
        char *text;
        char *where;     /* "mlx5_0/1, mlx5_0/2" */
        unsigned n_more; /* ports that are not named */
        unsigned n_named;
} Note;

typedef struct Notes {
        Note *items;
        size_t n_items;
} Notes;

void notes_done(Notes *notes);

/* Takes "text" over. */
void notes_add(Notes *notes, const char *device, unsigned port, char *text);
void notes_print(const Notes *notes);

/* "mode drifted, wanted v2, found v1: the rule only reports"; allocated. "verdict" as in the document. */
char *verdict_text(json_object *verdict, Attribute attribute);

/* What is not compliant in the document's "devices", and why. */
void print_troubles(json_object *devices);

/* "Warning: …", a line for each. */
void print_warnings(json_object *document);

/* "storage rail (/etc/roced/policy.yaml:4)", or without the directory; allocated, NULL: no rule. */
char *rule_text(json_object *rule, bool whole_path);

/* "n0, n1 and 3 more", of which "n_named" are named; allocated, "-" for none. */
char *texts_format(const char *const *texts, size_t n, size_t n_named);

/* A list of texts. */
json_object *json_texts(const char *const *texts, size_t n);
