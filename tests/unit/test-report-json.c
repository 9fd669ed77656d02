/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Texts that come from elsewhere, as JSON can hold them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report-json.h"

static void assert_string(const char *text, const char *expected) {
        _cleanup_json_ json_object *object = json_string(text);

        assert_string_equal(json_object_get_string(object), expected);
}

static void test_string(void **state) {
        assert_null(json_string(NULL));
        assert_string("", "");
        assert_string("mlx5_0", "mlx5_0");
        assert_string("ein schöner Name €𝄞", "ein schöner Name €𝄞");
        assert_string("\x01\"\\/", "\x01\"\\/");
}

static void test_bytes_that_are_no_characters(void **state) {
        assert_string("\xff", "\ufffd");
        assert_string("a\xff\xfe!", "a\ufffd\ufffd!");
        assert_string("\xe2\x82", "\ufffd\ufffd");
        assert_string("€\xc0\xaf€", "€\ufffd\ufffd€");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_string),
                cmocka_unit_test(test_bytes_that_are_no_characters),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
