# SPDX-License-Identifier: MIT
"""The bundled tools need no more stack than MPI itself: a thread may have as little as the system allows."""
import pytest
from support import ASAN, BUILD, BUNDLED_TOOLS, OPEN_MPI, run_mpi

SMALL_STACK = BUILD / "tests" / "tools" / "programs" / "tools_small_stack"
# What bare MPI needs for these calls.
KILOBYTES = 64 if OPEN_MPI else 16

pytestmark = pytest.mark.skipif(bool(ASAN), reason="sanitizers need more")


def run(tools, **more):
    return run_mpi(SMALL_STACK, KILOBYTES, ranks=1, tools=tools,
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
def test_calls_from_the_smallest_stack(tmp_path, tools):
    result = run(tools, cwd=tmp_path)
    assert result.returncode == 0 and result.stdout == "done\n"


def test_call_sites_are_told_in_full_there():
    result = run("log,caller=yes")
    places = {line.rpartition(" at ")[2] for line in result.messages if "MPI_Barrier(" in line}
    assert len(places) == 1 and places.pop().startswith("communicate (small_stack.c:")
