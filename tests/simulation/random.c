/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one source of chance: a schedule is its seed. */

#include "world.h"

/* splitmix64 */
uint64_t random_next(void) {
        uint64_t z = world.random += 0x9e3779b97f4a7c15;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
}

unsigned random_below(unsigned n) {
        return (unsigned) ((random_next() >> 32) * n >> 32);
}

bool chance(unsigned one_in) {
        return one_in > 0 && random_below(one_in) == 0;
}
