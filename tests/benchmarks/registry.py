# SPDX-License-Identifier: LGPL-2.1-or-later

"""The benchmarks by name, in the order in which they were written down."""

benchmarks = {}


def benchmark(worlds=("fuse", "vm")):
    def register(function):
        function.worlds = worlds
        benchmarks[function.__name__.replace("_", "-")] = function
        return function
    return register


def names(world):
    return [name for name, function in benchmarks.items() if world in function.worlds]
