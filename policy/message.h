/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How messages come to be: collected, put in order, and pointed at a place in a file. Pure. */

#include <stdarg.h>
#include <stdint.h>

#include "policy-load.h"

/* A place in a file: line and column from 1, and how many characters from there on are meant (0 counts as
 * 1). */
typedef struct Place {
        unsigned line, column, length;
} Place;

/* One file while it is parsed. */
typedef struct Source {
        const PolicyText *text;
        unsigned file; /* its number in reading order */
        Messages *messages; /* NULL: errors are counted only */
        const char *bytes; /* without byte order mark; inside "text", or "copy" */
        size_t size;
        char *copy;
        unsigned n_errors;
        int error; /* 0, or -ENOMEM as soon as memory ran out */

        struct {
                unsigned line, column;
                size_t offset;
        } cursor; /* where the last place was found: messages come mostly in order */
} Source;

/* Errors of one file beyond this many are only counted. */
#define SOURCE_ERRORS_MAX 1000U

/* Adds a message about no place in a file, or (from "line", "column") without excerpt. 0 or -ENOMEM. */
int messages_add(Messages *messages, Severity severity, const char *path, unsigned file, unsigned line,
                 unsigned column, const char *format, ...) PRINTF(7, 8);

/* Appends all of "more" and empties it. 0 or -ENOMEM. */
int messages_move(Messages *messages, Messages *more);

void messages_sort(Messages *messages);

/* Adds an error at a place, with the line shown. "help" may be NULL. Out of memory is kept in source->error. */
void source_complain(Source *source, Place place, const char *help, const char *format, ...) PRINTF(4, 5);

/* Says how many errors were not shown, if any. */
void source_conclude(Source *source);

/* The offset in source->bytes of a place; the end of the line or text if the place is beyond it. */
size_t source_locate(Source *source, unsigned line, unsigned column);

/* SHA-256 in hex over the bytes of all texts. */
void policy_texts_hash(const PolicyText *texts, size_t n_texts, char ret[static 64 + 1]);
