/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory that runs out, and memory that is not given back. A sanitizer sees to the latter by itself, and has an
 * allocator of its own. */

#include "simulation.h"

#ifdef COUNT_MEMORY

#include "../unit/allocations.h"

void memory_count(bool on) {
        counting = on;
        n_live = 0;
}

long memory_live(void) {
        return n_live;
}

void memory_fail_after(unsigned n) {
        failed = false;
        fail_once = true;
        n_left = n;
}

bool memory_fail_end(void) {
        bool result = failed;

        n_left = -1;
        failed = false;
        return result;
}

#else

void memory_count(bool on) {
}

long memory_live(void) {
        return 0;
}

void memory_fail_after(unsigned n) {
}

bool memory_fail_end(void) {
        return false;
}

#endif
