/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Drives a manager with a clock of its own and with reports that are made up: what the daemon's loop and worker do. */

#include "manager-internal.h"
#include "manager.h"
#include "policy-test.h"
#include "sink.h"

#define SEC USEC_PER_SEC
#define MSEC USEC_PER_MSEC
#define BEGIN (1000 * SEC)
#define REALTIME 1700000000000000ULL
#define INOTIFY_FD 42

static Manager *manager;
static Now now;

static inline void pass(uint64_t usec) {
        now.monotonic_usec += usec;
        now.realtime_usec += usec;
}

/* Puts a policy of these rules in force. */
static inline void use_policy(const char *rules) {
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        char text[1024];

        snprintf(text, sizeof(text), "version: 1\nrules: [%s]\n", rules);
        policy = policy_from(text);
        manager_set_policy(manager, policy, TRIGGER_RELOAD);
}

static inline int setup(void **state) {
        now = (Now) { BEGIN, REALTIME };
        assert_int_equal(manager_new(INOTIFY_FD, 4791, &manager), 0);
        use_policy("{match: any, mode: v2, tos: 104}");
        manager->list_trigger = TRIGGER_STARTUP;
        return 0;
}

static inline int teardown(void **state) {
        job_free(manager->running);
        manager = manager_free(manager);
        sink_empty();
        return 0;
}

/* The next job must be this one. */
static inline Job *next(JobType type, const char *name) {
        Job *job = manager_next_job(manager, now.monotonic_usec);

        assert_non_null(job);
        assert_int_equal(job->type, type);
        if (name)
                assert_string_equal(job->name, name);
        return job;
}

static inline void assert_idle(void) {
        assert_null(manager_next_job(manager, now.monotonic_usec));
}

static inline char **names_from(const char *text) {
        char **names = calloc(strlen(text) + 1, sizeof(char *));
        _cleanup_free_ char *copy = strdup(text);
        size_t n = 0;

        for (char *name = strtok(copy, " "); name; name = strtok(NULL, " "))
                names[n++] = strdup(name);
        return names;
}

/* The listing is next, and finds these, with a space between names. */
static inline void list_devices(const char *names, const char *owned) {
        Job *job = next(JOB_LIST, NULL);

        job->names = names_from(names);
        job->owned = names_from(owned);
        manager_job_done(manager, job, now);
}

/* What a job reports of a two-port device when all is as it should be. */
static inline DeviceReport *report_right(const Job *job, uint64_t instance) {
        Device from = test_device();
        DeviceReport *report;
        Device *device;

        from.name = job->name;
        from.instance = instance;
        device = device_copy(&from);
        assert_int_equal(device_report_begin(job->name, job->policy, device, &report), 0);
        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        Verdict *verdict = report->ports[i].verdicts + a;

                        if (verdict_needs_look(verdict))
                                *verdict = (Verdict) { .state = STATE_OK,
                                                      .wanted = verdict->wanted,
                                                      .found = verdict->wanted,
                                                      .readback = VALUE_NONE };
                }
        report->directory = true;
        return report;
}

static inline DeviceReport *report_gone(const Job *job) {
        DeviceReport *report;

        assert_int_equal(device_report_begin(job->name, job->policy, NULL, &report), 0);
        return report;
}

/* Says something else of one attribute of port 1. */
static inline Verdict *judge(DeviceReport *report, Attribute attribute, State state, Reason reason) {
        Verdict *verdict = report->ports[0].verdicts + attribute;

        verdict->state = state;
        verdict->reason = reason;
        if (state != STATE_OK)
                verdict->found = VALUE_NONE;
        return verdict;
}

/* The attribute was another, and has been written. */
static inline void written(DeviceReport *report, Attribute attribute, int found) {
        Verdict *verdict = judge(report, attribute, STATE_OK, REASON_NONE);

        verdict->found = found;
        verdict->readback = verdict->wanted;
        verdict->tried = true;
}

static inline void done(Job *job, DeviceReport *report) {
        job->report = report;
        manager_job_done(manager, job, now);
}

/* The device is next, and all is right with it. */
static inline void pass_right(const char *name) {
        Job *job = next(JOB_RECONCILE, name);

        done(job, report_right(job, 1));
}

/* These are next, in any order, and all is right with them. */
static inline void pass_each(const char *names) {
        char **left = names_from(names);
        size_t n = 0;

        while (left[n])
                n++;
        for (size_t i = 0; i < n; i++) {
                Job *job = next(JOB_RECONCILE, NULL);
                bool found = false;

                for (size_t k = 0; k < n && !found; k++)
                        if (streq(left[k], job->name)) {
                                left[k][0] = 0;
                                found = true;
                        }
                assert_true(found);
                done(job, report_right(job, 1));
        }
        names_free(left);
        assert_idle();
}

/* The device is next, and is not there. */
static inline void pass_gone(const char *name) {
        Job *job = next(JOB_RECONCILE, name);

        done(job, report_gone(job));
}

/* The device is next, and the TOS of its port 1 is in this state. */
static inline void pass_state(const char *name, State state, Reason reason) {
        Job *job = next(JOB_RECONCILE, name);
        DeviceReport *report = report_right(job, 1);

        judge(report, ATTRIBUTE_TOS, state, reason);
        done(job, report);
}

/* The device is next, and the TOS of its port 1 had to be written. */
static inline void pass_written(const char *name, int found) {
        Job *job = next(JOB_RECONCILE, name);
        DeviceReport *report = report_right(job, 1);

        written(report, ATTRIBUTE_TOS, found);
        done(job, report);
}

/* Both start with one device, mlx5_0, that is as it should be. */
static inline int setup_one(void **state) {
        setup(NULL);
        list_devices("mlx5_0", "");
        pass_right("mlx5_0");
        assert_idle();
        assert_told_nothing();
        return 0;
}

static inline Summary summary(void) {
        Summary s;

        manager_summarize(manager, &s);
        return s;
}

static inline int setup_listing(void **state) {
        setup_one(NULL);
        manager_mark_all(manager, TRIGGER_HOTPLUG);
        return 0;
}

/* There is one record, and this is its reason; it is forgotten then. */
static inline void assert_trigger(Trigger trigger) {
        assert_int_equal(sink_n, 1);
        assert_string_equal(record_field(sink_records, "ROCED_TRIGGER"), trigger_to_string(trigger));
        sink_empty();
}
