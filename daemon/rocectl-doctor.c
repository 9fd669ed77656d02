/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl doctor": collects what stops RoCE here, each with evidence and remedy. Changes nothing and makes
 * no directory. */

#include "rocectl-doctor.h"

#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-show.h"

/* Of the places of a finding so many are named to people. */
#define WHERE_NAMED_MAX 4

void findings_done(Findings *findings) {
        for (size_t i = 0; i < findings->n_items; i++) {
                for (size_t k = 0; k < findings->items[i].n_where; k++)
                        free(findings->items[i].where[k]);
                free(findings->items[i].where);
                free(findings->items[i].evidence);
                free(findings->items[i].remedy);
        }
        for (size_t i = 0; i < findings->n_unseen; i++)
                free(findings->unseen[i]);
        free(findings->items);
        free(findings->unseen);
}

static Finding *findings_find(Findings *findings, const char *id, const char *evidence, const char *remedy) {
        for (size_t i = 0; i < findings->n_items; i++) {
                Finding *finding = findings->items + i;

                if (streq(finding->id, id) && streq(finding->evidence, evidence) &&
                    streq(finding->remedy, remedy))
                        return finding;
        }
        return NULL;
}

void findings_add(Findings *findings, const char *id, const char *where, char *evidence, char *remedy) {
        Finding *finding = findings_find(findings, id, evidence, remedy);

        if (!finding) {
                findings->items = NEED((Finding *) reallocarray(findings->items, findings->n_items + 1,
                                                                sizeof(Finding)));
                finding = findings->items + findings->n_items++;
                *finding = (Finding){ .id = id, .evidence = evidence, .remedy = remedy };
        } else {
                free(evidence);
                free(remedy);
        }
        if (!where)
                return;
        finding->where = NEED((char **) reallocarray(finding->where, finding->n_where + 1, sizeof(char *)));
        finding->where[finding->n_where++] = NEED(strdup(where));
}

void findings_add_unseen(Findings *findings, char *text) {
        for (size_t i = 0; i < findings->n_unseen; i++)
                if (streq(findings->unseen[i], text)) {
                        free(text);
                        return;
                }
        findings->unseen = NEED(
                        (char **) reallocarray(findings->unseen, findings->n_unseen + 1, sizeof(char *)));
        findings->unseen[findings->n_unseen++] = text;
}

static void findings_print(const Options *options, const Findings *findings) {
        for (size_t i = 0; i < findings->n_items; i++) {
                const Finding *finding = findings->items + i;
                _cleanup_free_ char *where = texts_format((const char *const *) finding->where,
                                                          finding->n_where, WHERE_NAMED_MAX);

                output_toned(TONE_WARNING, finding->id);
                output_line(": %s%s%s", finding->n_where > 0 ? where : "", finding->n_where > 0 ? ": " : "",
                            finding->evidence);
                output_line("    Remedy: %s", finding->remedy);
        }
        if (options->no_legend)
                return;

        if (findings->n_items > 0)
                putchar('\n');
        for (size_t i = 0; i < findings->n_unseen; i++)
                output_line("Not looked at: %s", findings->unseen[i]);
        if (findings->n_items == 0)
                output_line("Nothing found that stops RoCE here.");
        else
                output_line("%zu finding%s.", findings->n_items, findings->n_items == 1 ? "" : "s");
}

static void findings_write(const Findings *findings) {
        _cleanup_json_ json_object *document = document_begin();
        json_object *list = NEED(json_object_new_array());

        for (size_t i = 0; i < findings->n_items; i++) {
                const Finding *finding = findings->items + i;
                json_object *object = NEED(json_object_new_object());

                json_object_object_add(object, "id", json_string(finding->id));
                json_object_object_add(object, "where",
                                       json_texts((const char *const *) finding->where, finding->n_where));
                json_object_object_add(object, "evidence", json_string(finding->evidence));
                json_object_object_add(object, "remedy", json_string(finding->remedy));
                json_object_array_add(list, object);
        }
        json_object_object_add(document, "findings", list);
        json_object_object_add(document, "unseen",
                               json_texts((const char *const *) findings->unseen, findings->n_unseen));
        output_json(document);
}

int verb_doctor(const Options *options, char **arguments) {
        _cleanup_(findings_done) Findings findings = {};
        _cleanup_json_ json_object *document = NULL;
        _cleanup_(host_done) Host host = {};
        int code;

        code = host_acquire(options, &host);
        if (code != CODE_DONE)
                return code;
        document = document_make(&host, arguments);

        examine_devices(document, &findings);
        examine_kernel(&findings);
        examine_policy(&host, document, &findings);
        examine_policy_names(&host, document, &findings);
        examine_daemon(document, &findings);
        examine_writers(&findings);
        examine_ports(document, &findings);
        examine_priorities(document, &findings);
        examine_warnings(document, &findings);

        output_open(options, true);
        if (options->json)
                findings_write(&findings);
        else if (!options->quiet)
                findings_print(options, &findings);
        return output_close(findings.n_items > 0 ? CODE_NOT_COMPLIANT : CODE_DONE);
}
