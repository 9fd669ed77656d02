/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reports as JSON. */

#include "report-json.h"

#include <time.h>

static bool lost;

bool json_take_lost(void) {
        bool taken = lost;

        lost = false;
        return taken;
}

static json_object *made(json_object *object) {
        lost = lost || !object;
        return object;
}

json_object *json_map(void) {
        return made(json_object_new_object());
}

json_object *json_list(void) {
        return made(json_object_new_array());
}

json_object *json_integer(int64_t number) {
        return made(json_object_new_int64(number));
}

json_object *json_string(const char *text) {
        return text ? made(json_object_new_string(text)) : NULL;
}

void json_put(json_object *map, const char *key, json_object *value) {
        if (map && json_object_object_add(map, key, value) >= 0)
                return;
        lost = true;
        json_object_put(value);
}

void json_push(json_object *list, json_object *value) {
        if (list && json_object_array_add(list, value) >= 0)
                return;
        lost = true;
        json_object_put(value);
}

json_object *json_time(uint64_t realtime_usec) {
        time_t seconds = (time_t) (realtime_usec / USEC_PER_SEC);
        char date[32], text[48];
        struct tm tm;

        if (realtime_usec == 0 || !gmtime_r(&seconds, &tm) || strftime(date, sizeof(date), "%FT%T", &tm) == 0)
                return NULL;

        snprintf(text, sizeof(text), "%s.%03uZ", date, (unsigned) (realtime_usec / USEC_PER_MSEC % 1000));
        return json_string(text);
}

json_object *json_value(Attribute attribute, int value) {
        char buffer[ATTRIBUTE_TEXT_MAX];

        if (value == VALUE_NONE)
                return NULL;
        if (attribute == ATTRIBUTE_MODE)
                return json_string(attribute_format(attribute, value, buffer));
        return json_integer(value);
}

json_object *json_verdict(const Verdict *verdict, Attribute attribute, uint64_t since_usec) {
        json_object *object = json_map();
        char buffer[REASON_TEXT_MAX];
        int found = verdict->readback != VALUE_NONE ? verdict->readback : verdict->found;

        json_put(object, "wanted", json_value(attribute, verdict->wanted));
        json_put(object, "found", json_value(attribute, found));
        json_put(object, "state", json_string(state_to_string(verdict->state)));
        json_put(object, "reason", json_string(reason_format(verdict, attribute, buffer)));
        json_put(object, "errno", verdict->error < 0 ? json_integer(-verdict->error) : NULL);
        json_put(object, "since", json_time(since_usec));
        return object;
}

json_object *json_rule(const Rule *rule, MatchResult match) {
        json_object *object;

        if (!rule || match != MATCH_YES)
                return NULL;

        object = json_map();
        json_put(object, "name", json_string(rule->name));
        json_put(object, "source", json_string(rule->source));
        json_put(object, "enforcement", json_string(enforcement_to_string(rule->enforcement)));
        return object;
}

json_object *json_policy(const Policy *policy) {
        json_object *object, *files;

        if (!policy)
                return NULL;

        object = json_map();
        files = json_list();
        for (char **file = policy->files; *file; file++)
                json_push(files, json_string(*file));
        json_put(object, "sha256", json_string(policy->sha256));
        json_put(object, "files", files);
        return object;
}

void json_add_device(json_object *object, const Device *device) {
        json_put(object, "driver", json_string(device ? device->driver : NULL));
        json_put(object, "pci", json_string(device ? device->pci : NULL));
        json_put(object, "node_guid", json_string(device ? device->node_guid : NULL));
        json_put(object, "function", json_string(device ? function_to_string(device->function) : NULL));
}
