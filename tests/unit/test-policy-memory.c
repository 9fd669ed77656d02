/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory runs out at each allocation in turn: the answer is -ENOMEM, nothing is lost and nothing half-made
 * comes out. */

#include <fcntl.h>

#include "allocations.h"
#include "policy-test.h"

static const char good[] = "version: 1\n"
                           "rules:\n"
                           "- {name: a, match: {device: [a, '!b*'], port: 1, property: {P: x, Q: [y, z]}}, "
                           "mode: v1, tos: 3}\n"
                           "- {match: {device: c, function: vf}, dscp: ef}\n- {match: {device: d}}\n- "
                           "{match: {device: e}}\n"
                           "- {match: {device: f}}\n- {match: {device: g}}\n- {match: {device: h}}\n- "
                           "{match: {device: i}}\n"
                           "- {match: {device: j}}\n- {match: {device: k}}\n- {match: {device: l}}\n- "
                           "{match: {device: m}}\n"
                           "- {match: {device: n}}\n- {match: {device: o}}\n- {match: {device: p}}\n- "
                           "{match: {device: q}}\n"
                           "- {match: any, tos: 3}\n- {match: any}\n";

static const char bad[] = "version: 2\n\t \nmod: x\nrules:\n"
                          "- {name: \"\\n\", match: {device: [&a a, '[', !b*], port: 0, property: {P: x, P: "
                          "[y, z]}}, mode: no}\n"
                          "- match: {node_guid: x}\n  tos: 256\n  dscp: 104\n"
                          "- [a, b[c]]\n";

/* Runs out of memory after each number of allocations until it suffices. */
static void exhaust(const char *file, const char *text, int expected) {
        PolicyText source = { (char *) "test.yaml", (char *) text, text ? strlen(text) : 0 };
        bool done = false;
        long n;

        for (n = 0; !done; n++) {
                Policy *policy = NULL;
                Messages messages = {};
                int r;

                n_live = 0;
                n_left = n;
                counting = true;
                r = file ? policy_load(file, NULL, &policy, &messages)
                         : policy_parse(&source, 1, &policy, &messages);
                n_left = -1;
                if (r == 0)
                        policy_unref(policy);
                messages_done(&messages);
                counting = false;

                assert_int_equal(n_live, 0);
                if (r != -ENOMEM) {
                        assert_int_equal(r, expected);
                        done = true;
                } else
                        assert_null(policy);
        }

        assert_in_range(n, 5, 10000);
}

static void test_parse(void **state) {
        exhaust(NULL, good, 0);
        exhaust(NULL, bad, -EBADMSG);
}

static void test_load(void **state) {
        char path[] = "/tmp/test-policy-memory.XXXXXX";
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, good, strlen(good)), (ssize_t) strlen(good));
        close(fd);
        exhaust(path, NULL, 0);
        assert_int_equal(unlink(path), 0);
        exhaust("/tmp", NULL, -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_load),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
