/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's clocks in µs. */

#include "clock.h"

#include "base.h"

uint64_t clock_usec(clockid_t clock) {
        struct timespec time;

        (void) clock_gettime(clock, &time);
        return (uint64_t) time.tv_sec * USEC_PER_SEC + (uint64_t) time.tv_nsec / 1000;
}
