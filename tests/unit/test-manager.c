/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is dirty, what comes next, and when. */

#include "manager-test.h"

static void test_first_pass(void **state) {
        Job *job;

        assert_int_equal(manager_deadline(manager), 0);
        assert_false(manager_is_settled(manager, now.monotonic_usec));
        assert_true(manager_take_changed(manager)); /* there is a policy */

        job = next(JOB_LIST, NULL);
        assert_null(job->name);
        assert_int_equal(job->started_usec, BEGIN);
        assert_idle();
        assert_int_equal(manager_deadline(manager), BEGIN + MANAGER_BLOCKED_USEC);
        assert_false(manager_is_settled(manager, now.monotonic_usec));
        job->names = names_from("mlx5_0 mlx5_1");
        job->owned = names_from("");
        manager_job_done(manager, job, now);
        assert_int_equal(manager_deadline(manager), 0);
        assert_false(manager_is_settled(manager, now.monotonic_usec));
        assert_int_equal(summary().devices, 0);

        pass(SEC);
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_ptr_equal(job->policy, manager->policy);
        assert_int_equal(job->inotify_fd, INOTIFY_FD);
        assert_int_equal(job->started_usec, BEGIN + SEC);
        assert_int_equal(job->n_memory, 0);
        assert_idle();
        done(job, report_right(job, 1));
        assert_false(manager_is_settled(manager, now.monotonic_usec));
        assert_int_equal(manager->last_pass_usec, 0);

        pass_right("mlx5_1");
        assert_idle();
        assert_true(manager_is_settled(manager, now.monotonic_usec));
        assert_int_equal(manager->last_pass_usec, REALTIME + SEC);
        assert_true(manager_take_changed(manager));
        assert_false(manager_take_changed(manager));
        assert_int_equal(summary().devices, 2);
        assert_int_equal(manager_deadline(manager), manager->resync_usec);
        assert_told_nothing();
}

static void test_mark(void **state) {
        Job *job;

        manager_mark(manager, "rxe0", TRIGGER_HOTPLUG);
        assert_false(manager_is_settled(manager, now.monotonic_usec));
        assert_int_equal(manager_deadline(manager), 0);
        pass_right("rxe0");
        assert_idle();

        /* Dirty once is enough. */
        manager_mark(manager, "rxe0", TRIGGER_HOTPLUG);
        manager_mark(manager, "rxe0", TRIGGER_RENAME);
        pass_right("rxe0");
        assert_idle();

        /* An event during the look calls for another one. */
        manager_mark(manager, "rxe0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "rxe0");
        manager_mark(manager, "rxe0", TRIGGER_HOTPLUG);
        done(job, report_right(job, 1));
        pass_right("rxe0");
        assert_idle();
        assert_told_nothing();
}

static void test_mark_invalid(void **state) {
        manager_mark(manager, "", TRIGGER_HOTPLUG);
        manager_mark(manager, "..", TRIGGER_HOTPLUG);
        manager_mark(manager, "a/b", TRIGGER_HOTPLUG);
        manager_mark(manager, "a\n", TRIGGER_HOTPLUG);
        manager_mark_announced(manager, "..", 7, TRIGGER_HOTPLUG);
        assert_int_equal(manager->n_entries, 1);
        assert_idle();
}

/* A device that is dirty again at once does not keep the others waiting. */
static void test_each_in_turn(void **state) {
        static const char *const order[] = { "a", "b", "c", "a", "b" };

        list_devices("a b c", "");
        for (size_t i = 0; i < ELEMENTSOF(order); i++) {
                Job *job = next(JOB_RECONCILE, order[i]);

                if (i < 3)
                        manager_mark(manager, order[i], TRIGGER_HOTPLUG);
                done(job, report_right(job, 1));
        }
        pass_right("c");
        assert_idle();

        /* The search goes on behind the last one. */
        manager_mark(manager, "b", TRIGGER_HOTPLUG);
        pass_right("b");
        manager_mark(manager, "a", TRIGGER_HOTPLUG);
        manager_mark(manager, "c", TRIGGER_HOTPLUG);
        pass_right("c");
        pass_right("a");
        assert_idle();
}

static void test_many(void **state) {
        char name[16];
        bool seen[300] = {};

        list_devices("", "");
        for (unsigned i = 0; i < 300; i++) {
                snprintf(name, sizeof(name), "mlx5_%u", i * 7 % 300);
                manager_mark(manager, name, TRIGGER_HOTPLUG);
        }
        assert_int_equal(manager->n_entries, 300);
        for (size_t i = 1; i < manager->n_entries; i++)
                assert_true(strcmp(manager->entries[i - 1]->name, manager->entries[i]->name) < 0);

        for (unsigned i = 0; i < 300; i++) {
                Job *job = next(JOB_RECONCILE, NULL);
                unsigned number = (unsigned) atoi(job->name + strlen("mlx5_"));

                assert_false(seen[number]);
                seen[number] = true;
                done(job, i % 3 == 0 ? report_gone(job) : report_right(job, 1));
        }
        assert_idle();
        assert_int_equal(manager->n_entries, 200);
        assert_int_equal(summary().ports, 400);

        for (unsigned i = 0; i < 300; i++) {
                snprintf(name, sizeof(name), "mlx5_%u", i);
                manager_mark(manager, name, TRIGGER_HOTPLUG);
        }
        for (unsigned i = 0; i < 300; i++)
                pass_gone(NULL);
        assert_idle();
        assert_int_equal(manager->n_entries, 0);
        sink_empty();
}

/* Of two events the better reason is told: drift may be our own write, a resync is for what no event told. */
static void test_triggers(void **state) {
        static const struct {
                Trigger first, second, told;
        } cases[] = {
                { TRIGGER_HOTPLUG, TRIGGER_RENAME, TRIGGER_HOTPLUG },
                { TRIGGER_RELOAD, TRIGGER_HOTPLUG, TRIGGER_RELOAD },
                { TRIGGER_RESYNC, TRIGGER_HOTPLUG, TRIGGER_HOTPLUG },
                { TRIGGER_RESYNC, TRIGGER_DRIFT, TRIGGER_DRIFT },
                { TRIGGER_DRIFT, TRIGGER_RESYNC, TRIGGER_DRIFT },
                { TRIGGER_DRIFT, TRIGGER_RELOAD, TRIGGER_RELOAD },
                { TRIGGER_DRIFT, TRIGGER_HOTPLUG, TRIGGER_HOTPLUG },
                { TRIGGER_HOTPLUG, TRIGGER_DRIFT, TRIGGER_HOTPLUG },
                { TRIGGER_RDMA_CM, TRIGGER_RESYNC, TRIGGER_RDMA_CM },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                manager_mark(manager, "mlx5_0", cases[i].first);
                manager_mark(manager, "mlx5_0", cases[i].second);
                pass_written("mlx5_0", 0);
                assert_trigger(cases[i].told);

                manager_mark_all(manager, cases[i].first);
                manager_mark_all(manager, cases[i].second);
                list_devices("mlx5_0", "");
                pass_written("mlx5_0", 0);
                assert_trigger(cases[i].told);
        }
}

/* What is heard during the look is not why it was made. */
static void test_trigger_of_the_job(void **state) {
        Job *job;
        DeviceReport *report;

        manager_mark(manager, "mlx5_0", TRIGGER_RELOAD);
        job = next(JOB_RECONCILE, "mlx5_0");
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        report = report_right(job, 1);
        written(report, ATTRIBUTE_TOS, 0);
        done(job, report);
        assert_trigger(TRIGGER_RELOAD);
        pass_written("mlx5_0", 0);
        assert_trigger(TRIGGER_HOTPLUG);
}

/* The ports of mlx5_0 are watched as 7 and 8. */
static DeviceReport *report_watched(const Job *job) {
        DeviceReport *report = report_right(job, 1);

        report->ports[0].watch = 7;
        report->ports[1].watch = 8;
        return report;
}

static Job *begin_watched(void) {
        Job *job;

        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_0");
        done(job, report_watched(job));
        assert_idle();
        return job;
}

static void test_watch(void **state) {
        Job *job;

        begin_watched();
        manager_mark_watch(manager, 9);
        assert_idle();

        for (int watch = 7; watch <= 8; watch++) {
                DeviceReport *report;

                manager_mark_watch(manager, watch);
                job = next(JOB_RECONCILE, "mlx5_0");
                report = report_watched(job);
                written(report, ATTRIBUTE_TOS, 106);
                done(job, report);
                assert_trigger(TRIGGER_DRIFT);
                assert_idle();
        }

        /* A port that is no longer watched. */
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        pass_right("mlx5_0");
        manager_mark_watch(manager, 7);
        assert_idle();
}

/* What is written during the look may have come after it. */
static void test_watch_during_job(void **state) {
        DeviceReport *report;
        Job *job;

        begin_watched();
        manager_mark(manager, "mlx5_0", TRIGGER_RELOAD);
        job = next(JOB_RECONCILE, "mlx5_0");
        manager_mark_watch(manager, 7);
        assert_idle();
        report = report_watched(job);
        written(report, ATTRIBUTE_TOS, 0);
        done(job, report);
        assert_trigger(TRIGGER_RELOAD);
        job = next(JOB_RECONCILE, "mlx5_0");
        done(job, report_watched(job));
        assert_idle();

        /* The first look has set its watches, which only it knows yet. */
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        job = next(JOB_RECONCILE, "mlx5_1");
        manager_mark_watch(manager, 9);
        done(job, report_right(job, 2));
        job = next(JOB_RECONCILE, "mlx5_1");
        done(job, report_right(job, 2));
        assert_idle();

        /* Without a look under way it is about a device that has gone, or a listing does not look. */
        manager_mark_watch(manager, 9);
        assert_idle();
        manager_mark_all(manager, TRIGGER_RESYNC);
        job = next(JOB_LIST, NULL);
        manager_mark_watch(manager, 9);
        job->error = -EIO;
        manager_job_done(manager, job, now);

        /* What is known is looked at also where the list fails, and the watch adds nothing to that. */
        pass_each("mlx5_0 mlx5_1");
        assert_idle();
}

/* A write that the kernel takes and ignores is heard of: it must not call for the next one. */
static void test_watch_of_failed(void **state) {
        begin_watched();
        manager_mark(manager, "mlx5_0", TRIGGER_RELOAD);
        for (unsigned i = 0; i < 5; i++) {
                Job *job = next(JOB_RECONCILE, "mlx5_0");
                DeviceReport *report = report_watched(job);

                if (i % 2 == 0)
                        manager_mark_attributes(manager, 7, 1U << ATTRIBUTE_TOS);
                judge(report, ATTRIBUTE_TOS, STATE_FAILED, REASON_READBACK_DIFFERS);
                done(job, report);
                manager_mark_attributes(manager, 7, 1U << ATTRIBUTE_TOS);
                pass((MANAGER_RETRY_MIN_USEC << i) - 1);
                assert_idle();
                pass(1);
        }

        /* The other port is looked at at once, all the same. */
        pass_state("mlx5_0", STATE_FAILED, REASON_READBACK_DIFFERS);
        manager->entries[0]->ports[1].watch = 8;
        assert_idle();
        manager_mark_watch(manager, 8);
        pass_state("mlx5_0", STATE_FAILED, REASON_READBACK_DIFFERS);
}

static void test_netdev(void **state) {
        list_devices("mlx5_1 mlx5_2", "");
        pass_state("mlx5_1", STATE_UNSUPPORTED, REASON_NOT_IN_GIDS);
        pass_each("mlx5_0 mlx5_2");
        manager_mark(manager, "mlx5_3", TRIGGER_HOTPLUG);
        pass_gone("mlx5_3");
        assert_idle();

        /* Without a rule by netdev it matters only to what is not as it should be. */
        manager_mark_netdev(manager, TRIGGER_RENAME);
        pass_each("mlx5_1");
        manager_mark_netdev(manager, TRIGGER_RENAME);
        assert_idle();

        use_policy("{match: {netdev: ens1f0np0}, tos: 104}");
        list_devices("", "");
        pass_each("mlx5_0 mlx5_1 mlx5_2");
        manager_mark_netdev(manager, TRIGGER_RENAME);
        pass_each("mlx5_0 mlx5_1 mlx5_2");

        /* No policy, no rule. */
        manager_set_policy(manager, NULL, TRIGGER_RELOAD);
        list_devices("", "");
        pass_each("mlx5_0 mlx5_1 mlx5_2");
        manager_mark_netdev(manager, TRIGGER_RENAME);
        assert_idle();
}

static void test_announced(void **state) {
        Job *job;

        assert_true(manager_is_judged(manager, "mlx5_0", now.monotonic_usec));
        assert_true(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));
        manager_mark_announced(manager, "mlx5_1", 77, TRIGGER_HOTPLUG);
        assert_false(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));
        job = next(JOB_RECONCILE, "mlx5_1");
        assert_int_equal(job->announced_instance, 77);
        assert_false(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));
        assert_true(manager_is_judged(manager, "mlx5_0", now.monotonic_usec));
        done(job, report_right(job, 77));
        assert_true(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));

        /* What waits for a retry has been judged. */
        manager_mark(manager, "mlx5_1", TRIGGER_HOTPLUG);
        assert_false(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));
        pass_state("mlx5_1", STATE_PENDING, REASON_NO_RDMA_CM);
        assert_true(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));
        pass(MANAGER_RETRY_MIN_USEC);
        assert_false(manager_is_judged(manager, "mlx5_1", now.monotonic_usec));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_first_pass, setup, teardown),
                cmocka_unit_test_setup_teardown(test_mark, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_mark_invalid, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_each_in_turn, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many, setup, teardown),
                cmocka_unit_test_setup_teardown(test_triggers, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_trigger_of_the_job, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_watch, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_watch_during_job, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_watch_of_failed, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_netdev, setup_listing, teardown),
                cmocka_unit_test_setup_teardown(test_announced, setup_one, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
