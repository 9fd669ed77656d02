/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sums over what the manager knows, for those who tell of it. */

#include "manager-internal.h"

bool manager_awaits_udev(const Manager *manager) {
        for (size_t i = 0; i < manager->n_entries; i++) {
                const DeviceReport *report = manager->entries[i]->report;

                for (size_t p = 0; report && p < report->n_ports; p++)
                        if (report->ports[p].match == MATCH_NOT_YET_KNOWN)
                                return true;
        }
        return false;
}

/* From fine to bad: the worse of a port's two attributes speaks for the port. */
static State worse_state(State a, State b) {
        static const int badness[_STATE_MAX] = {
                [STATE_NOT_ROCE] = 0, [STATE_UNMANAGED] = 1, [STATE_OK] = 2,          [STATE_UNKNOWN] = 3,
                [STATE_PENDING] = 4,  [STATE_DRIFTED] = 5,   [STATE_UNSUPPORTED] = 6, [STATE_FAILED] = 7,
        };

        return badness[a] >= badness[b] ? a : b;
}

static void summarize_port(const DeviceEntry *entry, const PortReport *port, Summary *summary) {
        char reason[REASON_TEXT_MAX];
        State worst = STATE_NOT_ROCE;

        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                worst = worse_state(worst, port->verdicts[a].state);
        summary->by_state[worst]++;
        if (worst == STATE_NOT_ROCE)
                return;

        summary->ports++;
        if (state_is_compliant(worst) > 0) {
                summary->compliant++;
                return;
        }

        for (Attribute a = 0; a < _ATTRIBUTE_MAX && summary->worst[0] == 0; a++)
                if (port->verdicts[a].state == worst)
                        snprintf(summary->worst, sizeof(summary->worst), "%s port %u %s %s: %s", entry->name,
                                 port->number, attribute_name(a), state_to_string(worst),
                                 reason_format(port->verdicts + a, a, reason) ?: "no reason known");
}

void manager_summarize(const Manager *manager, Summary *ret) {
        Summary summary = {};

        for (size_t i = 0; i < manager->n_entries; i++) {
                const DeviceEntry *entry = manager->entries[i];

                if (!entry->report || !entry->report->device)
                        continue;
                summary.devices++;
                for (size_t p = 0; p < entry->report->n_ports; p++)
                        summarize_port(entry, entry->report->ports + p, &summary);
        }
        *ret = summary;
}
