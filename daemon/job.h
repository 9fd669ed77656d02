/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A piece of work that touches sysfs or configfs. One runs at a time; it owns all it needs, so whoever runs it shares nothing but
 * "progress" with whoever waits for it. */

#include "reconcile.h"

typedef enum JobType {
        JOB_LIST,      /* which devices are there, which directories are ours */
        JOB_RECONCILE, /* one device */
        JOB_REMOVE,    /* all directories that are ours */
} JobType;

typedef struct Job {
        JobType type;
        char *name;
        Policy *policy;
        uint64_t instance; /* that "memory" is about */
        uint64_t announced_instance;
        uint64_t leftover;
        PortMemory *memory;
        size_t n_memory;
        int inotify_fd;
        uint64_t started_usec; /* monotonic; set by the one who hands it out */
        Progress progress;

        /* Results. */
        int error;
        char **names;
        size_t n_invalid;
        char **owned;
        Leftover *leftovers;
        size_t n_leftovers;
        DeviceReport *report;
        int n_left; /* directories that could not be removed */
} Job;

Job *job_new(JobType type, const char *name, Policy *policy);
Job *job_free(Job *job);
DEFINE_CLEANUP(Job *, job_free)

/* Does the work, here and now; may block for ever. */
void job_run(Job *job);
