/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A job that does not come back: what is said of it, and what goes on. */

#include "manager-test.h"

static void stand_at(Job *job, Step step, unsigned port, int attribute) {
        atomic_store(&job->progress.step, step);
        atomic_store(&job->progress.port, port);
        atomic_store(&job->progress.attribute, attribute);
}

static void tick_after(uint64_t usec) {
        pass(usec);
        manager_tick(manager, now);
}

static void test_blocked_write(void **state) {
        Job *job;

        manager_mark(manager, "mlx5_0", TRIGGER_RELOAD);
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_1");
        done(job, report_right(job, 1));
        job = next(JOB_RECONCILE, "mlx5_0");
        stand_at(job, STEP_WRITE, 1, ATTRIBUTE_TOS);
        manager_take_changed(manager);

        tick_after(MANAGER_BLOCKED_USEC - 1);
        assert_told_nothing();
        assert_int_equal(manager_deadline(manager), BEGIN + MANAGER_BLOCKED_USEC);
        assert_int_equal(manager_blocked_sec(manager, now.monotonic_usec), 0);
        assert_false(manager->blocked);

        tick_after(1);
        assert_int_equal(sink_n, 2);
        assert_string_equal(sink_records[0].message, "The kernel has not answered for 5 s: write of default_roce_tos "
                                                     "of mlx5_0 port 1; other devices wait");
        assert_int_equal(sink_records[0].priority, LOG_ERR);
        assert_true(sd_id128_equal(sink_records[0].message_id, MESSAGE_BLOCKED_ID));
        assert_string_equal(
                        sink_records[1].message,
                        "mlx5_0 port 1: tos failed, wanted 104, found 104: write has blocked in the kernel for 5 s");
        assert_true(sd_id128_equal(sink_records[1].message_id, MESSAGE_FAILED_ID));
        assert_string_equal(record_field(sink_records + 1, "ROCED_STATE"), "failed");
        assert_string_equal(record_field(sink_records + 1, "ROCED_TRIGGER"), "reload");
        sink_empty();
        assert_true(manager_take_changed(manager));
        assert_int_equal(summary().compliant, 3);
        assert_int_equal(summary().by_state[STATE_FAILED], 1);
        assert_string_equal(summary().worst, "mlx5_0 port 1 tos failed: write has blocked in the kernel for 5 s");

        /* Said once. Nothing else is begun meanwhile, and the clock is needed for the resync only. */
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        tick_after(60 * SEC);
        assert_told_nothing();
        assert_idle();
        assert_false(manager_is_settled(manager, now.monotonic_usec));
        assert_int_equal(manager_deadline(manager), manager->resync_usec);
        assert_int_equal(manager_blocked_sec(manager, now.monotonic_usec), 65);

        /* It comes back, and was right after all. */
        done(job, report_right(job, 1));
        assert_int_equal(sink_n, 2);
        assert_string_equal(sink_records[0].message, "The kernel has answered after 65 s; going on with mlx5_0");
        assert_int_equal(sink_records[0].priority, LOG_NOTICE);
        assert_true(sd_id128_equal(sink_records[0].message_id, MESSAGE_UNBLOCKED_ID));
        assert_string_equal(sink_records[1].message, "mlx5_0 port 1: tos is ok again");
        assert_true(manager_take_changed(manager));
        assert_int_equal(manager_blocked_sec(manager, now.monotonic_usec), 0);
        assert_int_equal(summary().compliant, 4);
        pass_right("mlx5_1");
        assert_true(manager_is_settled(manager, now.monotonic_usec));
}

/* The next one that blocks is told like the first. */
static void test_blocked_again(void **state) {
        for (unsigned i = 0; i < 2; i++) {
                Job *job;

                manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
                job = next(JOB_RECONCILE, "mlx5_0");
                stand_at(job, STEP_READ, 2, ATTRIBUTE_MODE);
                tick_after(MANAGER_BLOCKED_USEC);
                assert_int_equal(sink_n, 2);
                assert_string_equal(record_field(sink_records + 1, "ROCED_PORT"), "2");
                assert_string_equal(record_field(sink_records + 1, "ROCED_ATTRIBUTE"), "mode");
                done(job, report_right(job, 1));
                sink_empty();
        }
}

/* At a step that is about the whole device each of its attributes is held up, but for those that are left alone. */
static void test_blocked_device(void **state) {
        Job *job;

        use_policy("{match: {port: 1}, mode: v2, tos: 104}, {match: {port: 2}, tos: 26}");
        list_devices("mlx5_0", "");
        pass_right("mlx5_0");
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        stand_at(job, STEP_MAKE, 0, -1);
        tick_after(MANAGER_BLOCKED_USEC);
        assert_int_equal(sink_n, 4);
        assert_string_equal(sink_records[0].message,
                            "The kernel has not answered for 5 s: mkdir of mlx5_0; other devices wait");
        assert_int_equal(summary().by_state[STATE_FAILED], 2);
        assert_int_equal(manager->entries[0]->report->ports[1].verdicts[ATTRIBUTE_MODE].state, STATE_UNMANAGED);
        sink_empty();
        done(job, report_right(job, 1));
        assert_int_equal(sink_n, 4);
}

static DeviceReport *report_begun(const Job *job) {
        DeviceReport *report = report_right(job, 1);

        atomic_store(&manager->running->progress.device, report->device);
        return report;
}

/* Of a device that was never judged it is known what would be looked at, as soon as the device itself has been read.
 */
static void test_blocked_at_first_look(void **state) {
        DeviceReport *report;
        Job *job;

        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_1");
        report = report_begun(job);
        stand_at(job, STEP_READ, 1, ATTRIBUTE_MODE);
        tick_after(MANAGER_BLOCKED_USEC);
        assert_int_equal(sink_n, 5);
        assert_string_equal(sink_records[1].message, "mlx5_1 port 1: mode failed, wanted v2, found nothing: read has "
                                                     "blocked in the kernel for 5 s");
        assert_string_equal(sink_records[2].message, "mlx5_1 port 1: tos pending, wanted 104, found nothing: waits "
                                                     "while another access to the kernel blocks");
        sink_empty();
        assert_int_equal(summary().devices, 2);
        assert_int_equal(summary().by_state[STATE_FAILED], 1);
        assert_int_equal(summary().by_state[STATE_PENDING], 1);

        done(job, report);
        assert_int_equal(sink_n, 5);
        for (size_t i = 1; i < sink_n; i++)
                assert_int_equal(sink_records[i].priority, LOG_INFO);
        assert_int_equal(summary().compliant, 4);
        assert_idle();
        assert_true(manager_is_settled(manager, now.monotonic_usec));
}

static void test_blocked_before_anything_is_known(void **state) {
        Job *job;

        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_1");
        stand_at(job, STEP_ACQUIRE, 0, -1);
        tick_after(MANAGER_BLOCKED_USEC);
        assert_told(LOG_ERR, MESSAGE_BLOCKED_ID,
                    "The kernel has not answered for 5 s: reading the device of mlx5_1; other devices wait");
        assert_int_equal(summary().devices, 1);
        done(job, report_gone(job));
        assert_told(LOG_NOTICE, MESSAGE_UNBLOCKED_ID, "The kernel has answered after 5 s; going on with mlx5_1");
        assert_int_equal(manager->n_entries, 1);
}

static void test_blocked_listing(void **state) {
        manager_mark_all(manager, TRIGGER_RESYNC);
        next(JOB_LIST, NULL);
        tick_after(MANAGER_BLOCKED_USEC);
        assert_told(LOG_ERR, MESSAGE_BLOCKED_ID,
                    "The kernel has not answered for 5 s: listing the RDMA devices; other devices wait");
        manager->running->names = names_from("mlx5_0");
        manager->running->owned = names_from("");
        manager_job_done(manager, manager->running, now);
        assert_told(LOG_NOTICE, MESSAGE_UNBLOCKED_ID, "The kernel has answered after 5 s; going on");
        pass_right("mlx5_0");
}

/* Where nothing is managed nothing has failed. */
static void test_blocked_without_policy(void **state) {
        Job *job;

        manager_set_policy(manager, NULL, TRIGGER_RELOAD);
        list_devices("mlx5_0", "");
        pass_right("mlx5_0");
        sink_empty();
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        stand_at(job, STEP_READ, 1, ATTRIBUTE_MODE);
        tick_after(MANAGER_BLOCKED_USEC);
        assert_int_equal(sink_n, 1);
        assert_int_equal(summary().by_state[STATE_FAILED], 0);
        done(job, report_right(job, 1));
}

/* What happens while it blocks is not lost. */
static void test_events_while_blocked(void **state) {
        Job *job;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        stand_at(job, STEP_WRITE, 1, ATTRIBUTE_TOS);
        tick_after(manager->resync_usec - now.monotonic_usec);
        sink_empty();
        use_policy("{match: any, tos: 26}");
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        assert_idle();
        done(job, report_right(job, 1));
        sink_empty();
        list_devices("mlx5_0 mlx5_1", "");
        job = next(JOB_RECONCILE, "mlx5_1");
        assert_ptr_equal(job->policy, manager->policy);
        done(job, report_right(job, 1));
        pass_right("mlx5_0");
        assert_true(manager_is_settled(manager, now.monotonic_usec));
}

static void test_progress(void **state) {
        _cleanup_(job_freep) Job *job = job_new(JOB_RECONCILE, "mlx5_0", NULL);
        _cleanup_(job_freep) Job *removal = job_new(JOB_REMOVE, NULL, NULL);
        char text[64];

        stand_at(job, STEP_READ_BACK, 12, ATTRIBUTE_MODE);
        progress_format(job, sizeof(text), text);
        assert_string_equal(text, "reading back of default_roce_mode of mlx5_0 port 12");
        stand_at(job, STEP_OPEN, 0, -1);
        progress_format(job, sizeof(text), text);
        assert_string_equal(text, "opening the directory of mlx5_0");
        progress_format(removal, sizeof(text), text);
        assert_string_equal(text, "removing directories");
        progress_format(removal, 5, text);
        assert_string_equal(text, "remo");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_blocked_write, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_blocked_again, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_blocked_device, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_blocked_at_first_look, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_blocked_before_anything_is_known, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_blocked_listing, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_blocked_without_policy, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_events_while_blocked, setup_one, teardown),
                cmocka_unit_test(test_progress),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
