# SPDX-License-Identifier: LGPL-2.1-or-later

"""What was measured: a line of JSON for each figure, and the table of them."""

import json
import math
import statistics
import sys

HEAD = ("what", "size", "median", "p99", "least", "most", "n", "target")


def percentile(values, p):
    """The nearest rank: a value that was measured."""
    return sorted(values)[max(0, math.ceil(len(values) * p / 100) - 1)]


class Report:
    def __init__(self, world):
        self.world = world

    def add(self, group, name, values, unit, size=None, target=None):
        values = list(values)
        figure = {"world": self.world, "group": group, "name": name, "size": size, "unit": unit, "n": len(values),
                  "median": statistics.median(values), "p99": percentile(values, 99), "least": min(values),
                  "most": max(values), "target": target}
        print(json.dumps(figure), flush=True)
        return figure

    def ratio(self, group, name, values, others, size=None, target=None):
        """Of runs that took turns: what disturbs one run disturbs its neighbour."""
        return self.add(group, name, [a / b for a, b in zip(values, others)], "×", size, target)


def number(value, unit):
    if unit in ("", "calls") and value == int(value):
        return f"{int(value)}{' ' + unit if unit else ''}"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 4)}f} {unit}".rstrip()


def row(figure):
    few = figure["n"] < 2
    cells = [figure["name"], f"{figure['size']:,}" if figure["size"] is not None else ""]
    for key in ("median", "p99", "least", "most"):
        hidden = few and key != "median" or key == "p99" and figure["n"] < 50
        cells.append("" if hidden else number(figure[key], figure["unit"]))
    return cells + [str(figure["n"]), figure["target"] or ""]


def table(figures):
    """Text, in Markdown that reads as a table as it stands."""
    lines = []
    for world in dict.fromkeys(f["world"] for f in figures):
        for group in dict.fromkeys(f["group"] for f in figures if f["world"] == world):
            rows = [list(HEAD)] + [row(f) for f in figures if (f["world"], f["group"]) == (world, group)]
            keep = [i for i in range(len(HEAD)) if any(r[i] for r in rows[1:])]
            widths = {i: max(len(r[i]) for r in rows) for i in keep}
            lines += ["", f"### {group} ({world})", ""]
            for n, r in enumerate(rows):
                lines.append("| " + " | ".join(r[i].ljust(widths[i]) if i == 0 else r[i].rjust(widths[i]) for i in keep) + " |")
                if n == 0:
                    lines.append("|" + "|".join("-" * (widths[i] + 2) if i == 0 else "-" * (widths[i] + 1) + ":"
                                                for i in keep) + "|")
    return "\n".join(lines[1:])


def read(stream):
    """The figures among the lines of a run; the others are passed on as they come."""
    figures = []
    for line in stream:
        if line.startswith("{"):
            figures.append(json.loads(line))
            f = figures[-1]
            print(f"{f['group']}: {f['name']}{' ' + str(f['size']) if f['size'] is not None else ''}: "
                  f"{number(f['median'], f['unit'])}", file=sys.stderr, flush=True)
        elif line.strip():
            print(line.rstrip(), file=sys.stderr, flush=True)
    return figures
