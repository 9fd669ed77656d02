/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Stands in for daemon/log.c: keeps the records that are sent, to be looked at. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "log.h"
#include "message-ids.h"

static Record sink_records[1024];
static size_t sink_n;

void record_addf(Record *record, const char *name, const char *format, ...) {
        char value[1024];
        va_list ap;

        va_start(ap, format);
        vsnprintf(value, sizeof(value), format, ap);
        va_end(ap);
        assert_in_range(record->n_fields, 0, LOG_FIELDS_MAX - 1);
        assert_return_code(asprintf(&record->fields[record->n_fields++], "%s=%s", name, value), 0);
}

void record_add(Record *record, const char *name, const char *value) {
        if (value)
                record_addf(record, name, "%s", value);
}

void record_message(Record *record, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        assert_return_code(vasprintf(&record->message, format, ap), 0);
        va_end(ap);
}

void record_send(Record *record) {
        assert_in_range(sink_n, 0, ELEMENTSOF(sink_records) - 1);
        sink_records[sink_n++] = *record;
        *record = (Record) {};
}

void log_message(int priority, sd_id128_t message_id, const char *format, ...) {
        Record record = { .priority = priority, .message_id = message_id };
        va_list ap;

        va_start(ap, format);
        assert_return_code(vasprintf(&record.message, format, ap), 0);
        va_end(ap);
        record_send(&record);
}

/* Forgets what has been sent. */
static inline void sink_empty(void) {
        for (size_t i = 0; i < sink_n; i++) {
                for (size_t f = 0; f < sink_records[i].n_fields; f++)
                        free(sink_records[i].fields[f]);
                free(sink_records[i].message);
        }
        sink_n = 0;
}

/* The value of a field; NULL: the record has none. */
static inline const char *record_field(const Record *record, const char *name) {
        size_t length = strlen(name);

        for (size_t i = 0; i < record->n_fields; i++)
                if (startswith(record->fields[i], name) && record->fields[i][length] == '=')
                        return record->fields[i] + length + 1;
        return NULL;
}

/* The one record there is must be this; it is forgotten then. */
#define assert_told(level, id, text)                                           \
        do {                                                                   \
                assert_int_equal(sink_n, 1);                                   \
                assert_string_equal(sink_records[0].message, (text));          \
                assert_int_equal(sink_records[0].priority, (level));           \
                assert_true(sd_id128_equal(sink_records[0].message_id, (id))); \
                sink_empty();                                                  \
        } while (0)

#define assert_told_nothing()                                                 \
        do {                                                                  \
                if (sink_n > 0)                                               \
                        print_message("told: %s\n", sink_records[0].message); \
                assert_int_equal(sink_n, 0);                                  \
        } while (0)
