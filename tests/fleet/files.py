# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where things are."""

import os

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../..')
FLEET = os.path.join(TOP, 'docs/fleet')
RULES = os.path.join(FLEET, 'prometheus/roced.rules.yml')
MANIFEST = os.path.join(FLEET, 'kubernetes/roced.yaml')
CONTAINERFILE = os.path.join(FLEET, 'kubernetes/Containerfile')
TOOLS = os.environ.get('ROCED_CACHE', '/var/cache/roced-tests') + '/tools/usr/bin'


def read(*path):
    with open(os.path.join(*path)) as f:
        return f.read()


def write(text, *path):
    with open(os.path.join(*path), 'w') as f:
        f.write(text)
