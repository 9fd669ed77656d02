/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Faults a test asks for: on which access, how often, and what then happens. */

#pragma once

#include <stdbool.h>

#include "model.h"

typedef enum Operation {
        OPERATION_MKDIR,
        OPERATION_RMDIR,
        OPERATION_LOOKUP,               /* of a device's directory, and of ports/ in it */
        OPERATION_OPEN,
        OPERATION_READ,
        OPERATION_WRITE,
        OPERATION_FLUSH,
        _OPERATION_MAX,
} Operation;

typedef enum Action {
        ACTION_NONE,
        ACTION_ERRNO,                   /* answer with that error, do nothing */
        ACTION_IGNORE,                  /* say that all was written, keep the old value */
        ACTION_SHORT,                   /* say that half was written, keep the old value */
        ACTION_LIE,                     /* read that text */
        ACTION_BLOCK,                   /* hold the kernel's lock until released */
        ACTION_DELAY,                   /* hold the kernel's lock for so many milliseconds */
        ACTION_VANISH,                  /* the device goes first, its directory stays */
        ACTION_RMDIR,                   /* somebody removes the directory first */
        _ACTION_MAX,
} Action;

typedef struct Where {
        Operation operation;
        const char *device;
        unsigned port;
        int attribute;                  /* -1: none */
} Where;

typedef struct Effect {
        Action action;
        int number;
        char text[128];
} Effect;

const char *operation_name(Operation o);

/* "OPERATION DEVICE PORT ATTRIBUTE SKIP COUNT ACTION [ARGUMENT]": * stands for any, COUNT -1 is for ever. */
int fault_add(const char *line);
void fault_clear(void);
void fault_clear_blocks(void);

/* Counts the access and tells what is to happen to it. */
Effect fault_take(const Where *w);
