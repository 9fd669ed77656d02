/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Dirty marks, jobs, deadlines. What a finished job means is manager-result.c's. */

#include "manager-internal.h"

#include "log.h"
#include "message-ids.h"

static DeviceEntry *entry_free(DeviceEntry *entry) {
        if (!entry)
                return NULL;

        device_report_free(entry->report);
        free(entry->ports);
        free(entry->name);
        free(entry);
        return NULL;
}

int manager_new(int inotify_fd, uint64_t seed, Manager **ret) {
        Manager *manager = calloc(1, sizeof(Manager));

        if (!manager)
                return -ENOMEM;
        manager->inotify_fd = inotify_fd;
        manager->random = seed | 1;
        *ret = manager;
        return 0;
}

Manager *manager_free(Manager *manager) {
        if (!manager)
                return NULL;

        for (size_t i = 0; i < manager->n_entries; i++)
                entry_free(manager->entries[i]);
        free(manager->entries);
        policy_unref(manager->policy);
        leftovers_free(manager->leftovers, manager->n_leftovers);
        messages_done(&manager->warnings);
        free(manager);
        return NULL;
}

/* Where the name is, or would be inserted. */
static size_t entries_position(const Manager *manager, const char *name, bool *ret_found) {
        size_t low = 0, high = manager->n_entries;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = strcmp(manager->entries[middle]->name, name);

                if (order == 0) {
                        *ret_found = true;
                        return middle;
                }
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }

        *ret_found = false;
        return low;
}

DeviceEntry *manager_find_entry(const Manager *manager, const char *name) {
        bool found;
        size_t position = entries_position(manager, name, &found);

        return found ? manager->entries[position] : NULL;
}

static int manager_add_entry(Manager *manager, const char *name, DeviceEntry **ret) {
        bool found;
        size_t position = entries_position(manager, name, &found);
        DeviceEntry *entry;

        if (found) {
                *ret = manager->entries[position];
                return 0;
        }

        if (manager->n_entries == manager->n_allocated) {
                size_t n = MAX_OF(manager->n_allocated * 2, 16U);
                DeviceEntry **entries = reallocarray(manager->entries, n, sizeof(DeviceEntry *));

                if (!entries)
                        return -ENOMEM;
                manager->entries = entries;
                manager->n_allocated = n;
        }

        entry = calloc(1, sizeof(DeviceEntry));
        if (!entry || !(entry->name = strdup(name))) {
                free(entry);
                return -ENOMEM;
        }

        memmove(manager->entries + position + 1, manager->entries + position,
                (manager->n_entries - position) * sizeof(DeviceEntry *));
        manager->entries[position] = entry;
        manager->n_entries++;
        *ret = entry;
        return 0;
}

void manager_remove_entry(Manager *manager, DeviceEntry *entry) {
        bool found;
        size_t position = entries_position(manager, entry->name, &found);

        manager->n_entries--;
        memmove(manager->entries + position, manager->entries + position + 1,
                (manager->n_entries - position) * sizeof(DeviceEntry *));
        entry_free(entry);
        manager->changed = true;
        manager->lint_due = true;
}

/* Own writes are heard of as drift, and a resync is for what no event told: neither hides a better reason. */
static bool trigger_tells_more(Trigger trigger, Trigger than) {
        return trigger != than && (than == TRIGGER_RESYNC || (than == TRIGGER_DRIFT && trigger != TRIGGER_RESYNC));
}

/* An event about the device: look at once, and begin the retries anew. */
static void entry_mark(DeviceEntry *entry, Trigger trigger) {
        bool retry = entry->dirty && entry->not_before_usec > 0 && trigger != TRIGGER_RESYNC;

        /* A retry bears the reason of the first try; what happens now is a better one. */
        if (!entry->dirty || retry || trigger_tells_more(trigger, entry->trigger))
                entry->trigger = trigger;
        entry->dirty = true;
        entry->not_before_usec = 0;
        entry->retries = 0;
}

void entry_mark_later(DeviceEntry *entry, Trigger trigger, uint64_t not_before_usec) {
        if (entry->dirty && entry->not_before_usec <= not_before_usec)
                return;
        if (!entry->dirty)
                entry->trigger = trigger;
        entry->dirty = true;
        entry->not_before_usec = not_before_usec;
}

void manager_mark(Manager *manager, const char *name, Trigger trigger) {
        DeviceEntry *entry;

        if (!device_name_is_valid(name))
                return; /* the listing tells of such names */

        if (manager_add_entry(manager, name, &entry) < 0) {
                manager_mark_all(manager, trigger);
                return;
        }
        entry_mark(entry, trigger);
}

void manager_mark_announced(Manager *manager, const char *name, uint64_t instance, Trigger trigger) {
        DeviceEntry *entry;

        manager_mark(manager, name, trigger);
        entry = manager_find_entry(manager, name);
        if (entry)
                entry->announced_instance = instance;
}

void manager_mark_all(Manager *manager, Trigger trigger) {
        bool retry = manager->list_wanted && manager->list_not_before_usec > 0 && trigger != TRIGGER_RESYNC;

        if (!manager->list_wanted || retry || trigger_tells_more(trigger, manager->list_trigger))
                manager->list_trigger = trigger;
        manager->list_wanted = true;
        manager->list_not_before_usec = 0;
}

void manager_set_policy(Manager *manager, Policy *policy, Trigger trigger) {
        policy_unref(manager->policy);
        manager->policy = policy_ref(policy);
        manager->changed = true;
        manager->lint_due = true;
        manager_mark_all(manager, trigger);
}

static bool manager_runs(const Manager *manager, const char *name) {
        return manager->running && manager->running->name && streq(manager->running->name, name);
}

/* Own writes are heard of, too. Of what has failed the retries take care: a write that the kernel takes and ignores must not call for
 * the next one. What is heard while a job runs waits until it is known what the job found. */
/* What roced itself has just written, and failed with, is heard of too: that waits for its retry. What is held back waits for the
 * end of its hold, however often the other program writes. */
static bool story_waits(const Story *story) {
        return story->last.state == STATE_FAILED || story->last.reason == REASON_BACKING_OFF;
}

/* "attributes" is a set of 1 << Attribute. */
static bool port_is_news(const PortEntry *port, unsigned attributes) {
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                if (attributes & 1U << a && !story_waits(port->stories + a))
                        return true;
        return false;
}

void manager_mark_attributes(Manager *manager, int watch, unsigned attributes) {
        DeviceEntry *running;

        for (size_t i = 0; i < manager->n_entries; i++) {
                DeviceEntry *entry = manager->entries[i];

                for (size_t p = 0; p < entry->n_ports; p++) {
                        if (entry->ports[p].watch != watch)
                                continue;
                        if (manager_runs(manager, entry->name))
                                entry->ports[p].touched |= attributes;
                        else if (port_is_news(entry->ports + p, attributes))
                                entry_mark(entry, TRIGGER_DRIFT);
                        return;
                }
        }

        /* Perhaps of the job under way, which has not reported it yet. */
        running = manager->running && manager->running->name ? manager_find_entry(manager, manager->running->name) : NULL;
        if (running)
                running->touched = true;
}

void manager_mark_watch(Manager *manager, int watch) {
        manager_mark_attributes(manager, watch, ALL_ATTRIBUTES);
}

void entry_mark_touched(DeviceEntry *entry) {
        for (size_t i = 0; i < entry->n_ports; i++) {
                unsigned attributes = entry->touched ? ALL_ATTRIBUTES : entry->ports[i].touched;

                if (port_is_news(entry->ports + i, attributes))
                        entry_mark(entry, TRIGGER_DRIFT);
                entry->ports[i].touched = 0;
        }
        entry->touched = false;
}

void manager_mark_netdev(Manager *manager, Trigger trigger) {
        bool by_netdev = manager->policy && manager->policy->keys & 1U << MATCH_NETDEV;

        for (size_t i = 0; i < manager->n_entries; i++) {
                DeviceEntry *entry = manager->entries[i];
                unsigned retries = entry->retries;

                if (!by_netdev && entry_is_compliant(entry))
                        continue;
                entry_mark(entry, trigger);
                /* Most network devices are none of ours: one look, and no new chain of retries. */
                if (!by_netdev)
                        entry->retries = retries;
        }
}

/* What the worker must respect: refusals and holds, as they stand now. */
static int job_remember(Job *job, const DeviceEntry *entry, uint64_t now_usec) {
        if (!entry->report || !entry->report->device || entry->n_ports == 0)
                return 0;

        job->memory = calloc(entry->n_ports, sizeof(PortMemory));
        if (!job->memory)
                return -ENOMEM;
        job->instance = entry->report->device->instance;
        job->n_memory = entry->n_ports;

        for (size_t i = 0; i < entry->n_ports; i++) {
                job->memory[i].port = entry->ports[i].number;
                job->memory[i].watched = entry->ports[i].watch >= 0;
                job->memory[i].refused_mode = entry->ports[i].refused_mode;
                job->memory[i].refused_support = entry->ports[i].refused_support;
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        job->memory[i].hold[a] = now_usec < entry->ports[i].stories[a].hold_until_usec;
        }
        return 0;
}

static Leftover *manager_find_leftover(const Manager *manager, const char *name) {
        for (size_t i = 0; i < manager->n_leftovers; i++)
                if (streq(manager->leftovers[i].name, name))
                        return manager->leftovers + i;
        return NULL;
}

/* A device has gone, or its name: what its database entry says is not about the next one of that name. */
void manager_add_leftover(Manager *manager, const char *name, uint64_t stamp) {
        Leftover *known = manager_find_leftover(manager, name), *larger;

        if (known)
                known->stamp = stamp;
        if (known || stamp == 0)
                return;

        larger = reallocarray(manager->leftovers, manager->n_leftovers + 1, sizeof(Leftover));
        if (!larger)
                return;
        manager->leftovers = larger;
        larger[manager->n_leftovers] = (Leftover) { .name = strdup(name), .stamp = stamp };
        if (larger[manager->n_leftovers].name)
                manager->n_leftovers++;
}

/* The listing names entries that no device bears. One that a new device bears meanwhile is a leftover still, until udevd has written it
 * anew, which its stamp tells. */
static void manager_take_leftovers(Manager *manager, Job *job) {
        Leftover *old = manager->leftovers;
        size_t n_old = manager->n_leftovers;

        manager->n_leftovers = job->n_leftovers;
        manager->leftovers = TAKE_PTR(job->leftovers);
        job->n_leftovers = 0;

        for (size_t i = 0; i < n_old; i++)
                for (char **name = job->names; *name; name++)
                        if (streq(*name, old[i].name) && !manager_find_leftover(manager, old[i].name))
                                manager_add_leftover(manager, old[i].name, old[i].stamp);
        leftovers_free(old, n_old);
}

static DeviceEntry *manager_find_due(const Manager *manager, uint64_t now_usec, size_t *ret_position) {
        for (size_t i = 0; i < manager->n_entries; i++) {
                size_t position = (manager->cursor + i) % manager->n_entries;
                DeviceEntry *entry = manager->entries[position];

                if (entry->dirty && entry->not_before_usec <= now_usec) {
                        *ret_position = position;
                        return entry;
                }
        }
        return NULL;
}

static Job *manager_new_job(Manager *manager, uint64_t now_usec) {
        _cleanup_(job_freep) Job *job = NULL;
        const Leftover *leftover;
        DeviceEntry *entry;
        size_t position;

        if (manager->list_wanted && manager->list_not_before_usec <= now_usec) {
                job = job_new(JOB_LIST, NULL, NULL);
                if (job)
                        manager->list_wanted = false;
                return TAKE_PTR(job);
        }

        entry = manager_find_due(manager, now_usec, &position);
        if (!entry)
                return NULL;
        job = job_new(JOB_RECONCILE, entry->name, manager->policy);
        if (!job || job_remember(job, entry, now_usec) < 0)
                return NULL;

        job->announced_instance = entry->announced_instance;
        leftover = manager_find_leftover(manager, entry->name);
        job->leftover = leftover ? leftover->stamp : 0;
        manager->cursor = position + 1;
        entry->job_trigger = entry->trigger;
        entry->dirty = false;
        return TAKE_PTR(job);
}

Job *manager_next_job(Manager *manager, uint64_t now_usec) {
        Job *job;

        if (manager->running)
                return NULL;

        job = manager_new_job(manager, now_usec);
        if (!job)
                return NULL;
        job->inotify_fd = manager->inotify_fd;
        job->started_usec = now_usec;
        manager->running = job;
        manager->in_pass = true;
        return job;
}

void manager_list_done(Manager *manager, Job *job, Now now) {
        DeviceEntry *entry;
        int r = job->error;

        /* What is known is looked at also where the list fails. */
        for (size_t i = 0; i < manager->n_entries; i++)
                entry_mark(manager->entries[i], manager->list_trigger);
        for (char **name = job->names; r >= 0 && *name; name++) {
                r = manager_add_entry(manager, *name, &entry);
                if (r >= 0)
                        entry_mark(entry, manager->list_trigger);
        }
        for (char **name = job->owned; r >= 0 && *name; name++) {
                r = manager_add_entry(manager, *name, &entry);
                if (r >= 0)
                        entry_mark(entry, manager->list_trigger);
        }

        if (r < 0) {
                if (manager->list_failures == 0)
                        log_message(LOG_ERR, MESSAGE_DEVICE_FAILED_ID, "RDMA devices cannot be listed: %s", strerror(-r));
                if (!manager->list_wanted) {
                        manager->list_wanted = true;
                        manager->list_not_before_usec = now.monotonic_usec + retry_spell(manager->list_failures);
                }
                manager->list_failures++;
                return;
        }
        if (manager->list_failures > 0)
                log_message(LOG_INFO, MESSAGE_DEVICE_FAILED_ID, "RDMA devices can be listed again");
        manager->list_failures = 0;

        if (job->n_invalid > manager->n_invalid_told)
                log_message(LOG_WARNING, MESSAGE_DEVICE_NAME_ID,
                            "%zu RDMA devices bear names that no path can hold, such as '..' or 'a/b'; they are left alone",
                            job->n_invalid);
        manager->n_invalid_told = job->n_invalid;
        manager_take_leftovers(manager, job);
        manager->listed = true;

        /* Jittered by a fifth both ways, so that a fleet does not act in step. xorshift64. */
        manager->random ^= manager->random << 13;
        manager->random ^= manager->random >> 7;
        manager->random ^= manager->random << 17;
        manager->resync_usec = now.monotonic_usec +
                               (manager->watch_error < 0 || manager->deaf ? MANAGER_RESYNC_UNWATCHED_USEC : MANAGER_RESYNC_USEC) / 1000 *
                                               (800 + manager->random % 401);
}

/* Without a report there was no memory for one: the look is still to come. */
static bool entry_is_judged(const DeviceEntry *entry, uint64_t now_usec) {
        return entry->report && (!entry->dirty || entry->not_before_usec > now_usec);
}

bool manager_is_settled(const Manager *manager, uint64_t now_usec) {
        if (!manager->listed || manager->running || manager->list_wanted)
                return false;
        for (size_t i = 0; i < manager->n_entries; i++)
                if (!entry_is_judged(manager->entries[i], now_usec))
                        return false;
        return true;
}

bool manager_is_judged(const Manager *manager, const char *name, uint64_t now_usec) {
        const DeviceEntry *entry = manager_find_entry(manager, name);

        if (manager_runs(manager, name))
                return false;
        return !entry || entry_is_judged(entry, now_usec);
}

uint64_t manager_deadline(const Manager *manager) {
        uint64_t deadline = manager->resync_usec > 0 ? manager->resync_usec : UINT64_MAX;

        if (manager->burst_end_usec > 0)
                deadline = MIN_OF(deadline, manager->burst_end_usec);
        for (size_t i = 0; i < manager->n_entries; i++)
                deadline = MIN_OF(deadline, entry_late_deadline(manager->entries[i]));
        if (manager->running)
                return MIN_OF(deadline, manager_blocked_deadline(manager));

        if (manager->list_wanted)
                deadline = MIN_OF(deadline, manager->list_not_before_usec);
        for (size_t i = 0; i < manager->n_entries; i++)
                if (manager->entries[i]->dirty)
                        deadline = MIN_OF(deadline, manager->entries[i]->not_before_usec);
        return deadline;
}

bool manager_take_changed(Manager *manager) {
        bool changed = manager->changed;

        manager->changed = false;
        return changed;
}
