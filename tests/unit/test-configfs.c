/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The configfs layer on plain directories: paths, texts and errors. How configfs itself answers is for the scenarios.
 */

#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>

#include "configfs.h"
#include "namespace.h"

#define UNTOUCHED (-77)
#define PORT_1 RDMA_CM_PATH "/mlx5_0/ports/1"

static int rdma_cm_fd, directory_fd;

static int setup(void **state) {
        put(PORT_1 "/default_roce_mode", "IB/RoCE v1\n");
        put(PORT_1 "/default_roce_tos", "0\n");
        put(RDMA_CM_PATH "/mlx5_0/ports/12/default_roce_mode", "RoCE v2\n");
        rdma_cm_fd = rdma_cm_open();
        assert_return_code(rdma_cm_fd, -rdma_cm_fd);
        directory_fd = device_directory_open(rdma_cm_fd, "mlx5_0");
        assert_return_code(directory_fd, -directory_fd);
        return 0;
}

static int teardown(void **state) {
        fd_close(directory_fd);
        fd_close(rdma_cm_fd);
        return system("rm -r " CONFIGFS_PATH);
}

/* Without configfs' magic number there, nothing is ever taken for it. */
static void test_root(void **state) {
        int fd;

        assert_int_equal(rdma_cm_open(), -ENOTCONN);
        put_directory(CONFIGFS_PATH);
        assert_int_equal(rdma_cm_open(), -ENOTCONN);
        put(RDMA_CM_PATH, "");
        assert_int_equal(rdma_cm_open(), -ENOTDIR);
        unlink(RDMA_CM_PATH);
        put_link(RDMA_CM_PATH, "/run");
        fd = rdma_cm_open();
        assert_true(fd == -ENOTDIR || fd == -ELOOP);
        unlink(RDMA_CM_PATH);

        put_directory(RDMA_CM_PATH);
        fd = rdma_cm_open();
        assert_return_code(fd, -fd);
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        fd_close(fd);
        assert_int_equal(system("rm -r " CONFIGFS_PATH), 0);
}

static void test_directory_open(void **state) {
        int fd;

        assert_int_equal(device_directory_open(rdma_cm_fd, "mlx5_1"), -ENOENT);
        put(RDMA_CM_PATH "/file", "");
        assert_int_equal(device_directory_open(rdma_cm_fd, "file"), -ENOTDIR);
        put_link(RDMA_CM_PATH "/link", "mlx5_0");
        fd = device_directory_open(rdma_cm_fd, "link");
        assert_true(fd == -ENOTDIR || fd == -ELOOP);
        assert_int_equal(fcntl(directory_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

/* A mkdir that works but brings no ports/ was not configfs': nothing is left of it. */
static void test_make_in_plain_directory(void **state) {
        assert_int_equal(device_directory_make(rdma_cm_fd, "mlx5_1"), -ENOTDIR);
        assert_false(exists(RDMA_CM_PATH "/mlx5_1"));
        assert_int_equal(device_directory_make(rdma_cm_fd, "mlx5_0"), -EEXIST);
        assert_true(exists(PORT_1));
        put_link(RDMA_CM_PATH "/dangling", "nothing");
        assert_int_equal(device_directory_make(rdma_cm_fd, "dangling"), -EEXIST);
        assert_int_equal(device_directory_make(-EBADF, "mlx5_1"), -EBADF);
}

static void test_remove(void **state) {
        put_directory(RDMA_CM_PATH "/empty");
        assert_int_equal(device_directory_remove(rdma_cm_fd, "empty"), 0);
        assert_false(exists(RDMA_CM_PATH "/empty"));
        assert_int_equal(device_directory_remove(rdma_cm_fd, "empty"), -ENOENT);
        assert_int_equal(device_directory_remove(rdma_cm_fd, "mlx5_0"), -ENOTEMPTY);
        put(RDMA_CM_PATH "/file", "");
        assert_int_equal(device_directory_remove(rdma_cm_fd, "file"), -ENOTDIR);
        assert_true(exists(RDMA_CM_PATH "/file"));
}

static void test_ports(void **state) {
        assert_true(device_directory_has_port(directory_fd, 1));
        assert_true(device_directory_has_port(directory_fd, 12));
        assert_false(device_directory_has_port(directory_fd, 2));
        assert_false(device_directory_has_port(directory_fd, 0));
        assert_false(device_directory_has_port(directory_fd, 4294967295));
}

static void assert_reads(unsigned port, Attribute attribute, int r, int expected) {
        int value = UNTOUCHED;

        assert_int_equal(attribute_read(directory_fd, port, attribute, &value), r);
        assert_int_equal(value, r < 0 ? UNTOUCHED : expected);
}

static void test_read(void **state) {
        assert_reads(1, ATTRIBUTE_MODE, 0, ROCE_V1);
        assert_reads(1, ATTRIBUTE_TOS, 0, 0);
        assert_reads(12, ATTRIBUTE_MODE, 0, ROCE_V2);
        assert_reads(12, ATTRIBUTE_TOS, -ENOENT, 0); /* an old kernel */
        assert_reads(2, ATTRIBUTE_MODE, -ENODEV, 0); /* the directory has gone, or never had the port */
        assert_reads(120, ATTRIBUTE_MODE, -ENODEV, 0);
}

static void test_read_anew(void **state) {
        assert_reads(1, ATTRIBUTE_TOS, 0, 0);
        put(PORT_1 "/new", "106\n");
        assert_return_code(rename(PORT_1 "/new", PORT_1 "/default_roce_tos"), errno);
        assert_reads(1, ATTRIBUTE_TOS, 0, 106);
}

/* An access that leaves a descriptor behind pins the module. */
static void test_nothing_stays_open(void **state) {
        int before = dup(directory_fd), after;

        fd_close(before);
        assert_reads(1, ATTRIBUTE_MODE, 0, ROCE_V1);
        assert_reads(12, ATTRIBUTE_TOS, -ENOENT, 0);
        put(PORT_1 "/default_roce_mode", "odd");
        assert_reads(1, ATTRIBUTE_MODE, -EBADMSG, 0);
        assert_int_equal(attribute_write(directory_fd, 1, ATTRIBUTE_TOS, 104), 0);
        assert_int_equal(attribute_write(directory_fd, 2, ATTRIBUTE_TOS, 104), -ENODEV);
        assert_true(device_directory_has_port(directory_fd, 1));
        assert_int_equal(device_directory_make(rdma_cm_fd, "mlx5_1"), -ENOTDIR);
        after = dup(directory_fd);
        fd_close(after);
        assert_int_equal(after, before);
}

static void test_read_odd_texts(void **state) {
        static const char nul[] = "RoCE v2\0";
        char large[256];

        memset(large, '1', sizeof(large));
        put_bytes(PORT_1 "/default_roce_tos", large, sizeof(large));
        assert_reads(1, ATTRIBUTE_TOS, -EBADMSG, 0);
        put(PORT_1 "/default_roce_tos", "");
        assert_reads(1, ATTRIBUTE_TOS, -EBADMSG, 0);
        put(PORT_1 "/default_roce_mode", "234\n");
        assert_reads(1, ATTRIBUTE_MODE, -EBADMSG, 0);
        put_bytes(PORT_1 "/default_roce_mode", nul, sizeof(nul));
        assert_reads(1, ATTRIBUTE_MODE, -EBADMSG, 0);
        put(PORT_1 "/default_roce_mode", "RoCE v2");
        assert_reads(1, ATTRIBUTE_MODE, 0, ROCE_V2);

        unlink(PORT_1 "/default_roce_mode");
        put_directory(PORT_1 "/default_roce_mode");
        assert_reads(1, ATTRIBUTE_MODE, -EISDIR, 0);
}

static void test_links_are_not_followed(void **state) {
        put("/run/elsewhere", "7\n");
        unlink(PORT_1 "/default_roce_tos");
        put_link(PORT_1 "/default_roce_tos", "/run/elsewhere");
        assert_reads(1, ATTRIBUTE_TOS, -ELOOP, 0);
        assert_int_equal(attribute_write(directory_fd, 1, ATTRIBUTE_TOS, 104), -ELOOP);
        assert_string_equal(get("/run/elsewhere"), "7\n");
}

static void test_write(void **state) {
        put(PORT_1 "/default_roce_mode", "");
        assert_int_equal(attribute_write(directory_fd, 1, ATTRIBUTE_MODE, ROCE_V2), 0);
        assert_string_equal(get(PORT_1 "/default_roce_mode"), "RoCE v2");
        assert_int_equal(attribute_write(directory_fd, 1, ATTRIBUTE_MODE, ROCE_V1), 0);
        assert_string_equal(get(PORT_1 "/default_roce_mode"), "IB/RoCE v1");
        put(PORT_1 "/default_roce_tos", "");
        assert_int_equal(attribute_write(directory_fd, 1, ATTRIBUTE_TOS, 26), 0);
        assert_string_equal(get(PORT_1 "/default_roce_tos"), "26");
}

/* An attribute that is not there is never made. */
static void test_write_makes_nothing(void **state) {
        assert_int_equal(attribute_write(directory_fd, 12, ATTRIBUTE_TOS, 104), -ENOENT);
        assert_false(exists(RDMA_CM_PATH "/mlx5_0/ports/12/default_roce_tos"));
        assert_int_equal(attribute_write(directory_fd, 3, ATTRIBUTE_MODE, ROCE_V1), -ENODEV);
        assert_false(exists(RDMA_CM_PATH "/mlx5_0/ports/3"));
}

static void limit_file_size(rlim_t size) {
        struct rlimit limit;

        assert_return_code(getrlimit(RLIMIT_FSIZE, &limit), errno);
        limit.rlim_cur = MIN_OF(size, limit.rlim_max);
        assert_return_code(setrlimit(RLIMIT_FSIZE, &limit), errno);
}

/* A limit on file sizes stands for a kernel that takes a part of a write, or none of it. */
static void test_write_errors(void **state) {
        int part, none;

        put(PORT_1 "/default_roce_mode", "");
        signal(SIGXFSZ, SIG_IGN);
        limit_file_size(4);
        part = attribute_write(directory_fd, 1, ATTRIBUTE_MODE, ROCE_V2);
        limit_file_size(0);
        none = attribute_write(directory_fd, 1, ATTRIBUTE_MODE, ROCE_V2);
        limit_file_size(RLIM_INFINITY);

        assert_int_equal(part, -EMSGSIZE);
        assert_int_equal(none, -EFBIG);
        assert_string_equal(get(PORT_1 "/default_roce_mode"), "RoCE");
}

static void test_watch(void **state) {
        int inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), watch;
        struct inotify_event events[16];

        assert_return_code(inotify_fd, errno);
        watch = port_watch_add(inotify_fd, "mlx5_0", 1);
        assert_return_code(watch, -watch);
        assert_int_equal(port_watch_add(inotify_fd, "mlx5_0", 1), watch);
        assert_int_equal(port_watch_add(inotify_fd, "mlx5_0", 2), -ENOENT);
        assert_int_equal(port_watch_add(inotify_fd, "mlx5_1", 1), -ENOENT);
        assert_int_equal(port_watch_add(-EBADF, "mlx5_0", 1), -EBADF);
        put(RDMA_CM_PATH "/mlx5_0/ports/file", "");
        put_link(RDMA_CM_PATH "/mlx5_0/ports/3", "file");
        assert_int_equal(port_watch_add(inotify_fd, "mlx5_0", 3), -ENOTDIR);

        assert_int_equal(attribute_write(directory_fd, 1, ATTRIBUTE_TOS, 104), 0);
        assert_int_not_equal(read(inotify_fd, events, sizeof(events)), -1);
        assert_int_equal(events[0].wd, watch);
        assert_int_equal(events[0].mask, IN_MODIFY);
        assert_string_equal(events[0].name, attribute_file(ATTRIBUTE_TOS));
        assert_int_equal(directory_close(inotify_fd), -EBADF);
        assert_int_equal(directory_close(-EBADF), -EBADF);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_root),
                cmocka_unit_test_setup_teardown(test_directory_open, setup, teardown),
                cmocka_unit_test_setup_teardown(test_make_in_plain_directory, setup, teardown),
                cmocka_unit_test_setup_teardown(test_remove, setup, teardown),
                cmocka_unit_test_setup_teardown(test_ports, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nothing_stays_open, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read_odd_texts, setup, teardown),
                cmocka_unit_test_setup_teardown(test_links_are_not_followed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_write, setup, teardown),
                cmocka_unit_test_setup_teardown(test_write_makes_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_write_errors, setup, teardown),
                cmocka_unit_test_setup_teardown(test_watch, setup, teardown),
        };

        namespace_enter();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
