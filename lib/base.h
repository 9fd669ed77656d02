/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The few idioms that every file here uses. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ELEMENTSOF(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define PRINTF(text, first) __attribute__((format(printf, text, first)))

#define USEC_PER_SEC 1000000ULL
#define USEC_PER_MSEC 1000ULL
#define NSEC_PER_SEC 1000000000ULL

/* Runs "function(&variable)" when the variable goes out of scope. */
#define _cleanup_(function) __attribute__((cleanup(function)))

/* Makes a cleanup function "function##p" for a pointer type whose release is "function". */
#define DEFINE_CLEANUP(type, function)                     \
        static inline void function##p(__typeof__(type) *pointer) { \
                if (*pointer)                              \
                        function(*pointer);                \
        }

static inline void freep(void *pointer) {
        free(*(void **) pointer);
}

/* Closes quietly, leaves errno alone; a negative fd is none. Returns -EBADF, to be assigned back. */
static inline int fd_close(int fd) {
        if (fd >= 0) {
                int saved = errno;

                close(fd);
                errno = saved;
        }
        return -EBADF;
}

static inline void fd_closep(const int *fd) {
        fd_close(*fd);
}

static inline void file_closep(FILE **file) {
        if (*file)
                fclose(*file);
}

/* Of "there is none" and "there is nothing left to look with" only the first is an answer. */
static inline bool error_is_shortage(int error) {
        return error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -EINTR || error == -EAGAIN;
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(fd_closep)
#define _cleanup_fclose_ _cleanup_(file_closep)

/* Hands ownership on: gives the pointer and leaves NULL behind. */
#define TAKE_PTR(pointer)                             \
        ({                                            \
                __typeof__(pointer) *_where = &(pointer); \
                __typeof__(pointer) _taken = *_where; \
                *_where = NULL;                       \
                _taken;                               \
        })

#define TAKE_FD(fd)                  \
        ({                           \
                int *_where = &(fd); \
                int _taken = *_where; \
                *_where = -EBADF;    \
                _taken;              \
        })

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}

/* NULL equals NULL and nothing else. */
static inline bool streq_ptr(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

static inline bool startswith(const char *text, const char *prefix) {
        return strncmp(text, prefix, strlen(prefix)) == 0;
}
