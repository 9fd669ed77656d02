/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends records. Knows nothing of what they mean. */

#include "log.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include "text.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static bool log_foreign;
static bool log_quiet;
static bool stderr_is_journal;

/* JOURNAL_STREAM names the device and inode of the stream that systemd connected to stderr. See systemd.exec(5). */
static bool stderr_leads_to_journal(void) {
        const char *stream = getenv("JOURNAL_STREAM");
        char ours[64];
        struct stat st;

        if (!stream || fstat(STDERR_FILENO, &st) < 0)
                return false;
        snprintf(ours, sizeof(ours), "%llu:%llu", (unsigned long long) st.st_dev, (unsigned long long) st.st_ino);
        return streq(stream, ours);
}

void log_open(bool foreign, bool quiet) {
        log_foreign = foreign;
        log_quiet = quiet;
        stderr_is_journal = stderr_leads_to_journal();
        /* A line each time, not a word. */
        (void) setvbuf(stderr, NULL, _IOLBF, 0);
}

void record_add(Record *record, const char *name, const char *value) {
        if (value)
                record_addf(record, name, "%s", value);
}

void record_addf(Record *record, const char *name, const char *format, ...) {
        _cleanup_free_ char *value = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&value, format, ap);
        va_end(ap);
        if (r < 0) {
                value = NULL;
                return;
        }

        text_make_plain(value, "");
        if (record->n_fields < LOG_FIELDS_MAX &&
            asprintf(&record->fields[record->n_fields], "%s=%s", name, value) >= 0)
                record->n_fields++;
}

void record_message(Record *record, const char *format, ...) {
        va_list ap;

        free(record->message);
        va_start(ap, format);
        if (vasprintf(&record->message, format, ap) < 0)
                record->message = NULL;
        else
                text_make_plain(record->message, "\n");
        va_end(ap);
}

static const char *priority_to_string(int priority) {
        static const char *const table[] = {
                [LOG_EMERG] = "error", [LOG_ALERT] = "error", [LOG_CRIT] = "error", [LOG_ERR] = "error",
                [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice", [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
        };

        return table[priority];
}

static void print_text(const Record *record) {
        if (record->priority >= LOG_DEBUG)
                return;

        fprintf(stderr, "%s: %s: %s", program_invocation_short_name, priority_to_string(record->priority),
                record->message ? record->message : "out of memory");
        if (record->n_fields > 0) {
                fputs(" [", stderr);
                for (size_t i = 0; i < record->n_fields; i++)
                        fprintf(stderr, "%s%s", i > 0 ? " " : "", record->fields[i]);
                fputc(']', stderr);
        }
        fputc('\n', stderr);
}

static struct iovec iovec_string(char *text) {
        return (struct iovec) { .iov_base = text, .iov_len = strlen(text) };
}

/* sd_journal_sendv() says 0 also when nobody listens, so the socket is looked at. */
static bool journal_send(const Record *record) {
        struct iovec iovec[LOG_FIELDS_MAX + 4];
        char priority[32], id[64], unit[] = "OBJECT_SYSTEMD_UNIT=roced.service";
        _cleanup_free_ char *message = NULL;
        size_t n = 0;

        if (access(JOURNAL_SOCKET, F_OK) < 0)
                return false;
        if (!record->message || asprintf(&message, "MESSAGE=%s", record->message) < 0)
                return false;

        snprintf(priority, sizeof(priority), "PRIORITY=%i", record->priority);
        snprintf(id, sizeof(id), "MESSAGE_ID=" SD_ID128_FORMAT_STR, SD_ID128_FORMAT_VAL(record->message_id));
        iovec[n++] = iovec_string(message);
        iovec[n++] = iovec_string(priority);
        iovec[n++] = iovec_string(id);
        if (log_foreign)
                iovec[n++] = iovec_string(unit);
        for (size_t i = 0; i < record->n_fields; i++)
                iovec[n++] = iovec_string(record->fields[i]);

        return sd_journal_sendv(iovec, (int) n) >= 0;
}

void record_send(Record *record) {
        bool sent;

        sent = journal_send(record);
        if (!sent || (!stderr_is_journal && !log_quiet))
                print_text(record);

        for (size_t i = 0; i < record->n_fields; i++)
                free(record->fields[i]);
        free(record->message);
        *record = (Record) {};
}

void log_message(int priority, sd_id128_t message_id, const char *format, ...) {
        Record record = { .priority = priority, .message_id = message_id };
        va_list ap;

        va_start(ap, format);
        if (vasprintf(&record.message, format, ap) < 0)
                record.message = NULL;
        else
                text_make_plain(record.message, "\n");
        va_end(ap);
        record_send(&record);
}
