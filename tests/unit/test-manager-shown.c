/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is shown to others: rules that match nothing, sums, and when they have changed. */

#include "manager-test.h"

/* The device is next, and has gone; meanwhile there is news of another one. */
static void pass_gone_during(const char *name, const char *other) {
        Job *job = next(JOB_RECONCILE, name);

        manager_mark(manager, other, TRIGGER_HOTPLUG);
        done(job, report_gone(job));
}

static void pass_right_during(const char *name, const char *other) {
        Job *job = next(JOB_RECONCILE, name);

        manager_mark(manager, other, TRIGGER_HOTPLUG);
        done(job, report_right(job, 1));
}

/* A rule that matches nothing is told at the end of a pass, once, and anew when it begins again. */
static void test_rules_that_match_nothing(void **state) {
        use_policy("{match: {device: mlx5_0}, tos: 104}, {name: spare, match: {device: mlx5_1}, tos: 104}");
        list_devices("mlx5_0 rxe0", "");
        pass_right("rxe0");
        assert_told_nothing();
        pass_right("mlx5_0");
        assert_told(LOG_WARNING, MESSAGE_POLICY_WARNING_ID,
                    "test.yaml:2: rule 'spare' matches nothing that is present");
        assert_int_equal(manager->warnings.n_items, 1);
        manager_take_changed(manager);

        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        pass_right("mlx5_1");
        assert_told_nothing();
        assert_int_equal(manager->warnings.n_items, 0);
        assert_true(manager_take_changed(manager));

        /* One goes as the other comes: as many warnings as before, but another. */
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        pass_gone("mlx5_1");
        assert_int_equal(sink_n, 2);
        assert_string_equal(sink_records[1].message, "test.yaml:2: rule 'spare' matches nothing that is present");
        sink_empty();
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_gone_during("mlx5_0", "mlx5_1");
        pass_right_during("mlx5_1", "rxe0");
        sink_empty();
        manager_take_changed(manager);
        pass_right("rxe0");
        assert_told(LOG_WARNING, MESSAGE_POLICY_WARNING_ID, "test.yaml:2: this rule matches nothing that is present");
        assert_true(manager_take_changed(manager));
}

/* A thousand such rules do not make a thousand records. */
static void test_many_rules_that_match_nothing(void **state) {
        enum { N = 1000 };
        _cleanup_free_ char *text = calloc(N, 64);
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        char *end = text + sprintf(text, "version: 1\nrules:\n");

        for (unsigned i = 0; i < N; i++)
                end += sprintf(end, "  - {match: {device: none%u}, tos: 104}\n", i);
        policy = policy_from(text);
        manager_set_policy(manager, policy, TRIGGER_RELOAD);
        list_devices("mlx5_0", "");
        pass_right("mlx5_0");
        assert_int_equal(sink_n, MANAGER_WARNINGS_MAX + 1);
        assert_string_equal(sink_records[MANAGER_WARNINGS_MAX].message,
                            "968 more such warnings; \"rocectl check\" shows all");
        sink_empty();

        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        pass_right("mlx5_1");
        assert_told_nothing();
}

/* The state file is written when something in it changes, and only then. */
static void test_what_is_shown_changes(void **state) {
        static const State states[] = { STATE_FAILED, STATE_DRIFTED, STATE_UNSUPPORTED, STATE_PENDING };

        manager_take_changed(manager);
        manager_mark(manager, "mlx5_0", TRIGGER_RESYNC);
        pass_right("mlx5_0");
        assert_false(manager_take_changed(manager));

        for (size_t i = 0; i < ELEMENTSOF(states); i++) {
                manager_mark(manager, "mlx5_0", TRIGGER_RESYNC);
                pass_state("mlx5_0", states[i], REASON_NO_DEVICE);
                assert_true(manager_take_changed(manager));
                manager_mark(manager, "mlx5_0", TRIGGER_RESYNC);
                pass_state("mlx5_0", states[i], REASON_NO_DEVICE);
                assert_int_equal(manager_take_changed(manager), states[i] == STATE_FAILED); /* one more is counted */
        }
        manager_mark(manager, "mlx5_0", TRIGGER_RESYNC);
        pass_written("mlx5_0", 0);
        assert_true(manager_take_changed(manager));
}

static void test_summary(void **state) {
        Job *job;
        DeviceReport *report;

        assert_int_equal(summary().devices, 1);
        assert_int_equal(summary().ports, 2);
        assert_int_equal(summary().compliant, 2);
        assert_int_equal(summary().by_state[STATE_OK], 2);
        assert_string_equal(summary().worst, "");

        /* The worse of two attributes speaks for the port. */
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        report = report_right(job, 1);
        judge(report, ATTRIBUTE_TOS, STATE_FAILED, REASON_SHORT_WRITE);
        judge(report, ATTRIBUTE_MODE, STATE_PENDING, REASON_NO_DEVICE);
        report->ports[1].verdicts[ATTRIBUTE_MODE].state = STATE_NOT_ROCE;
        report->ports[1].verdicts[ATTRIBUTE_TOS].state = STATE_NOT_ROCE;
        done(job, report);
        assert_int_equal(summary().ports, 1);
        assert_int_equal(summary().compliant, 0);
        assert_int_equal(summary().by_state[STATE_FAILED], 1);
        assert_int_equal(summary().by_state[STATE_NOT_ROCE], 1);
        assert_string_equal(summary().worst, "mlx5_0 port 1 tos failed: the kernel took only a part of the write");

        /* The first of several is named; one that is gone or not judged yet does not count. */
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        manager_mark(manager, "a", TRIGGER_HOTPLUG);
        assert_int_equal(summary().devices, 1);
        pass_state("mlx5_1", STATE_DRIFTED, REASON_REPORT_ONLY);
        pass_state("a", STATE_UNSUPPORTED, REASON_NONE);
        assert_int_equal(summary().devices, 3);
        assert_int_equal(summary().ports, 5);
        assert_int_equal(summary().compliant, 2);
        assert_string_equal(summary().worst, "a port 1 tos unsupported: no reason known");
}

/* Many writes are summed up when it has been quiet for a while. */
static void test_burst(void **state) {
        uint64_t resync = manager->resync_usec;
        char name[16];

        for (unsigned round = 0; round < 2; round++) {
                unsigned n = MANAGER_BURST_CHANGES - 1 + round;

                for (unsigned i = 0; i < n; i++) {
                        snprintf(name, sizeof(name), "vf%u", i);
                        manager_mark(manager, name, TRIGGER_HOTPLUG);
                        pass_written(name, 7);
                        assert_int_equal(manager_deadline(manager),
                                         MIN_OF(now.monotonic_usec + MANAGER_BURST_QUIET_USEC, resync));
                        pass(MANAGER_BURST_QUIET_USEC - 1);
                        manager_tick(manager, now);
                }
                assert_int_equal(sink_n, n);
                sink_empty();
                pass(1);
                manager_tick(manager, now);
                if (round == 0)
                        assert_told_nothing();
                assert_int_equal(manager_deadline(manager), resync);
        }
        assert_told(LOG_INFO, MESSAGE_MANY_CHANGES_ID,
                    "32 values written; now 66 of 66 RoCE ports on 33 devices are compliant");
        pass(10 * SEC);
        manager_tick(manager, now);
        assert_told_nothing();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_rules_that_match_nothing, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_many_rules_that_match_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_shown_changes, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_summary, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_burst, setup_one, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
