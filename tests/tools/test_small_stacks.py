# SPDX-License-Identifier: MIT
"""The bundled tools need no more stack than MPI itself, so a thread that calls MPI may have a stack of the minimum
size."""
import json

import pytest
from profile_support import TOOL_PATH
from support import ASAN, BUILD, BUNDLED_TOOLS, OPEN_MPI, run_mpi
from trace_support import read

SMALL_STACK = BUILD / "tests" / "tools" / "programs" / "tools_small_stack"
# The minimum stack size with which the calls of the program work without tools. The program uses a larger stack if the
# C library demands it.
KILOBYTES = 64 if OPEN_MPI else 16

pytestmark = pytest.mark.skipif(bool(ASAN), reason="sanitizers need more stack")


def run(tools, *end, **more):
    return run_mpi(SMALL_STACK, KILOBYTES, *end, ranks=1, tools=tools,
                   env={"QMPI_TOOL_PATH": BUNDLED_TOOLS}, **more)


@pytest.mark.parametrize("tools", [
    None, "empty", "count", "mpit",
    "log", "log,caller=yes", "log,caller=yes,enter=yes,output=x", "log,time=clock,array=0,strings=0",
    "log,stuck=10s,min-time=1ns", "log,errors=only,caller=yes",
    "profile", "profile,depth=4", "profile,depth=32", "profile,sync=yes,checkpoint=60",
    "trace,output=x", "trace,output=x,sites=yes,depth=32,counters=qmpi.*",
    "delay,before=1ns,after=1ns", "delay,functions=MPI_Iprobe,error=MPI_ERR_OTHER",
    "delay,noise=1ns/1ms,probability=0.5",
])
def test_calls_work_on_the_smallest_stack(tmp_path, tools):
    result = run(tools, cwd=tmp_path)
    assert result.returncode == 0 and result.stdout == "done\n"


@pytest.mark.parametrize("tools", [
    None, "count", "count,output=x", "mpit,csv=x,show=*", "log,caller=yes", "delay,before=1ns",
    "profile", "profile,output=x.csv", "profile,output=x.html,depth=8", "profile,sync=yes",
    "trace", "trace,sites=yes", "trace,sites=yes,format=perfetto"])
def test_mpi_can_be_finalized_on_the_smallest_stack(tmp_path, tools):
    """Reports are written, and addresses are described, on a separate stack that is large
    enough."""
    result = run(tools, "finalize", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout == "done\n"


@pytest.mark.parametrize("end", ["finalize", "exit", "abort", "snapshot"])
def test_reports_from_the_smallest_stack_are_complete(tmp_path, end):
    run("profile,output=x.json:count,output=y.json", end, cwd=tmp_path)
    name, = [path for path in tmp_path.glob("x.*") if "snapshot" in path.name or end != "snapshot"]
    result = json.loads(name.read_text())
    site, *_ = [site for site in result["callsites"] if site["name"] == "MPI_Waitall"]
    # For a snapshot, addresses are not described, because the program goes on after it.
    assert site["frames"][0].get("function") == (None if end == "snapshot" else "communicate")
    assert {row["name"]: row["calls"] for row in result["functions"]}["MPI_Waitall"] == 40
    if OPEN_MPI and end == "abort":
        return  # MPI_Abort of Open MPI does not run exit handlers, in which count would report
    counted = json.loads(next(tmp_path.glob("y.*")).read_text())
    assert counted["functions"]["MPI_Waitall"]["calls"] == 40


def test_call_sites_are_described_in_full_on_the_smallest_stack():
    result = run("log,caller=yes")
    places = {line.rpartition(" at ")[2] for line in result.messages if "MPI_Barrier(" in line}
    assert len(places) == 1 and places.pop().startswith("communicate (small_stack.c:")


@pytest.mark.parametrize("tools", [
    None, "count", "log:trace,output=x:profile:mpit:delay,before=1ns:libaddress:libaddress"])
@pytest.mark.parametrize("first", ["first", "first_pmpi", "handler"])
def test_the_first_call_may_come_from_the_smallest_stack(tmp_path, first, tools):
    """The stack of tools is built on a separate call stack. A signal handler on a stack of its own may make the first
    call, too."""
    result = run_mpi(SMALL_STACK, 16, first, ranks=1, tools=tools, cwd=tmp_path,
                     env={"QMPI_TOOL_PATH": TOOL_PATH})
    assert result.returncode == 0 and result.stdout == "done\n"


@pytest.mark.parametrize("memory", ["64M", "1M"])
def test_a_trace_is_begun_on_the_smallest_stack(tmp_path, memory):
    """Without MPI_Init, the file is begun when the process exits, or earlier if the memory is full."""
    result = run_mpi(SMALL_STACK, 16, "only", ranks=1, tools=f"trace,memory={memory}", cwd=tmp_path,
                     env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert result.returncode == 0 and result.stdout == "done\n"
    path, = tmp_path.iterdir()
    processes, _ = read(path)
    assert [process.calls()["MPI_Initialized"] for process in processes.values()] == [100000]
