/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where results go: stdout, by way of a pager or not, with colour or not; tables; JSON. */

#include <json-c/json.h>

#include "rocectl.h"

typedef enum Tone {
        TONE_PLAIN,
        TONE_GOOD,
        TONE_FAINT,
        TONE_WARNING,
        TONE_BAD,
        _TONE_MAX,
} Tone;

/* Before anything is printed: finds out about the terminal, and starts a pager if results are to be paged.
 */
void output_open(const Options *options, bool paged);

/* After all is printed: waits for the pager. Gives "code", or CODE_FAILED where results could not be
 * written. */
int output_close(int code);

/* Whether people's text may hold more than ASCII. */
bool output_is_utf8(void);

/* A piece of text that came from elsewhere, on one line and visible; allocated. */
char *output_visible(const char *text);

/* printf(3) of one line to stdout, made visible as a whole; the newline is added. */
void output_line(const char *format, ...) PRINTF(1, 2);

/* "text" in the tone, where there is colour. */
void output_toned(Tone tone, const char *text);

void output_json(json_object *object);

typedef struct Table Table;
typedef struct Column {
        const char *name;
        bool right; /* numbers */
} Column;

/* Columns are given up to a NULL name. */
Table *table_new(const Options *options, const Column *columns);
Table *table_free(Table *table);
DEFINE_CLEANUP(Table *, table_free)

/* As many cells as columns; NULL shows as "-". "toned" is the number of the cell that bears the tone, -1:
 * none. */
void table_add(Table *table, const char *const *cells, int toned, Tone tone);
void table_print(Table *table);
