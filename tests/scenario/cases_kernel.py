# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the kernel answers, roced aside. Both worlds run these, and so the fake stays true to the kernel."""

import errno
import os

from world import Inotify, check, equal, scenario


def refused(code, function, *args):
    try:
        function(*args)
    except OSError as e:
        equal(errno.errorcode[e.errno], errno.errorcode[code], f"{function.__name__}{args}")
    else:
        check(False, f"{function.__name__}{args} succeeds, expected {errno.errorcode[code]}")


@scenario()
def kernel_directories(w):
    w.add("mock0", ["v1v2", "v2"])
    root = f"{w.configfs_path}/rdma_cm"
    refused(errno.ENODEV, w.foreign_mkdir, "nosuch0")
    refused(errno.EPERM, os.mkdir, f"{w.configfs_path}/other")
    w.foreign_mkdir("mock0")
    refused(errno.EEXIST, w.foreign_mkdir, "mock0")
    equal(sorted(os.listdir(f"{root}/mock0/ports")), ["1", "2"], "ports")
    equal(sorted(os.listdir(f"{root}/mock0/ports/1")), ["default_roce_mode", "default_roce_tos"], "attributes")
    refused(errno.EPERM, os.mkdir, f"{root}/mock0/ports/3")
    refused(errno.EPERM, os.rmdir, f"{root}/mock0/ports/1")
    equal(w.directories(), ["mock0"], "directories")
    w.foreign_rmdir("mock0")
    equal(w.directories(), [], "directories")


@scenario()
def kernel_directory_identity(w):
    """What tells one directory from another of the same name: its inode and the time it was made."""
    w.add("mock0")
    path = f"{w.configfs_path}/rdma_cm/mock0"
    os.mkdir(path, 0o700)
    before = os.stat(path)
    equal(before.st_mode & 0o777, 0o755, "mode of a directory")
    w.foreign_write("mock0", 1, "tos", "8")
    again = os.stat(path)
    equal((again.st_ino, again.st_ctime_ns), (before.st_ino, before.st_ctime_ns), "inode and time after a write")
    fd = os.open(path, os.O_RDONLY)
    w.foreign_rmdir("mock0")
    w.foreign_mkdir("mock0")
    after = os.stat(path)
    check(after.st_ino != before.st_ino, "a directory made anew has the old one's inode")
    refused(errno.ENOENT, os.stat, f"/proc/self/fd/{fd}/ports")
    os.close(fd)


@scenario()
def kernel_defaults(w):
    """v2 where the port can, else v1; a port that is no RoCE port reads v1; TOS 0."""
    for name, port, mode in (("mocka", "v1v2", "v2"), ("mockb", "v2", "v2"), ("mockc", "v1", "v1"),
                             ("mockd", "ib", "v1"), ("mocke", "iwarp", "v1")):
        w.add(name, [port])
        equal((w.kernel_value(name, 1, "mode"), w.kernel_value(name, 1, "tos")), (mode, 0), f"defaults of {port}")


@scenario()
def kernel_mode_strings(w):
    w.add("mock0")
    w.foreign_mkdir("mock0")
    for text, value in (("IB/RoCE v1", "v1"), ("RoCE v2\n", "v2"), ("IB/RoCE v1\n", "v1"), ("RoCE v2", "v2")):
        equal(w.foreign_write("mock0", 1, "mode", text), len(text), f"written of {text!r}")
        equal(w.kernel_value("mock0", 1, "mode"), value, f"mode after {text!r}")
    for text in ("RoCE v1", "roce v2", "RoCE v2 ", " RoCE v2", "v2", "\n", "RoCE v2\n\n", "RoCE v"):
        refused(errno.EINVAL, w.foreign_write, "mock0", 1, "mode", text)
    equal(w.foreign_write("mock0", 1, "mode", "IB/RoCE v1\0xyz"), 10, "written before a NUL")
    equal(w.kernel_value("mock0", 1, "mode"), "v1", "mode after a short write")
    equal(w.foreign_read("mock0", 1, "mode"), "IB/RoCE v1\n", "mode as read")


@scenario()
def kernel_mode_support(w):
    """EINVAL for what the port cannot do; ports that are not RoCE accept v1."""
    for name, port, refuses in (("mocka", "v2", "IB/RoCE v1"), ("mockb", "v1", "RoCE v2"),
                                ("mockc", "ib", "RoCE v2"), ("mockd", "iwarp", "RoCE v2")):
        w.add(name, [port])
        w.foreign_mkdir(name)
        refused(errno.EINVAL, w.foreign_write, name, 1, "mode", refuses)
        w.foreign_write(name, 1, "mode", "RoCE v2" if port == "v2" else "IB/RoCE v1")
        w.foreign_write(name, 1, "tos", "8")
        equal(w.kernel_value(name, 1, "tos"), 8, f"TOS of {port}")


@scenario()
def kernel_tos_strings(w):
    w.add("mock0")
    w.foreign_mkdir("mock0")
    for text, value in (("104", 104), ("0x68", 104), ("0150", 104), ("+5", 5), ("032", 26), ("255\n", 255), ("0", 0),
                        ("0XfF", 255)):
        equal(w.foreign_write("mock0", 1, "tos", text), len(text), f"written of {text!r}")
        equal(w.foreign_read("mock0", 1, "tos"), f"{value}\n", f"TOS after {text!r}")
    for text in ("256", "99999999999999999999999"):
        refused(errno.ERANGE, w.foreign_write, "mock0", 1, "tos", text)
    for text in ("-1", " 5", "5 ", "abc", "08", "0x", "+", "\n", "5\n\n"):
        refused(errno.EINVAL, w.foreign_write, "mock0", 1, "tos", text)


@scenario()
def kernel_directory_removed_while_open(w):
    """What is open there stays open, and says that it is gone: not ENODEV, as without a device."""
    w.add("mock0")
    w.foreign_mkdir("mock0")
    port = f"{w.configfs_path}/rdma_cm/mock0/ports/1"
    with open(f"{port}/default_roce_tos", "rb", buffering=0) as r, open(f"{port}/default_roce_tos", "wb", buffering=0) as wr:
        w.foreign_rmdir("mock0")
        refused(errno.ENOENT, r.read)
        refused(errno.ENOENT, wr.write, b"5")
        w.foreign_mkdir("mock0")
        refused(errno.ENOENT, r.read)
        refused(errno.ENOENT, wr.write, b"5")
    equal(w.foreign_read("mock0", 1, "tos"), "0\n", "TOS in a directory made anew")


@scenario()
def kernel_value_lives_in_device(w):
    w.add("mock0")
    w.foreign_mkdir("mock0")
    w.foreign_write("mock0", 1, "mode", "IB/RoCE v1")
    w.foreign_write("mock0", 1, "tos", "104")
    w.foreign_rmdir("mock0")
    w.foreign_mkdir("mock0")
    equal(w.foreign_read("mock0", 1, "tos"), "104\n", "TOS in a directory made anew")
    w.rename("mock0", "mock9")
    equal((w.kernel_value("mock9", 1, "mode"), w.kernel_value("mock9", 1, "tos")), ("v1", 104), "values after rename")
    refused(errno.ENODEV, w.foreign_read, "mock0", 1, "tos")
    refused(errno.ENODEV, w.foreign_write, "mock0", 1, "tos", "0")
    w.foreign_rmdir("mock0")


@scenario(rows=[4])
def kernel_stale_directory(w):
    w.add("mock0")
    w.foreign_mkdir("mock0")
    w.foreign_write("mock0", 1, "tos", "104")
    w.remove("mock0")
    equal(w.directories(), ["mock0"], "directories after the device went")
    refused(errno.ENODEV, w.foreign_read, "mock0", 1, "mode")
    refused(errno.ENODEV, w.foreign_write, "mock0", 1, "mode", "RoCE v2")
    w.add("mock0")
    refused(errno.EEXIST, w.foreign_mkdir, "mock0")
    equal(w.foreign_read("mock0", 1, "tos"), "0\n", "TOS of the new device through the old directory")


@scenario(rows=[5])
def kernel_stale_ports(w):
    w.add("mock0", ["v1v2"])
    w.foreign_mkdir("mock0")
    w.remove("mock0")
    w.add("mock0", ["v1v2", "v1v2"])
    refused(errno.ENOENT, w.foreign_read, "mock0", 2, "tos")
    w.foreign_rmdir("mock0")
    w.foreign_mkdir("mock0")
    equal(w.foreign_read("mock0", 2, "tos"), "0\n", "TOS of port 2")
    w.remove("mock0")
    w.add("mock0", ["v1v2"])
    refused(errno.EINVAL, w.foreign_read, "mock0", 2, "mode")


@scenario()
def kernel_read_is_cached(w):
    w.add("mock0")
    w.foreign_mkdir("mock0")
    fd = os.open(w.attribute_path("mock0", 1, "tos"), os.O_RDONLY)
    equal(os.pread(fd, 64, 0), b"0\n", "first read")
    w.foreign_write("mock0", 1, "tos", "104")
    equal(os.pread(fd, 64, 0), b"0\n", "second read of an open file")
    os.close(fd)
    equal(w.foreign_read("mock0", 1, "tos"), "104\n", "read of a file opened anew")


@scenario()
def kernel_no_connection_manager(w):
    w.add("mock0", nocm=True)
    refused(errno.ENODEV, w.foreign_mkdir, "mock0")


@scenario()
def kernel_module(w):
    """A directory pins rdma_cm; the values go with the module."""
    w.add("mock0")
    w.foreign_mkdir("mock0")
    w.foreign_write("mock0", 1, "tos", "104")
    try:
        w.rdma_cm(loaded=False)
    except OSError:
        pass
    else:
        check(False, "rdma_cm can be unloaded while there is a directory")
    w.foreign_rmdir("mock0")
    w.rdma_cm(loaded=False)
    check(not os.path.exists(f"{w.configfs_path}/rdma_cm"), "rdma_cm/ is there without the module")
    w.rdma_cm(loaded=True)
    w.foreign_mkdir("mock0")
    equal(w.foreign_read("mock0", 1, "tos"), "0\n", "TOS after the module was loaded anew")


@scenario()
def kernel_inotify(w):
    """Other programs' doings are seen on the directories, not on the files."""
    w.add("mock0")
    i = Inotify()
    everything = Inotify.MODIFY | Inotify.CLOSE_WRITE | Inotify.CREATE | Inotify.DELETE | Inotify.DELETE_SELF
    top = i.watch(f"{w.configfs_path}/rdma_cm", everything)
    w.foreign_mkdir("mock0")
    port = i.watch(f"{w.configfs_path}/rdma_cm/mock0/ports/1", everything)
    file = i.watch(w.attribute_path("mock0", 1, "tos"), everything)
    w.foreign_write("mock0", 1, "tos", "104")
    w.foreign_rmdir("mock0")
    events = [(wd, mask & everything, name) for wd, mask, name in i.read()]
    i.close()
    for event in ((top, Inotify.CREATE, "mock0"), (port, Inotify.MODIFY, "default_roce_tos"),
                  (port, Inotify.CLOSE_WRITE, "default_roce_tos"), (top, Inotify.DELETE, "mock0"),
                  (port, Inotify.DELETE_SELF, "")):
        check(event in events, f"no event {event} in {events}")
    check(not any(wd == file and mask & Inotify.MODIFY for wd, mask, _ in events), "a watch on the file sees the write")


@scenario(rings="vm")
def kernel_inotify_of_modules(w):
    """That the kernel itself makes a directory there, when a module comes, is told to no watch; that it removes it is."""
    i = Inotify()
    i.watch(w.configfs_path, Inotify.CREATE | Inotify.DELETE)
    w.rdma_cm(loaded=False)
    check(not os.path.exists(f"{w.configfs_path}/rdma_cm"), "rdma_cm is still there")
    w.rdma_cm(loaded=True)
    check(os.path.exists(f"{w.configfs_path}/rdma_cm"), "rdma_cm is not there")
    equal([(mask & (Inotify.CREATE | Inotify.DELETE), name) for _, mask, name in i.read()], [(Inotify.DELETE, "rdma_cm")],
          "events of its parent")
    i.close()


@scenario()
def kernel_instance(w):
    """The inode of the sysfs directory tells a device from another that bears its name later."""
    w.add("mock0")
    first = os.stat(f"{w.class_path}/mock0/.").st_ino
    w.rename("mock0", "mock9")
    equal(os.stat(f"{w.class_path}/mock9/.").st_ino, first, "inode after rename")
    w.remove("mock9")
    w.add("mock9")
    check(os.stat(f"{w.class_path}/mock9/.").st_ino != first, "inode after remove and add is the same")


@scenario()
def kernel_gid_types(w):
    """What a port can shows in its GID table; empty slots answer EINVAL."""
    w.add("mock0", ["v1v2"])
    w.add("mock1", ["v2"])
    types = {}
    for name in ("mock0", "mock1"):
        directory = f"{w.class_path}/{name}/ports/1/gid_attrs/types"
        types[name] = set()
        for slot in os.listdir(directory):
            try:
                with open(f"{directory}/{slot}") as f:
                    types[name].add(f.read().strip())
            except OSError as e:
                equal(e.errno, errno.EINVAL, "errno of an empty slot")
                types[name].add(None)
    equal(types, {"mock0": {"IB/RoCE v1", "RoCE v2", None}, "mock1": {"RoCE v2", None}}, "GID types")
