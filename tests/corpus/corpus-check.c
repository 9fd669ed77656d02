/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Loads one policy file as the programs do and prints what they would say, and the rules that came out.
 * Warnings about the file's owner and mode are left out: they depend on who checked the tree out. Exits 0,
 * or 2 if the policy is invalid. */

#include "policy-load.h"

static void patterns_print(const char *name, const PatternList *patterns) {
        printf("  %s:", name);
        for (size_t i = 0; i < patterns->n_items; i++)
                printf(" %s%s%s", patterns->items[i].negated ? "not " : "",
                       patterns->items[i].literal ? "=" : "~", patterns->items[i].text);
        printf("\n");
}

static void rule_print(const Rule *rule) {
        char text[ATTRIBUTE_TEXT_MAX];

        printf("rule at %s:%u", rule->source, rule->column);
        if (rule->name)
                printf(" '%s'", rule->name);
        printf(":%s", rule->any ? " any" : "");
        for (Attribute i = 0; i < _ATTRIBUTE_MAX; i++)
                if (rule->wanted[i] != VALUE_NONE)
                        printf(" %s=%s", attribute_name(i), attribute_format(i, rule->wanted[i], text));
        printf(" %s\n", enforcement_to_string(rule->enforcement));

        for (MatchKey key = 0; key < _MATCH_KEY_MAX; key++)
                if (rule->keys[key].n_items > 0)
                        patterns_print(match_key_to_string(key), rule->keys + key);
        for (size_t i = 0; i < rule->n_properties; i++)
                patterns_print(rule->properties[i].name, &rule->properties[i].patterns);
}

int main(int argc, char **argv) {
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        _cleanup_(messages_done) Messages messages = {};
        int r;

        if (argc != 2) {
                fprintf(stderr, "Usage: %s FILE\n", argv[0]);
                return 1;
        }

        r = policy_load(argv[1], NULL, &policy, &messages);
        for (size_t i = 0; i < messages.n_items; i++) {
                _cleanup_free_ char *text = NULL;

                if (messages.items[i].severity == SEVERITY_WARNING && messages.items[i].line == 0)
                        continue;
                text = message_format(messages.items + i);
                if (!text)
                        return 1;
                fputs(text, stdout);
        }

        if (r == -EBADMSG)
                return 2;
        if (r < 0 || !policy)
                return 1;
        for (size_t i = 0; i < policy->n_rules; i++)
                rule_print(policy->rules + i);
        return 0;
}
