# SPDX-License-Identifier: MIT
"""PMPI tools that are already in the process: preloaded before or after libqmpi, linked with the program as a library,
or part of the program. They become layers. If this is not possible at the listed place, the run is refused, or
continues without this layer."""
import shutil

import pytest

from pmpi_support import (RUN, STEPS, check_stack, expected_calls, pmpi_program, pmpi_tool, one_message,
                          readelf, run_pmpi, succeed)
from support import LIBQMPI, MPI_LIBRARY

WITH_WRAPPERS = ["own", "own_now", "own_table", "process_file_name", "own_fixed", "own_fixed_table"]


def run_with(preload, tools, program="calls", **kwargs):
    libraries = [LIBQMPI if name == "libqmpi" else pmpi_tool(name) for name in preload]
    return succeed(program, *RUN, preload=libraries, tools=tools, **kwargs)


# ---- Preloaded behind libqmpi --------------------------------------------------------------------


@pytest.mark.parametrize("tools, stack", [
    (None, ["lazy"]), ("", ["lazy"]), ("alpha", ["alpha", "lazy"]), ("now", ["now", "lazy"]),
    ("now:alpha:now", ["now", "alpha", "now", "lazy"])])
def test_a_preloaded_tool_that_is_not_listed_is_the_lowest_layer(tools, stack):
    check_stack(stack, run_with(["libqmpi", "lazy"], tools))


def test_two_preloaded_tools_that_are_not_listed_keep_the_loaders_order():
    check_stack(["alpha", "lazy", "now"], run_with(["libqmpi", "lazy", "now"], "alpha"))


def test_of_two_preloaded_tools_one_may_be_listed():
    check_stack(["alpha", "now", "beta", "lazy"],
                run_with(["libqmpi", "lazy", "now"], "alpha:now:beta"))


@pytest.mark.parametrize("entry", ["lazy", "liblazy.so", str(pmpi_tool("lazy"))])
def test_a_preloaded_tool_may_be_listed_by_name_file_name_or_path(entry):
    result = run_with(["libqmpi", "lazy"], f"alpha:{entry}:beta")
    check_stack(["alpha", "lazy", "beta"], result)
    assert result.trace.count("load lazy") == 1


def test_a_preloaded_tool_works_on_each_of_two_ranks():
    result = run_with(["libqmpi", "lazy"], "lazy:alpha:lazy", ranks=2)
    assert result.calls.count("lazy MPI_Comm_rank 2") == 4
    assert result.calls.count("alpha 2 MPI_Comm_rank") == 2


@pytest.mark.parametrize("stack", [("helped", "alpha"), ("alpha", "helped", "beta")])
def test_a_preloaded_tool_may_have_a_library_of_its_own(stack):
    """The references to PMPI are in this library. They must lead to the next layer."""
    result = run_with(["libqmpi", "helped"], ":".join(stack))
    check_stack(stack, result)
    assert "exit helped counted 6 helper 6" in result.trace


@pytest.mark.parametrize("stack", [("helped", "alpha", "helped"), ("helped", "now", "helped_too")])
def test_a_preloaded_tools_own_library_is_not_shared_with_other_layers(stack):
    result = run_with(["libqmpi", "helped"], ":".join(stack))
    check_stack(stack, result)
    assert result.trace.count("exit helped counted 6 helper 6") == stack.count("helped")


# ---- In large processes --------------------------------------------------------------------------


def copies(source, count, folder):
    paths = [folder / f"{source.stem}{number}.so" for number in range(count)]
    for path in paths:
        shutil.copy(source, path)
    return paths


@pytest.mark.parametrize("stack", [("helped",), ("alpha", "helped", "beta")])
def test_a_preloaded_tool_has_its_own_library_in_a_process_with_many_libraries(stack, tmp_path):
    many = copies(pmpi_tool("pmpimany"), 600, tmp_path)
    result = succeed("calls", *RUN, preload=[LIBQMPI, *many, pmpi_tool("helped")],
                     tools=":".join(stack))
    check_stack(stack, result)
    assert "exit helped counted 6 helper 6" in result.trace


def test_many_tools_may_be_preloaded(tmp_path):
    tools = copies(pmpi_tool("now"), 80, tmp_path)
    result = succeed("calls", *RUN, preload=[LIBQMPI, *tools], tools="alpha")
    for number, function in enumerate(STEPS.values(), 1):
        assert result.calls.count(f"now {function} {number}") == len(tools)


# ---- Preloaded in front of libqmpi ---------------------------------------------------------------


@pytest.mark.parametrize("tools, stack", [
    (None, ["lazy"]), ("alpha", ["lazy", "alpha"]), ("now:alpha", ["lazy", "now", "alpha"]),
    ("lazy:alpha", ["lazy", "alpha"]), ("lazy:alpha:lazy", ["lazy", "alpha", "lazy"])])
def test_a_tool_in_front_is_the_top_of_the_stack(tools, stack):
    check_stack(stack, run_with(["lazy", "libqmpi"], tools))


@pytest.mark.parametrize("name", ["now", "noplt", "table", "next_pmpi", "next_mpi", "library_pmpi",
                                  "defines_pmpi"])
def test_a_tool_in_front_may_be_bound_in_any_way(name):
    check_stack([name, "alpha"], run_with([name, "libqmpi"], "alpha"))


def test_two_tools_in_front_keep_the_loaders_order():
    check_stack(["lazy", "now", "alpha"], run_with(["lazy", "now", "libqmpi"], "alpha"))


def test_one_tool_may_be_in_front_and_one_behind():
    check_stack(["lazy", "alpha", "now"], run_with(["lazy", "libqmpi", "now"], "alpha"))


@pytest.mark.parametrize("tools", ["alpha:lazy", "now:lazy:alpha"])
def test_a_tool_in_front_that_is_listed_elsewhere_is_refused(tools):
    result = run_pmpi("calls", *RUN, preload=[pmpi_tool("lazy"), LIBQMPI], tools=tools)
    assert result.returncode == 2
    assert result.stdout == ""
    one_message(result, "is loaded before libqmpi")
    assert "entry 2 'lazy'" in result.messages[0]


def test_a_tool_in_front_that_is_listed_elsewhere_may_be_skipped():
    result = succeed("calls", *RUN, preload=[pmpi_tool("lazy"), LIBQMPI], tools="alpha:lazy",
                     env={"QMPI_ON_ERROR": "skip"})
    assert result.calls.count("alpha 1 MPI_Comm_rank") + result.calls.count(
        "alpha 2 MPI_Comm_rank") == 1
    assert "continues without this layer" in "\n".join(result.messages)


# ---- Linked with the program ---------------------------------------------------------------------


@pytest.mark.parametrize("tools, stack", [
    (None, ["linkedtool"]), ("alpha", ["alpha", "linkedtool"]),
    ("linkedtool:alpha", ["linkedtool", "alpha"]),
    ("alpha:linkedtool:beta", ["alpha", "linkedtool", "beta"]),
    ("linkedtool:now:linkedtool", ["linkedtool", "now", "linkedtool"])])
def test_a_tool_may_be_linked_as_a_library(tools, stack):
    program = pmpi_program("linked_with_tool")
    needed = [line for line in readelf("-d", program).splitlines() if "(NEEDED)" in line]
    assert "liblinkedtool.so" in needed[0] and MPI_LIBRARY in needed[1]
    check_stack(stack, run_with(["libqmpi"], tools, program))


# ---- Part of the program -------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_WRAPPERS)
@pytest.mark.parametrize("tools, lower", [
    (None, []), ("alpha", ["alpha"]), ("now", ["now"]), ("now:alpha:now", ["now", "alpha", "now"])])
def test_the_programs_own_wrappers_are_the_top_of_the_stack(name, tools, lower):
    check_stack(["own", *lower], run_with(["libqmpi"], tools, pmpi_program(name)))


@pytest.mark.parametrize("name", WITH_WRAPPERS)
def test_the_programs_own_wrappers_work_on_each_of_two_ranks(name):
    result = run_with(["libqmpi"], "now:alpha", pmpi_program(name), ranks=2)
    for layer in ("own", "now"):
        assert result.calls.count(f"{layer} MPI_Comm_rank 2") == 2
    alpha = [line for line in result.calls if line.endswith("MPI_Comm_rank")]
    assert alpha == ["alpha 3 MPI_Comm_rank"] * 2


def test_the_caller_is_the_call_in_the_program_and_not_in_its_wrapper():
    result = succeed(pmpi_program("callers_own"), tools="caller")
    noted = {line.split()[2]: line.split()[4] for line in result.trace if " from " in line}
    assert {name: noted[name] for name in ("MPI_Init_thread", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Finalize")} == {
        "MPI_Init_thread": "caller_of_init", "MPI_Comm_rank": "caller_of_rank", "MPI_Comm_size": "caller_of_size",
        "MPI_Finalize": "caller_of_finalize"}


def test_wrappers_of_the_program_a_listed_and_a_preloaded_tool_form_one_stack():
    result = succeed(pmpi_program("own"), *RUN, tools="alpha",
                     preload=[LIBQMPI, pmpi_tool("lazy")])
    assert result.calls == expected_calls(["own", "alpha", "lazy"])
