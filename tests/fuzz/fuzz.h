/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the fuzz targets share. A target takes any bytes, and ends with abort() if what comes of them is wrong. */

#include <stdint.h>

#include "base.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                        \
        do {                                                                                    \
                if (!(condition)) {                                                             \
                        fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
                        abort();                                                                \
                }                                                                               \
        } while (0)

/* The bytes as texts, with a NUL after each. */
typedef struct Input {
        char *bytes; /* to be freed; NUL-terminated beyond "size" */
        size_t size, at;
} Input;

static inline Input input_begin(const uint8_t *data, size_t size) {
        Input input = { .bytes = malloc(size + 1), .size = size };

        CHECK(input.bytes);
        if (size > 0)
                memcpy(input.bytes, data, size);
        input.bytes[size] = 0;
        return input;
}

static inline void input_done(Input *input) {
        free(input->bytes);
}

static inline bool input_is_left(const Input *input) {
        return input->at < input->size;
}

/* The next text, or "" at the end. */
static inline char *input_next(Input *input) {
        char *text = input->bytes + input->at;

        input->at = MIN_OF(input->at + strlen(text) + 1, input->size);
        return text;
}
