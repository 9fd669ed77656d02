/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What must be true of roced, from the world as it is: told apart from how roced comes to it. */

#include "manager-internal.h"
#include "simulation.h"
#include "witness.h"

typedef struct Expectation {
        const ModelDevice *device;
        const ModelPort *port;
        Attribute attribute;
        MatchResult match;
        const Rule *rule;
} Expectation;

static State state_expected(const Expectation *expectation, Reason *ret_reason) {
        int wanted = expectation->match == MATCH_YES ? expectation->rule->wanted[expectation->attribute] : VALUE_NONE;
        bool report = expectation->rule && expectation->rule->enforcement == ENFORCEMENT_REPORT;
        unsigned bit = wanted == ROCE_V1 ? SUPPORT_V1 : SUPPORT_V2;

        *ret_reason = REASON_NONE;
        if (!expectation->port->roce)
                return STATE_NOT_ROCE;
        if (expectation->match == MATCH_NOT_YET_KNOWN)
                return *ret_reason = REASON_NOT_SETTLED, STATE_PENDING;
        if (wanted == VALUE_NONE)
                return STATE_UNMANAGED;
        if (!world.mounted)
                return *ret_reason = REASON_NO_CONFIGFS, STATE_PENDING;
        if (!world.loaded)
                return *ret_reason = REASON_NO_RDMA_CM, STATE_PENDING;
        if (!expectation->device->known)
                return *ret_reason = REASON_NO_DEVICE, STATE_PENDING;
        if (expectation->attribute == ATTRIBUTE_TOS && !world.tos_file)
                return *ret_reason = REASON_NO_ATTRIBUTE, STATE_UNSUPPORTED;
        if (!report && expectation->attribute == ATTRIBUTE_MODE && !(expectation->port->supported & bit))
                return *ret_reason = REASON_MODE_REFUSED, STATE_UNSUPPORTED;
        if (!report || expectation->port->value[expectation->attribute] == wanted)
                return STATE_OK;
        if (expectation->attribute == ATTRIBUTE_MODE && !(expectation->port->supported & bit) &&
            expectation->port->gids != 0)
                return *ret_reason = REASON_NOT_IN_GIDS, STATE_UNSUPPORTED;
        return *ret_reason = REASON_REPORT_ONLY, STATE_DRIFTED;
}

static bool late_is_told(const Expectation *expectation, const PortReport *port) {
        const DeviceEntry *entry = manager_find_entry(roced.manager, model_names[expectation->device->name]);
        const Story *story = entry->ports[port - entry->report->ports].stories + expectation->attribute;

        return story->late_told || world.now_usec < story->since_monotonic_usec + STORY_LATE_USEC;
}

static void check_attribute(const Expectation *expectation, const PortReport *port, const char *when) {
        const Verdict *verdict = port->verdicts + expectation->attribute;
        int value = expectation->port->value[expectation->attribute];
        const char *name = model_names[expectation->device->name];
        Reason reason;
        State state = state_expected(expectation, &reason);
        /* A directory that is left over shows which attributes there are. */
        bool lacking = verdict->reason == REASON_NO_ATTRIBUTE && reason == REASON_NO_DEVICE && !world.tos_file;
        /* A refusal holds under a rule that only reports, too. */
        bool refused = verdict->reason == REASON_MODE_REFUSED &&
                       (reason == REASON_NOT_IN_GIDS || reason == REASON_REPORT_ONLY);
        /* What the GIDs show is looked at by a resync. */
        bool unseen = verdict->reason != reason &&
                      (verdict->reason == REASON_NOT_IN_GIDS || reason == REASON_NOT_IN_GIDS);

        if ((verdict->state != state || verdict->reason != reason) && !refused && !unseen && !lacking)
                violated("%s, %s port %u %s should be %s (%u), and is told to be %s (%u)", when, name, port->number,
                         attribute_name(expectation->attribute), state_to_string(state), reason,
                         state_to_string(verdict->state), verdict->reason);
        if (verdict->state == STATE_PENDING && !late_is_told(expectation, port))
                violated("%s, %s port %u %s has been pending for long, and nobody was told", when, name, port->number,
                         attribute_name(expectation->attribute));
        if (state == STATE_OK && value != verdict->wanted)
                violated("%s, %s port %u %s should be %i, and is %i", when, name, port->number,
                         attribute_name(expectation->attribute), verdict->wanted, value);
}

/* Whether udevd is done with it, as anybody can tell. */
static bool device_is_settled(const ModelDevice *device) {
        return !world.udevd || world.database[device->name] != 0;
}

/* True: roced needs the directory. */
static bool check_device(const ModelDevice *model, const DeviceReport *report, const char *when) {
        _cleanup_(device_freep) Device *device = device_snapshot(model, device_is_settled(model));
        const char *name = model_names[model->name];
        bool needed = false;

        if (!report || !report->device || report->error < 0 || report->changed_hands)
                violated("%s, %s is there and not judged", when, name);
        if (report->device->instance != model->instance || report->n_ports != model->n_ports)
                violated("%s, %s is judged as another device", when, name);
        for (size_t i = 0; i < report->n_ports; i++) {
                Expectation expectation = { .device = model, .port = model->ports + i };

                if (roced.manager->policy && model->ports[i].roce)
                        expectation.match = policy_find_rule(roced.manager->policy, device, device->ports + i,
                                                             &expectation.rule);
                for (expectation.attribute = 0; expectation.attribute < _ATTRIBUTE_MAX; expectation.attribute++) {
                        check_attribute(&expectation, report->ports + i, when);
                        needed = needed || (expectation.match == MATCH_YES &&
                                            expectation.rule->wanted[expectation.attribute] != VALUE_NONE);
                }
        }
        return needed;
}

static void check_directory(int name, bool needed, const char *when) {
        const ModelDirectory *directory = world.directories + name;
        const ModelDevice *device = device_by_name(name);

        if (!world.mounted || !world.loaded)
                return;
        if (directory->there && directory->ours && !directory->unrecorded && !needed)
                violated("%s, the directory of %s is roced's, and of no use", when, model_names[name]);
        if (needed && device->known && !directory->there)
                violated("%s, the directory of %s is missing", when, model_names[name]);
        if (record_of(name)->there && !directory->there && !device)
                violated("%s, a directory of %s is on record, which is not there", when, model_names[name]);
}

void expect_settled(const char *when) {
        size_t n = 0;

        for (int name = 0; name < NAMES; name++) {
                const ModelDevice *device = device_by_name(name);
                const DeviceEntry *entry = manager_find_entry(roced.manager, model_names[name]);
                bool needed = false;

                if (!device && entry)
                        violated("%s, %s is not there and is known", when, model_names[name]);
                if (device && device_name_is_valid(model_names[name])) {
                        if (!entry)
                                violated("%s, %s is there and not known", when, model_names[name]);
                        needed = check_device(device, entry->report, when);
                        n++;
                }
                check_directory(name, needed, when);
        }
        if (roced.manager->n_entries != n || roced.manager->running ||
            !manager_is_settled(roced.manager, world.now_usec))
                violated("%s, roced is not at rest", when);
        if (roced.manager->blocked)
                violated("%s, roced waits for the kernel", when);
        if (roced.answer.due || !roced.answer.ready)
                violated("%s, roced is not ready", when);
}

/* READY=1 of the start says that all devices have been judged, and that their policy is in force unless something
 * happened since. */
void expect_ready(void) {
        for (const ModelDevice *device = world.devices; device < world.devices + DEVICES; device++) {
                const DeviceEntry *entry =
                                device->there ? manager_find_entry(roced.manager, model_names[device->name]) : NULL;

                if (!device->there || device->changed > roced.started ||
                    !device_name_is_valid(model_names[device->name]))
                        continue;
                if (!entry || !entry->report)
                        violated("roced is ready, and has not judged %s", model_names[device->name]);
                if (world.changed > roced.started)
                        continue;
                (void) check_device(device, entry->report, "at the start");
                for (size_t i = 0; i < entry->report->n_ports; i++)
                        if (entry->report->ports[i].match == MATCH_NOT_YET_KNOWN)
                                violated("roced is ready, and awaits udev for %s", model_names[device->name]);
        }
}

/* READY=1 of a reload says that the policy has been applied. */
void expect_reloaded(void) {
        if (world.changed > roced.reloaded || roced.manager->blocked)
                return;
        for (size_t i = 0; i < roced.manager->n_entries; i++) {
                const DeviceReport *report = roced.manager->entries[i]->report;

                if (!report || (report->policy != roced.manager->policy && report->error == 0))
                        violated("roced is ready, and has not judged %s by the new policy",
                                 roced.manager->entries[i]->name);
        }
}

unsigned expect_troubles(void) {
        unsigned n = 0;

        for (size_t i = 0; i < roced.manager->n_entries; i++)
                for (size_t p = 0; p < roced.manager->entries[i]->n_ports; p++)
                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                                n += state_is_compliant(roced.manager->entries[i]->ports[p].stories[a].last.state) <=
                                     0;
        return n;
}

/* Nothing of roced stays behind, and all of the others does, which the witness sees to. */
void expect_stopped(void) {
        for (int name = 0; name < NAMES && world.mounted && world.loaded; name++) {
                const ModelDirectory *directory = world.directories + name;

                if (directory->there && directory->ours && !directory->unrecorded)
                        violated("roced has stopped, and left the directory of %s", model_names[name]);
                if (record_of(name)->there)
                        violated("roced has stopped, and left a record of %s", model_names[name]);
        }
}
