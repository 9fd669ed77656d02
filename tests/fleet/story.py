# SPDX-License-Identifier: LGPL-2.1-or-later
"""What goes wrong on two hosts and is mended, as the collector sees it. Each chapter goes on where the one before has ended."""

import json
import re

from collector import wait_until

CONFIGFS = '/sys/kernel/config/rdma_cm'
POLICY = '/etc/roced/policy.yaml'
CONTROL = '/sys/module/rdma_mock/parameters/control'
CHANGED = '0ca9eb415563471f90c22a4384a34cba'
TEXT = '''version: 1
enforcement: {}
rules:
  - match: {{device: "old*"}}
    mode: {}
  - match: {{netdev: "storage*"}}
    mode: v2
    dscp: 26
  - match: any
    mode: v2
'''


def equal(found, expected, what):
    if found != expected:
        raise AssertionError(f'{what}: {found!r}, expected {expected!r}')


class Story:
    def __init__(self, fleet):
        self.operator, self.collector = fleet.operator, fleet.collector
        self.hosts = self.storage, self.compute = fleet.storage, fleet.compute

    def policy(self, *words):
        for host in self.hosts:
            self.operator.on(host, f"cat >{POLICY} <<'END' && systemctl reload-or-restart roced\n{TEXT.format(*words)}END")

    def kernel(self, host):
        """{device: (mode, TOS)}; while roced runs, whose directories it takes. Each device has one port here."""
        text = self.operator.on(host, f'cd {CONFIGFS} && grep -r . .')
        found = {(device, attribute): value for device, attribute, value in
                 re.findall(r'^\./([^/]+)/ports/1/default_roce_(mode|tos):(.*)$', text, re.M)}
        return {device: (found[device, 'mode'], int(found[device, 'tos'])) for device, _ in found}

    # The chapters, in their order

    def chapters(self):
        return [self.report, self.enforce, self.another_writer, self.refused, self.stale, self.down, self.audit]

    def report(self):
        """One port is in v1 by somebody's hand, one cannot be in v2. It tells so, and changes nothing."""
        self.operator.on(self.compute, f'cd {CONFIGFS} && mkdir co1 && echo "IB/RoCE v1" >co1/ports/1/default_roce_mode && rmdir co1')
        self.policy('report', 'v2')
        self.collector.await_alerts(('RocedDrifted', self.storage.name), ('RocedUnsupported', self.storage.name),
                                    ('RocedDrifted', self.compute.name))
        equal(self.kernel(self.storage), {'old0': ('IB/RoCE v1', 0), 'st0': ('RoCE v2', 0)}, 'storage')
        equal(self.kernel(self.compute), {'co0': ('RoCE v2', 0), 'co1': ('IB/RoCE v1', 0)}, 'compute')

    def enforce(self):
        self.policy('enforce', 'v1')
        self.collector.await_alerts()
        equal(self.kernel(self.storage), {'old0': ('IB/RoCE v1', 0), 'st0': ('RoCE v2', 104)}, 'storage')
        equal(self.kernel(self.compute), {'co0': ('RoCE v2', 104), 'co1': ('RoCE v2', 0)}, 'compute')

    def another_writer(self):
        self.operator.on(self.compute, f'echo 8 >{CONFIGFS}/co0/ports/1/default_roce_tos')
        wait_until(lambda: self.kernel(self.compute)['co0'] == ('RoCE v2', 104), 'the value is put back')

    def refused(self):
        """The kernel refuses as configfs is read-only, and then no longer."""
        self.operator.on(self.storage, 'mount -o remount,ro /sys/kernel/config && ip link add late0 up type dummy && '
                                       f'echo "add late v1v2@late0" >{CONTROL}')
        self.collector.await_alerts(('RocedFailed', self.storage.name))
        self.operator.on(self.storage, 'mount -o remount,rw /sys/kernel/config && systemctl reload roced')
        self.collector.await_alerts()

    def stale(self):
        self.operator.on(self.storage, f'cp {POLICY} /run/kept && echo "# by hand" >>{POLICY}')
        self.collector.await_alerts(('RocedPolicyStale', self.storage.name))
        self.operator.on(self.storage, f'cp /run/kept {POLICY}')
        self.collector.await_alerts()

    def down(self):
        self.operator.on(self.storage, 'systemctl stop roced')
        self.collector.await_alerts(('RocedDown', self.storage.name))
        self.operator.on(self.storage, 'systemctl start roced')
        self.collector.await_alerts()

    def audit(self):
        """The collector of records was away until now, and has all of them all the same."""
        self.collector.start_journal()
        for host in self.hosts:
            log = json.loads(self.operator.on(host, 'rocectl log --json'))
            here = [r['message'] for r in log['records'] if r['message_id'] == CHANGED]
            wait_until(lambda: self.collected(f'_HOSTNAME={host.name}', 'MESSAGE') == here,
                       lambda: f'{here} of {host.name}; the collector has {self.collected(f"_HOSTNAME={host.name}", "MESSAGE")}')
        equal(self.collected('ROCED_TRIGGER=drift', '_HOSTNAME'), [self.compute.name], 'drift over all hosts')

    def collected(self, match, field):
        """That field of the changes that the collector has."""
        return [record[field] for record in self.collector.records(f'MESSAGE_ID={CHANGED}', match)]
