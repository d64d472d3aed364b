# SPDX-License-Identifier: MIT
"""Tests tools of MPICH's variant of QMPI that use a stock MPICH: linked in, preloaded, loaded;
alone and in stacks with native layers, observers and PMPI tools; used rightly and wrongly."""
import os
import re
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "stack"))

from support import ASAN, BUILD, LIBQMPI, TOOLS, run_mpi  # noqa: E402

FOLDER = BUILD / "tests" / "mpich"
MPICH_TOOLS = FOLDER / "tools"
PMPI_TOOLS = BUILD / "tests" / "pmpi" / "tools"

STEPS = {"init": "MPI_Init", "comm_rank": "MPI_Comm_rank", "comm_size": "MPI_Comm_size",
         "barrier": "MPI_Barrier", "wtime": "MPI_Wtime", "finalize": "MPI_Finalize"}
# Tools that print their tool_id, and tools that print how many calls they have seen.
NUMBERED = {"cached", "asking", "needs_mpi", "inside", "alpha", "beta"}
OF_PMPI = {"pmpi_call", "pmpi_constant", "pmpi_table"}
ORDERS = ["qmpi_first", pytest.param("mpi_first", marks=pytest.mark.skipif(
    bool(ASAN), reason="in this program, tools are opened with RTLD_DEEPBIND, which AddressSanitizer refuses"))]
# The variables that may list the tools. The first one that is set counts.
LISTS = ["QMPI_TOOLS", "MPIR_CVAR_QMPI_TOOL_LIST", "MPIR_PARAM_QMPI_TOOL_LIST", "MPICH_QMPI_TOOL_LIST"]


def mpich_tool(name):
    return MPICH_TOOLS / f"{name}.so"


def run(name, *steps, env=None, **kwargs):
    kwargs.setdefault("ranks", 1)
    environment = {"QMPI_TOOL_PATH": f"{MPICH_TOOLS}:{PMPI_TOOLS}:{TOOLS}"}
    environment.update({variable: None for variable in LISTS[1:]})
    environment.update(env or {})
    return run_mpi(name, *steps, env=environment, **kwargs)


def expected_calls(stack, steps=STEPS):
    notes = []
    for number, step in enumerate(steps, 1):
        notes.append(f"app {step}")
        for tool_id, name in enumerate(stack, 1):
            if name in NUMBERED:
                notes.append(f"{name} {tool_id} {STEPS[step]}")
            elif name in OF_PMPI:
                notes.append(f"{name} {STEPS[step]} {number}")
    return notes


def check(result, stack, steps=STEPS):
    """Checks that every layer saw every call once and in order, and that the program got its
    results."""
    assert result.returncode == 0
    assert result.calls == expected_calls(stack, steps)
    assert result.stdout == run("calls", *steps, preload=()).stdout
    assert result.messages == []


# ---- Sources of tools ----------------------------------------------------------------------------


@pytest.mark.parametrize("stack", [["inside"], ["inside"] * 2, ["inside"] * 5])
def test_a_tool_linked_into_the_program_works_in_every_instance(stack):
    check(run(FOLDER / "mpich_linked", *STEPS, tools=":".join(stack)), stack)


@pytest.mark.parametrize("order", ORDERS)
def test_a_tool_linked_into_a_program_that_needs_libqmpi_works(order):
    """In one of the programs, the loader finds the MPI library's stubs of QMPI calls first. The tool must reach
    libqmpi nevertheless."""
    stack = ["inside", "asking", "inside"]
    check(run(FOLDER / f"mpich_linked_{order}", *STEPS, tools=":".join(stack), preload=()), stack)


@pytest.mark.parametrize("order", ORDERS)
def test_a_tool_linked_with_the_mpi_library_does_not_call_the_librarys_stubs(order):
    stack = ["needs_mpi", "inside", "needs_mpi"]
    check(run(FOLDER / f"mpich_linked_{order}", *STEPS, tools=":".join(stack), preload=()), stack)


@pytest.mark.parametrize("name", ["text_relocation", "text_relocation_elsewhere"])
@pytest.mark.parametrize("order", ORDERS[1:])
def test_a_library_that_cannot_be_changed_does_not_affect_tools(order, name):
    """A message names the library only if the library refers to a function of MPICH's variant. References in other
    libraries are changed nevertheless."""
    stack = ["needs_mpi", "inside", "needs_mpi"]
    result = run(FOLDER / f"mpich_linked_{order}", *STEPS, tools=":".join(stack),
                 preload=[mpich_tool(name)])
    assert (result.returncode, result.calls) == (0, expected_calls(stack))
    problems = [line for line in result.messages if "may fail to register" in line]
    assert [f"{name}.so" in line for line in problems] == [True] * (name == "text_relocation")


@pytest.mark.parametrize("name", ["cached", "asking", "needs_mpi"])
def test_a_tool_is_loaded_by_its_name(name):
    check(run("calls", *STEPS, tools=f"{name}:{name}"), [name] * 2)


@pytest.mark.parametrize("name", ["cached", "asking", "needs_mpi"])
def test_a_tool_is_loaded_by_its_path(name):
    path = mpich_tool(name)
    check(run("calls", *STEPS, tools=f"{path}:{path}:{path}"), [name] * 3)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("name", ["cached", "needs_mpi"])
def test_a_tool_may_be_preloaded(name, behind):
    libraries = [mpich_tool(name), LIBQMPI]
    result = run("calls", *STEPS, tools=f"{name}:alpha:{name}",
                 preload=libraries[::-1] if behind else libraries, env={"QMPI_TOOL_PATH": TOOLS})
    check(result, [name, "alpha", name])


def test_a_preloaded_tool_may_be_listed_by_its_path():
    path = mpich_tool("cached")
    result = run("calls", *STEPS, tools=f"{path}:{path}", preload=[LIBQMPI, path])
    check(result, ["cached"] * 2)
    assert "load cached" in result.trace


def test_each_rank_of_a_job_has_the_stack():
    result = run("calls", *STEPS, tools="cached:asking", ranks=2)
    assert result.returncode == 0
    for line in ("cached 1 MPI_Comm_rank", "asking 2 MPI_Comm_rank"):
        assert result.calls.count(line) == 2


# ---- Tools that the user selects -----------------------------------------------------------------


@pytest.mark.parametrize("variable", LISTS)
def test_each_variable_lists_the_tools(variable):
    check(run("calls", *STEPS, env={variable: "cached:alpha:cached"}), ["cached", "alpha", "cached"])


def test_the_first_variable_that_is_set_gives_the_stack():
    lists = dict(zip(LISTS, ["cached", "asking", "alpha", "cached"]))
    check(run("calls", *STEPS, env=lists), ["cached"])
    check(run("calls", *STEPS, env={**lists, LISTS[0]: None}), ["asking"])
    check(run("calls", *STEPS, env={**lists, LISTS[0]: None, LISTS[1]: None}), ["alpha"])


def test_an_empty_variable_counts_as_set():
    check(run("calls", *STEPS, env={"QMPI_TOOLS": "", LISTS[1]: "cached"}), [])


@pytest.mark.parametrize("variable", LISTS)
def test_a_listed_tool_that_does_not_exist_is_named_with_its_variable(variable):
    result = run("calls", *STEPS, env={variable: "cached:nobody"})
    assert (result.returncode, result.stdout, result.calls) == (2, "", ["app init"])
    assert result.messages[0] == f"{variable}, entry 2 'nobody': no such tool"


@pytest.mark.parametrize("tools", [None, "", "alpha"])
def test_a_linked_tool_outside_the_stack_gets_an_error_and_sees_no_calls(tools):
    result = run(FOLDER / "mpich_linked", *STEPS, tools=tools)
    check(result, ["alpha"] if tools else [])
    assert "load inside, which nobody asked for" in result.trace


def test_without_libqmpi_the_program_runs_as_usual():
    result = run(FOLDER / "mpich_linked", *STEPS, tools="inside", preload=())
    assert (result.returncode, result.calls) == (0, expected_calls([]))


# ---- Stacks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", [
    "alpha:cached:alpha", "cached:alpha:cached", "asking:alpha:beta:asking",
    "cached:asking:cached:asking", "alpha:asking", "asking:alpha",
    "cached:pmpi_call:cached", "pmpi_call:cached:pmpi_call", "pmpi_constant:asking",
    "asking:pmpi_constant", "pmpi_table:alpha:asking:pmpi_table:cached:beta",
    "cached:pmpi_call:pmpi_constant:cached", "alpha:pmpi_call:cached:alpha:asking",
])
def test_layers_of_every_kind_stand_in_the_order_of_the_list(stack):
    check(run("calls", *STEPS, tools=stack), stack.split(":"))


@pytest.mark.parametrize("stack", ["count:cached:count", "cached:count:asking", "count:asking:alpha"])
def test_observers_can_stand_between_tools_of_the_variant(stack, tmp_path):
    result = run("calls", *STEPS, tools=stack, cwd=tmp_path)
    assert result.returncode == 0
    assert result.calls == expected_calls(stack.split(":"))


def test_layers_that_do_not_intercept_a_function_are_skipped():
    """Among these tools, only alpha intercepts get_version."""
    result = run("calls", "init", "get_version", "comm_rank", "finalize",
                 tools="cached:alpha,functions=Get_version:asking")
    assert result.returncode == 0
    assert result.calls[4:6] == ["alpha 2 MPI_Get_version", "app comm_rank"]
    assert result.calls[6:8] == ["cached 1 MPI_Comm_rank", "asking 3 MPI_Comm_rank"]


def test_layers_of_one_tool_have_storage_of_their_own():
    result = run("calls", "init", "comm_rank", "comm_rank", "finalize", tools="cached:asking:cached")
    assert [line for line in result.trace if "counted" in line] == [
        f"exit {name} {tool_id} counted 4"
        for tool_id, name in enumerate(["cached", "asking", "cached"], 1)]
    assert not [line for line in result.trace if "storage of" in line]


def test_calls_after_finalize_are_seen():
    result = run("calls", "init", "finalize", "finalized", tools="cached:asking")
    assert result.returncode == 0
    assert result.calls[-3:] == ["app finalized", "cached 1 MPI_Finalized",
                                 "asking 2 MPI_Finalized"]


def test_255_layers_work():
    result = run("calls", "init", "comm_rank", "finalize", tools=":".join(["asking"] * 255))
    assert result.returncode == 0
    assert [line for line in result.calls if line.endswith("MPI_Comm_rank")] == [
        f"asking {tool_id} MPI_Comm_rank" for tool_id in range(1, 256)]


# ---- Layers that are switched --------------------------------------------------------------------


@pytest.mark.parametrize("stack", ["alpha:asking:beta", "asking:alpha:asking", "asking:asking:asking",
                                   "pmpi_call:asking:alpha", "asking:pmpi_call:asking"])
def test_layers_that_ask_in_each_call_notice_every_switch(stack):
    """Layers that ask for the next function in each call notice when another layer is switched on or off."""
    layers = stack.split(":")
    steps, expected, off = ["init", "rank"], [], set()
    walk = [3, 2, 3, 1, 3, 2, 3, 2, 3, 1, 3, 2, 3, 1]
    for tool_id in walk:
        steps += [f"on={tool_id}" if tool_id in off else f"off={tool_id}", "rank"]
        off ^= {tool_id}
        expected += [f"app {steps[-2]}", "app rank"]
        expected += [f"{name}{'' if name in OF_PMPI else f' {place}'} MPI_Comm_rank"
                     for place, name in enumerate(layers, 1) if place not in off]
    result = run("switch", *steps, "finalize", tools=stack, preload=())
    assert result.returncode == 0
    calls = [re.sub(r"(Comm_rank) \d+$", r"\1", line) for line in result.calls]
    assert calls[calls.index("app off=3"):calls.index("app finalize")] == expected


@pytest.mark.parametrize("stack, seen", [
    ("cached:cached:alpha", ["cached 1", "cached 2", "alpha 3"]),
    ("cached:alpha:alpha", ["cached 1", "alpha 3"]),
])
def test_pointers_that_are_kept_stay_callable(stack, seen):
    """A kept pointer still calls a layer of the variant that was switched off, but skips one of
    another kind."""
    result = run("switch", "init", "off=2", "rank", "finalize", tools=stack, preload=())
    assert result.returncode == 0
    at = result.calls.index("app rank")
    assert result.calls[at + 1:at + 1 + len(seen)] == [f"{each} MPI_Comm_rank" for each in seen]


def test_conditions_limit_layers_to_ranks_and_functions():
    result = run("calls", *STEPS, ranks=4, tools="cached,@ranks=1-2:cached,@functions=MPI_Barrier;MPI_Wtime:"
                 "asking,@enabled=no:needs_mpi,@nodes=none:cached,@if-env=PATH,@program=calls")
    assert (result.returncode, result.messages) == (0, [])
    every = list(STEPS.values())
    for rank in result.ranks:
        seen = [line for line in rank.stderr.splitlines() if re.match(r"trace: (cached|asking|needs_mpi) \d MPI_", line)]
        assert [line.split()[3] for line in seen if "cached 1 " in line] == (every if rank.number in (1, 2) else [])
        assert [line.split()[3] for line in seen if "cached 2 " in line] == ["MPI_Barrier", "MPI_Wtime"]
        assert [line.split()[3] for line in seen if "cached 5 " in line] == every
        assert not [line for line in seen if "asking" in line or "needs_mpi" in line]


# ---- The caller ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tools, layers", [
    ("teller", [1]), ("teller:teller:teller", [1, 2, 3]), ("alpha:teller:empty:teller", [2, 4])])
def test_the_caller_is_the_function_of_the_application(tools, layers):
    result = run("callers", tools=tools)
    assert (result.returncode, result.stdout) == (0, "done\n")
    for function, caller in (("MPI_Initialized", "caller_of_initialized"),
                             ("MPI_Init_thread", "caller_of_init"),
                             ("MPI_Comm_rank", "caller_of_rank"),
                             ("MPI_Finalize", "caller_of_finalize")):
        notes = [line for line in result.trace if re.match(f"teller \\d+ {function} ", line)]
        assert notes == [f"teller {tool_id} {function} from {caller}" for tool_id in layers]
    assert not [line for line in result.trace if "WRONG" in line]
    assert "teller outside a call: NULL" in result.trace


def test_threads_get_the_text_of_their_own_callers():
    result = run("callers", "threads", tools="teller:teller", timeout=240)
    assert result.returncode == 0
    assert "teller right 40000 wrong 0" in result.trace
    callers = [line for line in result.trace if line.startswith("teller thread from ")]
    assert sorted(callers) == [f"teller thread from caller_in_thread_{i}" for i in range(4)]


def test_every_call_site_keeps_a_text_of_its_own():
    result = run(FOLDER / "sites", tools="sites")
    assert (result.returncode, result.stdout) == (0, "calls 1024\n")
    assert result.calls == ["sites: 512 different, 512 the same again"]


# ---- Misuse --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", ["alpha:wrong:beta", "cached:wrong:asking"])
def test_misuse_gives_error_classes_and_changes_nothing(stack):
    result = run("calls", "init", "comm_rank", "finalize", "finalized", tools=stack)
    assert result.returncode == 0
    assert not [line for line in result.trace if "WRONG" in line]
    assert "wrong made more than 300 checks: yes" in result.trace
    assert ("layer 2 (wrong): a registration in the init function of the tool failed: QMPI_Register_tool_storage "
            "returned MPI_ERR_ARG, and 25 more") in result.messages
    upper, lower = stack.split(":")[0], stack.split(":")[2]
    at = result.calls.index("app comm_rank")
    assert result.calls[at + 1:at + 4] == [f"{upper} 1 MPI_Comm_rank",
                                           "wrong 2 MPI_Comm_rank, next 3",
                                           f"{lower} 3 MPI_Comm_rank"]
