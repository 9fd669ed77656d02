/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl apply": one pass without the daemon, as the one writer while it lasts. Needs neither systemd nor
 * udevd, and leaves no directory behind. */

#include "clock.h"
#include "log.h"
#include "rocectl-output.h"
#include "rocectl-pass.h"
#include "rocectl-show.h"
#include "runtime.h"
#include "story.h"

/* A young device may not be known to rdma_cm yet, or udev may be renaming it; kernels before 5.2 announce a
 * device first and tell rdma_cm then (drivers/infiniband/core/device.c), so there is no event to wait for.
 * Spaced, some 2 s in all. */
static const unsigned retry_msec[] = { 50, 100, 200, 400, 600, 700 };

static Now now_acquire(void) {
        return (Now) {
                .monotonic_usec = clock_usec(CLOCK_MONOTONIC),
                .realtime_usec = clock_usec(CLOCK_REALTIME),
        };
}

/* Whether another look may give more. What is not loaded or mounted is not for us to wait for. */
static bool report_is_young(const DeviceReport *report) {
        if (report->changed_hands)
                return true;
        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                        if (report->ports[i].verdicts[a].reason == REASON_NO_DEVICE ||
                            report->ports[i].verdicts[a].reason == REASON_NOT_SETTLED)
                                return true;
        return false;
}

/* Sends the records of a report: of every write, and in the end of what is wrong. */
static void report_tell(const DeviceReport *report, bool last) {
        for (size_t i = 0; i < report->n_ports; i++)
                for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++) {
                        StoryContext context = {
                                .report = report,
                                .port = report->ports + i,
                                .attribute = a,
                                .trigger = TRIGGER_APPLY,
                                .now = now_acquire(),
                        };
                        Story story = {};

                        if (last || context.port->verdicts[a].tried)
                                (void) story_update(&story, context.port->verdicts + a, &context);
                }
}

static bool interrupted(void) {
        sigset_t pending;

        return sigpending(&pending) == 0 &&
               (sigismember(&pending, SIGINT) > 0 || sigismember(&pending, SIGTERM) > 0 ||
                sigismember(&pending, SIGHUP) > 0);
}

static const DeviceReport *pass_find(const Pass *pass, const char *name) {
        for (size_t i = 0; i < pass->n_reports; i++)
                if (streq(pass->reports[i]->name, name))
                        return pass->reports[i];
        return NULL;
}

/* Looks at each device that is new or young. Gives the number of those that are young still, or -errno. */
static int apply_round(const Judge *judge, Pass *pass, bool last) {
        _cleanup_(names_freep) char **names = NULL;
        ReconcileRequest request = {
                .policy = judge->policy,
                .flags = RECONCILE_MAKE | RECONCILE_WRITE | RECONCILE_TRANSIENT,
                .inotify_fd = -EBADF,
        };
        DeviceReport *report;
        int n_young = 0, r;

        r = device_names_acquire(&names, &pass->n_invalid);
        if (r < 0)
                return r;
        pass_keep(pass, names);

        for (char **name = names; *name; name++) {
                const DeviceReport *before = pass_find(pass, *name);
                bool young;

                if (before && !report_is_young(before))
                        continue;
                if (interrupted())
                        return -EINTR;
                request.name = *name;
                r = reconcile_device(&request, &report);
                if (r < 0)
                        return r;
                young = report_is_young(report);
                report_tell(report, last || !young);
                n_young += young;
                r = pass_put(pass, report);
                if (r < 0)
                        return r;
        }
        return n_young;
}

static int apply_devices(const Judge *judge, Pass *pass) {
        int r;

        for (size_t i = 0;; i++) {
                struct timespec pause = {};

                r = apply_round(judge, pass, i == ELEMENTSOF(retry_msec));
                if (r <= 0 || i == ELEMENTSOF(retry_msec))
                        return MIN_OF(r, 0);
                pause.tv_nsec = retry_msec[i] * 1000000L;
                (void) nanosleep(&pause, NULL);
        }
}

static int apply_lock(void) {
        int fd = runtime_lock();

        if (fd == -EBUSY)
                complain(CODE_FAILED, "roced is running and applies the policy by itself; when that has changed, %s",
                         advice_reload());
        else if (fd < 0)
                complain(CODE_FAILED, "%s: %s; %s must be writable", LOCK_PATH, strerror(-fd), RUNTIME_PATH);
        return fd;
}

int verb_apply(const Options *options, char **arguments) {
        _cleanup_(judge_done) Judge judge = {};
        _cleanup_(pass_done) Pass pass = {};
        _cleanup_close_ int lock_fd = -EBADF;
        int r, left, code;

        if (geteuid() != 0)
                return complain(CODE_FAILED,
                                "only root may write to configfs: run \"rocectl apply\" as root");
        signals_block(NULL);
        lock_fd = apply_lock();
        if (lock_fd < 0)
                return CODE_FAILED;
        if (!judge_load(options->policy_file, &judge))
                return CODE_FAILED;
        if (judge.error < 0) {
                messages_print(&judge.messages, SEVERITY_ERROR);
                return judge_code(&judge);
        }

        log_open(true, true);
        r = apply_devices(&judge, &pass);
        /* Nobody else needs what a daemon or a call before this one left when it was killed. */
        left = reconcile_remove_directories();
        if (r == -EINTR)
                return complain(CODE_FAILED, "interrupted; what was changed stays, the journal tells what");
        if (r < 0)
                return complain(CODE_FAILED, "RDMA devices cannot be read from /sys/class/infiniband: %s",
                                strerror(-r));

        if (pass_lint(&pass, &judge) < 0)
                need(NULL);
        output_open(options, false);
        code = pass_show(options, &pass, &judge, true, NULL);
        if (left != 0)
                code = complain(CODE_FAILED, "directories in /sys/kernel/config/rdma_cm that were made in "
                                             "passing could not be removed");
        return output_close(code);
}
