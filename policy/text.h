/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Characters and words as people see them: UTF-8, what does not show on a screen, the word that was meant.
 * Pure. */

#include <stddef.h>
#include <stdint.h>

#include "base.h"

#define CHARACTER_INVALID UINT32_MAX
#define CHARACTER_SHOWN_MAX 12
#define TEXT_SHOWN_MAX 256

/* Takes one character off the front of "size" > 0 bytes and returns its length in bytes. *ret is
 * CHARACTER_INVALID, and the length 1, where there is no valid UTF-8. */
size_t utf8_decode(const char *text, size_t size, uint32_t *ret);

/* Control characters, and line and paragraph separators: what must not be part of one line of text. */
bool character_is_control(uint32_t character);

/* The character as it is, or in YAML's spelling ("\t", "\x1b", "\u200b") if it would not show. Returns the
 * width on the screen. */
size_t character_show(const char *bytes, size_t size, char buffer[static CHARACTER_SHOWN_MAX]);

/* A piece of somebody's text for use in a message: on one line, visible, cut with "…" beyond some 60
 * characters. */
const char *text_show(const char *text, size_t size, char buffer[static TEXT_SHOWN_MAX]);

/* The whole text, made visible; allocated. */
char *text_make_visible(const char *text);

/* Makes of it, in place, what journal, service manager and terminals take for text: "?" for each control character that is not
 * among "keep", and for each byte that is no UTF-8. */
void text_make_plain(char *text, const char *keep);

bool text_has_control(const char *text, size_t size);

/* Names the first character that looks like plain text and is not: a no-break space, a full-width digit.
 * NULL: none. */
const char *text_find_lookalike(const char *text, size_t size, char buffer[static TEXT_SHOWN_MAX]);

/* The word that was most likely meant, or NULL: none is near, or several are. */
const char *text_nearest(const char *word, const char *const words[], size_t n_words);
