# SPDX-License-Identifier: LGPL-2.1-or-later
"""A QEMU virtual machine that boots an image of tests/vm/image with a payload of tests/vm/payload, runs what it is told
there, and ends; and what became of it, as lines that people and tests/run read."""

import dataclasses
import fcntl
import os
import re
import select
import shutil
import subprocess
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
OUT_SIZE = 256 << 20
# A kernel that panics ends the VM.
KERNEL_LINE = ('root=/dev/vda rw console=ttyS0 mitigations=off random.trust_cpu=on no_timer_check panic=-1 '
               'oops=panic modprobe.blacklist=kvm_amd,kvm_intel')

# PCI devices whose network cards serve as parents of test devices: NAME of the RDMA device after rdma-core's rename is
# rocep0s5, rocep0s6, rocep0s7f0 and rocep0s7f1.
PCI_PARENTS = [
    'virtio-net-pci,addr=05.0,mac=52:54:00:00:05:00',
    'e1000e,addr=06.0,mac=52:54:00:00:06:00',
    'virtio-net-pci,addr=07.0,multifunction=on,mac=52:54:00:00:07:00',
    'virtio-net-pci,addr=07.1,mac=52:54:00:00:07:01',
]


def prepare(suite):
    """Builds what is not built yet; returns the image's directory and the payload's path."""
    paths = []
    for tool in 'image', 'payload':
        done = subprocess.run([os.path.join(HERE, tool), suite], stdout=subprocess.PIPE, text=True, check=True)
        paths.append(done.stdout.strip())
    # Kept open until the end: nobody removes the image meanwhile.
    fcntl.flock(os.open(paths[0], os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_SH)
    return paths

# Variables with which one chooses what the scenarios do.
PASSED_ON = ('ROCED_CHURN_ROUNDS', 'ROCED_PATIENCE', 'ROCED_SOAK_SECONDS', 'ROCED_SOAK_SEED', 'ROCED_WINDOW_ROUNDS')


class Vm:
    """One virtual machine. Its files are in self.directory, which outlives it: console.log, qemu.log and, once it has
    ended, what the guest handed over (journal.txt, journal.json)."""

    def __init__(self, image, payload, directory, *, name='vm', wire=None):
        self.image = image
        self.payload = payload
        self.directory = directory
        self.name = name
        self.wire = wire                # a socket and this end's number: the card 0000:00:08.0 has its link there
        self.script = None              # an executable to run in place of the scenarios
        self.arguments = None           # a list: names of scenarios, none for all of them, or the script's arguments
        self.overlays = []              # directories to lay over the disk before it boots
        self.files = {}                 # guest path: contents, likewise
        self.initrd = os.path.join(image, 'initrd')
        self.drives = []                # file systems that the guest finds at /dev/vde and on
        self.forwards = {}              # port of 127.0.0.1: port of the guest, which has the card 0000:00:09.0 then
        self.shell = False
        self.process = None
        self.qemu = None                # its exit code
        self.console = os.path.join(directory, 'console.log')

    def _make_run_drive(self):
        tree = os.path.join(self.directory, 'drive')
        run = os.path.join(tree, 'payload/run')
        system = os.path.join(tree, 'etc/systemd/system')
        os.makedirs(run)
        os.makedirs(system)

        for overlay in self.overlays:
            shutil.copytree(overlay, tree, symlinks=True, dirs_exist_ok=True)
        for path, contents in self.files.items():
            path = os.path.join(tree, path.lstrip('/'))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w') as f:
                f.write(contents)

        with open(os.path.join(run, 'arguments'), 'w') as f:
            f.writelines(argument + '\n' for argument in self.arguments or [])
        with open(os.path.join(run, 'environment'), 'w') as f:
            f.writelines(f'{name}={value}\n' for name, value in os.environ.items() if name in PASSED_ON)
        if self.script:
            shutil.copy(self.script, os.path.join(run, 'script'))
            os.chmod(os.path.join(run, 'script'), 0o755)

        units = []
        if self.arguments is not None:
            units.append('roced-test.service')
        if self.shell:
            units.append('roced-shell.service')
            with open(os.path.join(run, 'shell'), 'w'):
                pass
            with open(os.path.join(run, 'terminal'), 'w') as f:
                f.write(f'TERM={os.environ.get("TERM", "vt220")}\n')
            os.makedirs(os.path.join(tree, 'root'), mode=0o700, exist_ok=True)
            with open(os.path.join(tree, 'root/.hushlogin'), 'w'):
                pass
            size = shutil.get_terminal_size()
            os.makedirs(os.path.join(tree, 'etc/profile.d'), exist_ok=True)
            with open(os.path.join(tree, 'etc/profile.d/roced-test.sh'), 'w') as f:
                f.write(f'stty rows {size.lines} cols {size.columns}\n')
            # One terminal for all, one after the other.
            dropin = os.path.join(system, 'roced-test.service.d')
            os.makedirs(dropin)
            with open(os.path.join(dropin, 'console.conf'), 'w') as f:
                f.write('[Service]\nType=oneshot\nTTYPath=/dev/ttyS0\nEnvironmentFile=/payload/run/terminal\n')
        wants = os.path.join(system, 'roced-test.target.wants')
        os.makedirs(wants)
        for unit in units:
            os.symlink(f'/usr/lib/systemd/system/{unit}', os.path.join(wants, unit))
        os.symlink('/usr/lib/systemd/system/roced-test.target', os.path.join(system, 'default.target'))

        def owned_by_root(info):
            info.uid = info.gid = 0
            info.uname = info.gname = ''
            return info

        drive = os.path.join(self.directory, 'run.tar')
        with tarfile.open(drive, 'w', format=tarfile.GNU_FORMAT) as tar:
            tar.add(tree, '.', filter=owned_by_root)
        shutil.rmtree(tree)
        return drive

    def _command(self):
        out = os.path.join(self.directory, 'out.tar')
        with open(out, 'wb') as f:
            f.truncate(OUT_SIZE)

        accel = os.environ.get('ROCED_ACCEL', 'tcg')
        kernel_line = KERNEL_LINE + (' quiet loglevel=3 systemd.show_status=false' if self.shell else '')

        # One processor: QEMU 7.2 now and then shows one of two the breakpoint that the kernel on the other has put into its code for
        # a moment, and the kernel panics. Without cx16 for a like reason: after cmpxchg16b part of a pointer may be left in the flags.
        # Whatever ends this process, the VM does not outlive it.
        command = ['setpriv', '--pdeathsig', 'KILL', 'qemu-system-x86_64', '-name', self.name,
                   '-machine', 'q35,sata=off,vmport=off,smbus=off',
                   '-accel', accel, '-cpu', 'max,cx16=off', '-smp', '1', '-m', '1024',
                   '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
                   '-kernel', os.path.join(self.image, 'vmlinuz'), '-initrd', self.initrd,
                   '-append', kernel_line,
                   '-device', 'virtio-rng-pci']
        for index, (path, snapshot) in enumerate([(os.path.join(self.image, 'disk.img'), 'on'), (self.payload, 'on'),
                                                  (self._make_run_drive(), 'on'), (out, 'off'),
                                                  *[(drive, 'on') for drive in self.drives]]):
            command += ['-drive', f'file={path},if=none,id=drive{index},format=raw,snapshot={snapshot},cache=unsafe',
                        '-device', f'virtio-blk-pci,drive=drive{index},addr={0x10 + index:x}.0']
        for parent in PCI_PARENTS:
            command += ['-device', parent]
        if self.wire:
            command += ['-netdev', f'socket,id=wire,fd={self.wire[0].fileno()}',
                        '-device', f'virtio-net-pci,netdev=wire,addr=08.0,mac=52:54:00:00:08:{self.wire[1]:02x}']
        if self.forwards:
            # The way back is 10.0.2.2, this machine's loopback; without a default route the guest has no other.
            ports = ''.join(f',hostfwd=tcp:127.0.0.1:{here}-:{there}' for here, there in self.forwards.items())
            command += ['-netdev', f'user,id=lan,ipv6=off{ports}', '-device', 'virtio-net-pci,netdev=lan,addr=09.0']
        if self.shell:
            command += ['-chardev', f'stdio,id=console,mux=on,signal=off,logfile={self.console}',
                        '-serial', 'chardev:console', '-mon', 'chardev=console,mode=readline']
        else:
            command += ['-chardev', f'file,id=console,path={self.console}', '-serial', 'chardev:console',
                        '-chardev', 'stdio,id=results,signal=off', '-serial', 'chardev:results']
        return command

    def start(self):
        fds = [self.wire[0].fileno()] if self.wire else []
        with open(os.path.join(self.directory, 'qemu.log'), 'w') as log:
            if self.shell:
                self.process = subprocess.Popen(self._command(), stderr=log, pass_fds=fds)
            else:
                self.process = subprocess.Popen(self._command(), stderr=log, pass_fds=fds,
                                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def lines(self, timeout):
        """The results, line by line as they come, until the VM ends; raises TimeoutError when it does not in time."""
        deadline = time.monotonic() + timeout
        fd = self.process.stdout.fileno()
        rest = b''
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise TimeoutError(f'no end after {timeout} s')
            chunk = os.read(fd, 65536)
            if not chunk:
                break
            *whole, rest = (rest + chunk).split(b'\n')
            for line in whole:
                yield line.decode(errors='replace').rstrip('\r')
        if rest:
            yield rest.decode(errors='replace').rstrip('\r')

    def end(self):
        """Ends the VM if it has not ended by itself, and unpacks what it handed over."""
        if self.process is None:
            return
        if self.process.stdout:
            self.process.stdout.close()
        try:
            self.qemu = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.qemu = self.process.wait()

        out = os.path.join(self.directory, 'out.tar')
        try:
            with tarfile.open(out) as tar:
                for member in tar:
                    if member.isfile() and '..' not in member.name:
                        tar.extract(member, self.directory)
        except (tarfile.TarError, OSError):
            pass
        for name in 'out.tar', 'run.tar':
            path = os.path.join(self.directory, name)
            if os.path.exists(path):
                os.unlink(path)

    def tail(self, name, lines=30):
        """The last lines of one of its files."""
        try:
            with open(os.path.join(self.directory, name), errors='replace') as f:
                return [line.rstrip('\r\n') for line in f][-lines:]
        except OSError:
            return []


def make_directory(name):
    """A new directory for the files of one VM, in ROCED_LOGS if set; others of the same kind may be there."""
    logs = os.environ.get('ROCED_LOGS')
    if not logs:
        return tempfile.mkdtemp(prefix=f'roced-{name}-', dir='/var/tmp')
    os.makedirs(logs, exist_ok=True)
    return tempfile.mkdtemp(prefix=f'{name}-', dir=logs)


SUMMARY = re.compile(r'(\d+) passed, (\d+) failed, (\d+) skipped')


@dataclasses.dataclass
class Outcome:
    counts: list = None                 # passed, failed, skipped, if the guest counted
    code: int = None                    # the guest's exit code, if it came that far
    problem: str = None                 # why it was ended, if it did not end by itself
    first_line: float = None            # when the first line came


def follow(machine, timeout):
    """Passes the results of a running VM on to standard output, less the count, until it ends."""
    outcome = Outcome()
    try:
        for line in machine.lines(timeout):
            outcome.first_line = outcome.first_line or time.monotonic()
            summary = SUMMARY.fullmatch(line)
            if line.startswith('guest: exit '):
                outcome.code = int(line.split()[-1])
            elif summary:
                outcome.counts = [int(n) for n in summary.groups()]
            else:
                print(line, flush=True)
    except TimeoutError as e:
        outcome.problem = str(e)
    return outcome


def report(machine, outcome, name):
    """Prints what is still to be said of a VM that has ended, and the count; returns whether anything failed."""
    problem = outcome.problem
    if problem is None and outcome.code is None:
        problem = 'the VM ended before its results' if machine.qemu == 0 else f'QEMU ended with {machine.qemu}'

    counts = outcome.counts
    if counts is None:
        counts = [0, 0, 0]
        if problem is None and machine.script:
            # A script that counts nothing is one test.
            counts = [1, 0, 0] if outcome.code == 0 else [0, 1, 0]
            script = os.path.basename(machine.script)
            print(f'PASS {script}' if outcome.code == 0 else f'FAIL {script}: exit {outcome.code}')
        elif problem is None:
            problem = f'the scenarios ended with {outcome.code} and no count'
    elif problem is None and outcome.code != 0 and counts[1] == 0:
        problem = f'exit {outcome.code}, though no failure was counted'

    if problem:
        for line in machine.tail('console.log') + (machine.tail('qemu.log') if machine.qemu != 0 else []):
            print(f'    {line}')
        print(f'FAIL {name}: {problem}')
        counts[1] += 1
    print('{} passed, {} failed, {} skipped'.format(*counts), flush=True)
    return counts[1] > 0
