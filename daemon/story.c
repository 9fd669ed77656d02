/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Verdicts into records: what to tell, how loudly, and what has been told already. */

#include "story.h"

#include "log.h"
#include "message-ids.h"

const char *trigger_to_string(Trigger trigger) {
        static const char *const table[_TRIGGER_MAX] = {
                [TRIGGER_STARTUP] = "startup", [TRIGGER_HOTPLUG] = "hotplug", [TRIGGER_RENAME] = "rename",
                [TRIGGER_RDMA_CM] = "rdma_cm", [TRIGGER_RELOAD] = "reload",   [TRIGGER_DRIFT] = "drift",
                [TRIGGER_RESYNC] = "resync",   [TRIGGER_APPLY] = "apply",
        };

        return table[trigger];
}

static bool is_trouble(const Verdict *verdict) {
        return state_is_compliant(verdict->state) <= 0;
}

static bool is_same_trouble(const Verdict *a, const Verdict *b) {
        /* Each write that went through is a change of its own, of whichever device. */
        if (b->tried && b->reason == REASON_CHANGED_HANDS)
                return false;
        return a->state == b->state && a->reason == b->reason && a->error == b->error && a->wanted == b->wanted;
}

static void add_value(Record *record, const char *field, Attribute attribute, int value) {
        char buffer[ATTRIBUTE_TEXT_MAX];

        if (value != VALUE_NONE)
                record_add(record, field, attribute_format(attribute, value, buffer));
}

static void add_fields(Record *record, const Verdict *verdict, const StoryContext *context) {
        const DeviceReport *report = context->report;
        const PortReport *port = context->port;
        const Port *on_device = report->device ? device_find_port(report->device, port->number) : NULL;

        record_add(record, "ROCED_DEVICE", report->name);
        record_addf(record, "ROCED_PORT", "%u", port->number);
        record_add(record, "ROCED_ATTRIBUTE", attribute_name(context->attribute));
        add_value(record, "ROCED_WANTED", context->attribute, verdict->wanted);
        add_value(record, "ROCED_FOUND", context->attribute, verdict->found);
        add_value(record, "ROCED_READBACK", context->attribute, verdict->readback);
        record_add(record, "ROCED_STATE", state_to_string(verdict->state));
        if (port->rule) {
                record_add(record, "ROCED_RULE", port->rule->name);
                record_add(record, "ROCED_RULE_SOURCE", port->rule->source);
        }
        if (report->policy)
                record_add(record, "ROCED_POLICY_SHA256", report->policy->sha256);
        record_add(record, "ROCED_TRIGGER", trigger_to_string(context->trigger));
        if (on_device)
                record_add(record, "ROCED_NETDEV", on_device->netdev);
        if (report->device)
                record_add(record, "ROCED_PCI", report->device->pci);
        if (verdict->error < 0)
                record_addf(record, "ERRNO", "%i", -verdict->error);
}

static sd_id128_t state_message_id(const Verdict *verdict) {
        switch (verdict->state) {
        case STATE_FAILED:
                return MESSAGE_FAILED_ID;
        case STATE_DRIFTED:
                return MESSAGE_DRIFTED_ID;
        case STATE_UNSUPPORTED:
                return MESSAGE_UNSUPPORTED_ID;
        case STATE_PENDING:
        case STATE_UNKNOWN:
                return MESSAGE_PENDING_ID;
        default:
                return verdict->tried ? MESSAGE_CHANGED_ID : MESSAGE_COMPLIANT_ID;
        }
}

static int state_priority(const Verdict *verdict, bool late) {
        switch (verdict->state) {
        case STATE_FAILED:
                return LOG_ERR;
        case STATE_DRIFTED:
        case STATE_UNSUPPORTED:
                return LOG_WARNING;
        case STATE_PENDING:
        case STATE_UNKNOWN:
                if (late)
                        return LOG_WARNING;
                return verdict->reason == REASON_CHANGED_HANDS && verdict->tried ? LOG_NOTICE : LOG_DEBUG;
        default:
                return verdict->tried ? LOG_NOTICE : LOG_INFO;
        }
}

/* A value of the same device that was right, or left alone while backing off, and had to be written again: another program is at it. */
static bool is_repair(const Story *story, const Verdict *verdict, const StoryContext *context) {
        bool was_right = story->begun && !context->new_instance && story->last.wanted == verdict->wanted &&
                         (story->last.state == STATE_OK || story->last.reason == REASON_BACKING_OFF);

        /* One who writes in the very moment between write and read back is at it, too. */
        return was_right && verdict->tried &&
               (verdict->state == STATE_OK || verdict->reason == REASON_READBACK_DIFFERS);
}

static void set_message(Record *record, const Verdict *verdict, const StoryContext *context, unsigned count, bool repair) {
        char wanted[ATTRIBUTE_TEXT_MAX], found[ATTRIBUTE_TEXT_MAX], reason_buffer[REASON_TEXT_MAX], times[48] = "";
        const char *name = context->report->name, *attribute = attribute_name(context->attribute);
        const char *reason = reason_format(verdict, context->attribute, reason_buffer);
        unsigned port = context->port->number;

        attribute_format(context->attribute, verdict->wanted, wanted);
        attribute_format(context->attribute, verdict->found, found);
        if (count > 0)
                snprintf(times, sizeof(times), " (%u more times since the last report)", count);

        if (verdict->tried && verdict->state == STATE_OK)
                record_message(record, "%s port %u: %s changed from %s%s to %s", name, port, attribute, found,
                               repair ? ", which another program had set," : "", wanted);
        else if (!is_trouble(verdict))
                record_message(record, "%s port %u: %s is %s again", name, port, attribute,
                               state_to_string(verdict->state));
        else if (verdict->wanted == VALUE_NONE)
                record_message(record, "%s port %u: %s %s: %s%s", name, port, attribute,
                               state_to_string(verdict->state), reason ? reason : "no reason known", times);
        else
                record_message(record, "%s port %u: %s %s, wanted %s, found %s: %s%s", name, port, attribute,
                               state_to_string(verdict->state), wanted,
                               verdict->found == VALUE_NONE ? "nothing" : found, reason ? reason : "no reason known",
                               times);
}

static void tell(Story *story, const Verdict *verdict, const StoryContext *context, bool late) {
        bool repair = is_repair(story, verdict, context);
        Record record = {
                .priority = state_priority(verdict, late),
                .message_id = state_message_id(verdict),
        };

        set_message(&record, verdict, context, story->untold, repair);
        add_fields(&record, verdict, context);
        record_send(&record);

        story->told_usec = context->now.monotonic_usec;
        story->untold = 0;
}

static void count_repair(Story *story, uint64_t now_usec) {
        unsigned beyond;

        if (now_usec > MAX_OF(story->repaired_usec, story->hold_until_usec) + STORY_QUIET_USEC)
                story->repairs = 0;
        story->repairs++;
        story->repaired_usec = now_usec;
        story->hold_until_usec = 0;
        if (story->repairs >= STORY_FREE_REPAIRS) {
                beyond = MIN_OF(story->repairs - STORY_FREE_REPAIRS, 16U);
                story->hold_until_usec = now_usec + MIN_OF(USEC_PER_SEC << beyond, STORY_HOLD_MAX_USEC);
        }
}

bool story_update(Story *story, const Verdict *verdict, const StoryContext *context) {
        bool same = story->begun && is_same_trouble(&story->last, verdict);
        bool shown = !same || story->last.found != verdict->found;
        uint64_t now_usec = context->now.monotonic_usec;

        if (is_repair(story, verdict, context))
                count_repair(story, now_usec);

        if (!story->begun || story->last.state != verdict->state) {
                story->since_usec = context->now.realtime_usec;
                story->since_monotonic_usec = now_usec;
                story->late_told = false;
        }

        if (is_trouble(verdict)) {
                if (!same)
                        story->untold = 0;
                else
                        story->untold++;
                if (!same || now_usec - story->told_usec >= STORY_REPEAT_USEC)
                        tell(story, verdict, context, story->late_told);
        } else if (verdict->tried || (story->begun && is_trouble(&story->last)))
                tell(story, verdict, context, false);

        story->last = *verdict;
        story->begun = true;
        return shown || verdict->tried;
}

uint64_t story_check_late(Story *story, const StoryContext *context) {
        uint64_t late_usec = story->since_monotonic_usec + STORY_LATE_USEC;

        if (!story->begun || story->last.state != STATE_PENDING || story->late_told)
                return UINT64_MAX;
        if (context->now.monotonic_usec < late_usec)
                return late_usec;

        story->late_told = true;
        tell(story, &story->last, context, true);
        return UINT64_MAX;
}
