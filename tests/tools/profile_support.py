# SPDX-License-Identifier: MIT
"""Runs programs under profile, and reads what it wrote."""
import json
import subprocess

from support import BUILD, BUNDLED_TOOLS, LIBQMPI, QMPI, clean_environment, run_mpi

STEPS = BUILD / "tests" / "tools" / "programs" / "tools_steps"
TOOL_PATH = f"{BUNDLED_TOOLS}:{BUILD / 'tests' / 'tools' / 'tools'}:{BUILD / 'tests' / 'host' / 'tools'}"
JSON = "profile,output=out.json,format=json"


def run_steps(*steps, cwd, program=STEPS, tools="profile", ranks=2, **more):
    environment = {"QMPI_TOOL_PATH": TOOL_PATH, **more.pop("env", {})}
    return run_mpi(program, *steps, ranks=ranks, tools=tools, env=environment, cwd=cwd, **more)


def load(path):
    return json.loads(path.read_text())


def profile(tmp_path, *steps, options="", **more):
    """The result of a run that succeeds and says nothing."""
    return profile_slowly(tmp_path, *steps, options=options, **more)[0]


def profile_slowly(tmp_path, *steps, options="", **more):
    """And how many seconds the layer `slow` has spent in each rank."""
    result = run_steps(*steps, cwd=tmp_path, tools=JSON + options, **more)
    assert result.returncode == 0 and result.messages == []
    spent = {int(rank): float(seconds) for _, rank, seconds in map(str.split, result.trace)}
    return load(tmp_path / "out.json"), spent


def functions(result):
    return {function["name"]: function for function in result["functions"]}


def calls(result):
    return {function["name"]: function["calls"] for function in result["functions"]}


def named(entries):
    return {entry["name"]: entry for entry in entries}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def report(*files):
    """What `qmpi report` prints of files; they are all readable."""
    done = subprocess.run([QMPI, "report", *files], env={**clean_environment()}, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


__all__ = ["JSON", "LIBQMPI", "QMPI", "STEPS", "calls", "functions", "load", "named", "names",
           "profile", "profile_slowly", "report", "run_steps"]
