/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The moment of each call into the world: time passes, others act, and the call may fail. */

#include "calls.h"

#define ERRORS_MAX 10

/* A fault may call for a record of each attribute of a device, and for another one when it has passed. */
#define RECORDS_OF_FAULT (4 * PORTS * _ATTRIBUTE_MAX + 4)

/* What would not be true is not among them: a device that is not there, an attribute that the kernel lacks, a mode
 * that the port cannot do. */
static const struct {
        const char *name;
        int errors[ERRORS_MAX];
} table[_CALL_MAX] = {
        [CALL_OPEN_RDMA_CM] = { "open rdma_cm", { EMFILE, ENOMEM, EACCES, EIO } },
        [CALL_OPEN] = { "open", { EMFILE, ENOMEM, EACCES, EIO } },
        [CALL_CHECK] = { "check", { ENOMEM, EIO } },
        [CALL_MAKE] = { "mkdir", { ENOMEM, EROFS, EACCES, ENOSPC, EIO } },
        [CALL_MADE] = { "look into the made one", { EMFILE, ENOMEM } },
        [CALL_REMOVE] = { "rmdir", { EBUSY, EROFS, EACCES, ENOMEM, EIO } },
        [CALL_HAS_PORT] = { "look for a port", { ENOMEM, EACCES, EIO } },
        [CALL_READ] = { "read", { EMFILE, ENOMEM, EACCES, EIO } },
        [CALL_READ_OPENED] = { "read", { EIO, EINVAL, EBADMSG } },
        [CALL_WRITE] = { "write", { EMFILE, ENOMEM, EACCES, EROFS, EIO } },
        [CALL_WRITE_OPENED] = { "write", { EIO, EBUSY, EMSGSIZE, ENOMEM } },
        [CALL_WATCH] = { "watch", { ENOSPC, ENOMEM, EMFILE } },
        [CALL_LIST] = { "list", { EMFILE, ENOMEM, EIO } },
        [CALL_ACQUIRE] = { "acquire", { EMFILE, ENOMEM, EACCES, EIO } },
        [CALL_INSTANCE] = { "identity", { ENOMEM, EIO } },
        [CALL_SUPPORT] = { "GIDs", { EMFILE, ENOMEM, EIO } },
        [CALL_LEFTOVERS] = { "leftovers", { ENOMEM } },
        [CALL_RECORD] = { "record", { ENOSPC, EROFS, EMFILE, EIO } },
        [CALL_RECORD_READ] = { "read the record", { EMFILE, ENOMEM, EIO } },
};

const char *call_to_string(Call call) {
        return table[call].name;
}

static int fault_choose(Call call) {
        unsigned n = 0;

        while (n < ERRORS_MAX && table[call].errors[n] != 0)
                n++;
        return -table[call].errors[random_below(n)];
}

static int fault(Call call, int error) {
        world.n_faults++;
        world_changed(RECORDS_OF_FAULT);
        trace("         %s is made to fail: %s", call_to_string(call), strerror(-error));
        return error;
}

/* Nothing can be learned of the dead, and nothing that they do counts. */
int world_call(Call call, int name) {
        bool record = call == CALL_RECORD || call == CALL_RECORD_READ;

        world.n_calls++;
        world.call = (int) call;
        if (world.dead)
                return -EIO;

        world.now_usec += random_below(40);
        if (!world.calm && chance(world.rough.block)) {
                world.now_usec += 4 * SEC + random_below(20 * SEC);
                trace("         %s blocks for a while", call_to_string(call));
                world_changed(RECORDS_OF_FAULT);
                main_thread_turn();
        } else if (chance(world.rough.turn))
                main_thread_turn();
        if (!world.calm && !world.acting && chance(world.rough.midst)) {
                world.acting = true;
                act_in_midst();
                world.acting = false;
        }
        if (world.dead)
                return -EIO;

        if (world.calm)
                return 0;
        if (world.failing == (int) call)
                return fault(call, world.failing_error);
        if (chance(record ? world.rough.record : world.rough.fault))
                return fault(call, fault_choose(call));
        return 0;
}

bool world_ignores(void) {
        if (world.calm || (!world.ignoring && !chance(world.rough.fault)))
                return false;
        trace("         the write is made to have no effect");
        world.n_faults++;
        world_changed(RECORDS_OF_FAULT);
        return true;
}

int call_told(Call call, int name, int result) {
        if (world.dead)
                return result;
        if (result < 0)
                trace("         %s %s: %s", call_to_string(call), name >= 0 ? model_names[name] : "",
                      strerrorname_np(-result));
        else
                trace("         %s %s: %i", call_to_string(call), name >= 0 ? model_names[name] : "", result);
        return result;
}
