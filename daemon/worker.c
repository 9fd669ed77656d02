/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A thread, a slot for a job, and an eventfd that says when it is done. */

#include "worker.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

struct Worker {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        int fd;
        Job *todo; /* under the lock, as are these two */
        Job *done;
        bool busy;
        bool quit;
};

static void *worker_main(void *argument) {
        Worker *worker = argument;

        pthread_mutex_lock(&worker->lock);
        for (;;) {
                Job *job;

                while (!worker->todo && !worker->quit)
                        pthread_cond_wait(&worker->wake, &worker->lock);
                if (worker->quit)
                        break;
                job = TAKE_PTR(worker->todo);
                worker->busy = true;

                pthread_mutex_unlock(&worker->lock);
                job_run(job);
                pthread_mutex_lock(&worker->lock);

                worker->busy = false;
                worker->done = job;
                (void) eventfd_write(worker->fd, 1);
        }
        pthread_mutex_unlock(&worker->lock);
        return NULL;
}

/* Signals are the main thread's: the worker may be where no signal reaches it. */
static int thread_start(Worker *worker) {
        sigset_t all, saved;
        int r;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &saved);
        r = pthread_create(&worker->thread, NULL, worker_main, worker);
        pthread_sigmask(SIG_SETMASK, &saved, NULL);
        return -r;
}

int worker_new(Worker **ret) {
        Worker *worker;
        int r;

        worker = calloc(1, sizeof(Worker));
        if (!worker)
                return -ENOMEM;
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->wake, NULL);

        worker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        r = worker->fd < 0 ? -errno : thread_start(worker);
        if (r < 0) {
                fd_close(worker->fd);
                free(worker);
                return r;
        }

        *ret = worker;
        return 0;
}

Worker *worker_free(Worker *worker) {
        bool stuck;

        if (!worker)
                return NULL;

        pthread_mutex_lock(&worker->lock);
        stuck = worker->busy || worker->todo;
        worker->quit = true;
        pthread_cond_signal(&worker->wake);
        pthread_mutex_unlock(&worker->lock);
        if (stuck)
                return NULL;

        pthread_join(worker->thread, NULL);
        fd_close(worker->fd);
        job_free(worker->done);
        pthread_cond_destroy(&worker->wake);
        pthread_mutex_destroy(&worker->lock);
        free(worker);
        return NULL;
}

int worker_get_fd(const Worker *worker) {
        return worker->fd;
}

void worker_submit(Worker *worker, Job *job) {
        pthread_mutex_lock(&worker->lock);
        worker->todo = job;
        pthread_cond_signal(&worker->wake);
        pthread_mutex_unlock(&worker->lock);
}

Job *worker_collect(Worker *worker) {
        eventfd_t count;
        Job *job;

        (void) eventfd_read(worker->fd, &count);
        pthread_mutex_lock(&worker->lock);
        job = TAKE_PTR(worker->done);
        pthread_mutex_unlock(&worker->lock);
        return job;
}
