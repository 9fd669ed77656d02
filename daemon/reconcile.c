/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Look, decide, write, read back, for one device. Deciding is policy/plan.c's; what stands here is the order of things. */

#include "reconcile.h"

#include "clock.h"
#include "configfs.h"
#include "ownership.h"

/* What one call holds open, and how opening it went. */
typedef struct Directory {
        int rdma_cm_fd;
        int fd;
        Step step;
        int error;
        bool needed; /* a port has something to look at */
        bool made;   /* by this call */
} Directory;

static void directory_done(Directory *directory) {
        directory->fd = directory_close(directory->fd);
        directory->rdma_cm_fd = directory_close(directory->rdma_cm_fd);
}

DeviceReport *device_report_free(DeviceReport *report) {
        if (!report)
                return NULL;

        device_free(report->device);
        policy_unref(report->policy);
        free(report->ports);
        free(report->name);
        free(report);
        return NULL;
}

static void progress_set(const ReconcileRequest *request, Step step, unsigned port, int attribute) {
        if (!request->progress)
                return;
        atomic_store(&request->progress->begun_usec, clock_usec(CLOCK_MONOTONIC));
        atomic_store(&request->progress->step, step);
        atomic_store(&request->progress->port, port);
        atomic_store(&request->progress->attribute, attribute);
}

static const PortMemory *request_find_memory(const ReconcileRequest *request, const Device *device, unsigned port) {
        if (request->instance != device->instance)
                return NULL;
        for (size_t i = 0; i < request->n_memory; i++)
                if (request->memory[i].port == port)
                        return request->memory + i;
        return NULL;
}

/* Makes the directory, with its ownership on record before and after. A call that writes nothing keeps no record, so that it cannot
 * disturb those of a daemon beside it. A record that cannot be written costs tidiness after a crash, not enforcement. */
static int directory_make(const ReconcileRequest *request, Directory *directory) {
        bool record = request->flags & RECONCILE_WRITE;
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
static bool directory_is_stale(const Directory *directory, const Device *device) {
        for (size_t i = 0; i < device->n_ports; i++)
                if (!device_directory_has_port(directory->fd, device->ports[i].number))
                        return true;
        return false;
}

/* A stale directory is of use to nobody, whoever made it; the new one stays theirs if it was theirs. */
static int directory_remake(const ReconcileRequest *request, Directory *directory) {
        bool ours = ownership_check(request->name, directory->fd) > 0;
        int r;

        directory->fd = directory_close(directory->fd);
        r = device_directory_remove(directory->rdma_cm_fd, request->name);
        if (r < 0 && r != -ENOENT) {
                directory->step = STEP_REMOVE;
                return r;
        }

        r = directory_make(request, directory);
        if (r >= 0 && !ours) {
                directory->made = false;
                (void) ownership_forget(request->name);
        }
        return r;
}

static int directory_open(const ReconcileRequest *request, const Device *device, Directory *directory) {
        bool may_make = directory->needed && request->flags & RECONCILE_MAKE;

        progress_set(request, STEP_OPEN, 0, -1);
        directory->step = STEP_OPEN;
        directory->rdma_cm_fd = rdma_cm_open();
        if (directory->rdma_cm_fd < 0)
                return directory->rdma_cm_fd;

        directory->fd = device_directory_open(directory->rdma_cm_fd, request->name);
        if (directory->fd == -ENOENT)
                return may_make ? directory_make(request, directory) : -ENOENT;
        if (directory->fd < 0)
                return directory->fd;

        /* It may be another's: who only looks puts up with it. */
        if (!may_make || !(request->flags & RECONCILE_WRITE) || !directory_is_stale(directory, device))
                return 0;
        return directory_remake(request, directory);
}

/* After an access that found nothing: whether another program had removed the directory, and it could be opened or made anew, so
 * that the access is worth another try. */
static bool directory_recover(const ReconcileRequest *request, const Device *device, Directory *directory, int error) {
        if (error != -ENOENT && error != -ENODEV)
                return false;
        if (directory->fd < 0 || device_directory_check(directory->rdma_cm_fd, request->name, directory->fd) > 0)
                return false;

        directory_done(directory);
        directory->made = false;
        directory->error = directory_open(request, device, directory);
        return directory->error >= 0;
}

static Look attribute_look(const ReconcileRequest *request, const Device *device, Directory *directory, Step step, unsigned port,
                           Attribute attribute) {
        Look look = { .step = step };

        if (directory->error < 0)
                return (Look) { .step = directory->step, .error = directory->error };

        progress_set(request, step, port, attribute);
        look.error = attribute_read(directory->fd, port, attribute, &look.value);
        if (directory_recover(request, device, directory, look.error))
                look.error = attribute_read(directory->fd, port, attribute, &look.value);
        else if (directory->error < 0)
                look = (Look) { .step = directory->step, .error = directory->error };
        return look;
}

static int attribute_set(const ReconcileRequest *request, const Device *device, Directory *directory, unsigned port,
                         Attribute attribute, int value) {
        int r;

        progress_set(request, STEP_WRITE, port, attribute);
        r = attribute_write(directory->fd, port, attribute, value);
        if (directory_recover(request, device, directory, r))
                r = attribute_write(directory->fd, port, attribute, value);
        else if (directory->error < 0)
                r = directory->error;
        return r;
}

/* Without a directory nobody can say; who may make one and could not has a reason to give. */
static void verdict_without_directory(const Directory *directory, Verdict *verdict, Attribute attribute, const Rule *rule,
                                      const Look *look, const Stance *stance) {
        if (directory->error == -ENOENT && directory->rdma_cm_fd >= 0) {
                verdict->state = STATE_UNKNOWN;
                verdict->reason = REASON_NO_DIRECTORY;
        } else
                verdict_look(verdict, attribute, rule, look, stance);
}

static bool name_changed_hands(const Device *device) {
        uint64_t instance;

        return device_instance_acquire(device->name, &instance) < 0 || instance != device->instance;
}

/* True: it is to be written. */
static bool attribute_judge(const ReconcileRequest *request, const Device *device, Directory *directory, PortReport *port,
                            Attribute attribute) {
        const PortMemory *memory = request_find_memory(request, device, port->number);
        Verdict *verdict = port->verdicts + attribute;
        Stance stance = {
                .may_write = request->flags & RECONCILE_WRITE,
                .hold = memory && memory->hold[attribute],
                .refused_mode = memory ? memory->refused_mode : VALUE_NONE,
        };
        Look look;

        look = attribute_look(request, device, directory, STEP_READ, port->number, attribute);
        if (directory->error < 0) {
                verdict_without_directory(directory, verdict, attribute, port->rule, &look, &stance);
                return false;
        }
        if (attribute == ATTRIBUTE_MODE && look.error == 0 && look.value != verdict->wanted) {
                (void) port_support_acquire(device->name, port->number, &port->support);
                look.support = port->support;
                /* A refusal holds as long as the port's GIDs stay as they were then. */
                if (memory && port->support != memory->refused_support)
                        stance.refused_mode = VALUE_NONE;
        }

        verdict_look(verdict, attribute, port->rule, &look, &stance);
        return verdict->due && stance.may_write;
}

/* What came of the write, which gave "r". */
static void attribute_conclude(const ReconcileRequest *request, const Device *device, Directory *directory, PortReport *port,
                               Attribute attribute, int r) {
        Verdict *verdict = port->verdicts + attribute;
        Look look;

        look = attribute_look(request, device, directory, STEP_READ_BACK, port->number, attribute);
        /* Another program may have written in between, which shall not make a failure of this. A second time it is one. */
        if (r >= 0 && look.error == 0 && look.value != verdict->wanted) {
                r = attribute_set(request, device, directory, port->number, attribute, verdict->wanted);
                look = attribute_look(request, device, directory, STEP_READ_BACK, port->number, attribute);
        }
        verdict_conclude(verdict, attribute, r, &look);
        /* The directory is but a name: what came of the write is about this device only if it bears the name still. */
        if (name_changed_hands(device))
                verdict_disown(verdict);
}

/* What roced leaves alone is shown where it can be seen for nothing. */
static void unmanaged_look(const ReconcileRequest *request, const Device *device, Directory *directory, PortReport *port,
                           Attribute attribute) {
        Look look;

        look = attribute_look(request, device, directory, STEP_READ, port->number, attribute);
        if (look.error == 0)
                port->verdicts[attribute].found = look.value;
}

static void reconcile_attribute(const ReconcileRequest *request, const Device *device, Directory *directory, PortReport *port,
                                Attribute attribute) {
        int r;

        if (!attribute_judge(request, device, directory, port, attribute))
                return;
        r = attribute_set(request, device, directory, port->number, attribute, port->verdicts[attribute].wanted);
        attribute_conclude(request, device, directory, port, attribute, r);
}

static bool port_is_watched(const ReconcileRequest *request, const Device *device, unsigned port) {
        const PortMemory *memory = request_find_memory(request, device, port);

        return memory && memory->watched;
}

/* Of what need not be written nothing is kept: it is looked at again. */
static void port_write_ahead(const ReconcileRequest *request, Directory *directory, const Device *device, PortReport *port,
                             bool written[static _ATTRIBUTE_MAX], int errors[static _ATTRIBUTE_MAX]) {
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                Verdict before = port->verdicts[a];

                written[a] = verdict_needs_look(&before) && attribute_judge(request, device, directory, port, a);
                if (written[a])
                        errors[a] = attribute_set(request, device, directory, port->number, a, before.wanted);
                else
                        port->verdicts[a] = before;
        }
}

static int port_watch(const ReconcileRequest *request, const Device *device, Directory *directory, unsigned port) {
        int watch = port_watch_add(request->inotify_fd, request->name, port);

        if (directory_recover(request, device, directory, watch))
                watch = port_watch_add(request->inotify_fd, request->name, port);
        return watch;
}

static bool port_needs_look(const PortReport *port) {
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                if (verdict_needs_look(port->verdicts + a))
                        return true;
        return false;
}

static void reconcile_port(const ReconcileRequest *request, Directory *directory, DeviceReport *report, PortReport *port) {
        bool watch = request->inotify_fd >= 0 && directory->error >= 0 && port_needs_look(port), written[_ATTRIBUTE_MAX] = {};
        int errors[_ATTRIBUTE_MAX] = {};

        /* Writes of our own are heard of, too, and each calls for one more look at the device. So a port that is not watched yet is written
         * before it is. */
        if (watch && !port_is_watched(request, report->device, port->number))
                port_write_ahead(request, directory, report->device, port, written, errors);

        /* The watch comes before the look that counts, be it the first or the one that reads back, so that no write after it goes unseen. */
        if (watch && directory->error >= 0) {
                port->watch = port_watch(request, report->device, directory, port->number);
                if (port->watch < 0 && port->watch != -ENOENT)
                        report->watch_error = port->watch;
        }

        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                if (written[a])
                        attribute_conclude(request, report->device, directory, port, a, errors[a]);
                else if (verdict_needs_look(port->verdicts + a))
                        reconcile_attribute(request, report->device, directory, port, a);
                else if (port->verdicts[a].state == STATE_UNMANAGED && directory->error >= 0)
                        unmanaged_look(request, report->device, directory, port, a);
}

static void reconcile_ports(const ReconcileRequest *request, Directory *directory, DeviceReport *report) {
        for (size_t i = 0; i < report->n_ports; i++)
                directory->needed = directory->needed || port_needs_look(report->ports + i);

        directory->error = directory_open(request, report->device, directory);
        for (size_t i = 0; i < report->n_ports; i++)
                reconcile_port(request, directory, report, report->ports + i);
}

static int ports_begin(DeviceReport *report) {
        const Device *device = report->device;

        report->ports = calloc(MAX_OF(device->n_ports, 1U), sizeof(PortReport));
        if (!report->ports)
                return -ENOMEM;
        report->n_ports = device->n_ports;

        for (size_t i = 0; i < device->n_ports; i++) {
                PortReport *port = report->ports + i;

                port->number = device->ports[i].number;
                port->watch = -1;
                port->match = MATCH_NO;
                if (report->policy && device->ports[i].roce)
                        port->match = policy_find_rule(report->policy, device, device->ports + i, &port->rule);
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        port->verdicts[a] = verdict_begin(a, device->ports + i, port->match, port->rule);
        }
        return 0;
}

int device_report_begin(const char *name, Policy *policy, Device *device, DeviceReport **ret) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;
        int r;

        report = calloc(1, sizeof(DeviceReport));
        if (!report) {
                device_free(device);
                return -ENOMEM;
        }
        report->device = device;
        report->policy = policy_ref(policy);
        report->name = strdup(name);
        if (!report->name)
                return -ENOMEM;
        if (device) {
                r = ports_begin(report);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(report);
        return 0;
}

/* 1: removed, 0: there is none, or it is not ours. */
static int directory_remove_ours(const char *name) {
        _cleanup_(directory_closep) int rdma_cm_fd = -EBADF, fd = -EBADF;
        int r, removed = 0;

        rdma_cm_fd = rdma_cm_open();
        /* Directories go with the module, but outlive an unmount of configfs. */
        if (rdma_cm_fd == -ENOENT)
                return ownership_forget(name);
        if (rdma_cm_fd < 0)
                return rdma_cm_fd == -ENOTCONN ? 0 : rdma_cm_fd;

        fd = device_directory_open(rdma_cm_fd, name);
        if (fd < 0 && fd != -ENOENT)
                return fd;
        if (fd >= 0) {
                r = ownership_check(name, fd);
                if (r > 0) {
                        r = device_directory_remove(rdma_cm_fd, name);
                        removed = r >= 0;
                        if (r == -ENOENT)
                                r = 0;
                }
                if (r < 0)
                        return r;
        }

        r = ownership_forget(name);
        return r < 0 ? r : removed;
}

/* Removes the directory that this call made, unless another one has its name by now. */
static int directory_remove_made(const ReconcileRequest *request, const Directory *directory) {
        int r;

        r = device_directory_check(directory->rdma_cm_fd, request->name, directory->fd);
        if (r == -ENOENT)
                return 1;
        if (r <= 0)
                return r;

        r = device_directory_remove(directory->rdma_cm_fd, request->name);
        if (r >= 0 && request->flags & RECONCILE_WRITE)
                r = ownership_forget(request->name);
        return r < 0 ? r : 1;
}

/* Removes a directory that was made in passing, or one of ours that nothing needs any more. */
static void directory_tidy(const ReconcileRequest *request, const Directory *directory, DeviceReport *report) {
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

static int acquire_flags(const Policy *policy) {
        unsigned keys = policy ? policy->keys : 0;

        return (keys & 1U << MATCH_PROPERTY ? ACQUIRE_PROPERTIES : 0) |
               (keys & 1U << MATCH_NETDEV ? ACQUIRE_NETDEV_SETTLED : 0);
}

/* Where the name passed to another device, what was only read may be that one's value. What was written has been checked by itself. */
static void report_check_hands(DeviceReport *report) {
        if (!report->device || !name_changed_hands(report->device))
                return;

        report->changed_hands = true;
        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        Verdict *verdict = report->ports[i].verdicts + a;

                        if (verdict->wanted != VALUE_NONE && !verdict->tried)
                                verdict_disown(verdict);
                }
}

int reconcile_device(const ReconcileRequest *request, DeviceReport **ret) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;
        _cleanup_(directory_done) Directory directory = { .rdma_cm_fd = -EBADF, .fd = -EBADF };
        Device *device = NULL;
        int error, r;

        progress_set(request, STEP_ACQUIRE, 0, -1);
        error = device_acquire(request->name, acquire_flags(request->policy), &device);
        if (error == -ENOMEM)
                return error;

        if (device)
                device_discount_leftover(device, request->leftover);
        if (device && device->instance == request->announced_instance)
                device->settled = true;

        r = device_report_begin(request->name, request->policy, device, &report);
        if (r < 0)
                return r;

        if (error < 0 && error != -ENODEV) {
                report->error = error;
                report->error_step = STEP_ACQUIRE;
        } else {
                if (request->progress)
                        atomic_store(&request->progress->device, report->device);
                if (report->device)
                        reconcile_ports(request, &directory, report);
                else
                        report->leftover = leftover_stamp_acquire(request->name);
                directory_tidy(request, &directory, report);
                progress_set(request, STEP_ACQUIRE, 0, -1);
                report_check_hands(report);
        }

        progress_set(request, STEP_NONE, 0, -1);
        *ret = TAKE_PTR(report);
        return 0;
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
