# SPDX-License-Identifier: LGPL-2.1-or-later

"""What others than root must not be able to do to roced, and what a name or a file may hold without being obeyed.
docs/SECURITY.md says what is promised and which tests hold it."""

import errno
import os
import resource
import socket
import stat

from world import POLICY, URGENT, Failure, check, equal, matches, scenario

V1_104 = "version: 1\nrules: [{match: any, mode: v1, tos: 104}]\n"
NOBODY = 65534
SETTLE = "/run/roced/settle"
TRY = """
import os, socket, sys
done = []
def attempt(what, function, *arguments):
    try:
        function(*arguments)
        done.append(what)
    except OSError:
        pass
for directory in sys.argv[1:]:
    for top, directories, files in os.walk(directory):
        attempt("make a file in " + top, lambda: os.close(os.open(top + "/x.yaml", os.O_WRONLY | os.O_CREAT)))
        for name in files:
            path = os.path.join(top, name)
            attempt("write " + path, lambda: os.close(os.open(path, os.O_WRONLY)))
            attempt("remove " + path, os.unlink, path)
            attempt("rename " + path, os.rename, path, path + "x")
            attempt("link " + path, os.link, path, "/tmp/link-of-roced")
attempt("ask the settle socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("/run/roced/settle"))
print("; ".join(done))
"""


@scenario()
def others_cannot_write(w):
    """Not what decides, not what tells, and not the kernel's values; and no lock of theirs keeps the daemon out."""
    w.add("mock0")
    w.policy(V1_104)
    w.drop_in("50-x.yaml", "version: 1\nrules: []\n", "/run/roced")
    w.start()
    places = ["/etc/roced", "/run/roced", f"{w.configfs_path}/rdma_cm"]
    process = w.run(["python3", "-c", TRY, *places], user=NOBODY)
    equal((process.stdout.strip(), process.stderr), ("", ""), "what a stranger could do")
    modes = {p: stat.S_IMODE(os.lstat(f"/run/roced/{p}").st_mode) & 0o077 for p in ("settle", "lock.owner", "lock", "state.json")}
    equal(modes, {"settle": 0, "lock.owner": 0, "lock": 0o044, "state.json": 0o044}, "what strangers may do in /run/roced")

    held = "import fcntl, sys\nf = open('/run/roced/lock')\nfcntl.lockf(f, fcntl.LOCK_SH | fcntl.LOCK_NB)\nprint('held', flush=True)\n" \
           "sys.stdin.read()"
    w.stop()
    with w.open(["python3", "-c", held], user=NOBODY) as process:
        equal(process.stdout.readline(), "held\n", "what a stranger holds")
        w.start()
        w.await_port("mock0", 1, "ok", "ok")


@scenario(rings="fuse")
def settle_socket_under_fire(w):
    """Root's programs only may ask there; one of them gone wild costs its answers, not the daemon's watchdog, memory or files."""
    w.add("mock0")
    w.policy(V1_104)
    w.start(prefix=URGENT, WATCHDOG_USEC="2000000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    files = w.open_files()
    set_fire(w, 8)
    memory = w.memory()
    set_fire(w, 16)
    check(ask(b"add\nmock0 %d\n" % os.stat(f"{w.class_path}/mock0/.").st_ino), "no answer afterwards")
    w.wait_until(lambda: w.open_files() == files, "no connection is left open")
    check(w.memory() - memory < 512, f"the second time it costs {w.memory() - memory} KiB more")
    equal(sorted(d["name"] for d in w.status()["devices"]), ["mock0"], "devices")
    equal(w.directories(), ["mock0"], "directories")
    equal(w.complaints(4), [], "warnings")
    w.check_pings(2)


def set_fire(w, tos):
    garbage = [b"\0", b"\n", b"*", b"*\n*\n", b"add", b"add\nmock0", b"add\nmock0 x\n", b"add\n../../etc 1\n", b"add\n.. 1\n",
               b"add\n" + b"x" * 64 + b" 1\n", b"move\nmock0 99999999999999999999999\n", b"add\nmock0 -1\nmock0 1\n",
               b"\xff" * 6144, b"add\n" + b"".join(b"ghost%d %d\n" % (i, i) for i in range(300))]
    for _ in range(20):
        for request in garbage:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.connect(SETTLE)
                s.send(request)
    # More who ask nothing than the daemon may have files open: the last one is turned away.
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2000)]
    for s in silent:
        s.connect(SETTLE)
    silent[-1].settimeout(10)
    try:
        equal(silent[-1].recv(1), b"", "what the last one hears")
    except TimeoutError:
        raise Failure("two thousand connections are kept open") from None
    w.policy(V1_104.replace("104", str(tos)))
    w.reload()
    w.await_port("mock0", tos="ok", tos_found=tos)
    for s in silent:
        s.close()


def ask(request):
    """Whether the answer comes, which is the end of the connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(5)
        try:
            s.connect(SETTLE)
            s.send(request)
            return s.recv(1) == b""
        except TimeoutError:
            return False


@scenario(rings="fuse")
def names_are_not_obeyed(w):
    """The kernel lets devices be called so. A name is text in a record: no field, no line, no sequence, no format, no path."""
    names = ["m%s%n%n", "m=ROCED_STATE=ok", 'm"\\\'$(reboot)`', "m\u009b[31m", "m\u2028x", "-rf", "m\u202eko"]
    w.policy(V1_104)
    w.start()
    for name in names:
        w.add(name)
        w.await_kernel(name, 1, mode="v1", tos=104)
        plain = name.replace("\u009b", "?").replace("\u2028", "?")
        w.await_record(ROCED_DEVICE=plain, ROCED_ATTRIBUTE="tos")
    w.fault("read", "errno", errno.EIO, device="m\u009b[31m")
    w.reload()
    w.await_status("m.\\[31m")
    w.wait_until(lambda: w.stderr().count("tos changed") >= len(names), "all is told on stderr, too")
    for text in [w.stderr(), *(n["_text"].removesuffix("\n") for n in w.notes)]:
        check(not [c for c in text if ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0 or ord(c) in (0x2028, 0x2029)],
              f"a control character in {text[-300:]!r}")
    for note in w.notes:
        matches(r"^([A-Z_]+=[^\n]*\n?)+$", note["_text"], "notification")
    allowed = {"MESSAGE", "PRIORITY", "MESSAGE_ID", "ERRNO", "SYSLOG_IDENTIFIER", "OBJECT_SYSTEMD_UNIT", "CODE_FILE", "CODE_LINE",
               "CODE_FUNC", "_heard"}
    fields = {k for r in w.records() for k in r if not k.startswith("ROCED_")}
    check(fields <= allowed, f"fields of a record: {fields - allowed}")
    equal({r["ROCED_STATE"] for r in w.records() if "ROCED_READBACK" in r}, {"ok"}, "states told of changes")
    for name in names:
        w.clear_faults()
        w.remove(name)
    w.wait_until(lambda: not w.directories(), "no directory is left")


@scenario(rings="fuse")
def traps_in_the_runtime_directory(w):
    """Only root can put them there; even so what is to be written is never written through a link."""
    victim = "/run/victim"
    with open(victim, "w") as f:
        f.write("untouched")
    w.add("mock0")
    w.policy(V1_104)
    for name in ("state.json", "state.json.new", "settle", "lock"):
        os.symlink(victim, f"/run/roced/{name}")
    os.mkdir("/run/roced/made")
    os.symlink(victim, "/run/roced/made/mock0")
    w.start()
    w.await_kernel("mock0", 1, mode="v1", tos=104)
    with open(victim) as f:
        equal(f.read(), "untouched", "what the links led to")
    check(not os.path.islink("/run/roced/lock") and not os.path.islink("/run/roced/settle"), "a link is left where a file belongs")
    matches(r"state\.json cannot be written", "\n".join(w.complaints(4)), "a word on the state file")
    os.unlink("/run/roced/state.json.new")
    w.wait_until(lambda: os.path.isfile("/run/roced/state.json") and not os.path.islink("/run/roced/state.json"),
                 "the state file is written", 10)
    w.stop()
    with open(victim) as f:
        equal(f.read(), "untouched", "what the links led to, after stop")


@scenario(rings="fuse")
def traps_in_place_of_the_policy(w):
    """What is no file does not hold the daemon up, and does not end what is in force."""
    w.add("mock0")
    w.policy(V1_104)
    w.start()
    os.unlink(POLICY)
    for make in (os.mkfifo, os.mkdir, lambda p: os.symlink("/dev/zero", p), lambda p: os.symlink(p, p),
                 lambda p: os.symlink("/proc/self/mem", p), lambda p: socket.socket(socket.AF_UNIX).bind(p)):
        make(POLICY)
        w.reload()
        w.await_status("policy.yaml")
        equal(w.status()["policy"]["error"] is None, False, "the error")
        os.rmdir(POLICY) if os.path.isdir(POLICY) else os.unlink(POLICY)
    equal(w.kernel_value("mock0", 1, "tos"), 104, "TOS")
    w.policy(V1_104.replace("104", "8"))
    w.reload()
    w.await_port("mock0", tos="ok", tos_found=8)


@scenario()
def policy_that_others_may_change(w):
    """The daemon goes on, and says so: of the file, and of the directories where another could be put in its place."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 104}]\n")
    w.drop_in("50-x.yaml", "version: 1\nrules: []\n")
    w.start()
    equal(w.lints(), [], "warnings of a policy that is root's")
    os.chmod(POLICY, 0o664)
    os.chown("/etc/roced/policy.d", NOBODY, 0)
    os.chmod("/etc/roced", 0o777)
    try:
        w.reload()
        told = "\n".join(w.lints())
        matches(r"policy\.yaml: warning: others than its owner may write to it \(mode 0664\)", told, "of the file")
        matches(r"policy\.d: warning: belongs to user 65534, not to root", told, "of the directory of drop-ins")
        matches(r"/etc/roced: warning: others than its owner may write to it \(mode 0777\)", told, "of the directory")
    finally:
        os.chmod("/etc/roced", 0o755)
