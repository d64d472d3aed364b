# SPDX-License-Identifier: MIT
"""With several threads, no call is lost or counted twice, and only the first thread that calls MPI
builds the stack."""
import pytest

from support import run_mpi


def counts(result, tool_id):
    prefix = f"counter {tool_id} "
    found = [line[len(prefix):].split() for line in result.trace if line.startswith(prefix)]
    return {name: int(number) for name, number in found}


@pytest.mark.parametrize("tools, layers", [("counter", [1]), ("counter:empty:counter", [1, 3])])
def test_counts_of_four_threads_are_exact(tools, layers):
    result = run_mpi("threads", "count", 10000, ranks=1, tools=tools)
    assert (result.returncode, result.stdout) == (0, "done\n")
    for tool_id in layers:
        assert counts(result, tool_id) == {"inits": 1, "MPI_Init_thread": 1, "MPI_Finalize": 1,
                                           "MPI_Comm_rank": 40000, "MPI_Iprobe": 40000}


def test_simultaneous_first_calls_of_four_threads_start_the_stack_once():
    for _ in range(25):
        result = run_mpi("threads", "race", ranks=1, tools="counter:alpha:counter")
        assert (result.returncode, result.stdout) == (0, "done\n")
        assert result.trace.count("init alpha 2") == 1
        assert result.calls.count("alpha 2 MPI_Initialized") == 4
        for tool_id in (1, 3):
            assert counts(result, tool_id) == {"inits": 1, "MPI_Initialized": 4,
                                               "MPI_Init_thread": 1, "MPI_Finalize": 1}


def test_simultaneous_first_calls_of_four_threads_work_without_tools():
    for _ in range(10):
        result = run_mpi("threads", "race", ranks=1)
        assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_a_bad_stack_met_by_four_threads_at_once_gives_one_message():
    for _ in range(10):
        result = run_mpi("threads", "race", ranks=1, tools="no_such_tool")
        assert (result.returncode, result.stdout) == (2, "")
        assert len([line for line in result.messages if line.startswith("QMPI_TOOLS")]) == 1
