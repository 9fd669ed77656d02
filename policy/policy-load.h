/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From files to a Policy, or to messages that tell where and why not. A policy loads whole or not at all. */

#include <stddef.h>

#include "base.h"
#include "policy.h"

#define POLICY_FILE "/etc/roced/policy.yaml"
#define POLICY_FILE_SIZE_MAX (1U << 20)

typedef enum Severity {
        SEVERITY_ERROR,
        SEVERITY_WARNING, /* a lint: never fatal */
} Severity;

typedef struct Message {
        Severity severity;
        char *path;            /* NULL: about no file in particular */
        unsigned line, column; /* counted from 1; 0: about the file as a whole. Columns count characters */
        char *text;            /* "unknown key 'mod' in a rule; did you mean 'mode'?" on one line, no control characters */
        char *excerpt;         /* the line, a caret below it and what is allowed, each with newline; NULL if there is none */
        unsigned file, serial; /* what they are sorted by, besides line and column */
} Message;

typedef struct Messages {
        Message *items; /* in reading order of the files, then by line and column */
        size_t n_items;
} Messages;

void messages_done(Messages *messages);
size_t messages_count(const Messages *messages, Severity severity);

/* "path:line:column: error: text", newline, and the excerpt, whose last line ends in newline too; allocated, NULL out of memory. */
char *message_format(const Message *message);

/* One file's bytes, not interpreted. */
typedef struct PolicyText {
        char *path;
        char *bytes; /* NUL-terminated beyond "size" for convenience */
        size_t size;
} PolicyText;

/* Bytes -> Policy. Pure. "texts" in reading order. 0, -EBADMSG with errors in "messages", -ENOMEM. */
int policy_parse(const PolicyText *texts, size_t n_texts, Policy **ret, Messages *messages);

/* The warnings that need nothing but the policy: unreachable rules, ECN bits in tos, TOS with mode v1. Pure. */
int policy_lint(const Policy *policy, Messages *messages);

/* The rules that match no port of the devices given, and the ports that they name and no device has, as
 * warnings. Pure. */
int policy_lint_devices(const Policy *policy, const Device *const *devices, size_t n_devices, Messages *messages);

/* Reads a policy from disk and parses it. "file" NULL: the installed policy with its drop-ins, else that file alone ("-" is
 * standard input). "root" is prefixed to the installed paths when they are opened, NULL for none (tests only name another tree).
 * 0 with *ret NULL: no policy at all. -EBADMSG: invalid, see "messages"; other -errno: could not be read, also a message.
 * Lints of files (owner, mode) and of the policy are added to "messages" as warnings. */
int policy_load(const char *file, const char *root, Policy **ret, Messages *messages);

/* SHA-256 in hex over the bytes of the files in reading order, without parsing them: tells whether the disk differs from what is
 * loaded. 0 with ret[0] == 0: no policy at all. */
int policy_hash(const char *file, const char *root, char ret[static 64 + 1]);
