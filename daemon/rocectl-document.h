/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The picture of the host that "status --json" prints. It is also what the tables are made from, so that
 * people and programs are told the same. */

#include <json-c/json.h>

#include "plan.h"
#include "rocectl-host.h"

/* The picture of all devices, or of those named. Gives an exit code: CODE_DONE or CODE_NOT_COMPLIANT by what
 * the picture shows, CODE_USAGE if the installed policy is invalid; with CODE_FAILED there is no picture,
 * and why not has been said. */
int document_acquire(const Options *options, char **names, json_object **ret);

/* The same from what is known already, and the exit code by what it shows. */
json_object *document_make(const Host *host, char **names);
int document_code(json_object *document);

/* Tells of names that no device bears, with the one that was probably meant. CODE_FAILED if there is any. */
int document_check_names(const Host *host, char **names);

/* {"schema", "version", "host", "time", "boot_id", "kernel"}: what each document begins with. */
json_object *document_begin(void);

/* NULL: not there, or null. */
json_object *json_get(json_object *object, const char *key);

/* The same, if it is an object. */
json_object *json_get_object(json_object *object, const char *key);

/* NULL: not there, or no text. */
const char *json_get_text(json_object *object, const char *key);

/* The length of a list; 0 if it is none. */
size_t json_get_list(json_object *object, const char *key, json_object **ret);

/* The state of an attribute of a port; STATE_UNKNOWN if it cannot be told. */
State json_get_state(json_object *port, Attribute attribute);

/* A list of "v1" and "v2", from a set of Support. */
json_object *json_support(unsigned support);

/* Whether all is compliant, from parts: 1 yes, 0 no, -1 not known. */
int compliance_add(int sum, int part);
json_object *json_compliance(int compliance);
int compliance_to_code(int compliance);
