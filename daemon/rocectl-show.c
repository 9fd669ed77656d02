/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Text from the document. */

#include "rocectl-show.h"

#include "rocectl-document.h"

Tone state_tone(State state) {
        switch (state) {
        case STATE_OK:
                return TONE_GOOD;
        case STATE_FAILED:
                return TONE_BAD;
        case STATE_UNMANAGED:
        case STATE_NOT_ROCE:
                return TONE_FAINT;
        default:
                return TONE_WARNING;
        }
}

State state_worse(State a, State b) {
        static const unsigned char rank[_STATE_MAX] = {
                [STATE_NOT_ROCE] = 0, [STATE_UNMANAGED] = 1,   [STATE_OK] = 2,      [STATE_UNKNOWN] = 3,
                [STATE_PENDING] = 4,  [STATE_UNSUPPORTED] = 5, [STATE_DRIFTED] = 6, [STATE_FAILED] = 7,
        };

        return rank[a] >= rank[b] ? a : b;
}

char *value_text(json_object *verdict, const char *key) {
        json_object *value = json_get(verdict, key);

        return value ? NEED(strdup(json_object_get_string(value))) : NULL;
}

char *values_format(const char *found, const char *wanted) {
        if (!wanted || streq_ptr(found, wanted))
                return NEED(strdup(found ? found : "-"));
        return need_text("%s%s%s", found ? found : "?", output_is_utf8() ? "→" : "->", wanted);
}

char *rule_text(json_object *rule) {
        const char *name = json_get_text(rule, "name"), *source = json_get_text(rule, "source");
        const char *base = source ? strrchr(source, '/') : NULL;

        if (!source)
                return NULL;
        base = base ? base + 1 : source;
        return name ? need_text("%s (%s)", name, base) : need_text("%s", base);
}

static void print_note(const char *device, json_object *port, Attribute attribute) {
        json_object *verdict = json_get(port, attribute_name(attribute));
        State state = json_get_state(port, attribute);
        const char *reason = json_get_text(verdict, "reason"), *since = json_get_text(verdict, "since");
        _cleanup_free_ char *wanted = NULL, *found = NULL, *values = NULL;

        if (state_is_compliant(state) > 0)
                return;
        wanted = value_text(verdict, "wanted");
        found = value_text(verdict, "found");
        if (wanted)
                values = need_text(", wanted %s, found %s", wanted, found ? found : "nothing");
        output_line("%s port %s: %s %s%s: %s%s%s%s", device, json_object_get_string(json_get(port, "port")),
                    attribute_name(attribute), state_to_string(state), values ? values : "", reason ? reason : "no reason known",
                    since ? " (since " : "", since ? since : "", since ? ")" : "");
}

void print_notes(json_object *devices) {
        size_t n_devices = json_object_array_length(devices), n_ports;
        json_object *ports;

        for (size_t i = 0; i < n_devices; i++) {
                json_object *device = json_object_array_get_idx(devices, i);
                const char *name = json_get_text(device, "name");
                int error = json_object_get_int(json_get(device, "errno"));

                if (error > 0)
                        output_line("%s: the device cannot be read or tidied up: %s", name, strerror(error));
                n_ports = json_get_list(device, "ports", &ports);
                for (size_t k = 0; k < n_ports; k++)
                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                                print_note(name, json_object_array_get_idx(ports, k), a);
        }
}

void print_warnings(json_object *document) {
        json_object *warnings;
        size_t n = json_get_list(document, "warnings", &warnings);

        for (size_t i = 0; i < n; i++)
                output_line("Warning: %s", json_object_get_string(json_object_array_get_idx(warnings, i)));
}
