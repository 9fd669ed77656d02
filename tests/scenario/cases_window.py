# SPDX-License-Identifier: LGPL-2.1-or-later

"""Between a device's appearance and its policy: nobody who waits for udev sees it with the wrong values."""

import ctypes
import os
import select
import time

from world import check, equal, scenario

V1_104 = "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n"
ROUNDS = int(os.environ.get("ROCED_WINDOW_ROUNDS", "40"))


class Listener:
    """Hears what udevd announces, as any program does."""

    def __init__(self):
        self.udev = ctypes.CDLL("libudev.so.1")
        for name in ("udev_new", "udev_monitor_new_from_netlink", "udev_monitor_receive_device"):
            getattr(self.udev, name).restype = ctypes.c_void_p
        for name in ("udev_device_get_action", "udev_device_get_sysname"):
            getattr(self.udev, name).restype = ctypes.c_char_p
        self.monitor = ctypes.c_void_p(self.udev.udev_monitor_new_from_netlink(
            ctypes.c_void_p(self.udev.udev_new()), b"udev"))
        self.udev.udev_monitor_filter_add_match_subsystem_devtype(self.monitor, b"infiniband", None)
        self.udev.udev_monitor_enable_receiving(self.monitor)
        self.fd = self.udev.udev_monitor_get_fd(self.monitor)

    def receive(self, timeout):
        """(action, name) of the next event, or None."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return None
        device = ctypes.c_void_p(self.udev.udev_monitor_receive_device(self.monitor))
        found = (self.udev.udev_device_get_action(device).decode(), self.udev.udev_device_get_sysname(device).decode())
        self.udev.udev_device_unref(device)
        return found


@scenario(rings="vm", timeout=120)
def no_window_for_listeners(w):
    """At the moment of udev's announcement, the name that is announced and is there has its values."""
    w.policy(V1_104)
    w.start()
    listener = Listener()
    wrong, heard = [], 0
    for i in range(ROUNDS):
        pci = w.pci[0] if i % 2 else None
        w.control(f"add mock0 v1v2,v1v2{f' pci={pci}' if pci else ''}")
        name = None
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            event = listener.receive(1)
            if not event or event[0] not in ("add", "move") or not os.path.exists(f"{w.class_path}/{event[1]}"):
                continue
            name = event[1]
            heard += 1
            values = [w.kernel_value(name, port, key) for port in (1, 2) for key in ("mode", "tos")]
            if values != ["v1", 104, "v1", 104]:
                wrong.append((i, *event, values))
            if not pci or name != "mock0":
                break
        check(name, f"no announcement in round {i}")
        w.control(f"del {name}")
        while (listener.receive(10) or ("remove",))[0] != "remove":
            pass
    equal(wrong, [], f"ports seen with other values, of {heard} announcements")
