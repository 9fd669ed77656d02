/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base.h"
#include "file.h"

#define LARGE 10000U

/* The size read of a file of so many bytes. */
static size_t size_read(size_t size, size_t size_max) {
        _cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);
        _cleanup_free_ char *bytes = NULL;
        char text[LARGE];
        size_t n = SIZE_MAX;

        memset(text, 'x', sizeof(text));
        assert_true(fd >= 0 && write(fd, text, size) == (ssize_t) size && lseek(fd, 0, SEEK_SET) == 0);
        assert_int_equal(file_read_whole(fd, size_max, &bytes, &n), 0);
        assert_int_equal(strspn(bytes, "x"), n);
        assert_int_equal(bytes[n], 0);
        return n;
}

static void test_sizes(void **state) {
        static const size_t sizes[] = { 0, 1, 4094, 4095, 4096, 8191, 8192, LARGE };

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                assert_int_equal(size_read(sizes[i], sizes[i]), sizes[i]);
                assert_int_equal(size_read(sizes[i], LARGE), sizes[i]);
                if (sizes[i] > 0)
                        assert_int_equal(size_read(LARGE, sizes[i] - 1), sizes[i]);
        }
}

/* A pipe whose writer takes its time, and which does not block. */
static void test_pipe(void **state) {
        _cleanup_free_ char *bytes = NULL;
        size_t size = 0;
        int fds[2];
        pid_t pid;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
        pid = fork();
        if (pid == 0) {
                usleep(20000);
                _exit(write(fds[1], "late", 4) != 4);
        }
        close(fds[1]);
        assert_int_equal(file_read_whole(fds[0], LARGE, &bytes, &size), 0);
        assert_int_equal(size, 4);
        assert_string_equal(bytes, "late");
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        close(fds[0]);
}

static void test_what_cannot_be_read(void **state) {
        _cleanup_close_ int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char *bytes = NULL;
        size_t size;

        assert_int_equal(file_read_whole(directory, LARGE, &bytes, &size), -EISDIR);
        assert_int_equal(file_read_whole(-EBADF, LARGE, &bytes, &size), -EBADF);
        assert_null(bytes);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_pipe),
                cmocka_unit_test(test_what_cannot_be_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
