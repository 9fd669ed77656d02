/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a finished job means, or one that does not finish: retries, records, sums. */

#include "manager-test.h"

#define RETRY_MAX MANAGER_RETRY_MAX_USEC

/* What is pending is looked at again after spells that double, and is left to events once they have grown to the last.
 */
static void test_pending_is_retried(void **state) {
        uint64_t spell = MANAGER_RETRY_MIN_USEC;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_PENDING, REASON_NO_DEVICE);
        assert_int_equal(sink_n, 1);
        while (spell < RETRY_MAX) {
                assert_true(manager_is_settled(manager, now.monotonic_usec));
                pass(spell - 1);
                assert_idle();
                pass(1);
                assert_false(manager_is_settled(manager, now.monotonic_usec));
                pass_state("mlx5_0", STATE_PENDING, REASON_NO_DEVICE);
                spell *= 2;
        }
        assert_int_equal(manager->entries[0]->retries, 10);
        assert_int_equal(sink_n, 1); /* told once */
        pass(8 * 60 * SEC);
        assert_idle();

        /* An event begins anew. */
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_PENDING, REASON_NO_DEVICE);
        assert_idle();
        pass(MANAGER_RETRY_MIN_USEC);
        pass_right("mlx5_0");
        assert_idle();
}

/* What has failed is tried for ever, at the last spell in the end. */
static void test_failed_is_retried(void **state) {
        uint64_t spell = MANAGER_RETRY_MIN_USEC;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_FAILED, REASON_READBACK_DIFFERS);
        for (unsigned i = 0; i < 30; i++) {
                assert_int_equal(manager_deadline(manager), MIN_OF(now.monotonic_usec + spell, manager->resync_usec));
                pass(spell - 1);
                assert_idle();
                pass(1);
                pass_state("mlx5_0", STATE_FAILED, REASON_READBACK_DIFFERS);
                spell = MIN_OF(2 * spell, RETRY_MAX);
        }
        assert_int_equal(sink_n, 1);
        assert_int_equal(spell, RETRY_MAX);
}

static void test_unsupported_is_not_retried(void **state) {
        static const struct {
                State state;
                Reason reason;
        } cases[] = {
                { STATE_UNSUPPORTED, REASON_MODE_REFUSED },
                { STATE_UNSUPPORTED, REASON_NO_ATTRIBUTE },
                { STATE_DRIFTED, REASON_REPORT_ONLY },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
                pass_state("mlx5_0", cases[i].state, cases[i].reason);
                assert_int_equal(manager_deadline(manager), manager->resync_usec);
        }
}

/* The retry of a pending device is no better reason than the event that it follows. */
static void test_trigger_of_a_retry(void **state) {
        manager_mark(manager, "mlx5_0", TRIGGER_RENAME);
        pass_state("mlx5_0", STATE_PENDING, REASON_NO_DEVICE);
        sink_empty();
        pass(MANAGER_RETRY_MIN_USEC);
        pass_written("mlx5_0", 0);
        assert_int_equal(sink_n, 1);
        assert_string_equal(record_field(sink_records, "ROCED_TRIGGER"), "rename");
}

static void report_unreadable(int error) {
        Job *job = next(JOB_RECONCILE, "mlx5_0");
        DeviceReport *report = report_gone(job);

        report->error = error;
        report->error_step = STEP_ACQUIRE;
        done(job, report);
}

/* A device that is there and cannot be read: told when it begins and ends, and each hour between; its ports have failed. */
static void test_unreadable(void **state) {
        unsigned untold = 0;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        report_unreadable(-EIO);
        assert_int_equal(sink_n, 5);
        assert_string_equal(record_field(sink_records, "ROCED_DEVICE"), "mlx5_0");
        assert_string_equal(record_field(sink_records, "ERRNO"), "5");
        assert_string_equal(sink_records[0].message, "mlx5_0: reading the device: Input/output error");
        assert_string_equal(sink_records[1].message,
                            "mlx5_0 port 1: mode failed, wanted v2, found nothing: reading the device: Input/output error");
        sink_empty();
        assert_int_equal(manager->n_entries, 1);
        assert_int_equal(summary().compliant, 0);
        assert_int_equal(summary().by_state[STATE_FAILED], 2);

        for (uint64_t spell = MANAGER_RETRY_MIN_USEC, gone = 0; gone + spell < STORY_REPEAT_USEC;
             gone += spell, spell = MIN_OF(spell * 2, MANAGER_RETRY_MAX_USEC)) {
                assert_idle();
                pass(spell);
                report_unreadable(-EIO);
                assert_told_nothing();
                untold++;
        }
        pass(MANAGER_RETRY_MAX_USEC);
        report_unreadable(-EIO);
        assert_int_equal(sink_n, 5);
        assert_non_null(strstr(sink_records[0].message, "more times since the last report"));
        assert_int_equal(untold, 68);
        sink_empty();

        pass(MANAGER_RETRY_MAX_USEC);
        report_unreadable(-ENODATA);
        assert_int_equal(sink_n, 5);
        assert_string_equal(sink_records[0].message, "mlx5_0: reading the device: No data available");
        sink_empty();

        pass(MANAGER_RETRY_MAX_USEC);
        pass_right("mlx5_0");
        assert_int_equal(sink_n, 5);
        assert_string_equal(sink_records[0].message, "mlx5_0 can be read and tidied up again");
        assert_int_equal(sink_records[0].priority, LOG_INFO);
        assert_string_equal(sink_records[1].message, "mlx5_0 port 1: mode is ok again");
        sink_empty();
        assert_idle();
        assert_int_equal(summary().compliant, 2);
}

/* One that could never be read has no ports to speak of. */
static void test_never_readable(void **state) {
        Job *job;
        DeviceReport *report;

        manager_mark(manager, "mlx5_7", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_7");
        report = report_gone(job);
        report->error = -EIO;
        report->error_step = STEP_ACQUIRE;
        done(job, report);
        assert_told(LOG_ERR, MESSAGE_DEVICE_FAILED_ID, "mlx5_7: reading the device: Input/output error");
        assert_int_equal(summary().devices, 1);
        assert_int_equal(manager_deadline(manager), now.monotonic_usec + MANAGER_RETRY_MIN_USEC);
}

static void test_gone(void **state) {
        manager_take_changed(manager);
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_gone("mlx5_0");
        assert_int_equal(manager->n_entries, 0);
        assert_true(manager_take_changed(manager));
        assert_told(LOG_DEBUG, MESSAGE_DEVICE_GONE_ID, "mlx5_0 has gone");
        assert_int_equal(manager_deadline(manager), manager->resync_usec);

        /* One that never was is not worth a word. */
        manager_mark(manager, "mlx5_1", TRIGGER_RENAME);
        pass_gone("mlx5_1");
        assert_int_equal(manager->n_entries, 0);
        assert_told_nothing();
}

static void test_gone_and_dirty_again(void **state) {
        Job *job;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        done(job, report_gone(job));
        assert_int_equal(manager->n_entries, 1);
        assert_int_equal(summary().devices, 0);
        assert_told(LOG_DEBUG, MESSAGE_DEVICE_GONE_ID, "mlx5_0 has gone");
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_int_equal(job->n_memory, 0);
        done(job, report_right(job, 2));
        assert_int_equal(summary().ports, 2);
        assert_told_nothing();
}

static void report_gone_but_left(int error) {
        Job *job = next(JOB_RECONCILE, "mlx5_0");
        DeviceReport *report = report_gone(job);

        report->error = error;
        report->error_step = STEP_REMOVE;
        report->directory = true;
        done(job, report);
}

/* Gone, but its directory could not be removed: kept on the list until it can. */
static void test_gone_with_error(void **state) {
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        report_gone_but_left(-EBUSY);
        assert_int_equal(sink_n, 2);
        assert_string_equal(sink_records[0].message, "mlx5_0 has gone");
        assert_string_equal(sink_records[1].message, "mlx5_0: rmdir: Device or resource busy");
        assert_int_equal(sink_records[1].priority, LOG_ERR);
        sink_empty();
        assert_int_equal(manager->n_entries, 1);
        assert_int_equal(summary().devices, 0);
        assert_int_equal(manager_deadline(manager), now.monotonic_usec + MANAGER_RETRY_MIN_USEC);

        pass(MANAGER_RETRY_MIN_USEC);
        report_gone_but_left(-EBUSY);
        assert_told_nothing();
        pass(2 * MANAGER_RETRY_MIN_USEC);
        pass_gone("mlx5_0");
        assert_int_equal(manager->n_entries, 0);
        assert_told(LOG_INFO, MESSAGE_DEVICE_FAILED_ID, "mlx5_0 can be read and tidied up again");
        assert_true(manager_is_settled(manager, now.monotonic_usec));
}

/* What was read may be another device's: said of neither, and looked at again. */
static void test_changed_hands(void **state) {
        Job *job;
        DeviceReport *report;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        report = report_right(job, 1);
        report->changed_hands = true;
        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        verdict_disown(report->ports[i].verdicts + a);
        done(job, report);
        assert_told_nothing();
        pass(MANAGER_RETRY_MIN_USEC);
        job = next(JOB_RECONCILE, "mlx5_0");
        report = report_right(job, 2);
        written(report, ATTRIBUTE_TOS, 0);
        done(job, report);
        assert_told(LOG_NOTICE, MESSAGE_CHANGED_ID, "mlx5_0 port 1: tos changed from 0 to 104");
        assert_idle();
        assert_true(manager_is_settled(manager, now.monotonic_usec));
}

/* Out of memory: nothing has come of the job. */
static void test_job_fails(void **state) {
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        next(JOB_RECONCILE, "mlx5_0")->error = -ENOMEM;
        done(manager->running, NULL);
        assert_told_nothing();
        pass(SEC - 1);
        assert_idle();
        pass(1);
        pass_right("mlx5_0");
        assert_idle();
}

/* What was never looked at has not been judged, though nothing is due at the moment. */
static void test_first_job_fails(void **state) {
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        next(JOB_RECONCILE, "mlx5_1")->error = -ENOMEM;
        done(manager->running, NULL);
        assert_idle();
        assert_false(manager_is_settled(manager, now.monotonic_usec));
        assert_false(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));
        assert_true(manager_is_judged(manager, "mlx5_0", now.monotonic_usec));
        pass(SEC);
        pass_right("mlx5_1");
        assert_true(manager_is_settled(manager, now.monotonic_usec));
        assert_true(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));
}

/* Its entry may have gone while the job was under way, though nothing does that now. */
static void test_job_without_entry(void **state) {
        Job *job;

        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_1");
        manager_remove_entry(manager, manager_find_entry(manager, "mlx5_1"));
        done(job, report_right(job, 1));
        assert_int_equal(manager->n_entries, 1);
        assert_true(manager_is_settled(manager, now.monotonic_usec));
}

/* What the kernel refused is remembered for this instance of the device. */
static void test_memory_of_refusal(void **state) {
        Job *job;
        DeviceReport *report;
        Verdict *verdict;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_int_equal(job->instance, 1);
        assert_int_equal(job->n_memory, 2);
        assert_int_equal(job->memory[0].port, 1);
        assert_int_equal(job->memory[1].port, 2);
        assert_int_equal(job->memory[0].refused_mode, VALUE_NONE);
        report = report_right(job, 1);
        verdict = judge(report, ATTRIBUTE_MODE, STATE_UNSUPPORTED, REASON_MODE_REFUSED);
        verdict->tried = true;
        report->ports[0].support = SUPPORT_V1;
        done(job, report);

        for (unsigned i = 0; i < 2; i++) {
                manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
                job = next(JOB_RECONCILE, "mlx5_0");
                assert_int_equal(job->memory[0].refused_mode, ROCE_V2);
                assert_int_equal(job->memory[0].refused_support, SUPPORT_V1);
                assert_int_equal(job->memory[1].refused_mode, VALUE_NONE);
                done(job, report_right(job, 1));
        }

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        done(job, report_right(job, 2));
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_int_equal(job->instance, 2);
        assert_int_equal(job->memory[0].refused_mode, VALUE_NONE);
        done(job, report_right(job, 2));
}

static void drift(void) {
        manager_mark(manager, "mlx5_0", TRIGGER_DRIFT);
}

/* Another program fights: the job is told to leave the attribute alone, and the end of the hold is the time to look
 * again. */
static void test_hold(void **state) {
        Job *job;
        DeviceReport *report;

        for (unsigned i = 0; i < 3; i++) {
                drift();
                pass_written("mlx5_0", 106);
        }
        assert_int_equal(sink_n, 3);
        sink_empty();
        assert_idle();

        drift();
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_true(job->memory[0].hold[ATTRIBUTE_TOS]);
        assert_false(job->memory[0].hold[ATTRIBUTE_MODE]);
        assert_false(job->memory[1].hold[ATTRIBUTE_TOS]);
        report = report_right(job, 1);
        judge(report, ATTRIBUTE_TOS, STATE_DRIFTED, REASON_BACKING_OFF);
        done(job, report);
        assert_int_equal(sink_n, 1);
        sink_empty();
        assert_int_equal(manager_deadline(manager), now.monotonic_usec + SEC);
        assert_true(manager_is_settled(manager, now.monotonic_usec));

        pass(SEC - 1);
        assert_idle();
        drift();
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_true(job->memory[0].hold[ATTRIBUTE_TOS]);
        report = report_right(job, 1);
        judge(report, ATTRIBUTE_TOS, STATE_DRIFTED, REASON_BACKING_OFF);
        done(job, report);
        pass(1);
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_false(job->memory[0].hold[ATTRIBUTE_TOS]);
        report = report_right(job, 1);
        written(report, ATTRIBUTE_TOS, 106);
        done(job, report);
        assert_told(LOG_NOTICE, MESSAGE_CHANGED_ID,
                    "mlx5_0 port 1: tos changed from 106, which another program had set, to 104");

        /* Registered anew: nobody has fought over this one. */
        drift();
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_true(job->memory[0].hold[ATTRIBUTE_TOS]);
        report = report_right(job, 2);
        written(report, ATTRIBUTE_TOS, 0);
        done(job, report);
        drift();
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_false(job->memory[0].hold[ATTRIBUTE_TOS]);
        done(job, report_right(job, 2));
}

/* Ports come and go with the device; those that stay keep what has been told of them. */
static void test_ports_change(void **state) {
        Job *job;
        DeviceReport *report;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_UNSUPPORTED, REASON_NO_ATTRIBUTE);
        assert_int_equal(sink_n, 1);
        sink_empty();

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        report = report_right(job, 1);
        judge(report, ATTRIBUTE_TOS, STATE_UNSUPPORTED, REASON_NO_ATTRIBUTE);
        report->n_ports = 1;
        done(job, report);
        assert_told_nothing();
        assert_int_equal(summary().ports, 1);

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_UNSUPPORTED, REASON_NO_ATTRIBUTE);
        assert_told_nothing();
        assert_int_equal(summary().ports, 2);
}

static void test_late(void **state) {
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_state("mlx5_0", STATE_PENDING, REASON_NO_RDMA_CM);
        sink_empty();
        for (uint64_t spell = MANAGER_RETRY_MIN_USEC; now.monotonic_usec + spell < BEGIN + STORY_LATE_USEC;
             spell *= 2) {
                pass(spell);
                manager_tick(manager, now);
                pass_state("mlx5_0", STATE_PENDING, REASON_NO_RDMA_CM);
        }
        assert_told_nothing();
        assert_int_equal(manager_deadline(manager), BEGIN + STORY_LATE_USEC);

        pass(BEGIN + STORY_LATE_USEC - now.monotonic_usec);
        manager_tick(manager, now);
        assert_int_equal(sink_n, 1);
        assert_int_equal(sink_records[0].priority, LOG_WARNING);
        assert_string_equal(record_field(sink_records, "ROCED_TRIGGER"), "hotplug");
        assert_in_range(manager_deadline(manager), now.monotonic_usec + 1, UINT64_MAX - 1);
        manager_tick(manager, now);
        assert_int_equal(sink_n, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_pending_is_retried, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_failed_is_retried, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_unsupported_is_not_retried, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_trigger_of_a_retry, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_unreadable, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_never_readable, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_gone, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_gone_and_dirty_again, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_gone_with_error, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_changed_hands, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_job_fails, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_first_job_fails, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_job_without_entry, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_memory_of_refusal, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_hold, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_ports_change, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_late, setup_one, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
