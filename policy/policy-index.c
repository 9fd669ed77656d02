/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A rule that says of some key (its anchor) how the value reads, or how it begins, is worth trying for the devices
 * with such a value only. Rules are put into buckets by a hash of key and text; a port's own values give the few
 * buckets to merge. Only a filter: rule_match() has the last word, so that what shares a bucket by chance does no
 * harm. */

#include <ctype.h>

#include "policy-index.h"

#define INDEX_RULES_MIN 16U

/* The most telling first: which device it is, in full or by its beginning, goes before which kind. */
static const struct {
        MatchKey key;
        bool literal;
} anchors[] = {
        { MATCH_NODE_GUID, true },  { MATCH_PCI, true },    { MATCH_DEVICE, true },  { MATCH_NETDEV, true },
        { MATCH_NODE_GUID, false }, { MATCH_PCI, false },   { MATCH_DEVICE, false }, { MATCH_NETDEV, false },
        { MATCH_PCI_ID, true },     { MATCH_DRIVER, true }, { MATCH_PCI_ID, false }, { MATCH_DRIVER, false },
};

typedef struct Entry {
        uint32_t bucket, rule;
} Entry;

struct PolicyIndex {
        unsigned keys;                    /* set of 1 << MatchKey that serve as anchors */
        unsigned lengths[_MATCH_KEY_MAX]; /* of each, set of 1 << length of beginnings; 1 << 0: values in full */
        uint32_t mask;                    /* how many buckets there are, less one */
        uint32_t *starts;                 /* of bucket i, in "rules"; one more at the end */
        uint32_t *rules;                  /* ascending in each bucket */
        uint32_t *others;                 /* rules without anchor */
        size_t n_others;
};

PolicyIndex *policy_index_free(PolicyIndex *index) {
        if (!index)
                return NULL;

        free(index->starts);
        free(index->rules);
        free(index->others);
        free(index);
        return NULL;
}

DEFINE_CLEANUP(PolicyIndex *, policy_index_free)

/* Of the first "length" characters of a text, or of all if that is 0. FNV-1a, case apart, as some keys are compared. */
static uint32_t text_bucket(const PolicyIndex *index, MatchKey key, const char *text, size_t length) {
        uint64_t hash = (14695981039346656037ULL ^ ((size_t) key * (INDEX_PREFIX_MAX + 1) + length)) * 1099511628211ULL;

        for (size_t i = 0; length > 0 ? i < length : text[i] != 0; i++)
                hash = (hash ^ (unsigned char) tolower((unsigned char) text[i])) * 1099511628211ULL;
        return (uint32_t) (hash ^ hash >> 32) & index->mask;
}

/* How much of what it matches is given, up to a limit; 0: all of it if it is a literal, else nothing. */
static size_t pattern_prefix(const Pattern *pattern) {
        return pattern->literal ? 0 : MIN_OF(strcspn(pattern->text, "*?[\\"), (size_t) INDEX_PREFIX_MAX);
}

/* How many plain patterns there are, if each can serve. */
static size_t patterns_count_anchors(const PatternList *patterns, bool literal) {
        size_t n = 0;

        for (size_t i = 0; i < patterns->n_items; i++) {
                const Pattern *pattern = patterns->items + i;

                if (pattern->negated)
                        continue;
                if (!pattern->literal && (literal || pattern_prefix(pattern) == 0))
                        return 0;
                n++;
        }
        return n;
}

static MatchKey rule_find_anchor(const Rule *rule, size_t *ret_n) {
        for (size_t i = 0; i < ELEMENTSOF(anchors); i++) {
                *ret_n = patterns_count_anchors(rule->keys + anchors[i].key, anchors[i].literal);
                if (*ret_n > 0)
                        return anchors[i].key;
        }
        return _MATCH_KEY_MAX;
}

static void index_add_rule(PolicyIndex *index, const Policy *policy, uint32_t rule, Entry *entries,
                           size_t *n_entries) {
        const PatternList *patterns;
        MatchKey key;
        size_t n;

        key = rule_find_anchor(policy->rules + rule, &n);
        if (n == 0) {
                index->others[index->n_others++] = rule;
                return;
        }

        index->keys |= 1U << key;
        patterns = policy->rules[rule].keys + key;
        for (size_t i = 0; i < patterns->n_items; i++) {
                size_t length = pattern_prefix(patterns->items + i);

                if (patterns->items[i].negated)
                        continue;
                index->lengths[key] |= 1U << length;
                entries[(*n_entries)++] = (Entry){ text_bucket(index, key, patterns->items[i].text, length), rule };
        }
}

/* Counting sort, which leaves the rules of a bucket in order. */
static void index_fill(PolicyIndex *index, const Entry *entries, size_t n_entries) {
        for (size_t i = 0; i < n_entries; i++)
                index->starts[entries[i].bucket + 1]++;
        for (size_t i = 0; i <= index->mask; i++)
                index->starts[i + 1] += index->starts[i];
        for (size_t i = n_entries; i-- > 0;)
                index->rules[--index->starts[entries[i].bucket + 1]] = entries[i].rule;
        /* Now each bucket's start stands one too far. */
        memmove(index->starts, index->starts + 1, (index->mask + 1) * sizeof(uint32_t));
        index->starts[index->mask + 1] = (uint32_t) n_entries;
}

int policy_index_build(Policy *policy) {
        _cleanup_(policy_index_freep) PolicyIndex *index = NULL;
        _cleanup_free_ Entry *entries = NULL;
        size_t n_entries = 0, n = 0, n_anchors;

        if (policy->n_rules < INDEX_RULES_MIN)
                return 0;

        for (size_t i = 0; i < policy->n_rules; i++)
                if (rule_find_anchor(policy->rules + i, &n_anchors) != _MATCH_KEY_MAX)
                        n += n_anchors;
        if (n == 0)
                return 0;

        index = calloc(1, sizeof(PolicyIndex));
        entries = calloc(n, sizeof(Entry));
        if (!index || !entries)
                return -ENOMEM;

        while (index->mask < 2 * n)
                index->mask = index->mask << 1 | 1;
        index->starts = calloc((size_t) index->mask + 2, sizeof(uint32_t));
        index->rules = calloc(n, sizeof(uint32_t));
        index->others = calloc(policy->n_rules, sizeof(uint32_t));
        if (!index->starts || !index->rules || !index->others)
                return -ENOMEM;

        for (size_t i = 0; i < policy->n_rules; i++)
                index_add_rule(index, policy, (uint32_t) i, entries, &n_entries);
        index_fill(index, entries, n_entries);
        policy->index = TAKE_PTR(index);
        return 0;
}

static void walk_add(PolicyWalk *walk, const uint32_t *rules, size_t n_rules) {
        if (n_rules == 0)
                return;
        walk->lists[walk->n_lists].rules = rules;
        walk->lists[walk->n_lists].n_rules = n_rules;
        walk->n_lists++;
}

static void walk_add_value(PolicyWalk *walk, const PolicyIndex *index, MatchKey key, const char *value) {
        size_t size = strlen(value);

        for (size_t length = 0; length <= MIN_OF(size, (size_t) INDEX_PREFIX_MAX); length++) {
                uint32_t bucket;

                if (!(index->lengths[key] & 1U << length))
                        continue;
                bucket = text_bucket(index, key, value, length);
                walk_add(walk, index->rules + index->starts[bucket],
                         index->starts[bucket + 1] - index->starts[bucket]);
        }
}

void policy_walk_begin(PolicyWalk *walk, const Policy *policy, const Device *device, const Port *port) {
        const PolicyIndex *index = policy->index;

        walk->next = walk->n_rules = walk->n_lists = 0;

        /* Rules that hang on a value not yet known must all be seen. */
        for (MatchKey key = 0; index && key < _MATCH_KEY_MAX; key++)
                if ((index->keys & 1U << key) && !match_key_is_settled(key, device, port))
                        index = NULL;
        if (!index) {
                walk->n_rules = policy->n_rules;
                return;
        }

        walk_add(walk, index->others, index->n_others);
        for (MatchKey key = 0; key < _MATCH_KEY_MAX; key++) {
                const char *value = index->keys & 1U << key ? match_key_find_value(key, device, port) : NULL;

                if (value)
                        walk_add_value(walk, index, key, value);
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
