/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One pass over all devices, without the daemon: what "plan" and "apply" found or did, and how they tell it.
 */

#include <json-c/json.h>
#include <signal.h>

#include "reconcile.h"
#include "rocectl-policy.h"

typedef struct Pass {
        DeviceReport **reports; /* sorted by name */
        size_t n_reports;
        size_t n_invalid; /* devices whose names no path can hold */
} Pass;

void pass_done(Pass *pass);

/* Puts off what would end the program, since a directory in configfs is made and removed within a call.
 * "ret_before" may be NULL. */
void signals_block(sigset_t *ret_before);

/* Looks at all devices, and writes no value; root makes a directory that is missing, and removes it again. */
int pass_acquire(Pass *pass, Policy *policy);

/* Takes the report over, in place of one of that name. 0 or -ENOMEM. */
int pass_put(Pass *pass, DeviceReport *report);

/* Leaves out the devices that are not among the names. */
void pass_keep(Pass *pass, char **names);

/* Adds the rules that match nothing here to the judge's warnings. 0 or -ENOMEM. */
int pass_lint(const Pass *pass, Judge *judge);

/* 1: all compliant, 0: not, -1: not known. */
int pass_compliance(const Pass *pass);

/* Names the devices that could not be read, or whose directory is left. Gives CODE_FAILED for any. */
int pass_complain(const Pass *pass);

/* Prints what was changed, or would be, and what is not as the policy wants; and what peers_judge() gave,
 * which it takes over, NULL: nothing. Gives an exit code. */
int pass_show(const Options *options, const Pass *pass, const Judge *judge, bool applied,
              json_object *peers);
