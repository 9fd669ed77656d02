/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The listing of devices, and when it is made anew. */

#include "manager-test.h"

static void test_no_devices(void **state) {
        list_devices("", "");
        assert_idle();
        assert_true(manager_is_settled(manager, now.monotonic_usec));
        assert_int_equal(manager->last_pass_usec, REALTIME);
        assert_int_equal(summary().devices, 0);
        assert_told_nothing();
}

/* Directories of ours are looked at, and what was known before, also if the listing does not name them. */
static void test_listing_marks_all_known(void **state) {
        list_devices("mlx5_0 mlx5_1", "mlx5_1 rxe0");
        pass_right("mlx5_0");
        pass_right("mlx5_1");
        pass_gone("rxe0");
        assert_idle();

        manager_mark_all(manager, TRIGGER_RESYNC);
        list_devices("mlx5_2", "");
        pass_each("mlx5_0 mlx5_1 mlx5_2");
}

/* A new listing goes before devices. */
static void test_listing_first(void **state) {
        list_devices("a b", "");
        pass_right("a");
        manager_mark_all(manager, TRIGGER_RELOAD);
        list_devices("a b", "");
        pass_right("b");
        pass_right("a");
        assert_idle();
}

/* A database entry that outlived its device is passed on to who looks at the next device of that name. */
static void test_leftovers(void **state) {
        Job *job = next(JOB_LIST, NULL);
        DeviceReport *report;

        job->names = names_from("mlx5_0 mlx5_1");
        job->owned = names_from("");
        job->leftovers = calloc(1, sizeof(Leftover));
        job->leftovers[0] = (Leftover) { .name = strdup("mlx5_1"), .stamp = 5 };
        job->n_leftovers = 1;
        manager_job_done(manager, job, now);
        job = next(JOB_RECONCILE, "mlx5_1");
        assert_int_equal(job->leftover, 5);
        done(job, report_right(job, 1));
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_int_equal(job->leftover, 0);
        done(job, report_right(job, 1));

        for (uint64_t stamp = 6; stamp < 9; stamp++) {
                manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
                job = next(JOB_RECONCILE, "mlx5_0");
                assert_int_equal(job->leftover, stamp == 6 ? 0 : stamp - 1);
                report = report_gone(job);
                report->leftover = stamp;
                done(job, report);
        }
        assert_int_equal(manager->n_leftovers, 2);

        /* A listing finds a device of that name, whose entry it cannot judge: it may still be the leftover. Of a name that is not there
         * it would have told. */
        manager_mark_all(manager, TRIGGER_HOTPLUG);
        list_devices("mlx5_0", "");
        assert_int_equal(manager->n_leftovers, 1);
        pass_right("mlx5_1");
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_int_equal(job->leftover, 8);
        done(job, report_right(job, 1));
        manager_mark_all(manager, TRIGGER_HOTPLUG);
        list_devices("", "");
        assert_int_equal(manager->n_leftovers, 0);
}

static void test_listing_fails(void **state) {
        uint64_t spell = SEC / 10;

        /* Told when it begins, tried again at growing intervals, told when it ends. */
        for (unsigned i = 0; i < 12; i++, spell = MIN_OF(spell * 2, 60 * SEC)) {
                Job *job = next(JOB_LIST, NULL);

                job->error = -EMFILE;
                manager_job_done(manager, job, now);
                if (i == 0)
                        assert_told(LOG_ERR, MESSAGE_DEVICE_FAILED_ID,
                                    "RDMA devices cannot be listed: Too many open files");
                assert_told_nothing();
                assert_false(manager_is_settled(manager, now.monotonic_usec));
                assert_int_equal(manager_deadline(manager), now.monotonic_usec + spell);
                pass(spell - 1);
                assert_idle();
                pass(1);
        }

        /* An event does not wait for that. */
        next(JOB_LIST, NULL)->error = -ENOMEM;
        manager_job_done(manager, manager->running, now);
        manager_mark_all(manager, TRIGGER_HOTPLUG);
        list_devices("mlx5_0", "");
        assert_told(LOG_INFO, MESSAGE_DEVICE_FAILED_ID, "RDMA devices can be listed again");
        pass_right("mlx5_0");
        assert_true(manager_is_settled(manager, now.monotonic_usec));
}

static void list_invalid(size_t n) {
        manager_mark_all(manager, TRIGGER_RESYNC);
        next(JOB_LIST, NULL)->n_invalid = n;
        manager->running->names = names_from("");
        manager->running->owned = names_from("");
        manager_job_done(manager, manager->running, now);
}

static void test_invalid_names(void **state) {
        list_invalid(1);
        assert_told(LOG_WARNING, MESSAGE_DEVICE_NAME_ID,
                    "1 RDMA devices bear names that no path can hold, such as '..' or 'a/b'; they are left alone");
        list_invalid(1);
        assert_told_nothing();
        list_invalid(3);
        assert_told(LOG_WARNING, MESSAGE_DEVICE_NAME_ID,
                    "3 RDMA devices bear names that no path can hold, such as '..' or 'a/b'; they are left alone");
        list_invalid(0);
        assert_told_nothing();
        list_invalid(1);
        assert_int_equal(sink_n, 1);
}

static void test_resync(void **state) {
        uint64_t resync = manager->resync_usec;

        assert_int_equal(manager_deadline(manager), resync);
        pass(resync - now.monotonic_usec - 1);
        manager_tick(manager, now);
        assert_idle();
        pass(1);
        manager_tick(manager, now);
        assert_int_equal(manager_deadline(manager), 0);
        list_devices("mlx5_0", "");
        pass_written("mlx5_0", 0);
        assert_trigger(TRIGGER_RESYNC);
        assert_in_range(manager->resync_usec, now.monotonic_usec + 480 * SEC, now.monotonic_usec + 720 * SEC);
        manager_tick(manager, now);
        assert_idle();
}

/* A fleet does not act in step, and no host acts twice as often. */
static void test_resync_jitter(void **state) {
        uint64_t low = UINT64_MAX, high = 0, spell;

        for (uint64_t seed = 0; seed < 200; seed++) {
                teardown(NULL);
                now = (Now) { BEGIN, REALTIME };
                assert_int_equal(manager_new(-1, seed, &manager), 0);
                for (unsigned i = 0; i < 3; i++) {
                        manager_mark_all(manager, TRIGGER_RESYNC);
                        list_devices("", "");
                        spell = manager->resync_usec - now.monotonic_usec;
                        assert_in_range(spell, 480 * SEC, 720 * SEC);
                        low = MIN_OF(low, spell);
                        high = MAX_OF(high, spell);
                }
        }
        assert_in_range(low, 480 * SEC, 500 * SEC);
        assert_in_range(high, 700 * SEC, 720 * SEC);
}

static void test_unwatched(void **state) {
        DeviceReport *report;
        Job *job;

        /* A watch that cannot be set is told once, and shortens what was planned. */
        for (unsigned i = 0; i < 2; i++) {
                manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
                job = next(JOB_RECONCILE, "mlx5_0");
                report = report_right(job, 1);
                report->watch_error = -ENOSPC;
                done(job, report);
                assert_int_equal(sink_n, 1);
                assert_in_range(manager->resync_usec, BEGIN, BEGIN + 60 * SEC);
        }
        assert_told(LOG_WARNING, MESSAGE_WATCH_FAILED_ID,
                    "Changes by other programs cannot be watched for: No space left on device; looking every 60 s "
                    "instead");

        manager_mark_all(manager, TRIGGER_HOTPLUG);
        list_devices("", "");
        assert_in_range(manager->resync_usec, BEGIN + 48 * SEC, BEGIN + 72 * SEC);

        manager_set_unwatched(manager, -ENOSPC);
        assert_told_nothing();
        manager_set_unwatched(manager, -EMFILE);
        assert_told(LOG_WARNING, MESSAGE_WATCH_FAILED_ID,
                    "Changes by other programs cannot be watched for: Too many open files; looking every 60 s "
                    "instead");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_no_devices, setup, teardown),
                cmocka_unit_test_setup_teardown(test_listing_marks_all_known, setup, teardown),
                cmocka_unit_test_setup_teardown(test_listing_first, setup, teardown),
                cmocka_unit_test_setup_teardown(test_leftovers, setup_listing, teardown),
                cmocka_unit_test_setup_teardown(test_listing_fails, setup, teardown),
                cmocka_unit_test_setup_teardown(test_invalid_names, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_resync, setup_one, teardown),
                cmocka_unit_test_setup_teardown(test_resync_jitter, setup, teardown),
                cmocka_unit_test_setup_teardown(test_unwatched, setup_one, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
