# SPDX-License-Identifier: MIT
"""
bench/run BUILD --ranks: the time in MPI_Finalize that profile needs to combine the results of the
ranks, and its memory in each rank, by the number of ranks, compared with a layer that does nothing.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "stack"))

import measure
import mpi_commands
import open_mpi
from setups import Build, clean_environment

NUMBERS = (2, 4, 8, 16, 32, 64)
TIMES = 3  # number of repetitions in programs/ranks.c
TIMEOUT = 300  # in seconds; 64 ranks on 2 processors take about ten

MEASURED = {"empty": "empty", "profile": "profile,output=/dev/null,format=json"}


def launch(build: Build, ranks: int, environment: dict[str, str]) -> tuple[list[str], dict]:
    """Returns the launcher to be put in front of a program, and its environment. Libraries are
    preloaded only into the ranks."""
    passed = {**environment, **(open_mpi.LAUNCHER if build.implementation() == "openmpi" else {})}
    library = passed.pop("LD_PRELOAD", "")
    found = mpi_commands.mpi_command("mpiexec", build.implementation(), build.folder) or shutil.which("mpiexec")
    if not found:
        raise measure.Failed("mpiexec not found: cannot start ranks")
    preload = (["-x", f"LD_PRELOAD={library}"] if build.implementation() == "openmpi" else
               ["-genv", "LD_PRELOAD", library])
    return [found, "-n", str(ranks), *(preload if library else [])], passed


def run_job(build: Build, ranks: int, layer: str) -> dict:
    """Returns the figures that tools/finalize.c prints for `layer`, which is between two layers of finalize.c."""
    stack = build.with_stack("finalize1", layer, "finalize1")
    stack["QMPI_TOOL_PATH"] += f":{build.folder / 'tools'}"
    launcher, environment = launch(build, ranks, stack)
    command = [*launcher, str(build.bench / "ranks"), str(TIMES)]
    try:
        done = subprocess.run(command, env=clean_environment(environment), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise measure.Failed(f"{ranks} ranks with {layer}: not finished after {TIMEOUT} s") from None
    if done.returncode or "cannot be preloaded" in done.stderr:
        raise measure.Failed(f"{' '.join(command)} with {environment}\n"
                             f"ended with status {done.returncode}\n{done.stdout}{done.stderr}")
    told = json.loads(done.stdout)
    if told["ranks"] != ranks:
        raise measure.Failed(f"{ranks} ranks were requested, but {told['ranks']} ran")
    return told


def middle(runs: list[dict], *path: str) -> float:
    def figure(run):
        for key in path:
            run = run[key]
        return run

    return median(map(figure, runs))


def row(ranks: int, runs: dict[str, list[dict]]) -> dict:
    """Returns the medians of the runs. `empty` is the memory of a process with a layer that does nothing; `before` and
    `after` are what profile adds to this memory before and after the merge."""
    measured = {"ranks": ranks, "runs": len(runs["profile"]),
                "seconds": middle(runs["profile"], "seconds"),
                "seconds_empty": middle(runs["empty"], "seconds"),
                "seconds_plain": middle(runs["profile"], "seconds_plain")}
    for whose in ("mean", "max", "rank_0"):
        measured[f"memory_{whose}"] = {"empty": middle(runs["empty"], "memory", whose)}
        for when, figure in (("before", "memory_before"), ("after", "memory")):
            measured[f"memory_{whose}"][when] = (middle(runs["profile"], figure, whose)
                                                 - middle(runs["empty"], figure, whose))
    return measured


def collect(build: Build, numbers: list[int], rounds: int) -> dict:
    result = {"schema": "qmpi-bench-ranks/1", "mpi": build.mpi_library() or "unknown MPI",
              "build": build.options(), "cpus": os.cpu_count(), "load": os.getloadavg()[0],
              "rows": []}
    for ranks in numbers:
        runs: dict[str, list[dict]] = {name: [] for name in MEASURED}
        for _ in range(rounds):
            for name, layer in MEASURED.items():
                runs[name].append(run_job(build, ranks, layer))
        result["rows"].append(row(ranks, runs))
    return result


def text(result: dict) -> str:
    def mib(figure):
        return f"{figure / 2**20:.2f}"

    lines = [f"profile at the end of a run, {result['mpi']}", f"build: {result['build']}",
             f"load at the start: {result['load']:.2f} on {result['cpus']} CPUs", "",
             "| ranks | merge, ms | split and reduce, ms | MiB without profile, mean "
             "| added by profile, before the merge, mean | the same after the merge, mean "
             "| the same after the merge, rank 0 |",
             "|" + "---|" * 7]
    for measured in result["rows"]:
        mean, first = measured["memory_mean"], measured["memory_rank_0"]
        lines.append(f"| {measured['ranks']} | {measured['seconds'] * 1e3:.2f} "
                     f"| {measured['seconds_plain'] * 1e3:.2f} | {mib(mean['empty'])} "
                     f"| {mib(mean['before'])} | {mib(mean['after'])} | {mib(first['after'])} |")
    return "\n".join(lines) + "\n"
