/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl log": the records of roced and rocectl in the journal, a line each, oldest first. */

#include "clock.h"
#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-journal.h"
#include "rocectl-output.h"
#include "rocectl-time.h"

typedef struct Log {
        sd_journal *journal;
        uint64_t since_usec;  /* 0: all there is */
        json_object *records; /* NULL: they are printed at once */
        size_t n_records;
        bool quiet;
        char **names;
        bool *named; /* of each name: there was a record */
} Log;

static int log_parse(const Options *options, char **names, Log *log) {
        for (char **name = names; *name; name++)
                if (!device_name_is_valid(*name))
                        return complain(CODE_USAGE, "no device can bear the name '%s'", *name);

        if (options->since && time_parse(options->since, clock_usec(CLOCK_REALTIME), &log->since_usec) < 0)
                return complain(CODE_USAGE,
                                "--since takes a time such as \"2026-01-31 13:00\", \"today\", \"-1h\" or \"2 days "
                                "ago\", not '%s'",
                                options->since);
        return CODE_DONE;
}

static int log_open_journal(Log *log) {
        int r;

        r = journal_open(&log->journal);
        for (char **name = log->names; r >= 0 && *name; name++)
                r = journal_match(log->journal, "ROCED_DEVICE", *name);
        if (r >= 0)
                r = log->since_usec > 0 ? sd_journal_seek_realtime_usec(log->journal, log->since_usec)
                                        : sd_journal_seek_head(log->journal);
        return r;
}

static Tone priority_tone(json_object *record) {
        switch (json_object_get_int(json_get(record, "priority"))) {
        case 0 ... 3:
                return TONE_BAD;
        case 4:
                return TONE_WARNING;
        case 7:
                return TONE_FAINT;
        default:
                return TONE_PLAIN;
        }
}

static void log_show(Log *log, json_object *record) {
        _cleanup_free_ char *line = NULL;
        const char *device = json_get_text(record, "device");

        log->n_records++;
        for (size_t i = 0; log->names[i]; i++)
                log->named[i] = log->named[i] || streq_ptr(log->names[i], device);
        if (log->records)
                json_object_array_add(log->records, json_object_get(record));
        else if (!log->quiet) {
                line = journal_record_format(record);
                output_toned(priority_tone(record), line);
                putchar('\n');
        }
}

static int log_read(Log *log) {
        uint64_t usec;
        int r;

        while ((r = sd_journal_next(log->journal)) > 0) {
                _cleanup_json_ json_object *record = NULL;

                /* Where files of several boots are read the seek may end a little early. */
                if (sd_journal_get_realtime_usec(log->journal, &usec) >= 0 && usec < log->since_usec)
                        continue;
                record = journal_record(log->journal);
                if (json_get_text(record, "message_id"))
                        log_show(log, record);
        }
        return r;
}

/* Names that are neither in the journal nor here were probably misspelt. */
static int log_check_names(const Log *log) {
        int code = CODE_DONE;

        for (size_t i = 0; log->names[i]; i++) {
                uint64_t instance;

                if (!log->named[i] && device_instance_acquire(log->names[i], &instance) < 0)
                        code = complain(CODE_FAILED, "there is no RDMA device '%s', and no record of one%s",
                                        log->names[i], log->since_usec > 0 ? " since then" : "");
        }
        return code;
}

static int log_run(const Options *options, Log *log) {
        int code, r;

        r = log_open_journal(log);
        if (r < 0)
                return complain(CODE_FAILED, "the journal cannot be read: %s", strerror(-r));
        if (sd_journal_has_runtime_files(log->journal) <= 0 && sd_journal_has_persistent_files(log->journal) <= 0)
                return complain(CODE_FAILED, "there is no journal here%s",
                                geteuid() == 0 ? ""
                                               : " that this user may read; root and the group systemd-journal may "
                                                 "read all");

        output_open(options, true);
        r = log_read(log);
        code = log_check_names(log);
        if (r < 0)
                code = complain(CODE_FAILED, "the journal cannot be read to its end: %s", strerror(-r));
        if (log->records) {
                _cleanup_json_ json_object *document = document_begin();

                json_object_object_add(document, "records", json_object_get(log->records));
                output_json(document);
        } else if (log->n_records == 0 && code == CODE_DONE && !options->quiet && !options->no_legend)
                output_line("There are no records%s.", geteuid() == 0 ? "" : " that this user may read");
        return output_close(code);
}

int verb_log(const Options *options, char **arguments) {
        Log log = { .names = arguments, .quiet = options->quiet };
        size_t n = 0;
        int code;

        code = log_parse(options, arguments, &log);
        if (code != CODE_DONE)
                return code;

        while (arguments[n])
                n++;
        log.named = NEED((bool *) calloc(n + 1, sizeof(bool)));
        log.records = options->json ? NEED(json_object_new_array()) : NULL;
        code = log_run(options, &log);
        json_object_put(log.records);
        sd_journal_close(log.journal);
        free(log.named);
        return code;
}
