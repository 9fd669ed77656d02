/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which rule wins for a port. Knows no files, no YAML and no kernel. */

#include <fnmatch.h>
#include <strings.h>

#include "arena.h"
#include "policy-index.h"
#include "policy.h"

Policy *policy_ref(Policy *policy) {
        if (policy)
                __atomic_add_fetch(&policy->n_ref, 1, __ATOMIC_RELAXED);
        return policy;
}

Policy *policy_unref(Policy *policy) {
        if (!policy || __atomic_sub_fetch(&policy->n_ref, 1, __ATOMIC_ACQ_REL) > 0)
                return NULL;

        if (policy->files)
                for (char **file = policy->files; *file; file++)
                        free(*file);
        free(policy->files);
        free(policy->rules);
        policy_index_free(policy->index);
        arena_free(policy->memory);
        free(policy);
        return NULL;
}

const char *match_key_to_string(MatchKey key) {
        static const char *const table[_MATCH_KEY_MAX] = {
                [MATCH_DEVICE] = "device", [MATCH_PORT] = "port",         [MATCH_DRIVER] = "driver",
                [MATCH_PCI] = "pci",       [MATCH_PCI_ID] = "pci_id",     [MATCH_NODE_GUID] = "node_guid",
                [MATCH_NETDEV] = "netdev", [MATCH_FUNCTION] = "function", [MATCH_PROPERTY] = "property",
        };

        return table[key];
}

const char *enforcement_to_string(Enforcement enforcement) {
        return enforcement == ENFORCEMENT_ENFORCE ? "enforce" : "report";
}

static bool key_folds_case(MatchKey key) {
        return key == MATCH_PCI || key == MATCH_PCI_ID || key == MATCH_NODE_GUID;
}

static bool pattern_matches(const Pattern *pattern, const char *value, bool fold) {
        if (pattern->literal)
                return fold ? strcasecmp(pattern->text, value) == 0 : streq(pattern->text, value);

        return fnmatch(pattern->text, value, fold ? FNM_CASEFOLD : 0) == 0;
}

/* A value that is absent (NULL) matches no pattern, so that only a list of nothing but negated ones takes
 * it. */
static bool patterns_match(const PatternList *patterns, const char *value, bool fold) {
        bool plain = false, hit = false;

        for (size_t i = 0; i < patterns->n_items; i++) {
                const Pattern *pattern = patterns->items + i;

                plain |= !pattern->negated;
                if (!value || (hit && !pattern->negated) || !pattern_matches(pattern, value, fold))
                        continue;
                if (pattern->negated)
                        return false;
                hit = true;
        }

        return hit || !plain;
}

static bool ports_match(const PatternList *patterns, unsigned number) {
        bool plain = false, hit = false;

        for (size_t i = 0; i < patterns->n_items; i++) {
                if (patterns->items[i].port == number) {
                        if (patterns->items[i].negated)
                                return false;
                        hit = true;
                }
                plain |= !patterns->items[i].negated;
        }

        return hit || !plain;
}

const char *match_key_find_value(MatchKey key, const Device *device, const Port *port) {
        switch (key) {
        case MATCH_DEVICE:
                return device->name;
        case MATCH_DRIVER:
                return device->driver;
        case MATCH_PCI:
                return device->pci;
        case MATCH_PCI_ID:
                return device->pci_id;
        case MATCH_NODE_GUID:
                return device->node_guid;
        case MATCH_NETDEV:
                return port->netdev;
        case MATCH_FUNCTION:
                return function_to_string(device->function);
        default:
                return NULL;
        }
}

bool match_key_is_settled(MatchKey key, const Device *device, const Port *port) {
        switch (key) {
        case MATCH_DEVICE:
                return device->settled;
        case MATCH_PROPERTY:
                return device->has_database;
        case MATCH_NETDEV:
                return device->settled && port->netdev_settled;
        default:
                return true;
        }
}

static bool properties_match(const Rule *rule, const Device *device) {
        for (size_t i = 0; i < rule->n_properties; i++)
                if (!patterns_match(&rule->properties[i].patterns,
                                    device_find_property(device, rule->properties[i].name), false))
                        return false;
        return true;
}

MatchResult rule_match(const Rule *rule, const Device *device, const Port *port, MatchKey *ret_key) {
        MatchKey unsettled = _MATCH_KEY_MAX;

        for (MatchKey key = 0; key < _MATCH_KEY_MAX; key++) {
                const PatternList *patterns = rule->keys + key;
                bool matches;

                if (key == MATCH_PROPERTY ? rule->n_properties == 0 : patterns->n_items == 0)
                        continue;

                if (!match_key_is_settled(key, device, port)) {
                        if (unsettled == _MATCH_KEY_MAX)
                                unsettled = key;
                        continue;
                }

                if (key == MATCH_PROPERTY)
                        matches = properties_match(rule, device);
                else if (key == MATCH_PORT)
                        matches = ports_match(patterns, port->number);
                else
                        matches = patterns_match(patterns, match_key_find_value(key, device, port),
                                                 key_folds_case(key));

                if (!matches) {
                        if (ret_key)
                                *ret_key = key;
                        return MATCH_NO;
                }
        }

        if (unsettled == _MATCH_KEY_MAX)
                return MATCH_YES;
        if (ret_key)
                *ret_key = unsettled;
        return MATCH_NOT_YET_KNOWN;
}

MatchResult policy_find_rule(const Policy *policy, const Device *device, const Port *port,
                             const Rule **ret_rule) {
        PolicyWalk walk;
        size_t i;

        policy_walk_begin(&walk, policy, device, port);
        while (policy_walk_next(&walk, &i)) {
                MatchResult result = rule_match(policy->rules + i, device, port, NULL);

                if (result != MATCH_NO) {
                        *ret_rule = policy->rules + i;
                        return result;
                }
        }

        *ret_rule = NULL;
        return MATCH_NO;
}
