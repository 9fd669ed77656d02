/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the journal by libsystemd. */

#include "rocectl-journal.h"

#include "report-json.h"
#include "rocectl-document.h"

int journal_match(sd_journal *journal, const char *field, const char *value) {
        _cleanup_free_ char *match = need_text("%s=%s", field, value);

        return sd_journal_add_match(journal, match, 0);
}

int journal_open(sd_journal **ret) {
        _cleanup_(sd_journal_closep) sd_journal *journal = NULL;
        int r;

        r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);
        if (r >= 0)
                r = journal_match(journal, "_UID", "0");
        if (r >= 0)
                r = journal_match(journal, "SYSLOG_IDENTIFIER", "roced");
        if (r >= 0)
                r = journal_match(journal, "SYSLOG_IDENTIFIER", "rocectl");
        if (r < 0)
                return r;
        *ret = TAKE_PTR(journal);
        return 0;
}

/* The value as text; allocated. NULL: the record has no such field, or no text in it. */
static char *record_field(sd_journal *journal, const char *field) {
        const void *data;
        size_t size, skip = strlen(field) + 1;

        if (sd_journal_get_data(journal, field, &data, &size) < 0 || size < skip || memchr(data, 0, size))
                return NULL;
        return NEED(strndup((const char *) data + skip, size - skip));
}

/* A number where it is one. */
static json_object *json_field(const char *text, bool number) {
        char *end;
        long value;

        if (!text || !number)
                return json_string(text);
        errno = 0;
        value = strtol(text, &end, 10);
        return errno != 0 || *end || end == text ? json_string(text) : json_object_new_int64(value);
}

static void add_field(json_object *record, const char *key, sd_journal *journal, const char *field, bool number) {
        _cleanup_free_ char *text = record_field(journal, field);

        json_object_object_add(record, key, json_field(text, number));
}

json_object *journal_record(sd_journal *journal) {
        static const struct {
                const char *key, *field;
                bool number;
        } fields[] = {
                { "host", "_HOSTNAME", false },
                { "program", "SYSLOG_IDENTIFIER", false },
                { "pid", "_PID", true },
                { "priority", "PRIORITY", true },
                { "message_id", "MESSAGE_ID", false },
                { "message", "MESSAGE", false },
                { "device", "ROCED_DEVICE", false },
                { "port", "ROCED_PORT", true },
                { "attribute", "ROCED_ATTRIBUTE", false },
                { "wanted", "ROCED_WANTED", true },
                { "found", "ROCED_FOUND", true },
                { "readback", "ROCED_READBACK", true },
                { "state", "ROCED_STATE", false },
                { "rule", "ROCED_RULE", false },
                { "rule_source", "ROCED_RULE_SOURCE", false },
                { "policy_sha256", "ROCED_POLICY_SHA256", false },
                { "trigger", "ROCED_TRIGGER", false },
                { "netdev", "ROCED_NETDEV", false },
                { "pci", "ROCED_PCI", false },
                { "errno", "ERRNO", true },
        };
        json_object *record = NEED(json_object_new_object());
        uint64_t usec = 0;

        (void) sd_journal_get_realtime_usec(journal, &usec);
        json_object_object_add(record, "time", json_time(usec));
        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                add_field(record, fields[i].key, journal, fields[i].field, fields[i].number);
        return record;
}

static const char *priority_text(json_object *record) {
        static const char *const table[] = { "emergency", "alert",  "critical", "error",
                                             "warning",   "notice", "info",     "debug" };
        json_object *priority = json_get(record, "priority");
        int64_t number = json_object_is_type(priority, json_type_int) ? json_object_get_int64(priority) : 6;

        return table[number >= 0 && number < (int64_t) ELEMENTSOF(table) ? number : 6];
}

char *journal_record_format(json_object *record) {
        const char *program = json_get_text(record, "program"), *message = json_get_text(record, "message");
        const char *trigger = json_get_text(record, "trigger"), *source = json_get_text(record, "rule_source");
        const char *pid = json_object_get_string(json_get(record, "pid"));
        _cleanup_free_ char *why = NULL;

        if (trigger || source)
                why = need_text(" (%s%s%s)", trigger ? trigger : "", trigger && source ? ", " : "",
                                source ? source : "");
        return need_text("%s %s %s[%s]: %s%s", json_get_text(record, "time"), priority_text(record),
                         program ? program : "?", pid ? pid : "?", message ? message : "no text", why ? why : "");
}

json_object *journal_find_last(const char *device, unsigned port, const char *attribute) {
        _cleanup_(sd_journal_closep) sd_journal *journal = NULL;
        char number[16];
        int r;

        snprintf(number, sizeof(number), "%u", port);
        r = journal_open(&journal);
        if (r >= 0)
                r = journal_match(journal, "ROCED_DEVICE", device);
        if (r >= 0)
                r = journal_match(journal, "ROCED_PORT", number);
        if (r >= 0)
                r = journal_match(journal, "ROCED_ATTRIBUTE", attribute);
        if (r >= 0)
                r = sd_journal_seek_tail(journal);
        if (r >= 0)
                r = sd_journal_previous(journal);
        return r > 0 ? journal_record(journal) : NULL;
}
