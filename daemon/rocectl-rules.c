/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Goes through all rules, where policy_find_rule() skips what its index rules out. */

#include "rocectl-rules.h"

#include "policy-index.h"
#include "report-json.h"
#include "rocectl.h"

static json_object *json_patterns(const PatternList *patterns) {
        json_object *list = NEED(json_object_new_array());

        for (size_t i = 0; i < patterns->n_items; i++) {
                const Pattern *pattern = patterns->items + i;
                _cleanup_free_ char *text = need_text("%s%s", pattern->negated ? "!" : "", pattern->text);

                json_object_array_add(list, json_string(text));
        }
        return list;
}

/* The first property that decides as the rule did. */
static const PropertyMatch *rule_find_property(const Rule *rule, const Device *device, const Port *port,
                                               MatchResult result) {
        for (size_t i = 0; i < rule->n_properties; i++) {
                const Rule alone = { .properties = rule->properties + i, .n_properties = 1 };

                if (rule_match(&alone, device, port, NULL) == result)
                        return rule->properties + i;
        }
        return NULL;
}

static json_object *json_key_value(MatchKey key, const Device *device, const Port *port) {
        if (key == MATCH_PORT)
                return json_object_new_int64(port->number);
        return json_string(match_key_find_value(key, device, port));
}

static json_object *json_tried(const Rule *rule, const Device *device, const Port *port, MatchResult *ret_result) {
        static const char *const results[] = {
                [MATCH_NO] = "no",
                [MATCH_YES] = "wins",
                [MATCH_NOT_YET_KNOWN] = "not-settled",
        };
        json_object *object = NEED(json_object_new_object()), *value = NULL, *patterns = NULL;
        MatchKey key = _MATCH_KEY_MAX;
        MatchResult result = rule_match(rule, device, port, &key);
        const PropertyMatch *property = NULL;

        if (result != MATCH_YES && key == MATCH_PROPERTY) {
                property = rule_find_property(rule, device, port, result);
                value = json_string(property ? device_find_property(device, property->name) : NULL);
                patterns = property ? json_patterns(&property->patterns) : NULL;
        } else if (result != MATCH_YES) {
                value = json_key_value(key, device, port);
                patterns = json_patterns(rule->keys + key);
        }

        json_object_object_add(object, "name", json_string(rule->name));
        json_object_object_add(object, "source", json_string(rule->source));
        json_object_object_add(object, "enforcement", json_string(enforcement_to_string(rule->enforcement)));
        json_object_object_add(object, "result", json_string(results[result]));
        json_object_object_add(object, "key", json_string(result == MATCH_YES ? NULL : match_key_to_string(key)));
        json_object_object_add(object, "property", json_string(property ? property->name : NULL));
        json_object_object_add(object, "value", value);
        json_object_object_add(object, "patterns", patterns);
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                json_object_object_add(object, attribute_name(a), json_value(a, rule->wanted[a]));
        *ret_result = result;
        return object;
}

json_object *json_rules_tried(const Policy *policy, const Device *device, const Port *port) {
        json_object *list = NEED(json_object_new_array());
        MatchResult result = MATCH_NO;

        for (size_t i = 0; i < policy->n_rules && result == MATCH_NO; i++)
                json_object_array_add(list, json_tried(policy->rules + i, device, port, &result));
        return list;
}

json_object *json_match_values(const Device *device, const Port *port) {
        json_object *object = NEED(json_object_new_object());

        for (MatchKey key = 0; key < _MATCH_KEY_MAX; key++)
                if (key != MATCH_PROPERTY)
                        json_object_object_add(object, match_key_to_string(key), json_key_value(key, device, port));
        return object;
}
