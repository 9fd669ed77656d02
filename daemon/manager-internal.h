/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shared by manager.c (what to do next), manager-result.c (what came of it), manager-blocked.c (what does not come back),
 * manager-counters.c and manager-summary.c. */

#include "manager.h"

#define ALL_ATTRIBUTES ((1U << _ATTRIBUTE_MAX) - 1)

DeviceEntry *manager_find_entry(const Manager *manager, const char *name);
void manager_remove_entry(Manager *manager, DeviceEntry *entry);
void manager_list_done(Manager *manager, Job *job, Now now);
void manager_add_leftover(Manager *manager, const char *name, uint64_t stamp);
uint64_t manager_blocked_deadline(const Manager *manager);
void manager_check_blocked(Manager *manager, Now now);
void manager_end_blocked(Manager *manager, const Job *job, Now now);

/* Makes the entry's ports those of the report, keeping the stories of ports that stay. */
int entry_adopt_ports(DeviceEntry *entry, const DeviceReport *report, bool same_instance);

/* Takes a verdict of the entry's report, of the port at that place, into its story. */
void entry_tell(Manager *manager, DeviceEntry *entry, size_t port, Attribute attribute, bool new_instance, Now now);

/* Adds what a report tells, against what is known of the entry before it is taken in. True: there was something to count. */
bool counters_add_report(Counters *counters, const DeviceEntry *entry, const DeviceReport *report);

/* "error" 0 or -errno. */
void counters_add_failure(Counters *counters, int error);

/* Makes it dirty, but not to be looked at before that monotonic time. */
void entry_mark_later(DeviceEntry *entry, Trigger trigger, uint64_t not_before_usec);

/* What was written to while the job ran is looked at again. */
void entry_mark_touched(DeviceEntry *entry);

/* How long to wait before the next try, after so many. */
static inline uint64_t retry_spell(unsigned retries) {
        return MIN_OF(MANAGER_RETRY_MIN_USEC << MIN_OF(retries, 16U), MANAGER_RETRY_MAX_USEC);
}

bool entry_is_compliant(const DeviceEntry *entry);
uint64_t entry_late_deadline(const DeviceEntry *entry);
