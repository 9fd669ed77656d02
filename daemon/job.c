/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs jobs. Knows no loop and no thread. */

#include "job.h"

#include "ownership.h"

Job *job_new(JobType type, const char *name, Policy *policy) {
        _cleanup_(job_freep) Job *job = NULL;

        job = calloc(1, sizeof(Job));
        if (!job)
                return NULL;
        job->type = type;
        job->inotify_fd = -EBADF;
        job->policy = policy_ref(policy);
        if (name && !(job->name = strdup(name)))
                return NULL;
        return TAKE_PTR(job);
}

Job *job_free(Job *job) {
        if (!job)
                return NULL;

        free(job->name);
        policy_unref(job->policy);
        free(job->memory);
        names_free(job->names);
        names_free(job->owned);
        leftovers_free(job->leftovers, job->n_leftovers);
        device_report_free(job->report);
        free(job);
        return NULL;
}

static int run_list(Job *job) {
        int r;

        r = leftovers_acquire(&job->leftovers, &job->n_leftovers);
        if (r < 0)
                return r;
        r = device_names_acquire(&job->names, &job->n_invalid);
        if (r < 0)
                return r;
        return ownership_names_acquire(&job->owned);
}

static int run_reconcile(Job *job) {
        ReconcileRequest request = {
                .name = job->name,
                .policy = job->policy,
                .flags = RECONCILE_MAKE | RECONCILE_WRITE,
                .instance = job->instance,
                .announced_instance = job->announced_instance,
                .leftover = job->leftover,
                .memory = job->memory,
                .n_memory = job->n_memory,
                .inotify_fd = job->inotify_fd,
                .progress = &job->progress,
        };

        return reconcile_device(&request, &job->report);
}

void job_run(Job *job) {
        switch (job->type) {
        case JOB_LIST:
                job->error = run_list(job);
                break;
        case JOB_RECONCILE:
                job->error = run_reconcile(job);
                break;
        case JOB_REMOVE:
                job->n_left = reconcile_remove_directories();
                if (job->n_left < 0)
                        job->error = job->n_left;
                break;
        }
}
