/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads until there is no more, or a line. */

#include "file.h"

#include <fcntl.h>
#include <poll.h>

#include "base.h"

static int wait_readable(int fd) {
        struct pollfd pollfd = { .fd = fd, .events = POLLIN };

        return poll(&pollfd, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int file_read_whole(int fd, size_t size_max, char **ret_bytes, size_t *ret_size) {
        _cleanup_free_ char *bytes = NULL;
        size_t size = 0, allocated = 0;

        do {
                ssize_t n;

                if (size + 1 >= allocated) {
                        char *larger;

                        allocated = MAX_OF((size_t) 4096, 2 * allocated);
                        larger = realloc(bytes, allocated);
                        if (!larger)
                                return -ENOMEM;
                        bytes = larger;
                }

                n = read(fd, bytes + size, MIN_OF(allocated - 1 - size, size_max + 1 - size));
                if (n < 0 && errno == EAGAIN) {
                        int r = wait_readable(fd);

                        if (r < 0)
                                return r;
                        continue;
                }
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                size += (size_t) n;
        } while (size <= size_max);

        bytes[size] = 0;
        *ret_bytes = TAKE_PTR(bytes);
        *ret_size = size;
        return 0;
}

int file_read_line(int directory_fd, const char *path, size_t size, char *ret) {
        _cleanup_close_ int fd = -EBADF;
        char text[256];
        ssize_t n;

        fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        n = read(fd, text, MIN_OF(size, sizeof(text)) - 1);
        if (n < 0)
                return -errno;
        text[n] = 0;
        text[strcspn(text, "\n")] = 0;
        if (text[0] == 0)
                return -ENODATA;

        strcpy(ret, text);
        return 0;
}
