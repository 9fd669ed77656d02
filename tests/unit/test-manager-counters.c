/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the daemon counts: writes, drifts, failures by errno. */

#include "manager-test.h"

static void assert_counts(uint64_t writes, uint64_t drifts) {
        assert_int_equal(manager->counters.writes, writes);
        assert_int_equal(manager->counters.drifts, drifts);
        assert_true(manager_take_changed(manager));
}

static void assert_failures(int error, uint64_t n) {
        uint64_t all = 0;

        for (size_t i = 0; i < COUNTERS_ERRNO_MAX; i++)
                all += manager->counters.failures[i];
        assert_int_equal(manager->counters.failures[error], n);
        assert_int_equal(all, n);
}

static void mark(void) {
        (void) manager_take_changed(manager);
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
}

/* What is right, and a write at first sight, are no drift. */
static void test_writes(void **state) {
        assert_int_equal(manager->counters.writes, 0);
        list_devices("mlx5_0", "");
        pass_written("mlx5_0", 0);
        assert_counts(1, 0);
        for (unsigned i = 0; i < 2; i++) {
                mark();
                pass_right("mlx5_0");
        }
        assert_int_equal(manager->counters.writes, 1);
        assert_false(manager_take_changed(manager));
        assert_failures(0, 0);
}

static void test_drifts(void **state) {
        DeviceReport *report;
        Job *job;

        /* Set right again. */
        mark();
        pass_written("mlx5_0", 0);
        assert_counts(1, 1);

        /* Left alone, and counted when it began. */
        for (unsigned i = 0; i < 3; i++) {
                mark();
                job = next(JOB_RECONCILE, "mlx5_0");
                report = report_right(job, 1);
                judge(report, ATTRIBUTE_TOS, STATE_DRIFTED, REASON_BACKING_OFF)->found = 0;
                done(job, report);
                assert_int_equal(manager->counters.drifts, 2);
        }
        mark();
        pass_written("mlx5_0", 0);
        assert_counts(2, 2);

        /* A device that was registered anew begins from the kernel's defaults. */
        mark();
        job = next(JOB_RECONCILE, "mlx5_0");
        report = report_right(job, 2);
        written(report, ATTRIBUTE_TOS, 0);
        done(job, report);
        assert_counts(3, 2);

        /* Another policy is no drift. */
        use_policy("{match: any, tos: 8}");
        list_devices("mlx5_0", "");
        job = next(JOB_RECONCILE, "mlx5_0");
        report = report_right(job, 2);
        written(report, ATTRIBUTE_TOS, 104);
        done(job, report);
        assert_counts(4, 2);
        assert_failures(0, 0);
}

/* Each try counts, and shows though the trouble is the same. */
static void test_failures(void **state) {
        for (unsigned i = 1; i <= 3; i++) {
                DeviceReport *report;
                Verdict *verdict;
                Job *job;

                mark();
                job = next(JOB_RECONCILE, "mlx5_0");
                report = report_right(job, 1);
                verdict = judge(report, ATTRIBUTE_TOS, STATE_FAILED, REASON_REFUSED);
                verdict->error = -EIO;
                verdict->step = STEP_WRITE;
                verdict->tried = true;
                done(job, report);
                assert_counts(i, 0);
                assert_failures(EIO, i);
        }
}

static void test_failures_of_any_kind(void **state) {
        DeviceReport *report;
        Job *job;

        mark();
        pass_state("mlx5_0", STATE_FAILED, REASON_READBACK_DIFFERS);
        assert_failures(0, 1);
        mark();
        pass_state("mlx5_0", STATE_UNSUPPORTED, REASON_MODE_REFUSED);
        assert_failures(0, 1);

        /* Of the device as a whole, readable or not. */
        manager->counters = (Counters){};
        mark();
        job = next(JOB_RECONCILE, "mlx5_0");
        report = report_right(job, 1);
        report->error = -EBUSY;
        report->error_step = STEP_REMOVE;
        done(job, report);
        assert_failures(EBUSY, 1);

        manager->counters = (Counters){};
        mark();
        job = next(JOB_RECONCILE, "mlx5_0");
        report = report_gone(job);
        report->error = -EIO;
        report->error_step = STEP_ACQUIRE;
        done(job, report);
        assert_failures(EIO, 1);
        assert_counts(0, 0);

        manager->counters = (Counters){};
        counters_add_failure(&manager->counters, -COUNTERS_ERRNO_MAX);
        counters_add_failure(&manager->counters, -4095);
        assert_failures(0, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_writes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_drifts, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_failures, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_failures_of_any_kind, setup_one, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
