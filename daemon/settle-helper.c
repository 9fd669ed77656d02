/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Run by udevd for an RDMA device that has appeared: holds its announcement back until the daemon has judged it, half a second at most.
 * Exits 0 whatever happens, and touches neither configfs nor anything in sysfs that asks a driver. */

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "device.h"
#include "settle.h"

/* Without a daemon nobody listens, and the kernel says so at once. */
static int settle_connect(void) {
        static const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SETTLE_PATH };
        _cleanup_close_ int fd = -EBADF;

        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static size_t request_add(char *request, size_t size, const char *name, const struct stat *st) {
        if (!device_name_is_valid(name) || size >= SETTLE_MESSAGE_MAX - SETTLE_LINE_MAX)
                return size;
        return size + (size_t) snprintf(request + size, SETTLE_LINE_MAX, "%s %" PRIu64 "\n", name, (uint64_t) st->st_ino);
}

static size_t request_begin(char *request) {
        const char *action = getenv("ACTION");

        return (size_t) snprintf(request, SETTLE_LINE_MAX, "%.32s\n", action ? action : "add");
}

/* rdma-core's rules may have renamed the device by now, so that the name in the event is dead: the directory where it stood tells
 * who is there. */
static size_t request_build(const char *devpath, char request[static SETTLE_MESSAGE_MAX]) {
        size_t size = request_begin(request);
        char path[1024];
        struct dirent *entry;
        struct stat st;
        char *slash;
        DIR *directory;

        snprintf(path, sizeof(path), "/sys%s", devpath);
        slash = strrchr(path, '/');
        if (lstat(path, &st) >= 0)
                return request_add(request, size, slash + 1, &st);

        *slash = 0;
        directory = opendir(path);
        while (directory && (entry = readdir(directory)))
                if (entry->d_name[0] != '.' && fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 &&
                    S_ISDIR(st.st_mode))
                        size = request_add(request, size, entry->d_name, &st);
        if (directory)
                closedir(directory);
        return size;
}

int main(int argc, char **argv) {
        char request[SETTLE_MESSAGE_MAX] = SETTLE_ALL;
        const char *devpath = getenv("DEVPATH");
        size_t size = strlen(SETTLE_ALL);
        _cleanup_close_ int fd = -EBADF;

        fd = settle_connect();
        if (fd < 0)
                return EXIT_SUCCESS;

        if (argc < 2 || !streq(argv[1], "--all"))
                size = devpath ? request_build(devpath, request) : 0;
        if (size > 0 && send(fd, request, size, MSG_NOSIGNAL) >= 0)
                (void) poll(&(struct pollfd) { .fd = fd, .events = POLLIN }, 1, SETTLE_TIMEOUT_MSEC);
        return EXIT_SUCCESS;
}
