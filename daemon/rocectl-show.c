/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Text from the document. */

#include "rocectl-show.h"

#include <systemd/sd-daemon.h>

#include "report-json.h"
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

const char *advice_start(void) {
        return sd_booted() > 0 ? "\"systemctl start roced\" starts it"
                               : "\"roced\" starts it, and \"rocectl apply\" does one pass without it";
}

const char *advice_reload(void) {
        return sd_booted() > 0 ? "\"systemctl reload roced\" loads it" : "roced loads it at SIGHUP";
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

char *rule_text(json_object *rule, bool whole_path) {
        const char *name = json_get_text(rule, "name"), *source = json_get_text(rule, "source");
        const char *base = source ? strrchr(source, '/') : NULL;

        if (!source)
                return NULL;
        base = base && !whole_path ? base + 1 : source;
        return name ? need_text("%s (%s)", name, base) : need_text("%s", base);
}

/* Of so many ports each is named. */
#define NOTE_PORTS_MAX 4

void notes_done(Notes *notes) {
        for (size_t i = 0; i < notes->n_items; i++) {
                free(notes->items[i].text);
                free(notes->items[i].where);
        }
        free(notes->items);
}

static Note *notes_find(Notes *notes, const char *text) {
        for (size_t i = 0; i < notes->n_items; i++)
                if (streq(notes->items[i].text, text))
                        return notes->items + i;
        return NULL;
}

void notes_add(Notes *notes, const char *device, unsigned port, char *text) {
        Note *note = notes_find(notes, text);
        char *where;

        if (!note) {
                notes->items = NEED((Note *) reallocarray(notes->items, notes->n_items + 1, sizeof(Note)));
                note = notes->items + notes->n_items++;
                *note = (Note){ .text = text };
        } else
                free(text);

        if (note->n_named == NOTE_PORTS_MAX) {
                note->n_more++;
                return;
        }
        where = need_text("%s%s%s/%u", note->where ? note->where : "", note->where ? ", " : "", device,
                          port);
        free(note->where);
        note->where = where;
        note->n_named++;
}

void notes_print(const Notes *notes) {
        for (size_t i = 0; i < notes->n_items; i++) {
                const Note *note = notes->items + i;

                if (note->n_more > 0)
                        output_line("%s and %u more: %s", note->where, note->n_more, note->text);
                else
                        output_line("%s: %s", note->where, note->text);
        }
}

char *verdict_text(json_object *verdict, Attribute attribute) {
        _cleanup_free_ char *wanted = value_text(verdict, "wanted"), *found = value_text(verdict, "found");
        const char *state = json_get_text(verdict, "state"), *reason = json_get_text(verdict, "reason");

        return need_text("%s %s%s%s%s%s: %s", attribute_name(attribute), state ? state : "unknown",
                         wanted ? ", wanted " : "", wanted ? wanted : "", found ? ", found " : "",
                         found ? found : "", reason ? reason : "no reason known");
}

void print_troubles(json_object *devices) {
        size_t n_devices = json_object_array_length(devices), n_ports;
        _cleanup_(notes_done) Notes notes = {};
        json_object *ports;

        for (size_t i = 0; i < n_devices; i++) {
                json_object *device = json_object_array_get_idx(devices, i);

                n_ports = json_get_list(device, "ports", &ports);
                for (size_t k = 0; k < n_ports; k++) {
                        json_object *port = json_object_array_get_idx(ports, k);

                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                                if (state_is_compliant(json_get_state(port, a)) <= 0)
                                        notes_add(&notes, json_get_text(device, "name"),
                                                  (unsigned) json_object_get_int64(json_get(port, "port")),
                                                  verdict_text(json_get(port, attribute_name(a)), a));
                }
        }
        notes_print(&notes);
}

void print_warnings(json_object *document) {
        json_object *warnings;
        size_t n = json_get_list(document, "warnings", &warnings);

        for (size_t i = 0; i < n; i++)
                output_line("Warning: %s", json_object_get_string(json_object_array_get_idx(warnings, i)));
}

char *texts_format(const char *const *texts, size_t n, size_t n_named) {
        char *text = NULL;
        size_t size;
        FILE *f = NEED(open_memstream(&text, &size));

        n_named = MIN_OF(n, n_named);
        for (size_t i = 0; i < n_named; i++)
                fprintf(f, "%s%s", i > 0 ? ", " : "", texts[i]);
        if (n > n_named)
                fprintf(f, " and %zu more", n - n_named);
        if (n == 0)
                fputc('-', f);
        if (fclose(f) != 0)
                need(NULL);
        return text;
}

json_object *json_texts(const char *const *texts, size_t n) {
        json_object *list = NEED(json_object_new_array());

        for (size_t i = 0; i < n; i++)
                json_object_array_add(list, json_string(texts[i]));
        return list;
}
