/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Memory that is taken piece by piece and given back as a whole: a policy's rules, a file's nodes. */

#include <stddef.h>

#include "base.h"

typedef struct Arena Arena;

Arena *arena_new(void);
Arena *arena_free(Arena *arena); /* NULL passes; returns NULL */
DEFINE_CLEANUP(Arena *, arena_free)

/* Takes back all pieces at once; the memory stays for the next ones. */
void arena_clear(Arena *arena);

/* Zeroed and aligned for any type here; NULL out of memory. */
void *arena_alloc(Arena *arena, size_t size);

/* A NUL-terminated copy of "size" bytes. */
char *arena_copy(Arena *arena, const char *text, size_t size);
