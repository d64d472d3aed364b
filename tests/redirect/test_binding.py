# SPDX-License-Identifier: MIT
"""Fortran programs: callers, calls that the Fortran binding makes for its own purposes, and tools with
Fortran wrappers."""
import pytest

from redirect_support import REDIRECT_TOOLS, counted, needs, qmpi, reach, redirect_program
from support import ABI, FORTRAN_LIBRARIES, LIBQMPI

BINDINGS = ["mpif_h", "mpi", "f08"]
every_binding = pytest.mark.parametrize("binding", BINDINGS)
STACKS = {"1 layer": ("site", [1]), "3 layers": ("site:site:site", [1, 2, 3]),
          "above and below a PMPI layer": ("site:tally:site", [1, 3])}
every_stack = pytest.mark.parametrize("tools, layers", STACKS.values(), ids=STACKS)

SITES = {"Barrier": "site_of_barrier_", "Send": "site_of_send_", "Comm_set_name": "site_of_name_",
         "Cart_create": "site_of_grid_", "Cart_sub": "site_of_grid_",
         "Alltoallw": "site_of_alltoallw_", "Wtime": "site_of_time_",
         "Init": "site_of_init_", "Finalize": "site_of_finalize_"}


# ---- The caller ----------------------------------------------------------------------------------


def sites(binding, tools, tmp_path, **more):
    result = reach(f"sites_{binding}", tools=tools, ranks=1,
                   env={"REDIRECT_TALLY": tmp_path / "tally"}, **more)
    assert result.returncode == 0
    assert result.messages == []
    return [line for line in result.trace if line.startswith("site ")]


@every_binding
@every_stack
def test_the_caller_is_the_fortran_procedure(binding, tools, layers, tmp_path):
    notes = sites(binding, tools, tmp_path)
    for function, procedure in SITES.items():
        assert [note for note in notes if f" {function} from" in note] == [
            f"site {tool_id} {function} from sites_{binding} {procedure}" for tool_id in layers]
    assert len(notes) == len(SITES) * len(layers)


@every_binding
def test_the_caller_is_the_fortran_procedure_when_all_is_bound_at_once(binding, tmp_path):
    notes = [f"site 1 {function} from sites_{binding} {procedure}"
             for function, procedure in SITES.items()]
    result = reach(f"sites_{binding}", tools="site", ranks=1, env={"LD_BIND_NOW": "1"})
    assert sorted(line for line in result.trace if line.startswith("site ")) == sorted(notes)


# ---- Calls that the binding makes for itself -----------------------------------------------------


def test_each_section_that_is_not_contiguous_is_one_send(tmp_path):
    """With mpi_f08, the binding creates a datatype for the section. The MPI calls by which it does this
    do not count as calls of the program."""
    result = reach("section", tools="count,output=calls.json", cwd=tmp_path)
    assert result.stdout == "got 1 5 9 1 2 5 6\n"
    assert counted(tmp_path / "calls.json") == {
        "MPI_Init": (2, 1, 1), "MPI_Comm_rank": (2, 1, 1), "MPI_Send": (2, 0, 2),
        "MPI_Recv": (2, 0, 2), "MPI_Finalize": (2, 1, 1)}


# ---- Bindings that are unloaded and loaded again -------------------------------------------------


@pytest.mark.skipif(ABI, reason="the standard ABI has no Fortran bindings")
@pytest.mark.parametrize("tools", [None, "site", "site:tally:site"])
def test_a_program_may_unload_and_reload_the_binding(tools):
    """If a layer asks for the caller, libqmpi examines the binding. It must not use what it knows about a
    binding that the program has unloaded."""
    binding = FORTRAN_LIBRARIES["mpif_h"]
    result = reach("reload", 3, ranks=1, tools=tools,
                   env={"REDIRECT_BINDING": binding, "REDIRECT_TALLY": "/nowhere"})
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 3
    assert len(result.trace) == 3 * (tools or "").count("site")


# ---- Tools with Fortran wrappers -----------------------------------------------------------------

WRAPPERS = REDIRECT_TOOLS / "libwrappers.so"
PLACES = {"not preloaded": (LIBQMPI,), "preloaded behind": (LIBQMPI, WRAPPERS)}
every_place = pytest.mark.parametrize("preload", PLACES.values(), ids=PLACES)


def barriers(binding, tools, preload, tmp_path):
    result = reach(f"sites_{binding}", tools=tools, ranks=1, preload=preload, cwd=tmp_path)
    assert result.returncode == 0
    assert result.messages == []
    return [line for line in result.trace if "arrier" in line]


@every_binding
@every_place
def test_a_tool_with_fortran_wrappers_keeps_its_place_below_other_layers(binding, preload, tmp_path):
    notes = barriers(binding, "count,output=calls.json:libwrappers.so", preload, tmp_path)
    calls = counted(tmp_path / "calls.json")
    assert calls["MPI_Barrier"] == (1, 1, 1)
    assert {f"MPI_{name}" for name in SITES} <= set(calls)
    assert len(notes) == 1, "not seen exactly once by the wrappers of the tool"


@every_binding
@every_place
def test_a_native_layer_above_fortran_wrappers_knows_the_caller(binding, preload, tmp_path):
    notes = barriers(binding, "site:libwrappers.so", preload, tmp_path)
    assert notes[0] == f"site 1 Barrier from sites_{binding} site_of_barrier_"
    assert len(notes) == 2


@every_binding
@every_place
def test_fortran_wrappers_on_top_are_called_except_with_mpi_f08(binding, preload, tmp_path):
    """The procedures of mpi_f08 have other names, which this tool does not wrap, so its C wrappers are
    called."""
    notes = barriers(binding, "libwrappers.so:count,output=calls.json", preload, tmp_path)
    assert notes == [f"wrappers MPI_Barrier from {FORTRAN_LIBRARIES['mpif_h']}" if binding == "f08"
                     else f"wrappers mpi_barrier_ from sites_{binding}"]
    assert counted(tmp_path / "calls.json")["MPI_Barrier"] == (1, 1, 1)


@every_binding
@every_place
def test_a_tool_with_fortran_wrappers_between_layers_sees_and_passes_on_each_call_once(binding, preload, tmp_path):
    notes = barriers(binding, "count,output=%t.json:libwrappers.so:count,output=%t.json", preload,
                     tmp_path)
    assert len(notes) == 1
    for name in ("1.json", "3.json"):
        assert counted(tmp_path / name)["MPI_Barrier"] == (1, 1, 1)
        assert {f"MPI_{name}" for name in SITES} <= set(counted(tmp_path / name))


@every_binding
def test_fortran_wrappers_on_top_are_called_if_a_preloaded_tools_constructor_has_built_the_stack(binding, tmp_path):
    """The constructor of the preloaded tool runs before that of libqmpi, as with Extrae."""
    early = REDIRECT_TOOLS / "libearly.so"
    notes = barriers(binding, "libwrappers.so:libearly.so", (LIBQMPI, early), tmp_path)
    assert notes == barriers(binding, "libwrappers.so", (LIBQMPI,), tmp_path)


@every_binding
@pytest.mark.parametrize("preload", [False, True])
def test_a_call_that_a_fortran_wrapper_would_pass_to_the_binding_is_seen_once(binding, preload, tmp_path):
    """The C wrapper of the tool is called. With @fortran=yes and a binding other than mpi_f08, its Fortran
    wrapper is called first, as with MPICH without qmpi."""
    tool = REDIRECT_TOOLS / "libpassing_wrappers.so"
    libraries = (LIBQMPI, tool) if preload else (LIBQMPI,)
    in_c = f"wrappers MPI_Barrier from {FORTRAN_LIBRARIES['mpif_h']}"
    notes = barriers(binding, "libpassing_wrappers.so:count,output=calls.json", libraries, tmp_path)
    assert notes == [in_c]
    assert counted(tmp_path / "calls.json")["MPI_Barrier"] == (1, 1, 1)
    notes = barriers(binding, "libpassing_wrappers.so,@fortran=yes:count,output=calls.json", libraries, tmp_path)
    assert notes == ([] if binding == "f08" else [f"wrappers mpi_barrier_ from sites_{binding}"]) + [in_c]
    assert counted(tmp_path / "calls.json")["MPI_Barrier"] == (1, 1, 1)


@every_binding
@every_place
def test_fortran_wrappers_are_not_used_with_the_option_fortran_no(binding, preload, tmp_path):
    notes = barriers(binding, "libwrappers.so,@fortran=no:count,output=calls.json", preload, tmp_path)
    assert notes == [f"wrappers MPI_Barrier from {FORTRAN_LIBRARIES['mpif_h']}"]
    assert counted(tmp_path / "calls.json")["MPI_Barrier"] == (1, 1, 1)


# ---- Tools that wrap Fortran procedures alone ----------------------------------------------------

ALONE = "libfortran_wrappers_alone.so"


@every_binding
def test_a_tool_that_wraps_fortran_alone_sees_calls_on_top(binding, tmp_path):
    notes = barriers(binding, f"{ALONE}:count,output=calls.json", (LIBQMPI,), tmp_path)
    assert notes == ([] if binding == "f08" else [f"wrappers mpi_barrier_ from sites_{binding}"])
    assert counted(tmp_path / "calls.json")["MPI_Barrier"] == (1, 1, 1)


def test_a_tool_that_wraps_fortran_alone_sees_no_calls_elsewhere(tmp_path):
    result = reach("sites_mpi", tools=f"count,output=calls.json:{ALONE}", ranks=1, cwd=tmp_path)
    assert result.returncode == 0 and not [line for line in result.trace if "barrier" in line]
    assert result.messages[0].startswith("layer 2 (fortran_wrappers_alone) wraps procedures of MPI in Fortran alone: "
                                         "it sees no calls")
    assert result.messages[1:] == ["  hint: list this tool first"]
    assert counted(tmp_path / "calls.json")["MPI_Barrier"] == (1, 1, 1)


@pytest.mark.parametrize("option, preload, words", [
    (",@fortran=no", (), "sees no calls with @fortran=no"),
    ("", (REDIRECT_TOOLS / ALONE,), "the program calls that library directly")])
def test_a_tool_that_wraps_fortran_alone_is_refused_if_it_would_see_no_calls(option, preload, words):
    result = reach("sites_mpi", tools=f"{ALONE}{option}", ranks=1, preload=(LIBQMPI, *preload))
    assert result.returncode == 2
    assert words in result.messages[0] and result.messages[1].startswith("  hint: ")


def test_check_says_which_fortran_wrappers_are_used():
    binding = {option: qmpi("check", "-t", option).stdout for option in (
        "libwrappers.so", "libwrappers.so,@fortran=no", "libpassing_wrappers.so")}
    assert "; Fortran wrappers: used if the layer is on top\n" in binding["libwrappers.so"]
    assert "; Fortran wrappers: not used (@fortran=no)\n" in binding["libwrappers.so,@fortran=no"]
    assert "; Fortran wrappers: not used for 1 function, because" in binding["libpassing_wrappers.so"]
