# SPDX-License-Identifier: MIT
"""Attributes in Fortran. Layers see the calls of the program as C calls with the types of C, and the
program gets the values of Fortran, unless a layer replaces them."""
from functools import cache

import pytest

from redirect_support import counted, in_each_rank, reach
from support import OPEN_MPI

pytestmark = pytest.mark.skipif(
    OPEN_MPI, reason="Open MPI's Fortran attributes make no calls in C: see docs/run/mpi-libraries.md")

BINDINGS = ["mpif_h", "mpi", "f08"]
every_binding = pytest.mark.parametrize("binding", BINDINGS)

# The calls of attributes.F90 and attributes.c, including those in their delete functions.
CALLS = {
    "MPI_Init": 1, "MPI_Finalize": 1, "MPI_Comm_dup": 1, "MPI_Comm_free": 1,
    "MPI_Comm_set_errhandler": 1, "MPI_Win_create": 1, "MPI_Win_free": 1,
    "MPI_Comm_create_keyval": 3, "MPI_Comm_get_attr": 20, "MPI_Comm_set_attr": 8,
    "MPI_Comm_delete_attr": 1,
    "MPI_Type_create_keyval": 1, "MPI_Type_get_attr": 1, "MPI_Type_set_attr": 1,
    "MPI_Type_delete_attr": 1,
    "MPI_Win_create_keyval": 1, "MPI_Win_get_attr": 6, "MPI_Win_set_attr": 1,
}
# The calls with mpif.h and the module mpi that CALLS does not contain, or not as often.
INTEGERS = {"MPI_Keyval_create": 1, "MPI_Attr_get": 4, "MPI_Attr_put": 1, "MPI_Attr_delete": 1,
            "MPI_Comm_get_attr": 22, "MPI_Comm_set_attr": 9}

# What attributes.F90 prints, without the lines about most predefined attributes, which depend on the MPI library.
VALUES = """\
nothing yet none
set 1099511627781
at the address that C gets 1099511627781
copied T 1099511627781
not copied F
deleted 1099511627781, extra 99, other F 0
deleted 6, extra 99, other F 0
deleted 1099511627781, extra 99, other T -1099511627781
set in C 4096
shared 4712
set while that was set 4712
deleted 4096, extra 99, other T -1099511627781
deleted none
no keyval is an error T
so is setting MPI_TAG_UB T
type T -8589934595
base TT
size T 24
unit T 4
flavor TT
model TT
window T 34359738376
""".splitlines()
VALUES_OF_INTEGERS = """\
integer yet F
integer T -17
integer in C -17
long T -17
integer of a long T 18
""".splitlines()

PMPI_TOOL, NATIVE = "libattributes.so", "native_attributes.so"
STACKS = {"native": NATIVE, "PMPI": PMPI_TOOL, "native over PMPI": f"{NATIVE}:{PMPI_TOOL}",
          "PMPI over native": f"{PMPI_TOOL}:{NATIVE}", "two PMPI": f"{PMPI_TOOL}:{PMPI_TOOL}"}
every_stack = pytest.mark.parametrize("tools", STACKS.values(), ids=STACKS)


def expected(binding):
    return CALLS if binding == "f08" else {**CALLS, **INTEGERS}


def run(binding, tools=None, mode=None, **more):
    result = reach(f"attributes_{binding}", ranks=1, tools=tools, env={"REDIRECT_ATTRIBUTES": mode},
                   **more)
    assert result.returncode == 0
    assert result.messages == []
    return result


def lines(binding, *arguments, **more):
    return run(binding, *arguments, **more).stdout.splitlines()


@cache
def plain(binding):
    return lines(binding, preload=())


# ---- The calls -----------------------------------------------------------------------------------


@every_binding
def test_each_call_is_counted_once_above_and_below_a_pmpi_tool(binding, tmp_path):
    run(binding, f"count,output=%t.json:{PMPI_TOOL}:count,output=%t.json", cwd=tmp_path)
    for name in ("1.json", "3.json"):
        (path,) = tmp_path.glob(f"{name}*")
        assert counted(path) == in_each_rank(expected(binding), ranks=1)


@every_binding
def test_each_call_is_counted_once_in_each_of_two_ranks(binding, tmp_path):
    result = reach(f"attributes_{binding}", tools="count,output=calls.json", cwd=tmp_path)
    assert result.returncode == 0
    assert counted(tmp_path / "calls.json") == in_each_rank(expected(binding))


@every_binding
@pytest.mark.parametrize("tools, layers", [("site", [1]), (f"site:{PMPI_TOOL}:site", [1, 3])],
                         ids=["1 layer", "above and below a PMPI layer"])
def test_the_caller_is_the_fortran_program(binding, tools, layers):
    notes = [line for line in run(binding, tools).trace if line.startswith("site ")]
    for layer in layers:
        mine = [note for note in notes
                if note.startswith(f"site {layer} ") and "_attr from" in note]
        assert len(mine) == sum(number for name, number in expected(binding).items()
                                if name.endswith("_attr"))
        # The delete functions, which make some of the calls, also belong to the program.
        assert {note.split(" from ")[1].split()[0] for note in mine} == {f"attributes_{binding}"}


# ---- The values ----------------------------------------------------------------------------------


def test_without_libqmpi_the_program_prints_the_expected_values():
    for binding in BINDINGS:
        assert [line for line in plain(binding) if not line.startswith(("MPI_", "integer MPI_"))] \
            == VALUES + ([] if binding == "f08" else VALUES_OF_INTEGERS)


@every_binding
def test_without_layers_and_under_an_empty_one_the_program_gets_its_values(binding):
    assert lines(binding) == plain(binding)
    assert lines(binding, "empty") == plain(binding)


@every_binding
@every_stack
@pytest.mark.parametrize("mode", [None, "ask", "buffer", "replace"])
def test_layers_that_ask_buffer_or_replace_do_not_change_the_programs_values(binding, tools, mode):
    result = run(binding, tools, mode)
    assert result.stdout.splitlines() == plain(binding)
    assert not [line for line in result.trace if "wrong" in line]


@pytest.mark.parametrize("binding", ["mpif_h", "mpi"])
@pytest.mark.parametrize("tools", [PMPI_TOOL, f"{NATIVE}:{PMPI_TOOL}:{NATIVE}"])
def test_a_layer_may_pass_calls_of_mpi_1_on_as_those_of_mpi_2(binding, tools):
    assert lines(binding, tools, "translate") == plain(binding)


@every_binding
@every_stack
def test_layers_see_the_values_of_c(binding, tools):
    """For predefined attributes, a note contains the keyval and the value that C reads at the address
    it gets. For attributes that are set, a note contains the value that is passed in C."""
    limit = next(line.split()[1] for line in plain(binding) if line.startswith("MPI_TAG_UB"))
    notes = run(binding, tools).trace
    layers = [kind for path in tools.split(":")
              for kind in ["native" if "native" in path else "PMPI"]]
    for kind in set(layers):
        for note in (f"Comm_get_attr MPI_TAG_UB {limit}", "Comm_get_attr MPI_HOST -1",
                     "Win_get_attr MPI_WIN_SIZE 24", "Win_get_attr MPI_WIN_DISP_UNIT 4",
                     "Comm_set_attr 1099511627781", "Type_set_attr -8589934595",
                     "Win_set_attr 34359738376"):
            assert notes.count(f"{kind} {note}") == layers.count(kind)
        if binding != "f08":
            assert notes.count(f"{kind} Attr_get MPI_TAG_UB {limit}") == layers.count(kind)
            assert notes.count(f"{kind} Attr_put -17") == layers.count(kind)


@every_binding
@every_stack
def test_a_layer_may_answer_with_a_value_of_its_own(binding, tools):
    limit = next(line.split()[1] for line in plain(binding) if line.startswith("MPI_TAG_UB"))
    changed = [line.replace(limit, "4095") if "MPI_TAG_UB " in line and limit in line else line
               for line in plain(binding)]
    assert lines(binding, tools, "lower") == changed


@every_binding
@every_stack
def test_a_layer_may_hide_an_attribute(binding, tools):
    told = [line for line in lines(binding, tools, "hide") if line not in plain(binding)]
    assert told[0] == "MPI_TAG_UB none"
    assert [line.split()[:3] for line in told[1:]] == (
        [] if binding == "f08" else [["integer", "MPI_TAG_UB", "F"]])
