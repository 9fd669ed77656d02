/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* When READY=1 may be said: with nothing left to judge, and the start with nothing that udev is still at. */

#include "answer.h"

void answer_expect(Answer *answer, uint64_t now_usec) {
        /* The start's answer is due at its own time, whatever is reloaded meanwhile. */
        if (answer->due && !answer->ready)
                return;
        answer->due = true;
        answer->by_usec = now_usec + ANSWER_USEC;
}

/* Units that wait for the start shall find the policy in force, so it waits for udev too; a reload changes nothing
 * about that. */
bool answer_is_due(const Answer *answer, const Manager *manager, uint64_t now_usec) {
        bool settled = manager_is_settled(manager, now_usec);

        if (!answer->due)
                return false;
        if (now_usec >= answer->by_usec)
                return true;
        if (answer->ready)
                return settled || manager->blocked;
        return settled && !manager_awaits_udev(manager);
}

bool answer_give(Answer *answer) {
        bool first = !answer->ready;

        answer->due = false;
        answer->ready = true;
        return first;
}
