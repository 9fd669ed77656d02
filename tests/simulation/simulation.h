/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A schedule: roced in its world, from a seed to the end. */

#include "answer.h"
#include "world.h"

/* The daemon, as far as its logic goes: what roced.c and events.c drive. */
typedef struct Roced {
        Manager *manager; /* NULL: it does not run */
        Answer answer;
        bool in_job, stopping;
        uint64_t started, reloaded; /* serials */
        uint64_t n_jobs;
} Roced;

extern Roced roced;

/* roced.c */
void roced_start(void);
void roced_kill(void);
void roced_stop(void);
void roced_reload(void);
void roced_run(void); /* until nothing is due at this time */
Now now_acquire(void);

/* actors.c: somebody else does something. */
void actor_act(void);
void actor_strike(void);

/* expect.c: all that roced says is true, and all that its policy wants is so. */
void expect_settled(const char *when);
void expect_ready(void);
void expect_reloaded(void);
void expect_stopped(void);
unsigned expect_troubles(void); /* attributes that are not as they should be */

/* policies.c */
#define POLICIES 14
void policies_load(void);
void policies_free(void);
Policy *policy_choose(void); /* borrowed; NULL: none */

/* memory.c: allocations that fail once, after a while, and what was not freed. */
void memory_count(bool on);
long memory_live(void);
void memory_fail_after(unsigned n);
bool memory_fail_end(void); /* whether one has failed */

/* model-log.c */
extern uint64_t n_told, n_told_changed;

/* schedule.c */
void world_catch_up(void);
void run_until(uint64_t usec);
void schedule_run(uint64_t seed, bool verbose);
