/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decides, port by port and attribute by attribute. Pure. */

#include "plan.h"

Verdict verdict_begin(Attribute attribute, const Port *port, MatchResult match, const Rule *rule) {
        Verdict verdict = { .wanted = VALUE_NONE, .found = VALUE_NONE, .readback = VALUE_NONE };

        if (!port->roce) {
                verdict.state = STATE_NOT_ROCE;
                return verdict;
        }

        if (match == MATCH_NOT_YET_KNOWN) {
                verdict.state = STATE_PENDING;
                verdict.reason = REASON_NOT_SETTLED;
                return verdict;
        }

        if (match == MATCH_YES)
                verdict.wanted = rule->wanted[attribute];
        verdict.state = verdict.wanted == VALUE_NONE ? STATE_UNMANAGED : STATE_UNKNOWN;
        return verdict;
}

bool verdict_needs_look(const Verdict *verdict) {
        return verdict->state == STATE_UNKNOWN;
}

static void verdict_set(Verdict *verdict, State state, Reason reason) {
        verdict->state = state;
        verdict->reason = reason;
}

/* What an errno means at the step where it came. */
static void verdict_set_error(Verdict *verdict, Step step, int error) {
        verdict->step = step;
        verdict->error = error;

        if (error == -ENOTCONN)
                verdict_set(verdict, STATE_PENDING, REASON_NO_CONFIGFS);
        else if (step == STEP_OPEN && error == -ENOENT)
                verdict_set(verdict, STATE_PENDING, REASON_NO_RDMA_CM);
        else if (error == -ENODEV)
                verdict_set(verdict, STATE_PENDING, REASON_NO_DEVICE);
        else if (error == -EMSGSIZE)
                verdict_set(verdict, STATE_FAILED, REASON_SHORT_WRITE);
        else
                verdict_set(verdict, STATE_FAILED, REASON_REFUSED);

        /* These say "not there", which the reason tells better than an errno. */
        if (verdict->state == STATE_PENDING || verdict->reason == REASON_SHORT_WRITE)
                verdict->error = 0;
}

/* Only texts that the kernel knows are written, so EINVAL has but this one cause. */
static void verdict_set_refused_mode(Verdict *verdict) {
        verdict_set(verdict, STATE_UNSUPPORTED, REASON_MODE_REFUSED);
        verdict->step = STEP_WRITE;
        verdict->error = -EINVAL;
}

static bool mode_is_excluded(int wanted, unsigned support) {
        return support != 0 && !(support & (wanted == ROCE_V1 ? SUPPORT_V1 : SUPPORT_V2));
}

void verdict_look(Verdict *verdict, Attribute attribute, const Rule *rule, const Look *look, const Stance *stance) {
        if (look->error == -ENOENT && look->step == STEP_READ) {
                verdict_set(verdict, STATE_UNSUPPORTED, REASON_NO_ATTRIBUTE);
                return;
        }
        if (look->error < 0) {
                verdict_set_error(verdict, look->step, look->error);
                return;
        }

        verdict->found = look->value;
        if (look->value == verdict->wanted) {
                verdict_set(verdict, STATE_OK, REASON_NONE);
                return;
        }

        /* A write tells for sure; where none is due the GIDs must do. */
        if (attribute == ATTRIBUTE_MODE && stance->refused_mode == verdict->wanted)
                verdict_set_refused_mode(verdict);
        else if (rule->enforcement == ENFORCEMENT_ENFORCE && stance->may_write) {
                verdict_set(verdict, STATE_DRIFTED, stance->hold ? REASON_BACKING_OFF : REASON_DUE);
                verdict->due = !stance->hold;
        } else if (attribute == ATTRIBUTE_MODE && mode_is_excluded(verdict->wanted, look->support))
                verdict_set(verdict, STATE_UNSUPPORTED, REASON_NOT_IN_GIDS);
        else {
                verdict->due = rule->enforcement == ENFORCEMENT_ENFORCE;
                verdict_set(verdict, STATE_DRIFTED, verdict->due ? REASON_DUE : REASON_REPORT_ONLY);
        }
}

void verdict_conclude(Verdict *verdict, Attribute attribute, int write_error, const Look *readback) {
        verdict->due = false;
        verdict->tried = true;

        if (write_error < 0) {
                if (write_error == -EINVAL && attribute == ATTRIBUTE_MODE)
                        verdict_set_refused_mode(verdict);
                else
                        verdict_set_error(verdict, STEP_WRITE, write_error);
        }

        if (readback->error == 0)
                verdict->readback = readback->value;
        if (write_error < 0)
                return;

        if (readback->error < 0)
                verdict_set_error(verdict, STEP_READ_BACK, readback->error);
        else if (readback->value != verdict->wanted)
                verdict_set(verdict, STATE_FAILED, REASON_READBACK_DIFFERS);
        else
                verdict_set(verdict, STATE_OK, REASON_NONE);
}

void verdict_disown(Verdict *verdict) {
        verdict_set(verdict, STATE_PENDING, REASON_CHANGED_HANDS);
        verdict->error = 0;
        verdict->due = false;
}

static const char *const state_table[_STATE_MAX] = {
        [STATE_OK] = "ok",
        [STATE_UNMANAGED] = "unmanaged",
        [STATE_NOT_ROCE] = "not-roce",
        [STATE_PENDING] = "pending",
        [STATE_DRIFTED] = "drifted",
        [STATE_UNSUPPORTED] = "unsupported",
        [STATE_UNKNOWN] = "unknown",
        [STATE_FAILED] = "failed",
};

const char *state_to_string(State state) {
        return state_table[state];
}

int state_from_string(const char *text) {
        for (int state = 0; state < _STATE_MAX; state++)
                if (streq(state_table[state], text))
                        return state;
        return -EINVAL;
}

int state_is_compliant(State state) {
        switch (state) {
        case STATE_OK:
        case STATE_UNMANAGED:
        case STATE_NOT_ROCE:
                return 1;
        case STATE_UNKNOWN:
                return -1;
        default:
                return 0;
        }
}

const char *step_to_string(Step step) {
        static const char *const table[_STEP_MAX] = {
                [STEP_NONE] = "access",
                [STEP_ACQUIRE] = "reading the device",
                [STEP_OPEN] = "opening the directory",
                [STEP_MAKE] = "mkdir",
                [STEP_READ] = "read",
                [STEP_WRITE] = "write",
                [STEP_READ_BACK] = "reading back",
                [STEP_REMOVE] = "rmdir",
        };

        return table[step];
}

static const char *error_hint(const Verdict *verdict) {
        switch (verdict->error) {
        case -EROFS:
        case -EACCES:
        case -EPERM:
                return "; is " "/sys/kernel/config writable for the service?";
        case -ENOTDIR:
                return "; rdma_cm's directory is not configfs";
        case -EBADMSG:
                return "; the kernel's text is no value of this attribute";
        default:
                return "";
        }
}

const char *reason_format(const Verdict *verdict, Attribute attribute, char buffer[static REASON_TEXT_MAX]) {
        char wanted[ATTRIBUTE_TEXT_MAX], found[ATTRIBUTE_TEXT_MAX], readback[ATTRIBUTE_TEXT_MAX];

        attribute_format(attribute, verdict->wanted, wanted);
        attribute_format(attribute, verdict->found, found);
        attribute_format(attribute, verdict->readback, readback);
        buffer[0] = 0;

        switch (verdict->reason) {
        case REASON_NONE:
                return NULL;
        case REASON_NO_CONFIGFS:
                return strcpy(buffer, "configfs is not mounted at /sys/kernel/config");
        case REASON_NO_RDMA_CM:
                return strcpy(buffer, "rdma_cm is not loaded");
        case REASON_NO_DEVICE:
                return strcpy(buffer, "rdma_cm does not know the device (yet)");
        case REASON_CHANGED_HANDS:
                return strcpy(buffer, "its name passed to another device meanwhile; looking again");
        case REASON_NOT_SETTLED:
                return strcpy(buffer, "udev has not finished with the device");
        case REASON_WAITING:
                return strcpy(buffer, "waits while another access to the kernel blocks");
        case REASON_DUE:
                return strcpy(buffer, "a pass would write it");
        case REASON_REPORT_ONLY:
                return strcpy(buffer, "the rule only reports");
        case REASON_BACKING_OFF:
                return strcpy(buffer, "another program keeps writing; backing off");
        case REASON_NOT_IN_GIDS:
                snprintf(buffer, REASON_TEXT_MAX, "the port has no RoCE %s GID, only %s", wanted,
                         verdict->wanted == ROCE_V1 ? "v2" : "v1");
                return buffer;
        case REASON_MODE_REFUSED:
                snprintf(buffer, REASON_TEXT_MAX, "the port cannot do RoCE %s, the kernel refused it", wanted);
                return buffer;
        case REASON_NO_ATTRIBUTE:
                snprintf(buffer, REASON_TEXT_MAX, "this kernel has no %s", attribute_file(attribute));
                return buffer;
        case REASON_NO_DIRECTORY:
                return strcpy(buffer, "the device has no directory in configfs, and only root or the daemon makes one");
        case REASON_NO_PERMISSION:
                return strcpy(buffer, "no permission to look");
        case REASON_REFUSED:
                snprintf(buffer, REASON_TEXT_MAX, "%s: %s%s", step_to_string(verdict->step), strerror(-verdict->error),
                         error_hint(verdict));
                return buffer;
        case REASON_SHORT_WRITE:
                return strcpy(buffer, "the kernel took only a part of the write");
        case REASON_READBACK_DIFFERS:
                snprintf(buffer, REASON_TEXT_MAX, "wrote %s and read back %s", wanted, readback);
                return buffer;
        case REASON_BLOCKED:
                snprintf(buffer, REASON_TEXT_MAX, "%s has blocked in the kernel for %u s", step_to_string(verdict->step),
                         verdict->blocked_sec);
                return buffer;
        }

        return NULL;
}
