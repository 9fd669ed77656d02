# SPDX-License-Identifier: LGPL-2.1-or-later

"""Each system call fails in turn, each allocation, and a kill comes at each step: no crash, no leak, nothing called right
that is not, a word on each fault that matters, and the policy in force afterwards. Here a sample of all that; tests/fault/run
tries all of it, and a seed again."""

import errno
import os
import re
import sys
import time

from world import check, equal, scenario, shell

SECONDS = 40
# The same sample each time, so that a failure is of what has changed.
SEED = int(os.environ.get("ROCED_FAULT_SEED", "1"))


def build_of(w):
    return os.path.dirname(os.path.dirname(w.binaries["roced"]))


def sample(w, kind, least):
    """As many cases as there is time for. What is printed to stderr comes with the result."""
    import inject_cases
    import inject_rig
    rig = inject_rig.Rig(w, build_of(w))
    run, cases = inject_cases.prepare(rig, kind, SEED)
    end = time.monotonic() + SECONDS
    result = inject_cases.play(rig, run, (c for c in cases if time.monotonic() < end))
    print(f"    of {len(cases)} with seed {SEED}: {result}", file=sys.stderr)
    check(not result.failures, f"seed {SEED}: " + "\n    ".join(result.failures))
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


V1_104 = "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n"
UNWRITTEN = r"state\.json cannot be written"


@scenario(rings="fuse")
def disk_full(w):
    """/run has no room: values come first, one word tells, and what could not be written is written when there is room."""
    shell("mount", "-t", "tmpfs", "-o", "mode=755,size=64k", "roced", "/run/roced")
    w.inotify.watch("/run/roced", w.inotify.MOVED_TO)
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    with open("/run/roced/filler", "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(1024))
        except OSError as e:
            equal(e.errno, errno.ENOSPC, "error of a full disk")
    w.add("mock1")
    w.await_kernel("mock1", 1, mode="v1", tos=104)
    w.wait_until(lambda: re.search(UNWRITTEN, "\n".join(w.complaints(4))), "a word on the state file")
    w.foreign_write("mock0", 1, "tos", "1")
    w.await_kernel("mock0", 1, tos=104)
    w.reload()
    equal(len([m for m in w.complaints(4) if re.search(UNWRITTEN, m)]), 1, "words on the state file")
    equal(w.port("mock1")["mode"]["state"], "pending", "what status can say of a device that came since")
    os.unlink("/run/roced/filler")
    w.await_port("mock1", 1, "ok", "ok")
    w.stop()
    equal(w.directories(), [], "directories after stop")
