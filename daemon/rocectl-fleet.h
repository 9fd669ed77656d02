/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Many hosts, from what "status --json" wrote on each, grouped by what counts for who reaches whom. */

#include <stdbool.h>
#include <stddef.h>

#include "rocectl-reach.h"

/* Of the ports of a kind so many are named. */
#define FLEET_NAMES_MAX 4

/* The ports of one kind in the hosts of one state. */
typedef struct FleetPorts {
        unsigned kind;
        char *names[FLEET_NAMES_MAX]; /* "mlx5_0/1", each name once */
        size_t n_names;
        bool more; /* there are other names too */
} FleetPorts;

typedef struct FleetState {
        KindSet kinds;
        FleetPorts *ports; /* ascending by kind */
        size_t n_ports;
        char **hosts; /* in the order of the files */
        size_t n_hosts;
} FleetState;

typedef struct Fleet {
        FleetState *states; /* those of most hosts first */
        size_t n_states;
        size_t n_hosts;
} Fleet;

/* Reads all files, "-" is standard input; a host of the name "except" (may be NULL) is left out. Gives an
 * exit code; each file that cannot be taken has been named, and there is no fleet then. */
int fleet_read(char **files, const char *except, Fleet *ret);
void fleet_done(Fleet *fleet);

/* "mlx5_0/1, mlx5_1/1 and others"; allocated. */
char *fleet_ports_names(const FleetPorts *ports);

/* VALUE_NONE for anything but "v1" and "v2". */
int mode_from_text(const char *text);

/* "v1, v2" of a set of Support, or "none". */
const char *support_text(unsigned support);
