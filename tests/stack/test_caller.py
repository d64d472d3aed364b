# SPDX-License-Identifier: MIT
"""QMPI_Context_get_calling_address returns an address in the function that called MPI, whatever
layers are in between."""
import json
import re

import pytest

from support import BUILD, TOOLS, run_mpi

STACKS = {
    "1 layer": ("caller", [1]),
    "3 layers": ("caller:caller:caller", [1, 2, 3]),
    "above and below others": ("alpha:caller:empty:caller:beta", [2, 4]),
}


def callers(result):
    return [line for line in result.trace if line.startswith("caller ")]


@pytest.mark.parametrize("tools, layers", STACKS.values(), ids=STACKS)
def test_the_caller_is_the_function_of_the_application(tools, layers):
    result = run_mpi("callers", ranks=1, tools=tools)
    assert (result.returncode, result.stdout) == (0, "done\n")
    for function, caller in (("MPI_Init_thread", "caller_of_init"),
                             ("MPI_Comm_rank", "caller_of_rank"),
                             ("MPI_Finalize", "caller_of_finalize")):
        notes = [line for line in callers(result) if f" {function} from" in line]
        assert notes == [f"caller {tool_id} {function} from {caller}" for tool_id in layers]


@pytest.mark.parametrize("tools, layers", STACKS.values(), ids=STACKS)
def test_the_call_that_starts_the_stack_has_its_caller(tools, layers):
    result = run_mpi("callers", ranks=1, tools=tools)
    assert callers(result)[:len(layers)] == [
        f"caller {tool_id} MPI_Initialized from caller_of_initialized" for tool_id in layers]


def test_a_tools_own_call_has_the_tool_as_caller_and_the_outer_call_keeps_its_own():
    result = run_mpi("callers", ranks=1, tools="alpha:caller")
    notes = callers(result)
    begin = notes.index("caller 2 MPI_Barrier from caller_of_barrier")
    assert notes[begin:begin + 5] == [
        "caller 2 MPI_Barrier from caller_of_barrier",
        "caller 2 MPI_Comm_size from function_of_the_tool",
        "caller 2 MPI_Barrier again from caller_of_barrier",
        "caller 2 MPI_Barrier at the end from caller_of_barrier",
        "caller 2 MPI_Comm_size from caller_of_size",
    ]


def test_nested_calls_of_several_layers_keep_their_callers_apart():
    """Layers 1 and 2 both call MPI_Comm_size in MPI_Barrier, through the whole stack."""
    result = run_mpi("callers", ranks=1, tools="caller:caller")
    notes = [re.sub("^caller ", "", line) for line in callers(result)]
    begin = notes.index("1 MPI_Barrier from caller_of_barrier")
    size = [f"{tool_id} MPI_Comm_size from function_of_the_tool" for tool_id in (1, 2)]
    assert notes[begin:begin + 12] == [
        "1 MPI_Barrier from caller_of_barrier", *size, "1 MPI_Barrier again from caller_of_barrier",
        "2 MPI_Barrier from caller_of_barrier", *size, "2 MPI_Barrier again from caller_of_barrier",
        "2 MPI_Barrier at the end from caller_of_barrier",
        "1 MPI_Barrier at the end from caller_of_barrier",
        "1 MPI_Comm_size from caller_of_size", "2 MPI_Comm_size from caller_of_size"]


def test_a_call_by_pmpi_does_not_change_the_caller():
    result = run_mpi("callers", ranks=1, tools="nested")
    notes = [line for line in result.trace if line.startswith("nested 1 caller")]
    assert notes == [f"nested 1 caller {when} caller_of_barrier"
                     for when in ("before", "after MPI_Comm_size", "after the next")]


@pytest.mark.parametrize("layers", [1, 3])
def test_four_threads_each_have_their_own_caller(layers):
    result = run_mpi("callers", "threads", ranks=1, tools=":".join(["caller"] * layers))
    assert (result.returncode, result.stdout) == (0, "done\n")
    for tool_id in range(1, layers + 1):
        threads = [line for line in callers(result) if f" {tool_id} thread from" in line]
        assert sorted(threads) == [f"caller {tool_id} thread from caller_in_thread_{thread}"
                                   for thread in range(4)]
        assert f"caller {tool_id} right 20000 wrong 0" in callers(result)


@pytest.mark.parametrize("layers", [1, 3])
def test_outside_a_call_there_is_no_caller(layers):
    result = run_mpi("callers", ranks=1, tools=":".join(["caller"] * layers))
    assert callers(result)[-1] == "caller outside a call: NULL"


@pytest.mark.parametrize("tools", [
    "caller", "caller:caller", "pmpi_quiet:caller", "caller,asks=no:pmpi_quiet:caller",
    "counter:pmpi_quiet:caller",
    "delay,functions=MPI_Comm_size,after=1us:pmpi_quiet:caller",  # an observer
    "caller,asks=no:pmpi_quiet:counter:pmpi_quiet:caller",
    "pmpi_quiet:caller,asks=no:pmpi_quiet:caller"])
def test_a_call_that_was_left_by_longjmp_has_its_caller_when_it_is_made_again(tools):
    result = run_mpi("callers", "comes_back", ranks=1, tools=tools,
                     env={"QMPI_TOOL_PATH": f"{TOOLS}:{BUILD}/tools"})
    assert (result.returncode, result.stdout) == (0, "done\n")
    layers = [i for i, tool in enumerate(tools.split(":"), 1) if tool == "caller"]
    assert layers
    assert [line for line in callers(result) if "Comm_size" in line] == [
        f"caller {layer} MPI_Comm_size from {caller}"
        for caller in ("caller_that_comes_back", "caller_that_comes_back", "caller_of_size")
        for layer in layers]


@pytest.mark.parametrize("program", ["fibers", "fiber"])
@pytest.mark.parametrize("tools", ["caller", "caller:caller", "alpha:caller", "pmpi_quiet:caller",
                                   "caller,asks=no:pmpi_quiet:caller", "log:caller"])
def test_calls_of_alternating_user_level_threads_keep_their_callers(program, tools):
    """The tool prints the caller again after the other thread has begun or ended a call."""
    result = run_mpi("callers", program, ranks=1, tools=tools,
                     env={"QMPI_TOOL_PATH": f"{TOOLS}:{BUILD}/tools"})
    assert (result.returncode, result.stdout) == (0, "done\n")
    for layer in [i for i, tool in enumerate(tools.split(":"), 1) if tool.startswith("caller")]:
        notes = [line for line in callers(result) if line.startswith(f"caller {layer} MPI_Barrier")]
        for when in ("", " again", " at the end"):
            assert sorted(line for line in notes if f"MPI_Barrier{when} from" in line) == [
                f"caller {layer} MPI_Barrier{when} from caller_in_fiber_{fiber}"
                for fiber in (1, 1, 2, 2, 2)]
        size = f"caller {layer} MPI_Comm_size from caller_of_size"
        assert (size in callers(result)) == ("asks=no" not in tools.split(":")[layer - 1])


@pytest.mark.parametrize("program", ["fibers", "fiber"])
@pytest.mark.parametrize("above", ["", "caller:", "pmpi_quiet:"])
def test_call_sites_of_alternating_user_level_threads_are_told_apart(tmp_path, program, above):
    """`profile` is an observer, which asks for the caller when the call returns. Above it, there may
    be a layer of interceptors or of PMPI wrappers."""
    result = run_mpi("callers", program, ranks=1, cwd=tmp_path,
                     tools=f"{above}profile,output=out.json,format=json",
                     env={"QMPI_TOOL_PATH": f"{TOOLS}:{BUILD}/tests/pmpi/tools:{BUILD}/tools"})
    assert (result.returncode, result.stdout) == (0, "done\n")
    sites = json.loads((tmp_path / "out.json").read_text())["callsites"]
    assert {site["frames"][0]["function"]: site["calls"] for site in sites
            if site["name"] == "MPI_Barrier"} == {"caller_in_fiber_1": 2, "caller_in_fiber_2": 3}
