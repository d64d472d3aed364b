# SPDX-License-Identifier: MIT
"""If a program looks up MPI_X, dlsym returns a function that leads through the stack, unless the search
begins behind libqmpi. For other names, except PMPI_X, and for other libraries, dlsym does the same as
without libqmpi."""
import json
import re

import pytest

from redirect_support import REDIRECT_PROGRAMS, mpi_soname, reach
from support import ASAN, LIBQMPI

HANDLES = ["default", "next", "self", "mpi"]
NAMESAKE = REDIRECT_PROGRAMS / "libredirectnamesake.so"
MALLOC = REDIRECT_PROGRAMS / "libredirectmalloc.so"


def lookups(*steps, tools=None, preload=(LIBQMPI,), env=None, **more):
    result = reach("lookups", *steps, ranks=1, tools=tools, preload=preload,
                   env={"REDIRECT_NAMESAKE": NAMESAKE, **(env or {})}, **more)
    assert result.returncode == 0
    assert result.messages == []
    return result.stdout.splitlines()


# ---- MPI's functions -----------------------------------------------------------------------------


@pytest.mark.parametrize("handle", HANDLES + ["middle"])
def test_mpi_functions_that_dlsym_returns_lead_through_the_stack(handle, tmp_path):
    lines = lookups("init", f"call={handle}", "finalize", tools="count,output=calls.json",
                    cwd=tmp_path)
    assert lines == [f"call {handle}: 0, 0"]
    functions = json.loads((tmp_path / "calls.json").read_text())["functions"]
    seen = functions.get("MPI_Comm_rank", {}).get("calls", 0)
    # In the search order, `middle` comes after libqmpi, so the next definition is that of the MPI
    # library.
    assert seen == (0 if handle == "middle" else 1)


@pytest.mark.parametrize("handle", ["default", "self", "mpi"])
def test_dlsym_returns_functions_of_libqmpi_before_the_first_mpi_call(handle):
    for tools in (None, "empty"):
        assert lookups(f"where={handle}=MPI_Send", tools=tools) == [
            f"{handle} MPI_Send: {LIBQMPI.name}"]


@pytest.mark.parametrize("name", ["PMPI_Send", "PMPI_Wtime", "PMPI_T_init_thread"])
def test_pmpi_functions_found_by_the_handle_of_the_mpi_library_are_its_own(name):
    for steps in ((), ("init",)):
        assert lookups(*steps, f"where=mpi={name}", *(["finalize"] if steps else []),
                       tools="empty") == [f"mpi {name}: {mpi_soname()}"]


def test_the_handle_of_another_library_gives_its_own_function():
    assert lookups("where=own=MPI_Comm_rank", "call=own", tools="count") == [
        "own MPI_Comm_rank: libredirectnamesake.so", "call own: 0, 4711"]


@pytest.mark.parametrize("handle", HANDLES + ["own", "middle"])
@pytest.mark.parametrize("name", ["MPI_None", "MPI_", "MPI", "PMPI_None", "MPI_Send_", "none"])
def test_a_missing_name_gives_null_and_one_error(handle, name):
    assert lookups(f"error={handle}={name}", tools="empty") == [
        f"{handle} {name}: NULL, error, once"]


@pytest.mark.parametrize("handle", HANDLES)
@pytest.mark.parametrize("name", ["MPI_Send", "PMPI_Send", "malloc"])
def test_a_name_that_is_found_leaves_no_error(handle, name):
    assert lookups(f"error={handle}={name}") == [f"{handle} {name}: found, no error, once"]


def test_a_name_that_only_libqmpi_has_is_missing_in_the_mpi_library():
    """MPICH declares MPI_Status_c2f08 and similar functions, but does not define them."""
    plain = lookups("error=mpi=MPI_Status_c2f08", preload=())
    assert lookups("error=mpi=MPI_Status_c2f08", tools="empty") == plain


@pytest.mark.parametrize("tools", [None, "alpha,functions=Get_version", "tally:count,output=%p"])
def test_a_program_may_unload_and_reload_the_mpi_library(tools, tmp_path):
    result = reach("reload", 3, ranks=1, tools=tools, cwd=tmp_path)
    assert result.returncode == 0
    assert len(set(result.stdout.splitlines())) == 1 and len(result.stdout.splitlines()) == 3
    if tools and "alpha" in tools:
        assert result.calls == ["alpha 1 MPI_Get_version"] * 3


# ---- Other names and libraries -------------------------------------------------------------------

NAMES = ["malloc", "dlerror", "printf", "PMPI_Comm_rank", "middle_next", "stdout"]


@pytest.mark.parametrize("handle", ["next", "self", "default", "middle", "mpi", "own"])
def test_other_names_are_found_in_the_same_libraries_as_without_libqmpi(handle):
    """If libqmpi comes before the MPI library in the search order, dlsym finds libqmpi's PMPI_X, which
    leads to the MPI library. Therefore, the comparison does not distinguish these two libraries."""
    steps = [f"where={handle}={name}" for name in NAMES]
    plain = lookups(*steps, preload=())
    with_us = [line.replace(LIBQMPI.name, mpi_soname()) for line in lookups(*steps, tools="empty")]
    if ASAN:  # the preloaded library of the sanitizer has a longer name
        plain, with_us = ([re.sub(r"libasan\.so.*", "libasan.so", line) for line in lines]
                          for lines in (plain, with_us))
    assert with_us == plain


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer has a malloc of its own")
@pytest.mark.parametrize("env", [{}, {"LD_BIND_NOW": "1"}], ids=["lazy", "bound at once"])
@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_malloc_wrapper_finds_the_next_malloc(place, env):
    preload = (MALLOC, LIBQMPI) if place == "before" else (LIBQMPI, MALLOC)
    result = reach("exchange_c", "/nowhere", tools="count:tally:count", ranks=1, preload=preload,
                   env={"REDIRECT_TALLY": "/nowhere", **env})
    assert [line for line in result.trace if line.startswith("malloc")] == [
        "malloc called, next in libc.so.6"]


def test_a_failed_lookup_of_a_program_without_mpi_gives_the_usual_error():
    lines = [line for preload in ((), (LIBQMPI,))
             for line in [reach("plugin_host", NAMESAKE, "local", "x", ranks=1, preload=preload)]]
    for result in lines:
        assert result.returncode == 95
        assert "undefined symbol: exchange" in result.stderr
    assert lines[0].stderr == lines[1].stderr
