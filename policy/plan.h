/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From what a policy wants and what was found, to what to do and what to say. Pure: the one who looks and writes is
 * daemon/reconcile.c, and it asks here before and after each step. */

#include <stdbool.h>
#include <stddef.h>

#include "attribute.h"
#include "device.h"
#include "policy.h"

/* What stands of one attribute of one port. The words are part of the contract with users. */
typedef enum State {
        STATE_OK,          /* the kernel holds what the policy wants, read back */
        STATE_UNMANAGED,   /* no rule, or the rule does not set it */
        STATE_NOT_ROCE,    /* InfiniBand or iWARP port */
        STATE_PENDING,     /* cannot be judged or written yet */
        STATE_DRIFTED,     /* differs, and is left so: report only, or backing off */
        STATE_UNSUPPORTED, /* the port or the kernel cannot do it */
        STATE_UNKNOWN,     /* may not be looked at by the one who asks */
        STATE_FAILED,      /* refused, read back otherwise, or blocked */
        _STATE_MAX,
} State;

/* Why a state is what it is; reason_format() puts it into words. */
typedef enum Reason {
        REASON_NONE,
        REASON_NO_CONFIGFS,      /* pending */
        REASON_NO_RDMA_CM,       /* pending */
        REASON_NO_DEVICE,        /* pending: rdma_cm does not know the device (yet), or it has just gone */
        REASON_CHANGED_HANDS,    /* pending: its name passed to another device meanwhile */
        REASON_NOT_SETTLED,      /* pending: udev has not finished with it */
        REASON_WAITING,          /* pending: another kernel access blocks, this one's turn has not come */
        REASON_DUE,              /* drifted: a pass would write it, and the one who asks writes nothing */
        REASON_REPORT_ONLY,      /* drifted */
        REASON_BACKING_OFF,      /* drifted */
        REASON_NOT_IN_GIDS,      /* unsupported: the port's GIDs are all of the other version */
        REASON_MODE_REFUSED,     /* unsupported: EINVAL to a right text */
        REASON_NO_ATTRIBUTE,     /* unsupported: the kernel has no such file */
        REASON_NO_DIRECTORY,     /* unknown: there is none, and the one who asks makes none */
        REASON_NO_PERMISSION,    /* unknown: may not be read by the one who asks */
        REASON_REFUSED,          /* failed: errno at a step */
        REASON_SHORT_WRITE,      /* failed */
        REASON_READBACK_DIFFERS, /* failed */
        REASON_BLOCKED,          /* failed: an access has not returned for "blocked_sec" */
} Reason;

/* The step at which an errno came, in the order in which they are taken. */
typedef enum Step {
        STEP_NONE,
        STEP_ACQUIRE,   /* reading the device from sysfs */
        STEP_OPEN,      /* configfs, rdma_cm, the device's directory */
        STEP_MAKE,      /* mkdir */
        STEP_READ,
        STEP_WRITE,
        STEP_READ_BACK,
        STEP_REMOVE,    /* rmdir */
        _STEP_MAX,
} Step;

/* One attribute of one port: wanted, found, done. */
typedef struct Verdict {
        State state;
        Reason reason;
        Step step;     /* with an error: where it came */
        int error;     /* 0, or -errno */
        int wanted;    /* VALUE_NONE: left alone */
        int found;     /* before; VALUE_NONE: not known */
        int readback;  /* after a write; VALUE_NONE: no write, or not readable */
        unsigned blocked_sec;
        bool due;      /* a write is called for */
        bool tried;    /* a write was tried */
} Verdict;

/* What an attempt to look gave. */
typedef struct Look {
        Step step;
        int error;   /* 0: "value" counts */
        int value;
        unsigned support; /* set of Support, 0: not known; only asked for when the mode differs */
} Look;

/* What the one who asks may do, and what he remembers. */
typedef struct Stance {
        bool may_write;   /* false: plan, status */
        bool hold;        /* backing off from another writer */
        int refused_mode; /* the kernel answered EINVAL to this mode before; VALUE_NONE: to none */
} Stance;

/* Before any look: UNMANAGED, NOT_ROCE or PENDING where no look is needed; otherwise UNKNOWN, with "wanted" set, which calls for one. */
Verdict verdict_begin(Attribute attribute, const Port *port, MatchResult match, const Rule *rule);

/* Whether the verdict of verdict_begin() calls for a look. */
bool verdict_needs_look(const Verdict *verdict);

/* After the look: OK, a reason why not, or "due". */
void verdict_look(Verdict *verdict, Attribute attribute, const Rule *rule, const Look *look, const Stance *stance);

/* After the write ("write_error" 0 or -errno) and, if that went well, the read back. */
void verdict_conclude(Verdict *verdict, Attribute attribute, int write_error, const Look *readback);

/* What was found, or written and read back, may be another device's: the name has changed hands. */
void verdict_disown(Verdict *verdict);

const char *state_to_string(State state);
int state_from_string(const char *text); /* -EINVAL */

/* 1 compliant, 0 not, -1 not known. */
int state_is_compliant(State state);

const char *step_to_string(Step step);

#define REASON_TEXT_MAX 256

/* One line in words; NULL for REASON_NONE. */
const char *reason_format(const Verdict *verdict, Attribute attribute, char buffer[static REASON_TEXT_MAX]);
