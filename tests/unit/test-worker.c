/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Jobs, on the worker's thread and without it, with plain files for sysfs and configfs. */

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include "configfs.h"
#include "ownership.h"
#include "policy-test.h"
#include "sysfs-tree.h"
#include "worker.h"

#define DIRECTORY RDMA_CM_PATH "/mlx5_0"
#define MODE_FILE DIRECTORY "/ports/1/default_roce_mode"
#define TOS_FILE DIRECTORY "/ports/1/default_roce_tos"

static Policy *policy;

/* mlx5_0 with one port, which is as the kernel made it. Attributes are without newline, since plain files keep what is
 * beyond a write. */
static int setup(void **state) {
        tree_begin();
        put_directory("/run/roced");
        put_device("mlx5_0", NULL);
        put_port("mlx5_0", 1, "Ethernet\n");
        put(MODE_FILE, "RoCE v2");
        put(TOS_FILE, "0");
        policy = policy_from("version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n");
        return 0;
}

static int teardown(void **state) {
        policy = policy_unref(policy);
        return tree_end(state);
}

static Worker *worker_begin(void) {
        Worker *worker;

        assert_int_equal(worker_new(&worker), 0);
        assert_null(worker_collect(worker));
        return worker;
}

static int readable(const Worker *worker, int timeout) {
        struct pollfd pollfd = { .fd = worker_get_fd(worker), .events = POLLIN };

        return poll(&pollfd, 1, timeout);
}

static void test_idle(void **state) {
        Worker *worker = worker_begin();

        assert_int_equal(readable(worker, 0), 0);
        assert_null(worker_free(worker));
        assert_null(worker_free(NULL));
}

/* One after the other: the fd is readable when a job is done, and until it is collected. */
static void test_listing(void **state) {
        Worker *worker = worker_begin();

        put_device("a!b", NULL);
        assert_int_equal(ownership_intend("rxe0"), 0);
        put(DATABASE "+infiniband:mlx5_9", "I:1\n");
        for (unsigned i = 0; i < 20; i++) {
                Job *job = job_new(JOB_LIST, NULL, NULL);

                worker_submit(worker, job);
                assert_int_equal(readable(worker, -1), 1);
                assert_ptr_equal(worker_collect(worker), job);
                assert_int_equal(readable(worker, 0), 0);
                assert_null(worker_collect(worker));

                assert_int_equal(job->error, 0);
                assert_string_equal(job->names[0], "mlx5_0");
                assert_null(job->names[1]);
                assert_int_equal(job->n_invalid, 1);
                assert_string_equal(job->owned[0], "rxe0");
                assert_null(job->owned[1]);
                assert_int_equal(job->n_leftovers, 1);
                assert_string_equal(job->leftovers[0].name, "mlx5_9");
                job_free(job);
        }
        worker_free(worker);
}

/* What is done and not collected goes with the worker. */
static void test_not_collected(void **state) {
        Worker *worker = worker_begin();

        worker_submit(worker, job_new(JOB_LIST, NULL, NULL));
        assert_int_equal(readable(worker, -1), 1);
        worker_free(worker);
}

/* Signals are for the main thread, whose mask stays as it was. */
static void test_signals(void **state) {
        Worker *worker;
        struct dirent *entry;
        sigset_t before, after;
        unsigned long long blocked = 0;
        DIR *tasks;

        sigemptyset(&before);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
        worker = worker_begin();
        assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
        for (int signal = 1; signal < 32; signal++)
                assert_false(sigismember(&after, signal));

        /* A thread that has done something is no longer about to start, when the C library blocks signals for it. */
        worker_submit(worker, job_new(JOB_LIST, NULL, NULL));
        assert_int_equal(readable(worker, -1), 1);
        job_free(worker_collect(worker));
        tasks = opendir("/proc/self/task");
        assert_non_null(tasks);
        while ((entry = readdir(tasks))) {
                const char *found;

                if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
                        continue;
                found = strstr(get(at("/proc/self/task/%s/status", entry->d_name)), "SigBlk:");
                assert_non_null(found);
                assert_int_equal(sscanf(found, "SigBlk: %llx", &blocked), 1);
        }
        closedir(tasks);
        for (size_t i = 0; i < 3; i++)
                assert_true(blocked & 1ULL << ((const int[]){ SIGTERM, SIGHUP, SIGINT }[i] - 1));
        worker_free(worker);
}

/* A job that is stuck does not hold up the end, and a FIFO that nobody writes to is where it is stuck. */
static void test_stuck(void **state) {
        static Worker *worker; /* goes with the process, as it would in the daemon */
        int fd;

        unlink("/sys/class/infiniband/mlx5_0/ports/1/link_layer");
        assert_return_code(mkfifo("/sys/class/infiniband/mlx5_0/ports/1/link_layer", 0644), errno);
        worker = worker_begin();
        worker_submit(worker, job_new(JOB_RECONCILE, "mlx5_0", policy));
        fd = open("/sys/class/infiniband/mlx5_0/ports/1/link_layer",
                  O_WRONLY | O_CLOEXEC); /* returns when the job is there */
        assert_return_code(fd, errno);
        assert_int_equal(readable(worker, 0), 0);
        assert_null(worker_free(worker));
}

static Job *job_for(const char *name) {
        Job *job = job_new(JOB_RECONCILE, name, policy);

        assert_non_null(job);
        return job;
}

static const Verdict *verdict_of(const Job *job, Attribute attribute) {
        assert_int_equal(job->error, 0);
        assert_int_equal(job->report->n_ports, 1);
        return job->report->ports[0].verdicts + attribute;
}

static void assert_verdict(const Verdict *verdict, State state, int found, int readback, bool tried) {
        assert_int_equal(verdict->state, state);
        assert_int_equal(verdict->found, found);
        assert_int_equal(verdict->readback, readback);
        assert_int_equal(verdict->tried, tried);
}

static void test_job_writes(void **state) {
        _cleanup_(job_freep) Job *job = job_for("mlx5_0"), *again = job_for("mlx5_0");
        Worker *worker = worker_begin();

        worker_submit(worker, job);
        assert_int_equal(readable(worker, -1), 1);
        assert_ptr_equal(worker_collect(worker), job);
        worker_free(worker);
        assert_verdict(verdict_of(job, ATTRIBUTE_MODE), STATE_OK, ROCE_V2, ROCE_V1, true);
        assert_verdict(verdict_of(job, ATTRIBUTE_TOS), STATE_OK, 0, 104, true);
        assert_string_equal(get(MODE_FILE), "IB/RoCE v1");
        assert_string_equal(get(TOS_FILE), "104");
        assert_string_equal(job->report->name, "mlx5_0");
        assert_ptr_equal(job->report->policy, policy);
        assert_ptr_equal(job->report->ports[0].rule, policy->rules);
        assert_int_equal(job->report->ports[0].watch, -1);
        assert_true(job->report->directory);
        assert_false(job->report->changed_hands);
        assert_int_equal(job->report->error, 0);
        assert_int_equal(atomic_load(&job->progress.step), STEP_NONE);
        assert_ptr_equal(atomic_load(&job->progress.device), job->report->device);

        job_run(again);
        assert_verdict(verdict_of(again, ATTRIBUTE_MODE), STATE_OK, ROCE_V1, VALUE_NONE, false);
        assert_verdict(verdict_of(again, ATTRIBUTE_TOS), STATE_OK, 104, VALUE_NONE, false);
}

/* What the daemon remembers of the device holds for that instance only. */
static void test_job_memory(void **state) {
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_(job_freep) Job *job = job_for("mlx5_0");

                assert_int_equal(device_instance_acquire("mlx5_0", &job->instance), 0);
                job->instance += i;
                job->memory = calloc(1, sizeof(PortMemory));
                job->n_memory = 1;
                job->memory[0] =
                                (PortMemory) { .port = 1, .refused_mode = ROCE_V1, .hold = { [ATTRIBUTE_TOS] = true } };
                job_run(job);
                if (i == 0) {
                        assert_verdict(verdict_of(job, ATTRIBUTE_MODE), STATE_UNSUPPORTED, ROCE_V2, VALUE_NONE, false);
                        assert_verdict(verdict_of(job, ATTRIBUTE_TOS), STATE_DRIFTED, 0, VALUE_NONE, false);
                        assert_int_equal(verdict_of(job, ATTRIBUTE_TOS)->reason, REASON_BACKING_OFF);
                        assert_string_equal(get(MODE_FILE), "RoCE v2");
                } else
                        assert_verdict(verdict_of(job, ATTRIBUTE_MODE), STATE_OK, ROCE_V2, ROCE_V1, true);
        }
}

/* A refusal is forgotten as soon as the port's GIDs show something else than then. */
static void test_job_forgets_refusal(void **state) {
        _cleanup_(job_freep) Job *job = job_for("mlx5_0");

        put_slot("mlx5_0", 1, 0, "IB/RoCE v1\n");
        assert_int_equal(device_instance_acquire("mlx5_0", &job->instance), 0);
        job->memory = calloc(1, sizeof(PortMemory));
        job->n_memory = 1;
        job->memory[0] = (PortMemory) { .port = 1, .refused_mode = ROCE_V1, .refused_support = SUPPORT_V2 };
        job_run(job);
        assert_verdict(verdict_of(job, ATTRIBUTE_MODE), STATE_OK, ROCE_V2, ROCE_V1, true);
        assert_int_equal(job->report->ports[0].support, SUPPORT_V1);
}

static void test_job_watches(void **state) {
        _cleanup_(job_freep) Job *job = job_for("mlx5_0"), *again = job_for("mlx5_0"), *bad = job_for("mlx5_0");
        _cleanup_close_ int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        _Alignas(struct inotify_event) char buffer[4096];
        const struct inotify_event *event = (const struct inotify_event *) buffer;

        job->inotify_fd = again->inotify_fd = fd;
        job_run(job);
        assert_in_range(job->report->ports[0].watch, 0, 1000);
        assert_int_equal(job->report->watch_error, 0);
        assert_true(verdict_of(job, ATTRIBUTE_MODE)->tried);
        assert_int_equal(read(fd, buffer, sizeof(buffer)), -1); /* our own write came before the watch */

        put(MODE_FILE, "RoCE v2");
        assert_in_range(read(fd, buffer, sizeof(buffer)), sizeof(*event), sizeof(buffer));
        assert_int_equal(event->wd, job->report->ports[0].watch);
        assert_int_equal(event->mask, IN_MODIFY);
        assert_string_equal(event->name, "default_roce_mode");

        /* A port that is watched stays so while it is written. */
        again->memory = calloc(1, sizeof(PortMemory));
        again->n_memory = 1;
        again->memory[0] = (PortMemory) { .port = 1, .watched = true, .refused_mode = VALUE_NONE };
        assert_int_equal(device_instance_acquire("mlx5_0", &again->instance), 0);
        job_run(again);
        assert_true(verdict_of(again, ATTRIBUTE_MODE)->tried);
        assert_int_equal(again->report->ports[0].watch, job->report->ports[0].watch);
        assert_in_range(read(fd, buffer, sizeof(buffer)), sizeof(*event), sizeof(buffer));

        bad->inotify_fd = eventfd(0, EFD_CLOEXEC);
        job_run(bad);
        assert_int_equal(bad->report->watch_error, -EINVAL);
        fd_close(bad->inotify_fd);
}

/* No directory is made where no configfs is. */
static void test_job_without_configfs(void **state) {
        _cleanup_(job_freep) Job *plain = job_for("mlx5_0"), *none = job_for("mlx5_0");

        assert_int_equal(system("rm -r " DIRECTORY), 0);
        job_run(plain);
        assert_int_equal(verdict_of(plain, ATTRIBUTE_MODE)->state, STATE_FAILED);
        assert_int_equal(verdict_of(plain, ATTRIBUTE_MODE)->step, STEP_MAKE);
        assert_int_equal(verdict_of(plain, ATTRIBUTE_MODE)->error, -ENOTDIR);
        assert_false(plain->report->directory);
        assert_false(exists(DIRECTORY));
        assert_false(exists(OWNERSHIP_PATH "/mlx5_0"));

        assert_int_equal(system("rm -r " RDMA_CM_PATH), 0);
        job_run(none);
        assert_int_equal(verdict_of(none, ATTRIBUTE_TOS)->state, STATE_PENDING);
        assert_int_equal(verdict_of(none, ATTRIBUTE_TOS)->reason, REASON_NO_CONFIGFS);
}

static void test_job_of_no_device(void **state) {
        _cleanup_(job_freep) Job *job = job_for("mlx5_1"), *invalid = job_for("..");

        put(DATABASE "+infiniband:mlx5_1", "I:1\n");
        job_run(job);
        assert_int_equal(job->error, 0);
        assert_null(job->report->device);
        assert_int_equal(job->report->n_ports, 0);
        assert_int_equal(job->report->error, 0);
        assert_int_equal(job->report->leftover, leftover_stamp_acquire("mlx5_1"));

        job_run(invalid);
        assert_int_equal(invalid->report->error, -EINVAL);
        assert_int_equal(invalid->report->error_step, STEP_ACQUIRE);
}

/* Born with a name that may change: nothing is judged by it, unless udev has said that it is final. */
static void test_job_of_unsettled_device(void **state) {
        _cleanup_(job_freep) Job *job = NULL, *announced = NULL;

        policy_unref(policy);
        policy = policy_from("version: 1\nrules: [{match: {device: mlx5_0}, tos: 104}]\n");
        job = job_for("mlx5_0");
        announced = job_for("mlx5_0");
        put_udevd(true);
        job_run(job);
        assert_int_equal(verdict_of(job, ATTRIBUTE_TOS)->state, STATE_PENDING);
        assert_int_equal(verdict_of(job, ATTRIBUTE_TOS)->reason, REASON_NOT_SETTLED);
        assert_string_equal(get(TOS_FILE), "0");

        assert_int_equal(device_instance_acquire("mlx5_0", &announced->announced_instance), 0);
        job_run(announced);
        assert_verdict(verdict_of(announced, ATTRIBUTE_TOS), STATE_OK, 0, 104, true);
        assert_int_equal(verdict_of(announced, ATTRIBUTE_MODE)->state, STATE_UNMANAGED);
        assert_int_equal(verdict_of(announced, ATTRIBUTE_MODE)->found, ROCE_V2); /* seen in passing */
}

/* Ours go, those of others stay, and what cannot be removed is counted. */
static void test_job_removes(void **state) {
        _cleanup_(job_freep) Job *job = job_new(JOB_REMOVE, NULL, NULL), *again = job_new(JOB_REMOVE, NULL, NULL);
        _cleanup_close_ int ours = -EBADF, full = -EBADF;

        put_directory(RDMA_CM_PATH "/ours");
        put_directory(RDMA_CM_PATH "/theirs");
        ours = open(RDMA_CM_PATH "/ours", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        full = open(DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(ownership_confirm("ours", ours), 0);
        assert_int_equal(ownership_confirm("theirs", ours), 0); /* not the one that it is now */
        assert_int_equal(ownership_confirm("mlx5_0", full), 0);
        assert_int_equal(ownership_confirm("gone", ours), 0);
        job_run(job);
        assert_int_equal(job->error, 0);
        assert_int_equal(job->n_left, 1);
        assert_false(exists(RDMA_CM_PATH "/ours"));
        assert_true(exists(RDMA_CM_PATH "/theirs"));
        assert_true(exists(DIRECTORY));
        assert_string_equal(get(MODE_FILE), "RoCE v2");
        assert_false(exists(OWNERSHIP_PATH "/ours"));
        assert_false(exists(OWNERSHIP_PATH "/theirs"));
        assert_false(exists(OWNERSHIP_PATH "/gone"));
        assert_true(exists(OWNERSHIP_PATH "/mlx5_0"));

        assert_int_equal(system("rm -r " OWNERSHIP_PATH), 0);
        put(OWNERSHIP_PATH, "");
        job_run(again);
        assert_int_equal(again->error, -ENOTDIR);
}

static void test_job_memory_of_its_own(void **state) {
        Job *job = job_new(JOB_RECONCILE, "mlx5_0", policy);

        assert_int_equal(job->type, JOB_RECONCILE);
        assert_true(job->inotify_fd < 0);
        assert_int_equal(policy->n_ref, 2);
        assert_null(job_free(job));
        assert_int_equal(policy->n_ref, 1);
        assert_null(job_free(NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_idle, setup, teardown),
                cmocka_unit_test_setup_teardown(test_listing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_not_collected, setup, teardown),
                cmocka_unit_test_setup_teardown(test_signals, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_writes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_memory, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_forgets_refusal, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_watches, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_without_configfs, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_of_no_device, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_of_unsettled_device, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_removes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_job_memory_of_its_own, setup, teardown),
                cmocka_unit_test_setup_teardown(test_stuck, setup, teardown),
        };

        namespace_enter();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
