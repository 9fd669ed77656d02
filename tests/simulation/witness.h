/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Watches what a job does to the world, and holds it and its report against what is allowed. */

#include "job.h"
#include "world.h"

void witness_begin(const Job *job);
void witness_end(const Job *job);

/* The calls, as they take effect. */
void witness_acquired(const ModelDevice *device,
                      uint64_t stamp); /* a snapshot was taken, when udevd's entry had this stamp */
void witness_identity(int name, uint64_t instance);
void witness_looked(int name);            /* at the directory of that name */
void witness_owned(int name, bool owned); /* as roced's record says */
void witness_read(int name, unsigned port, Attribute attribute, int value);
void witness_write(int name, unsigned port, Attribute attribute, int value);
/* Gives whether the directory is roced's own. */
bool witness_make(int name);
void witness_remove(int name);
void witness_recorded(int name);

/* model-device.c: what a snapshot of the device says, as roced would get it. */
Device *device_snapshot(const ModelDevice *device, bool settled);
