# SPDX-License-Identifier: MIT
"""The cost of a call, in instructions, does not grow with the number of requests, regions and names
that a tool must store, or only with the logarithm of this number. The same applies to the cost of
an object when a trace is read."""
import re
import shutil
import subprocess

import pytest

from mpi_in_use import EMULATED
from support import ASAN, BUILD, QMPI, needs_ptrace, run_mpi

pytestmark = pytest.mark.skipif(bool(ASAN), reason="the sanitizers' instructions would be counted")
PROGRAM = BUILD / "tests/tools/programs/tools_many_objects"


def instructions(what, number, tools, cwd):
    result = run_mpi(PROGRAM, what, number, ranks=1, tools=tools, cwd=cwd, env={"QMPI_TOOL_PATH": None},
                     wrapper=[BUILD / "tests/count_steps"])
    assert result.returncode == 0, result.stderr
    return int(result.stdout.split()[0])


@needs_ptrace
@pytest.mark.parametrize("tools, number", [("log,output=log.txt", 60000), ("profile,output=profile.json", 60000),
                                           ("trace,output=trace", 60000)])
def test_a_request_is_found_among_many_that_are_pending(tools, number, tmp_path):
    few, many = (instructions("requests", count, tools, tmp_path) for count in (100, number))
    bare = instructions("requests", number, "empty", tmp_path) - instructions("requests", 100, "empty", tmp_path)
    print(f"{tools}: {few} with 100, {many} with {number}, of which {bare} in the MPI library")
    assert many - bare < 1.5 * few


@needs_ptrace
@pytest.mark.parametrize("what", ["names", "open"])
def test_a_region_is_found_among_many(what, tmp_path):
    few, many = (instructions(what, count, "profile,output=profile.json", tmp_path) for count in (100, 3000))
    print(f"{few} with 100, {many} with 3000")
    assert many < 2.5 * few


def test_many_regions_may_be_opened_and_closed_one_after_the_other(tmp_path):
    """Each of 4000 regions is closed before the next one is opened."""
    result = run_mpi(PROGRAM, "names", 4000, ranks=2, tools="profile,output=profile.json", cwd=tmp_path,
                     env={"QMPI_TOOL_PATH": None})
    assert result.returncode == 0 and (tmp_path / "profile.json").stat().st_size > 0


def instructions_of_reader(what, number, arguments, cwd):
    """Returns the number of instructions of a run of the command qmpi. The whole run is counted, because the command
    does not raise signals that would mark a part of it."""
    trace = cwd / f"trace-{number}"
    result = run_mpi(PROGRAM, what, number, ranks=1, tools=f"trace,output={trace}", cwd=cwd,
                     env={"QMPI_TOOL_PATH": None})
    assert result.returncode == 0, result.stderr
    counted = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", QMPI, *arguments, trace],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=cwd)
    assert counted.returncode == 0, counted.stderr
    return int(re.search(r"Collected : (\d+)", counted.stderr)[1])


@pytest.mark.skipif(EMULATED, reason="valgrind does not run programs for another processor")
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("what, arguments", [
    ("names", ["report"]), ("open", ["report"]), ("first", ["report"]),
    ("first", ["trace", "--begin=0s", "--to=csv"]), ("names", ["trace", "--to=perfetto", "--output=perfetto"]),
    ("wildcards", ["trace", "--check"]), ("wildcards", ["trace", "--repair", "--to=csv"]), ("wildcards", ["report"])])
def test_the_cost_of_an_object_in_a_reader_does_not_grow_with_the_number_of_objects(what, arguments, tmp_path):
    none, few, many = (instructions_of_reader(what, count, arguments, tmp_path) for count in (1, 200, 2000))
    print(f"{what}, {' '.join(arguments)}: each of 200 {(few - none) // 200}, each of 2000 {(many - none) // 2000}")
    assert (many - none) / 2000 < 1.6 * (few - none) / 200
