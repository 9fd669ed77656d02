/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One device, from looking to reading back: the one path that start-up, hotplug, drift, reload, resync and the tool's verbs all take.
 * Touches the world and so may block; the daemon runs it on its worker. */

#include <stdatomic.h>
#include <stdint.h>

#include "plan.h"
#include "policy.h"

typedef enum ReconcileFlags {
        RECONCILE_MAKE = 1 << 0,      /* make a directory that is needed and missing */
        RECONCILE_WRITE = 1 << 1,     /* write what differs */
        RECONCILE_TRANSIENT = 1 << 2, /* remove again a directory that this call made */
} ReconcileFlags;

/* What the caller remembers of a port, to be respected while the device is the same instance. */
typedef struct PortMemory {
        unsigned port;
        int refused_mode;          /* the kernel answered EINVAL to it; VALUE_NONE: to none */
        unsigned refused_support;  /* what the GIDs showed then */
        bool watched;
        bool hold[_ATTRIBUTE_MAX]; /* backing off from another writer */
} PortMemory;

/* Where a call stands, readable from another thread while it runs. */
typedef struct Progress {
        _Atomic uint64_t begun_usec; /* monotonic: of the access under way; 0: none yet */
        _Atomic Step step;
        _Atomic unsigned port;     /* 0: the device as a whole */
        _Atomic int attribute;     /* an Attribute, or -1 */
        _Atomic(const Device *) device; /* what was read of it; valid until the call returns; NULL: nothing yet */
} Progress;

typedef struct ReconcileRequest {
        const char *name;
        Policy *policy; /* NULL: no policy, nothing is managed */
        ReconcileFlags flags;
        uint64_t instance; /* that "memory" is about */
        uint64_t leftover;           /* stamp of a database entry that is not the device's; 0: none */
        uint64_t announced_instance; /* udev has given it its name, whatever its database says; 0: none */
        const PortMemory *memory;
        size_t n_memory;
        int inotify_fd;     /* watches are set on what was looked at; negative: none */
        Progress *progress; /* may be NULL */
} ReconcileRequest;

typedef struct PortReport {
        unsigned number;
        const Rule *rule; /* the winner, or the one that the search stopped at; borrowed from the report's policy; NULL: none */
        MatchResult match;
        Verdict verdicts[_ATTRIBUTE_MAX];
        unsigned support; /* set of Support as seen in its GIDs; only looked at when the mode differs */
        int watch; /* inotify watch descriptor of ports/<n>; -1: none */
} PortReport;

/* What one call found and did. Owns its device, and holds its policy. */
typedef struct DeviceReport {
        char *name;
        Policy *policy;
        Device *device; /* NULL: there is no such device, "ports" is empty then */
        PortReport *ports;
        size_t n_ports;
        uint64_t leftover; /* without a device: stamp of the database entry that bears its name still, 0: none */
        bool directory; /* there is one in configfs now */
        bool changed_hands; /* the name passed to another device meanwhile: judge again */
        int watch_error;    /* 0, or why a watch could not be set */
        Step error_step;    /* of "error" */
        int error;          /* the device could not be read, or its directory not removed: -errno */
} DeviceReport;

DeviceReport *device_report_free(DeviceReport *report);
DEFINE_CLEANUP(DeviceReport *, device_report_free)

/* A report before any look at configfs: rules found, verdicts begun. Takes the device over, which may be NULL. Pure. */
int device_report_begin(const char *name, Policy *policy, Device *device, DeviceReport **ret);

/* Always gives a report unless out of memory: what failed is in it. */
int reconcile_device(const ReconcileRequest *request, DeviceReport **ret);

/* Removes all directories on record as ours. Gives the number that could not be removed, or -errno. */
int reconcile_remove_directories(void);
