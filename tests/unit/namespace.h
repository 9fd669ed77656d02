/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A mount namespace of the test's own with empty /run and /sys, so that code that opens fixed paths meets what the
 * test put there. */

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base.h"

/* What meson takes for "skipped". */
#define EXIT_SKIPPED 77

/* Makes the directories above a path. */
static inline void make_parents(const char *path) {
        char parent[512];

        assert_in_range(snprintf(parent, sizeof(parent), "%s", path), 1, sizeof(parent) - 1);
        for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = 0;
                assert_true(mkdir(parent, 0755) >= 0 || errno == EEXIST);
                *slash = '/';
        }
}

/* Makes or replaces a file. */
static inline void put_bytes(const char *path, const void *bytes, size_t size) {
        FILE *file;

        make_parents(path);
        file = fopen(path, "we");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, size, file), size);
        assert_int_equal(fclose(file), 0);
}

static inline void put(const char *path, const char *text) {
        put_bytes(path, text, strlen(text));
}

static inline void put_directory(const char *path) {
        make_parents(path);
        assert_return_code(mkdir(path, 0755), errno);
}

static inline void put_link(const char *path, const char *target) {
        make_parents(path);
        (void) unlink(path);
        assert_return_code(symlink(target, path), errno);
}

/* The whole of a small file. */
static inline const char *get(const char *path) {
        static char text[4096];
        FILE *file = fopen(path, "re");

        assert_non_null(file);
        text[fread(text, 1, sizeof(text) - 1, file)] = 0;
        fclose(file);
        return text;
}

static inline bool exists(const char *path) {
        struct stat st;

        return lstat(path, &st) >= 0;
}

static inline int write_file(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Who is not root may still be root of a user namespace. */
static inline int namespace_unshare(void) {
        char map[64];
        uid_t uid = getuid();
        gid_t gid = getgid();
        int r;

        if (unshare(CLONE_NEWNS) >= 0)
                return 0;
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                return -errno;

        (void) write_file("/proc/self/setgroups", "deny");
        snprintf(map, sizeof(map), "0 %u 1", uid);
        r = write_file("/proc/self/uid_map", map);
        if (r < 0)
                return r;
        snprintf(map, sizeof(map), "0 %u 1", gid);
        return write_file("/proc/self/gid_map", map);
}

/* Ends the test as skipped, and says why, where that is not allowed. */
static inline void namespace_enter(void) {
        int r = namespace_unshare();

        if (r >= 0 && (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
                       mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") < 0 ||
                       mount("sys", "/sys", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") < 0))
                r = -errno;
        if (r >= 0)
                return;

        print_message("skipped: no mount namespace of its own: %s\n", strerror(-r));
        exit(EXIT_SKIPPED);
}
