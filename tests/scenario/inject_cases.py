# SPDX-License-Identifier: LGPL-2.1-or-later

"""Which faults there are to try, found from a life without one, and how they are tried."""

import collections
import random
import re

import inject_table
from world import Failure, check

# What can be seen from outside. Between two of these it makes no difference when a kill comes.
EFFECTS = "bind|chmod|fchmod|ftruncate|mkdir|mkdirat|rename|sendmsg|unlink|unlinkat|write"


def of_calls(calls, rng):
    """(thread, call, place, number, error): of each place the first and the last call with each error, and all the others
    with one error each."""
    places = collections.defaultdict(list)
    for call in calls:
        errors = inject_table.errors_of(call)
        check(errors is not None, f"nobody has said what {call.name} of {call.about!r} can meet; see inject_table.py")
        if errors:
            places[inject_table.place(call)].append(call)
    cases = []
    for place, of_place in places.items():
        errors = inject_table.errors_of(of_place[0])
        for number in range(1, len(of_place) + 1):
            some = errors if number in (1, len(of_place)) else [rng.choice(errors)]
            cases += [(*place, number, e) for e in some]
    return cases


def of_kills(calls, rng):
    """Before each call that has an effect, and after it, which is before the thread's next one."""
    numbers = collections.Counter()
    points = set()
    for call in calls:
        numbers[call.thread] += 1
        if re.fullmatch(EFFECTS, call.name) or call.name == "openat" and call.about.startswith("/run/roced"):
            points |= {(call.thread, numbers[call.thread]), (call.thread, numbers[call.thread] + 1)}
    return [(thread, "*", "*", number, "KILL") for thread, number in sorted(points) if number <= numbers[thread]]


def of_allocations(n, rng):
    return list(range(1, n + 1))


class Result:
    def __init__(self):
        self.count = collections.Counter()
        self.failures = []

    def __str__(self):
        return ", ".join(f"{n} {what}" for what, n in sorted(self.count.items()))


def describe(case):
    return " ".join(map(str, case)) if isinstance(case, tuple) else f"allocation {case}"


def judge(case, outcome):
    """What became of a fault; one that nobody hears of needs a reason."""
    if not isinstance(case, tuple):
        return "allocations"
    hit = outcome.hit()
    if hit and hit.fate == "KILL":
        return "kills"
    # Threads take turns as they like, and not each life has as many calls.
    if not hit:
        return "missed"
    if outcome.exit is not None:
        return "ended"
    if outcome.told:
        return "told"
    check(inject_table.reason_for_silence(hit), f"nothing is said of {hit.fate} from {hit.name} of {hit.about!r}")
    return "silent"


def play(rig, run, cases, tell=lambda case, what: None):
    result = Result()
    for case in cases:
        try:
            what = judge(case, run(case))
        except Failure as e:
            what = "failed"
            result.failures.append(f"{describe(case)}: {e}")
            rig.clear_up()
        result.count[what] += 1
        tell(case, result.failures[-1] if what == "failed" else what)
    return result


def prepare(rig, kind, seed):
    """The function that runs a case, and all cases of a kind in an order that the seed says."""
    rng = random.Random(seed)
    if kind == "allocations":
        cases = of_allocations(rig.count_allocations(), rng)
        run = rig.run_without_memory
    else:
        run = rig.run_apply if kind == "apply" else rig.run_daemon
        calls = run(()).calls
        cases = (of_kills if kind == "kills" else of_calls)(calls, rng)
    rng.shuffle(cases)
    return run, cases


# Faults that once were taken for something else: thread, call, what it is about, error.
PINNED = [
    ("main", "openat", r"^/etc/roced/policy.yaml", "EMFILE"),        # an invalid policy, for which no restart is tried
    ("main", "openat", r"^/etc/roced/policy.yaml", "EACCES"),        # and this is one
    ("main", "sendmsg", r"/run/notify", "ENOBUFS"),                  # READY=1 is lost for good
    ("worker", "getdents64", r"/mock\d/ports$", "ENOMEM"),           # a device without ports
    ("worker", "openat", r"/mock\d/ports/1/gid_attrs/ndevs/0$", "EMFILE"),  # a port without a network device
    ("worker", "openat", r"/pci0000:3b/0000:3b:00.0$", "EMFILE"),    # a device without a parent
    ("worker", "newfstatat", r"/pci0000:3b/0000:3b:00.0$", "EACCES"),
    ("worker", "newfstatat", r"/class/infiniband/mock\d$", "ENOMEM"),  # a device that has gone
    ("worker", "newfstatat", r"/0000:3b:00.\d/net$", "EIO"),         # no reason to close what is open
    ("worker", "read", r"^/run/roced/made/", "EIO"),                 # another program's directory
    ("main", "write", r"state.json.new", "ENOSPC"),                  # a file that need not be written again
]


def pinned(calls):
    """Of each some, the first and the last among them."""
    cases = []
    for thread, name, about, error in PINNED:
        found = [inject_table.place(c) for c in calls if (c.thread, c.name) == (thread, name) and re.search(about, c.about)]
        check(found, f"{thread} does not call {name} of {about}")
        for place in sorted(set(found)):
            n = found.count(place)
            cases += [(*place, number, error) for number in {*range(1, n, n // 4 + 1), n}]
    return cases


KINDS = ("calls", "kills", "allocations", "apply")
