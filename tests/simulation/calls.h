/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What roced asks of the world, and what each call may end in besides the truth. */

#include "world.h"

typedef enum Call {
        CALL_OPEN_RDMA_CM,
        CALL_OPEN,
        CALL_CHECK,
        CALL_MAKE,
        CALL_MADE, /* after the mkdir */
        CALL_REMOVE,
        CALL_HAS_PORT,
        CALL_READ,
        CALL_READ_OPENED, /* between open and read */
        CALL_WRITE,
        CALL_WRITE_OPENED,
        CALL_WATCH,
        CALL_LIST,
        CALL_ACQUIRE,
        CALL_INSTANCE,
        CALL_SUPPORT,
        CALL_LEFTOVERS,
        CALL_RECORD,
        CALL_RECORD_READ,
        _CALL_MAX,
} Call;

/* Comes before each call takes effect, where others act and time passes. 0, or the -errno that it is to fail with. */
int world_call(Call call, int name);

/* Whether a write is to be taken and to have no effect. */
bool world_ignores(void);

/* A result, with its trace. */
int call_told(Call call, int name, int result);

const char *call_to_string(Call call);

/* model-configfs.c: of the directory that is open. */
uint64_t fd_inode(int fd);

/* simulation.c: what happens meanwhile, on roced's main thread and elsewhere. */
void act_in_midst(void);
void main_thread_turn(void);
