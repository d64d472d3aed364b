# SPDX-License-Identifier: MIT
"""Stacks of many layers, PMPI tools with libraries of their own, and PMPI tools in other languages."""
import shutil

import pytest

from pmpi_support import (PMPI_TOOLS, RUN, check_stack, expected_calls, pmpi_program, pmpi_tool,
                          run_pmpi, run_stack, succeed)
from support import LIBQMPI


def notes_of(result, *names):
    return [line for line in result.trace if line.startswith(tuple(f"{name} " for name in names))]


# ---- Many layers, and names of tools -------------------------------------------------------------


def test_sixteen_layers_of_sixteen_tools_work():
    names = ["lazy", "now", "writable", "noplt", "noplt_lazy", "address", "address_now", "table",
             "constant", "constant_now", "sysv", "symbolic", "unlinked", "next_pmpi", "next_mpi",
             "early_next_mpi"]
    run_stack(*names)


def test_sixteen_layers_of_one_tool_work():
    result = run_stack(*["now"] * 16)
    assert result.trace.count("exit now counted 6 helper 0") == 16


def test_thirty_layers_of_pmpi_and_native_tools_in_turn_work():
    run_stack(*["lazy", "alpha"] * 15)


def test_layers_are_loaded_from_the_bottom_up():
    result = run_stack("lazy", "alpha", "now")
    assert [line for line in result.trace if line.startswith("load ")] == [
        "load now", "load alpha", "load lazy"]


def test_tools_are_found_by_name_by_file_name_and_by_path():
    tools = f"lazy:libnow.so:{pmpi_tool('table')}"
    check_stack(("lazy", "now", "table"), succeed("calls", *RUN, tools=tools))


def test_a_copy_of_a_tool_under_another_name_works_between_its_layers(tmp_path):
    other = tmp_path / "libother.so"
    other.write_bytes(pmpi_tool("now").read_bytes())
    result = succeed("calls", *RUN, tools=f"now:{other}:now")
    check_stack(("now", "now", "now"), result)


def test_a_symbolic_link_to_a_tool_works_between_its_layers(tmp_path):
    other = tmp_path / "libother.so"
    other.symlink_to(pmpi_tool("now"))
    result = succeed("calls", *RUN, tools=f"now:{other}:now")
    check_stack(("now", "now", "now"), result)


# ---- Libraries of a tool's own -------------------------------------------------------------------


@pytest.mark.parametrize("stack", [
    ("helped",), ("alpha", "helped"), ("helped", "alpha"), ("helped", "now", "helped"),
    ("helped", "helped", "alpha", "helped"), ("lazy", "helped", "alpha", "lazy", "helped")])
def test_the_references_to_pmpi_may_be_in_a_library_of_the_tool(stack):
    """The library counts calls. Its counts show that each layer has a copy of its own."""
    result = run_stack(*stack)
    assert result.trace.count("exit helped counted 6 helper 6") == stack.count("helped")


@pytest.mark.parametrize("stack", [
    ("helped", "helped_too"), ("helped_too", "alpha", "helped"),
    ("helped", "helped_too", "beta", "helped", "helped_too")])
def test_two_tools_that_need_the_same_library_have_a_copy_each(stack):
    result = run_stack(*stack)
    for name in ("helped", "helped_too"):
        assert result.trace.count(f"exit {name} counted 6 helper 6") == stack.count(name)


@pytest.mark.parametrize("stack", [
    ("indirect_one",), ("indirect_one", "alpha", "indirect_one"),
    ("indirect_one", "alpha", "indirect_other"), ("indirect_other", "now", "helped"),
    ("helped", "now", "indirect_other"),
    ("indirect_one", "indirect_other", "beta", "indirect_other", "indirect_one")])
def test_tools_that_need_the_same_library_indirectly_have_a_copy_each(stack):
    result = run_stack(*stack)
    for name in set(stack) - {"alpha", "beta", "now"}:
        assert result.trace.count(f"exit {name} counted 6 helper 6") == stack.count(name)


def test_an_indirectly_needed_library_is_found_in_the_search_path_of_the_loader(tmp_path):
    """Both tools need the helper library, each through a library of its own. That of the moved tool is not loaded yet,
    and the run path of this tool does not lead to it."""
    moved = shutil.copy(pmpi_tool("indirect_one"), tmp_path)
    result = succeed("calls", *RUN, tools=f"{moved}:alpha:indirect_other",
                     env={"LD_LIBRARY_PATH": f"{tmp_path}/none:{PMPI_TOOLS}"})
    check_stack(("indirect_one", "alpha", "indirect_other"), result)
    for name in ("indirect_one", "indirect_other"):
        assert result.trace.count(f"exit {name} counted 6 helper 6") == 1


def test_a_tool_works_in_a_process_with_many_libraries(tmp_path):
    others = [shutil.copy(pmpi_tool("missing"), tmp_path / f"libother{i}.so") for i in range(70)]
    result = succeed("calls", *RUN, tools="now:alpha:now", preload=[LIBQMPI, *others])
    check_stack(("now", "alpha", "now"), result)


@pytest.mark.parametrize("stack", [("helped", "alpha"), ("alpha", "helped", "now", "helped")])
def test_the_program_and_a_tool_may_need_the_same_library(stack):
    """The program and the tool have separate copies of the library, each with a count of its own."""
    result = succeed(pmpi_program("uses_helper"), *RUN, tools=":".join(stack))
    check_stack(stack, result)
    assert result.trace.count("exit helped counted 6 helper 6") == stack.count("helped")


@pytest.mark.parametrize("stack", [
    ("ends",), ("alpha", "ends"), ("ends", "alpha"), ("ends", "now", "ends"),
    ("ends", "alpha", "ends", "beta", "ends")])
def test_a_library_of_the_tool_may_contain_wrappers(stack):
    """The tool wraps MPI_Init and MPI_Finalize, and its library wraps the other functions. Each of the two counts its
    own calls."""
    expected = []
    for call in expected_calls(stack):
        layer, function, count = (call.split() + [""])[:3]
        if layer == "ends":
            name = "ends" if function in ("MPI_Init", "MPI_Finalize") else "middle"
            count = {"MPI_Init": 1, "MPI_Finalize": 2}.get(function, int(count) - 1)
            expected.append(f"{name} {function} {count}")
        else:
            expected.append(call)
    result = succeed("calls", *RUN, tools=":".join(stack))
    assert result.calls == expected
    assert not [line for line in result.trace if "without" in line]


# ---- Other languages -----------------------------------------------------------------------------


def cpp_calls(stack):
    """Returns the expected notes. cpp.cpp counts each function separately, and each is called once."""
    return [" ".join(line.split()[:2] + ["1"]) if line.startswith("cpp") else line
            for line in expected_calls(stack)]


@pytest.mark.skipif(not pmpi_tool("cpp").exists(), reason="no C++ compiler")
@pytest.mark.parametrize("stack", [
    ("cpp",), ("alpha", "cpp"), ("cpp", "alpha"), ("cpp", "cpp_too"), ("cpp", "now", "cpp"),
    ("cpp", "cpp_too", "alpha", "cpp_too", "cpp")])
def test_cpp_tools_may_have_static_objects_and_exceptions(stack):
    result = succeed("calls", *RUN, tools=":".join(stack))
    assert [line for line in result.calls if "MPI_Initialized" not in line] == cpp_calls(stack)
    assert result.stdout == run_pmpi("calls", *RUN, preload=()).stdout
    for name in ("cpp", "cpp_too"):
        assert result.trace.count(f"load {name} initialized 0") == stack.count(name)
        assert result.trace.count(f"exit {name} counted 6") == stack.count(name)


@pytest.mark.skipif(not pmpi_tool("fortran").exists(), reason="no Fortran compiler")
@pytest.mark.parametrize("stack", [
    ("fortran",), ("alpha", "fortran"), ("fortran", "alpha"), ("fortran", "now", "fortran")])
@pytest.mark.parametrize("application", ["C", "Fortran"])
def test_a_tool_may_be_written_in_fortran(stack, application):
    steps = ["init", "comm_rank", "barrier", "finalize"]
    result = (succeed("calls", *steps, tools=":".join(stack)) if application == "C"
              else succeed(pmpi_program("fortran_calls"), tools=":".join(stack)))
    expected = [f"fortran MPI_{function} {number}" for number, function in
                enumerate(("Comm_rank", "Barrier"), 1) for _ in range(stack.count("fortran"))]
    assert notes_of(result, "fortran") == expected
    if "alpha" in stack:
        tool_id = stack.index("alpha") + 1
        assert result.calls.count(f"alpha {tool_id} MPI_Comm_rank") == 1


def seen(result, name):
    """Returns the C names of the MPI functions that a layer saw, in lower case, whether its C wrapper or its Fortran
    wrapper was called."""
    notes = [line.split() for line in result.calls if line.startswith(f"{name} ")]
    functions = [next(word for word in note if word.lower().startswith("mpi_")) for note in notes]
    return [function.lower().rstrip("_") for function in functions]


@pytest.mark.skipif(not pmpi_program("fortran_calls").exists(), reason="no Fortran compiler")
@pytest.mark.parametrize("preload", ["no", "yes"])
@pytest.mark.parametrize("stack", [
    ("fortran_wrappers",), ("alpha", "fortran_wrappers"), ("fortran_wrappers", "alpha"),
    ("lazy", "fortran_wrappers", "alpha")])
def test_each_layer_sees_a_call_once_if_a_tool_has_fortran_wrappers(stack, preload):
    """The tool has wrappers in C and Fortran, for example MPI_Barrier and mpi_barrier_. If it is preloaded, calls of
    the program may reach either of them."""
    libraries = [LIBQMPI, pmpi_tool("fortran_wrappers")] if preload == "yes" else [LIBQMPI]
    result = succeed(pmpi_program("fortran_calls"), tools=":".join(stack), preload=libraries)
    assert result.stdout == "rank 0 error 0\n"
    for name in stack:
        calls = [call for call in seen(result, name) if call in ("mpi_comm_rank", "mpi_barrier")]
        assert calls == ["mpi_comm_rank", "mpi_barrier"], name


@pytest.mark.parametrize("stack", [("fortran_wrappers",), ("alpha", "fortran_wrappers", "now")])
def test_a_tool_with_fortran_wrappers_works_with_a_c_program(stack):
    result = succeed("calls", *RUN, tools=":".join(stack))
    assert notes_of(result, "fortran_wrappers") == ["fortran_wrappers MPI_Comm_rank 1",
                                                    "fortran_wrappers MPI_Barrier 2"]
