/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The directory of a device: made where it is missing, made anew where it is of no use, and removed where it is ours and nobody needs it. */

#include "reconcile-internal.h"

#include "clock.h"
#include "configfs.h"
#include "ownership.h"

void directory_done(Directory *directory) {
        directory->fd = directory_close(directory->fd);
        directory->rdma_cm_fd = directory_close(directory->rdma_cm_fd);
}

void progress_set(const ReconcileRequest *request, Step step, unsigned port, int attribute) {
        if (!request->progress)
                return;
        atomic_store(&request->progress->begun_usec, clock_usec(CLOCK_MONOTONIC));
        atomic_store(&request->progress->step, step);
        atomic_store(&request->progress->port, port);
        atomic_store(&request->progress->attribute, attribute);
}

/* Makes the directory, with its ownership on record before and after. A call that writes nothing keeps no record, so that it cannot
 * disturb those of a daemon beside it. A record that cannot be written costs tidiness after a crash, not enforcement. */
static int directory_make(const ReconcileRequest *request, Directory *directory, bool ours) {
        bool record = ours && request->flags & RECONCILE_WRITE;
        int r;

        progress_set(request, STEP_MAKE, 0, -1);
        directory->step = STEP_MAKE;

        if (record)
                (void) ownership_intend(request->name);
        r = device_directory_make(directory->rdma_cm_fd, request->name);
        if (r < 0 && record)
                (void) ownership_forget(request->name);
        if (r < 0 && r != -EEXIST)
                return r;

        directory->made = r >= 0;
        directory->fd = device_directory_open(directory->rdma_cm_fd, request->name);
        if (directory->fd < 0)
                return directory->fd == -ENOENT ? -ENODEV : directory->fd;
        if (directory->made && record)
                (void) ownership_confirm(request->name, directory->fd);
        return 0;
}

/* A directory keeps the ports that its device had when it was made: one left over from before may lack some. */
static int directory_is_stale(const Directory *directory, const Device *device) {
        for (size_t i = 0; i < device->n_ports; i++) {
                int r = device_directory_has_port(directory->fd, device->ports[i].number);

                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        return 0;
}

/* Removes the directory that is open, unless another one has its name by now. 1: done, 0: there is another one, -ENOENT: it had gone. */
static int directory_remove(int rdma_cm_fd, const char *name, int fd) {
        int r;

        r = device_directory_check(rdma_cm_fd, name, fd);
        if (r <= 0)
                return r;
        r = device_directory_remove(rdma_cm_fd, name);
        return r < 0 ? r : 1;
}

/* A stale directory is of use to nobody, whoever made it; the new one stays theirs if it was theirs. */
static int directory_remake(const ReconcileRequest *request, Directory *directory) {
        int ours, r;

        directory->step = STEP_REMOVE;
        ours = ownership_check(request->name, directory->fd);
        if (ours < 0)
                return ours;

        r = directory_remove(directory->rdma_cm_fd, request->name, directory->fd);
        if (r < 0 && r != -ENOENT)
                return r;
        /* Who has removed it has no use for a new one. */
        if (r == -ENOENT)
                ours = 1;
        directory->fd = directory_close(directory->fd);

        r = directory_make(request, directory, ours > 0);
        if (r >= 0 && ours == 0) {
                directory->made = false;
                (void) ownership_forget(request->name);
        }
        return r;
}

int directory_open(const ReconcileRequest *request, const Device *device, Directory *directory) {
        bool may_make = directory->needed && request->flags & RECONCILE_MAKE;
        int r;

        progress_set(request, STEP_OPEN, 0, -1);
        directory->step = STEP_OPEN;
        directory->rdma_cm_fd = rdma_cm_open();
        if (directory->rdma_cm_fd < 0)
                return directory->rdma_cm_fd;

        directory->fd = device_directory_open(directory->rdma_cm_fd, request->name);
        if (directory->fd == -ENOENT)
                return may_make ? directory_make(request, directory, true) : -ENOENT;
        if (directory->fd < 0)
                return directory->fd;

        /* It may be another's: who only looks puts up with it. */
        if (!may_make || !(request->flags & RECONCILE_WRITE))
                return 0;
        r = directory_is_stale(directory, device);
        return r > 0 ? directory_remake(request, directory) : r;
}

bool directory_recover(const ReconcileRequest *request, const Device *device, Directory *directory, int error) {
        if (error != -ENOENT && error != -ENODEV)
                return false;
        if (directory->fd < 0 || device_directory_check(directory->rdma_cm_fd, request->name, directory->fd) > 0)
                return false;

        directory_done(directory);
        directory->made = false;
        directory->error = directory_open(request, device, directory);
        return directory->error >= 0;
}

/* 1: removed, 0: there is none, or it is not ours. */
static int directory_remove_ours(const char *name) {
        _cleanup_(directory_closep) int rdma_cm_fd = -EBADF, fd = -EBADF;
        int r = 0, removed = 0;

        rdma_cm_fd = rdma_cm_open();
        /* Directories go with the module, but outlive an unmount of configfs. */
        if (rdma_cm_fd == -ENOENT)
                return ownership_forget(name);
        if (rdma_cm_fd < 0)
                return rdma_cm_fd == -ENOTCONN ? 0 : rdma_cm_fd;

        fd = device_directory_open(rdma_cm_fd, name);
        if (fd < 0 && fd != -ENOENT)
                return fd;
        if (fd >= 0)
                r = ownership_check(name, fd);
        if (r > 0)
                r = removed = directory_remove(rdma_cm_fd, name, fd);
        if (r < 0 && r != -ENOENT)
                return r;

        r = ownership_forget(name);
        return r < 0 ? r : removed > 0;
}

/* Removes the directory that this call made, unless another one has its name by now. */
static int directory_remove_made(const ReconcileRequest *request, const Directory *directory) {
        int r;

        r = directory_remove(directory->rdma_cm_fd, request->name, directory->fd);
        if (r == 0 || (r < 0 && r != -ENOENT))
                return r;

        r = request->flags & RECONCILE_WRITE ? ownership_forget(request->name) : 0;
        return r < 0 ? r : 1;
}

void directory_tidy(const ReconcileRequest *request, const Directory *directory, DeviceReport *report) {
        int r = 0;

        progress_set(request, STEP_REMOVE, 0, -1);
        if (request->flags & RECONCILE_TRANSIENT)
                r = directory->made && directory->fd >= 0 ? directory_remove_made(request, directory) : 0;
        else if (request->flags & RECONCILE_MAKE && !directory->needed)
                r = directory_remove_ours(request->name);

        report->directory = directory->fd >= 0 && r <= 0;
        if (r < 0) {
                report->error = r;
                report->error_step = STEP_REMOVE;
        }
}

int reconcile_remove_directories(void) {
        _cleanup_(names_freep) char **names = NULL;
        int failed = 0, r;

        r = ownership_names_acquire(&names);
        if (r < 0)
                return r;

        for (char **name = names; *name; name++)
                if (directory_remove_ours(*name) < 0)
                        failed++;
        return failed;
}
