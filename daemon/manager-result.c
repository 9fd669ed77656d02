/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a finished job, or one that does not finish, means: stories, retries, holds, and sums. */

#include "manager-internal.h"

#include "log.h"
#include "message-ids.h"

bool entry_is_compliant(const DeviceEntry *entry) {
        if (!entry->report || entry->report->error < 0)
                return false;
        for (size_t i = 0; i < entry->report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        if (state_is_compliant(entry->report->ports[i].verdicts[a].state) <= 0)
                                return false;
        return true;
}

static bool port_has_state(const PortEntry *port, State state) {
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                if (port->stories[a].last.state == state)
                        return true;
        return false;
}

static bool entry_has_state(const DeviceEntry *entry, State state) {
        for (size_t i = 0; i < entry->n_ports; i++)
                if (port_has_state(entry->ports + i, state))
                        return true;
        return false;
}

uint64_t entry_late_deadline(const DeviceEntry *entry) {
        uint64_t deadline = UINT64_MAX;

        for (size_t i = 0; i < entry->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        const Story *story = entry->ports[i].stories + a;

                        if (story->begun && story->last.state == STATE_PENDING && !story->late_told)
                                deadline = MIN_OF(deadline, story->since_monotonic_usec + STORY_LATE_USEC);
                }
        return deadline;
}

/* Makes the entry's ports those of the report, keeping the stories of ports that stay. */
int entry_adopt_ports(DeviceEntry *entry, const DeviceReport *report, bool same_instance) {
        PortEntry *ports;

        ports = calloc(MAX_OF(report->n_ports, 1U), sizeof(PortEntry));
        if (!ports)
                return -ENOMEM;

        for (size_t i = 0; i < report->n_ports; i++) {
                ports[i] = (PortEntry) { .number = report->ports[i].number, .refused_mode = VALUE_NONE };
                for (size_t j = 0; j < entry->n_ports; j++)
                        if (entry->ports[j].number == ports[i].number)
                                ports[i] = entry->ports[j];
                ports[i].watch = report->ports[i].watch;

                /* A new instance begins from the kernel's defaults: nobody has fought over it, or been refused. */
                if (!same_instance) {
                        ports[i].refused_mode = VALUE_NONE;
                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                                ports[i].stories[a].repairs = 0;
                                ports[i].stories[a].hold_until_usec = 0;
                        }
                }
        }

        free(entry->ports);
        entry->ports = ports;
        entry->n_ports = report->n_ports;
        return 0;
}

/* Looks again at what is pending or failed after a spell that doubles, and at what is held back when the hold ends. */
static void entry_plan_retry(DeviceEntry *entry, Now now) {
        uint64_t spell_usec = retry_spell(entry->retries);
        bool failed = entry->report->error < 0 || entry->report->changed_hands || entry_has_state(entry, STATE_FAILED);
        bool pending = entry_has_state(entry, STATE_PENDING) && spell_usec < MANAGER_RETRY_MAX_USEC;

        for (size_t i = 0; i < entry->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        if (entry->ports[i].stories[a].last.reason == REASON_BACKING_OFF)
                                entry_mark_later(entry, TRIGGER_DRIFT, entry->ports[i].stories[a].hold_until_usec);

        if (failed || pending) {
                entry_mark_later(entry, entry->job_trigger, now.monotonic_usec + spell_usec);
                entry->retries++;
        }
}

/* What is wrong with the device as a whole is told when it begins, when it ends, and at long intervals between. */
static void entry_tell_error(DeviceEntry *entry, const DeviceReport *report, Now now) {
        Record record = { .priority = report->error < 0 ? LOG_ERR : LOG_INFO, .message_id = MESSAGE_DEVICE_FAILED_ID };

        if (report->error == entry->told_error &&
            (report->error == 0 || now.monotonic_usec - entry->told_error_usec < STORY_REPEAT_USEC)) {
                entry->untold_errors++;
                return;
        }

        if (report->error == 0)
                record_message(&record, "%s can be read and tidied up again", report->name);
        else if (report->error == entry->told_error)
                record_message(&record, "%s: %s: %s (%u more times since the last report)", report->name,
                               step_to_string(report->error_step), strerror(-report->error), entry->untold_errors);
        else
                record_message(&record, "%s: %s: %s", report->name, step_to_string(report->error_step),
                               strerror(-report->error));
        record_add(&record, "ROCED_DEVICE", report->name);
        if (report->error < 0)
                record_addf(&record, "ERRNO", "%i", -report->error);
        record_send(&record);

        entry->told_error = report->error;
        entry->told_error_usec = now.monotonic_usec;
        entry->untold_errors = 0;
}

void manager_set_unwatched(Manager *manager, int error) {
        if (error == manager->watch_error)
                return;

        manager->watch_error = error;
        log_message(LOG_WARNING, MESSAGE_WATCH_FAILED_ID,
                    "Changes by other programs cannot be watched for: %s; looking every %u s instead", strerror(-error),
                    (unsigned) (MANAGER_RESYNC_UNWATCHED_USEC / USEC_PER_SEC));
}

/* The device has gone. Its entry goes too, unless its directory could not be removed or it is dirty again. */
static void entry_gone(Manager *manager, DeviceEntry *entry, DeviceReport *report, Now now) {
        if (entry->report && entry->report->device) {
                Record record = { .priority = LOG_DEBUG, .message_id = MESSAGE_DEVICE_GONE_ID };

                record_message(&record, "%s has gone", entry->name);
                record_add(&record, "ROCED_DEVICE", entry->name);
                record_send(&record);
        }

        manager_add_leftover(manager, entry->name, report->leftover);
        entry_tell_error(entry, report, now);
        if (report->error == 0 && !entry->dirty) {
                device_report_free(report);
                manager_remove_entry(manager, entry);
                return;
        }

        device_report_free(entry->report);
        entry->report = report;
        entry->n_ports = 0;
        manager->changed = true;
        manager->lint_due = true;
        if (report->error < 0)
                entry_plan_retry(entry, now);
}

void entry_tell(Manager *manager, DeviceEntry *entry, size_t port, Attribute attribute, bool new_instance, Now now) {
        StoryContext context = {
                .report = entry->report, .port = entry->report->ports + port, .attribute = attribute,
                .trigger = entry->job_trigger, .new_instance = new_instance, .now = now,
        };

        if (story_update(entry->ports[port].stories + attribute, context.port->verdicts + attribute, &context))
                manager->changed = true;
}

static void entry_tell_ports(Manager *manager, DeviceEntry *entry, bool new_instance, Now now) {
        for (size_t i = 0; i < entry->report->n_ports; i++) {
                const PortReport *port = entry->report->ports + i;

                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        if (!entry->report->changed_hands || port->verdicts[a].tried)
                                entry_tell(manager, entry, i, a, new_instance, now);

                if (port->verdicts[ATTRIBUTE_MODE].reason == REASON_MODE_REFUSED) {
                        entry->ports[i].refused_mode = port->verdicts[ATTRIBUTE_MODE].wanted;
                        entry->ports[i].refused_support = port->support;
                }
        }
}

/* The device is there and cannot be read: what was known of its ports holds no more. */
static void entry_unreadable(Manager *manager, DeviceEntry *entry, DeviceReport *report, Now now) {
        entry_tell_error(entry, report, now);
        manager->changed = true;

        if (!entry->report || !entry->report->device) {
                device_report_free(entry->report);
                entry->report = report;
                entry_plan_retry(entry, now);
                return;
        }

        for (size_t i = 0; i < entry->report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        if (entry->report->ports[i].verdicts[a].wanted != VALUE_NONE)
                                entry->report->ports[i].verdicts[a] = (Verdict) {
                                        .state = STATE_FAILED, .reason = REASON_REFUSED,
                                        .step = report->error_step, .error = report->error,
                                        .wanted = entry->report->ports[i].verdicts[a].wanted,
                                        .found = VALUE_NONE, .readback = VALUE_NONE,
                                };
        entry->report->error = report->error;
        entry->report->error_step = report->error_step;
        device_report_free(report);
        entry_tell_ports(manager, entry, false, now);
        entry_plan_retry(entry, now);
}

static void manager_count_burst(Manager *manager, const DeviceReport *report, Now now) {
        unsigned changes = 0;

        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        changes += report->ports[i].verdicts[a].tried;
        if (changes == 0)
                return;

        manager->burst_changes += changes;
        manager->burst_end_usec = now.monotonic_usec + MANAGER_BURST_QUIET_USEC;
}

static void manager_end_burst(Manager *manager) {
        Summary summary;

        if (manager->burst_changes >= MANAGER_BURST_CHANGES) {
                manager_summarize(manager, &summary);
                log_message(LOG_INFO, MESSAGE_MANY_CHANGES_ID,
                            "%u values written; now %u of %u RoCE ports on %u devices are compliant",
                            manager->burst_changes, summary.compliant, summary.ports, summary.devices);
        }
        manager->burst_changes = 0;
        manager->burst_end_usec = 0;
}

static void manager_reconcile_done(Manager *manager, DeviceEntry *entry, DeviceReport *report, Now now) {
        bool same_instance;

        if (counters_add_report(&manager->counters, entry, report))
                manager->changed = true;
        if (report->error_step == STEP_ACQUIRE) {
                entry_unreadable(manager, entry, report, now);
                return;
        }
        if (!report->device) {
                entry_gone(manager, entry, report, now);
                return;
        }

        same_instance = entry->report && entry->report->device && report->device &&
                        entry->report->device->instance == report->device->instance;

        if (entry_adopt_ports(entry, report, same_instance) < 0) {
                device_report_free(report);
                entry_mark_later(entry, entry->trigger, now.monotonic_usec + retry_spell(entry->retries++));
                return;
        }

        if (!same_instance)
                manager->lint_due = manager->changed = true;
        device_report_free(entry->report);
        entry->report = report;
        entry_tell_error(entry, report, now);
        if (report->watch_error < 0) {
                manager_set_unwatched(manager, report->watch_error);
                manager->resync_usec = MIN_OF(manager->resync_usec, now.monotonic_usec + MANAGER_RESYNC_UNWATCHED_USEC);
        }
        manager_count_burst(manager, report, now);
        entry_tell_ports(manager, entry, !same_instance, now);
        entry_mark_touched(entry);
        entry_plan_retry(entry, now);
}

/* Rules that match nothing are told once each time they begin to. */
static void manager_lint(Manager *manager) {
        _cleanup_free_ const Device **devices = NULL;
        Messages found = {};
        size_t n = 0;

        manager->lint_due = false;
        devices = calloc(MAX_OF(manager->n_entries, 1U), sizeof(Device *));
        if (!devices)
                return;
        for (size_t i = 0; i < manager->n_entries; i++)
                if (manager->entries[i]->report && manager->entries[i]->report->device)
                        devices[n++] = manager->entries[i]->report->device;
        if (manager->policy && policy_lint_devices(manager->policy, devices, n, &found) < 0) {
                messages_done(&found);
                return;
        }

        for (size_t i = 0; i < MIN_OF(found.n_items, (size_t) MANAGER_WARNINGS_MAX); i++) {
                bool told = false;

                for (size_t j = 0; j < MIN_OF(manager->warnings.n_items, (size_t) MANAGER_WARNINGS_MAX) && !told; j++)
                        told = found.items[i].line == manager->warnings.items[j].line &&
                               streq_ptr(found.items[i].path, manager->warnings.items[j].path) &&
                               streq(found.items[i].text, manager->warnings.items[j].text);
                if (told)
                        continue;
                manager->changed = true;
                log_message(LOG_WARNING, MESSAGE_POLICY_WARNING_ID, "%s:%u: %s", found.items[i].path,
                            found.items[i].line, found.items[i].text);
        }
        if (found.n_items > MANAGER_WARNINGS_MAX && found.n_items != manager->warnings.n_items)
                log_message(LOG_WARNING, MESSAGE_POLICY_WARNING_ID, "%zu more such warnings; \"rocectl check\" shows all",
                            found.n_items - MANAGER_WARNINGS_MAX);

        if (found.n_items != manager->warnings.n_items)
                manager->changed = true;
        messages_done(&manager->warnings);
        manager->warnings = found;
}

void manager_job_done(Manager *manager, Job *job, Now now) {
        DeviceEntry *entry = job->name ? manager_find_entry(manager, job->name) : NULL;

        manager->running = NULL;
        manager_end_blocked(manager, job, now);

        if (job->type == JOB_LIST)
                manager_list_done(manager, job, now);
        else if (entry && job->error < 0) /* out of memory */
                entry_mark_later(entry, entry->job_trigger, now.monotonic_usec + USEC_PER_SEC);
        else if (entry)
                manager_reconcile_done(manager, entry, TAKE_PTR(job->report), now);
        job_free(job);

        if (manager->in_pass && manager_is_settled(manager, now.monotonic_usec)) {
                manager->in_pass = false;
                manager->last_pass_usec = now.realtime_usec;
                if (manager->lint_due)
                        manager_lint(manager);
        }
}

static void entry_check_late(Manager *manager, DeviceEntry *entry, Now now) {
        for (size_t i = 0; i < entry->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        StoryContext context = {
                                .report = entry->report, .port = entry->report->ports + i,
                                .attribute = a, .trigger = entry->job_trigger, .now = now,
                        };

                        (void) story_check_late(entry->ports[i].stories + a, &context);
                }
}

void manager_tick(Manager *manager, Now now) {
        manager_check_blocked(manager, now);

        for (size_t i = 0; i < manager->n_entries; i++)
                if (entry_late_deadline(manager->entries[i]) <= now.monotonic_usec)
                        entry_check_late(manager, manager->entries[i], now);

        if (manager->burst_end_usec > 0 && now.monotonic_usec >= manager->burst_end_usec)
                manager_end_burst(manager);

        if (manager->resync_usec > 0 && now.monotonic_usec >= manager->resync_usec) {
                manager->resync_usec = 0;
                manager_mark_all(manager, TRIGGER_RESYNC);
        }
}
