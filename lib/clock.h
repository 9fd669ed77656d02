/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What time it is. */

#include <stdint.h>
#include <time.h>

uint64_t clock_usec(clockid_t clock);
