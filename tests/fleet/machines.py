# SPDX-License-Identifier: LGPL-2.1-or-later
"""The hosts of the fleet: VMs that this machine reaches by ssh, and that reach it as collector.example, all on its loopback."""

import os
import re
import socket
import subprocess
import sys
import threading

from files import TOP, read, write

sys.path.insert(0, os.path.join(TOP, 'tests/vm'))
import vm  # noqa: E402

SUITE = 'bookworm'
SSH, EXPORTER = 22, 9100
PACKAGES = ['openssh-server', 'prometheus-node-exporter']
EXPORTER_UNIT = f'''[Service]
ExecStart=/usr/bin/prometheus-node-exporter --collector.disable-defaults --collector.textfile \\
    --collector.textfile.directory=/var/lib/prometheus/node-exporter --web.listen-address=:{EXPORTER}
'''
# The example writes each minute. An empty time takes all of those away that the timer has.
OFTEN = '[Timer]\nOnActiveSec=\nOnActiveSec=0\nOnUnitActiveSec=5s\nAccuracySec=100ms\n'


def prepare():
    """What is built once: image, payload, and the programs that hosts have besides."""
    drive = subprocess.run([os.path.join(TOP, 'tests/fleet/drive'), SUITE, *PACKAGES], stdout=subprocess.PIPE, text=True, check=True)
    return (*vm.prepare(SUITE), drive.stdout.strip())


def free_ports(count):
    """Taken all at once, so that they differ."""
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Authority:
    """Keys and certificates, made anew for each run."""

    def __init__(self, directory):
        self.directory = directory
        self.openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=Fleet',
                     '-keyout', 'ca.key', '-out', 'ca.pem')
        for name in 'host', 'operator':
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', f'{directory}/{name}'], check=True)

    def openssl(self, *words):
        done = subprocess.run(['openssl', *words], cwd=self.directory, text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f'openssl {words[0]}: {done.stderr}')

    def certify(self, name):
        """Makes NAME.key and NAME.pem."""
        self.openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', f'/CN={name}', '-addext', f'subjectAltName=DNS:{name}',
                     '-keyout', f'{name}.key', '-out', f'{name}.csr')
        self.openssl('x509', '-req', '-in', f'{name}.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2',
                     '-copy_extensions', 'copy', '-out', f'{name}.pem')


class Document:
    """The named blocks of a document."""

    def __init__(self, path):
        self.blocks = dict(re.findall(r'^```(?:yaml|ini) (\S+)\n(.*?)^```$', read(path), re.M | re.S))


class Host:
    """A VM. Its devices are as the test module takes them."""

    def __init__(self, name, devices, authority, upload_port, document):
        self.name, self.devices = name, devices
        self.authority, self.upload_port, self.document = authority, upload_port, document
        self.ssh_port, self.exporter_port = free_ports(2)
        self.machine = None
        self.up = threading.Event()
        self.said = []

    def files(self):
        """What the guest finds in its place."""
        keys = self.authority.directory
        examples = os.path.join(TOP, 'docs/examples')
        self.authority.certify(self.name)
        upload = self.document.blocks['upload']
        return {
            '/etc/hostname': f'{self.name}\n',
            '/etc/hosts': f'127.0.0.1 localhost\n127.0.1.1 {self.name}\n10.0.2.2 collector.example\n',
            '/root/.ssh/authorized_keys': read(keys, 'operator.pub'),
            '/etc/ssh/sshd_config': 'UsePAM no\nSubsystem sftp /usr/lib/openssh/sftp-server\n',
            '/etc/ssh/ssh_host_ed25519_key': read(keys, 'host'),
            '/etc/ssl/private/journal-upload.pem': read(keys, f'{self.name}.key'),
            '/etc/ssl/certs/journal-upload.pem': read(keys, f'{self.name}.pem'),
            '/etc/ssl/ca/trusted.pem': read(keys, 'ca.pem'),
            '/etc/systemd/journal-upload.conf.d/collector.conf': upload.replace(':19532', f':{self.upload_port}'),
            '/etc/systemd/system/systemd-journal-upload.service.d/fleet.conf': self.document.blocks['upload-service'],
            '/etc/systemd/system/fleet-exporter.service': EXPORTER_UNIT,
            '/etc/systemd/system/roced-metrics.service': read(examples, 'roced-metrics.service'),
            '/etc/systemd/system/roced-metrics.timer': read(examples, 'roced-metrics.timer'),
            '/etc/systemd/system/roced-metrics.timer.d/often.conf': OFTEN,
        }

    def start(self, image, payload, drive, timeout):
        machine = vm.Vm(image, payload, vm.make_directory(f'fleet-{self.name}'), name=f'fleet-{self.name}')
        machine.script, machine.arguments = os.path.join(TOP, 'tests/fleet/guest-collect'), self.devices
        machine.drives = [drive]
        machine.forwards = {self.ssh_port: SSH, self.exporter_port: EXPORTER}
        machine.files = self.files()
        self.machine = machine
        machine.start()
        self.listener = threading.Thread(target=self.listen, args=[timeout], daemon=True)
        self.listener.start()

    def listen(self, timeout):
        try:
            for line in self.machine.lines(timeout):
                self.said.append(line)
                if line == 'fleet: up':
                    self.up.set()
        except (TimeoutError, OSError, ValueError):
            pass                        # whoever waits tells
        # Whoever waits for it need not wait any longer.
        self.up.set()

    def await_up(self, timeout):
        if not self.up.wait(timeout) or 'fleet: up' not in self.said:
            raise RuntimeError(f'{self.name} did not come up: {self.said[-10:]}')

    def end(self):
        if self.machine:
            self.machine.end()

    def report(self):
        """What helps to find what went wrong."""
        for line in [f'{self.name}:', *self.said[-20:], *self.machine.tail('console.log', 20), f'files: {self.machine.directory}']:
            print(f'    {line}', file=sys.stderr)


class Operator:
    """Who sits at this machine, and reaches the hosts by ssh."""

    def __init__(self, directory, authority, hosts):
        self.directory, self.hosts = directory, hosts
        keys = authority.directory
        known = read(keys, 'host.pub')
        write(''.join(f'[127.0.0.1]:{host.ssh_port} {known}' for host in hosts), directory, 'known_hosts')
        config = f'''IdentityFile {keys}/operator
UserKnownHostsFile {directory}/known_hosts
GlobalKnownHostsFile /dev/null
User root
HostName 127.0.0.1
ControlMaster auto
ControlPersist 600
ControlPath {directory}/%n
'''
        write(''.join(f'Host {host.name}\nPort {host.ssh_port}\n' for host in hosts) + 'Host *\n' + config, directory, 'ssh_config')

    def ssh(self, *words, timeout=120):
        return subprocess.run(['ssh', '-F', f'{self.directory}/ssh_config', *words], text=True, capture_output=True,
                              timeout=timeout, stdin=subprocess.DEVNULL)

    def on(self, host, command):
        """A line of shell on the host; returns its standard output."""
        done = self.ssh(host.name, command)
        if done.returncode != 0:
            raise AssertionError(f'{command!r} on {host.name} exits {done.returncode}: {done.stdout[-3000:]} {done.stderr[-3000:]}')
        return done.stdout

    def close(self, hosts_end):
        """hosts_end: they hand their journals over, and end by themselves."""
        for host in self.hosts:
            if hosts_end and host.up.is_set():
                self.ssh(host.name, 'echo >/run/fleet-end')
                host.listener.join(timeout=60)
            self.ssh('-O', 'exit', host.name)
