/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is told of an attribute, when and how loudly. */

#include "story-test.h"

/* What is right from the start is not worth a word. */
static void test_silent_when_right(void **state) {
        static const State states[] = { STATE_OK, STATE_UNMANAGED, STATE_NOT_ROCE };

        for (size_t i = 0; i < ELEMENTSOF(states); i++) {
                Verdict verdict = right();

                setup(NULL);
                verdict.state = states[i];
                assert_true(update(verdict));
                assert_told_nothing();
                assert_false(update(verdict));
                pass(7200 * SEC);
                assert_false(update(verdict));
                assert_told_nothing();
                assert_int_equal(tale.story.since_usec, REALTIME);
        }
}

static void test_change(void **state) {
        assert_true(update(written_over(0)));
        assert_told(LOG_NOTICE, MESSAGE_CHANGED_ID, "mlx5_0 port 1: tos changed from 0 to 104");
        assert_true(update(right())); /* another value is found than the last time */
        assert_false(update(right()));
        assert_told_nothing();

        tale.context.attribute = ATTRIBUTE_MODE;
        tale.story = (Story) {};
        assert_true(update((Verdict) {
                        .state = STATE_OK, .wanted = ROCE_V2, .found = ROCE_V1, .readback = ROCE_V2, .tried = true }));
        assert_told(LOG_NOTICE, MESSAGE_CHANGED_ID, "mlx5_0 port 1: mode changed from v1 to v2");
}

static void test_fields(void **state) {
        Verdict verdict = written_over(106);

        tale.context.trigger = TRIGGER_HOTPLUG;
        update(verdict);
        assert_int_equal(sink_n, 1);
        assert_string_equal(record_field(sink_records, "ROCED_DEVICE"), "mlx5_0");
        assert_string_equal(record_field(sink_records, "ROCED_PORT"), "1");
        assert_string_equal(record_field(sink_records, "ROCED_ATTRIBUTE"), "tos");
        assert_string_equal(record_field(sink_records, "ROCED_WANTED"), "104");
        assert_string_equal(record_field(sink_records, "ROCED_FOUND"), "106");
        assert_string_equal(record_field(sink_records, "ROCED_READBACK"), "104");
        assert_string_equal(record_field(sink_records, "ROCED_STATE"), "ok");
        assert_string_equal(record_field(sink_records, "ROCED_RULE"), "storage rail");
        assert_string_equal(record_field(sink_records, "ROCED_RULE_SOURCE"), "/etc/roced/policy.yaml:4");
        assert_string_equal(record_field(sink_records, "ROCED_POLICY_SHA256"), tale.policy.sha256);
        assert_string_equal(record_field(sink_records, "ROCED_TRIGGER"), "hotplug");
        assert_string_equal(record_field(sink_records, "ROCED_NETDEV"), "ens1f0np0");
        assert_string_equal(record_field(sink_records, "ROCED_PCI"), "0000:3b:00.0");
        assert_null(record_field(sink_records, "ERRNO"));
        assert_int_equal(sink_records[0].n_fields, 13);
}

/* A failed change of a soft device, whose rule has no name. */
static void test_fields_absent(void **state) {
        tale.device = test_soft_device();
        tale.rule.name = NULL;
        tale.context.attribute = ATTRIBUTE_MODE;
        update((Verdict) { .state = STATE_FAILED,
                          .reason = REASON_REFUSED,
                          .step = STEP_READ_BACK,
                          .error = -EIO,
                          .wanted = ROCE_V2,
                          .found = ROCE_V1,
                          .readback = VALUE_NONE,
                          .tried = true });
        assert_int_equal(sink_n, 1);
        assert_string_equal(record_field(sink_records, "ERRNO"), "5");
        assert_string_equal(record_field(sink_records, "ROCED_STATE"), "failed");
        assert_string_equal(record_field(sink_records, "ROCED_WANTED"), "v2");
        assert_string_equal(record_field(sink_records, "ROCED_FOUND"), "v1");
        assert_null(record_field(sink_records, "ROCED_READBACK"));
        assert_null(record_field(sink_records, "ROCED_RULE"));
        assert_string_equal(record_field(sink_records, "ROCED_RULE_SOURCE"), "/etc/roced/policy.yaml:4");
        assert_null(record_field(sink_records, "ROCED_NETDEV"));
        assert_null(record_field(sink_records, "ROCED_PCI"));
        sink_empty();

        /* Neither rule nor policy nor device. */
        tale.context.attribute = ATTRIBUTE_TOS;
        tale.port.rule = NULL;
        tale.report.policy = NULL;
        tale.report.device = NULL;
        update(pending(REASON_NO_DEVICE));
        assert_int_equal(sink_n, 1);
        assert_null(record_field(sink_records, "ROCED_RULE_SOURCE"));
        assert_null(record_field(sink_records, "ROCED_POLICY_SHA256"));
        assert_null(record_field(sink_records, "ROCED_FOUND"));
        assert_string_equal(record_field(sink_records, "ROCED_DEVICE"), "mlx5_0");
}

static void test_triggers(void **state) {
        static const char *const names[_TRIGGER_MAX] = { "startup", "hotplug", "rename", "rdma_cm",
                                                         "reload",  "drift",   "resync", "apply" };

        for (Trigger trigger = 0; trigger < _TRIGGER_MAX; trigger++) {
                setup(NULL);
                tale.context.trigger = trigger;
                update(written_over(0));
                assert_string_equal(record_field(sink_records, "ROCED_TRIGGER"), names[trigger]);
                assert_string_equal(trigger_to_string(trigger), names[trigger]);
                sink_empty();
        }
}

static void test_troubles(void **state) {
        static const struct {
                State state;
                Reason reason;
                int priority;
                sd_id128_t id;
                const char *message;
        } cases[] = {
                { STATE_FAILED, REASON_SHORT_WRITE, LOG_ERR, MESSAGE_FAILED_ID,
                  "mlx5_0 port 1: tos failed, wanted 104, found 0: the kernel took only a part of the write" },
                { STATE_DRIFTED, REASON_REPORT_ONLY, LOG_WARNING, MESSAGE_DRIFTED_ID,
                  "mlx5_0 port 1: tos drifted, wanted 104, found 0: the rule only reports" },
                { STATE_UNSUPPORTED, REASON_NO_ATTRIBUTE, LOG_WARNING, MESSAGE_UNSUPPORTED_ID,
                  "mlx5_0 port 1: tos unsupported, wanted 104, found 0: this kernel has no default_roce_tos" },
                { STATE_PENDING, REASON_NO_RDMA_CM, LOG_DEBUG, MESSAGE_PENDING_ID,
                  "mlx5_0 port 1: tos pending, wanted 104, found 0: rdma_cm is not loaded" },
                { STATE_UNKNOWN, REASON_NO_DIRECTORY, LOG_DEBUG, MESSAGE_PENDING_ID,
                  "mlx5_0 port 1: tos unknown, wanted 104, found 0: the device has no directory in configfs, and only "
                  "root or the "
                  "daemon makes one" },
                { STATE_FAILED, REASON_NONE, LOG_ERR, MESSAGE_FAILED_ID,
                  "mlx5_0 port 1: tos failed, wanted 104, found 0: no reason known" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                setup(NULL);
                assert_true(update(in_trouble(cases[i].state, cases[i].reason)));
                assert_told(cases[i].priority, cases[i].id, cases[i].message);
                assert_false(update(in_trouble(cases[i].state, cases[i].reason)));
                assert_told_nothing();
        }
}

static void test_nothing_found_or_wanted(void **state) {
        Verdict verdict = pending(REASON_NO_CONFIGFS);

        update(verdict);
        assert_told(LOG_DEBUG, MESSAGE_PENDING_ID,
                    "mlx5_0 port 1: tos pending, wanted 104, found nothing: configfs is not mounted at "
                    "/sys/kernel/config");
        verdict.reason = REASON_NOT_SETTLED;
        verdict.wanted = VALUE_NONE;
        update(verdict);
        assert_told(LOG_DEBUG, MESSAGE_PENDING_ID,
                    "mlx5_0 port 1: tos pending: udev has not finished with the device");
        verdict.reason = REASON_NONE;
        update(verdict);
        assert_told(LOG_DEBUG, MESSAGE_PENDING_ID, "mlx5_0 port 1: tos pending: no reason known");
}

/* It is one thing if state, reason, errno and wanted value are the same; each of them makes it another. */
static void test_told_once(void **state) {
        Verdict verdict = in_trouble(STATE_FAILED, REASON_REFUSED);

        verdict.step = STEP_WRITE;
        verdict.error = -EIO;
        assert_true(update(verdict));
        assert_int_equal(sink_n, 1);
        assert_false(update(verdict));
        assert_int_equal(sink_n, 1);

        verdict.error = -EACCES;
        assert_true(update(verdict));
        assert_int_equal(sink_n, 2);
        verdict.wanted = 26;
        assert_true(update(verdict));
        assert_int_equal(sink_n, 3);
        verdict.reason = REASON_SHORT_WRITE;
        assert_true(update(verdict));
        assert_int_equal(sink_n, 4);
        verdict.state = STATE_DRIFTED;
        assert_true(update(verdict));
        assert_int_equal(sink_n, 5);

        /* Another value found is shown, and not worth a record. */
        verdict.found = 12;
        assert_true(update(verdict));
        assert_int_equal(sink_n, 5);
        assert_false(update(verdict));
        assert_int_equal(sink_n, 5);
}

static void test_repeated_each_hour(void **state) {
        Verdict verdict = in_trouble(STATE_DRIFTED, REASON_REPORT_ONLY);

        update(verdict);
        assert_told(LOG_WARNING, MESSAGE_DRIFTED_ID,
                    "mlx5_0 port 1: tos drifted, wanted 104, found 0: the rule only reports");
        for (unsigned i = 0; i < 359; i++) {
                pass(10 * SEC);
                update(verdict);
        }
        assert_told_nothing();

        for (unsigned hour = 0; hour < 2; hour++) {
                pass(10 * SEC);
                update(verdict);
                assert_told(LOG_WARNING, MESSAGE_DRIFTED_ID,
                            "mlx5_0 port 1: tos drifted, wanted 104, found 0: the rule only reports "
                            "(360 more times since the last report)");
                for (unsigned i = 0; i < 359; i++) {
                        pass(10 * SEC);
                        update(verdict);
                }
                assert_told_nothing();
        }

        /* The count begins anew with another trouble. */
        update(in_trouble(STATE_FAILED, REASON_SHORT_WRITE));
        assert_told(LOG_ERR, MESSAGE_FAILED_ID,
                    "mlx5_0 port 1: tos failed, wanted 104, found 0: the kernel took only a part of the write");
        assert_int_equal(tale.story.untold, 0);
}

static void test_right_again(void **state) {
        update(in_trouble(STATE_FAILED, REASON_SHORT_WRITE));
        sink_empty();
        pass(5 * SEC);
        assert_true(update(right()));
        assert_told(LOG_INFO, MESSAGE_COMPLIANT_ID, "mlx5_0 port 1: tos is ok again");
        assert_int_equal(tale.story.since_usec, REALTIME + 5 * SEC);

        update(in_trouble(STATE_DRIFTED, REASON_REPORT_ONLY));
        sink_empty();
        update((Verdict) { .state = STATE_UNMANAGED, .wanted = VALUE_NONE, .found = 0, .readback = VALUE_NONE });
        assert_told(LOG_INFO, MESSAGE_COMPLIANT_ID, "mlx5_0 port 1: tos is unmanaged again");

        /* The record of a change is that of its state, too. */
        update(in_trouble(STATE_FAILED, REASON_SHORT_WRITE));
        sink_empty();
        update(written_over(0));
        assert_told(LOG_NOTICE, MESSAGE_CHANGED_ID, "mlx5_0 port 1: tos changed from 0 to 104");

        update((Verdict) { .state = STATE_UNKNOWN, .reason = REASON_NO_DIRECTORY, .wanted = 104, .found = VALUE_NONE });
        sink_empty();
        update(right());
        assert_told(LOG_INFO, MESSAGE_COMPLIANT_ID, "mlx5_0 port 1: tos is ok again");
}

static void test_since(void **state) {
        update(right());
        pass(5 * SEC);
        update(written_over(106));
        assert_int_equal(tale.story.since_usec, REALTIME); /* ok before, ok after */
        pass(5 * SEC);
        update(in_trouble(STATE_FAILED, REASON_SHORT_WRITE));
        assert_int_equal(tale.story.since_usec, REALTIME + 10 * SEC);
        pass(5 * SEC);
        update(in_trouble(STATE_FAILED, REASON_READBACK_DIFFERS));
        assert_int_equal(tale.story.since_usec, REALTIME + 10 * SEC);
        assert_int_equal(tale.story.since_monotonic_usec, 1010 * SEC);
}

static uint64_t check_late(void) {
        return story_check_late(&tale.story, &tale.context);
}

static void test_late(void **state) {
        assert_int_equal(check_late(), UINT64_MAX); /* nothing is known of it */
        update(pending(REASON_NO_RDMA_CM));
        sink_empty();
        assert_int_equal(check_late(), 1030 * SEC);
        pass(30 * SEC - 1);
        assert_int_equal(check_late(), 1030 * SEC);
        assert_told_nothing();

        pass(1);
        assert_int_equal(check_late(), UINT64_MAX);
        assert_told(LOG_WARNING, MESSAGE_PENDING_ID,
                    "mlx5_0 port 1: tos pending, wanted 104, found nothing: rdma_cm is not loaded");
        pass(SEC);
        assert_int_equal(check_late(), UINT64_MAX);
        assert_told_nothing();

        /* Once late, another reason is as loud, and so is the hour. */
        update(pending(REASON_NO_DEVICE));
        assert_int_equal(sink_n, 1);
        assert_int_equal(sink_records[0].priority, LOG_WARNING);
        sink_empty();
        pass(3600 * SEC);
        update(pending(REASON_NO_DEVICE));
        assert_int_equal(sink_n, 1);
        assert_int_equal(sink_records[0].priority, LOG_WARNING);
        sink_empty();
        assert_int_equal(check_late(), UINT64_MAX);
}

static void test_late_begins_anew(void **state) {
        update(pending(REASON_NO_RDMA_CM));
        pass(31 * SEC);
        check_late();
        update(right());
        sink_empty();
        assert_int_equal(check_late(), UINT64_MAX);
        pass(SEC);
        update(pending(REASON_NO_RDMA_CM));
        assert_int_equal(sink_n, 1);
        assert_int_equal(sink_records[0].priority, LOG_DEBUG);
        sink_empty();
        assert_int_equal(check_late(), 1062 * SEC);
        pass(30 * SEC);
        check_late();
        assert_int_equal(sink_n, 1);
        assert_int_equal(sink_records[0].priority, LOG_WARNING);
}

/* Neither what has failed nor what is right becomes late. */
static void test_late_is_for_pending(void **state) {
        update(in_trouble(STATE_FAILED, REASON_SHORT_WRITE));
        sink_empty();
        pass(60 * SEC);
        assert_int_equal(check_late(), UINT64_MAX);
        update(right());
        sink_empty();
        pass(60 * SEC);
        assert_int_equal(check_late(), UINT64_MAX);
        assert_told_nothing();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_silent_when_right, setup, teardown),
                cmocka_unit_test_setup_teardown(test_change, setup, teardown),
                cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
                cmocka_unit_test_setup_teardown(test_fields_absent, setup, teardown),
                cmocka_unit_test_setup_teardown(test_triggers, setup, teardown),
                cmocka_unit_test_setup_teardown(test_troubles, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nothing_found_or_wanted, setup, teardown),
                cmocka_unit_test_setup_teardown(test_told_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_repeated_each_hour, setup, teardown),
                cmocka_unit_test_setup_teardown(test_right_again, setup, teardown),
                cmocka_unit_test_setup_teardown(test_since, setup, teardown),
                cmocka_unit_test_setup_teardown(test_late, setup, teardown),
                cmocka_unit_test_setup_teardown(test_late_begins_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(test_late_is_for_pending, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
