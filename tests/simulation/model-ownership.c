/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* lib/ownership.h on the model: what roced writes down of its directories, which outlives it. */

#include "calls.h"
#include "ownership.h"
#include "witness.h"

int ownership_intend(const char *device) {
        int name = name_find(device), r = world_call(CALL_RECORD, name);

        witness_recorded(name);
        world.record_failed[name] = r < 0;
        if (r == 0) {
                world.records[name] = (ModelRecord){ .there = true, .changed_ns = (int64_t) world.now_usec * 1000 };
                /* Made by another within the same tick of the clock. */
                if (world.directories[name].made_ns >= world.records[name].changed_ns)
                        world.directories[name].disputed = !world.directories[name].ours;
        } else if (!world.dead && chance(2) && !world.records[name].there) /* an empty file */
                world.records[name] = (ModelRecord){ .there = true, .broken = true };
        return call_told(CALL_RECORD, name, r);
}

int ownership_confirm(const char *device, int directory_fd) {
        int name = name_find(device), r = world_call(CALL_RECORD, name);

        if (r == 0) {
                world.records[name] = (ModelRecord){ .there = true, .inode = fd_inode(directory_fd) };
                if (world.directories[name].inode == fd_inode(directory_fd))
                        world.directories[name].unrecorded = false;
        }
        return call_told(CALL_RECORD, name, r);
}

int ownership_check(const char *device, int directory_fd) {
        int name = name_find(device), r = world_call(CALL_RECORD_READ, name);
        const ModelRecord *record = world.records + name;
        const ModelDirectory *directory = world.directories + name;

        if (r == 0 && record->there && !record->broken)
                r = record->inode != 0 ? record->inode == fd_inode(directory_fd)
                                       : directory->inode == fd_inode(directory_fd) &&
                                                         directory->made_ns >= record->changed_ns;
        witness_owned(name, r > 0);
        return call_told(CALL_RECORD_READ, name, r);
}

int ownership_forget(const char *device) {
        int name = name_find(device), r = world_call(CALL_RECORD, name);

        if (r == 0)
                world.records[name].there = false;
        return call_told(CALL_RECORD, name, r);
}

int ownership_names_acquire(char ***ret_names) {
        _cleanup_(names_freep) char **names = calloc(NAMES + 1, sizeof(char *));
        int r = world_call(CALL_RECORD_READ, NO_NAME);
        size_t n = 0;

        if (!names)
                return -ENOMEM;
        for (int name = 0; r == 0 && name < NAMES; name++)
                if (world.records[name].there && !(names[n++] = strdup(model_names[name])))
                        return -ENOMEM;
        if (r == 0)
                *ret_names = TAKE_PTR(names);
        return call_told(CALL_RECORD_READ, NO_NAME, r);
}
