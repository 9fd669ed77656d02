/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which directories in configfs are roced's own, remembered over a crash. Each has a small file in /run/roced/made, written before the
 * mkdir (an intent) and completed after it with the directory's inode: a directory that someone else removed and made again under the
 * same name is then seen to be theirs. What cannot be written is remembered as long as the process lives. All functions return negative
 * errno, and are for one thread. */

#include "device.h"

#define OWNERSHIP_PATH "/run/roced/made"

/* Says that the directory is about to be made. */
int ownership_intend(const char *name);

/* Says which directory it became. */
int ownership_confirm(const char *name, int directory_fd);

/* 1: the directory behind the fd is ours, 0: it is someone else's. */
int ownership_check(const char *name, int directory_fd);

/* The directory is gone, or was never made. No record is no error. */
int ownership_forget(const char *name);

/* Names on record, sorted, to be freed with names_free(). */
int ownership_names_acquire(char ***ret_names);
