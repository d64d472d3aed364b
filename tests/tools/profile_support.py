# SPDX-License-Identifier: MIT
"""Runs programs under profile, and reads its results."""
import collections
import json
import re
import subprocess

from support import BUILD, BUNDLED_TOOLS, LIBQMPI, QMPI, clean_environment, run_mpi

STEPS = BUILD / "tests" / "tools" / "programs" / "tools_steps"
TOOL_PATH = f"{BUNDLED_TOOLS}:{BUILD / 'tests' / 'tools' / 'tools'}:{BUILD / 'tests' / 'pmpi' / 'tools'}"
JSON = "profile,output=out.json,format=json"


# The rates of the processor's cycle counter and of CLOCK_MONOTONIC, which the kernel adjusts, differ by at most this
# factor.
SLOWER = 0.995
Watched = collections.namedtuple("Watched", "seconds shortest begin end")


def run_steps(*steps, cwd, program=STEPS, tools="profile", ranks=2, **more):
    environment = {"QMPI_TOOL_PATH": TOOL_PATH, **more.pop("env", {})}
    return run_mpi(program, *steps, ranks=ranks, tools=tools, env=environment, cwd=cwd, **more)


def check_budget(result):
    """Checks that the parts of the loss budget add up to the longest application time of a rank, times the number of
    ranks."""
    budget, application = result["budget"], result["application"]
    total = len(result["processes"]) * application["max"]
    assert abs(budget["total"] - total) <= 0.001 * total
    assert all(part["seconds"] >= 0 for part in budget["parts"])
    assert abs(sum(part["seconds"] for part in budget["parts"]) - total) <= 0.001 * total, budget
    for part in budget["parts"]:
        assert sum(place["seconds"] for place in part["places"]) <= 1.001 * part["seconds"] + 1e-9, part


def load(path):
    result = json.loads(path.read_text())
    if "budget" in result:
        check_budget(result)
    return result


def profile(tmp_path, *steps, options="", **more):
    """Returns the result of a run, which must succeed without messages."""
    result = run_steps(*steps, cwd=tmp_path, tools=JSON + options, **more)
    assert result.returncode == 0 and result.messages == []
    return load(tmp_path / "out.json")


def watched(result, rank):
    """Returns function -> what the layer `watch` printed in a rank. The durations are raised by the possible difference
    between the clocks, so that they are never less than what a layer below measured."""
    notes = [line.split() for line in result.trace]
    return {note[2]: Watched(float(note[3]) / SLOWER, float(note[4]) / SLOWER, float(note[5]), float(note[6]))
            for note in notes if note[:2] == ["watch", str(rank)]}


def profile_between(tmp_path, *steps, ms, of, **more):
    """Runs profile between two layers that also measure: `watch` above it and `slow` below it. The values of profile
    must lie between theirs, however busy the machine is. Returns the result of profile, the seconds that `slow` spent
    in each rank (times SLOWER, as a lower limit), and what `watch` measured for each function in rank 0. For a better
    comparison, the run is repeated, up to nine times, if the two layers differ by more than 4 % for the function `of`,
    because the machine was busy."""
    for _ in range(10):
        result = run_steps(*steps, cwd=tmp_path, tools=f"watch:{JSON}:slow,ms={ms}", **more)
        assert result.returncode == 0 and result.messages == []
        notes = [line.split() for line in result.trace]
        lower = {int(note[1]): float(note[2]) * SLOWER for note in notes if note[0] == "slow"}
        upper = watched(result, 0)
        if upper[of].seconds <= 1.04 * lower[0]:
            break
    return load(tmp_path / "out.json"), lower, upper


def logged(path):
    """Returns (function, begin, end) of each call in a file that `log` wrote."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    line = re.compile(r"\[\d+(?::layer\d+)?\] ([\d.]+) (MPI_\w+)\(.*<([\d.]+) (ns|us|ms|s)>$")
    matches = filter(None, map(line.search, path.read_text().splitlines()))
    return [(match[2], float(match[1]), float(match[1]) + float(match[3]) * units[match[4]])
            for match in matches]


def clocks(result):
    """Returns name -> the time of the step clock=NAME."""
    notes = [line.split() for line in result.stdout.splitlines()]
    return {note[1]: float(note[2]) for note in notes if note[0] == "clock"}


def functions(result):
    return {function["name"]: function for function in result["functions"]}


def calls(result):
    return {function["name"]: function["calls"] for function in result["functions"]}


def named(entries):
    return {entry["name"]: entry for entry in entries}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def report(*files):
    """Returns the output of `qmpi report`, which must succeed. `files` may contain options, too."""
    done = subprocess.run([QMPI, "report", *files], env={**clean_environment()}, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


__all__ = ["JSON", "LIBQMPI", "QMPI", "SLOWER", "STEPS", "calls", "clocks", "functions", "load", "logged", "named", "names",
           "profile", "profile_between", "report", "run_steps", "watched"]
