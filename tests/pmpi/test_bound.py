# SPDX-License-Identifier: MIT
"""The ways in which PMPI tools find the next functions, with one tool alone and in stacks."""
import pytest

from mpi_in_use import PROCESSOR
from pmpi_support import RUN, check_stack, pmpi_tool, readelf, run_stack, succeed
from support import LIBQMPI, MPI_SONAME

# The types of relocations, as readelf prints them.
CALL, TABLE, DATA = {"x86_64": ("R_X86_64_JUMP_SLOT", "R_X86_64_GLOB_DAT", "R_X86_64_64"),
                     "aarch64": ("R_AARCH64_JUMP_SLOT", "R_AARCH64_GLOB_DAT", "R_AARCH64_ABS64")}[PROCESSOR]

# Tool -> (the type of its relocation for PMPI_Comm_rank, whether all its references are bound when it is loaded).
RELOCATIONS = {
    "lazy": (CALL, False), "now": (CALL, True), "writable": (CALL, False),
    "noplt": (TABLE, True), "noplt_lazy": (TABLE, False),
    "address": (TABLE, False), "address_now": (TABLE, True),
    "table": (DATA, False), "constant": (DATA, False), "constant_now": (DATA, True),
    "sysv": (CALL, False), "symbolic": (CALL, False), "unlinked": (CALL, False),
    "pages_4k": (CALL, False), "pages_64k": (CALL, False),
}
# The tools that look up functions by dlsym; those named early_… do so in a constructor.
BY_NAME = ["next_pmpi", "next_mpi", "default_pmpi", "library_pmpi", "library_mpi", "own_pmpi",
           "early_next_pmpi", "early_next_mpi", "early_default_pmpi", "early_library_pmpi",
           "early_library_mpi", "early_own_pmpi", "defines_pmpi", "early_defines_pmpi"]
# The tools that were built with other linkers or linker options, if the build has found these.
LINKERS = [name for name in ("gold", "gold_now", "lld", "lld_now", "packed")
           if pmpi_tool(name).exists()]
BINDINGS = [*RELOCATIONS, *BY_NAME, *LINKERS]

every_binding = pytest.mark.parametrize("name", BINDINGS)


@pytest.mark.parametrize("name", RELOCATIONS)
def test_each_tool_has_the_relocation_and_binding_of_its_name(name):
    kind, now = RELOCATIONS[name]
    relocations = [line.split()[2] for line in readelf("-r", pmpi_tool(name)).splitlines()
                  if "PMPI_Comm_rank" in line]
    # For an address in data, the linker for aarch64 also creates a jump slot, which nothing uses.
    assert relocations == ([DATA, CALL] if PROCESSOR == "aarch64" and kind == DATA else [kind])
    assert ("BIND_NOW" in readelf("-d", pmpi_tool(name))) == now
    assert ("GNU_RELRO" in readelf("-l", pmpi_tool(name))) == (name != "writable")


@pytest.mark.parametrize("name, size", [("pages_4k", 0x1000), ("pages_64k", 0x10000)])
def test_the_tool_is_linked_for_pages_of_the_size_in_its_name(name, size):
    lines = [line.split() for line in readelf("-lW", pmpi_tool(name)).splitlines()]
    assert {int(words[-1], 16) for words in lines if words[:1] == ["LOAD"]} == {size}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_tool_that_looks_up_names_refers_to_no_pmpi_function(name):
    assert "PMPI_" not in readelf("-r", pmpi_tool(name))


@every_binding
def test_a_tool_works_alone(name):
    result = run_stack(name)
    assert f"exit {name} counted {len(RUN)} helper 0" in result.trace


@every_binding
def test_a_tool_works_below_a_native_layer(name):
    run_stack("alpha", name)


@every_binding
def test_a_tool_works_above_a_native_layer(name):
    run_stack(name, "alpha")


@every_binding
def test_a_tool_works_among_pmpi_and_native_layers(name):
    run_stack("noplt", name, "alpha", "lazy")


@every_binding
def test_a_tool_works_between_pmpi_layers(name):
    run_stack("lazy" if name != "lazy" else "now", name, "table" if name != "table" else "now")


@every_binding
def test_two_layers_of_a_tool_have_separate_counts(name):
    other = "now" if name != "now" else "lazy"
    result = run_stack(name, other, name)
    assert result.trace.count(f"load {name}") == 2
    assert result.trace.count(f"exit {name} counted {len(RUN)} helper 0") == 2


@every_binding
def test_several_layers_of_a_tool_work_among_native_layers(name):
    run_stack(name, "alpha", name, "beta", name)


@every_binding
def test_a_tool_works_if_everything_is_bound_at_once(name):
    run_stack(name, "alpha", name, env={"LD_BIND_NOW": "1"})


@every_binding
def test_a_tool_works_on_each_of_two_ranks(name):
    result = succeed("calls", *RUN, tools=f"{name}:alpha:{name}", ranks=2)
    assert result.calls.count("alpha 2 MPI_Comm_rank") == 2
    assert result.calls.count(f"{name} MPI_Comm_rank 2") == 4


# ---- Memory --------------------------------------------------------------------------------------


def pages(result, name):
    start = f"exit {name} pages: "
    return [line[len(start):] for line in result.trace if line.startswith(start)]


@every_binding
def test_pages_keep_the_protection_of_the_loader(name):
    """The protection is the same as without libqmpi in both layers of the tool: above a native layer, to which
    generated code leads, and below it. One of the two layers is a copy of the tool."""
    plain = pages(succeed("calls", *RUN, preload=[pmpi_tool(name)]), name)
    assert len(plain) == 1 and plain[0].endswith("writable code no")
    result = succeed("calls", *RUN, tools=f"{name}:alpha:{name}")
    assert pages(result, name) == plain * 2


def test_the_protection_of_pages_depends_on_the_linker_options():
    # On aarch64, the table at _GLOBAL_OFFSET_TABLE_ contains no slots of functions, so it is read-only even in `lazy`.
    lazy = "r--p" if PROCESSOR == "aarch64" else "rw-p"
    for name, expected in (("now", "constant r--p, table r--p, data rw-p"),
                           ("lazy", f"constant r--p, table {lazy}, data rw-p"),
                           ("writable", "constant rw-p, table rw-p, data rw-p")):
        result = succeed("calls", *RUN, tools=name)
        assert pages(result, name) == [expected + ", writable code no"]


def test_memory_that_a_tool_has_made_writable_stays_writable():
    """The tool may write to its global offset table later without checking the protection."""
    for preload in ([LIBQMPI], [LIBQMPI, pmpi_tool("opened")]):
        for tools in ("opened:alpha:opened", "alpha:opened"):
            result = succeed("calls", *RUN, tools=tools, preload=preload)
            assert len(pages(result, "opened")) == tools.count("opened")
            assert all("table rw-p" in line for line in pages(result, "opened"))


# ---- No code of libqmpi between PMPI layers ------------------------------------------------------


def target_address(result, name):
    start = f"exit {name} leads to "
    return [line[len(start):] for line in result.trace if line.startswith(start)]


# Tools that print which library contains the function that their wrapper of MPI_Comm_rank calls next.
TELLING = ["table", "constant", "constant_now", *BY_NAME]


@pytest.mark.parametrize("name", TELLING)
def test_the_last_pmpi_layer_leads_straight_to_the_mpi_library(name):
    assert target_address(succeed("calls", *RUN, tools=f"alpha:{name}"), name) == [MPI_SONAME]


@pytest.mark.parametrize("name", TELLING)
def test_a_pmpi_layer_leads_straight_to_the_pmpi_layer_below(name):
    assert target_address(succeed("calls", *RUN, tools=f"alpha:{name}:now"), name) == ["libnow.so"]


@pytest.mark.parametrize("name", TELLING)
def test_a_layer_that_does_not_wrap_a_function_is_skipped(name):
    """`tally` wraps MPI_Comm_rank, but neither MPI_Comm_size nor MPI_Barrier, which reach the layer below it."""
    result = succeed("calls", *RUN, tools=f"{name}:tally:now")
    assert target_address(result, name) == ["libtally.so"]
    notes = [line for line in result.calls if line.startswith((name, "now "))]
    assert notes == [note for n, function in enumerate(
        ("Init", "Comm_rank", "Comm_size", "Barrier", "Wtime", "Finalize"), 1)
        for note in (f"{name} MPI_{function} {n}", f"now MPI_{function} {n}")]


# ---- Preloaded and listed ------------------------------------------------------------------------


@every_binding
@pytest.mark.parametrize("place", ["behind", "in front"])
def test_a_preloaded_tool_may_be_listed_above_other_layers(name, place):
    preload = [LIBQMPI, pmpi_tool(name)] if place == "behind" else [pmpi_tool(name), LIBQMPI]
    stack = (name, "alpha", "lazy" if name != "lazy" else "now")
    result = succeed("calls", *RUN, tools=":".join(stack), preload=preload)
    check_stack(stack, result)
    assert result.trace.count(f"load {name}") == 1


@every_binding
def test_a_preloaded_tool_may_be_listed_between_other_layers(name):
    result = succeed("calls", *RUN, tools=f"alpha:{name}:beta", preload=[LIBQMPI, pmpi_tool(name)])
    check_stack(("alpha", name, "beta"), result)
    assert result.trace.count(f"load {name}") == 1


@every_binding
def test_a_preloaded_tool_may_be_listed_twice(name):
    result = succeed("calls", *RUN, tools=f"{name}:alpha:{name}", preload=[LIBQMPI, pmpi_tool(name)])
    check_stack((name, "alpha", name), result)
    assert result.trace.count(f"load {name}") == 2
