/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl plan": what a pass would change. Writes no value; root makes a directory that is missing, to
 * look, and removes it again. */

#include <sys/utsname.h>

#include "rocectl-output.h"
#include "rocectl-pass.h"
#include "rocectl-peers.h"

static int plan_peers(const Options *options, char **arguments, Fleet *fleet) {
        struct utsname host;

        if (!options->peers)
                return arguments[0] ? complain(CODE_USAGE,
                                               "plan takes no argument but with --peers, '%s' is too much",
                                               arguments[0])
                                    : CODE_DONE;
        if (!arguments[0])
                return complain(CODE_USAGE,
                                "--peers needs files that \"rocectl status --json\" wrote on other hosts");
        (void) uname(&host);
        return fleet_read(arguments, host.nodename, fleet);
}

int verb_plan(const Options *options, char **arguments) {
        _cleanup_(judge_done) Judge judge = {};
        _cleanup_(pass_done) Pass pass = {};
        _cleanup_(fleet_done) Fleet fleet = {};
        int code, r;

        code = plan_peers(options, arguments, &fleet);
        if (code != CODE_DONE)
                return code;
        if (!judge_load(options->policy_file, &judge))
                return CODE_FAILED;
        if (judge.error < 0) {
                messages_print(&judge.messages, SEVERITY_ERROR);
                return judge_code(&judge);
        }

        r = pass_acquire(&pass, judge.policy);
        if (r >= 0)
                r = pass_lint(&pass, &judge);
        if (r < 0)
                return complain(CODE_FAILED, "RDMA devices cannot be read from /sys/class/infiniband: %s",
                                strerror(-r));

        output_open(options, true);
        return output_close(pass_show(options, &pass, &judge, false,
                                      options->peers ? peers_judge(&pass, &fleet) : NULL));
}
