/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* lib/ownership.h on the model: what roced writes down of its directories, which outlives it. */

#include "calls.h"
#include "ownership.h"
#include "witness.h"

/* What cannot be written is kept in memory. A file may have been made for it all the same. */
static void record_put(int name, int error, ModelRecord record) {
        if (world.dead)
                return;
        world.kept[name].there = false;
        if (error == 0)
                world.records[name] = record;
        else {
                world.kept[name] = record;
                if (chance(2) && !world.records[name].there)
                        world.records[name] = (ModelRecord){ .there = true, .broken = true };
        }
}

int ownership_intend(const char *device) {
        int name = name_find(device), r = world_call(CALL_RECORD, name);
        ModelDirectory *directory = world.directories + name;

        witness_recorded(name);
        record_put(name, r, (ModelRecord){ .there = true, .changed_ns = (int64_t) world.now_usec * 1000 });
        /* Made by another within the same tick of the clock. */
        if (directory->made_ns >= (int64_t) world.now_usec * 1000)
                directory->disputed = !directory->ours;
        return call_told(CALL_RECORD, name, r);
}

int ownership_confirm(const char *device, int directory_fd) {
        int name = name_find(device), r = world_call(CALL_RECORD, name);

        record_put(name, r, (ModelRecord){ .there = true, .inode = fd_inode(directory_fd) });
        return call_told(CALL_RECORD, name, r);
}

int ownership_check(const char *device, int directory_fd) {
        int name = name_find(device), r = world_call(CALL_RECORD_READ, name);
        const ModelDirectory *directory = world.directories + name;
        const ModelRecord *record = record_of(name);

        if (r < 0 && (world.dead || !world.kept[name].there))
                return call_told(CALL_RECORD_READ, name, r);
        if (!record->there || record->broken)
                r = 0;
        else if (record->inode != 0)
                r = record->inode == fd_inode(directory_fd);
        else
                r = directory->inode == fd_inode(directory_fd) && directory->made_ns >= record->changed_ns;
        witness_owned(name, r > 0);
        return call_told(CALL_RECORD_READ, name, r);
}

int ownership_forget(const char *device) {
        int name = name_find(device), r = world_call(CALL_RECORD, name);

        if (!world.dead)
                world.kept[name].there = false;
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
                if (record_of(name)->there && !(names[n++] = strdup(model_names[name])))
                        return -ENOMEM;
        if (r == 0)
                *ret_names = TAKE_PTR(names);
        return call_told(CALL_RECORD_READ, NO_NAME, r);
}
