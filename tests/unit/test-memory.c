/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory runs out at each allocation in turn: nothing is lost, nothing half-made comes out, and the daemon catches up
 * afterwards. */

#include "allocations.h"
#include "log.h"
#include "manager.h"
#include "message-ids.h"
#include "ownership.h"
#include "policy-test.h"
#include "report-json.h"
#include "sysfs-tree.h"

static Policy *policy;

static int setup(void **state) {
        tree_begin();
        put_directory("/run/roced");
        put_udevd(true);
        for (unsigned i = 0; i < 2; i++) {
                char name[16], pci[64];

                snprintf(name, sizeof(name), "mlx5_%u", i);
                snprintf(pci, sizeof(pci), "/sys/devices/pci0000:3b/0000:3b:00.%u", i);
                put_pci(pci, "mlx5_core", "0x15b3\n", "0x1017\n");
                put_device(name, pci);
                put_port(name, 1, "Ethernet\n");
                put_port(name, 2, "Ethernet\n");
                put(at("%s/net/ens1f0np0/dev_port", pci), "0\n");
                put(at("/sys/kernel/config/rdma_cm/%s/ports/1/default_roce_tos", name), "0");
                put(at("/sys/kernel/config/rdma_cm/%s/ports/2/default_roce_tos", name), "0");
                put(at(DATABASE "+infiniband:%s", name), "I:1\nE:ID_PATH=pci-0000:3b:00.0\n");
        }
        put(DATABASE "+infiniband:mlx5_7", "I:1\n");
        put(DATABASE "+infiniband:mlx5_8", "I:1\n");
        assert_int_equal(ownership_intend("rxe0"), 0);
        policy = policy_from("version: 1\n"
                             "rules: [{match: {property: {ID_PATH: 'pci*'}, netdev: 'ens*'}, tos: 104}, {match: any, "
                             "tos: 104}, "
                             "{match: {device: spare}, tos: 3}]\n");
        return 0;
}

static int teardown(void **state) {
        policy = policy_unref(policy);
        return tree_end(state);
}

/* Calls it with room for each number of allocations, until it does not run out any more; what comes after that number
 * fails too, or does not. It is to free all that it allocates. */
static void exhaust(void (*function)(void), long least) {
        function(); /* what libraries keep for later is allocated now */
        for (unsigned i = 0; i < 2; i++) {
                long n = 0;

                do {
                        n_live = 0;
                        n_left = n++;
                        fail_once = i > 0;
                        failed = false;
                        counting = true;
                        function();
                        counting = false;
                        n_left = -1;
                        if (n_live != 0)
                                fail_msg("%ld allocations are lost when number %ld fails", n_live, n);
                } while (failed);
                assert_in_range(n, least, 100000);
        }
}

/* Done with being short: what is asserted needs memory of its own. */
static void relax(void) {
        n_left = -1;
}

static void copy_device(void) {
        Device device = test_device();
        Device *copy = device_copy(&device);

        assert_true(copy || failed);
        device_free(copy);
}

static void acquire_device(void) {
        Device *device = NULL;
        int r = device_acquire("mlx5_0", ACQUIRE_PROPERTIES | ACQUIRE_NETDEV_SETTLED, &device);

        relax();
        assert_int_equal(r == 0, device != NULL);
        assert_true(r == 0 || failed);
        if (device) {
                assert_int_equal(device->n_ports, 2);
                assert_non_null(device_find_property(device, "ID_PATH"));
        }
        device_free(device);
}

static void acquire_lists(void) {
        char **names = NULL, **owned = NULL;
        Leftover *leftovers = NULL;
        size_t n_invalid, n_leftovers = 0;

        if (device_names_acquire(&names, &n_invalid) < 0)
                assert_null(names);
        if (ownership_names_acquire(&owned) < 0)
                assert_null(owned);
        if (leftovers_acquire(&leftovers, &n_leftovers) < 0)
                assert_null(leftovers);
        relax();
        assert_true(failed || (names && owned && n_leftovers == 2));
        names_free(names);
        names_free(owned);
        leftovers_free(leftovers, n_leftovers);
}

static void run_job(void) {
        Job *job = job_new(JOB_RECONCILE, "mlx5_0", policy);

        if (job)
                job_run(job);
        relax();
        if (job && job->error == 0)
                assert_non_null(job->report);
        assert_true(failed || job->report->n_ports == 2);
        job_free(job);
}

/* One thing after the other until nothing is left to do. */
static void pump(Manager *manager, Now *now, unsigned rounds) {
        for (unsigned i = 0; i < rounds && !manager_is_settled(manager, now->monotonic_usec); i++) {
                Job *job;

                manager_tick(manager, *now);
                job = manager_next_job(manager, now->monotonic_usec);
                if (job) {
                        job_run(job);
                        manager_job_done(manager, job, *now);
                }
                now->monotonic_usec += USEC_PER_SEC;
        }
}

/* Whatever is forgotten for want of memory is made good when there is memory again. */
static void manage(void) {
        Now now = { 1000 * USEC_PER_SEC, 1700000000 * USEC_PER_SEC };
        Manager *manager = NULL;
        Summary summary;

        if (manager_new(-EBADF, 1, &manager) < 0) {
                assert_true(failed);
                return;
        }
        manager_set_policy(manager, policy, TRIGGER_STARTUP);
        manager_mark(manager, "mlx5_0", TRIGGER_HOTPLUG);
        manager_mark_announced(manager, "mlx5_1", 7, TRIGGER_HOTPLUG);
        pump(manager, &now, 10);
        relax();
        pump(manager, &now, 1000);
        assert_true(manager_is_settled(manager, now.monotonic_usec));
        manager_summarize(manager, &summary);
        assert_int_equal(summary.devices, 2);
        assert_int_equal(summary.ports, 4);
        manager_free(manager);
}

/* What is built says whether it is whole. The reason is none with the text of an errno: newer C libraries allocate that, and do
 * without if they must. */
static void build_json(void) {
        const Verdict verdict = { .state = STATE_UNSUPPORTED, .reason = REASON_MODE_REFUSED, .wanted = ROCE_V2, .found = ROCE_V1,
                                  .readback = VALUE_NONE };
        _cleanup_json_ json_object *map = json_map(), *list = json_list();

        json_put(map, "policy", json_policy(policy));
        json_put(map, "verdict", json_verdict(&verdict, ATTRIBUTE_MODE, 1));
        json_put(map, "rule", json_rule(policy->rules, MATCH_YES));
        json_push(list, json_time(1));
        json_put(map, "list", TAKE_PTR(list));
        relax();
        assert_int_equal(json_take_lost(), failed);
        assert_false(json_take_lost());
}

/* A record loses what there is no room for, but is never half a field. */
static void send_record(void) {
        Record record = { .priority = LOG_NOTICE };

        record_message(&record, "%s changed", "mlx5_0");
        record_add(&record, "ROCED_DEVICE", "mlx5_0");
        record_addf(&record, "ROCED_PORT", "%u", 1U);
        for (size_t i = 0; i < record.n_fields; i++)
                assert_non_null(strchr(record.fields[i], '='));
        record_send(&record);
        log_message(LOG_NOTICE, MESSAGE_STARTED_ID, "started with %u", 1U);
}

static void test_copy_device(void **state) {
        exhaust(copy_device, 10);
}

static void test_acquire_device(void **state) {
        exhaust(acquire_device, 20);
}

static void test_acquire_lists(void **state) {
        exhaust(acquire_lists, 10);
}

static void test_run_job(void **state) {
        exhaust(run_job, 20);
}

static void test_manage(void **state) {
        exhaust(manage, 50);
}

static void test_build_json(void **state) {
        exhaust(build_json, 20);
}

static void test_send_record(void **state) {
        exhaust(send_record, 6);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_copy_device),
                cmocka_unit_test_setup_teardown(test_acquire_device, setup, teardown),
                cmocka_unit_test_setup_teardown(test_acquire_lists, setup, teardown),
                cmocka_unit_test_setup_teardown(test_run_job, setup, teardown),
                cmocka_unit_test_setup_teardown(test_manage, setup, teardown),
                cmocka_unit_test_setup_teardown(test_build_json, setup, teardown),
                cmocka_unit_test_setup_teardown(test_send_record, setup, teardown),
        };

        namespace_enter();
        log_open(false, false);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
