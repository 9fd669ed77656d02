/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the file system's threads and the control thread share, all of it under the one lock. */

#pragma once

#include <pthread.h>
#include <stdio.h>

#include "fault.h"
#include "model.h"
#include "tree.h"

typedef struct Fake {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        Model model;
        Node *root, *config, *rdma_cm;
        bool have_tos;
        bool hung;                      /* somebody holds the kernel's lock */
        unsigned long n_released;       /* how often blocked ones were let go */
        unsigned long n_logged;
        FILE *log;
} Fake;

extern Fake fake;

void log_access(pid_t pid, const Where *w, const char *text, const char *result);
void log_result(pid_t pid, const Where *w, const char *text, int r);

/* What the test wants to happen to the device or its directory just before. */
void effect_on_model(const Effect *e, const char *device);

/* Waits for the kernel's lock as every access does, and lets happen to this one what the test asked for. */
Effect access_begin(pid_t pid, const Where *w);

int control_start(const char *path);
