/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl check": reads policies and says what is wrong with them. Looks at the devices that are here only
 * to tell which rules match none of them. */

#include "device.h"
#include "policy-load.h"
#include "report-json.h"
#include "rocectl-output.h"
#include "rocectl-policy.h"

typedef struct Devices {
        Device **items;
        size_t n_items;
} Devices;

static void devices_done(Devices *devices) {
        for (size_t i = 0; i < devices->n_items; i++)
                device_free(devices->items[i]);
        free(devices->items);
}

/* What cannot be read is not there: a policy is checked on any machine. */
static void devices_acquire(Devices *devices) {
        _cleanup_(names_freep) char **names = NULL;
        size_t n_invalid, n = 0;

        if (device_names_acquire(&names, &n_invalid) < 0)
                return;
        while (names[n])
                n++;
        devices->items = NEED((Device **) calloc(MAX_OF(n, 1U), sizeof(Device *)));
        for (size_t i = 0; i < n; i++)
                if (device_acquire(names[i], ACQUIRE_PROPERTIES, devices->items + devices->n_items) >= 0)
                        devices->n_items++;
}

static void json_add_messages(json_object *list, const Messages *messages) {
        for (size_t i = 0; i < messages->n_items; i++) {
                const Message *message = messages->items + i;
                json_object *object = NEED(json_object_new_object());
                bool error = message->severity == SEVERITY_ERROR;

                json_object_object_add(object, "file", json_string(message->path));
                json_object_object_add(object, "line",
                                       message->line > 0 ? json_object_new_int64(message->line) : NULL);
                json_object_object_add(object, "column",
                                       message->line > 0 ? json_object_new_int64(message->column) : NULL);
                json_object_object_add(object, "severity",
                                       json_object_new_string(error ? "error" : "warning"));
                json_object_object_add(object, "text", json_string(message->text));
                json_object_array_add(list, object);
        }
}

/* {"file", "valid", "sha256", "files", "rules", "messages"}; "file" null is the installed policy. */
static json_object *json_checked(const char *file, const Judge *judge) {
        json_object *object = NEED(json_object_new_object()), *messages = NEED(json_object_new_array());
        _cleanup_json_ json_object *policy = json_policy(judge->policy);
        json_object *member;

        json_add_messages(messages, &judge->messages);
        json_object_object_add(object, "file", json_string(file));
        json_object_object_add(object, "valid", json_object_new_boolean(judge->error == 0));
        json_object_object_add(object, "sha256",
                               json_object_object_get_ex(policy, "sha256", &member) ? json_object_get(member)
                                                                                    : NULL);
        json_object_object_add(object, "files",
                               json_object_object_get_ex(policy, "files", &member) ? json_object_get(member)
                                                                                   : NULL);
        json_object_object_add(object, "rules",
                               judge->policy ? json_object_new_int64((int64_t) judge->policy->n_rules)
                                             : NULL);
        json_object_object_add(object, "messages", messages);
        return object;
}

static void print_valid(const char *file, const Judge *judge) {
        size_t n_warnings = messages_count(&judge->messages, SEVERITY_WARNING), n_files = 0;
        _cleanup_free_ char *warnings = NULL, *more = NULL;
        const Policy *policy = judge->policy;

        if (!policy) {
                output_line("No policy is installed, neither " POLICY_FILE " nor a drop-in; nothing is managed.");
                return;
        }

        while (policy->files[n_files])
                n_files++;
        more = n_files > 1 ? need_text(" and %zu more", n_files - 1) : NEED(strdup(""));
        warnings = n_warnings > 0 ? need_text(", %zu warning%s", n_warnings, n_warnings == 1 ? "" : "s")
                                  : NEED(strdup(""));
        output_line("%s%s: valid, %zu rule%s%s, sha256 %s",
                    file && !streq(file, "-") ? file : policy->files[0], more, policy->n_rules,
                    policy->n_rules == 1 ? "" : "s", warnings, policy->sha256);
}

/* The worse of two exit codes: a file that cannot be read comes before one that is invalid. */
static int worse(int a, int b) {
        if (a == CODE_FAILED || b == CODE_FAILED)
                return CODE_FAILED;
        return MAX_OF(a, b);
}

static int check_one(const Options *options, const char *file, const Devices *devices,
                     json_object *checked) {
        _cleanup_(judge_done) Judge judge = {};

        if (!judge_load(file, &judge))
                return CODE_FAILED;

        /* Where there is no device at all a policy for another host is being checked. */
        if (judge.policy && devices->n_items > 0 &&
            policy_lint_devices(judge.policy, (const Device *const *) devices->items, devices->n_items,
                                &judge.messages) < 0)
                need(NULL);

        if (options->json)
                json_object_array_add(checked, json_checked(file, &judge));
        else {
                (void) fflush(stdout);
                messages_print(&judge.messages, options->quiet ? SEVERITY_ERROR : SEVERITY_WARNING);
                if (judge.error == 0 && !options->quiet)
                        print_valid(file, &judge);
        }
        return judge_code(&judge);
}

int verb_check(const Options *options, char **arguments) {
        char *installed[] = { NULL, NULL }, *given[] = { (char *) options->policy_file, NULL };
        char **files = arguments[0] ? arguments : options->policy_file ? given : installed;
        _cleanup_json_ json_object *document = NEED(json_object_new_object());
        _cleanup_(devices_done) Devices devices = {};
        json_object *checked = NEED(json_object_new_array());
        int code = CODE_DONE;

        if (arguments[0] && options->policy_file) {
                json_object_put(checked);
                return complain(CODE_USAGE, "FILE and --policy mean the same: give one of them");
        }

        output_open(options, false);
        /* Quiet drops what the devices are asked for, and "systemctl reload" shall not wait for a driver that hangs. */
        if (!options->quiet || options->json)
                devices_acquire(&devices);
        do
                code = worse(code, check_one(options, *files, &devices, checked));
        while (*files && *++files);

        json_object_object_add(document, "schema", json_object_new_int(JSON_SCHEMA));
        json_object_object_add(document, "valid", json_object_new_boolean(code == CODE_DONE));
        json_object_object_add(document, "policies", checked);
        if (options->json)
                output_json(document);
        return output_close(code);
}
