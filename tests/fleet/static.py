# SPDX-License-Identifier: LGPL-2.1-or-later
"""What can be said of the files without a machine to try them on, by the tools that read them in earnest."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile

import yaml

import manifest
from files import FLEET, MANIFEST, RULES, TOOLS, TOP, read

PROMTOOL = f'{TOOLS}/promtool'


def tool(*command, directory=TOP):
    done = subprocess.run(command, cwd=directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f'{" ".join(command)} exits {done.returncode}: {done.stdout}')
    return done.stdout


def alert_rules():
    """They are well-formed, wait as long as they say, fire and are resolved."""
    tool(PROMTOOL, 'check', 'rules', RULES)
    tool(PROMTOOL, 'test', 'rules', os.path.join(TOP, 'tests/fleet/alerts.test.yml'))


def alert_table():
    """The guide names all alerts, and how long each waits."""
    told = dict(re.findall(r'^\| `(Roced\w+)` \| (.*) \|$', read(FLEET, 'README.md'), re.M))
    rules = [rule for group in yaml.safe_load(read(RULES))['groups'] for rule in group['rules']]
    alerts = {rule['alert']: rule.get('for', '') for rule in rules if 'alert' in rule}
    if set(told) != set(alerts):
        raise AssertionError(f'the guide has {sorted(told)}, the rules have {sorted(alerts)}')
    for name, wait in alerts.items():
        if wait and f'for {wait[:-1]} minutes' not in told[name]:
            raise AssertionError(f'{name} waits {wait}, and the guide says: {told[name]}')


def prometheus_configuration():
    """What the guide shows is whole, and what it drops is asked for by no rule and no panel."""
    block, = re.findall(r'^```yaml prometheus\n(.*?)^```$', read(FLEET, 'README.md'), re.M | re.S)
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(RULES, directory)
        with open(f'{directory}/prometheus.yml', 'w') as f:
            f.write(block)
        tool(PROMTOOL, 'check', 'config', f'{directory}/prometheus.yml')
    dropped, = re.findall(r'regex: (.*)', block)
    for name in set(re.findall(r'roced_\w+', read(RULES) + read(FLEET, 'grafana/roced.json'))):
        if re.fullmatch(dropped, name):
            raise AssertionError(f'{name} is dropped')


def dashboard():
    """Its queries are sound, and no panel lies on another."""
    panels = json.loads(read(FLEET, 'grafana/roced.json'))['panels']
    rules = [{'record': f'panel:{panel["id"]}:{target["refId"]}', 'expr': target['expr']}
             for panel in panels for target in panel['targets']]
    with tempfile.NamedTemporaryFile('w', suffix='.yml') as f:
        yaml.safe_dump({'groups': [{'name': 'dashboard', 'rules': rules}]}, f)
        f.flush()
        tool(PROMTOOL, 'check', 'rules', f.name)
    taken = {}
    for panel in panels:
        place = panel['gridPos']
        for x in range(place['x'], place['x'] + place['w']):
            for y in range(place['y'], place['y'] + place['h']):
                other = taken.setdefault((x, y), panel['title'])
                if x >= 24 or other != panel['title']:
                    raise AssertionError(f'{panel["title"]} lies on {other}, or outside')


def kubernetes():
    """The manifest is as the API has it, mounts what there is, and names this version and its own policy."""
    documents = manifest.load(MANIFEST)
    template = documents['DaemonSet']['spec']['template']
    version = re.search(r"version: '(.*)'", read(TOP, 'meson.build'))[1]
    volumes = {volume['name'] for volume in template['spec']['volumes']}
    for container in template['spec']['containers']:
        mounted = {mount['name'] for mount in container['volumeMounts']}
        if mounted - volumes:
            raise AssertionError(f'{container["name"]} mounts {mounted - volumes}, which are no volumes')
        if not container['image'].endswith(f':{version}'):
            raise AssertionError(f'{container["image"]}, and the version is {version}')
    sha256 = hashlib.sha256(documents['ConfigMap']['data']['policy.yaml'].encode()).hexdigest()
    if template['metadata']['annotations']['roced/policy'] != sha256:
        raise AssertionError(f'the annotation roced/policy is not {sha256}')


CHECKS = [alert_rules, alert_table, prometheus_configuration, dashboard, kubernetes]
