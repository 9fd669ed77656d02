# SPDX-License-Identifier: LGPL-2.1-or-later

"""The alerts of docs/fleet in earnest: node_exporter tells what rocectl has written, Prometheus asks it, and each alert fires and
is resolved, as things go wrong on a host and are mended."""

import errno
import json
import os
import re
import shlex
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from cases_fleet import FLEET
from cases_rocectl_metrics import DIRECTORY, EXAMPLES, EXPORTER
from tool import program
from world import Skip, check, equal, scenario, shell

PROMETHEUS = os.path.join(os.path.dirname(EXPORTER), "prometheus")
FILE = f"{DIRECTORY}/roced.prom"
TEXT = """version: 1
enforcement: %s
rules:
  - match: {device: old0}
    mode: %s
  - match: any
    mode: v2
    tos: %d
"""


class Collector:
    """Prometheus with the guide's configuration and the rules, less the time that they wait."""

    def __init__(self, w):
        self.w = w
        shell("ip", "link", "set", "lo", "up")
        shell("mount", "-t", "tmpfs", "metrics", "/var/lib")
        os.makedirs(DIRECTORY)
        directory = "/run/prometheus"
        os.mkdir(directory)
        with open(f"{FLEET}/prometheus/roced.rules.yml") as f:
            rules, waits = re.subn(r"(?m)^( +for:) \d+m$", r"\1 0s", f.read())
        check(waits, "no alert waits")
        with open(f"{directory}/roced.rules.yml", "w") as f:
            f.write(rules)
        with open(f"{FLEET}/README.md") as f:
            text, = re.findall(r"^```yaml prometheus\n(.*?)^```$", f.read(), re.M | re.S)
        text = re.sub(r"targets: \[.*\]", "targets: [127.0.0.1:9100]", text)
        with open(f"{directory}/prometheus.yml", "w") as f:
            f.write(f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n{text}")
        self.processes = [
            self.spawn(EXPORTER, "--collector.disable-defaults", "--collector.textfile",
                       f"--collector.textfile.directory={DIRECTORY}", "--web.listen-address=127.0.0.1:9100"),
            self.spawn(PROMETHEUS, f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
                       "--web.listen-address=127.0.0.1:9090")]
        with open(f"{EXAMPLES}/roced-metrics.service") as f:
            self.commands = [shlex.split(line.split("=", 1)[1]) for line in f if line.startswith("ExecStart=")]
        self.writes = True
        self.began = time.time()

    @staticmethod
    def spawn(*command):
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def write(self):
        environment = self.w.environment()
        environment["PATH"] = os.path.dirname(program(self.w)) + ":" + environment["PATH"]
        for command in self.commands:
            subprocess.run(command, env=environment, check=True)

    def ask(self, path, **query):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:9090/api/v1/{path}?{urllib.parse.urlencode(query)}") as answer:
                return json.load(answer)["data"]
        except urllib.error.URLError:
            return {}                   # it is not up yet

    def firing(self):
        """What fires now that the metrics are as they should be by the timer."""
        if self.writes:
            self.write()
        return {a["labels"]["alertname"] for a in self.ask("alerts").get("alerts", []) if a["state"] == "firing"}

    def wait(self, *expected):
        """These and no others."""
        self.w.wait_until(lambda: self.firing() == set(expected), lambda: f"alerts {expected}; there are {self.firing()}", 60)

    def seen(self):
        """At least one scrape of what is now."""
        self.write()
        now = time.time()
        self.w.wait_until(lambda: any(float(s["value"][1]) > now for s in
                                      self.ask("query", query="timestamp(roced_up)").get("result", [])), "a scrape", 60)


def ports_go_wrong(w, collector):
    w.policy(TEXT % ("report", "v2", 8))
    w.start()
    collector.wait("RocedDrifted", "RocedUnsupported")
    w.policy(TEXT % ("enforce", "v1", 8))
    w.reload()
    collector.wait()
    w.fault("write", "errno", errno.EIO, attribute="tos")
    w.policy(TEXT % ("enforce", "v1", 12))
    w.reload()
    collector.wait("RocedFailed")
    w.clear_faults()
    w.reload()
    collector.wait()


def policy_goes_wrong(w, collector):
    w.policy(TEXT % ("enforce", "v1", 12))
    collector.wait("RocedPolicyStale")
    w.policy("version: 1\n")
    w.wait_until(lambda: "RocedPolicyInvalid" in collector.firing(), "RocedPolicyInvalid fires", 60)
    w.policy(TEXT % ("enforce", "v1", 16))
    collector.wait()


def roced_goes_wrong(w, collector):
    w.stop()
    collector.wait("RocedDown")
    w.start()
    collector.wait()
    collector.writes = False
    os.utime(FILE, (0, 0))
    collector.wait("RocedMetricsOld")
    collector.writes = True
    collector.wait()


def kernel_goes_wrong(w, collector):
    w.fault("write", "block", device="mlx5_0", attribute="tos", count=1)
    w.policy(TEXT % ("enforce", "v1", 16))
    w.reload()
    w.wait_until(lambda: "RocedBlocked" in collector.firing(), "RocedBlocked fires", 60)
    w.release()
    collector.wait()
    w.add("mlx5_2", nocm=True)
    collector.wait("RocedPending")
    w.remove("mlx5_2")
    collector.wait()


def another_writer(w, collector):
    collector.seen()
    for n in range(1, 4):
        w.foreign_write("mlx5_0", 1, "tos", "4")
        w.wait_until(lambda: f"\nroced_drifts_total {n}\n" in w.rocectl("metrics").stdout, f"drift {n} is counted")
    collector.wait("RocedAnotherWriter")


def dashboard(collector):
    """Each of its queries has found something by now, of which tests/fleet/draw makes a picture."""
    answers = {}
    with open(f"{FLEET}/grafana/roced.json") as f:
        panels = json.load(f)["panels"]
    for panel in panels:
        for target in panel["targets"]:
            found = collector.ask("query_range", query=target["expr"], start=collector.began, end=time.time(), step=1)
            check(found["result"], f"{panel['title']}: {target['expr']} shows nothing")
            answers[target["expr"]] = found["result"]
    if "ROCED_LOGS" in os.environ:
        os.makedirs(os.environ["ROCED_LOGS"], exist_ok=True)
        with open(os.environ["ROCED_LOGS"] + "/dashboard.json", "w") as f:
            json.dump(answers, f)


@scenario(rings="fuse", timeout=600)
def fleet_alerts(w):
    for tool in (EXPORTER, PROMETHEUS):
        if not os.path.exists(tool):
            raise Skip(f"{tool} is not there: tests/setup unpacks it")
    w.add("mlx5_0")
    w.add("old0", ["v1"])
    collector = Collector(w)
    ports_go_wrong(w, collector)
    kernel_goes_wrong(w, collector)
    policy_goes_wrong(w, collector)
    roced_goes_wrong(w, collector)
    another_writer(w, collector)
    dashboard(collector)
    equal([p.poll() for p in collector.processes], [None, None], "ends of node_exporter and Prometheus")
