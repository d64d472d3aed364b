# SPDX-License-Identifier: MIT
"""Fortran constants that are identified by their addresses, under a tool with Fortran wrappers. The
tool learns the addresses when its Fortran wrapper of MPI_Init or MPI_Init_thread is called."""
import pytest

from redirect_support import REDIRECT_PROGRAMS, REDIRECT_TOOLS, counted, reach, redirect_program
from support import LIBQMPI, OPEN_MPI, can_spawn

TOOL = REDIRECT_TOOLS / "libconstants.so"
OTHER = REDIRECT_PROGRAMS / "libredirectreplaced.so"
if not TOOL.exists():
    pytest.skip("no Fortran compiler", allow_module_level=True)

PLACES = {"not preloaded": (LIBQMPI,), "preloaded behind": (LIBQMPI, TOOL),
          "preloaded in front": (TOOL, LIBQMPI)}
every_place = pytest.mark.parametrize("preload", PLACES.values(), ids=PLACES)
behind_libqmpi = pytest.mark.parametrize("preload", list(PLACES.values())[:2],
                                            ids=list(PLACES)[:2])
every_binding = pytest.mark.parametrize("binding", ["mpif_h", "mpi", "f08"])
every_old_binding = pytest.mark.parametrize("binding", ["mpif_h", "mpi"])
every_beginning = pytest.mark.parametrize("beginning", ["init", "thread", "initialized init",
                                                        "initialized thread"])

RESULTS = ["in place 3.0", "received 42 43"]
NUMBERS = [("Allreduce", "IN_PLACE"), ("Recv", "STATUS_IGNORE"), ("Send", "BOTTOM"),
           ("Waitall", "STATUSES_IGNORE"),
           ("Dist_graph_create_adjacent", "UNWEIGHTED UNWEIGHTED"),
           ("Dist_graph_create_adjacent", "WEIGHTS_EMPTY WEIGHTS_EMPTY")]
STEPS = {"init": [("Init",)], "thread": [("Init_thread",)], "initialized": [("Initialized",)],
         "init_in_c": [("Init",)], "numbers": NUMBERS,
         "spawn": [("Comm_spawn", "ARGV_NULL"), ("Comm_spawn", "ERRCODES_IGNORE"),
                   ("Comm_spawn_multiple", "ARGVS_NULL"),
                   ("Comm_spawn_multiple", "ERRCODES_IGNORE")]}


def in_fortran(steps):
    """Returns the notes that the Fortran wrappers of the tool print for these steps."""
    return [" ".join(("constants", f"mpi_{name.lower()}_", *constants))
            for step in steps.split() for name, *constants in STEPS[step]]


def in_c(steps):
    """Returns the notes that the C wrappers of the tool print for these steps. Open MPI's binding passes
    statuses of its own to MPI_Waitall."""
    return [" ".join(("constants", f"MPI_{name}", *constants)).replace(
                "STATUSES_IGNORE", "none" if OPEN_MPI else "STATUSES_IGNORE")
            for step in steps.split() for name, *constants in STEPS[step]]


def run(binding, steps, tools, preload, tmp_path):
    """Runs the program, checks its results, and returns the notes of the tools."""
    result = reach(f"constants_{binding}", *steps.split(), "finalize", ranks=1, tools=tools,
                   preload=preload, cwd=tmp_path)
    assert result.returncode == 0
    assert result.messages == []
    printed = result.stdout.splitlines()
    assert [line for line in printed if not line.startswith("initialized")] == (
        RESULTS * steps.split().count("numbers"))
    return result.calls


# ---- Places of the tool --------------------------------------------------------------------------


@every_old_binding
def test_the_tool_works_without_libqmpi(binding, tmp_path):
    notes = run(binding, "initialized init numbers", None, (TOOL,), tmp_path)
    assert notes == in_fortran("initialized init numbers")


@every_place
@every_beginning
@every_old_binding
def test_fortran_wrappers_of_the_topmost_layer_are_called_beginning_with_the_initialization(binding, beginning, preload,
                                                                                            tmp_path):
    """Before initialization, the C wrappers of the tool are called."""
    notes = run(binding, f"{beginning} numbers", "libconstants.so:count,output=calls.json", preload,
                tmp_path)
    *before, init = beginning.split()
    assert notes == in_c(" ".join(before)) + in_fortran(f"{init} numbers")
    calls = counted(tmp_path / "calls.json")
    for step in beginning.split():
        assert calls[f"MPI_{STEPS[step][0][0]}"] == (1, 1, 1)


@every_place
@pytest.mark.parametrize("beginning", ["init", "initialized thread"])
def test_calls_of_mpi_f08_reach_the_c_wrappers(beginning, preload, tmp_path):
    notes = run("f08", f"{beginning} numbers", "libconstants.so", preload, tmp_path)
    assert notes == in_c(f"{beginning} numbers")


@behind_libqmpi
@every_binding
@pytest.mark.parametrize("tools", ["count,output=%t.json:libconstants.so",
                                   "count,output=%t.json:libconstants.so:count,output=%t.json",
                                   "libwrappers.so:count,output=%t.json:libconstants.so"])
def test_below_other_layers_only_the_c_wrappers_are_called(tools, binding, preload, tmp_path):
    notes = run(binding, "initialized init numbers", tools, preload, tmp_path)
    assert notes == in_c("initialized init numbers")
    for path in tmp_path.glob("*.json"):
        calls = counted(path)
        for name in ("Init", "Initialized", "Allreduce", "Waitall", "Finalize"):
            assert calls[f"MPI_{name}"] == (1, 1, 1)


@behind_libqmpi
@every_old_binding
def test_of_two_layers_of_the_tool_the_lower_one_is_called_in_c(binding, preload, tmp_path):
    """Each layer has its own copy of the tool's data, and both must recognize the constants."""
    notes = run(binding, "init numbers", "libconstants.so:libconstants.so", preload, tmp_path)
    assert [note for note in notes if " mpi_" in note] == in_fortran("init numbers")
    lower = [note for note in notes if " MPI_" in note]
    assert [note.split()[1] for note in lower] == [
        note.split()[1] for note in in_c("init numbers")]
    assert "none" not in " ".join(lower)


@pytest.mark.parametrize("preload, tools, names", [
    (PLACES["preloaded behind"], None, in_fortran), (PLACES["preloaded in front"], None, in_fortran),
    (PLACES["preloaded in front"], "count,output=/dev/null", in_fortran),
    (PLACES["preloaded behind"], "count,output=/dev/null", in_c)])
def test_a_tool_that_is_not_listed_gets_its_place_from_the_order_of_preloading(preload, tools, names, tmp_path):
    assert run("mpif_h", "init numbers", tools, preload, tmp_path) == names("init numbers")


# ---- The tool's Fortran wrapper for initialization is not called ---------------------------------


@every_place
@every_old_binding
def test_if_c_initializes_mpi_the_c_wrappers_are_called(binding, preload, tmp_path):
    notes = run(binding, "init_in_c numbers", "libconstants.so", preload, tmp_path)
    assert notes == in_c("init_in_c numbers")


@every_old_binding
def test_without_a_fortran_wrapper_of_the_initialization_the_c_wrappers_are_called(binding, tmp_path):
    tool = "libconstants_of_init.so"
    assert run(binding, "thread numbers", tool, (LIBQMPI,), tmp_path) == in_c("thread numbers")
    assert run(binding, "init numbers", tool, (LIBQMPI,), tmp_path) == in_fortran("init numbers")


# ---- Layers that are switched off and on ---------------------------------------------------------


@behind_libqmpi
@pytest.mark.parametrize("tools, steps, expected", [
    # The tool is switched off after its Fortran wrapper of MPI_Init was called. When the tool is switched
    # on again, its Fortran wrappers are called as before.
    ("libconstants.so:count,output=/dev/null", "init numbers off numbers on numbers",
     in_fortran("init numbers numbers")),
    # MPI is initialized while the tool is off, so the tool's Fortran wrappers are never called.
    ("libconstants.so:count,output=/dev/null", "initialized off init numbers on numbers",
     in_c("initialized numbers")),
    # Here, the tool becomes the topmost layer before MPI is initialized, so its Fortran wrapper of MPI_Init is
    # called. In the last two cases, it becomes the topmost layer only after the initialization.
    ("empty:libconstants.so", "initialized off init numbers on numbers",
     in_c("initialized") + in_fortran("init numbers") + in_c("numbers")),
    ("empty:libconstants.so", "init numbers off numbers on numbers",
     in_c("init numbers numbers numbers")),
    ("libwrappers.so:libconstants.so", "init numbers off numbers on numbers",
     in_c("init numbers numbers numbers")),
])
@every_old_binding
def test_after_a_switch_fortran_wrappers_are_called_only_if_that_of_mpi_init_was_called(
        binding, tools, steps, expected, preload, tmp_path):
    assert run(binding, steps, tools, preload, tmp_path) == expected


# ---- Fortran wrappers of another library ---------------------------------------------------------


@pytest.mark.parametrize("tools, preload", [
    ("libconstants.so", (LIBQMPI, OTHER)), ("libconstants.so", (OTHER, LIBQMPI, TOOL)),
    ("count,output=/dev/null:libconstants.so", (OTHER, LIBQMPI, TOOL))])
@every_old_binding
def test_another_library_that_replaces_a_fortran_procedure_still_gets_its_calls(binding, tools, preload,
                                                                        tmp_path):
    notes = run(binding, "init numbers", tools, preload, tmp_path)
    assert [note for note in notes if "replaced" in note] == ["replaced mpi_allreduce_"]
    assert [note for note in notes if "llreduce" in note][1:] == ["constants MPI_Allreduce IN_PLACE"]


# ---- Spawning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tools, binding, names", [
    ("libconstants.so", "mpif_h", in_fortran), ("libconstants.so", "mpi", in_fortran),
    ("libconstants.so", "f08", in_c), ("count,output=/dev/null:libconstants.so", "mpif_h", in_c)])
def test_constants_in_spawn_calls_are_recognized(tools, binding, names):
    """The two ranks together spawn one process, twice."""
    if not can_spawn(redirect_program(f"constants_{binding}"), "init", "spawn", "finalize"):
        pytest.skip("this MPI library cannot spawn")
    result = reach(f"constants_{binding}", "init", "spawn", "finalize", tools=tools, spawns=True)
    assert result.returncode == 0
    assert result.stdout.splitlines() == 2 * 2 * ["spawned 1"]
    assert result.calls == 2 * names("init spawn")
