/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* See fault.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

typedef struct Fault {
        struct Fault *next;
        Operation operation;
        char device[MODEL_NAME_MAX + 1];
        unsigned port;                  /* 0: any */
        int attribute;                  /* -1: any */
        int skip;
        int count;
        Effect effect;
} Fault;

static Fault *faults;

static const char *const operation_names[_OPERATION_MAX] = {
        [OPERATION_MKDIR]  = "mkdir",
        [OPERATION_RMDIR]  = "rmdir",
        [OPERATION_LOOKUP] = "lookup",
        [OPERATION_OPEN]   = "open",
        [OPERATION_READ]   = "read",
        [OPERATION_WRITE]  = "write",
        [OPERATION_FLUSH]  = "flush",
};

static const char *const action_names[_ACTION_MAX] = {
        [ACTION_NONE]   = "none",
        [ACTION_ERRNO]  = "errno",
        [ACTION_IGNORE] = "ignore",
        [ACTION_SHORT]  = "short",
        [ACTION_LIE]    = "lie",
        [ACTION_BLOCK]  = "block",
        [ACTION_DELAY]  = "delay",
        [ACTION_VANISH] = "vanish",
        [ACTION_RMDIR]  = "rmdir",
};

const char *operation_name(Operation o) {
        return operation_names[o];
}

static int name_index(const char *const *names, int n, const char *name) {
        for (int i = 0; i < n; i++)
                if (strcmp(names[i], name) == 0)
                        return i;

        return -EINVAL;
}

int fault_add(const char *line) {
        char operation[16], device[MODEL_NAME_MAX + 1], port[16], attribute[32], action[16];
        int skip, count, argument = 0, o, a, attr = -1;
        Fault *f, **last;

        if (sscanf(line, "%15s %63s %15s %31s %d %d %15s %n", operation, device, port, attribute,
                   &skip, &count, action, &argument) < 7)
                return -EINVAL;

        o = name_index(operation_names, _OPERATION_MAX, operation);
        a = name_index(action_names, _ACTION_MAX, action);
        if (strcmp(attribute, "*") != 0)
                attr = attribute_from_name(attribute);
        if (o < 0 || a < 0 || attr == -ENOENT)
                return -EINVAL;

        f = calloc(1, sizeof(*f));
        if (!f)
                return -ENOMEM;

        f->operation = o;
        strcpy(f->device, device);
        f->port = strcmp(port, "*") == 0 ? 0 : strtoul(port, NULL, 10);
        f->attribute = attr;
        f->skip = skip;
        f->count = count;
        f->effect.action = a;
        f->effect.number = atoi(line + argument);
        snprintf(f->effect.text, sizeof(f->effect.text), "%s", line + argument);

        for (last = &faults; *last; last = &(*last)->next)
                ;
        *last = f;

        return 0;
}

static void fault_remove_if(bool (*predicate)(const Fault *f)) {
        for (Fault **p = &faults; *p;) {
                Fault *f = *p;

                if (!predicate(f)) {
                        p = &f->next;
                        continue;
                }
                *p = f->next;
                free(f);
        }
}

static bool is_any(const Fault *f) {
        return f;
}

static bool is_block(const Fault *f) {
        return f->effect.action == ACTION_BLOCK;
}

void fault_clear(void) {
        fault_remove_if(is_any);
}

void fault_clear_blocks(void) {
        fault_remove_if(is_block);
}

Effect fault_take(const Where *w) {
        for (Fault *f = faults; f; f = f->next) {
                if (f->operation != w->operation || f->count == 0)
                        continue;
                if (strcmp(f->device, "*") != 0 && strcmp(f->device, w->device) != 0)
                        continue;
                if (f->port != 0 && f->port != w->port)
                        continue;
                if (f->attribute >= 0 && f->attribute != w->attribute)
                        continue;
                if (f->skip > 0) {
                        f->skip--;
                        continue;
                }
                if (f->count > 0)
                        f->count--;
                return f->effect;
        }

        return (Effect) { .action = ACTION_NONE };
}
