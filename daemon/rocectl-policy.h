/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The policy that a verb judges by, and what its messages look like. */

#include <json-c/json.h>

#include "policy-load.h"
#include "rocectl.h"

typedef struct Judge {
        Policy *policy; /* NULL: there is none, or it does not load */
        Messages messages;
        int error; /* 0, -EBADMSG: it is invalid, else: it cannot be read */
} Judge;

/* Loads "file", NULL for the installed policy. What is wrong with it is kept in the judge; false: out of
 * memory, and said so. */
bool judge_load(const char *file, Judge *judge);
void judge_done(Judge *judge);

/* The exit code for a policy that does not load. */
int judge_code(const Judge *judge);

/* Prints messages on stderr, of that severity or worse. */
void messages_print(const Messages *messages, Severity least);

/* "file:line:column: text" of the first error, on one line; allocated. */
char *judge_first_error(const Judge *judge);

/* The warnings as lines of text. */
json_object *json_warnings(const Messages *messages);
