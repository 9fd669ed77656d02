/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* When READY=1 may be said. */

#include "answer.h"
#include "manager-test.h"

static Answer answer;

static int setup_answer(void **state) {
        answer = (Answer){};
        answer_expect(&answer, now.monotonic_usec);
        return 0;
}

static int setup_start(void **state) {
        return setup(state) || setup_answer(state);
}

static bool is_due(void) {
        return answer_is_due(&answer, manager, now.monotonic_usec);
}

static void test_start(void **state) {
        Job *job;

        assert_false(is_due());
        list_devices("mlx5_0", "");
        assert_false(is_due());
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_false(is_due());
        done(job, report_right(job, 1));
        assert_true(is_due());
        assert_true(answer_give(&answer));
        assert_false(is_due());
}

/* The start waits for udev, for a while. */
static void test_start_awaits_udev(void **state) {
        Job *job;

        list_devices("mlx5_0", "");
        job = next(JOB_RECONCILE, "mlx5_0");
        done(job, report_right(job, 1));
        manager->entries[0]->report->ports[1].match = MATCH_NOT_YET_KNOWN;
        assert_true(manager_is_settled(manager, now.monotonic_usec));
        assert_false(is_due());
        pass(ANSWER_USEC - 1);
        assert_false(is_due());
        pass(1);
        assert_true(is_due());
}

/* A reload in the midst of the start does not put its answer off. */
static void test_reload_during_start(void **state) {
        pass(ANSWER_USEC - SEC);
        answer_expect(&answer, now.monotonic_usec);
        assert_false(is_due());
        pass(SEC);
        assert_true(is_due());
        assert_true(answer_give(&answer));
}

static void test_reload(void **state) {
        Job *job;

        assert_true(answer_give(&answer));
        list_devices("mlx5_0", "");
        pass_right("mlx5_0");
        assert_false(is_due());

        answer_expect(&answer, now.monotonic_usec);
        assert_true(is_due());
        manager_mark_all(manager, TRIGGER_RELOAD);
        assert_false(is_due());
        list_devices("mlx5_0", "");
        job = next(JOB_RECONCILE, "mlx5_0");
        assert_false(is_due());
        manager->blocked = true;
        assert_true(is_due());
        manager->blocked = false;
        done(job, report_right(job, 1));
        manager->entries[0]->report->ports[1].match = MATCH_NOT_YET_KNOWN;
        assert_true(is_due());
        assert_false(answer_give(&answer));
        assert_false(is_due());
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_start, setup_start, teardown),
                cmocka_unit_test_setup_teardown(test_start_awaits_udev, setup_start, teardown),
                cmocka_unit_test_setup_teardown(test_reload_during_start, setup_start, teardown),
                cmocka_unit_test_setup_teardown(test_reload, setup_start, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
