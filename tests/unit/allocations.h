/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The test's own malloc(): fails when told to, and counts what is not freed. Not to be used with a sanitizer, which
 * has its own, too. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static bool counting = false;
static bool failed = false;
static bool fail_once = false;
static long n_live = 0, n_left = -1; /* -1: as many as one likes */

static bool allocation_fails(void) {
        if (!counting || n_left < 0)
                return false;
        if (n_left == 0) {
                errno = ENOMEM;
                failed = true;
                if (fail_once)
                        n_left = -1;
                return true;
        }
        n_left--;
        return false;
}

static void *count(void *memory) {
        if (counting && memory)
                n_live++;
        return memory;
}

__attribute__((visibility("default"))) void *malloc(size_t size) {
        return allocation_fails() ? NULL : count(__libc_malloc(size));
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size) {
        return allocation_fails() ? NULL : count(__libc_calloc(n, size));
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size) {
        if (allocation_fails())
                return NULL;
        return memory ? __libc_realloc(memory, size) : count(__libc_malloc(size));
}

__attribute__((visibility("default"))) void free(void *memory) {
        if (counting && memory)
                n_live--;
        __libc_free(memory);
}
