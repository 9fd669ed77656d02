/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute.h"
#include "base.h"

#define UNTOUCHED (-77)

static void test_names(void **state) {
        assert_string_equal(attribute_name(ATTRIBUTE_MODE), "mode");
        assert_string_equal(attribute_name(ATTRIBUTE_TOS), "tos");
        assert_string_equal(attribute_file(ATTRIBUTE_MODE), "default_roce_mode");
        assert_string_equal(attribute_file(ATTRIBUTE_TOS), "default_roce_tos");
}

static void test_format(void **state) {
        char buffer[ATTRIBUTE_TEXT_MAX];

        assert_string_equal(attribute_format_kernel(ATTRIBUTE_MODE, ROCE_V1, buffer), "IB/RoCE v1");
        assert_string_equal(attribute_format_kernel(ATTRIBUTE_MODE, ROCE_V2, buffer), "RoCE v2");
        assert_string_equal(attribute_format(ATTRIBUTE_MODE, ROCE_V1, buffer), "v1");
        assert_string_equal(attribute_format(ATTRIBUTE_MODE, ROCE_V2, buffer), "v2");
        assert_string_equal(attribute_format(ATTRIBUTE_MODE, VALUE_NONE, buffer), "-");
        assert_string_equal(attribute_format(ATTRIBUTE_TOS, VALUE_NONE, buffer), "-");
        assert_ptr_equal(attribute_format(ATTRIBUTE_TOS, 0, buffer), buffer);
        assert_string_equal(buffer, "0");
}

/* What is written reads back as itself, with and without the newline that the kernel adds. */
static void test_all_values(void **state) {
        char buffer[ATTRIBUTE_TEXT_MAX], expected[ATTRIBUTE_TEXT_MAX];
        int value;

        for (int mode = ROCE_V1; mode <= ROCE_V2; mode++) {
                attribute_format_kernel(ATTRIBUTE_MODE, mode, buffer);
                value = UNTOUCHED;
                assert_int_equal(attribute_parse_kernel(ATTRIBUTE_MODE, buffer, strlen(buffer), &value), 0);
                assert_int_equal(value, mode);
        }

        for (int tos = 0; tos <= 255; tos++) {
                snprintf(expected, sizeof(expected), "%d", tos);
                assert_string_equal(attribute_format_kernel(ATTRIBUTE_TOS, tos, buffer), expected);
                assert_string_equal(attribute_format(ATTRIBUTE_TOS, tos, buffer), expected);
                value = UNTOUCHED;
                assert_int_equal(attribute_parse_kernel(ATTRIBUTE_TOS, buffer, strlen(buffer), &value), 0);
                assert_int_equal(value, tos);
                strcat(buffer, "\n");
                value = UNTOUCHED;
                assert_int_equal(attribute_parse_kernel(ATTRIBUTE_TOS, buffer, strlen(buffer), &value), 0);
                assert_int_equal(value, tos);
        }
}

#define TEXT(text) text, sizeof(text) - 1

static void test_parse(void **state) {
        static const struct {
                Attribute attribute;
                const char *text;
                size_t size;
                int value; /* VALUE_NONE: refused */
        } cases[] = {
                { ATTRIBUTE_MODE, TEXT("IB/RoCE v1\n"), ROCE_V1 },
                { ATTRIBUTE_MODE, TEXT("RoCE v2\n"), ROCE_V2 },
                { ATTRIBUTE_MODE, TEXT("RoCE v1\n"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("IB/RoCE v2\n"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("roce v2\n"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("RoCE v2 \n"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT(" RoCE v2\n"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("RoCE v2\n\n"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("RoCE v2\0"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("RoCE v"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("v2"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("2"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("234\n"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT("\n"), VALUE_NONE },
                { ATTRIBUTE_MODE, TEXT(""), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("0\n"), 0 },
                { ATTRIBUTE_TOS, TEXT("106\n"), 106 },
                { ATTRIBUTE_TOS, TEXT("255"), 255 },
                { ATTRIBUTE_TOS, TEXT("007"), 7 },
                { ATTRIBUTE_TOS, TEXT("256\n"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("999"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("0104"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("-1\n"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("+1"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("0x1"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT(" 5"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("5 "), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("5\n\n"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("5\0"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("RoCE v2\n"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT("\n"), VALUE_NONE },
                { ATTRIBUTE_TOS, TEXT(""), VALUE_NONE },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                int value = UNTOUCHED, refused = cases[i].value == VALUE_NONE;
                int r = attribute_parse_kernel(cases[i].attribute, cases[i].text, cases[i].size, &value);

                if (r != (refused ? -EBADMSG : 0) || value != (refused ? UNTOUCHED : cases[i].value))
                        fail_msg("'%s' as %s gives %d, value %d", cases[i].text, attribute_name(cases[i].attribute), r,
                                 value);
        }
}

/* Text from the kernel comes without NUL: nothing beyond its size is looked at. */
static void test_parse_keeps_to_size(void **state) {
        int value = UNTOUCHED;

        assert_int_equal(attribute_parse_kernel(ATTRIBUTE_MODE, "RoCE v2 and more", 7, &value), 0);
        assert_int_equal(value, ROCE_V2);
        assert_int_equal(attribute_parse_kernel(ATTRIBUTE_TOS, "1049", 3, &value), 0);
        assert_int_equal(value, 104);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_format),
                cmocka_unit_test(test_all_values),
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_parse_keeps_to_size),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
