# SPDX-License-Identifier: LGPL-2.1-or-later

"""The part of sysfs that tells of RDMA devices, as plain files under an umockdev tree.

The root is to be on a tmpfs, so that a device that is removed and added again gets another inode, as in sysfs."""

import os
import shutil

TYPES = {"v1": ["IB/RoCE v1"], "v2": ["RoCE v2"], "v1v2": ["IB/RoCE v1", "RoCE v2"],
         "ib": ["IB/RoCE v1"], "iwarp": ["IB/RoCE v1"], "raw": []}
SLOTS = 8


class Sysfs:
    def __init__(self, root, empty_slot):
        self.root = root
        self.empty_slot = empty_slot
        self.ifindex = 10
        self.n_devices = 0
        for path in ("class/net", "class/infiniband", "bus/pci/devices", "bus/pci/drivers", "bus/auxiliary/devices",
                     "module", "devices/virtual", "kernel/config"):
            os.makedirs(f"{root}/sys/{path}", exist_ok=True)

    def path(self, devpath):
        return f"{self.root}/sys{devpath}"

    def write(self, devpath, **files):
        os.makedirs(self.path(devpath), exist_ok=True)
        for name, text in files.items():
            with open(f"{self.path(devpath)}/{name}", "w") as f:
                f.write(text + "\n")

    def link(self, devpath, target):
        os.makedirs(os.path.dirname(self.path(devpath)), exist_ok=True)
        if os.path.lexists(self.path(devpath)):
            os.unlink(self.path(devpath))
        os.symlink(os.path.relpath(self.path(target), os.path.dirname(self.path(devpath))), self.path(devpath))

    def devpath(self, subsystem, name):
        link = self.path(f"/class/{subsystem}/{name}")
        return os.path.realpath(link).removeprefix(f"{self.root}/sys") if os.path.lexists(link) else None

    def add_pci(self, address, driver="mlx5_core", vendor="15b3", device="1017", physfn=None):
        devpath = f"/devices/pci{address[:7]}/{address}"
        if os.path.exists(self.path(devpath)):
            return devpath
        self.write(devpath, vendor="0x" + vendor, device="0x" + device, **{"class": "0x020000"},
                   uevent=f"DRIVER={driver}\nPCI_CLASS=20000\nPCI_ID={vendor.upper()}:{device.upper()}\n"
                          f"PCI_SLOT_NAME={address}")
        self.write(f"/bus/pci/drivers/{driver}")
        self.link(f"{devpath}/driver", f"/bus/pci/drivers/{driver}")
        self.link(f"{devpath}/subsystem", "/bus/pci")
        self.link(f"/bus/pci/devices/{address}", devpath)
        if physfn:
            self.link(f"{devpath}/physfn", self.add_pci(physfn, driver))
        return devpath

    def add_subfunction(self, number, pci):
        """A subfunction sits on the auxiliary bus, below its PCI function."""
        devpath = f"{self.add_pci(pci)}/mlx5_core.sf.{number}"
        self.write(devpath, sfnum=str(number), uevent="DRIVER=mlx5_core.sf")
        self.write("/bus/auxiliary/drivers/mlx5_core.sf")
        self.link(f"{devpath}/driver", "/bus/auxiliary/drivers/mlx5_core.sf")
        self.link(f"{devpath}/subsystem", "/bus/auxiliary")
        self.link(f"/bus/auxiliary/devices/mlx5_core.sf.{number}", devpath)
        return devpath

    def add_netdev(self, name, parent="/devices/virtual"):
        self.ifindex += 1
        devpath = f"{parent}/net/{name}"
        self.write(devpath, ifindex=str(self.ifindex), address="02:00:00:00:00:%02x" % self.ifindex, operstate="up",
                   type="1", mtu="1500", uevent=f"INTERFACE={name}\nIFINDEX={self.ifindex}")
        self.link(f"{devpath}/subsystem", "/class/net")
        self.link(f"/class/net/{name}", devpath)
        if parent != "/devices/virtual":
            self.link(f"{devpath}/device", parent)
        return devpath

    def add_device(self, name, ports, parent=None, guid=None, netdevs=(), slots=None, state="4: ACTIVE"):
        """ports: what each can; slots: the GID types in place of the usual ones, None is an empty slot and
        "missing" one without a file."""
        self.n_devices += 1
        devpath = f"{parent or '/devices/virtual'}/infiniband/{name}"
        guid = guid or "%016x" % (0x0200000000000000 + self.n_devices)
        guid = ":".join(guid[i:i + 4] for i in range(0, 16, 4))
        iwarp = ports and ports[0] == "iwarp"
        self.write(devpath, node_type="4: RNIC" if iwarp else "1: CA", node_guid=guid, sys_image_guid=guid,
                   node_desc="mock", fw_ver="16.35.2000", hca_type="MT4119", uevent=f"NAME={name}")
        self.write(f"{devpath}/ports")
        for number, port in enumerate(ports, 1):
            netdev = netdevs[number - 1] if number <= len(netdevs) else None
            self.add_port(f"{devpath}/ports/{number}", port, netdev, slots, state)
        self.link(f"{devpath}/subsystem", "/class/infiniband")
        if parent:
            self.link(f"{devpath}/device", parent)
        self.link(f"/class/infiniband/{name}", devpath)
        return devpath

    def add_port(self, devpath, port, netdev, slots, state):
        self.write(devpath, link_layer="InfiniBand" if port == "ib" else "Ethernet", state=state,
                   phys_state="5: LinkUp", rate="100 Gb/sec (4X EDR)", lid="0x0", sm_lid="0x0")
        for folder in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
            self.write(f"{devpath}/{folder}")
        self.set_slots(devpath, TYPES[port] if slots is None else slots, netdev if port not in ("ib", "raw") else None)

    def set_slots(self, devpath, types, netdev):
        for i in range(max(SLOTS, len(types))):
            kind = types[i] if i < len(types) else None
            for folder, text in (("types", kind), ("ndevs", netdev)):
                path = f"{self.path(devpath)}/gid_attrs/{folder}/{i}"
                if os.path.lexists(path):
                    os.unlink(path)
                if kind == "missing":
                    continue
                if kind is None or text is None:
                    os.symlink(self.empty_slot, path)
                else:
                    self.write(f"{devpath}/gid_attrs/{folder}", **{str(i): text})
            gid = "fe80:0000:0000:0000:0000:00ff:fe00:%04x" % (i + 1) if kind else ":".join(["0000"] * 8)
            self.write(f"{devpath}/gids", **{str(i): gid})

    def remove(self, subsystem, name):
        devpath = self.devpath(subsystem, name)
        os.unlink(self.path(f"/class/{subsystem}/{name}"))
        shutil.rmtree(self.path(devpath))
        return devpath

    def rename(self, subsystem, old, new):
        """Both device paths. The directory keeps its inode, as in sysfs."""
        before = self.devpath(subsystem, old)
        after = f"{os.path.dirname(before)}/{new}"
        os.rename(self.path(before), self.path(after))
        os.unlink(self.path(f"/class/{subsystem}/{old}"))
        self.link(f"/class/{subsystem}/{new}", after)
        key = "NAME" if subsystem == "infiniband" else "INTERFACE"
        with open(f"{self.path(after)}/uevent") as f:
            lines = [f"{key}={new}" if line.startswith(key + "=") else line for line in f.read().splitlines()]
        self.write(after, uevent="\n".join(lines))
        return before, after
