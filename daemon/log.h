/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Records for the journal, with fields; where stderr does not lead to the journal, or there is none, the same facts as text on stderr. */

#include <syslog.h>
#include <systemd/sd-id128.h>

#include "base.h"

/* Every field is "NAME=value". */
#define LOG_FIELDS_MAX 24

typedef struct Record {
        int priority; /* LOG_ERR … LOG_DEBUG */
        sd_id128_t message_id;
        char *message;
        char *fields[LOG_FIELDS_MAX];
        size_t n_fields;
} Record;

/* "foreign": this process is not roced.service's main one, so its records name that unit (OBJECT_SYSTEMD_UNIT) to be found by
 * "journalctl -u roced". "quiet": no text on stderr as long as the journal takes the records. */
void log_open(bool foreign, bool quiet);

/* Adds a field; a NULL value adds none. Out of memory drops the field. Control characters become '?'. */
void record_add(Record *record, const char *name, const char *value);
void record_addf(Record *record, const char *name, const char *format, ...) PRINTF(3, 4);
void record_message(Record *record, const char *format, ...) PRINTF(2, 3);

/* Sends it, and frees what the record holds. */
void record_send(Record *record);

/* A record without fields. */
void log_message(int priority, sd_id128_t message_id, const char *format, ...) PRINTF(3, 4);
