/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A look at a device on the model of the world, with something that happens, or fails, at one of its calls. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calls.h"
#include "policy-load.h"
#include "simulation.h"
#include "witness.h"

static int moment;           /* at this call */
static unsigned moments_off; /* after so many of them */
static void (*happening)(void);
static void (*at_next)(void); /* at the same call the next time */

static ModelDevice *first, *second;
static const char *text;  /* of the policy */
static uint64_t leftover; /* the stamp of an entry of udevd's that is not the device's */

/* As others get their turn in a schedule. */
void act_in_midst(void) {
}

void main_thread_turn(void) {
        if (!happening || world.call != moment)
                return;
        if (moments_off > 0) {
                moments_off--;
                return;
        }
        happening();
        happening = TAKE_PTR(at_next);
}

static void at(Call call, unsigned after, void (*what)(void)) {
        moment = call;
        moments_off = after;
        happening = what;
}

static void call_fails(void) {
        world.failing = world.call;
        world.failing_error = -EMFILE;
}

static void call_fails_no_more(void) {
        world.failing = -1;
}

static ModelDevice *device_put(unsigned slot, int name, unsigned n_ports) {
        ModelDevice *device = world.devices + slot;

        *device = (ModelDevice){
                .there = true, .name = name, .instance = 100 + slot, .known = true, .n_ports = n_ports
        };
        for (unsigned i = 0; i < n_ports; i++)
                device->ports[i] = (ModelPort){
                        .roce = true,
                        .link_layer = LINK_LAYER_ETHERNET,
                        .supported = SUPPORT_V1 | SUPPORT_V2,
                        .netdev = NO_NETDEV,
                        .netdev_settled = true,
                        .value = { ROCE_V1, 0 },
                };
        return device;
}

/* mlx5_0 with two ports, and mlx5_1 with three. */
static int setup(void **state) {
        world_begin(1, false);
        memset(&world.rough, 0, sizeof(world.rough));
        memset(world.devices, 0, sizeof(world.devices));
        memset(world.records, 0, sizeof(world.records));
        world.n_items = 0;
        world.rough.turn = 1;
        world.mounted = world.loaded = world.tos_file = true;
        world.udevd = false;
        first = device_put(0, 0, 2);
        second = device_put(1, 1, 3);
        happening = NULL;
        text = "version: 1\nrules: [{match: any, mode: v2, tos: 104}]\n";
        leftover = 0;
        return 0;
}

static DeviceReport *look(void) {
        PolicyText source = { (char *) "policy.yaml", (char *) text, strlen(text) };
        _cleanup_(messages_done) Messages messages = {};
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        _cleanup_(job_freep) Job *job = NULL;

        assert_int_equal(policy_parse(&source, 1, &policy, &messages), 0);
        job = job_new(JOB_RECONCILE, "mlx5_0", policy);
        job->inotify_fd = 3;
        job->leftover = leftover;
        witness_begin(job);
        job_run(job);
        witness_end(job);
        assert_int_equal(job->error, 0);
        assert_null(happening);
        return TAKE_PTR(job->report);
}

static void assert_values(const ModelDevice *device, int mode, int tos) {
        for (unsigned i = 0; i < device->n_ports; i++) {
                assert_int_equal(device->ports[i].value[ATTRIBUTE_MODE], mode);
                assert_int_equal(device->ports[i].value[ATTRIBUTE_TOS], tos);
        }
}

static void assert_states(const DeviceReport *report, State state, Reason reason) {
        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        assert_int_equal(report->ports[i].verdicts[a].state, state);
                        assert_int_equal(report->ports[i].verdicts[a].reason, reason);
                }
}

static void test_plain(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = look();

        assert_states(report, STATE_OK, REASON_NONE);
        assert_values(first, ROCE_V2, 104);
        assert_values(second, ROCE_V1, 0);
        assert_true(world.records[0].there);
}

static void swap(void) {
        device_rename(first, 2);
        device_rename(second, 0);
        device_rename(first, 1);
}

/* The other device has a policy of its own: nothing is written to it by way of the name. */
static void test_swap_before_write(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;

        at(CALL_READ, 0, swap);
        report = look();
        assert_states(report, STATE_PENDING, REASON_CHANGED_HANDS);
        assert_true(report->changed_hands);
        assert_values(first, ROCE_V1, 0);
        assert_values(second, ROCE_V1, 0);
}

/* What had been made sure of is true. What is then read back is the other one's value, and not for us to set right. */
static void test_swap_between_ports(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;

        at(CALL_WATCH, 1, swap);
        report = look();
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                assert_int_equal(report->ports[0].verdicts[a].state, STATE_OK);
                assert_int_equal(report->ports[1].verdicts[a].state, STATE_PENDING);
                assert_int_equal(report->ports[1].verdicts[a].reason, REASON_CHANGED_HANDS);
                assert_true(report->ports[1].verdicts[a].tried);
        }
        assert_true(report->changed_hands);
        assert_values(first, ROCE_V2, 104);
        assert_values(second, ROCE_V1, 0);
}

/* Who bears the name cannot be seen: nothing is written, and it is looked at again. */
static void test_unknown_hands(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;

        at(CALL_INSTANCE, 1, call_fails);
        report = look();
        assert_states(report, STATE_PENDING, REASON_CHANGED_HANDS);
        assert_true(report->changed_hands);
        assert_values(first, ROCE_V1, 0);
}

/* That it could not be seen once, though what was written then is right, calls for another look too. */
static void test_unknown_hands_once(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;

        at(CALL_INSTANCE, 1, call_fails);
        at_next = call_fails_no_more;
        report = look();
        assert_states(report, STATE_OK, REASON_NONE);
        assert_true(report->changed_hands);
}

/* A directory of a device with one port stands where one with two is needed. */
static void stale_put(bool ours) {
        first->n_ports = 1;
        assert_true(directory_make(0, ours));
        first->n_ports = 2;
        if (ours)
                world.records[0] = (ModelRecord){ .there = true, .inode = world.directories[0].inode };
}

static void test_stale(void **state) {
        for (int ours = 0; ours <= 1; ours++) {
                _cleanup_(device_report_freep) DeviceReport *report = NULL;

                setup(state);
                stale_put(ours);
                report = look();
                assert_states(report, STATE_OK, REASON_NONE);
                assert_int_equal(world.directories[0].n_ports, 2);
                assert_int_equal(world.directories[0].ours, ours);
                assert_int_equal(world.records[0].there, ours);
        }
}

/* Whose it is cannot be read: it would be lost to roced if it were made anew as another's. */
static void test_stale_of_whom(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;
        uint64_t inode;

        stale_put(true);
        inode = world.directories[0].inode;
        at(CALL_RECORD_READ, 0, call_fails);
        report = look();
        assert_states(report, STATE_FAILED, REASON_REFUSED);
        assert_int_equal(report->ports[0].verdicts[0].step, STEP_REMOVE);
        assert_int_equal(report->ports[0].verdicts[0].error, -EMFILE);
        assert_int_equal(world.directories[0].inode, inode);
        assert_true(world.records[0].there);
}

/* Which ports it has cannot be seen: that does not make it stale. */
static void test_stale_or_not(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;
        uint64_t inode;

        assert_true(directory_make(0, false));
        inode = world.directories[0].inode;
        at(CALL_HAS_PORT, 0, call_fails);
        report = look();
        assert_states(report, STATE_FAILED, REASON_REFUSED);
        assert_int_equal(report->ports[0].verdicts[0].error, -EMFILE);
        assert_int_equal(world.directories[0].inode, inode);
}

static void another_removes_it(void) {
        directory_remove(0);
}

/* Wherever another program takes the directory away: it is made again, within the look. */
static void test_removed_in_the_midst(void **state) {
        static const Call calls[] = { CALL_READ, CALL_READ_OPENED, CALL_WRITE, CALL_WRITE_OPENED, CALL_WATCH };

        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                _cleanup_(device_report_freep) DeviceReport *report = NULL;

                setup(state);
                at(calls[i], 0, another_removes_it);
                report = look();
                assert_states(report, STATE_OK, REASON_NONE);
                assert_values(first, ROCE_V2, 104);
                assert_true(world.directories[0].there);
        }
}

static void another_makes_it(void) {
        directory_remove(0);
        assert_true(directory_make(0, false));
}

/* What roced has just looked at is no longer what has the name. */
static void test_stale_and_replaced(void **state) {
        for (int ours = 0; ours <= 1; ours++) {
                _cleanup_(device_report_freep) DeviceReport *report = NULL;
                uint64_t inode;

                setup(state);
                stale_put(ours);
                inode = world.directories[0].inode;
                at(CALL_CHECK, 0, another_makes_it);
                report = look();
                assert_states(report, STATE_OK, REASON_NONE);
                assert_int_equal(world.directories[0].inode, inode + 1);
                assert_false(world.directories[0].ours);
        }
}

/* Its maker has no use for it any more: the new one is roced's. */
static void test_stale_and_removed(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;

        stale_put(false);
        at(CALL_CHECK, 0, another_removes_it);
        report = look();
        assert_states(report, STATE_OK, REASON_NONE);
        assert_true(world.directories[0].ours);
        assert_int_equal(world.records[0].inode, world.directories[0].inode);
}

/* A crash in the midst leaves no word that another's directory would be roced's. */
static void test_stale_of_others_is_never_recorded(void **state) {
        DeviceReport *report;

        stale_put(false);
        at(CALL_MADE, 0, call_fails);
        report = look();
        assert_false(world.records[0].there);
        device_report_free(report);
}

static void test_removed_and_replaced(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = look();

        first->ports[0].roce = first->ports[1].roce = false;
        at(CALL_CHECK, 0, another_makes_it);
        device_report_free(report);
        report = look();
        assert_states(report, STATE_NOT_ROCE, REASON_NONE);
        assert_true(world.directories[0].there);
}

static void udev_writes(void) {
        world.database[0]++;
}

/* What was read may be from the entry that another device has left behind, though it is there no more afterwards. */
static void test_leftover(void **state) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;

        text = "version: 1\nrules: [{match: {device: mlx5_0}, mode: v2, tos: 104}]\n";
        world.udevd = true;
        world.database[0] = leftover = 7;
        at(CALL_INSTANCE, 0, udev_writes);
        report = look();
        assert_states(report, STATE_PENDING, REASON_NOT_SETTLED);
        device_report_free(report);
        report = look();
        assert_states(report, STATE_OK, REASON_NONE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_plain, setup),
                cmocka_unit_test_setup(test_swap_before_write, setup),
                cmocka_unit_test_setup(test_swap_between_ports, setup),
                cmocka_unit_test_setup(test_unknown_hands, setup),
                cmocka_unit_test_setup(test_unknown_hands_once, setup),
                cmocka_unit_test_setup(test_removed_in_the_midst, setup),
                cmocka_unit_test_setup(test_stale, setup),
                cmocka_unit_test_setup(test_stale_of_whom, setup),
                cmocka_unit_test_setup(test_stale_or_not, setup),
                cmocka_unit_test_setup(test_stale_and_replaced, setup),
                cmocka_unit_test_setup(test_stale_and_removed, setup),
                cmocka_unit_test_setup(test_stale_of_others_is_never_recorded, setup),
                cmocka_unit_test_setup(test_removed_and_replaced, setup),
                cmocka_unit_test_setup(test_leftover, setup),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
