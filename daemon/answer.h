/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* READY=1: due once after the start and once after each reload. Decides when it may be said, and says nothing. */

#include "manager.h"

/* READY=1 comes after the first whole pass, or after this with a STATUS that says what hangs; likewise after a reload.
 */
#define ANSWER_USEC (10 * USEC_PER_SEC)

typedef struct Answer {
        bool ready; /* READY=1 has been said */
        bool due;   /* READY=1 is due, of start or reload */
        uint64_t by_usec;
} Answer;

/* Start, or a reload. */
void answer_expect(Answer *answer, uint64_t now_usec);

/* Whether it is to be said now. */
bool answer_is_due(const Answer *answer, const Manager *manager, uint64_t now_usec);

/* It is being said. True for the first time, that of the start. */
bool answer_give(Answer *answer);
