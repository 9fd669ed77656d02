/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A job that does not come back: what it hangs at, and what that means for its device. */

#include "manager-internal.h"

#include "log.h"
#include "message-ids.h"

void progress_format(const Job *job, size_t size, char *ret) {
        Step step = atomic_load(&job->progress.step);
        unsigned port = atomic_load(&job->progress.port);
        int attribute = atomic_load(&job->progress.attribute);

        if (job->type == JOB_LIST)
                snprintf(ret, size, "listing the RDMA devices");
        else if (job->type == JOB_REMOVE)
                snprintf(ret, size, "removing directories");
        else if (port == 0 || attribute < 0)
                snprintf(ret, size, "%s of %s", step_to_string(step), job->name);
        else
                snprintf(ret, size, "%s of %s of %s port %u", step_to_string(step),
                         attribute_file((Attribute) attribute), job->name, port);
}

/* Since when the access under way has not returned: many short ones are no long one. */
static uint64_t access_begun(const Job *job) {
        return MAX_OF(job->started_usec, atomic_load(&job->progress.begun_usec));
}

uint64_t manager_access_usec(const Manager *manager, uint64_t now_usec) {
        uint64_t begun_usec = manager->running ? access_begun(manager->running) : now_usec;

        return now_usec > begun_usec ? now_usec - begun_usec : 0;
}

unsigned manager_blocked_sec(const Manager *manager, uint64_t now_usec) {
        return manager->blocked ? (unsigned) (manager_access_usec(manager, now_usec) / USEC_PER_SEC) : 0;
}

uint64_t manager_blocked_deadline(const Manager *manager) {
        return manager->blocked ? UINT64_MAX : access_begun(manager->running) + MANAGER_BLOCKED_USEC;
}

/* A device that was never judged gets a report of what would be looked at, from what the blocked job has read of it. */
static int entry_begin_report(DeviceEntry *entry, const Job *job) {
        _cleanup_(device_report_freep) DeviceReport *report = NULL;
        const Device *read = atomic_load(&job->progress.device);
        Device *device;
        int r;

        if (entry->report)
                return 0;
        if (!read)
                return -ENODATA;

        device = device_copy(read);
        if (!device)
                return -ENOMEM;
        r = device_report_begin(job->name, job->policy, device, &report);
        if (r < 0)
                return r;

        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        Verdict *verdict = report->ports[i].verdicts + a;

                        if (verdict_needs_look(verdict)) {
                                verdict->state = STATE_PENDING;
                                verdict->reason = REASON_WAITING;
                        }
                }

        r = entry_adopt_ports(entry, report, false);
        if (r < 0)
                return r;
        entry->report = TAKE_PTR(report);
        return 0;
}

static void verdict_block(Verdict *verdict, const Manager *manager, const Job *job, Now now) {
        verdict->state = STATE_FAILED;
        verdict->reason = REASON_BLOCKED;
        verdict->step = atomic_load(&job->progress.step);
        verdict->blocked_sec = (unsigned) (manager_access_usec(manager, now.monotonic_usec) / USEC_PER_SEC);
        verdict->error = 0;
        verdict->readback = VALUE_NONE;
        verdict->tried = false;
}

/* Of values that are not held up nothing is new, unless the report itself is. */
static void entry_blocked(Manager *manager, DeviceEntry *entry, const Job *job, Now now) {
        unsigned port = atomic_load(&job->progress.port);
        int attribute = atomic_load(&job->progress.attribute);
        bool is_new = !entry->report;

        if (entry_begin_report(entry, job) < 0)
                return;

        for (size_t i = 0; i < entry->report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        Verdict *verdict = entry->report->ports[i].verdicts + a;
                        bool blocked = verdict->wanted != VALUE_NONE &&
                                       (port == 0 || port == entry->report->ports[i].number) &&
                                       (attribute < 0 || attribute == (int) a);

                        if (blocked)
                                verdict_block(verdict, manager, job, now);
                        if (blocked || is_new)
                                entry_tell(manager, entry, i, a, false, now);
                }
}

void manager_check_blocked(Manager *manager, Now now) {
        char where[256];
        DeviceEntry *entry;
        Job *job = manager->running;

        if (!job || manager->blocked || manager_access_usec(manager, now.monotonic_usec) < MANAGER_BLOCKED_USEC)
                return;

        manager->blocked = true;
        manager->blocked_usec = access_begun(job);
        manager->changed = true;
        progress_format(job, sizeof(where), where);
        log_message(LOG_ERR, MESSAGE_BLOCKED_ID, "The kernel has not answered for %u s: %s; other devices wait",
                    (unsigned) (MANAGER_BLOCKED_USEC / USEC_PER_SEC), where);

        entry = job->name ? manager_find_entry(manager, job->name) : NULL;
        if (entry)
                entry_blocked(manager, entry, job, now);
}

static void tell_unblocked(const Manager *manager, const Job *job, Now now) {
        log_message(LOG_NOTICE, MESSAGE_UNBLOCKED_ID, "The kernel has answered after %llu s; going on%s%s",
                    (unsigned long long) ((now.monotonic_usec - manager->blocked_usec) / USEC_PER_SEC),
                    job->name ? " with " : "", job->name ? job->name : "");
}

void manager_end_blocked(Manager *manager, const Job *job, Now now) {
        if (!manager->blocked)
                return;

        tell_unblocked(manager, job, now);
        manager->blocked = false;
        manager->changed = true;
}
