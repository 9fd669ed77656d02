/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shared by reconcile.c (the device and its attributes) and reconcile-directory.c (its directory in configfs). */

#include "reconcile.h"

/* What one call holds open, and how opening it went. */
typedef struct Directory {
        int rdma_cm_fd;
        int fd;
        Step step;
        int error;
        bool needed; /* a port has something to look at */
        bool made;   /* by this call */
} Directory;

/* For whoever waits for the call. */
void progress_set(const ReconcileRequest *request, Step step, unsigned port, int attribute);

/* Opens the device's directory, or makes it if it is needed and may be made. The caller keeps the result in "error". */
int directory_open(const ReconcileRequest *request, const Device *device, Directory *directory);

/* After an access that found nothing: whether another program had removed the directory, and it could be opened or made anew, so
 * that the access is worth another try. */
bool directory_recover(const ReconcileRequest *request, const Device *device, Directory *directory, int error);

/* Removes a directory that was made in passing, or one of ours that nothing needs any more. */
void directory_tidy(const ReconcileRequest *request, const Directory *directory, DeviceReport *report);

void directory_done(Directory *directory);
