/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* RDMA_CM's directories and attributes in configfs, by directory fd. Every call may block for ever in the kernel: reads, writes
 * and mkdir take one kernel-wide lock there (drivers/infiniband/core/cma_configfs.c). No fd may be kept between passes: it pins
 * the module. All functions return negative errno. */

#include "attribute.h"
#include "device.h"

#define CONFIGFS_PATH "/sys/kernel/config"
#define RDMA_CM_PATH CONFIGFS_PATH "/rdma_cm"

/* A directory fd on rdma_cm. -ENOENT: rdma_cm is not loaded. -ENOTCONN: configfs is not mounted. */
int rdma_cm_open(void);

/* A fd on the directory of a device, or -ENOENT. */
int device_directory_open(int rdma_cm_fd, const char *name);

/* Closes a fd of either kind, negative ones too. Returns -EBADF, to be assigned back. */
int directory_close(int fd);

static inline void directory_closep(const int *fd) {
        (void) directory_close(*fd);
}

/* 1: the name leads to the directory behind the fd, 0: to another one, -ENOENT: to none. Waits for an rmdir that is under way
 * (fs/namei.c: it holds the directory above). */
int device_directory_check(int rdma_cm_fd, const char *name, int directory_fd);

/* -EEXIST: is there. -ENODEV: rdma_cm knows no such device (yet). -ENOTDIR: made, but no ports/ appeared in it, so this is not
 * configfs, and it is removed again. */
int device_directory_make(int rdma_cm_fd, const char *name);

int device_directory_remove(int rdma_cm_fd, const char *name);

/* 1: the directory has ports/<port>, 0: not. A directory keeps the ports its device had when it was made. */
int device_directory_has_port(int directory_fd, unsigned port);

/* Opens anew at each call, since an open attribute goes on giving the old value. -ENOENT: this kernel has no such attribute,
 * -ENODEV: the device has gone, or the directory. -ENOENT is also the answer where the directory is removed
 * within the call (fs/configfs/file.c: frag_dead) or is just being removed (dir.c: its files go before its ports):
 * device_directory_check() tells. -EBADMSG: the text is no value. */
int attribute_read(int directory_fd, unsigned port, Attribute attribute, int *ret_value);

/* One write(2). -ENOENT, -ENODEV: as above. -EINVAL for a mode: the port cannot do it, as only the two right texts are ever written. -EMSGSIZE: a short write. */
int attribute_write(int directory_fd, unsigned port, Attribute attribute, int value);

/* The watch descriptor for writes to the attributes of ports/<port>, and for its removal. -ENOENT: there is none. Does not pin the module. */
int port_watch_add(int inotify_fd, const char *name, unsigned port);
