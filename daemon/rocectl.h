/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the verbs of rocectl share: options, exit codes, and how an error is said. */

#include "base.h"

/* Exit codes; scripts rely on them. */
enum {
        CODE_DONE = 0,          /* done, and all that was looked at is compliant */
        CODE_FAILED = 1,        /* it could not be done */
        CODE_USAGE = 2,         /* wrong usage, or an invalid policy */
        CODE_NOT_COMPLIANT = 3, /* done, and not all is compliant, or nobody can say */
};

typedef struct Options {
        bool json;
        bool no_legend;
        bool no_pager;
        bool peers; /* of plan: the arguments are files of other hosts */
        bool quiet;
        const char *policy_file; /* NULL: the installed policy */
        const char *since;       /* of log; NULL: not given */
        const char *timeout;     /* of wait; NULL: not given */
} Options;

/* "arguments" are the words after the verb, NULL-terminated. Each gives an exit code. */
int verb_status(const Options *options, char **arguments);
int verb_check(const Options *options, char **arguments);
int verb_log(const Options *options, char **arguments);
int verb_metrics(const Options *options, char **arguments);
int verb_plan(const Options *options, char **arguments);
int verb_apply(const Options *options, char **arguments);
int verb_compat(const Options *options, char **arguments);
int verb_explain(const Options *options, char **arguments);
int verb_doctor(const Options *options, char **arguments);
int verb_generate(const Options *options, char **arguments);
int verb_wait(const Options *options, char **arguments);

/* One line on stderr, made visible; gives "code" back. */
int complain(int code, const char *format, ...) PRINTF(2, 3);

/* Ends the program if memory ran out. Only for what shows results: nothing may be half done then. */
void *need(const void *pointer);
#define NEED(pointer) ((__typeof__(pointer)) need(pointer))

/* Allocated text, as asprintf(3) makes it. */
char *need_text(const char *format, ...) PRINTF(1, 2);
