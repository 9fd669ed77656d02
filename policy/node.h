/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A YAML file as a tree of nodes that know where they stand. Pure. */

#include "arena.h"
#include "message.h"

/* Nodes within nodes: rules, rule, match, property, list is 6 with the file itself. */
#define NODE_DEPTH_MAX 8

typedef enum NodeKind {
        NODE_SCALAR,
        NODE_LIST,
        NODE_MAP,
        NODE_BROKEN, /* said to be wrong already, or lost where the file breaks off */
} NodeKind;

typedef struct Node Node;

struct Node {
        NodeKind kind;
        bool plain;  /* a scalar without quotes */
        bool cut;    /* the file breaks off within this list or map: what is missing is not missed */
        Place place; /* of a list or map, its first character */
        unsigned size;
        char *text;            /* of a scalar, "size" bytes, NUL-terminated, no NUL inside */
        Node *children, *next; /* of a map: key, value, key, value … */
};

/* The tree of a file, with errors of YAML said. *ret is NULL if there is nothing in it. 0, or -ENOMEM. The
 * nodes live in *arena, which may be replaced. */
int nodes_parse(Source *source, Arena **arena, Node **ret);

/* The same for a file in which nothing is wrong, with less memory: each entry of the list that is the value of "key" at the top of the
 * file is given to "take" as soon as it is whole, lives no longer than that call, and is not part of the tree. 1: something is wrong
 * with the file, and nothing was said of it. */
int nodes_parse_entries(Source *source, Arena *arena, const char *key, void (*take)(void *userdata, const Node *entry),
                        void *userdata, Node **ret);

/* Takes the byte order mark off and gives how many bytes of source->bytes may be parsed: up to the first
 * character that must not be in the file. If there is one it is described in *ret_what (else NULL), with its
 * place. */
size_t source_check_encoding(Source *source, const char **ret_what, Place *ret_place);

extern const char second_document_text[];

/* What libyaml says, and where. */
typedef struct SyntaxError {
        const char *context; /* or NULL */
        const char *problem;
        Place context_place, place;
} SyntaxError;

/* Says the same in words that help. Returns the place from which on the file is not to be trusted. */
Place syntax_complain(Source *source, const SyntaxError *error);

/* Says that there is nothing in the file, and what the least policy is. */
void source_complain_empty(Source *source);

/* The word around a place, as one would have to quote it, and where it stands. */
Place source_word(Source *source, Place place, char buffer[static 256]);
