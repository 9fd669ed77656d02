# SPDX-License-Identifier: LGPL-2.1-or-later

"""The two worlds of the scenarios, with what a benchmark needs besides: many ports at once, programs that are timed from
their start, and when which program wrote a value."""

import os
import re
import socket
import subprocess
import time

from world import FILES, TEXTS, URGENT, check, shell
import uevent
import world_fuse
import world_vm

MODE, TOS = "v1", 104                     # what the policy wants; kernel's defaults are v2 and 0
POLICY = f"version: 1\nrules: [{{match: any, mode: {MODE}, tos: {TOS}}}]\n"
WANTED = (TEXTS[MODE], str(TOS))
DEFAULT = (TEXTS["v2"], "0")


class Supervised:
    """A program that runs, or has run, under "supervise"."""

    def __init__(self, place, *command):
        # Ahead of whatever else the machine has to do, and so is all that it starts.
        self.process = subprocess.Popen([*URGENT, place.programs["supervise"], *place.variables(), *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ns, self.cpu_ns, self.pid = self.answer("ready")

    def answer(self, word):
        line = self.process.stdout.readline().split()
        check(line and line[0] == word, f"supervise says {line}, not {word}")
        return [int(number) for number in line[1:]]

    def reload(self):
        """Nanoseconds of a whole pass, and of processor time in it."""
        self.process.stdin.write("reload\n")
        self.process.stdin.flush()
        return self.answer("reload")

    def wait(self):
        """Its own end."""
        self.process.stdin.write("wait\n")
        self.process.stdin.flush()
        return self.stop()

    def stop(self):
        self.process.stdin.close()
        code, = self.answer("end")
        self.process.wait()
        return code

    def memory(self):
        """PSS and the most that was resident, in KiB."""
        pss = field(f"/proc/{self.pid}/smaps_rollup", "Pss")
        return pss, field(f"/proc/{self.pid}/status", "VmHWM")


def field(path, name):
    with open(path) as f:
        return int(re.search(rf"^{name}:\s+(\d+)", f.read(), re.M).group(1))


def thread_name(tid):
    """The trace itself does not always know it."""
    try:
        with open(f"/proc/{tid}/comm") as f:
            return f.read().rstrip("\n")
    except FileNotFoundError:
        return None


class Place:
    """What both have in common; mixed into a World."""

    def setup(self, quick):
        self.quick = quick
        self.devices = []
        os.makedirs("/run/roced", exist_ok=True)

    def variables(self):
        """As for the service: its stderr is the journal's, so that what is logged goes there once; and the unit's watchdog."""
        null = os.stat("/dev/null")
        return [f"JOURNAL_STREAM={null.st_dev}:{null.st_ino}", "WATCHDOG_USEC=30000000"]

    def ports(self):
        return [(name, port) for name, n in self.devices for port in range(1, n + 1)]

    def populate(self, n_ports):
        """Two ports a device, and one if an odd number is asked for."""
        missing = n_ports - len(self.ports())
        while missing > 0:
            n = min(2, missing)
            self.add_settled(f"mock{len(self.devices)}", n)
            self.devices.append((f"mock{len(self.devices)}", n))
            missing -= n
        self.settle()

    def run_once(self, *command, codes=(0,)):
        """Until it is ready: nanoseconds, and of processor time."""
        program = Supervised(self, *command)
        code = program.wait()
        check(code in codes, f"{command[:4]} exits {code}")
        return program.ns, program.cpu_ns

    def undo(self):
        self.run_once(self.programs["floor"], "--undo", *DEFAULT)

    def check_values(self, wanted=(MODE, TOS)):
        """A benchmark of what does not do its work would be none."""
        for name, port in self.ports()[:: max(1, len(self.ports()) // 8)]:
            found = tuple(self.kernel_value(name, port, a) for a in FILES)
            check(found == wanted, f"{name}/{port} has {found}, not {wanted}")


class Announcer(uevent.Sender):
    """Sends to udevd's listeners in this network namespace, which has no udevd, as udevd does."""
    KOBJECT_UEVENT, LISTENERS = 15, 2         # linux/netlink.h; libudev-monitor.c's group

    def deliver(self, message):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, self.KOBJECT_UEVENT) as s:
            self.sent = time.monotonic()
            s.sendto(message, (0, self.LISTENERS))


class FusePlace(Place, world_fuse.FuseWorld):
    def __init__(self, build, quick):
        super().__init__(build)
        self.programs = {name: f"{build}/tests/benchmarks/benchmark-{name}" for name in ("floor", "listen", "supervise",
                                                                                       "policy-cost")}
        self.programs |= self.binaries
        self.events = Announcer(world_fuse.TESTBED)
        # Programs find the fake kernel in its place, with nothing laid between them and it, which would cost time. libudev has
        # to be told that it need be no sysfs.
        shell("mount", "--rbind", world_fuse.TESTBED + "/sys", "/sys")
        self.setup(quick)

    def hear_record(self, s):
        """Nothing is made of records here: that would take the processor from what is measured."""
        s.recv(1 << 16)

    def variables(self):
        return [*super().variables(), "SYSTEMD_DEVICE_VERIFY_SYSFS=0"]

    def add_settled(self, name, n_ports):
        self.add(name, ("v1v2",) * n_ports)

    def settle(self):
        pass

    def stores(self, since=0):
        """(seconds, program, device, port) of each value written."""
        return [(float(a["time"]), a["program"], a["device"], int(a["port"]))
                for a in self.accesses("write", program=None) if float(a["time"]) >= since]


class VmPlace(Place, world_vm.VmWorld):
    TRACING = "/sys/kernel/tracing"
    # Values are told from what else is written by their lengths.
    SIZES = sorted({len(text) for text in WANTED + DEFAULT})
    PROGRAMS = ("roced", "python3")

    def __init__(self, programs, quick):
        super().__init__()
        self.programs = {name: f"{programs}/benchmark-{name}" for name in ("floor", "listen", "supervise")}
        self.programs |= {"roced": "/usr/sbin/roced", "rocectl": "/usr/bin/rocectl"}
        self.setup(quick)
        self.add_netdev("bench0")

    def listen(self):
        """Nobody listens to the journal: that would take the processor from what is measured."""

    def close(self):
        pass

    def add_settled(self, name, n_ports):
        self.control(f"add {name} " + ",".join(["v1v2@bench0"] * n_ports))

    def settle(self):
        subprocess.run(["udevadm", "settle", "--timeout=600"], check=True)

    def trace_stores(self):
        """From now on the kernel notes when values are written."""
        if not os.path.exists(f"{self.TRACING}/trace"):
            subprocess.run(["mount", "-t", "tracefs", "tracefs", self.TRACING], check=True)
        self.trace_write("trace_clock", "mono")
        programs = " || ".join(f'comm == "{name}"' for name in self.PROGRAMS)
        for event, field_name in (("enter", "count"), ("exit", "ret")):
            sizes = " || ".join(f"{field_name} == {size}" for size in self.SIZES)
            self.trace_write(f"events/syscalls/sys_{event}_write/filter", f"({programs}) && ({sizes})")
            self.trace_write(f"events/syscalls/sys_{event}_write/enable", "1")

    def trace_write(self, name, text):
        with open(f"{self.TRACING}/{name}", "w") as f:
            f.write(text + "\n")

    def stores(self, since=0):
        """(seconds, program, begin or end) of each value written."""
        found = []
        with open(f"{self.TRACING}/trace") as f:
            for line in f:
                match = re.match(r"\s*\S+-(\d+)\s.*?\s(\d+\.\d+): sys_write(\(| -> )", line)
                if match and float(match.group(2)) >= since:
                    found.append((float(match.group(2)), thread_name(match.group(1)), "begin" if match.group(3) == "(" else "end"))
        return found
