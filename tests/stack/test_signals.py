# SPDX-License-Identifier: MIT
"""A signal may arrive at any instruction of an MPI call. MPI calls in its handler do not affect the
interrupted call, and if the handler leaves the call by a jump, later calls are not affected."""
import re

import pytest

from mpi_in_use import PROCESSOR
from support import BUILD, run_mpi

pytestmark = pytest.mark.skipif(PROCESSOR != "x86_64", reason="a program can set a trap flag only on "
                                                                "x86-64")

# PMPI layers above, below and between native layers; observers; `delay`, which has an observer and
# intercepts functions.
STACKS = ["counter", "counter:counter", "pmpi_quiet:counter", "pmpi_tally:counter",
          "counter:pmpi_quiet_now:pmpi_quiet:counter", "empty:pmpi_quiet:empty:empty",
          "count,output=/dev/null:pmpi_quiet:count,output=/dev/null",
          "delay,functions=MPI_Comm_size,error=MPI_ERR_OTHER,calls=1000000:pmpi_tally:empty"]
CALLS = ["MPI_Comm_rank", "MPI_Comm_size", "MPI_Sendrecv", "MPI_Get_processor_name"]


def run(mode, tools):
    result = run_mpi("stepped", mode, ranks=1, tools=tools, timeout=120,
                     env={"QMPI_TOOL_PATH": f"{BUILD}/tests/stack/tools:{BUILD}/tools"})
    assert result.returncode == 0
    assert result.messages == []
    return result


@pytest.mark.parametrize("tools", [None, *STACKS])
def test_a_handlers_calls_leave_the_interrupted_call_alone(tools):
    result = run("signals", tools)
    lines = result.stdout.splitlines()
    assert lines[:-1] == [f"{call} is right, the handler's calls are right, many signals"
                          for call in CALLS]


@pytest.mark.parametrize("tools", ["counter:pmpi_quiet:counter", "pmpi_tally:counter:counter"])
def test_every_native_layer_counts_the_handlers_calls_and_the_interrupted_ones(tools):
    result = run("signals", tools)
    signals = int(result.stdout.splitlines()[-1].split()[0])
    layers = [i for i, name in enumerate(tools.split(":"), 1) if name == "counter"]
    for layer in layers:
        assert f"counter {layer} MPI_Wtime {signals}" in result.trace
        for call in CALLS:
            assert f"counter {layer} {call} 1" in result.trace


@pytest.mark.parametrize("tools", ["pmpi_quiet:count,output=/dev/null",
                                   "count,output=/dev/null:pmpi_quiet:empty"])
def test_a_handler_may_read_a_performance_variable_of_a_layer(tools):
    result = run("reads", tools)
    assert result.stdout.splitlines()[:-1] == [
        f"{call} is right, the handler's calls are right, many signals" for call in CALLS]


@pytest.mark.parametrize("tools", ["counter:caller", "pmpi_quiet:counter:caller",
                                   "caller:pmpi_quiet:caller:counter", "caller:pmpi_quiet"])
def test_a_jump_out_of_a_call_leaves_the_callers_of_later_calls_right(tools):
    result = run("jumps", tools)
    assert result.stdout == ("MPI_Wtime left by many jumps, 0 calls after them are wrong\n"
                             "MPI_Comm_size left by many jumps, 0 calls after them are wrong\n"
                             "0 libraries loaded by calls\n")
    callers = {re.sub(r"^caller \d+ ", "", line) for line in result.trace
               if line.startswith("caller ") and "_Comm_" in line}
    assert callers == {"MPI_Comm_size from caller_of_size"}
    assert "caller outside a call: NULL" in result.trace
