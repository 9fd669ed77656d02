# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kubernetes manifests held against the models of its API, as its client for Python has them: no unknown key, the right types, nothing
missing."""

import datetime
import re

import yaml
from kubernetes.client import models

# Debian 12's models are of Kubernetes 1.22; what has come since then and is used here.
NEWER = {'V1SecurityContext': {'appArmorProfile': 'dict(str, str)'}}     # 1.30
PLAIN = {'str': str, 'int': int, 'bool': bool, 'float': (int, float), 'object': object, 'datetime': datetime.datetime}


def check_value(type_name, value, where):
    listed = re.fullmatch(r'list\[(.*)\]', type_name)
    mapped = re.fullmatch(r'dict\(str, (.*)\)', type_name)
    if listed:
        if not isinstance(value, list):
            raise AssertionError(f'{where} is no list')
        for number, item in enumerate(value):
            check_value(listed[1], item, f'{where}[{number}]')
    elif mapped:
        if not isinstance(value, dict):
            raise AssertionError(f'{where} is no map')
        for key, item in value.items():
            check_value(mapped[1], item, f'{where}.{key}')
    elif type_name in PLAIN:
        # YAML's true is Python's 1.
        if not isinstance(value, PLAIN[type_name]) or isinstance(value, bool) and type_name == 'int':
            raise AssertionError(f'{where} is {value!r}, which is no {type_name}')
    else:
        check_object(getattr(models, type_name), value, where)


def check_object(model, value, where):
    if not isinstance(value, dict):
        raise AssertionError(f'{where} is no map')
    names = {key: name for name, key in model.attribute_map.items()}
    newer = NEWER.get(model.__name__, {})
    for key in newer.keys() & value.keys():
        check_value(newer[key], value[key], f'{where}.{key}')
    value = {key: item for key, item in value.items() if key not in newer}
    for key, item in value.items():
        if key not in names:
            raise AssertionError(f'{where}.{key}: there is no such key in {model.__name__}')
        check_value(model.openapi_types[names[key]], item, f'{where}.{key}')
    try:
        # Without what is required there is none.
        model(**{names[key]: item for key, item in value.items()})
    except ValueError as e:
        raise AssertionError(f'{where}: {e}') from None


def load(path):
    """The documents of a file, by kind."""
    with open(path) as f:
        documents = [d for d in yaml.safe_load_all(f) if d]
    for document in documents:
        check_object(getattr(models, f'V1{document["kind"]}'), document, document['kind'])
    return {document['kind']: document for document in documents}
