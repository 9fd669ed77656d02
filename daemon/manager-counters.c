/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts what finished jobs have done and met, for whoever draws curves of it. */

#include "manager-internal.h"

void counters_add_failure(Counters *counters, int error) {
        counters->failures[error < 0 && -error < COUNTERS_ERRNO_MAX ? -error : 0]++;
}

/* What was verified of this very device, and is otherwise now: another program has been at it, or a reset. */
static bool is_drift(const Story *story, const Verdict *verdict) {
        return story->begun && story->last.state == STATE_OK && story->last.wanted == verdict->wanted &&
               verdict->found != VALUE_NONE && verdict->found != verdict->wanted;
}

static const PortEntry *entry_find_port(const DeviceEntry *entry, unsigned number) {
        for (size_t i = 0; i < entry->n_ports; i++)
                if (entry->ports[i].number == number)
                        return entry->ports + i;
        return NULL;
}

static bool count_verdict(Counters *counters, const Story *story, const Verdict *verdict) {
        bool drift = story && is_drift(story, verdict), failed = verdict->state == STATE_FAILED;

        counters->writes += verdict->tried;
        counters->drifts += drift;
        if (failed)
                counters_add_failure(counters, verdict->error);
        return verdict->tried || drift || failed;
}

bool counters_add_report(Counters *counters, const DeviceEntry *entry, const DeviceReport *report) {
        bool same_instance = entry->report && entry->report->device && report->device &&
                             entry->report->device->instance == report->device->instance;
        bool counted = report->error < 0;

        if (report->error < 0)
                counters_add_failure(counters, report->error);
        for (size_t i = 0; i < report->n_ports; i++) {
                const PortEntry *port = same_instance ? entry_find_port(entry, report->ports[i].number) : NULL;

                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        counted |= count_verdict(counters, port ? port->stories + a : NULL,
                                                 report->ports[i].verdicts + a);
        }
        return counted;
}
