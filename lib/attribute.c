/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The attributes' table and their spellings. Pure. */

#include "attribute.h"

#include "base.h"

static const struct {
        const char *name;
        const char *file;
} attribute_table[_ATTRIBUTE_MAX] = {
        [ATTRIBUTE_MODE] = { "mode", "default_roce_mode" },
        [ATTRIBUTE_TOS] = { "tos", "default_roce_tos" },
};

static const char *const mode_kernel_text[] = {
        [ROCE_V1] = "IB/RoCE v1",
        [ROCE_V2] = "RoCE v2",
};

static const char *const mode_text[] = {
        [ROCE_V1] = "v1",
        [ROCE_V2] = "v2",
};

const char *attribute_name(Attribute attribute) {
        return attribute_table[attribute].name;
}

const char *attribute_file(Attribute attribute) {
        return attribute_table[attribute].file;
}

static const char *format(Attribute attribute, int value, const char *const *modes, char *buffer) {
        if (attribute == ATTRIBUTE_MODE)
                return strcpy(buffer, modes[value]);

        snprintf(buffer, ATTRIBUTE_TEXT_MAX, "%i", value);
        return buffer;
}

const char *attribute_format_kernel(Attribute attribute, int value, char buffer[static ATTRIBUTE_TEXT_MAX]) {
        return format(attribute, value, mode_kernel_text, buffer);
}

const char *attribute_format(Attribute attribute, int value, char buffer[static ATTRIBUTE_TEXT_MAX]) {
        if (value == VALUE_NONE)
                return strcpy(buffer, "-");

        return format(attribute, value, mode_text, buffer);
}

static int parse_mode(const char *text, size_t size) {
        for (int mode = ROCE_V1; mode <= ROCE_V2; mode++)
                if (strlen(mode_kernel_text[mode]) == size && memcmp(mode_kernel_text[mode], text, size) == 0)
                        return mode;
        return VALUE_NONE;
}

static int parse_tos(const char *text, size_t size) {
        int value = 0;

        if (size == 0 || size > 3)
                return VALUE_NONE;

        for (size_t i = 0; i < size; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return VALUE_NONE;
                value = value * 10 + (text[i] - '0');
        }

        return value <= 255 ? value : VALUE_NONE;
}

int attribute_parse_kernel(Attribute attribute, const char *text, size_t size, int *ret_value) {
        int value;

        if (size > 0 && text[size - 1] == '\n')
                size--;

        value = attribute == ATTRIBUTE_MODE ? parse_mode(text, size) : parse_tos(text, size);
        if (value == VALUE_NONE)
                return -EBADMSG;

        *ret_value = value;
        return 0;
}
