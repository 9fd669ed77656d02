/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl plan": what a pass would change. Writes no value; root makes a directory that is missing, to
 * look, and removes it again. */

#include "rocectl-host.h"
#include "rocectl-output.h"
#include "rocectl-pass.h"

static int plan_devices(const Judge *judge, Pass *pass) {
        _cleanup_(names_freep) char **names = NULL;
        ReconcileRequest request = {
                .policy = judge->policy,
                .flags = geteuid() == 0 ? RECONCILE_MAKE | RECONCILE_TRANSIENT : 0,
                .inotify_fd = -EBADF,
        };
        DeviceReport *report;
        int r;

        r = device_names_acquire(&names, &pass->n_invalid);
        for (char **name = names; r >= 0 && *name; name++) {
                request.name = *name;
                r = reconcile_device(&request, &report);
                if (r < 0)
                        break;
                report_excuse(report);
                r = pass_put(pass, report);
        }
        return r;
}

int verb_plan(const Options *options, char **arguments) {
        _cleanup_(judge_done) Judge judge = {};
        _cleanup_(pass_done) Pass pass = {};
        int r;

        if (!judge_load(options->policy_file, &judge))
                return CODE_FAILED;
        if (judge.error < 0) {
                messages_print(&judge.messages, SEVERITY_ERROR);
                return judge_code(&judge);
        }

        r = plan_devices(&judge, &pass);
        if (r >= 0)
                r = pass_lint(&pass, &judge);
        if (r < 0)
                return complain(CODE_FAILED, "RDMA devices cannot be read from /sys/class/infiniband: %s",
                                strerror(-r));

        output_open(options, true);
        return output_close(pass_show(options, &pass, &judge, false));
}
