/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The records of roced and rocectl in the journal of this host. Those of root alone count: anyone may send a record
 * that bears the same fields. */

#include <json-c/json.h>
#include <systemd/sd-journal.h>

#include "base.h"

/* Opens it, with that match set. -errno. */
int journal_open(sd_journal **ret);

/* Adds "field=value" to what records must have; of several values of one field any will do. */
int journal_match(sd_journal *journal, const char *field, const char *value);

/* The record at which the journal stands: {"time", "host", "program", "pid", "priority", "message_id", "message",
 * "device", "port", "attribute", "wanted", "found", "readback", "state", "rule", "rule_source", "policy_sha256",
 * "trigger", "netdev", "pci", "errno"}; what it has not is null. */
json_object *journal_record(sd_journal *journal);

/* Of a record: "2026-01-31T12:00:00.000Z warning rocectl[77]: message (trigger, rule's file:line)"; allocated. */
char *journal_record_format(json_object *record);

/* The last record that has all these; NULL: there is none, or none that may be read. */
json_object *journal_find_last(const char *device, unsigned port, const char *attribute);
