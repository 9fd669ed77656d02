/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the running daemon leaves in /run/roced: the lock of the one writer, and its state for rocectl. */

#include <json-c/json.h>

#include "base.h"

#define RUNTIME_PATH "/run/roced"
#define LOCK_PATH RUNTIME_PATH "/lock"
#define STATE_PATH RUNTIME_PATH "/state.json"

/* Takes the lock; it lasts as long as the fd. Makes the directory if need be, and removes the state of the last
 * holder. -EBUSY: another process holds it. */
int runtime_lock(void);

/* Gives it up, and -EBADF to be assigned back. A negative fd is none. */
int runtime_unlock(int fd);

/* 1: a process holds the lock, 0: none does. Asks without taking it, so it never gets into a writer's way; any user may. */
int runtime_is_locked(void);

/* Gives one device after the other, to be released by the caller. 1: this one, 0: there is no other, or -errno. */
typedef int (*StateDevice)(void *userdata, json_object **ret);

/* Replaces the state by rename; mode 0644 whatever the umask. "devices" is added to it as it is written, so that of thousands of devices
 * one at a time needs memory. */
int runtime_write_state(json_object *state, StateDevice next, void *userdata);

/* -ENOENT: there is none. -EBADMSG: it is not a state of a schema that we know. */
int runtime_read_state(json_object **ret);

void runtime_remove_state(void);
