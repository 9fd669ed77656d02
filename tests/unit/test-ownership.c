/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <time.h>

#include "namespace.h"
#include "ownership.h"

#define MADE OWNERSHIP_PATH "/"
#define SECOND 1000000000LL

/* Stands for rdma_cm's directory in configfs. */
static int directory_fd;

static int setup(void **state) {
        put_directory("/run/roced");
        put_directory("/run/configfs/mlx5_0");
        directory_fd = open("/run/configfs/mlx5_0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_return_code(directory_fd, errno);
        return 0;
}

static int teardown(void **state) {
        fd_close(directory_fd);
        return system("rm -r /run/roced /run/configfs");
}

static long long changed_ns(void) {
        struct stat st;

        assert_return_code(fstat(directory_fd, &st), errno);
        return st.st_ctim.tv_sec * SECOND + st.st_ctim.tv_nsec;
}

static long long inode(void) {
        struct stat st;

        assert_return_code(fstat(directory_fd, &st), errno);
        return (long long) st.st_ino;
}

static void put_record(long long number, long long changed) {
        char text[64];

        snprintf(text, sizeof(text), "%lli %lli\n", number, changed);
        put(MADE "mlx5_0", text);
}

static long long coarse_ns(void) {
        struct timespec time;

        assert_return_code(clock_gettime(CLOCK_REALTIME_COARSE, &time), errno);
        return time.tv_sec * SECOND + time.tv_nsec;
}

/* An intent says when it was: a directory that is older is not ours. One that came much later is, as a mkdir may block. */
static void test_intent(void **state) {
        long long before = coarse_ns(), after, number, when;
        struct stat st;

        assert_int_equal(ownership_intend("mlx5_0"), 0);
        after = coarse_ns();
        assert_int_equal(sscanf(get(MADE "mlx5_0"), "%lli %lli", &number, &when), 2);
        assert_int_equal(number, 0);
        assert_in_range(when, before, after);
        assert_return_code(stat(MADE "mlx5_0", &st), errno);
        assert_int_equal(st.st_size, strlen(get(MADE "mlx5_0")));

        put_record(0, changed_ns());
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
        put_record(0, changed_ns() - SECOND);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
        put_record(0, changed_ns() - 3600 * SECOND);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
        put_record(0, changed_ns() + 1);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 0);
}

static void test_confirm(void **state) {
        char expected[64];

        assert_int_equal(ownership_intend("mlx5_0"), 0);
        assert_int_equal(ownership_confirm("mlx5_0", directory_fd), 0);
        snprintf(expected, sizeof(expected), "%20lli %20lli\n", inode(), changed_ns());
        assert_string_equal(get(MADE "mlx5_0"), expected);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
        assert_int_equal(ownership_check("mlx5_1", directory_fd), 0);
        assert_int_equal(ownership_confirm("mlx5_0", -1), -EBADF);
        assert_string_equal(get(MADE "mlx5_0"), expected);
}

/* A longer record is not left behind a shorter one. */
static void test_intend_anew(void **state) {
        put(MADE "mlx5_0", "9999999999999999999 99999999999999999999999999999999999999999\n");
        assert_int_equal(ownership_intend("mlx5_0"), 0);
        assert_null(strstr(get(MADE "mlx5_0"), "99999999999999999999"));
        assert_int_equal(ownership_confirm("mlx5_0", directory_fd), 0);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
}

/* Someone else has removed our directory and made it again: it is theirs, whatever its inode. */
static void test_foreign(void **state) {
        assert_int_equal(ownership_confirm("mlx5_0", directory_fd), 0);
        assert_return_code(rmdir("/run/configfs/mlx5_0"), errno);
        put_directory("/run/configfs/mlx5_0");
        fd_close(directory_fd);
        directory_fd = open("/run/configfs/mlx5_0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 0);

        put_record(inode(), changed_ns());
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
        put_record(inode(), changed_ns() + 1); /* a chmod changes that */
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
        put_record(inode() + 1, changed_ns());
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 0);
}

static void test_odd_records(void **state) {
        static const char *const texts[] = { "", "\n", "1", "x y", "0", "made by hand\n" };

        assert_int_equal(ownership_check("mlx5_0", directory_fd), 0);
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                put(MADE "mlx5_0", texts[i]);
                assert_int_equal(ownership_check("mlx5_0", directory_fd), 0);
        }
        put_record(inode(), changed_ns());
        assert_int_equal(ownership_check("mlx5_0", -1), -EBADF);
        unlink(MADE "mlx5_0");
        put_link(MADE "mlx5_0", "mlx5_0");
        assert_int_equal(ownership_check("mlx5_0", directory_fd), -ELOOP);
}

static void test_forget(void **state) {
        assert_int_equal(ownership_forget("mlx5_0"), 0);
        assert_int_equal(ownership_intend("mlx5_0"), 0);
        assert_int_equal(ownership_intend("mlx5_1"), 0);
        assert_int_equal(ownership_forget("mlx5_0"), 0);
        assert_false(exists(MADE "mlx5_0"));
        assert_true(exists(MADE "mlx5_1"));
        assert_int_equal(ownership_forget("mlx5_0"), 0);
        put_directory(MADE "directory");
        assert_int_equal(ownership_forget("directory"), -EISDIR);
}

static void test_names(void **state) {
        char **names = NULL;

        assert_int_equal(ownership_names_acquire(&names), 0);
        assert_null(names[0]);
        names_free(names);

        assert_int_equal(ownership_intend("mlx5_10"), 0);
        assert_int_equal(ownership_intend("mlx5_0"), 0);
        assert_int_equal(ownership_intend("a!b"), 0);
        assert_int_equal(ownership_names_acquire(&names), 0);
        assert_string_equal(names[0], "a!b");
        assert_string_equal(names[1], "mlx5_0");
        assert_string_equal(names[2], "mlx5_10");
        assert_null(names[3]);
        names_free(names);

        assert_int_equal(system("rm -r " OWNERSHIP_PATH), 0);
        put(OWNERSHIP_PATH, "");
        names = NULL;
        assert_int_equal(ownership_names_acquire(&names), -ENOTDIR);
        assert_null(names);
}

/* No name leads out of the directory. */
static void test_invalid_names(void **state) {
        static const char *const names[] = { "", ".", "..", "../lock", "a/b", "a\nb" };

        put("/run/roced/lock", "");
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                assert_int_equal(ownership_intend(names[i]), -EINVAL);
                assert_int_equal(ownership_confirm(names[i], directory_fd), -EINVAL);
                assert_int_equal(ownership_check(names[i], directory_fd), -EINVAL);
                assert_int_equal(ownership_forget(names[i]), -EINVAL);
        }
        assert_true(exists("/run/roced/lock"));
        assert_false(exists(OWNERSHIP_PATH));
}

static void test_write_errors(void **state) {
        put("/run/elsewhere", "theirs");
        put_link(MADE "mlx5_0", "/run/elsewhere");
        assert_int_equal(ownership_intend("mlx5_0"), -ELOOP);
        assert_string_equal(get("/run/elsewhere"), "theirs");

        assert_int_equal(system("rm -r /run/roced"), 0);
        assert_int_equal(ownership_intend("mlx5_0"), -ENOENT);
        put("/run/roced", "");
        assert_int_equal(ownership_intend("mlx5_0"), -ENOTDIR);
}

/* /run is full: what was made is known until the process ends. */
static void test_no_room(void **state) {
        char **names;

        assert_return_code(mount("tmpfs", "/run/roced", "tmpfs", 0, "nr_inodes=2"), errno);
        assert_int_equal(ownership_intend("mlx5_0"), -ENOSPC);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
        assert_int_equal(ownership_confirm("mlx5_0", directory_fd), -ENOSPC);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 1);
        assert_int_equal(ownership_intend("mlx5_1"), -ENOSPC);
        assert_int_equal(ownership_names_acquire(&names), 0);
        assert_string_equal(names[0], "mlx5_0");
        assert_string_equal(names[1], "mlx5_1");
        assert_null(names[2]);
        names_free(names);

        assert_int_equal(ownership_forget("mlx5_1"), 0);
        assert_return_code(mount("none", "/run/roced", "tmpfs", MS_REMOUNT, "nr_inodes=9"), errno);
        assert_int_equal(ownership_confirm("mlx5_0", directory_fd), 0);
        assert_int_equal(ownership_names_acquire(&names), 0);
        assert_string_equal(names[0], "mlx5_0");
        assert_null(names[1]);
        names_free(names);
        assert_int_equal(ownership_forget("mlx5_0"), 0);
        assert_int_equal(ownership_check("mlx5_0", directory_fd), 0);
        assert_return_code(umount("/run/roced"), errno);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_intent, setup, teardown),
                cmocka_unit_test_setup_teardown(test_confirm, setup, teardown),
                cmocka_unit_test_setup_teardown(test_intend_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
                cmocka_unit_test_setup_teardown(test_odd_records, setup, teardown),
                cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
                cmocka_unit_test_setup_teardown(test_names, setup, teardown),
                cmocka_unit_test_setup_teardown(test_invalid_names, setup, teardown),
                cmocka_unit_test_setup_teardown(test_write_errors, setup, teardown),
                cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
        };

        namespace_enter();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
