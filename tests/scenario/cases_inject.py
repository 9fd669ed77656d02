# SPDX-License-Identifier: LGPL-2.1-or-later

"""Each system call fails in turn, each allocation, and a kill comes at each step: no crash, no leak, nothing called right
that is not, a word on each fault that matters, and the policy in force afterwards. Here a sample of all that; tests/fault/run
tries all of it, and a seed again."""

import os
import random
import sys
import time

from world import check, scenario

SECONDS = 40


def build_of(w):
    return os.path.dirname(os.path.dirname(w.binaries["roced"]))


def sample(w, kind, least):
    """As many cases as there is time for. What is printed to stderr comes with the result."""
    import inject_cases
    import inject_rig
    seed = random.randrange(1 << 32)
    rig = inject_rig.Rig(w, build_of(w))
    run, cases = inject_cases.prepare(rig, kind, seed)
    end = time.monotonic() + SECONDS
    result = inject_cases.play(rig, run, (c for c in cases if time.monotonic() < end))
    print(f"    of {len(cases)} with seed {seed}: {result}", file=sys.stderr)
    check(not result.failures, f"seed {seed}: " + "\n    ".join(result.failures))
    check(sum(result.count.values()) >= least, f"only {result} in {SECONDS} s")


@scenario(rings="fuse", timeout=200)
def faults_that_once_mattered(w):
    """Being short of something was taken for an answer."""
    import inject_cases
    import inject_rig
    rig = inject_rig.Rig(w, build_of(w))
    cases = inject_cases.pinned(rig.run_daemon().calls)
    result = inject_cases.play(rig, rig.run_daemon, cases)
    check(not result.failures, "\n    ".join(result.failures))


def faults(kind, least):
    def run(w):
        sample(w, kind, least)
    run.__name__ = f"faults_{kind}"
    scenario(rings="fuse", timeout=4 * SECONDS)(run)


faults("calls", 10)
faults("kills", 10)
faults("allocations", 10)
faults("apply", 10)
