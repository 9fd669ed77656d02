/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan.h"

#define MODE ATTRIBUTE_MODE
#define TOS ATTRIBUTE_TOS
#define NONE VALUE_NONE

static const Rule enforce = { .wanted = { [MODE] = ROCE_V2, [TOS] = 104 } };
static const Rule report = { .wanted = { [MODE] = ROCE_V2, [TOS] = 104 }, .enforcement = ENFORCEMENT_REPORT };
static const Rule sets_nothing = { .wanted = { [MODE] = NONE, [TOS] = NONE } };
static const Port roce = { .number = 1, .link_layer = LINK_LAYER_ETHERNET, .roce = true };
static const Port not_roce = { .number = 1, .link_layer = LINK_LAYER_INFINIBAND };

static const Stance writer = { .may_write = true, .refused_mode = NONE };
static const Stance reader = { .refused_mode = NONE };

#define assert_verdict(verdict, state_, reason_, wanted_, found_, readback_) \
        do {                                                                 \
                const Verdict *_verdict = &(verdict);                        \
                assert_int_equal(_verdict->state, (state_));                 \
                assert_int_equal(_verdict->reason, (reason_));               \
                assert_int_equal(_verdict->wanted, (wanted_));               \
                assert_int_equal(_verdict->found, (found_));                 \
                assert_int_equal(_verdict->readback, (readback_));           \
        } while (0)

static void test_begin(void **state) {
        Rule tos_0 = { .wanted = { [MODE] = NONE, [TOS] = 0 } };
        Verdict verdict;

        verdict = verdict_begin(MODE, &not_roce, MATCH_YES, &enforce);
        assert_verdict(verdict, STATE_NOT_ROCE, REASON_NONE, NONE, NONE, NONE);
        assert_false(verdict_needs_look(&verdict));
        verdict = verdict_begin(TOS, &not_roce, MATCH_NOT_YET_KNOWN, &enforce);
        assert_verdict(verdict, STATE_NOT_ROCE, REASON_NONE, NONE, NONE, NONE);

        verdict = verdict_begin(MODE, &roce, MATCH_NOT_YET_KNOWN, &enforce);
        assert_verdict(verdict, STATE_PENDING, REASON_NOT_SETTLED, NONE, NONE, NONE);
        assert_false(verdict_needs_look(&verdict));

        verdict = verdict_begin(TOS, &roce, MATCH_NO, NULL);
        assert_verdict(verdict, STATE_UNMANAGED, REASON_NONE, NONE, NONE, NONE);
        assert_false(verdict_needs_look(&verdict));
        verdict = verdict_begin(MODE, &roce, MATCH_YES, &sets_nothing);
        assert_verdict(verdict, STATE_UNMANAGED, REASON_NONE, NONE, NONE, NONE);
        verdict = verdict_begin(MODE, &roce, MATCH_YES, &tos_0);
        assert_verdict(verdict, STATE_UNMANAGED, REASON_NONE, NONE, NONE, NONE);

        verdict = verdict_begin(MODE, &roce, MATCH_YES, &enforce);
        assert_verdict(verdict, STATE_UNKNOWN, REASON_NONE, ROCE_V2, NONE, NONE);
        assert_true(verdict_needs_look(&verdict));
        verdict = verdict_begin(TOS, &roce, MATCH_YES, &tos_0);
        assert_verdict(verdict, STATE_UNKNOWN, REASON_NONE, 0, NONE, NONE);
        assert_true(verdict_needs_look(&verdict));
        assert_false(verdict.due || verdict.tried);
}

/* What each errno means at the step where it comes, whoever looks. */
static void test_look_errors(void **state) {
        static const struct {
                Step step;
                int error;
                State state;
                Reason reason;
                bool error_kept;
        } cases[] = {
                { STEP_OPEN, -ENOTCONN, STATE_PENDING, REASON_NO_CONFIGFS, false },
                { STEP_OPEN, -ENOENT, STATE_PENDING, REASON_NO_RDMA_CM, false },
                { STEP_OPEN, -EACCES, STATE_FAILED, REASON_REFUSED, true },
                { STEP_OPEN, -ENOTDIR, STATE_FAILED, REASON_REFUSED, true },
                { STEP_MAKE, -ENODEV, STATE_PENDING, REASON_NO_DEVICE, false },
                { STEP_MAKE, -EROFS, STATE_FAILED, REASON_REFUSED, true },
                { STEP_MAKE, -ENOENT, STATE_FAILED, REASON_REFUSED, true },
                { STEP_READ, -ENODEV, STATE_PENDING, REASON_NO_DEVICE, false },
                { STEP_READ, -ENOENT, STATE_UNSUPPORTED, REASON_NO_ATTRIBUTE, false },
                { STEP_READ, -EBADMSG, STATE_FAILED, REASON_REFUSED, true },
                { STEP_READ, -EIO, STATE_FAILED, REASON_REFUSED, true },
                { STEP_REMOVE, -EBUSY, STATE_FAILED, REASON_REFUSED, true },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        Look look = { .step = cases[i].step, .error = cases[i].error, .value = 7 };
                        Verdict verdict = verdict_begin(a, &roce, MATCH_YES, &enforce);

                        verdict_look(&verdict, a, &enforce, &look, &writer);
                        assert_verdict(verdict, cases[i].state, cases[i].reason, enforce.wanted[a], NONE, NONE);
                        assert_int_equal(verdict.error, cases[i].error_kept ? cases[i].error : 0);
                        assert_false(verdict.due);
                        assert_false(verdict.tried);
                        if (cases[i].error_kept)
                                assert_int_equal(verdict.step, cases[i].step);
                }
}

static void test_look(void **state) {
        static const Stance holding = { .may_write = true, .hold = true, .refused_mode = NONE };
        static const Stance refused_v2 = { .may_write = true, .refused_mode = ROCE_V2 };
        static const Stance refused_v1 = { .may_write = true, .refused_mode = ROCE_V1 };
        static const Stance refused_reader = { .refused_mode = ROCE_V2 };
        static const Stance refused_and_holding = { .may_write = true, .hold = true, .refused_mode = ROCE_V2 };
        static const struct {
                Attribute attribute;
                const Rule *rule;
                const Stance *stance;
                int found;
                unsigned support;
                State state;
                Reason reason;
                bool due;
        } cases[] = {
                { MODE, &enforce, &writer, ROCE_V2, 0, STATE_OK, REASON_NONE, false },
                { MODE, &report, &reader, ROCE_V2, 0, STATE_OK, REASON_NONE, false },
                { TOS, &enforce, &writer, 104, 0, STATE_OK, REASON_NONE, false },
                { TOS, &enforce, &holding, 104, 0, STATE_OK, REASON_NONE, false },
                { MODE, &enforce, &refused_v2, ROCE_V2, 0, STATE_OK, REASON_NONE, false },

                /* who may write tries, whatever the GIDs say */
                { MODE, &enforce, &writer, ROCE_V1, 0, STATE_DRIFTED, REASON_DUE, true },
                { MODE, &enforce, &writer, ROCE_V1, SUPPORT_V1, STATE_DRIFTED, REASON_DUE, true },
                { MODE, &enforce, &writer, ROCE_V1, SUPPORT_V1 | SUPPORT_V2, STATE_DRIFTED, REASON_DUE, true },
                { TOS, &enforce, &writer, 0, 0, STATE_DRIFTED, REASON_DUE, true },
                { MODE, &enforce, &refused_v1, ROCE_V1, 0, STATE_DRIFTED, REASON_DUE, true },
                { TOS, &enforce, &refused_v2, 0, 0, STATE_DRIFTED, REASON_DUE, true },

                { MODE, &enforce, &holding, ROCE_V1, 0, STATE_DRIFTED, REASON_BACKING_OFF, false },
                { TOS, &enforce, &holding, 106, 0, STATE_DRIFTED, REASON_BACKING_OFF, false },
                { MODE, &enforce, &refused_v2, ROCE_V1, 0, STATE_UNSUPPORTED, REASON_MODE_REFUSED, false },
                { MODE, &report, &refused_v2, ROCE_V1, SUPPORT_V1, STATE_UNSUPPORTED, REASON_MODE_REFUSED, false },
                { MODE, &enforce, &refused_reader, ROCE_V1, 0, STATE_UNSUPPORTED, REASON_MODE_REFUSED, false },
                { MODE, &enforce, &refused_and_holding, ROCE_V1, 0, STATE_UNSUPPORTED, REASON_MODE_REFUSED, false },

                /* where nothing is written the GIDs must do */
                { MODE, &enforce, &reader, ROCE_V1, SUPPORT_V1, STATE_UNSUPPORTED, REASON_NOT_IN_GIDS, false },
                { MODE, &report, &writer, ROCE_V1, SUPPORT_V1, STATE_UNSUPPORTED, REASON_NOT_IN_GIDS, false },
                { MODE, &enforce, &reader, ROCE_V1, 0, STATE_DRIFTED, REASON_DUE, true },
                { MODE, &enforce, &reader, ROCE_V1, SUPPORT_V2, STATE_DRIFTED, REASON_DUE, true },
                { MODE, &enforce, &reader, ROCE_V1, SUPPORT_V1 | SUPPORT_V2, STATE_DRIFTED, REASON_DUE, true },
                { TOS, &enforce, &reader, 0, SUPPORT_V1, STATE_DRIFTED, REASON_DUE, true },

                { MODE, &report, &writer, ROCE_V1, 0, STATE_DRIFTED, REASON_REPORT_ONLY, false },
                { MODE, &report, &reader, ROCE_V1, SUPPORT_V2, STATE_DRIFTED, REASON_REPORT_ONLY, false },
                { TOS, &report, &writer, 0, 0, STATE_DRIFTED, REASON_REPORT_ONLY, false },
                { TOS, &report, &holding, 0, 0, STATE_DRIFTED, REASON_REPORT_ONLY, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Verdict verdict = verdict_begin(cases[i].attribute, &roce, MATCH_YES, cases[i].rule);
                Look look = { .step = STEP_READ, .value = cases[i].found, .support = cases[i].support };

                verdict_look(&verdict, cases[i].attribute, cases[i].rule, &look, cases[i].stance);
                if (verdict.state != cases[i].state || verdict.reason != cases[i].reason ||
                    verdict.due != cases[i].due)
                        fail_msg("case %zu: state %s, reason %d, due %d", i, state_to_string(verdict.state),
                                 (int) verdict.reason, verdict.due);
                assert_int_equal(verdict.found, cases[i].found);
                assert_int_equal(verdict.readback, NONE);
                assert_int_equal(verdict.error, verdict.reason == REASON_MODE_REFUSED ? -EINVAL : 0);
                assert_false(verdict.tried);
        }
}

/* A port that does v2 only, where v1 is wanted. */
static void test_look_v1(void **state) {
        static const Rule v1 = { .wanted = { [MODE] = ROCE_V1, [TOS] = NONE } };
        Verdict verdict = verdict_begin(MODE, &roce, MATCH_YES, &v1);

        verdict_look(&verdict, MODE, &v1, &(Look) { .value = ROCE_V2, .support = SUPPORT_V2 }, &reader);
        assert_verdict(verdict, STATE_UNSUPPORTED, REASON_NOT_IN_GIDS, ROCE_V1, ROCE_V2, NONE);
        verdict = verdict_begin(MODE, &roce, MATCH_YES, &v1);
        verdict_look(&verdict, MODE, &v1, &(Look) { .value = ROCE_V2, .support = SUPPORT_V1 }, &reader);
        assert_verdict(verdict, STATE_DRIFTED, REASON_DUE, ROCE_V1, ROCE_V2, NONE);
}

static void test_conclude(void **state) {
        static const struct {
                Attribute attribute;
                int write_error;
                int read_error;
                int readback;
                State state;
                Reason reason;
                Step step;
                int error;
        } cases[] = {
                { MODE, 0, 0, ROCE_V2, STATE_OK, REASON_NONE, STEP_NONE, 0 },
                { TOS, 0, 0, 104, STATE_OK, REASON_NONE, STEP_NONE, 0 },
                { MODE, 0, 0, ROCE_V1, STATE_FAILED, REASON_READBACK_DIFFERS, STEP_NONE, 0 },
                { TOS, 0, 0, 0, STATE_FAILED, REASON_READBACK_DIFFERS, STEP_NONE, 0 },
                { MODE, 0, -EBADMSG, NONE, STATE_FAILED, REASON_REFUSED, STEP_READ_BACK, -EBADMSG },
                { MODE, 0, -EIO, NONE, STATE_FAILED, REASON_REFUSED, STEP_READ_BACK, -EIO },
                { MODE, 0, -ENOENT, NONE, STATE_FAILED, REASON_REFUSED, STEP_READ_BACK, -ENOENT },
                { TOS, 0, -ENODEV, NONE, STATE_PENDING, REASON_NO_DEVICE, STEP_READ_BACK, 0 },
                { MODE, -EINVAL, 0, ROCE_V1, STATE_UNSUPPORTED, REASON_MODE_REFUSED, STEP_WRITE, -EINVAL },
                { MODE, -EINVAL, -EIO, NONE, STATE_UNSUPPORTED, REASON_MODE_REFUSED, STEP_WRITE, -EINVAL },
                { TOS, -EINVAL, 0, 0, STATE_FAILED, REASON_REFUSED, STEP_WRITE, -EINVAL },
                { TOS, -EMSGSIZE, 0, 1, STATE_FAILED, REASON_SHORT_WRITE, STEP_WRITE, 0 },
                { MODE, -EIO, 0, ROCE_V1, STATE_FAILED, REASON_REFUSED, STEP_WRITE, -EIO },
                { TOS, -EIO, 0, 104, STATE_FAILED, REASON_REFUSED, STEP_WRITE, -EIO },
                { MODE, -EROFS, -EIO, NONE, STATE_FAILED, REASON_REFUSED, STEP_WRITE, -EROFS },
                { MODE, -ENODEV, -ENODEV, NONE, STATE_PENDING, REASON_NO_DEVICE, STEP_WRITE, 0 },
                { TOS, -ENOENT, -ENOENT, NONE, STATE_FAILED, REASON_REFUSED, STEP_WRITE, -ENOENT },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Attribute attribute = cases[i].attribute;
                Verdict verdict = verdict_begin(attribute, &roce, MATCH_YES, &enforce);
                int found = attribute == MODE ? ROCE_V1 : 0;
                Look readback = { .step = STEP_READ_BACK, .error = cases[i].read_error, .value = cases[i].readback };

                verdict_look(&verdict, attribute, &enforce, &(Look) { .step = STEP_READ, .value = found }, &writer);
                assert_true(verdict.due);
                verdict_conclude(&verdict, attribute, cases[i].write_error, &readback);
                if (verdict.state != cases[i].state || verdict.reason != cases[i].reason ||
                    verdict.error != cases[i].error)
                        fail_msg("case %zu: state %s, reason %d, error %d", i, state_to_string(verdict.state),
                                 (int) verdict.reason, verdict.error);
                assert_int_equal(verdict.step, cases[i].step);
                assert_int_equal(verdict.found, found);
                assert_int_equal(verdict.wanted, enforce.wanted[attribute]);
                assert_int_equal(verdict.readback, cases[i].read_error < 0 ? NONE : cases[i].readback);
                assert_true(verdict.tried);
                assert_false(verdict.due);
        }
}

/* What was found may be another device's, and calls for nothing. */
static void test_disown(void **state) {
        Verdict verdict = { .state = STATE_DRIFTED, .reason = REASON_DUE, .error = -EIO, .wanted = 104, .due = true };

        verdict_disown(&verdict);
        assert_int_equal(verdict.state, STATE_PENDING);
        assert_int_equal(verdict.reason, REASON_CHANGED_HANDS);
        assert_int_equal(verdict.error, 0);
        assert_false(verdict.due);
        assert_false(verdict.tried);
}

static void test_states(void **state) {
        static const struct {
                const char *text;
                int compliant;
        } states[_STATE_MAX] = {
                [STATE_OK] = { "ok", 1 },
                [STATE_UNMANAGED] = { "unmanaged", 1 },
                [STATE_NOT_ROCE] = { "not-roce", 1 },
                [STATE_PENDING] = { "pending", 0 },
                [STATE_DRIFTED] = { "drifted", 0 },
                [STATE_UNSUPPORTED] = { "unsupported", 0 },
                [STATE_UNKNOWN] = { "unknown", -1 },
                [STATE_FAILED] = { "failed", 0 },
        };

        for (State s = 0; s < _STATE_MAX; s++) {
                assert_string_equal(state_to_string(s), states[s].text);
                assert_int_equal(state_from_string(states[s].text), s);
                assert_int_equal(state_is_compliant(s), states[s].compliant);
        }
        assert_int_equal(state_from_string(""), -EINVAL);
        assert_int_equal(state_from_string("OK"), -EINVAL);
        assert_int_equal(state_from_string("okay"), -EINVAL);
}

static void test_steps(void **state) {
        for (Step a = 0; a < _STEP_MAX; a++) {
                assert_non_null(step_to_string(a));
                for (Step b = a + 1; b < _STEP_MAX; b++)
                        assert_string_not_equal(step_to_string(a), step_to_string(b));
        }
        assert_string_equal(step_to_string(STEP_WRITE), "write");
        assert_string_equal(step_to_string(STEP_MAKE), "mkdir");
}

static void assert_reason(Verdict verdict, Attribute attribute, const char *expected) {
        char buffer[REASON_TEXT_MAX];
        const char *text = reason_format(&verdict, attribute, buffer);

        if (!expected) {
                assert_null(text);
                return;
        }
        assert_ptr_equal(text, buffer);
        assert_string_equal(text, expected);
}

static Verdict reason(Reason r) {
        return (Verdict) { .reason = r, .wanted = NONE, .found = NONE, .readback = NONE };
}

static void test_reason_texts(void **state) {
        static const char *const texts[] = {
                [REASON_NONE] = NULL,
                [REASON_NO_CONFIGFS] = "configfs is not mounted at /sys/kernel/config",
                [REASON_NO_RDMA_CM] = "rdma_cm is not loaded",
                [REASON_NO_DEVICE] = "rdma_cm does not know the device (yet)",
                [REASON_NOT_SETTLED] = "udev has not finished with the device",
                [REASON_WAITING] = "waits while another access to the kernel blocks",
                [REASON_DUE] = "a pass would write it",
                [REASON_REPORT_ONLY] = "the rule only reports",
                [REASON_BACKING_OFF] = "another program keeps writing; backing off",
                [REASON_NO_DIRECTORY] =
                                "the device has no directory in configfs, and only root or the daemon makes one",
                [REASON_NO_PERMISSION] = "no permission to look",
                [REASON_SHORT_WRITE] = "the kernel took only a part of the write",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (texts[i] || i == REASON_NONE)
                        assert_reason(reason((Reason) i), MODE, texts[i]);

        for (Reason r = REASON_NONE + 1; r <= REASON_BLOCKED; r++) {
                Verdict verdict = reason(r);
                char buffer[REASON_TEXT_MAX];

                verdict.wanted = ROCE_V1;
                verdict.error = -EIO;
                assert_non_null(reason_format(&verdict, MODE, buffer));
                assert_int_equal(strcspn(buffer, "\n"), strlen(buffer));
        }
        assert_reason(reason((Reason) (REASON_BLOCKED + 1)), MODE, NULL);
}

static void test_reason_values(void **state) {
        Verdict verdict = reason(REASON_NOT_IN_GIDS);

        verdict.wanted = ROCE_V1;
        assert_reason(verdict, MODE, "the port has no RoCE v1 GID, only v2");
        verdict.wanted = ROCE_V2;
        assert_reason(verdict, MODE, "the port has no RoCE v2 GID, only v1");

        verdict.reason = REASON_MODE_REFUSED;
        assert_reason(verdict, MODE, "the port cannot do RoCE v2, the kernel refused it");

        verdict.reason = REASON_NO_ATTRIBUTE;
        assert_reason(verdict, MODE, "this kernel has no default_roce_mode");
        assert_reason(verdict, TOS, "this kernel has no default_roce_tos");

        verdict.reason = REASON_READBACK_DIFFERS;
        verdict.readback = ROCE_V1;
        assert_reason(verdict, MODE, "wrote v2 and read back v1");
        verdict.wanted = 104;
        verdict.readback = 0;
        assert_reason(verdict, TOS, "wrote 104 and read back 0");

        verdict.reason = REASON_BLOCKED;
        verdict.step = STEP_WRITE;
        verdict.blocked_sec = 65;
        assert_reason(verdict, TOS, "write has blocked in the kernel for 65 s");
}

static void test_reason_errors(void **state) {
        static const struct {
                Step step;
                int error;
                const char *text;
        } cases[] = {
                { STEP_WRITE, -EIO, "write: Input/output error" },
                { STEP_MAKE, -EROFS, "mkdir: Read-only file system; is /sys/kernel/config writable for the service?" },
                { STEP_MAKE, -EACCES, "mkdir: Permission denied; is /sys/kernel/config writable for the service?" },
                { STEP_WRITE, -EPERM,
                  "write: Operation not permitted; is /sys/kernel/config writable for the service?" },
                { STEP_MAKE, -ENOTDIR, "mkdir: Not a directory; rdma_cm's directory is not configfs" },
                { STEP_READ_BACK, -EBADMSG,
                  "reading back: Bad message; the kernel's text is no value of this attribute" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Verdict verdict = reason(REASON_REFUSED);

                verdict.step = cases[i].step;
                verdict.error = cases[i].error;
                assert_reason(verdict, MODE, cases[i].text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_begin),         cmocka_unit_test(test_look_errors),
                cmocka_unit_test(test_look),          cmocka_unit_test(test_look_v1),
                cmocka_unit_test(test_conclude),      cmocka_unit_test(test_states),
                cmocka_unit_test(test_steps),         cmocka_unit_test(test_reason_texts),
                cmocka_unit_test(test_reason_values), cmocka_unit_test(test_reason_errors),
                cmocka_unit_test(test_disown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
