/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Nodes to patterns: what stands below "match". Knows which values a device, its ports and its network
 * devices can have. */

#include <ctype.h>

#include "compile.h"
#include "text.h"

/* IFNAMSIZ less its NUL (include/uapi/linux/if.h). */
#define NETDEV_NAME_LENGTH_MAX 15

typedef struct Glob {
        bool literal;
        size_t length_min; /* of what it can match */
        bool foreign;      /* holds a character outside brackets that is not one of "allowed" */
} Glob;

/* What follows a '[' up to its ']'; NULL: there is none. */
static const char *glob_bracket_end(const char *c) {
        if (*c == '!' || *c == '^')
                c++;
        if (*c == ']')
                c++;

        while (*c && *c != ']') {
                if (*c == '[' && (c[1] == ':' || c[1] == '.' || c[1] == '=')) {
                        const char end[] = { c[1], ']', 0 };

                        c = strstr(c + 2, end);
                        if (!c)
                                return NULL;
                        c += 2;
                } else if (*c == '\\' && c[1])
                        c += 2;
                else
                        c++;
        }

        return *c ? c : NULL;
}

/* Takes a pattern apart as fnmatch() will. Returns what is wrong with it, or NULL. "allowed" NULL: any
 * character. */
static const char *glob_parse(const char *text, const char *allowed, Glob *ret) {
        Glob glob = { .literal = true };

        for (const char *c = text; *c; c++) {
                if (*c == '*' || *c == '?' || *c == '[' || *c == '\\')
                        glob.literal = false;
                if (*c == '[') {
                        c = glob_bracket_end(c + 1);
                        if (!c)
                                return "the '[' in it is not closed";
                } else if (*c == '\\') {
                        if (!*++c)
                                return "the '\\' at its end has nothing to stand before";
                }

                if (*c == '*')
                        continue;
                if ((*c & 0xc0) != 0x80)
                        glob.length_min++;
                if (allowed && *c != '?' && *c != ']' && !strchr(allowed, *c))
                        glob.foreign = true;
        }

        *ret = glob;
        return NULL;
}

/* 'x' is a hex digit, '+' after it any number more, all else itself. */
static bool shape_matches(const char *text, const char *shape) {
        for (; *shape; shape++) {
                if (*shape == '+') {
                        while (isxdigit((unsigned char) *text))
                                text++;
                        continue;
                }
                if (*shape == 'x' ? !isxdigit((unsigned char) *text) : *text != *shape)
                        return false;
                text++;
        }
        return !*text;
}

#define HEX_DIGITS "0123456789abcdefABCDEF"

/* What the values of a key look like. */
static const struct {
        const char *takes;
        const char *allowed;  /* characters; NULL: any */
        const char *shape;    /* of a value, NULL: any */
        const char *written;  /* an example of that shape, in words */
        size_t length_max;    /* of a value, 0: any */
        const char *excluded; /* characters that no value has; NULL: none */
        const char *excluded_why;
} key_traits[_MATCH_KEY_MAX] = {
        [MATCH_DEVICE] = { "RDMA device names or globs", NULL, NULL, NULL, DEVICE_NAME_LENGTH_MAX, "/",
                           "no device name holds a '/'" },
        [MATCH_DRIVER] = { "driver names or globs" },
        [MATCH_PCI] = { "PCI addresses such as 0000:3b:00.0, or globs", HEX_DIGITS ":.", "xxxx+:xx:xx.x",
                        "a PCI address is written like 0000:3b:00.0" },
        [MATCH_PCI_ID] = { "vendor:device in hex such as 15b3:1017, or globs", HEX_DIGITS ":", "xxxx:xxxx",
                           "vendor and device are written like 15b3:1017" },
        [MATCH_NODE_GUID] = { "GUIDs such as 248a:0703:004b:f0a4, or globs", HEX_DIGITS ":",
                              "xxxx:xxxx:xxxx:xxxx", "a node GUID is written like 248a:0703:004b:f0a4" },
        [MATCH_NETDEV] = { "network device names or globs", NULL, NULL, NULL, NETDEV_NAME_LENGTH_MAX, "/ ",
                           "no network device name holds a '/' or a blank" },
        [MATCH_PROPERTY] = { "texts or globs" },
};

static const char port_takes[] = "numbers from 1, or \"!1\"";
static const char function_takes[] = "pf, vf, sf, or \"!vf\"";

/* What is wrong with a glob of a key, or NULL. */
static const char *glob_check(MatchKey key, const char *text, bool *ret_literal) {
        const char *why;
        Glob glob;

        if (!*text && key != MATCH_PROPERTY)
                return "an empty pattern matches nothing";
        if (text_has_control(text, strlen(text)))
                return "no value holds a control character";

        why = glob_parse(text, key_traits[key].allowed, &glob);
        if (why)
                return why;
        if (glob.foreign ||
            (glob.literal && key_traits[key].shape && !shape_matches(text, key_traits[key].shape)))
                return key_traits[key].written;
        if (key_traits[key].excluded && strpbrk(text, key_traits[key].excluded))
                return key_traits[key].excluded_why;
        if ((key == MATCH_DEVICE || key == MATCH_NETDEV) && (streq(text, ".") || streq(text, "..")))
                return "no device can have that name";
        if (key_traits[key].length_max > 0 && glob.length_min > key_traits[key].length_max)
                return key == MATCH_DEVICE ? "no device has a name longer than 63 characters"
                                           : "no network device has a name longer than 15 characters";

        *ret_literal = glob.literal;
        return NULL;
}

static bool compile_port(Compiler *compiler, const Node *node, const char *text, Pattern *pattern) {
        uint64_t number = 0;
        const char *why = number_parse(text, false, &number);

        if (!why && !node->plain && !pattern->negated)
                why = "a number is written without quotes";
        if (!why && (number == 0 || number > UINT32_MAX))
                why = number == 0 ? "ports are counted from 1" : "";
        if (why) {
                complain_value(compiler->source, node, "port", port_takes, why);
                return false;
        }

        pattern->port = (unsigned) number;
        pattern->literal = true;
        return true;
}

static bool compile_function(Compiler *compiler, const Node *node, const char *text) {
        static const char *const functions[] = { "pf", "vf", "sf" };
        const char *nearest;
        char hint[64];

        for (size_t i = 0; i < ELEMENTSOF(functions); i++)
                if (streq(functions[i], text))
                        return true;

        nearest = text_nearest(text, functions, ELEMENTSOF(functions));
        snprintf(hint, sizeof(hint), "did you mean '%s'?", nearest ? nearest : "");
        complain_value(compiler->source, node, "function", function_takes, nearest ? hint : NULL);
        return false;
}

static void compile_pattern(Compiler *compiler, MatchKey key, const char *name, const Node *node,
                            PatternList *list) {
        const char *takes = key == MATCH_PORT       ? port_takes
                            : key == MATCH_FUNCTION ? function_takes
                                                    : key_traits[key].takes;
        Pattern pattern = {};
        const char *text, *why;

        if (node->kind != NODE_SCALAR) {
                complain_value(compiler->source, node, name, takes,
                               "a pattern with [ or { in it, or ? in front, is quoted");
                return;
        }
        if (!compile_scalar(compiler->source, node, name, takes))
                return;

        pattern.negated = node->text[0] == '!';
        text = node->text + pattern.negated;

        if (key == MATCH_PORT) {
                if (!compile_port(compiler, node, text, &pattern))
                        return;
        } else if (key == MATCH_FUNCTION) {
                if (!compile_function(compiler, node, text))
                        return;
                pattern.literal = true;
        } else {
                why = glob_check(key, text, &pattern.literal);
                if (why) {
                        char shown[TEXT_SHOWN_MAX];

                        source_complain(compiler->source, node->place, NULL, "bad pattern '%s' for %s: %s",
                                        text_show(node->text, node->size, shown), name, why);
                        return;
                }
        }

        pattern.text = arena_copy(compiler->arena, text, node->size - pattern.negated);
        if (pattern.text)
                list->items[list->n_items++] = pattern;
        else
                compiler->source->error = -ENOMEM;
}

/* One pattern, or a list of them. */
static void compile_patterns(Compiler *compiler, MatchKey key, const char *name, const Node *node,
                             PatternList *list) {
        size_t n = 0;

        if (node->kind == NODE_LIST)
                for (const Node *child = node->children; child; child = child->next)
                        n++;
        else
                n = 1;

        if (n == 0) {
                if (!node->cut)
                        source_complain(compiler->source, (Place) { node->place.line, node->place.column, 2 },
                                        NULL,
                                        "%s has an empty list; leave the key out if it does not matter",
                                        name);
                return;
        }

        list->items = arena_alloc(compiler->arena, n * sizeof(Pattern));
        if (!list->items) {
                compiler->source->error = -ENOMEM;
                return;
        }

        if (node->kind != NODE_LIST) {
                compile_pattern(compiler, key, name, node, list);
                return;
        }
        for (const Node *child = node->children; child; child = child->next)
                compile_pattern(compiler, key, name, child, list);
}

typedef struct PropertyNode {
        const Node *key;
        unsigned serial;
} PropertyNode;

static int property_compare(const void *a, const void *b) {
        const PropertyNode *x = a, *y = b;
        int r = strcmp(x->key->text, y->key->text);

        return r != 0 ? r : x->serial < y->serial ? -1 : 1;
}

/* By sorting: the names are not ours, and there may be many. */
static int compile_check_duplicates(Source *source, const Node *map) {
        _cleanup_free_ PropertyNode *entries = NULL;
        size_t n = 0;

        for (const Node *key = map->children; key; key = key->next->next)
                n++;
        entries = calloc(n, sizeof(PropertyNode));
        if (!entries)
                return -ENOMEM;

        n = 0;
        for (const Node *key = map->children; key; key = key->next->next)
                if (key->kind == NODE_SCALAR) {
                        entries[n] = (PropertyNode) { key, (unsigned) n };
                        n++;
                }
        qsort(entries, n, sizeof(PropertyNode), property_compare);

        for (size_t i = 1; i < n; i++)
                if (streq(entries[i].key->text, entries[i - 1].key->text)) {
                        char shown[TEXT_SHOWN_MAX];

                        source_complain(source, entries[i].key->place, NULL,
                                        "'%s' is given twice, first in line %u",
                                        text_show(entries[i].key->text, entries[i].key->size, shown),
                                        entries[i - 1].key->place.line);
                }

        return 0;
}

static void compile_properties(Compiler *compiler, const Node *node, Rule *rule) {
        Source *source = compiler->source;
        size_t n = 0;

        if (node->kind != NODE_MAP) {
                complain_value(source, node, "property", "a map of udev properties, {NAME: pattern}", NULL);
                return;
        }
        for (const Node *key = node->children; key; key = key->next->next)
                n++;
        if (n == 0) {
                if (!node->cut)
                        source_complain(source, (Place) { node->place.line, node->place.column, 2 }, NULL,
                                        "property has an empty map; leave the key out if it does not "
                                        "matter");
                return;
        }

        rule->properties = arena_alloc(compiler->arena, n * sizeof(PropertyMatch));
        if (!rule->properties || compile_check_duplicates(source, node) < 0) {
                source->error = -ENOMEM;
                return;
        }

        for (const Node *key = node->children; key && source->error == 0; key = key->next->next) {
                PropertyMatch *property = rule->properties + rule->n_properties;
                char shown[TEXT_SHOWN_MAX];

                if (key->kind == NODE_BROKEN)
                        continue;
                if (key->kind != NODE_SCALAR || key->size == 0 || strpbrk(key->text, "= ") ||
                    text_has_control(key->text, key->size)) {
                        source_complain(source, key->place, NULL, "no udev property has such a name");
                        continue;
                }

                property->name = arena_copy(compiler->arena, key->text, key->size);
                if (!property->name) {
                        source->error = -ENOMEM;
                        return;
                }
                rule->n_properties++;
                compile_patterns(compiler, MATCH_PROPERTY, text_show(key->text, key->size, shown), key->next,
                                 &property->patterns);
        }
}

void compile_match(Compiler *compiler, const Node *key, const Node *value, Rule *rule) {
        static const char takes[] = "'any', or a map of keys and patterns";
        const Node *keys[_MATCH_KEY_MAX] = {}, *values[_MATCH_KEY_MAX] = {};
        const char *names[_MATCH_KEY_MAX];
        Source *source = compiler->source;

        if (value->kind == NODE_SCALAR && streq(value->text, "any")) {
                rule->any = true;
                return;
        }
        if (value->kind != NODE_MAP) {
                complain_value(source, value, "match", takes, NULL);
                return;
        }
        if (!value->children) {
                if (!value->cut)
                        source_complain(source, (Place) { value->place.line, value->place.column, 2 }, NULL,
                                        "match has an empty map; 'match: any' is for every port");
                return;
        }

        for (MatchKey i = 0; i < _MATCH_KEY_MAX; i++)
                names[i] = match_key_to_string(i);
        compile_map(source, value, names, _MATCH_KEY_MAX, "in 'match'", keys, values);

        for (MatchKey i = 0; i < _MATCH_KEY_MAX; i++) {
                if (!keys[i])
                        continue;
                compiler->policy->keys |= 1U << i;
                if (i == MATCH_PROPERTY)
                        compile_properties(compiler, values[i], rule);
                else
                        compile_patterns(compiler, i, names[i], values[i], rule->keys + i);
        }
}
