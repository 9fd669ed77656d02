/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The word that was meant. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text.h"

static const char *nearest(const char *word, const char *first, const char *second) {
        return text_nearest(word, (const char *const[]) { first, second }, 2);
}

static void test_nearest(void **state) {
        assert_string_equal(nearest("stauts", "status", "check"), "status");
        assert_string_equal(nearest("MODE", "mode", "tos"), "mode");
        assert_string_equal(nearest("guid", "node_guid", "device"), "node_guid");
        assert_null(nearest("frobnicate", "status", "check"));
        assert_null(nearest("", "status", "check"));
}

static void test_several_are_near(void **state) {
        assert_null(nearest("mlx5_2", "mlx5_0", "mlx5_1"));
        assert_null(nearest("rocep", "rocep12s0f0", "rocep12s0f1"));
}

/* A device may bear a name of 63 characters, and the command line any. */
static void test_long_words(void **state) {
        static const char longest[] = "rocep123456789012345678901234567890123456789012345678901234567";

        assert_string_equal(nearest("rocep1s0", longest, "rocep1s0f0"), "rocep1s0f0");
        assert_string_equal(nearest("rocep1234", longest, "mlx5_0"), longest);
        assert_null(nearest(longest, "rocep1s0f0", longest));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nearest),
                cmocka_unit_test(test_several_are_near),
                cmocka_unit_test(test_long_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
