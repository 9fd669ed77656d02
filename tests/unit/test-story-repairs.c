/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* When another program has changed a value, and how roced backs off from one that keeps doing so. */

#include "story-test.h"

/* Another program has set it back, roced has written again at this time; gives the hold that comes of it, in seconds.
 */
static uint64_t repair(void) {
        update(written_over(106));
        assert_told(LOG_NOTICE, MESSAGE_CHANGED_ID,
                    "mlx5_0 port 1: tos changed from 106, which another program had set, to 104");
        if (tale.story.hold_until_usec == 0)
                return 0;
        assert_in_range(tale.story.hold_until_usec, tale.context.now.monotonic_usec, UINT64_MAX - 1);
        return (tale.story.hold_until_usec - tale.context.now.monotonic_usec) / SEC;
}

/* The other program strikes back during the hold, and roced waits until its end. */
static void wait_for_hold(void) {
        update(in_trouble(STATE_DRIFTED, REASON_BACKING_OFF));
        assert_told(LOG_WARNING, MESSAGE_DRIFTED_ID,
                    "mlx5_0 port 1: tos drifted, wanted 104, found 0: another program keeps writing; backing off");
        pass(tale.story.hold_until_usec - tale.context.now.monotonic_usec);
}

static void test_back_off(void **state) {
        static const uint64_t holds[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };

        update(right());
        assert_int_equal(repair(), 0);
        assert_int_equal(repair(), 0);
        for (size_t i = 0; i < ELEMENTSOF(holds); i++) {
                assert_int_equal(repair(), holds[i]);
                wait_for_hold();
        }

        /* Long fights stay at the longest hold. */
        for (unsigned i = 0; i < 50; i++) {
                assert_int_equal(repair(), 60);
                wait_for_hold();
        }
}

/* A minute after the last repair, or after the last hold if that is later, a writer is forgiven. */
static void test_back_off_forgives(void **state) {
        update(right());
        assert_int_equal(repair(), 0);
        pass(60 * SEC + 1);
        assert_int_equal(repair(), 0);
        assert_int_equal(repair(), 0);
        pass(60 * SEC);
        assert_int_equal(repair(), 1); /* not quiet for long enough */
        pass(61 * SEC);
        assert_int_equal(repair(), 2); /* a hold is no quiet */
        pass(62 * SEC + 1);
        assert_int_equal(repair(), 0);
        assert_int_equal(tale.story.repairs, 1);
}

static void test_what_is_no_repair(void **state) {
        Verdict verdict;

        /* The first write. */
        update(written_over(0));
        assert_int_equal(tale.story.repairs, 0);

        /* Another instance of the device, which begins with the kernel's default. */
        tale.context.new_instance = true;
        sink_empty();
        update(written_over(0));
        assert_told(LOG_NOTICE, MESSAGE_CHANGED_ID, "mlx5_0 port 1: tos changed from 0 to 104");
        assert_int_equal(tale.story.repairs, 0);
        tale.context.new_instance = false;

        /* Another value is wanted, by a reload. */
        verdict = written_over(104);
        verdict.wanted = verdict.readback = 26;
        update(verdict);
        assert_told(LOG_NOTICE, MESSAGE_CHANGED_ID, "mlx5_0 port 1: tos changed from 104 to 26");
        assert_int_equal(tale.story.repairs, 0);

        /* It had failed before. */
        update(in_trouble(STATE_FAILED, REASON_SHORT_WRITE));
        update(written_over(0));
        assert_int_equal(tale.story.repairs, 0);

        /* It could not be written before. */
        update(pending(REASON_NO_RDMA_CM));
        update(written_over(0));
        assert_int_equal(tale.story.repairs, 0);

        /* The rule only reported before. */
        update(in_trouble(STATE_DRIFTED, REASON_REPORT_ONLY));
        update(written_over(0));
        assert_int_equal(tale.story.repairs, 0);

        update(written_over(0));
        assert_int_equal(tale.story.repairs, 1);
        update(in_trouble(STATE_DRIFTED, REASON_BACKING_OFF));
        update(written_over(0));
        assert_int_equal(tale.story.repairs, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_back_off, setup, teardown),
                cmocka_unit_test_setup_teardown(test_back_off_forgives, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_no_repair, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
