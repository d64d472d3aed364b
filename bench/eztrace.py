# SPDX-License-Identifier: MIT
"""
bench/run BUILD --eztrace: the cost of a call under `trace` and under EZTrace 2, compared with the
same program without either, and the bytes that each of them writes for a call. EZTrace does not record
MPI_Comm_rank, so one program calls MPI_Iprobe, and another one exchanges messages of 8 bytes.
"""
import ctypes.util
import os
import tempfile
from pathlib import Path
from statistics import median

import measure
import ranks
from setups import Build

LOOPS = 9
TRIP_LOOPS = 99
PACKAGE = "Debian's package eztrace"


def libraries(build: Build) -> str:
    """Returns the libraries of EZTrace that must be preloaded; empty if it is not installed for this MPI."""
    found = [ctypes.util.find_library(f"eztrace-{part}") for part in ("lib", build.implementation())]
    return ":".join(found) if all(found) else ""


def reason_to_skip(build: Build) -> str:
    """Returns why trace and EZTrace cannot be compared; empty if they can."""
    if build.mpi() == "abi":
        return "EZTrace cannot trace programs of the standard ABI"
    return "" if libraries(build) else f"EZTrace for {build.mpi()} is not installed ({PACKAGE})"


def environments(build: Build, folder: Path) -> dict[str, dict[str, str]]:
    return {"bare": {},
            "trace": build.with_tools(f"trace,format=own,output={folder / 'trace'}"),
            "EZTrace": {"LD_PRELOAD": libraries(build), "EZTRACE_TRACE": build.implementation(),
                        "EZTRACE_TRACE_DIR": str(folder / "EZTrace")}}


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def programs(build: Build, calls: int) -> list[tuple[str, int, list[str], int]]:
    """Returns the measurements: name, ranks, command, and number of calls of all ranks."""
    few, trips = max(1, calls // 50), max(1, calls // 1000)
    return [("MPI_Iprobe", 1, [str(build.probe), "time", str(few), str(LOOPS)], few * LOOPS),
            ("8-byte round trip", 2, [str(build.round_trip), str(trips), str(TRIP_LOOPS)], trips * TRIP_LOOPS * 4)]


def measured(build: Build, number: int, command: list[str], calls: int, rounds: int) -> dict:
    """Returns the medians for one measurement. The program runs once in each round without a tool, under `trace` and
    under EZTrace, and differences are computed within a round."""
    times: dict[str, list[float]] = {}
    sizes: dict[str, list[float]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="qmpi-bench-") as name:
            for layer, environment in environments(build, Path(name)).items():
                launcher, passed = ranks.launch(build, number, environment) if number > 1 else ([], environment)
                times.setdefault(layer, []).append(float(measure.output_of([*launcher, *command], passed)))
                if layer != "bare":
                    sizes.setdefault(layer, []).append(bytes_in(Path(name) / layer) / calls)
                    if not sizes[layer][-1]:
                        raise measure.Failed(f"{layer} wrote nothing of {' '.join(command)}")
    over = {layer: measure.difference(times[layer], times["bare"]) for layer in ("trace", "EZTrace")}
    return {"bare": median(times["bare"]), "over": over,
            "bytes": {layer: median(found) for layer, found in sizes.items()},
            "times": over["EZTrace"] / over["trace"]}


def collect(build: Build, calls: int, rounds: int) -> dict:
    result = {"schema": "qmpi-bench-eztrace/1", "mpi": build.mpi_library() or "unknown MPI",
              "build": build.options(), "cpus": os.cpu_count(), "load": os.getloadavg()[0],
              "skipped": reason_to_skip(build), "rows": []}
    if not result["skipped"]:
        for name, number, command, all_calls in programs(build, calls):
            result["rows"].append({"name": name} | measured(build, number, command, all_calls, rounds))
    return result


def text(result: dict) -> str:
    lines = [f"trace and EZTrace, {result['mpi']}", f"build: {result['build']}",
             f"load at the start: {result['load']:.2f} on {result['cpus']} CPUs", ""]
    if result["skipped"]:
        return "\n".join([*lines, f"skipped: {result['skipped']}"]) + "\n"
    lines += ["| | bare, ns | added by trace | added by EZTrace | ratio | bytes per call, trace | EZTrace |",
              "|" + "---|" * 7]
    lines += [f"| {row['name']} | {row['bare']:.1f} | {row['over']['trace']:.1f} | {row['over']['EZTrace']:.1f} "
              f"| {row['times']:.1f} | {row['bytes']['trace']:.2f} | {row['bytes']['EZTrace']:.1f} |"
              for row in result["rows"]]
    return "\n".join(lines) + "\n"
