/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which rules of a large policy can match a port at all, found without looking at each. Pure. */

#include <stdint.h>

#include "policy.h"

#define INDEX_KEYS_MAX 6
#define INDEX_PREFIX_MAX 16

/* Sets policy->index; 0 or -ENOMEM. A small policy gets none. */
int policy_index_build(Policy *policy);
PolicyIndex *policy_index_free(PolicyIndex *index);

/* Goes through the rules that are worth trying for a port, in order. */
typedef struct PolicyWalk {
        size_t next, n_rules; /* without index: all */
        size_t n_lists;
        struct {
                const uint32_t *rules; /* ascending */
                size_t n_rules;
        } lists[1 + INDEX_KEYS_MAX * (1 + INDEX_PREFIX_MAX)];
} PolicyWalk;

void policy_walk_begin(PolicyWalk *walk, const Policy *policy, const Device *device, const Port *port);
bool policy_walk_next(PolicyWalk *walk, size_t *ret_rule);

/* The value that patterns of a key are held against; NULL: absent, or not a text (port, property). */
const char *match_key_find_value(MatchKey key, const Device *device, const Port *port);
bool match_key_is_settled(MatchKey key, const Device *device, const Port *port);
