# SPDX-License-Identifier: LGPL-2.1-or-later

"""Devices and their names: given late, changed, exchanged, odd; and the rules that go by them."""

from world import check, equal, matches, scenario

ALL_V1 = "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n"


@scenario(rows=[20], rings="fuse")
def renamed_at_birth(w):
    """udev's own order: the kernel renames within the add, and udev's add speaks of a name that is gone."""
    w.policy(ALL_V1)
    w.start()
    w.add("mlx5_0", pci=w.pci[0], announce=False)
    before, after = w.kernel_rename("mlx5_0", "rocep1s0f0")
    w.uevent("add", "mlx5_0", before)
    w.database("infiniband", "rocep1s0f0")
    w.uevent("move", "rocep1s0f0", after, DEVPATH_OLD=before)
    w.await_port("rocep1s0f0", 1, "ok", "ok", timeout=2)
    w.reload()
    equal(w.directories(), ["rocep1s0f0"], "directories")
    equal([r["MESSAGE"] for r in w.records(ROCED_DEVICE="mlx5_0") if int(r["PRIORITY"]) < 7], [], "records of mlx5_0")
    equal(w.complaints(4), [], "warnings")


@scenario(rows=[20], rings="fuse")
def renamed_before_the_daemon_looks(w):
    """As above, but udev comes 5 ms late, with the daemon at the directory meanwhile."""
    w.policy(ALL_V1)
    w.start()
    w.fault("mkdir", "delay", 5, device="mlx5_0")
    w.add("mlx5_0", pci=w.pci[0], announce=False)
    w.uevent("add", "mlx5_0")
    before, after = w.kernel_rename("mlx5_0", "rocep1s0f0")
    w.database("infiniband", "rocep1s0f0")
    w.uevent("move", "rocep1s0f0", after, DEVPATH_OLD=before)
    w.await_port("rocep1s0f0", 1, "ok", "ok", timeout=2)
    w.wait_until(lambda: w.directories() == ["rocep1s0f0"], lambda: f"only rocep1s0f0 is there: {w.directories()}", 2)
    equal([r["MESSAGE"] for r in w.records(ROCED_DEVICE="mlx5_0") if int(r["PRIORITY"]) < 7], [], "records of mlx5_0")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[20, 47], rings="vm")
def renamed_by_rdma_core(w):
    """The real race, with rules for both names: the rule of the name at birth never wins."""
    w.policy("""
version: 1
rules:
  - match: {device: "mock*"}
    tos: 8
  - match: {device: "roce*"}
    tos: 104
""")
    w.start()
    for _ in range(5):
        name = w.add("mock0", pci=w.pci[0])
        matches("^roce", name, "name that rdma-core gives")
        w.await_port(name, tos="ok", tos_found=104)
        equal(w.directories(), [name], "directories")
        w.remove(name)
        w.wait_until(lambda: not w.directories(), "its directory is gone", 5)
    equal([r["MESSAGE"] for r in w.records(ROCED_WANTED="8")], [], "records of the rule for the name at birth")
    equal([r["MESSAGE"] for r in w.records(ROCED_DEVICE="mock0") if int(r["PRIORITY"]) < 7], [], "records of mock0")
    equal([r["ROCED_FOUND"] for r in w.changes()], ["0"] * 5, "TOS found before the change")


@scenario(rows=[47], rings="fuse")
def never_the_rule_of_the_name_at_birth(w):
    """While udev has not finished with mlx5_0, no rule by name is judged; the port is pending."""
    w.policy("""
version: 1
rules:
  - name: for good
    match: {device: mlx5_0}
    tos: 8
  - name: new name
    match: {device: rocep0s31f3}
    tos: 104
""")
    w.start()
    w.add("mlx5_0", pci=w.pci[0], announce=False)
    w.uevent("change", "mlx5_0")
    w.reload()
    w.await_port("mlx5_0", tos="pending")
    equal(w.writes(), [], "writes before udev has finished")
    before, after = w.kernel_rename("mlx5_0", "rocep0s31f3")
    w.reload()
    w.uevent("add", "mlx5_0", before)
    w.reload()
    w.database("infiniband", "rocep0s31f3")
    w.uevent("move", "rocep0s31f3", after, DEVPATH_OLD=before)
    w.await_port("rocep0s31f3", tos="ok", rule="new name")
    equal([a["text"] for a in w.writes(attribute="tos")], ["104"], "TOS written")
    equal(w.records(ROCED_WANTED="8"), [], "records of the wrong rule")


@scenario(rows=[47], rings="fuse")
def leftover_of_the_name_at_birth(w):
    """udevd leaves its entry for the name at birth behind: the next one born so is no more settled than the first."""
    w.policy("""
version: 1
rules:
  - match: {device: mlx5_0}
    tos: 8
  - match: {device: "roce*"}
    tos: 104
""")
    w.start()
    for name in ("rocep1s0f0", "rocep2s0f0", "rocep3s0f0"):
        w.add("mlx5_0", pci=w.pci[0], announce=False)
        w.reload()
        w.await_port("mlx5_0", tos="pending")
        before, after = w.kernel_rename("mlx5_0", name)
        w.database("infiniband", "mlx5_0")
        w.uevent("add", "mlx5_0", before)
        w.reload()
        w.database("infiniband", name)
        w.uevent("move", name, after, DEVPATH_OLD=before)
        w.await_port(name, tos="ok", tos_found=104)
        w.remove(name)
        w.wait_until(lambda: not w.directories(), "its directory is gone")
    equal({a["text"] for a in w.writes()}, {"104"}, "values written")
    equal(w.records(ROCED_WANTED="8"), [], "records of the wrong rule")


@scenario(rows=[47], rings="fuse")
def settled_rules_need_no_udev(w):
    """A rule that hangs on nothing udev decides wins at once; one above that does, stops the search."""
    w.policy("""
version: 1
rules:
  - match: {driver: mlx4_core}
    tos: 8
  - match: any
    tos: 104
""")
    w.start()
    w.add("mlx5_0", pci=w.pci[0], announce=False)
    w.uevent("change", "mlx5_0")
    w.await_port("mlx5_0", tos="ok", tos_found=104)


@scenario(rows=[47], rings="fuse")
def name_given_for_good(w):
    """Once udev has finished, mlx5_0 is a name as good as any."""
    w.policy("version: 1\nrules: [{match: {device: mlx5_0}, tos: 8}]\n")
    w.start()
    w.add("mlx5_0", pci=w.pci[0], announce=False)
    w.uevent("change", "mlx5_0")
    w.await_port("mlx5_0", tos="pending")
    w.announce("mlx5_0")
    w.await_port("mlx5_0", tos="ok", tos_found=8)


@scenario(rows=[21])
def rule_that_matches_nothing_here(w):
    w.add("mock0")
    w.policy("version: 1\nrules:\n  - match: {device: mock7}\n    tos: 104\n")
    w.start()
    w.wait_until(lambda: w.lints(), "a warning")
    equal(len(w.lints()), 1, "warnings")
    matches(r"policy\.yaml:3", w.lints()[0], "warning")
    w.rename("mock0", "mock7")
    w.await_port("mock7", tos="ok", tos_found=104)
    w.reload()
    equal(len(w.lints()), 1, "warnings once it matches")


@scenario()
def renamed_while_running(w):
    """The values go with the device; the rule of the new name takes over, the old directory is cleared away."""
    w.add("mock0")
    w.policy("""
version: 1
rules:
  - match: {device: mock0}
    mode: v1
    tos: 8
  - match: {device: storage0}
    tos: 104
""")
    w.start()
    w.await_port("mock0", 1, "ok", "ok")
    w.rename("mock0", "storage0")
    w.await_port("storage0", mode="unmanaged", tos="ok", tos_found=104)
    equal(w.kernel_value("storage0", 1, "mode"), "v1", "mode, which the new rule does not set")
    w.wait_until(lambda: w.directories() == ["storage0"], lambda: f"only storage0 is there: {w.directories()}", 2)
    equal([(r["ROCED_TRIGGER"], r["ROCED_FOUND"]) for r in w.changes("storage0")], [("rename", "8")], "changes told")


@scenario()
def names_change_places(w):
    """Two devices swap names by way of a third."""
    w.add("mock0")
    w.add("mock1")
    w.policy("""
version: 1
rules:
  - match: {device: mock0}
    tos: 8
  - match: {device: mock1}
    tos: 104
""")
    w.start()
    w.rename("mock0", "mock2")
    w.rename("mock1", "mock0")
    w.rename("mock2", "mock1")
    w.await_kernel("mock0", 1, tos=8)
    w.await_kernel("mock1", 1, tos=104)
    w.await_port("mock0", tos="ok")
    w.await_port("mock1", tos="ok")
    w.wait_until(lambda: w.directories() == ["mock0", "mock1"], "no third directory is left", 2)


@scenario(rows=[22])
def names_are_anchored(w):
    for name in ("mlx5_1", "mlx5_10", "mlx5_bond_0", "xmlx5_1"):
        w.add(name)
    w.policy("version: 1\nrules: [{match: {device: mlx5_1}, tos: 104}]\n")
    w.start()
    equal([w.kernel_value(n, 1, "tos") for n in ("mlx5_1", "mlx5_10", "mlx5_bond_0", "xmlx5_1")], [104, 0, 0, 0],
          "TOS of mlx5_1, mlx5_10, mlx5_bond_0, xmlx5_1")


@scenario(rows=[23], rings="vm")
def hostile_names(w):
    """The kernel lets a device be called so; nothing of it reaches a path. udevd passes on no event of "..", so a reload
    has to find it; a name with a slash makes the kernel's own listing fail for all, so events are all there is."""
    w.add("mock1")
    w.policy(ALL_V1)
    w.start()
    for name in ("..", "a/b"):
        w.add("mock0")
        w.await_kernel("mock0", 1, mode="v1", tos=104)
        w.rename("mock0", name)
        try:
            if name == "..":
                w.reload()
            w.wait_until(lambda: w.directories() == ["mock1"], lambda: f"only mock1 is there: {w.directories()}", 5)
            w.add("mock2")
            w.await_kernel("mock2", 1, mode="v1", tos=104)
            w.remove("mock2")
        finally:
            w.control(f"del {name}")
        check(w.running(), "the daemon has ended")
    w.await_port("mock1", 1, "ok", "ok")
    w.stop()
    equal(w.directories(), [], "directories after stop")


@scenario(rows=[23])
def name_with_a_dot_in_front(w):
    """A device, and no hidden file: libudev's listing would pass over it."""
    w.add(".mock")
    w.policy(ALL_V1)
    w.start()
    w.await_kernel(".mock", 1, mode="v1", tos=104)
    w.stop()
    equal(w.directories(), [], "directories after stop")
