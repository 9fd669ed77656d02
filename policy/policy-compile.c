/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Nodes to rules: the keys at the top of a file and in a rule. Must not read files nor know libyaml. */

#include <ctype.h>

#include "compile.h"
#include "text.h"

enum { TOP_VERSION, TOP_ENFORCEMENT, TOP_RULES, _TOP_MAX };
enum { RULE_NAME, RULE_MATCH, RULE_MODE, RULE_TOS, RULE_DSCP, RULE_ECN, RULE_ENFORCEMENT, _RULE_MAX };

static const char *const top_keys[_TOP_MAX] = { "version", "enforcement", "rules" };
static const char *const rule_keys[_RULE_MAX] = { "name", "match", "mode",       "tos",
                                                  "dscp", "ecn",   "enforcement" };
static const char *const modes[] = { "v1", "v2" };
static const char *const enforcements[] = { "enforce", "report" };

const char *key_home(const char *key) {
        for (MatchKey i = 0; i < _MATCH_KEY_MAX; i++)
                if (streq(match_key_to_string(i), key))
                        return "in 'match'";
        for (size_t i = 0; i < _RULE_MAX; i++)
                if (streq(rule_keys[i], key))
                        return "in a rule";
        for (size_t i = 0; i < _TOP_MAX; i++)
                if (streq(top_keys[i], key))
                        return "at the top of the file";
        return NULL;
}

static Enforcement compile_enforcement(Compiler *compiler, const Node *node, Enforcement otherwise) {
        int i = compile_word(compiler->source, node, "enforcement", "enforce or report", enforcements,
                             ELEMENTSOF(enforcements));

        return i < 0 ? otherwise : i == 0 ? ENFORCEMENT_ENFORCE : ENFORCEMENT_REPORT;
}

static void compile_name(Compiler *compiler, const Node *node, Rule *rule) {
        if (!compile_scalar(compiler->source, node, "name", "a text"))
                return;
        if (node->size == 0)
                source_complain(compiler->source, node->place, NULL, "a name has at least one character");
        else if (text_has_control(node->text, node->size))
                source_complain(compiler->source, node->place, NULL,
                                "a name is one line without control characters");
        else {
                rule->name = arena_copy(compiler->arena, node->text, node->size);
                if (!rule->name)
                        compiler->source->error = -ENOMEM;
        }
}

/* A DSCP by number or name; -1: it is none, which has been said. */
static int compile_dscp(Source *source, const Node *node) {
        static const char takes[] = "0 to 63, or cs0 to cs7, af11 to af43, ef, va";
        const char *why, *nearest;
        uint64_t number;
        char hint[80];
        int dscp;

        if (!compile_scalar(source, node, "dscp", takes))
                return -1;

        /* Most are numbers, and no name begins with a digit. */
        dscp = isdigit((unsigned char) node->text[0]) ? -EINVAL : dscp_from_name(node->text);
        if (dscp >= 0)
                return dscp;

        why = number_parse(node->text, false, &number);
        if (!why && !node->plain)
                why = "a number is written without quotes";
        if (!why && number <= 63)
                return (int) number;

        if (!why && number <= 255) {
                snprintf(hint, sizeof(hint), "a whole TOS byte is written 'tos: %s'", node->text);
                why = hint;
        } else if (why && !*why && (nearest = dscp_nearest(node->text))) {
                snprintf(hint, sizeof(hint), "did you mean '%s'?", nearest);
                why = hint;
        }
        complain_value(source, node, "dscp", takes, why);
        return -1;
}

/* tos, or dscp with ecn. */
static void compile_tos(Compiler *compiler, const Node *const keys[], const Node *const values[],
                        Rule *rule) {
        Source *source = compiler->source;
        unsigned number, ecn = 0;
        const Node *key = NULL;
        int dscp = -1;

        if (keys[RULE_TOS] && keys[RULE_DSCP]) {
                const Node *tos = keys[RULE_TOS], *second = keys[RULE_DSCP];

                if (tos->place.line > second->place.line ||
                    (tos->place.line == second->place.line && tos->place.column > second->place.column)) {
                        second = tos;
                        tos = keys[RULE_DSCP];
                }
                source_complain(source, second->place, "tos is dscp * 4 + ecn",
                                "'%s' cannot stand beside '%s', which is in line %u", second->text,
                                tos->text, tos->place.line);
        } else if (keys[RULE_ECN] && !keys[RULE_DSCP])
                source_complain(source, keys[RULE_ECN]->place, NULL,
                                keys[RULE_TOS] ? "'ecn' goes with 'dscp'; with 'tos' its bits are part of "
                                                 "that number"
                                               : "'ecn' goes with 'dscp' only");

        if (keys[RULE_TOS] &&
            compile_number(source, values[RULE_TOS], "tos", "0 to 255 (hex with 0x)", true, 0, 255, &number)) {
                rule->wanted[ATTRIBUTE_TOS] = (int) number;
                key = keys[RULE_TOS];
        }

        if (keys[RULE_ECN] && !compile_number(source, values[RULE_ECN], "ecn", "0 to 3", false, 0, 3, &ecn))
                ecn = 0;
        if (keys[RULE_DSCP]) {
                dscp = compile_dscp(source, values[RULE_DSCP]);
                if (dscp >= 0) {
                        rule->wanted[ATTRIBUTE_TOS] = dscp << 2 | (int) ecn;
                        rule->dscp = true;
                        key = keys[RULE_DSCP];
                }
        }

        if (key) {
                rule->wanted_line[ATTRIBUTE_TOS] = key->place.line;
                rule->wanted_column[ATTRIBUTE_TOS] = key->place.column;
        }
}

static void compile_mode(Compiler *compiler, const Node *key, const Node *value, Rule *rule) {
        int i = compile_word(compiler->source, value, "mode", "v1 or v2", modes, ELEMENTSOF(modes));

        if (i < 0)
                return;
        rule->wanted[ATTRIBUTE_MODE] = i == 0 ? ROCE_V1 : ROCE_V2;
        rule->wanted_line[ATTRIBUTE_MODE] = key->place.line;
        rule->wanted_column[ATTRIBUTE_MODE] = key->place.column;
}

static int rule_set_source(Compiler *compiler, Rule *rule) {
        char number[16];
        size_t length = strlen(rule->file);
        int n = snprintf(number, sizeof(number), ":%u", rule->line);

        rule->source = arena_alloc(compiler->arena, length + (size_t) n + 1);
        if (!rule->source)
                return -ENOMEM;
        memcpy(rule->source, rule->file, length);
        memcpy(rule->source + length, number, (size_t) n + 1);
        return 0;
}

static void rule_fill(Compiler *compiler, const Node *node, Rule *rule) {
        const Node *keys[_RULE_MAX] = {}, *values[_RULE_MAX] = {};
        const Place *place = node->children ? &node->children->place : &node->place;
        Source *source = compiler->source;

        *rule = (Rule){
                .file = compiler->policy->files[source->file],
                .line = place->line,
                .column = place->column,
                .wanted = { VALUE_NONE, VALUE_NONE },
                .enforcement = compiler->enforcement,
        };
        if (rule_set_source(compiler, rule) < 0)
                source->error = -ENOMEM;

        compile_map(source, node, rule_keys, _RULE_MAX, "in a rule", keys, values);
        if (keys[RULE_NAME])
                compile_name(compiler, values[RULE_NAME], rule);
        if (keys[RULE_MATCH])
                compile_match(compiler, keys[RULE_MATCH], values[RULE_MATCH], rule);
        else if (!node->cut)
                source_complain(source, (Place) { place->line, place->column, 0 },
                                "match: any is for every port", "this rule has no 'match'");
        if (keys[RULE_MODE])
                compile_mode(compiler, keys[RULE_MODE], values[RULE_MODE], rule);
        compile_tos(compiler, keys, values, rule);
        if (keys[RULE_ENFORCEMENT])
                rule->enforcement = compile_enforcement(compiler, values[RULE_ENFORCEMENT],
                                                        compiler->enforcement);
}

static Rule *compiler_add_rule(Compiler *compiler) {
        Policy *policy = compiler->policy;

        if (policy->n_rules == compiler->n_rules_allocated) {
                size_t n = MAX_OF((size_t) 8, 2 * compiler->n_rules_allocated);
                Rule *rules = reallocarray(policy->rules, n, sizeof(Rule));

                if (!rules) {
                        compiler->source->error = -ENOMEM;
                        return NULL;
                }
                policy->rules = rules;
                compiler->n_rules_allocated = n;
        }
        return policy->rules + policy->n_rules++;
}

void compile_rule(Compiler *compiler, const Node *node) {
        Source *source = compiler->source;
        Rule *rule;

        if (node->kind == NODE_BROKEN)
                return;
        if (node->kind != NODE_MAP) {
                source_complain(source, node->place, "- match: any", "a rule is a map%s",
                                node->kind == NODE_LIST ? ", not a list" : ", not a single value");
                return;
        }

        rule = compiler_add_rule(compiler);
        if (rule)
                rule_fill(compiler, node, rule);
        /* There will be no policy: only the errors count from here on. */
        if (source->n_errors > 0)
                compiler->policy->n_rules = 0;
}

static void compile_rules(Compiler *compiler, const Node *list) {
        Source *source = compiler->source;

        if (list->kind != NODE_LIST) {
                Node here = *list;

                here.place.length = list->kind == NODE_SCALAR ? list->place.length : 0;
                if (list->kind == NODE_MAP)
                        source_complain(source, here.place, "each rule begins with '- '",
                                        "rules takes a list of rules, not a map");
                else
                        complain_value(source, &here, "rules", "a list of rules, or [] for none", NULL);
                return;
        }

        for (const Node *node = list->children; node && source->error == 0; node = node->next)
                compile_rule(compiler, node);
}

static void compile_version(Source *source, const Node *value) {
        unsigned version;

        if (compile_number(source, value, "version", "1", false, 0, UINT32_MAX, &version) && version != 1)
                source_complain(source, value->place, NULL,
                                "version %u is not known here; the one known version is 1", version);
}

/* A key that is there under another name, which has been said, is not missing too. */
static bool key_is_misspelt(const Node *map, const char *name) {
        for (const Node *key = map->children; key; key = key->next->next) {
                const char *nearest = key->kind == NODE_SCALAR ? text_nearest(key->text, top_keys, _TOP_MAX) : NULL;

                if (nearest && streq(nearest, name) && !streq(key->text, name))
                        return true;
        }
        return false;
}

int compile_file(Compiler *compiler, const Node *root) {
        const Node *keys[_TOP_MAX] = {}, *values[_TOP_MAX] = {};
        Source *source = compiler->source;
        Place start = { root->place.line, root->place.column, 0 };

        compiler->enforcement = ENFORCEMENT_ENFORCE;

        if (root->kind == NODE_BROKEN)
                return source->error;
        if (root->kind != NODE_MAP) {
                char found[TEXT_SHOWN_MAX];
                const char *lookalike = root->kind == NODE_SCALAR
                                                        ? text_find_lookalike(root->text, root->size, found)
                                                        : NULL;

                source_complain(source, start, "the least policy is two lines: version: 1, rules: []",
                                "a policy is a map with 'version' and 'rules', not a %s%s%s",
                                root->kind == NODE_LIST ? "list" : "single text",
                                lookalike ? "; there is in it " : "", lookalike ? lookalike : "");
                return source->error;
        }

        compile_map(source, root, top_keys, _TOP_MAX, "at the top of the file", keys, values);
        if (keys[TOP_VERSION])
                compile_version(source, values[TOP_VERSION]);
        else if (!root->cut && !key_is_misspelt(root, "version"))
                source_complain(source, start, NULL, "'version: 1' is missing");
        if (keys[TOP_ENFORCEMENT])
                compiler->enforcement =
                                compile_enforcement(compiler, values[TOP_ENFORCEMENT], ENFORCEMENT_ENFORCE);
        if (keys[TOP_RULES])
                compile_rules(compiler, values[TOP_RULES]);
        else if (!root->cut && !key_is_misspelt(root, "rules"))
                source_complain(source, start, "rules: [] is for none", "'rules' is missing");

        return source->error;
}
