/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One schedule: trouble for a while, then calm, in which all must come right and stay so. */

#include "calls.h"
#include "simulation.h"

/* The longest that roced may wait before it looks again at what failed, or was held back: the last spell, the look,
 * some reserve. */
#define CONVERGE_USEC (150 * SEC)

/* A resync is jittered by a fifth. */
#define RESYNC_USEC (MANAGER_RESYNC_USEC / 5 * 6)

static unsigned acts_left;

/* What the kernel and udevd do by themselves. */
void world_catch_up(void) {
        Item item;

        while (item_take(false, world.now_usec, &item))
                if (item.type == ITEM_FIGHT)
                        actor_strike();
                else
                        item_happen(&item);
}

/* Time goes on from one thing that happens to the next. */
void run_until(uint64_t usec) {
        for (;;) {
                uint64_t next = MIN_OF(items_due(false), items_due(true));

                world_catch_up();
                if (roced.manager) {
                        roced_run();
                        next = MIN_OF(items_due(false), items_due(true));
                        if (roced.manager)
                                next = MIN_OF(next, manager_deadline(roced.manager));
                        if (roced.manager && roced.answer.due)
                                next = MIN_OF(next, roced.answer.by_usec);
                } else
                        items_drop_for_roced();
                if (next > usec)
                        break;
                world.now_usec = MAX_OF(world.now_usec, next);
        }
        world.now_usec = MAX_OF(world.now_usec, usec);
}

/* In the midst of a call of roced. */
void act_in_midst(void) {
        if (acts_left == 0)
                return;
        acts_left--;
        if (chance(30))
                roced_kill();
        else if (chance(20))
                roced_reload();
        else
                actor_act();
}

static uint64_t spell_choose(void) {
        static const uint64_t spells[] = { 0, MSEC, 100 * MSEC, 2 * SEC, 15 * SEC, 70 * SEC, 400 * SEC };

        return spells[random_below(ELEMENTSOF(spells))];
}

static void step(void) {
        unsigned what = random_below(24);

        if (!roced.manager)
                roced_start();
        else if (what == 0)
                roced_kill();
        else if (what == 1)
                roced_stop();
        else if (what == 2)
                roced_reload();
        else
                actor_act();
        run_until(world.now_usec + random_below((unsigned) spell_choose() + 1));
}

/* Faults pass, and nobody else does anything any more. */
static void calm_down(void) {
        trace("world  calms down");
        world.calm = true;
        world.failing = -1;
        world.ignoring = false;
        world.fight.on = false;
        world_changed(ports_count() * 8 * _ATTRIBUTE_MAX);
        if (!world.mounted && !chance(4))
                configfs_mount(true);
        if (!world.loaded && !chance(4))
                module_load();
        if (!roced.manager)
                roced_start();
}

/* Nothing is left to do, and nothing is done: neither in the world nor in the journal, but for what is said of each
 * trouble anew. */
static void expect_quiet(void) {
        uint64_t told = n_told, serial = world.serial, writes = world.n_writes, jobs = roced.n_jobs,
                 spell_usec = 2 * RESYNC_USEC;
        unsigned troubles = expect_troubles(), devices = 0;
        uint64_t passes = spell_usec / (roced.manager->watch_error < 0 || roced.manager->deaf ? 48 * SEC : 480 * SEC) +
                          1;

        run_until(world.now_usec + spell_usec);
        for (const ModelDevice *device = world.devices; device < world.devices + DEVICES; device++)
                devices += device->there;
        if (world.serial != serial || world.n_writes != writes)
                violated("roced goes on changing the world");
        if (n_told - told > troubles * (spell_usec / STORY_REPEAT_USEC + 1))
                violated("%llu records of %u troubles in a quiet hour", (unsigned long long) (n_told - told),
                         troubles);
        if (roced.n_jobs - jobs > passes * (1 + NAMES + devices * 12))
                violated("%llu looks in a quiet hour", (unsigned long long) (roced.n_jobs - jobs));
}

void schedule_run(uint64_t seed, bool verbose) {
        uint64_t told = n_told;

        memory_count(true);
        world_begin(seed, verbose);
        acts_left = 24;
        roced_start();
        for (unsigned n = 4 + random_below(24); n > 0; n--)
                step();

        calm_down();
        if (world.n_lost == 0) {
                run_until(world.now_usec + CONVERGE_USEC);
                expect_settled("in calm");
        }
        run_until(world.now_usec + RESYNC_USEC + CONVERGE_USEC);
        expect_settled("after a resync");
        if (n_told - told > world.budget)
                violated("%llu records of no more than %llu changes", (unsigned long long) (n_told - told),
                         (unsigned long long) world.budget);
        expect_quiet();

        roced_stop();
        if (memory_live() != 0)
                violated("%li pieces of memory are not given back", memory_live());
        memory_count(false);
}
