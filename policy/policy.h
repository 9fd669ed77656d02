/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A policy as it is in force: immutable, shared by reference, replaced whole. Says which rule wins for a port. Pure. */

#include <stdbool.h>
#include <stddef.h>

#include "attribute.h"
#include "base.h"
#include "device.h"

typedef enum MatchKey {
        MATCH_DEVICE,
        MATCH_PORT,
        MATCH_DRIVER,
        MATCH_PCI,
        MATCH_PCI_ID,
        MATCH_NODE_GUID,
        MATCH_NETDEV,
        MATCH_FUNCTION,
        MATCH_PROPERTY,
        _MATCH_KEY_MAX,
} MatchKey;

typedef enum MatchResult {
        MATCH_NO,
        MATCH_YES,
        MATCH_NOT_YET_KNOWN, /* hangs on a value that udev has not settled */
} MatchResult;

typedef enum Enforcement {
        ENFORCEMENT_ENFORCE,
        ENFORCEMENT_REPORT, /* look and say, write no value */
} Enforcement;

/* One pattern of a key; a leading '!' is taken off and kept as "negated". */
typedef struct Pattern {
        char *text;
        unsigned port; /* of MATCH_PORT: the number that "text" spells, else 0 */
        bool negated;
        bool literal; /* holds no glob character: compared, not globbed */
} Pattern;

typedef struct PatternList {
        Pattern *items;
        size_t n_items;
} PatternList;

typedef struct PropertyMatch {
        char *name;
        PatternList patterns;
} PropertyMatch;

typedef struct Rule {
        char *name;   /* NULL: has none */
        char *source; /* "file:line" of the rule's first key */
        const char *file; /* one of the policy's files */
        unsigned line, column;
        bool any;                                  /* match: any */
        PatternList keys[_MATCH_KEY_MAX];          /* no items: key not given; MATCH_PROPERTY is not used here */
        PropertyMatch *properties;
        size_t n_properties;
        int wanted[_ATTRIBUTE_MAX]; /* VALUE_NONE: left alone */
        unsigned wanted_line[_ATTRIBUTE_MAX], wanted_column[_ATTRIBUTE_MAX]; /* where that is said; 0: nowhere */
        bool dscp;                  /* the TOS was given as dscp (and ecn) */
        Enforcement enforcement;
} Rule;

typedef struct Policy Policy;
typedef struct PolicyIndex PolicyIndex;

struct Policy {
        unsigned n_ref; /* atomic: jobs of the worker hold references too */
        char **files;   /* in reading order, NULL-terminated */
        char sha256[64 + 1];
        Rule *rules;
        size_t n_rules;
        unsigned keys; /* set of 1 << MatchKey that any rule uses: what is not in it need not be read from the device */
        void *memory;  /* what the rules point to */
        PolicyIndex *index;
};

Policy *policy_ref(Policy *policy);   /* NULL passes */
Policy *policy_unref(Policy *policy); /* returns NULL */
DEFINE_CLEANUP(Policy *, policy_unref)

const char *match_key_to_string(MatchKey key);           /* "device", "pci_id", … */
const char *enforcement_to_string(Enforcement enforcement);

/* Judges one rule. On MATCH_NO and MATCH_NOT_YET_KNOWN *ret_key (may be NULL) tells the key that decided; a key that fails for sure
 * goes before one that is not yet known. */
MatchResult rule_match(const Rule *rule, const Device *device, const Port *port, MatchKey *ret_key);

/* First match wins. MATCH_YES: *ret_rule is the winner. MATCH_NOT_YET_KNOWN: the search stopped at *ret_rule. MATCH_NO: NULL. */
MatchResult policy_find_rule(const Policy *policy, const Device *device, const Port *port, const Rule **ret_rule);
