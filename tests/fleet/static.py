# SPDX-License-Identifier: LGPL-2.1-or-later
"""What can be said of the files without a machine to try them on, by the tools that read them in earnest."""

import json
import os
import subprocess
import tempfile

import yaml

from files import FLEET, RULES, TOOLS, TOP, read

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


CHECKS = [alert_rules, dashboard]
