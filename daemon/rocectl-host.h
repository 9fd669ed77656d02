/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is known of the host, and by whom: the devices that are there, and what the running daemon, or a look
 * of our own, says of each. */

#include <json-c/json.h>

#include "reconcile.h"
#include "rocectl-policy.h"

typedef struct HostDevice {
        char *name;
        const Device *device; /* NULL: cannot be read */
        Device *own;          /* released with the entry; NULL where the report has it */
        DeviceReport *report; /* NULL: the daemon is the one to ask */
        int error;            /* 0, or -errno */
} HostDevice;

typedef struct Host {
        HostDevice *devices; /* sorted by name */
        size_t n_devices;
        size_t n_invalid;   /* devices whose names no path can hold */
        int running;        /* 1: the daemon runs, 0: it does not, negative: cannot be told */
        bool ask_daemon;    /* its word counts, not a look of our own */
        json_object *state; /* its state; NULL: it has told none yet */
        Judge judge;        /* what a look of our own judges by */
} Host;

/* An exit code; what went wrong has been said. */
int host_acquire(const Options *options, Host *host);
void host_done(Host *host);

/* Loads what the daemon would load now; nothing, where that cannot be told. As judge_load(). */
bool host_load_policy(const Host *host, Judge *judge);

/* What is said of devices that are left out for their names; allocated. */
char *invalid_names_text(size_t n);

/* What only root may look at is not known to others, and no failure. */
void report_excuse(DeviceReport *report);

/* Adds "mode", "tos" and "rule" of a port. */
void host_add_verdicts(const Host *host, const Device *device, const Port *port, json_object *object);

/* The document's "policy", "daemon" and "warnings". */
json_object *host_policy(const Host *host);
json_object *host_daemon(const Host *host);
json_object *host_warnings(const Host *host);
