/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each job: what it wrote, made and removed, and whether its report says no more than it has seen. */

#include "witness.h"

#include "story.h"

typedef struct Reading {
        bool there;
        int value;
        enum { OF_WHOM_IS_OPEN, OF_THE_DEVICE, OF_ANOTHER } of; /* as the next look at who bears the name has shown */
} Reading;

static struct {
        const Job *job; /* NULL: none is under way */
        bool acquired;
        ModelDevice device;
        int name;
        uint64_t stamp; /* of udevd's entry then */
        uint64_t hands; /* how often the name had changed hands at the last look at who bears it */
        Reading readings[PORTS][_ATTRIBUTE_MAX];
        bool written[PORTS][_ATTRIBUTE_MAX];
        int remaking; /* name of another's directory that was removed, being of no use: the next one there is theirs */
        bool owned[NAMES];      /* whether roced's record says that the directory is its own */
        uint64_t looked[NAMES]; /* serial of the last look at the directory of that name */
        uint64_t looked_call[NAMES];
        uint64_t made;   /* inode of the directory that the job has made; 0: none */
        uint64_t faults; /* in all, at its begin */
} witness;

void witness_begin(const Job *job) {
        memset(&witness, 0, sizeof(witness));
        witness.job = job;
        witness.name = NO_NAME;
        witness.remaking = NO_NAME;
        witness.faults = world.n_faults;
        world.looked_at = job->name ? name_find(job->name) : NO_NAME;
}

void witness_acquired(const ModelDevice *device, uint64_t stamp) {
        witness.stamp = stamp;
        witness.acquired = true;
        witness.device = *device;
        witness.name = device->name;
}

void witness_identity(int name, uint64_t instance) {
        witness.hands = world.name_changes[name];
        for (unsigned port = 0; port < PORTS; port++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        if (witness.readings[port][a].there && witness.readings[port][a].of == OF_WHOM_IS_OPEN)
                                witness.readings[port][a].of =
                                                instance == witness.device.instance ? OF_THE_DEVICE : OF_ANOTHER;
}

void witness_looked(int name) {
        witness.looked[name] = world.serial;
        witness.looked_call[name] = world.n_calls;
}

void witness_owned(int name, bool owned) {
        witness.owned[name] = owned;
}

void witness_read(int name, unsigned port, Attribute attribute, int value) {
        witness.readings[port - 1][attribute] = (Reading){ .there = true, .value = value };
}

/* The name has not changed hands since roced last made sure who bears it. */
static bool name_is_sure(int name) {
        return world.name_changes[name] == witness.hands;
}

/* By what udevd has said of the device, or would say if it were asked. */
static void check_settled(int name, unsigned port) {
        _cleanup_(device_freep) Device *device = NULL;
        const Rule *rule;

        if (witness.device.settled || witness.job->announced_instance == witness.device.instance)
                return;
        /* An entry that was never seen without a device is taken for the device's. */
        if (witness.stamp != 0 && world.leftovers[name] != witness.stamp)
                return;
        device = device_snapshot(&witness.device, false);
        if (device &&
            policy_find_rule(witness.job->policy, device, device->ports + port - 1, &rule) == MATCH_NOT_YET_KNOWN)
                violated("%s port %u is written to by a rule that hangs on what udev has not said", model_names[name],
                         port);
}

void witness_write(int name, unsigned port, Attribute attribute, int value) {
        const ModelDevice *device = device_by_name(name);
        const Reading *reading = witness.readings[port - 1] + attribute;

        if (witness.job->type != JOB_RECONCILE || !witness.acquired || name != witness.name)
                violated("%s is written to by a job that is not about it", model_names[name]);
        if (!reading->there)
                violated("%s port %u %s is written without a look", model_names[name], port,
                         attribute_name(attribute));
        if (reading->value == value)
                violated("%s port %u %s is written, and was right", model_names[name], port,
                         attribute_name(attribute));
        if (name_is_sure(name) && device->instance != witness.device.instance)
                violated("%s is written to as another device than was looked at", model_names[name]);
        if (name_is_sure(name) && (port > device->n_ports || !device->ports[port - 1].roce))
                violated("%s port %u is no RoCE port and is written to", model_names[name], port);
        check_settled(name, port);
        witness.written[port - 1][attribute] = true;
        world.n_writes++;
}

bool witness_make(int name) {
        bool theirs = witness.remaking == name;

        if (witness.job->type != JOB_RECONCILE || name != witness.name)
                violated("the directory of %s is made by a job that is not about it", model_names[name]);
        witness.remaking = NO_NAME;
        if (!theirs && !record_of(name)->there)
                violated("the directory of %s is made without a record of it", model_names[name]);
        witness.made = theirs ? 0 : world.last_inode + 1;
        return !theirs;
}

void witness_recorded(int name) {
        if (witness.remaking == name)
                violated("the directory of %s, which is another's, is written down as roced's", model_names[name]);
}

static bool directory_is_stale(const ModelDirectory *directory) {
        return witness.acquired && directory->n_ports < witness.device.n_ports;
}

void witness_remove(int name) {
        const ModelDirectory *directory = world.directories + name;

        /* Another one may have taken its place since it was looked at. */
        if (world.n_calls - witness.looked_call[name] > 1)
                violated("the directory of %s is removed without a last look at it", model_names[name]);
        if (directory->made <= witness.looked[name] && !directory->ours && !directory->disputed &&
            (witness.owned[name] || !directory_is_stale(directory)))
                violated("the directory of %s is removed, which roced did not make", model_names[name]);
        if (!witness.owned[name] && directory_is_stale(directory))
                witness.remaking = name;
}

static void check_ok(const PortReport *port, Attribute attribute) {
        const Reading *reading = witness.readings[port->number - 1] + attribute;
        const Verdict *verdict = port->verdicts + attribute;
        const char *name = model_names[witness.name];

        if (!reading->there)
                violated("%s port %u %s is told to be right, unread", name, port->number, attribute_name(attribute));
        if (reading->value != verdict->wanted)
                violated("%s port %u %s is told to be right, and was read as %i, not %i", name, port->number,
                         attribute_name(attribute), reading->value, verdict->wanted);
        if (reading->of != OF_THE_DEVICE)
                violated("%s port %u %s is told to be right, and %s", name, port->number, attribute_name(attribute),
                         reading->of == OF_ANOTHER ? "the name had changed hands"
                                                   : "nobody has made sure of whose it is");
        if (verdict->tried != witness.written[port->number - 1][attribute])
                violated("%s port %u %s was%s written, and the report does not say so", name, port->number,
                         attribute_name(attribute), verdict->tried ? " not" : "");
}

/* Of the policy's words this relies on the search for the rule, which has tests of its own. */
static void check_rule(const Job *job, const PortReport *port) {
        _cleanup_(device_freep) Device *device = device_snapshot(&witness.device, true);
        const Port *on_device = device ? device_find_port(device, port->number) : NULL;
        const Rule *rule = NULL;

        if (!on_device || port->match != MATCH_YES)
                return;
        if (!on_device->roce || policy_find_rule(job->policy, device, on_device, &rule) != MATCH_YES ||
            rule != port->rule)
                violated("%s port %u is judged by the wrong rule", model_names[witness.name], port->number);
        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                if (witness.written[port->number - 1][a] && rule->enforcement == ENFORCEMENT_REPORT)
                        violated("%s port %u %s is written to, and its rule only reports", model_names[witness.name],
                                 port->number, attribute_name(a));
}

static void check_report(const Job *job) {
        const DeviceReport *report = job->report;

        if (!report->device && witness.acquired)
                violated("a device that was read is not reported");
        for (size_t i = 0; i < report->n_ports; i++) {
                check_rule(job, report->ports + i);
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        if (report->ports[i].verdicts[a].state == STATE_OK)
                                check_ok(report->ports + i, a);
        }
}

/* One or two that are no repairs yet, three at once, then after holds that double, up to the longest. */
static void check_fight(void) {
        Fight *fight = &world.fight;
        uint64_t least_usec = 0;

        if (!fight->on || fight->instance != witness.device.instance ||
            !witness.written[fight->port - 1][fight->attribute])
                return;
        if (fight->undisturbed != world.changed) {
                fight->undisturbed = world.changed;
                fight->since_usec = world.now_usec;
                fight->repairs = 0;
        }
        fight->repairs++;
        for (unsigned i = STORY_FREE_REPAIRS; i + 2 < fight->repairs; i++)
                least_usec += MIN_OF(SEC << (i - STORY_FREE_REPAIRS), STORY_HOLD_MAX_USEC);
        if (world.now_usec - fight->since_usec < least_usec)
                violated("%s is written to %u times within %llu s, against another program", model_names[witness.name],
                         fight->repairs, (unsigned long long) ((world.now_usec - fight->since_usec) / SEC));
}

/* What roced has made it knows again, though it die. */
static void check_made(void) {
        const ModelDirectory *directory;

        if (witness.made == 0 || witness.faults != world.n_faults)
                return;
        directory = world.directories + witness.name;
        if (directory->there && directory->inode == witness.made && record_of(witness.name)->inode != witness.made)
                violated("the directory of %s is not written down as roced's", model_names[witness.name]);
}

void witness_end(const Job *job) {
        for (const ModelFd *fd = world.fds; fd < world.fds + FDS; fd++)
                if (fd->open)
                        violated("a job leaves a directory open");
        if (job->report && !world.dead)
                check_report(job);
        if (!world.dead && job->error == 0)
                check_made();
        check_fight();
        world.looked_at = NO_NAME;
        witness.job = NULL;
}
