/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is there, what is dirty, what to do next and when: the daemon's only mutable state. Level-triggered: an event carries no
 * instruction, it marks a device dirty, and one job reads it anew and converges. Neither does input or output nor knows a clock or loop:
 * whoever drives it passes events and the time in, runs the jobs it hands out, and gives them back. */

#include "job.h"
#include "policy-load.h"
#include "story.h"

#define MANAGER_RESYNC_USEC (600 * USEC_PER_SEC)
#define MANAGER_RESYNC_UNWATCHED_USEC (60 * USEC_PER_SEC)

/* Retries of what is pending or failed: doubling from the first to the last, begun anew by any event about the device. At the last
 * spell what is pending is left to events and the resync, and what has failed is tried again and again. */
#define MANAGER_RETRY_MIN_USEC (100 * USEC_PER_MSEC)
#define MANAGER_RETRY_MAX_USEC (60 * USEC_PER_SEC)

/* Rules that match nothing here: so many are told of and shown one by one, the others are counted. */
#define MANAGER_WARNINGS_MAX 32

/* A burst of this many writes is summed up when nothing was written for a while. */
#define MANAGER_BURST_CHANGES 32
#define MANAGER_BURST_QUIET_USEC USEC_PER_SEC

/* An access that takes this long is reported as blocked. */
#define MANAGER_BLOCKED_USEC (5 * USEC_PER_SEC)

typedef struct PortEntry {
        unsigned number;
        int refused_mode; /* of this instance; VALUE_NONE: none */
        unsigned refused_support;
        int watch;        /* inotify watch descriptor; -1: none */
        unsigned touched; /* set of 1 << Attribute: written while a job looked at it, by that job or by another program */
        Story stories[_ATTRIBUTE_MAX];
} PortEntry;

typedef struct DeviceEntry {
        char *name;
        bool dirty;
        Trigger trigger;     /* of the mark */
        Trigger job_trigger; /* of the job under way, or of the last one */
        uint64_t not_before_usec; /* when dirty: not to be looked at earlier */
        unsigned retries;
        bool touched; /* a watch that the job under way has set may have spoken */
        uint64_t announced_instance; /* udev is about to announce it: its name is final; 0: none */
        DeviceReport *report; /* the last one; NULL: not judged yet */
        int told_error;       /* of the device as a whole */
        uint64_t told_error_usec;
        unsigned untold_errors;
        PortEntry *ports;
        size_t n_ports;
} DeviceEntry;

/* One more than the largest errno that is counted by itself. */
#define COUNTERS_ERRNO_MAX 134

/* Since the daemon's start; they only grow. */
typedef struct Counters {
        uint64_t writes; /* tried, whatever came of it */
        uint64_t drifts; /* values that were verified and were found changed at the next look */
        uint64_t failures[COUNTERS_ERRNO_MAX]; /* by errno; 0: without one, such as a read-back that differs */
} Counters;

typedef struct Manager {
        Policy *policy;        /* NULL: none */
        DeviceEntry **entries; /* sorted by name */
        size_t n_entries;
        size_t n_allocated;
        size_t cursor; /* where the search for the next dirty entry begins */
        int inotify_fd;

        Leftover *leftovers; /* as of the last listing, and what has gone since */
        size_t n_leftovers;

        bool list_wanted;
        Trigger list_trigger;
        uint64_t list_not_before_usec;
        unsigned list_failures; /* in a row */
        bool listed; /* once at least */
        size_t n_invalid_told;

        Job *running; /* in the hands of whoever runs it */
        bool blocked;           /* it has been reported as blocked */
        uint64_t blocked_usec;  /* monotonic: since when */

        uint64_t resync_usec; /* monotonic: next; 0: none planned */
        uint64_t last_pass_usec; /* realtime: when nothing was left to do last; 0: never */
        bool in_pass; /* something was handed out since */
        unsigned burst_changes;  /* values written since it was last quiet */
        uint64_t burst_end_usec; /* monotonic: quiet then, if nothing more is written; 0: is quiet */
        Counters counters;
        bool deaf; /* nobody announces devices: the resync comes more often */
        int watch_error;      /* last one told */
        bool changed;         /* what the state file shows has changed since manager_take_changed() */
        bool lint_due;
        Messages warnings; /* rules that match nothing here */
        uint64_t random;   /* for the jitter */
} Manager;

int manager_new(int inotify_fd, uint64_t seed, Manager **ret);
Manager *manager_free(Manager *manager);
DEFINE_CLEANUP(Manager *, manager_free)

/* Events. A whole pass lists the devices and looks at each. "now" is monotonic, in µs, as everywhere here. */
void manager_set_policy(Manager *manager, Policy *policy, Trigger trigger);
void manager_mark_all(Manager *manager, Trigger trigger);
void manager_mark(Manager *manager, const char *name, Trigger trigger);
/* udev has finished with this instance of the device, though its database may not say so yet. */
void manager_mark_announced(Manager *manager, const char *name, uint64_t instance, Trigger trigger);
void manager_mark_watch(Manager *manager, int watch);
/* Likewise, where the event tells which attributes were written, as a set of 1 << Attribute. */
void manager_mark_attributes(Manager *manager, int watch, unsigned attributes);
/* A network device has come, gone or changed: matters to rules by netdev, and to ports that are not as they should be. */
void manager_mark_netdev(Manager *manager, Trigger trigger);

/* Drift cannot be watched for: one warning, and the resync comes more often. */
void manager_set_unwatched(Manager *manager, int error);

/* The next job, or NULL: one is running, or nothing is due at this time. */
Job *manager_next_job(Manager *manager, uint64_t now_usec);

/* Takes a finished job back and frees it. */
void manager_job_done(Manager *manager, Job *job, Now now);

/* Whatever is due by the clock alone: blocked accesses, late ports, the resync. */
void manager_tick(Manager *manager, Now now);

/* When to call manager_tick() and manager_next_job() again, at the latest; UINT64_MAX: no need. */
uint64_t manager_deadline(const Manager *manager);

/* Nothing runs and nothing is due: all devices have been judged, and what is left waits for a retry or an event. */
bool manager_is_settled(const Manager *manager, uint64_t now_usec);

/* A port waits for udev to finish with its device, which an event will tell. */
bool manager_awaits_udev(const Manager *manager);

/* Likewise for one device. One that is not there has been judged. */
bool manager_is_judged(const Manager *manager, const char *name, uint64_t now_usec);

/* Whether what is shown to others has changed since the last call. */
bool manager_take_changed(Manager *manager);

/* Counts over all ports, and for how long the running access has blocked in whole seconds (0: not). */
typedef struct Summary {
        unsigned devices;
        unsigned ports; /* RoCE */
        unsigned compliant;
        unsigned by_state[_STATE_MAX]; /* of ports: the worse of its attributes' */
        char worst[192];               /* the first port that is not compliant, and why; empty: none */
} Summary;

void manager_summarize(const Manager *manager, Summary *ret);
/* For how long the access under way has not returned. */
uint64_t manager_access_usec(const Manager *manager, uint64_t now_usec);
unsigned manager_blocked_sec(const Manager *manager, uint64_t now_usec);

/* "write of default_roce_tos of mlx5_0 port 1" */
void progress_format(const Job *job, size_t size, char *ret);
