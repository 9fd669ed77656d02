/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files read whole, or their first line. */

#include <stddef.h>

/* From where the fd stands to the end, but no more than one byte beyond "size_max", so that the caller sees that there
 * is more. Waits for one that does not block. The bytes are allocated, with a NUL behind them. 0 or -errno. */
int file_read_whole(int fd, size_t size_max, char **ret_bytes, size_t *ret_size);

/* The first line of a file of sysfs, which is short, without its end; what does not fit is cut off. -ENODATA: it is empty. */
int file_read_line(int directory_fd, const char *path, size_t size, char *ret);
