/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The one thread that touches sysfs and configfs, where any access may block for ever. It runs one job at a time. */

#include "job.h"

typedef struct Worker Worker;

int worker_new(Worker **ret);

/* Ends the thread if it is idle. One that is stuck in the kernel cannot be ended: its memory is left to the process's end. */
Worker *worker_free(Worker *worker);
DEFINE_CLEANUP(Worker *, worker_free)

/* Readable when a job is done. */
int worker_get_fd(const Worker *worker);

/* Hands a job over. There must be none under way. */
void worker_submit(Worker *worker, Job *job);

/* The finished job, to be owned by the caller; NULL: none is finished. */
Job *worker_collect(Worker *worker);
