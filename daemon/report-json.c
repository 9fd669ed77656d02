/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reports as JSON. */

#include "report-json.h"

#include <time.h>

#include "text.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static bool text_is_utf8(const char *text, size_t size) {
        uint32_t character;

        for (size_t i = 0; i < size;) {
                i += utf8_decode(text + i, size - i, &character);
                if (character == CHARACTER_INVALID)
                        return false;
        }
        return true;
}

/* The kernel lets devices bear names of any bytes, which JSON does not. */
json_object *json_string(const char *text) {
        _cleanup_free_ char *replaced = NULL;
        size_t size = text ? strlen(text) : 0;
        uint32_t character;
        char *end;

        if (!text)
                return NULL;
        if (text_is_utf8(text, size))
                return json_object_new_string(text);

        replaced = end = malloc(size * strlen(REPLACEMENT));
        if (!replaced)
                return NULL;
        for (size_t i = 0, length; i < size; i += length) {
                length = utf8_decode(text + i, size - i, &character);
                end = character == CHARACTER_INVALID ? mempcpy(end, REPLACEMENT, strlen(REPLACEMENT)) : mempcpy(end, text + i, length);
        }
        return json_object_new_string_len(replaced, (int) (end - replaced));
}

json_object *json_time(uint64_t realtime_usec) {
        time_t seconds = (time_t) (realtime_usec / USEC_PER_SEC);
        char date[32], text[48];
        struct tm tm;

        if (realtime_usec == 0 || !gmtime_r(&seconds, &tm) || strftime(date, sizeof(date), "%FT%T", &tm) == 0)
                return NULL;

        snprintf(text, sizeof(text), "%s.%03uZ", date, (unsigned) (realtime_usec / USEC_PER_MSEC % 1000));
        return json_object_new_string(text);
}

static json_object *json_value(Attribute attribute, int value) {
        char buffer[ATTRIBUTE_TEXT_MAX];

        if (value == VALUE_NONE)
                return NULL;
        if (attribute == ATTRIBUTE_MODE)
                return json_object_new_string(attribute_format(attribute, value, buffer));
        return json_object_new_int(value);
}

json_object *json_verdict(const Verdict *verdict, Attribute attribute, uint64_t since_usec) {
        json_object *object = json_object_new_object();
        char buffer[REASON_TEXT_MAX];
        int found = verdict->readback != VALUE_NONE ? verdict->readback : verdict->found;

        json_object_object_add(object, "wanted", json_value(attribute, verdict->wanted));
        json_object_object_add(object, "found", json_value(attribute, found));
        json_object_object_add(object, "state", json_object_new_string(state_to_string(verdict->state)));
        json_object_object_add(object, "reason", json_string(reason_format(verdict, attribute, buffer)));
        json_object_object_add(object, "errno", verdict->error < 0 ? json_object_new_int(-verdict->error) : NULL);
        json_object_object_add(object, "since", json_time(since_usec));
        return object;
}

json_object *json_rule(const Rule *rule, MatchResult match) {
        json_object *object;

        if (!rule || match != MATCH_YES)
                return NULL;

        object = json_object_new_object();
        json_object_object_add(object, "name", json_string(rule->name));
        json_object_object_add(object, "source", json_string(rule->source));
        json_object_object_add(object, "enforcement", json_string(enforcement_to_string(rule->enforcement)));
        return object;
}

json_object *json_policy(const Policy *policy) {
        json_object *object, *files;

        if (!policy)
                return NULL;

        object = json_object_new_object();
        files = json_object_new_array();
        for (char **file = policy->files; *file; file++)
                json_object_array_add(files, json_string(*file));
        json_object_object_add(object, "sha256", json_string(policy->sha256));
        json_object_object_add(object, "files", files);
        return object;
}

void json_add_device(json_object *object, const Device *device) {
        json_object_object_add(object, "driver", json_string(device ? device->driver : NULL));
        json_object_object_add(object, "pci", json_string(device ? device->pci : NULL));
        json_object_object_add(object, "node_guid", json_string(device ? device->node_guid : NULL));
        json_object_object_add(object, "function", json_string(device ? function_to_string(device->function) : NULL));
}
