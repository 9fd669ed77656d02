/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Events that come while something else is due, or under way: nothing is missed, and nothing is done without end. */

#include "manager-test.h"

/* Port 1's directory is watched; what is judged of its TOS is as given. */
static void pass_watched(State state, Reason reason) {
        Job *job = next(JOB_RECONCILE, "mlx5_0");
        DeviceReport *report = report_right(job, 1);

        report->ports[0].watch = 7;
        judge(report, ATTRIBUTE_TOS, state, reason);
        done(job, report);
        sink_empty();
}

/* What happens now is a better reason than that of the first try. */
static void test_reason_of_a_retry(void **state) {
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_PENDING, REASON_NO_RDMA_CM);
        sink_empty();
        manager_mark(manager, "mlx5_0", TRIGGER_RDMA_CM);
        pass_written("mlx5_0", 0);
        assert_trigger(TRIGGER_RDMA_CM);

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_PENDING, REASON_NO_RDMA_CM);
        sink_empty();
        manager_mark(manager, "mlx5_0", TRIGGER_RESYNC); /* tells nothing */
        pass_written("mlx5_0", 0);
        assert_trigger(TRIGGER_HOTPLUG);
}

/* A port that is pending is warned of in time, though another device blocks. */
static void test_late_while_blocked(void **state) {
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_PENDING, REASON_NO_DEVICE);
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        next(JOB_RECONCILE, "mlx5_1");
        pass(MANAGER_BLOCKED_USEC);
        manager_tick(manager, now);
        sink_empty();

        assert_int_equal(manager_deadline(manager), now.monotonic_usec + STORY_LATE_USEC - MANAGER_BLOCKED_USEC);
        pass(STORY_LATE_USEC - MANAGER_BLOCKED_USEC);
        manager_tick(manager, now);
        assert_int_equal(sink_n, 1);
        assert_int_equal(sink_records[0].priority, LOG_WARNING);
        assert_string_equal(record_field(sink_records, "ROCED_STATE"), "pending");
}

/* Many accesses that take a second each are none that blocks. */
static void test_slow_is_not_blocked(void **state) {
        Job *job;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        for (unsigned i = 0; i < 20; i++) {
                atomic_store(&job->progress.begun_usec, now.monotonic_usec);
                assert_int_equal(manager_deadline(manager), now.monotonic_usec + MANAGER_BLOCKED_USEC);
                pass(SEC);
                manager_tick(manager, now);
        }
        assert_told_nothing();
        assert_int_equal(manager_blocked_sec(manager, now.monotonic_usec), 0);

        pass(MANAGER_BLOCKED_USEC);
        manager_tick(manager, now);
        assert_int_equal(sink_records[0].priority, LOG_ERR);
        assert_int_equal(manager_blocked_sec(manager, now.monotonic_usec), 6);
        done(job, report_right(job, 1));
}

/* Network devices of others come and go all day. */
static void test_network_devices_of_others(void **state) {
        unsigned looks = 0;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        while (manager->entries[0]->dirty) {
                pass_state("mlx5_0", STATE_PENDING, REASON_NO_DEVICE);
                pass(MANAGER_RETRY_MAX_USEC);
        }
        sink_empty();

        for (unsigned i = 0; i < 60; i++) {
                manager_mark_netdev(manager, TRIGGER_HOTPLUG);
                for (uint64_t end = now.monotonic_usec + 10 * SEC; now.monotonic_usec < end; pass(SEC / 10))
                        if (manager->entries[0]->dirty && manager->entries[0]->not_before_usec <= now.monotonic_usec) {
                                pass_state("mlx5_0", STATE_PENDING, REASON_NO_DEVICE);
                                looks++;
                        }
        }
        assert_int_equal(looks, 60);
}

/* What is right is repaired at once, though what stands beside it has failed. */
static void test_drift_beside_a_failure(void **state) {
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_watched(STATE_FAILED, REASON_REFUSED);
        assert_idle();
        manager_mark_attributes(manager, 7, 1U << ATTRIBUTE_TOS);
        assert_idle();
        manager_mark_attributes(manager, 7, 1U << ATTRIBUTE_MODE);
        next(JOB_RECONCILE, "mlx5_0");
        manager_mark_attributes(manager, 7, 1U << ATTRIBUTE_TOS);
        done(manager->running, report_right(manager->running, 1));
        sink_empty();
        next(JOB_RECONCILE, "mlx5_0"); /* it has not failed this time, so the write may be another's */
        done(manager->running, report_right(manager->running, 1));
        assert_idle();
}

/* However often the other program writes, it costs nothing until the hold ends. */
static void test_writes_during_a_hold(void **state) {
        manager_mark(manager, "mlx5_0", TRIGGER_DRIFT);
        pass_watched(STATE_DRIFTED, REASON_BACKING_OFF);
        manager->entries[0]->dirty = false;
        for (unsigned i = 0; i < 1000; i++) {
                manager_mark_attributes(manager, 7, 1U << ATTRIBUTE_TOS);
                assert_idle();
        }
        manager_mark_attributes(manager, 7, 1U << ATTRIBUTE_MODE);
        pass_watched(STATE_DRIFTED, REASON_BACKING_OFF);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_reason_of_a_retry, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_late_while_blocked, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_slow_is_not_blocked, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_network_devices_of_others, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_drift_beside_a_failure, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_writes_during_a_hold, setup_one, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
