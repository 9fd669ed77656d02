# SPDX-License-Identifier: LGPL-2.1-or-later

"""The clock of the world is set. By its name this file comes last, as the journal has records of other years from then on, which
who asks for the latest would be shown."""

import time

from world import equal, scenario

V1_104 = "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n"


@scenario(rings="vm", timeout=60)
def clock_jumps(w):
    """The realtime clock goes where it likes: what waits and what owns is not told by it."""
    w.policy(V1_104)
    w.add("mock0")
    w.start()
    real, steady = time.time(), time.monotonic()
    try:
        for years in (10, -10, 0):
            time.clock_settime(time.CLOCK_REALTIME, real + years * 365 * 86400)
            w.foreign_write("mock0", 1, "tos", "1")
            w.await_kernel("mock0", 1, tos=104, timeout=3)
            w.add("mock1")
            w.await_kernel("mock1", 1, mode="v1", tos=104, timeout=3)
            w.remove("mock1")
            w.reload()
            w.kill()
            w.wait_until(lambda: w.show("ActiveState") == "active", "systemd starts it again")
            w.await_port("mock0", 1, "ok", "ok")
    finally:
        time.clock_settime(time.CLOCK_REALTIME, real + time.monotonic() - steady)
    equal(w.complaints(3), [], "errors")
    w.stop()
    equal(w.directories(), [], "directories after stop")
