/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* mkdir, rmdir, open, read, write below configfs' rdma_cm, and what each errno means there. Knows no policy. */

#include "configfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* IN_MODIFY follows each write(2), so a writer that keeps its file open is seen too. */
#define WATCH_EVENTS (IN_MODIFY | IN_DELETE_SELF | IN_ONLYDIR)

/* Where it is not mounted there is an empty directory of sysfs. */
static bool configfs_is_mounted(void) {
        struct stat mounted, above;

        return stat(CONFIGFS_PATH, &mounted) >= 0 && stat(CONFIGFS_PATH "/..", &above) >= 0 &&
               mounted.st_dev != above.st_dev;
}

int rdma_cm_open(void) {
        int fd;

        fd = open(RDMA_CM_PATH, DIRECTORY_FLAGS);
        if (fd >= 0)
                return fd;
        if (errno != ENOENT)
                return -errno;

        return configfs_is_mounted() ? -ENOENT : -ENOTCONN;
}

int device_directory_open(int rdma_cm_fd, const char *name) {
        int fd = openat(rdma_cm_fd, name, DIRECTORY_FLAGS);

        return fd < 0 ? -errno : fd;
}

int directory_close(int fd) {
        return fd_close(fd);
}

int device_directory_check(int rdma_cm_fd, const char *name, int directory_fd) {
        _Alignas(struct dirent64) char entries[1024];
        struct stat open, found;

        /* An rmdir takes the files away first and the name last. Whoever lists the directory waits until it is done. */
        if (getdents64(rdma_cm_fd, entries, sizeof(entries)) < 0 && errno != ENOENT)
                return -errno;
        if (fstat(directory_fd, &open) < 0 || fstatat(rdma_cm_fd, name, &found, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return open.st_ino == found.st_ino;
}

int device_directory_make(int rdma_cm_fd, const char *name) {
        _cleanup_close_ int fd = -EBADF;

        if (mkdirat(rdma_cm_fd, name, 0755) < 0)
                return -errno;

        fd = device_directory_open(rdma_cm_fd, name);
        if (fd == -ENOENT)
                return -ENODEV;
        if (fd < 0) {
                /* Out of files or memory: a directory that cannot be told from another's afterwards is not left behind. */
                (void) unlinkat(rdma_cm_fd, name, AT_REMOVEDIR);
                return fd;
        }
        if (faccessat(fd, "ports", F_OK, 0) >= 0 || errno != ENOENT)
                return 0;

        /* configfs makes ports/ within the mkdir. Where our directory still stands without, it is on some other file system. */
        if (device_directory_check(rdma_cm_fd, name, fd) <= 0)
                return -ENODEV;
        (void) unlinkat(rdma_cm_fd, name, AT_REMOVEDIR);
        return -ENOTDIR;
}

int device_directory_remove(int rdma_cm_fd, const char *name) {
        return unlinkat(rdma_cm_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int device_directory_has_port(int directory_fd, unsigned port) {
        char path[64];

        snprintf(path, sizeof(path), "ports/%u", port);
        if (faccessat(directory_fd, path, F_OK, 0) >= 0)
                return 1;
        return errno == ENOENT ? 0 : -errno;
}

static int attribute_open(int directory_fd, unsigned port, Attribute attribute, int flags) {
        char path[64];
        int fd, r;

        snprintf(path, sizeof(path), "ports/%u/%s", port, attribute_file(attribute));
        fd = openat(directory_fd, path, flags | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
                return fd;
        if (errno != ENOENT)
                return -errno;
        r = device_directory_has_port(directory_fd, port);
        return r < 0 ? r : r > 0 ? -ENOENT : -ENODEV;
}

int attribute_read(int directory_fd, unsigned port, Attribute attribute, int *ret_value) {
        _cleanup_close_ int fd = -EBADF;
        char text[64];
        ssize_t n;

        fd = attribute_open(directory_fd, port, attribute, O_RDONLY);
        if (fd < 0)
                return fd;

        do
                n = read(fd, text, sizeof(text));
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;

        return attribute_parse_kernel(attribute, text, (size_t) n, ret_value);
}

int attribute_write(int directory_fd, unsigned port, Attribute attribute, int value) {
        char buffer[ATTRIBUTE_TEXT_MAX];
        size_t size;
        ssize_t n;
        int fd, r = 0;

        fd = attribute_open(directory_fd, port, attribute, O_WRONLY);
        if (fd < 0)
                return fd;

        size = strlen(attribute_format_kernel(attribute, value, buffer));
        do
                n = write(fd, buffer, size);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                r = -errno;
        else if ((size_t) n != size)
                r = -EMSGSIZE;

        if (close(fd) < 0 && r == 0)
                r = -errno;
        return r;
}

int port_watch_add(int inotify_fd, const char *name, unsigned port) {
        char path[sizeof(RDMA_CM_PATH) + DEVICE_NAME_LENGTH_MAX + 32];
        int watch;

        snprintf(path, sizeof(path), RDMA_CM_PATH "/%s/ports/%u", name, port);
        watch = inotify_add_watch(inotify_fd, path, WATCH_EVENTS);
        return watch < 0 ? -errno : watch;
}
