# SPDX-License-Identifier: LGPL-2.1-or-later

"""Which errors each system call can meet, and which faults may pass without a word. A call that is in no row fails the
test: then somebody has to say what it can meet."""

import re

# What opens something, or asks memory of the kernel.
FILES = ("EMFILE", "ENFILE", "ENOMEM")

# Call, what it is about, errors. The first row that matches counts. ENOENT and ENODEV are not among those of sysfs: there
# they are no faults but news, which an event follows, and scenarios of their own tell of it.
ERRORS = [
    ("access", r"/sys/", ("ENOMEM", "EACCES")),
    ("access", r"", ("ENOENT", "ENOMEM", "EACCES")),
    ("accept4", r"", (*FILES, "ECONNABORTED", "EINTR", "EAGAIN")),
    ("bind", r"", ("EADDRINUSE", "EACCES", "ENOMEM", "ENOSPC")),
    ("brk", r"", ("ENOMEM",)),
    ("chmod", r"", ("EPERM", "EROFS", "EIO")),
    ("clone3", r"", ("EAGAIN", "ENOMEM")),
    ("connect", r"", ("ECONNREFUSED", "EAGAIN", "EACCES")),
    ("dup|epoll_create1|eventfd2|inotify_init1|timerfd_create", r"", FILES),
    ("epoll_ctl", r"", ("ENOMEM", "ENOSPC")),
    ("epoll_wait", r"", ("EINTR",)),
    ("faccessat2", r"", ("ENOMEM", "EACCES", "EIO")),
    ("fchmod", r"", ("EPERM", "EROFS", "EIO")),
    ("fcntl", r"lock", ("EAGAIN", "ENOLCK")),
    ("fcntl", r"mountinfo", ("EMFILE",)),
    ("fstatfs", r"", ("ENOMEM", "EIO")),
    ("ftruncate", r"", ("EIO", "EROFS")),
    # EIO from this one is how the kernel says that a device's name has a slash in it; see hostile-names.
    ("getdents64", r"/class/infiniband$", ("ENOMEM",)),
    ("getdents64", r"", ("ENOMEM", "EIO")),
    ("getsockname|getsockopt", r"", ("ENOBUFS",)),
    ("inotify_add_watch", r"", ("ENOSPC", "ENOMEM", "EACCES")),
    ("listen", r"", ("EADDRINUSE",)),
    ("mkdirat", r"", ("ENODEV", "ENOMEM", "ENOSPC", "EROFS", "EACCES")),
    ("mkdir", r"", ("ENOMEM", "ENOSPC", "EROFS", "EACCES")),
    ("mmap|mprotect", r"", ("ENOMEM",)),
    ("newfstatat", r"", ("ENOMEM", "EACCES", "EIO")),
    ("openat", r"/config/", (*FILES, "ENODEV", "EACCES", "EINTR", "EIO")),
    ("openat", r"^/run/roced", (*FILES, "EACCES", "EROFS", "ENOSPC", "EINTR")),
    ("openat", r"", (*FILES, "EACCES", "EINTR")),
    ("socket", r"", (*FILES, "EACCES", "ENOBUFS")),
    ("ioctl", r"", ("ENOTTY",)),
    ("poll|ppoll", r"", ("EINTR", "ENOMEM")),
    ("read", r"eventfd|timerfd|signalfd|inotify", ("EAGAIN", "EINTR")),
    ("read", r"/config/", ("EIO", "EINTR", "ENODEV", "ENOMEM")),
    ("read|pread64", r"", ("EIO", "EINTR", "ENOMEM")),
    ("readlink|readlinkat", r"", ("ENOMEM", "EACCES", "EIO")),
    ("recvfrom|recvmsg", r"", ("EAGAIN", "EINTR", "ENOMEM", "ENOBUFS")),
    ("rename", r"", ("ENOSPC", "EIO", "EROFS", "EACCES")),
    ("sendmsg", r"/run/notify", ("EAGAIN", "ENOBUFS", "ENOMEM")),
    ("sendmsg|sendto", r"", ("EAGAIN", "ENOBUFS", "ECONNREFUSED", "ENOENT", "ENOMEM", "EMSGSIZE")),
    ("setsockopt", r"", ("EPERM", "ENOMEM")),
    ("signalfd4", r"^$", FILES),
    ("unlink", r"", ("EACCES", "EROFS", "EIO")),
    ("unlinkat", r"", ("EBUSY", "EACCES", "EROFS", "ENOMEM")),
    ("write", r"/config/.*_mode", ("EIO", "EINTR", "ENODEV", "ENOMEM", "EACCES")),
    ("write", r"/config/", ("EIO", "EINTR", "EINVAL", "ENODEV", "ENOMEM", "EACCES")),
    ("write", r"", ("ENOSPC", "EIO", "EINTR")),
]

# Calls that the kernel cannot refuse to who uses them as roced does, or whose refusal nobody could mend.
NEVER = [
    ("close", r"", "closes whatever it says; what configfs says at a close is a scenario of its own"),
    ("exit|exit_group", r"", "does not come back"),
    ("getuid|geteuid|getgid|getegid|getpid|gettid|uname|getcwd", r"", "cannot fail"),
    ("getrandom", r"", "the C library and libsystemd go on with another source"),
    ("rt_sigprocmask|rt_sigaction|rt_sigpending|rt_sigreturn|prctl|lseek|sched_getaffinity|prlimit64", r"", "fails on wrong arguments only"),
    ("signalfd4", r"signalfd", "changes a mask: fails on wrong arguments only"),
    ("timerfd_settime|clock_nanosleep", r"", "fails on wrong arguments only"),
    ("write", r"^/run/stderr", "there is nowhere else to say it"),
    ("write", r"eventfd", "adds one to a counter, which never waits"),
    ("fcntl", r"", "asks for flags: fails on wrong arguments only"),
    ("munmap|madvise|rseq|set_robust_list|set_tid_address", r"", "gives back, or advises"),
]

# umockdev's own, which no host has.
FOREIGN = [("access", r"^/run/testbed/(disabled|proc)"), ("bind|unlink", r"^/run/testbed/event"),
           ("readlink", r"^/run/(cwd|testbed)/?|^/proc/self/fd/")]


def matches_row(call, row):
    return re.fullmatch(row[0], call.name) and re.search(row[1], call.about)


def errors_of(call):
    """None: nobody has said; empty: it never fails."""
    if any(matches_row(call, row) for row in [*FOREIGN, *NEVER]):
        return ()
    return next((row[2] for row in ERRORS if matches_row(call, row)), None)


def place(call):
    """Calls that differ in no more than a number are of one place."""
    return call.thread, call.name, re.sub(r"\d+", "N", call.about)


# Faults that may pass without a word where the values are right all the same: call, what it is about, errors, why.
ANY = "E[A-Z]+"
SILENT = [
    ("sendmsg", r"journal/socket", ANY, "the record is printed instead, or taken to the journal by a file"),
    (".*", r"^/run/testbed/sys/kernel/config/.*_(mode|tos)$", "EINTR", "is done again"),
    (".*", r"/sys/kernel/config", "ENOMEM|EINTR", "is done again a moment later, when there is room for a record, too"),
    (".*", r"/sys(/|$)|^/$|/proc/self/fd|/run/udev/|/run/fake/empty-slot", ANY, "a device that cannot be read is read again"),
    (".*", r"localtime|zoneinfo", ANY, "times are in UTC"),
    (".*", r"locale|gconv", ANY, "texts are plain ASCII"),
    ("ioctl", r"", ANY, "the output is taken for no terminal"),
    ("newfstatat", r"^pipe:", ANY, "stdio takes a buffer of another size"),
    (".*", r"mountinfo", ANY, "retries and the resync find configfs, too"),
    ("epoll_ctl", r"", ANY, "who asks on the settle socket is let go"),
    ("epoll_wait|read|recvfrom|recvmsg|accept4", r"anon_inode|socket", ANY, "is done again"),
    ("read", r"^/etc/roced/policy", "EINTR", "is done again"),
    ("newfstatat", r"^(/run|/etc|/usr/lib)/roced", ANY, "a buffer of another size, or one warning less about an owner"),
    ("newfstatat|read|openat", r"boot_id|^/proc/", ANY, "libsystemd goes on without"),
    ("access", r"journal/socket", ANY, "the record is printed instead"),
    ("access", r"^/run/udev", ANY, "a udevd that cannot be seen is taken to be there"),
    ("unlink", r"state.json", ANY, "nobody believes the file without the lock, and the next write replaces it"),
    ("unlink", r"^/run/roced/(settle|made)", ANY, "a socket without a listener refuses; a record without its directory is nobody's"),
    ("write", r"state.json.new", "EINTR", "is done again"),
    (".*", r"^/run/roced/made", ANY, "costs tidiness after a crash, not enforcement"),
    ("socket|setsockopt|getsockopt|getsockname", r"", ANY, "a smaller buffer, or a message to the service manager that is sent again"),
    ("sendmsg", r"/run/notify", ANY, "is sent again"),
    ("mmap|mprotect", r"", ANY, "the allocator tries elsewhere"),
]


def reason_for_silence(call):
    return next((row[3] for row in SILENT if matches_row(call, row) and re.fullmatch(row[2], call.fate)), None)
