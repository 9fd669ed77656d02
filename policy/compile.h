/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files that give nodes their meaning share. Pure. */

#include "node.h"
#include "policy.h"

typedef struct Compiler {
        Source *source;
        Arena *arena; /* the policy's */
        Policy *policy;
        size_t n_rules_allocated;
        Enforcement enforcement; /* of this file, where a rule does not say */
} Compiler;

/* The rules of one file, appended to the policy. Errors go to the source; 0 or -ENOMEM. */
int compile_file(Compiler *compiler, const Node *root);

/* One rule, appended likewise. */
void compile_rule(Compiler *compiler, const Node *node);

/* The value of a rule's "match". */
void compile_match(Compiler *compiler, const Node *key, const Node *value, Rule *rule);

/* Fills values[i] and keys[i] with the entry of a map whose key is names[i]. Complains about the others, and
 * about the same key twice. "where" ends the sentence "unknown key 'x' …". */
void compile_map(Source *source, const Node *map, const char *const names[], size_t n_names,
                 const char *where, const Node *keys[], const Node *values[]);

/* Where a key belongs, in the words of "where"; NULL: nowhere. */
const char *key_home(const char *key);

/* A scalar with something in it. "takes" says what the key is for, e.g. "v1 or v2". */
bool compile_scalar(Source *source, const Node *node, const char *key, const char *takes);

/* One of some words; -1: it is none, which has been said. */
int compile_word(Source *source, const Node *node, const char *key, const char *takes,
                 const char *const words[], size_t n_words);

/* A number without quotes; hexadecimal only if "hex". False: it is none, which has been said. */
bool compile_number(Source *source, const Node *node, const char *key, const char *takes, bool hex,
                    unsigned min, unsigned max, unsigned *ret);

/* Says what a key takes, instead of what it got, and a hint, which may be NULL. */
void complain_value(Source *source, const Node *node, const char *key, const char *takes, const char *hint);

/* Why a text is no number as policies write them, or NULL and the number; what is beyond 32 bits stays so. */
const char *number_parse(const char *text, bool hex, uint64_t *ret);

/* DSCP by name, "ef"; -EINVAL. */
int dscp_from_name(const char *name);
const char *dscp_nearest(const char *name); /* NULL: none is near */
