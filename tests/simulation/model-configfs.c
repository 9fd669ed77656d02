/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* lib/configfs.h and lib/clock.h on the model. */

#include "calls.h"
#include "clock.h"
#include "configfs.h"
#include "witness.h"

#define FD_FIRST 100

uint64_t clock_usec(clockid_t clock) {
        return world.now_usec + (clock == CLOCK_REALTIME ? 1700000000 * SEC : 0);
}

static int fd_new(int name, uint64_t inode) {
        for (int i = 0; i < FDS; i++)
                if (!world.fds[i].open) {
                        world.fds[i] = (ModelFd){ .open = true, .name = name, .inode = inode };
                        return FD_FIRST + i;
                }
        violated("roced has %i directories open", FDS);
}

static ModelFd *fd_find(int fd) {
        if (fd < FD_FIRST || fd >= FD_FIRST + FDS || !world.fds[fd - FD_FIRST].open)
                violated("roced uses a directory that is not open");
        return world.fds + (fd - FD_FIRST);
}

int directory_close(int fd) {
        if (fd >= 0)
                fd_find(fd)->open = false;
        return -EBADF;
}

uint64_t fd_inode(int fd) {
        return fd_find(fd)->inode;
}

/* The directory behind a fd; NULL: it has been removed. */
static ModelDirectory *fd_directory(int fd) {
        const ModelFd *open = fd_find(fd);
        ModelDirectory *directory = world.directories + open->name;

        return directory->there && directory->inode == open->inode ? directory : NULL;
}

int rdma_cm_open(void) {
        int r = world_call(CALL_OPEN_RDMA_CM, NO_NAME);

        if (r == 0)
                r = !world.mounted ? -ENOTCONN : !world.loaded ? -ENOENT : fd_new(NO_NAME, 0);
        return call_told(CALL_OPEN_RDMA_CM, NO_NAME, r);
}

int device_directory_open(int rdma_cm_fd, const char *device) {
        int name = name_find(device), r = world_call(CALL_OPEN, name);

        (void) fd_find(rdma_cm_fd);
        if (r == 0) {
                r = world.directories[name].there ? fd_new(name, world.directories[name].inode) : -ENOENT;
                witness_looked(name);
        }
        return call_told(CALL_OPEN, name, r);
}

int device_directory_check(int rdma_cm_fd, const char *device, int directory_fd) {
        int name = name_find(device), r = world_call(CALL_CHECK, name);

        (void) fd_find(rdma_cm_fd);
        if (r == 0) {
                r = world.directories[name].there ? fd_directory(directory_fd) == world.directories + name : -ENOENT;
                witness_looked(name);
        }
        return call_told(CALL_CHECK, name, r);
}

int device_directory_make(int rdma_cm_fd, const char *device) {
        int name = name_find(device), r = world_call(CALL_MAKE, name);
        const ModelDevice *known = device_by_name(name);

        (void) fd_find(rdma_cm_fd);
        if (r < 0)
                return call_told(CALL_MAKE, name, r);
        if (world.directories[name].there)
                return call_told(CALL_MAKE, name, -EEXIST);
        if (!known || !known->known)
                return call_told(CALL_MAKE, name, -ENODEV);
        (void) directory_make(name, witness_make(name));

        /* What cannot be looked into is not left behind. */
        r = world_call(CALL_MADE, name);
        if (world.dead)
                return r;
        if (!world.directories[name].there)
                return call_told(CALL_MAKE, name, -ENODEV);
        if (r < 0)
                directory_remove(name);
        return call_told(CALL_MAKE, name, r);
}

int device_directory_remove(int rdma_cm_fd, const char *device) {
        int name = name_find(device), r = world_call(CALL_REMOVE, name);

        (void) fd_find(rdma_cm_fd);
        if (r == 0 && !world.directories[name].there)
                r = -ENOENT;
        if (r == 0) {
                witness_remove(name);
                directory_remove(name);
        }
        return call_told(CALL_REMOVE, name, r);
}

int device_directory_has_port(int directory_fd, unsigned port) {
        int name = fd_find(directory_fd)->name, r = world_call(CALL_HAS_PORT, name);
        const ModelDirectory *directory = fd_directory(directory_fd);

        return r < 0 ? r : directory && port <= directory->n_ports;
}

/* Finds who answers for the attribute: whichever device bears the directory's name at this moment. */
static int attribute_reach(int directory_fd, Call open, Call opened, unsigned port, Attribute attribute,
                           ModelDevice **ret) {
        int name = fd_find(directory_fd)->name, r = world_call(open, name);
        const ModelDirectory *directory = fd_directory(directory_fd);

        if (r < 0)
                return r;
        if (!directory || port > directory->n_ports)
                return -ENODEV;
        if (attribute == ATTRIBUTE_TOS && !world.tos_file)
                return -ENOENT;

        r = world_call(opened, name);
        if (r < 0)
                return r;
        if (!fd_directory(directory_fd))
                return -ENOENT;
        *ret = device_by_name(name);
        return *ret && (*ret)->known ? 0 : -ENODEV;
}

int attribute_read(int directory_fd, unsigned port, Attribute attribute, int *ret_value) {
        int name = fd_find(directory_fd)->name, r, value;
        ModelDevice *device = NULL;

        r = attribute_reach(directory_fd, CALL_READ, CALL_READ_OPENED, port, attribute, &device);
        if (r == 0 && port > device->n_ports && attribute == ATTRIBUTE_MODE)
                r = -EINVAL;
        if (r < 0)
                return call_told(CALL_READ, name, r);

        value = port > device->n_ports ? 234 : device->ports[port - 1].value[attribute];
        witness_read(name, port, attribute, value);
        trace("         read %s port %u %s: %i", model_names[name], port, attribute_name(attribute), value);
        *ret_value = value;
        return 0;
}

static bool mode_is_supported(const ModelPort *port, int mode) {
        return port->supported & (mode == ROCE_V1 ? SUPPORT_V1 : SUPPORT_V2);
}

int attribute_write(int directory_fd, unsigned port, Attribute attribute, int value) {
        int name = fd_find(directory_fd)->name, r;
        ModelDevice *device = NULL;

        r = attribute_reach(directory_fd, CALL_WRITE, CALL_WRITE_OPENED, port, attribute, &device);
        trace("         write %s port %u %s: %i", model_names[name], port, attribute_name(attribute), value);
        if (!device)
                return call_told(CALL_WRITE, name, r);

        witness_write(name, port, attribute, value);
        if (port > device->n_ports ||
            (attribute == ATTRIBUTE_MODE && !mode_is_supported(device->ports + port - 1, value)))
                return call_told(CALL_WRITE, name, -EINVAL);

        /* What is told to have failed may have been done, and what is told to have been done may not. */
        if (r < 0 ? chance(3) : !world_ignores())
                device->ports[port - 1].value[attribute] = value;
        if (r == 0 || r == -EMSGSIZE)
                value_changed(name, port, attribute);
        if (world.fight.on && world.fight.instance == device->instance && world.fight.port == port &&
            world.fight.attribute == attribute)
                item_add(ITEM_FIGHT, world.now_usec + random_below(chance(3) ? 20 * SEC : 100));
        return call_told(CALL_WRITE, name, r);
}

int port_watch_add(int inotify_fd, const char *device, unsigned port) {
        int name = name_find(device), r = world_call(CALL_WATCH, name);
        ModelDirectory *directory = world.directories + name;

        if (r == 0 && (!world.mounted || !directory->there || port > directory->n_ports))
                r = -ENOENT;
        if (r == 0) {
                if (directory->watches[port - 1] < 0)
                        directory->watches[port - 1] = world.last_watch++;
                r = directory->watches[port - 1];
        }
        return call_told(CALL_WATCH, name, r);
}
