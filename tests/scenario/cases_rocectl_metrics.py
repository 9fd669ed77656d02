# SPDX-License-Identifier: LGPL-2.1-or-later

"""rocectl metrics: Prometheus' text, held against its grammar and, where it is installed, read by node_exporter itself."""

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import urllib.request

from tool import mixed, program
from world import Skip, check, equal, matches, scenario, shell

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/examples")
DIRECTORY = "/var/lib/prometheus/node-exporter"

# Its package starts a service, which nobody wants for a test; so tests/setup but unpacks it.
EXPORTER = os.environ.get("ROCED_CACHE", "/var/cache/roced-tests") + "/tools/usr/bin/prometheus-node-exporter"
NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.]+(?:e[+-]?\d+)?)")


def parse(text):
    """{(name, ((label, value), …)): number}, by the letter of the exposition format."""
    samples, types, helps, done, current = {}, {}, {}, set(), None
    check(text.endswith("\n"), "no newline at the end")
    for line in text[:-1].split("\n"):
        if line.startswith("#"):
            _, word, name, rest = line.split(" ", 3)
            check(word in ("HELP", "TYPE") and re.fullmatch(NAME, name) and rest, f"comment {line!r}")
            check(name not in (types if word == "TYPE" else helps) and name not in done, f"again {line!r}")
            (types if word == "TYPE" else helps)[name] = rest
            if current != name:
                done.add(current)
            current = name
            continue
        found = SAMPLE.fullmatch(line)
        check(found, f"no sample: {line!r}")
        name, labels = found[1], re.findall(LABEL, found[2] or "")
        check(name == current and types.get(name) in ("gauge", "counter") and name in helps, f"stray sample {line!r}")
        check(name.endswith("_total") == (types[name] == "counter"), f"name of a {types[name]}: {name}")
        check(len({k for k, _ in labels}) == len(labels), f"labels of {line!r}")
        key = name, tuple(sorted(labels))
        check(key not in samples, f"twice {line!r}")
        samples[key] = float(found[found.lastindex])
    return samples


def metrics(w, **options):
    text = w.check_exit(w.rocectl("metrics", **options), 0).stdout
    samples = parse(text)
    return lambda name, **labels: samples.get((f"roced_{name}", tuple(sorted(labels.items()))))


@scenario()
def metrics_of_ports(w):
    mixed(w)
    w.start()
    w.await_port("mock2", mode="unsupported")
    m = metrics(w, user=65534)
    found = {k: m(k) for k in ("up", "compliant", "devices", "ports", "ports_compliant", "policy_stale", "policy_error", "blocked")}
    equal(found, {"up": 1, "compliant": 0, "devices": 4, "ports": 3, "ports_compliant": 1, "policy_stale": 0,
                  "policy_error": 0, "blocked": 0}, "the host")
    equal(m("policy_info", sha256=w.policy_sha256()), 1, "policy_info")
    check(m("last_pass_time_seconds") >= m("start_time_seconds") > 1.7e9, "times")
    version = w.rocectl("--version").stdout.split()[1]
    equal(m("build_info", version=version), 1, "build_info")
    for name, attribute, compliant, state, wanted, holds in (
            ("mock0", "mode", 1, "ok", 2, 2), ("mock0", "tos", 1, "ok", 104, 104), ("mock1", "mode", 1, "unmanaged", None, 2),
            ("mock1", "tos", 0, "drifted", 8, 0), ("mock2", "mode", 0, "unsupported", 1, 2),
            ("mock3", "mode", None, None, None, None)):
        labels = {"device": name, "port": "1", "attribute": attribute}
        equal((m("port_compliant", **labels), m("port_wanted", **labels), m("port_found", **labels)),
              (compliant, wanted, holds), f"{attribute} of {name}")
        if state:
            equal(m("port_state", **labels, state=state), 1, f"state of {name}")
    equal(m("port_info", device="mock0", port="1", link_layer="Ethernet", netdev=w.port("mock0")["netdev"], driver="", pci="",
            rule="/etc/roced/policy.yaml:3"), 1, "port_info")
    document = w.json("metrics", codes=(0,))
    samples = {s["name"]: s for s in document["metrics"]}
    equal((document["schema"], samples["roced_ports"]["type"], samples["roced_ports"]["samples"]),
          (1, "gauge", [{"labels": {}, "value": 3}]), "JSON")
    equal(w.check_exit(w.rocectl("metrics", "-q"), 0).stdout, "", "stdout of -q")


@scenario()
def metrics_count(w):
    """Writes, and what another program undoes."""
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, mode: v2, tos: 8}]\n")
    w.start()
    w.await_port("mock0", tos="ok")
    m = metrics(w)
    equal((m("writes_total"), m("drifts_total")), (1, 0), "counts at first")
    for n in (1, 2):
        w.foreign_write("mock0", 1, "tos", "4")
        w.await_kernel("mock0", tos=8)
        w.wait_until(lambda: metrics(w)("drifts_total") == n, f"{n} drifts are counted")
    equal(metrics(w)("writes_total"), 3, "writes")


@scenario(rings="fuse")
def metrics_count_failures(w):
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    w.fault("write", "errno", errno.EIO, attribute="tos", count=2)
    w.start()
    w.await_port("mock0", tos="ok")
    m = metrics(w)
    equal((m("failures_total", errno="EIO"), m("writes_total")), (2, 3), "failures and writes")
    equal(len(w.writes()), 3, "writes as the kernel saw them")


@scenario()
def metrics_without_daemon_or_policy(w):
    m = metrics(w)
    equal((m("up"), m("devices"), m("ports"), m("compliant"), m("policy_error"), m("writes_total")),
          (0, 0, 0, 1, 0, None), "an empty host")
    w.add("mock0")
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    m = metrics(w)
    labels = {"device": "mock0", "port": "1", "attribute": "tos"}
    equal((m("compliant"), m("port_compliant", **labels), m("port_wanted", **labels), m("port_found", **labels),
           m("port_state", **labels, state="unknown")), (None, None, 8, None, 1), "what cannot be known")
    w.policy("version: 1\nrules: [{match: any, tso: 8}]\n")
    equal(metrics(w)("policy_error"), 1, "policy_error")
    w.check_exit(w.rocectl("metrics", "--policy", "/etc/roced/policy.yaml"), 2)
    w.check_exit(w.rocectl("metrics", "mock0"), 2)


@scenario(rings="fuse")
def metrics_with_odd_names_and_state(w):
    """What a name holds breaks no line, and an odd state file no metric."""
    w.add("mock0", netdev=['n"\\x\x1b'], announce=False)
    w.policy("version: 1\nrules: [{match: any, tos: 8}]\n")
    line, = [x for x in w.rocectl("metrics").stdout.splitlines() if x.startswith("roced_port_info")]
    matches(r'netdev="n\\"\\\\x\\\\x1b"', line, "label")
    parse(w.rocectl("metrics").stdout)
    w.start()
    for text in ('{"schema": 1}', '{"schema": 1, "counters": 7}', '{"schema": 1, "counters": {"failures": [], "writes": {}}}',
                 '{"schema": 1, "since": "x", "last_pass": "2026-01-01T00:00:00", "counters": {"failures": {"a\\"b": null}}}'):
        with open("/run/roced/state.json", "w") as f:
            f.write(text)
        parse(w.check_exit(w.rocectl("metrics"), 0).stdout)
        json.loads(w.check_exit(w.rocectl("metrics", "--json"), 0).stdout)


@scenario(rings="fuse")
def metrics_for_node_exporter(w):
    """The example's commands write its file, and the real collector reads it without an error."""
    exporter = shutil.which("prometheus-node-exporter") or EXPORTER
    if not os.path.exists(exporter):
        raise Skip("prometheus-node-exporter is neither installed nor unpacked by tests/setup")
    mixed(w)
    w.start()
    w.await_port("mock2", mode="unsupported")
    shell("mount", "-t", "tmpfs", "metrics", "/var/lib")
    os.makedirs(DIRECTORY)
    environment = w.environment()
    environment["PATH"] = os.path.dirname(program(w)) + ":" + environment["PATH"]
    with open(EXAMPLES + "/roced-metrics.service") as f:
        commands = [line.split("=", 1)[1] for line in f if line.startswith("ExecStart=")]
    for command in commands:
        subprocess.run(shlex.split(command), env=environment, check=True)
    equal(os.listdir(DIRECTORY), ["roced.prom"], "files")

    shell("ip", "link", "set", "lo", "up")
    process = subprocess.Popen([exporter, "--collector.disable-defaults", "--collector.textfile",
                                f"--collector.textfile.directory={DIRECTORY}", "--web.listen-address=127.0.0.1:9100"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if re.search("[Ll]istening on", line):
            break
    with urllib.request.urlopen("http://127.0.0.1:9100/metrics") as answer:
        text = answer.read().decode()
    process.kill()
    matches("(?m)^node_textfile_scrape_error 0$", text, "the collector's own word")
    samples = parse("".join(line for line in text.splitlines(keepends=True) if re.match("(# .... )?roced_", line)))
    equal(samples, parse(w.rocectl("metrics").stdout), "what the collector tells")
