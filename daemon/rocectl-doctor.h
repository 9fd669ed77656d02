/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What "rocectl doctor" found, and the examinations that find it. Each finding has a word of the list in
 * rocectl(1), which scripts rely on. */

#include <json-c/json.h>

#include "rocectl-host.h"

typedef struct Finding {
        const char *id;
        char **where; /* ports, files or devices that it is about */
        size_t n_where;
        char *evidence;
        char *remedy;
} Finding;

typedef struct Findings {
        Finding *items;
        size_t n_items;
        char **unseen; /* what could not be looked at, and why */
        size_t n_unseen;
} Findings;

void findings_done(Findings *findings);

/* What is the same in several places is one finding. "where" may be NULL; takes "evidence" and "remedy"
 * over. */
void findings_add(Findings *findings, const char *id, const char *where, char *evidence, char *remedy);

/* Takes "text" over; says the same but once. */
void findings_add_unseen(Findings *findings, char *text);

/* "document" is that of "status --json". Each looks only, and at nothing that another one looks at. They stand in
 * the order in which they are to be called: what brings other findings about comes before them. */
void examine_devices(json_object *document, Findings *findings);
void examine_kernel(Findings *findings);
void examine_policy(const Host *host, json_object *document, Findings *findings);
void examine_policy_names(const Host *host, json_object *document, Findings *findings);
void examine_daemon(json_object *document, Findings *findings);
void examine_writers(Findings *findings);
void examine_ports(json_object *document, Findings *findings);
void examine_priorities(json_object *document, Findings *findings);
void examine_warnings(json_object *document, Findings *findings);
