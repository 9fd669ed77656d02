/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Look, decide, write, read back, for one device. Deciding is policy/plan.c's; what stands here is the order of things. */

#include "reconcile-internal.h"

#include "configfs.h"

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

static const PortMemory *request_find_memory(const ReconcileRequest *request, const Device *device, unsigned port) {
        if (request->instance != device->instance)
                return NULL;
        for (size_t i = 0; i < request->n_memory; i++)
                if (request->memory[i].port == port)
                        return request->memory + i;
        return NULL;
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

/* The directory is but a name: what was read, and what comes of a write, is about this device only while it bears the name. */
static bool verdict_check_hands(Verdict *verdict, DeviceReport *report) {
        if (!name_changed_hands(report->device))
                return true;

        verdict_disown(verdict);
        report->changed_hands = true;
        return false;
}

/* True: it is to be written. */
static bool attribute_judge(const ReconcileRequest *request, Directory *directory, DeviceReport *report, PortReport *port,
                            Attribute attribute) {
        const Device *device = report->device;
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
        return verdict->due && stance.may_write && verdict_check_hands(verdict, report);
}

/* What came of the write, which gave "r". */
static void attribute_conclude(const ReconcileRequest *request, Directory *directory, DeviceReport *report, PortReport *port,
                               Attribute attribute, int r) {
        const Device *device = report->device;
        Verdict *verdict = port->verdicts + attribute;
        Look look;

        look = attribute_look(request, device, directory, STEP_READ_BACK, port->number, attribute);
        /* Another program may have written in between, which shall not make a failure of this. A second time it is one. */
        if (r >= 0 && look.error == 0 && look.value != verdict->wanted && verdict_check_hands(verdict, report)) {
                r = attribute_set(request, device, directory, port->number, attribute, verdict->wanted);
                look = attribute_look(request, device, directory, STEP_READ_BACK, port->number, attribute);
        }
        verdict_conclude(verdict, attribute, r, &look);
        (void) verdict_check_hands(verdict, report);
}

/* What roced leaves alone is shown where it can be seen for nothing. */
static void unmanaged_look(const ReconcileRequest *request, const Device *device, Directory *directory, PortReport *port,
                           Attribute attribute) {
        Look look;

        look = attribute_look(request, device, directory, STEP_READ, port->number, attribute);
        if (look.error == 0)
                port->verdicts[attribute].found = look.value;
}

static void reconcile_attribute(const ReconcileRequest *request, Directory *directory, DeviceReport *report, PortReport *port,
                                Attribute attribute) {
        int r;

        if (!attribute_judge(request, directory, report, port, attribute))
                return;
        r = attribute_set(request, report->device, directory, port->number, attribute, port->verdicts[attribute].wanted);
        attribute_conclude(request, directory, report, port, attribute, r);
}

static bool port_is_watched(const ReconcileRequest *request, const Device *device, unsigned port) {
        const PortMemory *memory = request_find_memory(request, device, port);

        return memory && memory->watched;
}

/* Of what need not be written nothing is kept: it is looked at again. */
static void port_write_ahead(const ReconcileRequest *request, Directory *directory, DeviceReport *report, PortReport *port,
                             bool written[static _ATTRIBUTE_MAX], int errors[static _ATTRIBUTE_MAX]) {
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                Verdict before = port->verdicts[a];

                written[a] = verdict_needs_look(&before) && attribute_judge(request, directory, report, port, a);
                if (written[a])
                        errors[a] = attribute_set(request, report->device, directory, port->number, a, before.wanted);
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
                port_write_ahead(request, directory, report, port, written, errors);

        /* The watch comes before the look that counts, be it the first or the one that reads back, so that no write after it goes unseen. */
        if (watch && directory->error >= 0) {
                port->watch = port_watch(request, report->device, directory, port->number);
                if (port->watch < 0 && port->watch != -ENOENT)
                        report->watch_error = port->watch;
        }

        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                if (written[a])
                        attribute_conclude(request, directory, report, port, a, errors[a]);
                else if (verdict_needs_look(port->verdicts + a))
                        reconcile_attribute(request, directory, report, port, a);
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

static int acquire_flags(const Policy *policy) {
        unsigned keys = policy ? policy->keys : 0;

        return (keys & 1U << MATCH_PROPERTY ? ACQUIRE_PROPERTIES : 0) |
               (keys & 1U << MATCH_NETDEV ? ACQUIRE_NETDEV_SETTLED : 0);
}

/* Where the name passed to another device, what was only read may be that one's value. What was written has been checked by itself. */
static void report_check_hands(DeviceReport *report) {
        if (!report->device || (!report->changed_hands && !name_changed_hands(report->device)))
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
        bool leftover;
        int error, r;

        progress_set(request, STEP_ACQUIRE, 0, -1);
        leftover = leftover_is_there(request->name, request->leftover);
        error = device_acquire(request->name, acquire_flags(request->policy), &device);
        if (error == -ENOMEM)
                return error;

        if (device && leftover)
                device->settled = device->has_database = false;
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
