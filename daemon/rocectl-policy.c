/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Loading a policy for a verb, and the verb that does only that. */

#include "rocectl-policy.h"

#include "message.h"
#include "report-json.h"
#include "rocectl-output.h"

bool judge_load(const char *file, Judge *judge) {
        *judge = (Judge){};
        judge->error = policy_load(file, NULL, &judge->policy, &judge->messages);
        if (judge->error == -ENOMEM)
                complain(CODE_FAILED, "out of memory");
        return judge->error != -ENOMEM;
}

void judge_done(Judge *judge) {
        policy_unref(judge->policy);
        messages_done(&judge->messages);
}

int judge_code(const Judge *judge) {
        if (judge->error == 0)
                return CODE_DONE;
        return judge->error == -EBADMSG ? CODE_USAGE : CODE_FAILED;
}

void messages_print(const Messages *messages, Severity least) {
        for (size_t i = 0; i < messages->n_items; i++) {
                _cleanup_free_ char *text = NULL;

                if (messages->items[i].severity > least)
                        continue;
                text = NEED(message_format(messages->items + i));
                fputs(text, stderr);
        }
}

static char *message_line(const Message *message) {
        if (!message->path)
                return NEED(strdup(message->text));
        if (message->line == 0)
                return need_text("%s: %s", message->path, message->text);
        return need_text("%s:%u:%u: %s", message->path, message->line, message->column, message->text);
}

char *judge_first_error(const Judge *judge) {
        for (size_t i = 0; i < judge->messages.n_items; i++)
                if (judge->messages.items[i].severity == SEVERITY_ERROR)
                        return message_line(judge->messages.items + i);
        return need_text("%s", strerror(-judge->error));
}

json_object *json_warnings(const Messages *messages) {
        json_object *list = NEED(json_object_new_array());

        for (size_t i = 0; i < messages->n_items; i++)
                if (messages->items[i].severity == SEVERITY_WARNING) {
                        _cleanup_free_ char *line = message_line(messages->items + i);

                        json_object_array_add(list, json_string(line));
                }
        return list;
}
