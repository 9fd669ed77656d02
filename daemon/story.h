/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What became of one attribute of one port over time: when its state began, what has been told of it, and how often another program
 * has changed it. Turns verdicts into journal records, each thing once. */

#include "reconcile.h"

/* Why a device is looked at; named in the record. */
typedef enum Trigger {
        TRIGGER_STARTUP,
        TRIGGER_HOTPLUG,
        TRIGGER_RENAME,
        TRIGGER_RDMA_CM,
        TRIGGER_RELOAD,
        TRIGGER_DRIFT,
        TRIGGER_RESYNC,
        TRIGGER_APPLY,
        _TRIGGER_MAX,
} Trigger;

const char *trigger_to_string(Trigger trigger);

typedef struct Now {
        uint64_t monotonic_usec;
        uint64_t realtime_usec;
} Now;

/* A state that lasts is told again this often, with a count. */
#define STORY_REPEAT_USEC (3600 * USEC_PER_SEC)

/* Pending is the way of things at first, and worth a warning after this. */
#define STORY_LATE_USEC (30 * USEC_PER_SEC)

/* Back-off from another writer: this many repairs at once, then 1 s, 2 s, 4 s … up to the longest hold between two repairs. A quiet
 * spell after the last repair or hold begins anew. */
#define STORY_FREE_REPAIRS 3
#define STORY_HOLD_MAX_USEC (60 * USEC_PER_SEC)
#define STORY_QUIET_USEC (60 * USEC_PER_SEC)

typedef struct Story {
        bool begun;
        Verdict last;
        uint64_t since_usec;           /* realtime: begin of this state */
        uint64_t since_monotonic_usec; /* the same moment */
        uint64_t told_usec;            /* monotonic: last record */
        unsigned untold;               /* same trouble since then */
        bool late_told;
        unsigned repairs;
        uint64_t repaired_usec;        /* monotonic */
        uint64_t hold_until_usec;      /* monotonic; 0: no hold */
} Story;

/* What a record needs to know of its port. */
typedef struct StoryContext {
        const DeviceReport *report;
        const PortReport *port;
        Attribute attribute;
        Trigger trigger;
        bool new_instance; /* the device has been registered anew since the last verdict: its values are the kernel's defaults */
        Now now;
} StoryContext;

/* Takes the next verdict in and sends the record that it calls for, if any. True: the state, or what is shown of it, has changed. */
bool story_update(Story *story, const Verdict *verdict, const StoryContext *context);

/* Warns of what has been pending for long. Gives the monotonic time at which to ask again; UINT64_MAX: no need. */
uint64_t story_check_late(Story *story, const StoryContext *context);
