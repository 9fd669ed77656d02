# SPDX-License-Identifier: LGPL-2.1-or-later

"""Kinds of devices and ports, and what becomes of them while the daemon runs."""

import os
import time

from world import PATIENCE, URGENT, check, equal, matches, scenario

ALL_V2 = "version: 1\nrules: [{match: any, mode: v2, tos: 104}]\n"
ALL_V1 = "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n"


@scenario(rows=[4])
def stale_directory(w):
    """The directory of a device that went is still there when it comes back; its values are not."""
    w.add("mock0")
    w.foreign_mkdir("mock0")
    w.policy(ALL_V1)
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    w.remove("mock0")
    w.wait_until(lambda: not w.port("mock0"), "roced has forgotten the device")
    equal(w.directories(), ["mock0"], "directories of others")
    w.add("mock0")
    w.await_kernel("mock0", 1, mode="v1", tos=104)
    w.await_port("mock0", 1, "ok", "ok")
    equal([r["ROCED_TRIGGER"] for r in w.changes()], ["startup"] * 2 + ["hotplug"] * 2, "triggers")


@scenario(rows=[4, 26])
def removed_and_added_at_once(w):
    """As a driver or firmware reset looks: the same name within a moment, with default values."""
    w.add("mock0")
    w.policy(ALL_V1)
    w.start()
    for i in range(2, 7):
        w.remove("mock0")
        w.add("mock0")
        w.await_kernel("mock0", 1, mode="v1", tos=104, timeout=2)
        w.wait_until(lambda: len(w.changes()) >= 2 * i, "the changes are told")
    w.await_port("mock0", 1, "ok", "ok")
    equal(len(w.changes()), 12, "changes told")
    equal(w.complaints(4), [], "warnings")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[4, 26])
def removed_and_added_in_the_midst(w):
    """The same, while the daemon is still at work on the one before."""
    w.add("mock0")
    w.policy(ALL_V1)
    w.start()
    for _ in range(20):
        w.remove("mock0")
        w.add("mock0")
        w.await_heard(0.01)
    w.await_kernel("mock0", 1, mode="v1", tos=104)
    w.reload()
    w.await_port("mock0", 1, "ok", "ok")
    equal((w.kernel_value("mock0", 1, "mode"), w.kernel_value("mock0", 1, "tos")), ("v1", 104), "values")
    equal(w.complaints(4), [], "warnings")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[5])
def more_ports_than_before(w):
    """A stale directory has only the ports of its time: it is made anew."""
    w.add("mock0", ["v1v2"])
    w.foreign_mkdir("mock0")
    w.remove("mock0")
    w.add("mock0", ["v1v2", "v1v2"])
    w.policy(ALL_V1)
    w.start()
    for port in (1, 2):
        w.await_port("mock0", port, "ok", "ok")
        equal((w.kernel_value("mock0", port, "mode"), w.kernel_value("mock0", port, "tos")), ("v1", 104),
              f"values of port {port}")


@scenario(rows=[5])
def more_ports_while_running(w):
    w.add("mock0", ["v1v2"])
    w.foreign_mkdir("mock0")
    w.policy(ALL_V1)
    w.start()
    w.remove("mock0")
    w.add("mock0", ["v1v2", "v1v2"])
    for port in (1, 2):
        w.await_port("mock0", port, "ok", "ok")
        equal((w.kernel_value("mock0", port, "mode"), w.kernel_value("mock0", port, "tos")), ("v1", 104),
              f"values of port {port}")
    w.remove("mock0")
    w.add("mock0", ["v1v2"])
    w.await_kernel("mock0", 1, mode="v1", tos=104)
    w.await_port("mock0", 1, "ok", "ok")
    equal(w.port("mock0", 2), None, "port 2 of a device that has one")
    equal(w.complaints(3), [], "errors")


@scenario(rows=[8])
def v2_only_port_and_policy_v1(w):
    """Said in words, the TOS all the same, and no more writes."""
    w.add_rxe("rxe0")
    w.policy(ALL_V1)
    w.start()
    port = w.await_port("rxe0", 1, "unsupported", "ok")
    check(port["mode"]["reason"], "no reason given")
    equal(port["supported"], ["v2"], "supported")
    equal(w.kernel_value("rxe0", 1, "tos"), 104, "TOS")
    record = w.await_record(ROCED_DEVICE="rxe0", ROCED_ATTRIBUTE="mode")
    equal((record["ROCED_STATE"], record["PRIORITY"]), ("unsupported", "4"), "state and priority")
    w.check_exit(w.rocectl("status"), 3)
    w.reload()
    equal(len(w.records(ROCED_DEVICE="rxe0", ROCED_ATTRIBUTE="mode")), 1, "records of the mode after a reload")
    if w.name == "fuse":
        before = len(w.writes(attribute="mode"))
        check(before <= 1, f"{before} writes of a mode the port cannot do")
        w.quiet(2)


@scenario(rows=[9])
def v1_only_card_and_policy_v2(w):
    w.add("mlx4_0", ["v1", "v1"])
    w.add("mock0", ["v1v2"])
    w.foreign_mkdir("mock0")
    w.foreign_write("mock0", 1, "mode", "IB/RoCE v1")
    w.policy(ALL_V2)
    w.start()
    w.await_port("mlx4_0", 1, "unsupported", "ok")
    w.await_port("mlx4_0", 2, "unsupported", "ok")
    w.await_port("mock0", 1, "ok", "ok")
    equal(w.kernel_value("mock0", 1, "mode"), "v2", "mode of the capable card")
    check(w.running(), "the daemon has ended")
    equal(w.status()["compliant"], False, "compliant")


@scenario(rows=[10])
def rxe_comes_and_goes(w):
    w.policy("version: 1\nrules: [{match: any, tos: 104}]\n")
    w.start()
    for _ in range(3):
        w.add_rxe("rxe0")
        w.await_kernel("rxe0", 1, tos=104, timeout=2)
        w.await_port("rxe0", tos="ok")
        w.remove("rxe0")
        w.wait_until(lambda: not w.directories(), "its directory is gone", 2)
    equal(len(w.changes()), 3, "changes told")
    equal(w.complaints(4), [], "warnings")


@scenario(rows=[11], rings="fuse")
def gid_table_with_holes(w):
    """Empty slots and missing ones in any place; an empty table says nothing, and the write decides."""
    w.add("mock0", ["v1v2"], slots=["IB/RoCE v1", None, "missing", "RoCE v2"])
    w.add("mock1", ["v1v2"], slots=[None, None, None, "RoCE v2", None, "IB/RoCE v1"])
    w.add("mock2", ["v1v2"], slots=[None] * 8)
    w.add("mock3", ["v2"], slots=["missing"] * 8)
    w.policy(ALL_V1)
    w.start()
    for name, supported, mode in (("mock0", ["v1", "v2"], "ok"), ("mock1", ["v1", "v2"], "ok"), ("mock2", None, "ok"),
                                  ("mock3", None, "unsupported")):
        port = w.await_port(name, 1, mode, "ok")
        equal(port["supported"], supported, f"supported of {name}")
    equal(w.kernel_value("mock2", 1, "mode"), "v1", "mode of a port whose table is empty")
    equal(w.kernel_value("mock3", 1, "mode"), "v2", "mode of a port that cannot do v1")


@scenario(rows=[17])
def twelve_ports(w):
    """All of them, 10 to 12 too."""
    w.add("mock0", ["v1v2"] * 12)
    w.policy(ALL_V1)
    w.start()
    for port in range(1, 13):
        equal((w.kernel_value("mock0", port, "mode"), w.kernel_value("mock0", port, "tos")), ("v1", 104),
              f"values of port {port}")
    equal([p["port"] for p in w.status()["devices"][0]["ports"]], list(range(1, 13)), "ports in status")


@scenario(rows=[17])
def one_port_of_twelve(w):
    w.add("mock0", ["v1v2"] * 12)
    w.policy("""
version: 1
rules:
  - match: {port: 2}
    tos: 104
  - match: {port: 13}
    tos: 8
""")
    w.start()
    equal([w.kernel_value("mock0", p, "tos") for p in range(1, 13)], [0, 104] + [0] * 10, "TOS by port")
    equal(len(w.lints()), 1, f"warnings, which are {w.lints()}")
    matches(r"policy\.yaml:6", w.lints()[0], "warning that the rule for port 13 matches nothing")


@scenario(rows=[18])
def vpi_card(w):
    w.add("mock0", ["ib", "v1v2"])
    w.policy(ALL_V1)
    w.start()
    w.await_port("mock0", 1, "not-roce", "not-roce")
    w.await_port("mock0", 2, "ok", "ok")
    equal(w.kernel_value("mock0", 1, "tos"), 0, "TOS of the InfiniBand port")
    equal(w.kernel_value("mock0", 2, "mode"), "v1", "mode of the Ethernet port")
    equal(w.status()["compliant"], True, "compliant")
    if w.name == "fuse":
        equal({a["port"] for a in w.writes()}, {"2"}, "ports written")


@scenario(rows=[19])
def only_roce_is_written(w):
    w.add("ib0", ["ib"])
    w.add("iw0", ["iwarp"])
    w.add("mock0", ["v1v2"])
    w.policy(ALL_V1)
    w.start()
    for name in ("ib0", "iw0"):
        w.await_port(name, 1, "not-roce", "not-roce")
        equal(w.kernel_value(name, 1, "tos"), 0, f"TOS of {name}")
    w.await_port("mock0", 1, "ok", "ok")
    equal(w.status()["compliant"], True, "compliant")
    w.check_exit(w.rocectl("status"), 0)
    equal(w.complaints(4), [], "warnings")
    equal(w.directories(), ["mock0"], "directories")


@scenario(rows=[3], rings="both")
def rdma_cm_does_not_know_it(w):
    """ENODEV for ever, as for a representor: pending, while others have their values."""
    w.add("mock0", nocm=True)
    w.add("mock1")
    w.policy(ALL_V1)
    w.start()
    w.await_port("mock0", 1, "pending", "pending")
    w.await_port("mock1", 1, "ok", "ok")
    w.add("mock2")
    w.await_port("mock2", 1, "ok", "ok")
    equal(w.complaints(4), [], "warnings")


@scenario(rows=[3], rings="fuse")
def mkdir_fails_twice(w):
    w.policy(ALL_V1)
    w.start()
    w.fault("mkdir", "errno", 19, device="mock0", count=2)
    w.add("mock0")
    w.await_port("mock0", 1, "ok", "ok")
    equal([a["result"] for a in w.accesses("mkdir")], ["ENODEV", "ENODEV", "0"], "answers to mkdir")
    equal(w.complaints(4), [], "warnings")


@scenario(rows=[3], rings="fuse", timeout=90)
def mkdir_fails_for_ever(w):
    """Retries are spaced, the watchdog goes on, and after 30 s a warning says so."""
    w.policy(ALL_V1)
    w.start(prefix=URGENT, WATCHDOG_USEC="1000000")
    w.fault("mkdir", "errno", 19, device="mock0")
    begin = time.monotonic()
    w.add("mock0")
    w.add("mock1")
    w.await_port("mock1", 1, "ok", "ok")
    w.await_record(timeout=45, ROCED_DEVICE="mock0", PRIORITY="4")
    took = time.monotonic() - begin
    check(28 < took < 40, f"the warning comes after {took:.0f} s")
    equal(sorted(r["ROCED_ATTRIBUTE"] for r in w.worst(4)), ["mode", "tos"], "warnings")
    tries = len(w.accesses("mkdir", "mock0"))
    check(3 < tries < 30, f"{tries} tries in {took:.0f} s")
    w.check_pings(1)
    w.clear_faults()
    w.uevent("change", "mock0")
    w.await_port("mock0", 1, "ok", "ok")


@scenario(rows=[25])
def bond_takes_over(w):
    w.add("mlx5_0")
    w.add("mlx5_1")
    w.policy("""
version: 1
rules:
  - match: {device: [mlx5_0, mlx5_1, mlx5_bond_0]}
    tos: 104
""")
    w.start()
    w.remove("mlx5_0")
    w.remove("mlx5_1")
    w.add("mlx5_bond_0")
    w.await_port("mlx5_bond_0", tos="ok", tos_found=104)
    w.wait_until(lambda: w.directories() == ["mlx5_bond_0"], "the others' directories are gone", 2)
    equal(w.complaints(4), [], "warnings")


@scenario()
def port_type_changes(w):
    """The driver of a VPI card registers it anew for that: each port is judged by what it now is."""
    w.policy(ALL_V1)
    w.add("mock0", ["ib", "v1v2"])
    w.start()
    for ports in (["v1v2", "v1v2"], ["ib", "ib"], ["v1v2", "ib"]):
        w.remove("mock0")
        w.add("mock0", ports)
        state = {"ib": "not-roce", "v1v2": "ok"}
        for number, kind in enumerate(ports, 1):
            w.await_port("mock0", number, state[kind], state[kind])
            if kind == "v1v2":
                w.await_kernel("mock0", number, mode="v1", tos=104)
        if "v1v2" not in ports:
            w.wait_until(lambda: not w.directories(), "no directory is left")
    equal(sorted(r["ROCED_PORT"] for r in w.changes()), ["1"] * 4 + ["2"] * 4, "ports of the changes told")
    equal(w.complaints(4), [], "warnings")


@scenario(rows=[24], timeout=120)
def virtual_functions_come_and_go(w):
    n, rounds = (127, 20) if w.name == "fuse" else (32, 4)
    rounds = int(os.environ.get("ROCED_CHURN_ROUNDS", rounds))
    w.policy(ALL_V1)
    w.start()
    files, memory = w.open_files(), []
    for done in range(rounds):
        for i in range(n):
            w.add(f"mock{i}", netdev=[])
        begin = time.monotonic()
        for i in range(n):
            w.await_kernel(f"mock{i}", 1, mode="v1", tos=104)
        took = time.monotonic() - begin
        if w.name == "fuse":
            check(took < 5 * PATIENCE, f"the last of {n} has its values after {took:.1f} s")
        # A device that goes between write and read back takes the change's proof with it.
        w.wait_until(lambda: len(w.changes()) >= (done + 1) * n * 2, "the changes are told")
        for i in range(n):
            w.remove(f"mock{i}")
        w.wait_until(lambda: not w.directories(), "no directory is left")
        memory.append(w.memory())
    equal(len(w.changes()), rounds * n * 2, "changes told")
    equal(w.complaints(4), [], "warnings")
    equal(w.open_files(), files, "files open")
    early, late = memory[1:rounds // 2], memory[rounds // 2:]
    check(min(late) < max(early) + 128, f"the daemon grows: {memory} KiB")
