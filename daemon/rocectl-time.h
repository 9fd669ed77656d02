/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Points in time as people write them. Pure but for the time zone. */

#include <stdint.h>

/* "now", "today", "yesterday"; "2026-01-31", with " 13:00" or " 13:00:59" after it; "13:00" of today; a spell ago, as
 * "-1h 30min" or "2 days ago"; "@1769817600". A "T" may stand for the space, fractions of a second are taken, and
 * times are local unless "Z" or " UTC" follows. "now_usec" and the result are realtime, in µs. -EINVAL: it is none of
 * these, or no such day. */
int time_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec);
