/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What daemon/roced.c, events.c and worker.c do with the manager, with the job run here and now, and with the main
 * thread's turns in the midst of it. */

#include "calls.h"
#include "simulation.h"
#include "story.h"
#include "witness.h"

/* Nothing calls for so many looks at one time. */
#define JOBS_AT_ONCE 400

#define INOTIFY_FD 3

Roced roced;

Now now_acquire(void) {
        return (Now){ .monotonic_usec = world.now_usec, .realtime_usec = world.now_usec + 1700000000 * SEC };
}

/* Some part of the work runs out of memory once. */
static void memory_begin(void) {
        if (!world.calm && chance(world.rough.memory))
                memory_fail_after(random_below(60));
}

static bool memory_end(void) {
        if (!memory_fail_end())
                return false;
        trace("         memory has run out for a moment");
        world.n_faults++;
        world_changed(4 * NAMES * PORTS * _ATTRIBUTE_MAX);
        return true;
}

static void news_take(const Item *item) {
        static const char *const names[] = {
                [ITEM_EVENT] = "uevent of",          [ITEM_NET] = "uevent of a netdev",
                [ITEM_MODULE] = "uevent of rdma_cm", [ITEM_MOUNT] = "news of mounts",
                [ITEM_LOST] = "events were lost",    [ITEM_INOTIFY] = "inotify",
                [ITEM_ANNOUNCED] = "udev announces",
        };
        Manager *manager = roced.manager;

        trace("news   %s %s", names[item->type], item->name == NO_NAME ? "" : model_names[item->name]);
        switch (item->type) {
        case ITEM_EVENT:
                manager_mark(manager, model_names[item->name], item->move ? TRIGGER_RENAME : TRIGGER_HOTPLUG);
                if (item->old != NO_NAME)
                        manager_mark(manager, model_names[item->old], TRIGGER_RENAME);
                break;
        case ITEM_NET:
                manager_mark_netdev(manager, TRIGGER_RENAME);
                break;
        case ITEM_MODULE:
        case ITEM_MOUNT:
                manager_mark_all(manager, TRIGGER_RDMA_CM);
                break;
        case ITEM_LOST:
                manager_mark_all(manager, TRIGGER_RESYNC);
                break;
        case ITEM_INOTIFY:
                manager_mark_attributes(manager, item->watch, item->attributes);
                break;
        case ITEM_ANNOUNCED:
                manager_mark_announced(manager, model_names[item->name], item->instance,
                                       item->move ? TRIGGER_RENAME : TRIGGER_HOTPLUG);
                break;
        default:
                break;
        }
}

static void answer(void) {
        if (!answer_is_due(&roced.answer, roced.manager, world.now_usec))
                return;
        trace("roced  is ready");
        if (world.now_usec < roced.answer.by_usec) {
                if (roced.answer.ready)
                        expect_reloaded();
                else
                        expect_ready();
        }
        (void) answer_give(&roced.answer);
}

/* What the main thread does with each event, whether the worker is busy or not. */
static void take_news(void) {
        Item item;

        world_catch_up();
        if (!roced.manager)
                return;
        if (!roced.in_job)
                memory_begin();
        while (item_take(true, world.now_usec, &item))
                news_take(&item);
        manager_tick(roced.manager, now_acquire());
        if (!roced.in_job)
                (void) memory_end();
}

void main_thread_turn(void) {
        if (!roced.manager || roced.stopping || world.dead)
                return;
        take_news();
        if (!roced.manager->blocked && manager_access_usec(roced.manager, world.now_usec) >= MANAGER_BLOCKED_USEC)
                violated("the kernel has not answered for long, and nothing is said of it");
        if (roced.in_job && manager_next_job(roced.manager, world.now_usec))
                violated("a job is handed out while another one runs");
        answer();
}

static void watches_drop(void) {
        for (int name = 0; name < NAMES; name++)
                for (unsigned port = 0; port < PORTS; port++)
                        world.directories[name].watches[port] = -1;
}

void roced_start(void) {
        trace("roced  starts");
        world.budget += 64;
        memset(world.leftovers, 0, sizeof(world.leftovers));
        roced = (Roced){ .started = world.serial, .reloaded = world.serial };
        if (manager_new(chance(12) ? -EBADF : INOTIFY_FD, random_next(), &roced.manager) < 0)
                violated("the manager cannot be made");
        roced.manager->deaf = !world.udevd;
        if (roced.manager->inotify_fd < 0)
                manager_set_unwatched(roced.manager, -EMFILE);
        manager_set_policy(roced.manager, policy_choose(), TRIGGER_STARTUP);
        answer_expect(&roced.answer, world.now_usec);
}

static void roced_end(void) {
        roced.manager = manager_free(roced.manager);
        items_drop_for_roced();
        watches_drop();
        for (int name = 0; name < NAMES; name++)
                if (world.kept[name].there) {
                        world.directories[name].unrecorded = true;
                        world.kept[name].there = false;
                }
        world.dead = false;
        world_changed(ports_count() * 4 * _ATTRIBUTE_MAX);
}

void roced_kill(void) {
        if (!roced.manager)
                return;
        trace("roced  is killed");
        if (roced.in_job)
                world.dead = true; /* it ends when the job comes back */
        else
                roced_end();
}

void roced_stop(void) {
        Job *job;

        if (!roced.manager || roced.in_job)
                return;
        trace("roced  stops");
        job = job_new(JOB_REMOVE, NULL, NULL);
        roced.in_job = roced.stopping = true;
        witness_begin(job);
        job_run(job);
        witness_end(job);
        roced.in_job = false;
        job_free(job);
        if (world.calm)
                expect_stopped();
        roced_end();
}

void roced_reload(void) {
        if (!roced.manager)
                return;
        trace("roced  reloads");
        manager_set_policy(roced.manager, policy_choose(), TRIGGER_RELOAD);
        answer_expect(&roced.answer, world.now_usec);
        world_changed(ports_count() * 4 * _ATTRIBUTE_MAX + 16);
        roced.reloaded = world.serial;
}

/* What the manager learns of udevd's entries that are no device's. */
static void leftovers_note(const Job *job) {
        if (job->type == JOB_LIST && job->error == 0)
                for (size_t i = 0; i < job->n_leftovers; i++)
                        world.leftovers[name_find(job->leftovers[i].name)] = job->leftovers[i].stamp;
        else if (job->report && !job->report->device)
                world.leftovers[name_find(job->name)] = job->report->leftover;
}

/* Each change is told of, once. */
static void job_done(Job *job) {
        uint64_t changes = n_told_changed, faults = world.n_faults;

        leftovers_note(job);

        for (size_t i = 0; job->report && i < job->report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        changes += job->report->ports[i].verdicts[a].tried &&
                                   job->report->ports[i].verdicts[a].state == STATE_OK;
        memory_begin();
        manager_job_done(roced.manager, job, now_acquire());
        if (memory_end())
                memset(world.leftovers, 0, sizeof(world.leftovers));
        if (n_told_changed != changes && world.n_faults == faults)
                violated("%lli changes are not told of, or more than once", (long long) (changes - n_told_changed));
}

static void job_execute(Job *job) {
        trace("roced  %s %s", job->type == JOB_LIST ? "lists" : "looks at", job->name ? job->name : "the devices");
        roced.n_jobs++;
        roced.in_job = true;
        witness_begin(job);
        memory_begin();
        job_run(job);
        (void) memory_end();
        witness_end(job);
        if (!world.dead && chance(4))
                main_thread_turn();
        roced.in_job = false;
        if (world.dead) {
                job_free(job);
                roced_end();
        } else
                job_done(job);
}

void roced_run(void) {
        unsigned n = 0;
        bool again;
        Job *job;

        do {
                take_news();
                if (!roced.manager)
                        return;
                memory_begin();
                job = manager_next_job(roced.manager, world.now_usec);
                again = memory_end();
                answer();
                if (job)
                        job_execute(job);
                if (n++ > JOBS_AT_ONCE)
                        violated("roced does not come to an end");
        } while (job || again || items_due(true) <= world.now_usec);

        if (roced.manager && manager_deadline(roced.manager) <= world.now_usec)
                violated("roced would be woken again and again, for nothing");
}
