/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* daemon/log.h: counts the records, and shows them in a trace. Allocates nothing, so that a trace changes nothing. */

#include <stdarg.h>

#include "log.h"
#include "message-ids.h"
#include "simulation.h"

static char text[1024];
uint64_t n_told, n_told_changed;

static void told(int priority, sd_id128_t id) {
        n_told++;
        n_told_changed += sd_id128_equal(id, MESSAGE_CHANGED_ID) != 0;
        trace("record %i: %s", priority, text);
}

void record_add(Record *record, const char *name, const char *value) {
}

void record_addf(Record *record, const char *name, const char *format, ...) {
}

void record_message(Record *record, const char *format, ...) {
        va_list ap;

        if (!world.verbose)
                return;
        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
}

void record_send(Record *record) {
        told(record->priority, record->message_id);
}

void log_message(int priority, sd_id128_t message_id, const char *format, ...) {
        va_list ap;

        if (world.verbose) {
                va_start(ap, format);
                vsnprintf(text, sizeof(text), format, ap);
                va_end(ap);
        }
        told(priority, message_id);
}
