# SPDX-License-Identifier: LGPL-2.1-or-later
"""What collects: systemd-journal-remote and Prometheus, as they are run in earnest, on this machine's loopback."""

import json
import os
import re
import subprocess
import time
import urllib.parse
import urllib.request

import yaml

from files import RULES, TOOLS, read, write
from machines import free_ports


def wait_until(condition, what, timeout=180):
    """What it is waited for is told by nobody, so it is asked for."""
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f'after {timeout} s not: {what() if callable(what) else what}')
        time.sleep(0.25)


def hasty(rules):
    """The same alerts, without the time that they wait, as nobody waits a quarter of an hour for a test."""
    rules, count = re.subn(r'(?m)^( +for:) \d+m$', r'\1 0s', rules)
    assert count, 'no alert waits'
    return rules


class Collector:
    def __init__(self, directory, authority):
        self.directory, self.authority = directory, authority
        self.upload_port, self.port = free_ports(2)
        self.processes = []

    def start_journal(self):
        self.journals = f'{self.directory}/remote'
        os.mkdir(self.journals)
        self.authority.certify('collector.example')
        keys = self.authority.directory
        self.spawn('journal-remote', '/lib/systemd/systemd-journal-remote', f'--listen-https=127.0.0.1:{self.upload_port}',
                   f'--output={self.journals}', f'--key={keys}/collector.example.key', f'--cert={keys}/collector.example.pem')

    def start_prometheus(self, hosts, text):
        write(hasty(read(RULES)), self.directory, 'roced.rules.yml')
        config = yaml.safe_load(text)
        config['global'] = {'scrape_interval': '4s', 'evaluation_interval': '1s'}
        # The names lead to this machine's loopback.
        config['scrape_configs'][0]['static_configs'] = [
            {'targets': [f'127.0.0.1:{host.exporter_port}'], 'labels': {'instance': host.name}} for host in hosts]
        write(json.dumps(config), self.directory, 'prometheus.yml')
        self.spawn('prometheus', f'{TOOLS}/prometheus', f'--config.file={self.directory}/prometheus.yml',
                   f'--storage.tsdb.path={self.directory}/tsdb', f'--web.listen-address=127.0.0.1:{self.port}')

    def spawn(self, name, *command):
        with open(f'{self.directory}/{name}.log', 'w') as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL))

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=20)
        self.processes = []

    # Prometheus

    def ask(self, path, **query):
        url = f'http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}'
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)['data']
        except OSError:
            # Of what is not up yet nothing is known.
            return {}

    def alerts(self):
        """(name, host) of those that fire."""
        return {(a['labels']['alertname'], a['labels'].get('instance')) for a in self.ask('alerts').get('alerts', [])
                if a['state'] == 'firing'}

    def await_alerts(self, *expected):
        """These and no others."""
        wait_until(lambda: self.alerts() == set(expected), lambda: f'alerts {sorted(expected)}; there are {sorted(self.alerts())}')

    # Journal

    def records(self, *match):
        files = [f'--file={self.journals}/{name}' for name in os.listdir(self.journals)]
        if not files:
            return []
        done = subprocess.run(['journalctl', '--output=json', '--unit=roced', *files, *match], capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]
