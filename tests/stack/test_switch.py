# SPDX-License-Identifier: MIT
"""Layers are switched off and on while the program runs. Exactly the layers that are on see a call,
unless a layer keeps functions or pointers. This is tested with many combinations of native and PMPI
layers. Calls in progress are completed."""
import re

import pytest

from support import LIBQMPI, program, run_mpi, tool
from test_threads import counts
from test_valgrind import ASAN, VALGRIND, errors_of_ours, run_under_valgrind

NATIVE = {"alpha", "beta"}

# The layers to be switched, one after the other, to visit all subsets of three layers, most of them
# twice.
WALK = [3, 2, 3, 1, 3, 2, 3, 2, 3, 1, 3, 2, 3, 1]

THREE = [
    "alpha:beta:alpha",
    "pmpi_call:pmpi_constant:pmpi_table",
    "pmpi_constant:pmpi_constant:pmpi_constant",
    "pmpi_call:alpha:pmpi_call",
    "alpha:pmpi_call:alpha",
    "pmpi_call:pmpi_table:alpha",
    "pmpi_constant:alpha:beta",
    "pmpi_table:alpha:pmpi_constant",
    "alpha:beta:pmpi_call",
    "pmpi_asks:pmpi_asks:alpha",
    "alpha,functions=Barrier:pmpi_call:beta,functions=Comm_rank",
]


def succeed(*args, **kwargs):
    kwargs.setdefault("ranks", 1)
    kwargs.setdefault("preload", ())
    result = run_mpi("switch", *args, **kwargs)
    assert result.returncode == 0
    return result


def without_counts(calls):
    """Removes the count at the end of notes that tools of tests/pmpi print."""
    return [re.sub(r" \d+$", "", call) for call in calls]


def expected_notes(stack, off, function):
    notes = []
    for tool_id, entry in enumerate(stack.split(":"), 1):
        name, _, functions = entry.partition(",functions=")
        if tool_id in off or functions not in ("", function):
            continue
        position = f"{tool_id} " if name in NATIVE else ""
        notes.append(f"{name} {position}MPI_{function}")
    return notes


def check_walk(stack, walk, **kwargs):
    """Switches the layers in `walk`, one after the other. Checks that two functions are seen by
    exactly the layers that are on, before the first switch and after each switch."""
    steps, expected, off = ["init"], [], set()
    for tool_id in [None, *walk]:
        if tool_id:
            steps.append(f"on={tool_id}" if tool_id in off else f"off={tool_id}")
            off ^= {tool_id}
            expected.append(f"app {steps[-1]}")
        for step, function in (("rank", "Comm_rank"), ("barrier", "Barrier")):
            steps.append(step)
            expected += [f"app {step}", *expected_notes(stack, off, function)]
    result = succeed(*steps, "finalize", tools=stack, **kwargs)
    calls = without_counts(result.calls)
    assert calls[calls.index("app rank"):calls.index("app finalize")] == expected
    asks = "pmpi_asks:" in stack  # libqmpi warns: it cannot know that this tool keeps no pointers
    assert (len(result.messages) > 0) == asks


# ---- Calls that are seen -------------------------------------------------------------------------


@pytest.mark.parametrize("stack", THREE)
def test_every_subset_of_three_layers_sees_exactly_its_calls(stack):
    check_walk(stack, WALK)


@pytest.mark.parametrize("stack", ["alpha", "pmpi_call"])
def test_the_only_layer_can_be_switched(stack):
    check_walk(stack, [1, 1, 1, 1])


def test_a_layer_that_is_off_for_a_time_counts_the_other_calls_in_both_ranks():
    result = succeed("init", "rank", "off=2", "rank", "rank", "on=2", "rank", "finalize",
                     tools="counter:counter", ranks=2)
    assert result.trace.count("counter 1 MPI_Comm_rank 4") == 2
    assert result.trace.count("counter 2 MPI_Comm_rank 2") == 2


def test_a_preloaded_tool_can_be_switched():
    """The tool may be before or after libqmpi in LD_PRELOAD."""
    for order in ([tool("pmpi_call"), LIBQMPI], [LIBQMPI, tool("pmpi_call")]):
        check_walk("pmpi_call:alpha", [1, 2, 1, 2], preload=order)


def test_switching_a_layer_to_its_present_state_changes_nothing():
    result = succeed("init", "on=1", "off=1", "off=1", "rank", "on=1", "rank", "finalize",
                     tools="keeper:alpha")
    assert [call for call in result.calls if "Comm_rank" in call] == [
        "alpha 2 MPI_Comm_rank", "keeper 1 MPI_Comm_rank", "alpha 2 MPI_Comm_rank"]
    assert result.calls.count("keeper 1 is told") == 2


def test_the_caller_is_right_for_each_subset_of_layers_that_are_on():
    """Below PMPI layers, the caller is recorded where these call the first native layer."""
    stack = ["pmpi_call", "caller", "pmpi_constant", "caller"]
    steps, off = ["init"], set()
    expected = []
    for number in range(1, 32):
        tool_id = (number & -number).bit_length()  # a cyclic Gray code
        if tool_id > 4:
            tool_id = 4
        steps.append(f"on={tool_id}" if tool_id in off else f"off={tool_id}")
        off ^= {tool_id}
        steps.append("rank")
        expected += [f"caller {i} MPI_Comm_rank from caller_of_rank"
                     for i in (2, 4) if i not in off]
    result = succeed(*steps, "finalize", tools=":".join(stack))
    assert [call for call in result.calls if "MPI_Comm_rank from" in call] == expected


def test_a_layer_that_is_off_at_the_end_reports_the_calls_before_the_switch():
    result = succeed("init", "rank", "off=1", "rank", "finalize", tools="count", ranks=2)
    assert result.stderr.count("MPI calls of 2 ranks") == 1
    assert len(re.findall(r"MPI_Comm_rank +2\b", result.stderr)) == 1
    assert "MPI_Finalize " not in result.stderr


@pytest.mark.skipif(not program("switch_fortran").exists(), reason="no Fortran compiler")
@pytest.mark.parametrize("stack", [
    "alpha:beta", "pmpi_call:alpha", "pmpi_fortran:alpha", "pmpi_fortran:pmpi_fortran",
    "alpha:pmpi_fortran"])
def test_calls_of_a_fortran_program_follow_the_switch(stack):
    """The program calls the Fortran wrappers of pmpi_fortran while pmpi_fortran is the topmost layer
    that is on."""
    result = run_mpi("switch_fortran", ranks=1, tools=stack, preload=())
    assert (result.returncode, result.stdout, result.messages) == (0, "ranks 0 0 0 0\n", [])
    calls = [line for line in result.calls if "comm_rank" in line.lower()]
    first, second = stack.split(":")
    if first == second:
        assert len(calls) == 2 + 1 + 2 + 1
        return
    assert sum(call.startswith(first) for call in calls) == 2
    assert sum(call.startswith(second) for call in calls) == 4


# ---- Next functions that a layer keeps -----------------------------------------------------------


def test_a_layer_that_is_notified_looks_its_next_function_up_again():
    result = succeed("init", "rank", "off=2", "rank", "on=2", "rank", "finalize",
                     tools="keeper:alpha:beta")
    calls = [call for call in result.calls if "Comm_rank" in call or "told" in call]
    full = ["keeper 1 MPI_Comm_rank", "alpha 2 MPI_Comm_rank", "beta 3 MPI_Comm_rank"]
    told = ["keeper 1 is told"]
    assert calls == full + told + [full[0], full[2]] + told + full


def test_a_saved_next_function_still_leads_to_a_layer_that_was_switched_off():
    result = succeed("init", "off=2", "rank", "finalize", tools="keeper,told=no:alpha:beta")
    assert [call for call in result.calls if "Comm_rank" in call] == [
        "keeper 1 MPI_Comm_rank", "alpha 2 MPI_Comm_rank", "beta 3 MPI_Comm_rank"]


def test_layers_that_are_off_are_notified_too():
    result = succeed("init", "off=1", "off=3", "finalize", tools="keeper:keeper:alpha")
    assert [call for call in result.calls if "told" in call] == [
        "keeper 1 is told", "keeper 2 is told"] * 2


def test_a_layer_may_switch_another_one_when_it_is_notified():
    result = succeed("init", "off=2", "rank", "finalize", tools="keeper,switches=3:alpha:beta")
    assert [call for call in result.calls if "Comm_rank" in call] == ["keeper 1 MPI_Comm_rank"]
    assert result.calls.count("keeper 1 is told") == 2


@pytest.mark.parametrize("lower", ["alpha", "pmpi_call", "keeper,keeps=yes"])
def test_a_layer_that_is_off_is_called_for_functions_that_it_keeps(lower):
    result = succeed("init", "off=1", "rank", "off=2", "rank", "barrier", "on=1", "rank", "on=2",
                     "rank", "finalize", tools=f"keeper,keeps=yes:{lower}:beta")
    seen = {"1": "keeper 1 MPI_Comm_rank", "3": "beta 3 MPI_Comm_rank",
            "2": {"alpha": "alpha 2 MPI_Comm_rank", "pmpi_call": "pmpi_call MPI_Comm_rank"}.get(
                lower, "keeper 2 MPI_Comm_rank")}
    off = " while it is off"
    second = [seen["2"] + off] if "keeps" in lower else []
    calls = [call for call in without_counts(result.calls) if "Comm_rank" in call]
    assert calls == [seen["1"] + off, seen["2"], seen["3"], seen["1"] + off, *second, seen["3"],
                     seen["1"], *second, seen["3"], seen["1"], seen["2"], seen["3"]]


@pytest.mark.skipif(not program("switch_fortran").exists(), reason="no Fortran compiler")
def test_calls_of_a_fortran_program_do_not_bypass_a_layer_that_keeps_functions():
    result = run_mpi("switch_fortran", ranks=1, tools="keeper,keeps=yes:pmpi_fortran",
                     preload=())
    assert result.returncode == 0
    calls = [line for line in result.calls if line.startswith("keeper 1 MPI")]
    assert len(calls) == 4 and sum("off" in call for call in calls) == 2


def test_wrong_calls_of_the_functions_that_switch_layers_are_refused():
    """In its init, the tool keeper tries to switch layers before the stack exists, to switch layers that do
    not exist, and to pass NULL."""
    result = succeed("init", "rank", "finalize", tools="keeper:alpha:keeper")
    assert not [line for line in result.trace if "wrong answers" in line]


def test_interceptors_are_registered_at_run_time_for_any_qmpi_layer_but_for_no_pmpi_layer():
    result = succeed("init", "barrier", "finalize", tools="late:pmpi_call:alpha,functions=Comm_rank")
    assert [call for call in result.calls if call.startswith("late")] == [
        "late for layer 1: MPI_SUCCESS", "late for layer 2: MPI_ERR_OTHER", "late for layer 3: MPI_SUCCESS",
        "late MPI_Barrier of layer 1", "late MPI_Barrier of layer 3"]
    assert [call for call in without_counts(result.calls) if call.startswith("pmpi_call MPI_Barrier")]


def test_wrappers_that_are_part_of_the_program_cannot_be_switched_but_layers_below_them_can():
    result = run_mpi("switch_own", "init", "off=1", "rank", "off=2", "rank", "finalize", ranks=1,
                     tools="alpha", preload=())
    assert result.returncode == 1  # the program returns 1 if a result is not MPI_SUCCESS
    assert re.fullmatch(r"layer 1 to 0: result [1-9]\d*, now 1\n", result.stdout)
    assert [call for call in without_counts(result.calls) if "Comm_rank" in call] == [
        "own MPI_Comm_rank", "alpha 2 MPI_Comm_rank", "own MPI_Comm_rank"]


def test_a_message_names_a_pmpi_tool_that_keeps_pointers_of_dlsym():
    result = succeed("init", "rank", "off=2", "rank", "on=2", "off=2", "rank", "finalize",
                     tools="pmpi_keeps:alpha")
    assert result.calls.count("alpha 2 MPI_Comm_rank") == 3
    assert result.messages == [
        "layer 1 (pmpi_keeps) looked up functions of the layers below with dlsym: calls through "
        "saved pointers ignore that layer 2 (alpha) was switched",
        "  hint: list the layers to be switched above it"]


def test_early_lookups_of_a_preloaded_tool_follow_switches():
    """Pointers that dlsym returned before the stack existed lead through slots of libqmpi, which
    switches update."""
    check_walk("pmpi_keeps:alpha:pmpi_call", WALK,
               preload=[LIBQMPI, tool("pmpi_keeps")])


# ---- While other threads call --------------------------------------------------------------------


def calls_of(result):
    return int(re.search(r"^calls (\d+)$", result.stdout, re.MULTILINE)[1])


@pytest.mark.parametrize("stack", [
    "counter:counter:counter", "pmpi_tally:counter:counter",
    "counter:pmpi_tally:counter", "pmpi_tally:pmpi_tally:counter"])
def test_no_call_is_lost_or_doubled_while_layers_are_switched(stack):
    # Each switch makes pages of PMPI tools writable and then read-only again, which takes time.
    switches = 10000 if ASAN or "pmpi_" in stack else 100000
    result = succeed("init", f"race={switches}", "finalize", tools=stack, timeout=240)
    assert counts(result, 3)["MPI_Comm_rank"] == calls_of(result) > 0


def test_memory_does_not_grow_with_the_number_of_switches():
    switches = 200000 if ASAN else 250000
    result = succeed("init", f"repeat={switches}", "finalize", timeout=240,
                     tools="keeper,told=no:caller:pmpi_tally:caller:keeper,told=no:caller")
    # In KiB. If each switch kept a new node, the memory would grow by about 16 MiB, or 12 MiB
    # in the build with sanitizers. Some growth is allowed: the kernel's numbers are not exact, and
    # AddressSanitizer keeps freed memory for a while.
    assert int(re.search(r"^grown (-?\d+)$", result.stdout, re.MULTILINE)[1]) < 8192


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed, or cannot run under the emulator")
@pytest.mark.skipif(bool(ASAN), reason="valgrind cannot run a sanitized program")
@pytest.mark.parametrize("stack", ["alpha:pmpi_call:beta", "keeper:pmpi_constant:keeper"])
def test_valgrind_finds_no_error_while_layers_are_switched(stack, tmp_path):
    report = tmp_path / "report.xml"
    steps = [step for tool_id in (1, 2, 3) for step in (f"off={tool_id}", "rank", f"on={tool_id}")]
    result = run_under_valgrind(report, "switch", "init", *steps, "repeat=200", "finalize",
                                tools=stack, preload=())
    assert result.returncode == 0
    assert errors_of_ours(report) == []


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed, or cannot run under the emulator")
@pytest.mark.skipif(bool(ASAN), reason="valgrind cannot run a sanitized program")
def test_valgrind_finds_no_error_while_layers_are_switched_and_two_threads_call(tmp_path):
    report = tmp_path / "report.xml"
    result = run_under_valgrind(report, "switch", "init", "race=60", "finalize",
                                tools="counter:pmpi_tally:counter", preload=())
    assert result.returncode == 0
    assert counts(result, 3)["MPI_Comm_rank"] == calls_of(result)
    assert errors_of_ours(report) == []
