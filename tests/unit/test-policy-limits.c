/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files made to hurt: they fail soon, with a message, in little memory and on a small stack. */

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "policy-test.h"

/* A sanitizer takes time and memory of its own. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define STACK_SIZE (64U * 1024U)
#define MEMORY_KB_MAX (64L * 1024L)

typedef struct Case {
        PolicyText text;
        Messages messages;
        int result;
} Case;

static void *case_run(void *data) {
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        Case *c = data;

        c->result = policy_parse(&c->text, 1, &policy, &c->messages);
        return NULL;
}

/* Parses "before", "count" times "piece", and "after", on a small stack, within a second. */
static Case parse_repeated(const char *before, const char *piece, size_t count, const char *after) {
        Case c = { .text.path = (char *) "test.yaml" };
        struct timespec start, end;
        struct rusage usage;
        pthread_attr_t attributes;
        pthread_t thread;
        FILE *f;

        f = open_memstream(&c.text.bytes, &c.text.size);
        assert_non_null(f);
        fputs(before, f);
        for (size_t i = 0; i < count; i++)
                fputs(piece, f);
        fputs(after, f);
        fclose(f);

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_SIZE), 0);
        assert_int_equal(pthread_create(&thread, &attributes, case_run, &c), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&attributes);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);

        assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
#if !SANITIZED
        assert_true((end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000 < 1000);
        assert_true(usage.ru_maxrss < MEMORY_KB_MAX);
#endif

        free(c.text.bytes);
        return c;
}

/* Expects this message, among others. */
static void expect_error(const char *before, const char *piece, size_t count, const char *after,
                         unsigned line, unsigned column, const char *text) {
        Case c = parse_repeated(before, piece, count, after);
        bool found = false;

        assert_int_equal(c.result, -EBADMSG);
        assert_in_range(c.messages.n_items, 1, 1001);
        for (size_t i = 0; i < c.messages.n_items; i++) {
                const Message *message = c.messages.items + i;

                if (message->line == line && message->column == column) {
                        assert_string_equal(message->text, text);
                        found = true;
                }
        }
        assert_true(found);
        messages_done(&c.messages);
}

static void test_depth(void **state) {
        expect_error("", "[", 20000, "", 1, 9, "nested deeper than 8 levels");
        expect_error("", "[", 200000, "", 1, 9, "nested deeper than 8 levels");
        expect_error("", "{a: ", 200000, "", 1, 33, "nested deeper than 8 levels");
        expect_error("", "- ", 200000, "", 1, 17, "nested deeper than 8 levels");
        expect_error("version: 1\nrules: ", "[", 1000000, "", 2, 15, "nested deeper than 8 levels");
}

static void test_aliases(void **state) {
        expect_error("version: 1\nrules:\n- &a [x]\n", "- &b [*a, *a, *a, *a, *a, *a, *a, *a]\n", 20000, "",
                     3, 3,
                     "'&a' is a YAML anchor, which a policy does not take; quote it if it is a text: "
                     "\"&a\"");
}

static void test_one_line(void **state) {
        expect_error("version: 1\nrules: [1", ",1", 500000, "]\n", 2, 9,
                     "a rule is a map, not a single value");
        expect_error("version: 1\nrules: [", "{},", 300000, "]\n", 2, 9, "this rule has no 'match'");
}

/* What is no rule is found among rules, however many of them have been read and given up by then. */
static void test_no_rule_among_rules(void **state) {
        expect_error("version: 1\nrules: [v2", ", {match: any}", 10000, "]\n", 2, 9,
                     "a rule is a map, not a single value");
        expect_error("version: 1\nrules: [", "{match: any}, ", 10000, "v2]\n", 2, 140009,
                     "a rule is a map, not a single value");
}

static void test_many_keys(void **state) {
        expect_error("{version: 1, rules: []", ", x: 1", 170000, "}\n", 1, 25,
                     "unknown key 'x' at the top of the file");
        expect_error("{version: 1, rules: [{match: {property: {A: b", ", A: b", 170000, "}}}]}\n", 1, 48,
                     "'A' is given twice, first in line 1");
        expect_error("{\"version\": 1", ", version: 1", 80000, "}\n", 1, 16,
                     "'version' is given twice, first in line 1");
}

static void test_long_texts(void **state) {
        expect_error("version: 1\nrules: []\nmode: ", "x", 1000000, "\n", 3, 1,
                     "key 'mode' is out of place at the top of the file; it belongs in a rule");
        expect_error("version: ", "1", 1000000, "\nrules: []\n", 1, 10,
                     "version takes 1, not '111111111111111111111111111111111111111111111111111111111111…'");
        expect_error("", "x", 1000000, ": 1\n", 1, 1000001, "a ':' is out of place here");
        expect_error("version: 1\nrules: [{match: {device: '", "\\*a", 300000, "'}}]\n", 2, 26,
                     "bad pattern "
                     "'\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a\\*a…' "
                     "for device: "
                     "no device has a name longer than 63 characters");
}

static void test_bytes(void **state) {
        expect_error("version: 1\n", "\xff", 900000, "", 2, 1, "this is not valid UTF-8");
        expect_error("", "\t\n", 500000, "x", 500001, 1,
                     "a policy is a map with 'version' and 'rules', not a single text");
        expect_error("", "#\n", 500000, "", 1, 1, "there is nothing in this file");
        expect_error("", "\n", 1048576, "", 1, 1, "there is nothing in this file");
        expect_error("", "\n", 1048577, "", 0, 0, "the file is larger than 1048576 bytes");
}

/* All errors are shown, within reason. */
static void test_errors_are_counted(void **state) {
        Case c = parse_repeated("version: 1\nrules:\n", "- mod: v2\n  match: any\n", 1010, "");
        const Message *last;
        _cleanup_free_ char *formatted = NULL;

        assert_int_equal(c.result, -EBADMSG);
        assert_int_equal(c.messages.n_items, 1001);
        assert_int_equal(c.messages.items[999].line, 2001);
        last = c.messages.items + 1000;
        formatted = message_format(last);
        assert_string_equal(formatted, "test.yaml: error: 10 more errors are not shown\n");
        messages_done(&c.messages);
}

/* A glob that backtracks must not take for ever. */
static void test_glob(void **state) {
        _cleanup_(policy_unrefp) Policy *policy = policy_from_match(
                        "property: {P: '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b'}");
        char value[4097];
        Property property = { (char *) "P", value };
        Device device = test_device();
        clock_t start;

        memset(value, 'a', sizeof(value) - 1);
        value[sizeof(value) - 1] = 0;
        device.properties = &property;
        device.n_properties = 1;
        start = clock();
        assert_int_equal(rule_match(policy->rules, &device, device.ports, NULL), MATCH_NO);
        assert_true(clock() - start < CLOCKS_PER_SEC);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_depth),
                cmocka_unit_test(test_aliases),
                cmocka_unit_test(test_one_line),
                cmocka_unit_test(test_no_rule_among_rules),
                cmocka_unit_test(test_many_keys),
                cmocka_unit_test(test_long_texts),
                cmocka_unit_test(test_bytes),
                cmocka_unit_test(test_errors_are_counted),
                cmocka_unit_test(test_glob),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
