/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rocectl-reach.h"

#define BOTH (SUPPORT_V1 | SUPPORT_V2)

static void test_modes(void **state) {
        assert_int_equal(modes_reach(ROCE_V1, ROCE_V1), REACH_YES);
        assert_int_equal(modes_reach(ROCE_V1, ROCE_V2), REACH_YES);
        assert_int_equal(modes_reach(ROCE_V2, ROCE_V2), REACH_YES);
        assert_int_equal(modes_reach(ROCE_V2, ROCE_V1), REACH_NO);
}

static void test_kind(void **state) {
        PortKind kind = port_kind(ROCE_V1, BOTH);

        assert_int_equal(kind.takes, BOTH);
        assert_int_equal(kind.unknown, 0);

        /* The mode in force is one that the port can do, whatever its GIDs show. */
        kind = port_kind(ROCE_V1, SUPPORT_V2);
        assert_int_equal(kind.takes, BOTH);

        kind = port_kind(ROCE_V2, -1);
        assert_int_equal(kind.takes, SUPPORT_V2);
        assert_int_equal(kind.unknown, SUPPORT_V1);

        kind = port_kind(VALUE_NONE, -1);
        assert_int_equal(kind.takes, 0);
        assert_int_equal(kind.unknown, BOTH);

        /* None is another thing than not known. */
        kind = port_kind(VALUE_NONE, 0);
        assert_int_equal(kind.takes, 0);
        assert_int_equal(kind.unknown, 0);
}

static void test_kind_numbers(void **state) {
        static const int modes[] = { VALUE_NONE, ROCE_V1, ROCE_V2 };
        KindSet all = 0;

        for (size_t m = 0; m < ELEMENTSOF(modes); m++)
                for (int supported = -1; supported <= (int) BOTH; supported++) {
                        PortKind kind = port_kind(modes[m], supported), back;
                        unsigned number = kind_number(&kind);

                        assert_true(number < KINDS_MAX);
                        back = kind_from_number(number);
                        assert_int_equal(back.mode, kind.mode);
                        assert_int_equal(back.takes, kind.takes);
                        assert_int_equal(back.unknown, kind.unknown);
                        all |= kind_set(&kind);
                }

        /* Of what is known: v1 and v2 with one or both, and without a mode none, one or both. Of what is not:
         * one of each mode. */
        assert_int_equal(__builtin_popcountll(all), 2 * 2 + 4 + 3);
}

static Reach reach(int client, int supported_client, int server, int supported_server) {
        PortKind from = port_kind(client, supported_client), to = port_kind(server, supported_server);

        return kind_reach(&from, &to);
}

/* The client decides, and what counts of the server is what its port can do. */
static void test_kinds(void **state) {
        assert_int_equal(reach(ROCE_V1, BOTH, ROCE_V2, BOTH), REACH_YES);
        assert_int_equal(reach(ROCE_V2, BOTH, ROCE_V1, BOTH), REACH_YES);
        assert_int_equal(reach(ROCE_V1, BOTH, ROCE_V2, SUPPORT_V2), REACH_NO);
        assert_int_equal(reach(ROCE_V2, BOTH, ROCE_V1, SUPPORT_V1), REACH_NO);
        assert_int_equal(reach(ROCE_V2, BOTH, ROCE_V2, -1), REACH_YES);
        assert_int_equal(reach(ROCE_V1, BOTH, ROCE_V2, -1), REACH_UNKNOWN);
        assert_int_equal(reach(VALUE_NONE, BOTH, ROCE_V2, BOTH), REACH_YES);
        assert_int_equal(reach(VALUE_NONE, BOTH, ROCE_V2, SUPPORT_V2), REACH_UNKNOWN);
        assert_int_equal(reach(VALUE_NONE, BOTH, VALUE_NONE, -1), REACH_UNKNOWN);
        assert_int_equal(reach(ROCE_V2, BOTH, VALUE_NONE, 0), REACH_NO);
}

static void test_hosts(void **state) {
        PortKind v2 = port_kind(ROCE_V2, BOTH), v2_only = port_kind(ROCE_V2, SUPPORT_V2);
        PortKind v1_only = port_kind(ROCE_V1, SUPPORT_V1), unknown = port_kind(VALUE_NONE, -1);
        KindSet all = kind_set(&v2) | kind_set(&v2_only) | kind_set(&v1_only) | kind_set(&unknown);

        assert_int_equal(host_reach(0, 0), HOST_REACH_NONE);
        assert_int_equal(host_reach(all, 0), HOST_REACH_NONE);
        assert_int_equal(host_reach(0, all), HOST_REACH_NONE);
        assert_int_equal(host_reach(kind_set(&v2), kind_set(&v2_only)), HOST_REACH_YES);
        assert_int_equal(host_reach(kind_set(&v2), kind_set(&v1_only)), HOST_REACH_NO);
        assert_int_equal(host_reach(kind_set(&v2), kind_set(&v1_only) | kind_set(&v2)), HOST_REACH_PART);
        assert_int_equal(host_reach(kind_set(&v2), kind_set(&v1_only) | kind_set(&unknown)),
                         HOST_REACH_PART);
        assert_int_equal(host_reach(kind_set(&v2), kind_set(&v2) | kind_set(&unknown)), HOST_REACH_UNKNOWN);
        assert_int_equal(host_reach(all, all), HOST_REACH_PART);

        assert_null(host_reach_to_string(HOST_REACH_NONE));
        assert_string_equal(host_reach_to_string(HOST_REACH_PART), "part");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_modes),        cmocka_unit_test(test_kind),
                cmocka_unit_test(test_kind_numbers), cmocka_unit_test(test_kinds),
                cmocka_unit_test(test_hosts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
