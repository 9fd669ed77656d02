# SPDX-License-Identifier: LGPL-2.1-or-later

"""As much of JSON Schema as the project's own schema needs, by the letter; a keyword that is not known here is an error. A key
that the schema does not name is one too: the schema lets others add keys, the program that it describes adds none."""

import re

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
ANNOTATIONS = {"$schema", "$comment", "$defs", "title", "description"}


def is_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def equals(a, b):
    return type(a) is type(b) and a == b


class Validator:
    def __init__(self, schema):
        self.schema = schema

    def errors(self, value, schema=None, where="$"):
        """Lines of text that say what is wrong where."""
        schema = self.schema if schema is None else schema
        found = []
        for keyword, argument in schema.items():
            if keyword not in ANNOTATIONS:
                found += getattr(self, "check_" + keyword.lstrip("$"))(value, argument, where, schema)
        return found

    def check_ref(self, value, path, where, schema):
        target = self.schema
        assert path.startswith("#/"), path
        for part in path[2:].split("/"):
            target = target[part]
        return self.errors(value, target, where)

    def check_type(self, value, names, where, schema):
        names = [names] if isinstance(names, str) else names
        return [] if any(is_type(value, n) for n in names) else [f"{where}: {value!r} is not {' or '.join(names)}"]

    def check_const(self, value, wanted, where, schema):
        return [] if equals(value, wanted) else [f"{where}: {value!r} is not {wanted!r}"]

    def check_enum(self, value, wanted, where, schema):
        return [] if any(equals(value, w) for w in wanted) else [f"{where}: {value!r} is none of {wanted!r}"]

    def check_anyOf(self, value, schemas, where, schema):
        each = [self.errors(value, s, where) for s in schemas]
        return [] if [] in each else max(each, key=len)

    def check_required(self, value, names, where, schema):
        return [f"{where}: no {n}" for n in names if n not in value] if isinstance(value, dict) else []

    def check_properties(self, value, properties, where, schema):
        if not isinstance(value, dict):
            return []
        found = [f"{where}: {n} is not in the schema" for n in value if n not in properties]
        for name in properties.keys() & value.keys():
            found += self.errors(value[name], properties[name], f"{where}.{name}")
        return found

    def check_items(self, value, schema_of_each, where, schema):
        if not isinstance(value, list):
            return []
        return [e for i, item in enumerate(value) for e in self.errors(item, schema_of_each, f"{where}[{i}]")]

    def check_pattern(self, value, pattern, where, schema):
        bad = isinstance(value, str) and not re.search(pattern, value)
        return [f"{where}: {value!r} does not match {pattern}"] if bad else []

    def check_minimum(self, value, least, where, schema):
        return [f"{where}: {value} is below {least}"] if is_type(value, "integer") and value < least else []

    def check_maximum(self, value, most, where, schema):
        return [f"{where}: {value} is above {most}"] if is_type(value, "integer") and value > most else []
