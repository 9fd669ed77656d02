/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A rule that names its devices in full by some key (its anchor) is worth trying for those devices only.
 * Rules are sorted by a hash of anchor and value; a port's own values give the few lists to merge. Only a
 * filter: rule_match() has the last word, so that colliding hashes do no harm. */

#include <ctype.h>

#include "policy-index.h"

#define INDEX_RULES_MIN 16U

/* The most telling first. */
static const MatchKey anchors[INDEX_KEYS_MAX] = {
        MATCH_NODE_GUID, MATCH_PCI, MATCH_DEVICE, MATCH_NETDEV, MATCH_PCI_ID, MATCH_DRIVER,
};

typedef struct Entry {
        uint64_t hash;
        uint32_t rule;
} Entry;

struct PolicyIndex {
        unsigned keys; /* set of 1 << MatchKey that serve as anchors */
        size_t n_entries;
        uint64_t *hashes; /* ascending, and of the same hash ascending by rule */
        uint32_t *rules;  /* of the entry with the same number */
        uint32_t *others; /* rules without anchor */
        size_t n_others;
};

PolicyIndex *policy_index_free(PolicyIndex *index) {
        if (!index)
                return NULL;

        free(index->hashes);
        free(index->rules);
        free(index->others);
        free(index);
        return NULL;
}

DEFINE_CLEANUP(PolicyIndex *, policy_index_free)

/* FNV-1a, case apart: some keys are compared so. */
static uint64_t value_hash(MatchKey key, const char *value) {
        uint64_t hash = (14695981039346656037ULL ^ key) * 1099511628211ULL;

        for (; *value; value++)
                hash = (hash ^ (unsigned char) tolower((unsigned char) *value)) * 1099511628211ULL;
        return hash;
}

static size_t rule_count_values(const PatternList *patterns) {
        size_t n = 0;

        for (size_t i = 0; i < patterns->n_items; i++) {
                if (patterns->items[i].negated)
                        continue;
                if (!patterns->items[i].literal)
                        return 0;
                n++;
        }
        return n;
}

static MatchKey rule_find_anchor(const Rule *rule) {
        for (size_t i = 0; i < INDEX_KEYS_MAX; i++)
                if (rule_count_values(rule->keys + anchors[i]) > 0)
                        return anchors[i];
        return _MATCH_KEY_MAX;
}

static int entry_compare(const void *a, const void *b) {
        const Entry *x = a, *y = b;

        if (x->hash != y->hash)
                return x->hash < y->hash ? -1 : 1;
        return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static size_t index_count_entries(const Policy *policy) {
        size_t n = 0;

        for (size_t i = 0; i < policy->n_rules; i++) {
                MatchKey key = rule_find_anchor(policy->rules + i);

                if (key != _MATCH_KEY_MAX)
                        n += rule_count_values(policy->rules[i].keys + key);
        }
        return n;
}

static void index_fill(PolicyIndex *index, const Policy *policy, Entry *entries) {
        size_t n = 0;

        for (size_t i = 0; i < policy->n_rules; i++) {
                MatchKey key = rule_find_anchor(policy->rules + i);
                const PatternList *patterns;

                if (key == _MATCH_KEY_MAX) {
                        index->others[index->n_others++] = (uint32_t) i;
                        continue;
                }

                index->keys |= 1U << key;
                patterns = policy->rules[i].keys + key;
                for (size_t k = 0; k < patterns->n_items; k++)
                        if (!patterns->items[k].negated)
                                entries[n++] = (Entry) { value_hash(key, patterns->items[k].text),
                                                        (uint32_t) i };
        }

        qsort(entries, n, sizeof(Entry), entry_compare);
        for (size_t i = 0; i < n; i++) {
                index->hashes[i] = entries[i].hash;
                index->rules[i] = entries[i].rule;
        }
        index->n_entries = n;
}

int policy_index_build(Policy *policy) {
        _cleanup_(policy_index_freep) PolicyIndex *index = NULL;
        _cleanup_free_ Entry *entries = NULL;
        size_t n;

        if (policy->n_rules < INDEX_RULES_MIN)
                return 0;

        n = index_count_entries(policy);
        if (n == 0)
                return 0;

        index = calloc(1, sizeof(PolicyIndex));
        entries = calloc(n, sizeof(Entry));
        if (!index || !entries)
                return -ENOMEM;

        index->hashes = calloc(n, sizeof(uint64_t));
        index->rules = calloc(n, sizeof(uint32_t));
        index->others = calloc(policy->n_rules, sizeof(uint32_t));
        if (!index->hashes || !index->rules || !index->others)
                return -ENOMEM;

        index_fill(index, policy, entries);
        policy->index = TAKE_PTR(index);
        return 0;
}

/* The first entry whose hash is not below. */
static size_t index_find(const PolicyIndex *index, uint64_t hash) {
        size_t low = 0, high = index->n_entries;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (index->hashes[middle] < hash)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static void walk_add(PolicyWalk *walk, const uint32_t *rules, size_t n_rules) {
        if (n_rules == 0)
                return;
        walk->lists[walk->n_lists].rules = rules;
        walk->lists[walk->n_lists].n_rules = n_rules;
        walk->n_lists++;
}

void policy_walk_begin(PolicyWalk *walk, const Policy *policy, const Device *device, const Port *port) {
        const PolicyIndex *index = policy->index;

        walk->next = walk->n_rules = walk->n_lists = 0;

        /* Rules that hang on a value not yet known must all be seen. */
        for (size_t i = 0; index && i < INDEX_KEYS_MAX; i++)
                if ((index->keys & 1U << anchors[i]) && !match_key_is_settled(anchors[i], device, port))
                        index = NULL;
        if (!index) {
                walk->n_rules = policy->n_rules;
                return;
        }

        walk_add(walk, index->others, index->n_others);
        for (size_t i = 0; i < INDEX_KEYS_MAX; i++) {
                const char *value = index->keys & 1U << anchors[i]
                                                    ? match_key_find_value(anchors[i], device, port)
                                                    : NULL;
                size_t first, n = 0;
                uint64_t hash;

                if (!value)
                        continue;
                hash = value_hash(anchors[i], value);
                first = index_find(index, hash);
                while (first + n < index->n_entries && index->hashes[first + n] == hash)
                        n++;
                walk_add(walk, index->rules + first, n);
        }
}

bool policy_walk_next(PolicyWalk *walk, size_t *ret_rule) {
        size_t nearest = SIZE_MAX;

        if (walk->next < walk->n_rules) {
                *ret_rule = walk->next++;
                return true;
        }

        for (size_t i = 0; i < walk->n_lists; i++)
                if (walk->lists[i].n_rules > 0)
                        nearest = MIN_OF(nearest, (size_t) walk->lists[i].rules[0]);
        if (nearest == SIZE_MAX)
                return false;

        for (size_t i = 0; i < walk->n_lists; i++)
                while (walk->lists[i].n_rules > 0 && walk->lists[i].rules[0] == nearest) {
                        walk->lists[i].rules++;
                        walk->lists[i].n_rules--;
                }

        *ret_rule = nearest;
        return true;
}
