# SPDX-License-Identifier: MIT
"""Tests which functions a layer observes, in which order callbacks are called, and which
registrations and questions are errors."""
import re

import pytest

from observe_support import run_observed
from support import LIBQMPI

RUN = ["init", "comm_rank", "comm_size", "barrier", "finalize"]
# The values of QMPIX_GROUP_… in the header.
COMMUNICATOR, COLLECTIVE, ENVIRONMENT, ONE_SIDED = 1 << 6, 1 << 2, 1 << 9, 1 << 3


def succeed(tools, *steps, name="calls", **kwargs):
    result = run_observed(name, *(steps or RUN), ranks=1, tools=tools, **kwargs)
    assert result.returncode == 0
    if "wrong" in tools.split(":"):  # this layer registers invalid things on purpose, and ignores errors
        assert len(result.messages) == 2 and "QMPIX_Register_tool_observer returned MPI_ERR_ARG" in result.messages[0]
    else:
        assert result.messages == []
    return result


def notes_of(result, name):
    return [line for line in result.trace if line.startswith(f"{name} ")]


# ---- An observer and interceptors in one layer ---------------------------------------------------


@pytest.mark.parametrize("tools, tool_ids", [("beside", [1]), ("empty:beside:beside", [2, 3])])
def test_callbacks_stand_around_the_layers_own_interceptor(tools, tool_ids):
    result = succeed(tools)

    def around(function, inside):
        lines = [f"beside {tool_id} {what} {function}" for tool_id in tool_ids
                 for what in ["before", *inside]]
        return lines + [f"beside {tool_id} after {function}" for tool_id in reversed(tool_ids)]

    expected = [*around("MPI_Init", []), *around("MPI_Comm_rank", ["intercepts"]),
                *around("MPI_Comm_size", ["intercepts"]), *around("MPI_Barrier", []),
                *around("MPI_Finalize", [])]
    assert notes_of(result, "beside") == expected


# ---- A chosen set --------------------------------------------------------------------------------


@pytest.mark.parametrize("options, functions", [
    ("functions=MPI_Barrier", ["MPI_Barrier"]),
    ("functions=MPI_Barrier+MPI_Send+lacking", ["MPI_Barrier"]),
    (f"groups={COMMUNICATOR}", ["MPI_Comm_rank", "MPI_Comm_size"]),
    (f"groups={COMMUNICATOR | COLLECTIVE}", ["MPI_Comm_rank", "MPI_Comm_size", "MPI_Barrier"]),
    (f"groups={COLLECTIVE},functions=MPI_Init", ["MPI_Init", "MPI_Barrier"]),
    (f"groups={ENVIRONMENT}", ["MPI_Init", "MPI_Finalize"]),
    (f"groups={ONE_SIDED}", []),
    ("twice=yes,functions=MPI_Barrier", ["MPI_Barrier"]),
    ("", ["MPI_Init", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Barrier", "MPI_Finalize"]),
])
def test_only_the_chosen_functions_are_observed(options, functions):
    result = succeed("chosen" + ("," if options else "") + options)
    assert notes_of(result, "chosen") == [f"chosen 1 {name}" for name in functions for _ in "ab"]


@pytest.mark.parametrize("which", ["before", "after"])
def test_an_observer_may_have_only_one_callback(which):
    result = succeed(f"chosen,only={which},functions=MPI_Barrier")
    assert notes_of(result, "chosen") == ["chosen 1 MPI_Barrier"]


def intercepted(options):
    seen = succeed(f"chosen,tell=yes{options}:empty")
    return {line.split()[-1] for line in seen.trace if line.startswith("chosen 1 intercepts ")}


def test_functions_that_are_not_chosen_are_not_intercepted():
    """Calls of functions that are not observed must not become slower."""
    assert intercepted(",functions=MPI_Barrier+MPI_Bcast+lacking") == {"MPI_Barrier", "MPI_Bcast"}
    assert intercepted(",twice=yes,functions=MPI_Barrier") == {"MPI_Barrier"}
    one_sided, everything = intercepted(f",groups={ONE_SIDED}"), intercepted("")
    assert {"MPI_Put", "MPI_Win_free"} < one_sided < everything
    assert not one_sided & {"MPI_Send", "MPI_Barrier", "MPI_Init", "MPI_Finalize"}


def test_layers_of_one_tool_may_observe_different_functions():
    result = succeed("chosen,functions=MPI_Barrier:chosen,functions=MPI_Comm_rank+MPI_Barrier")
    assert notes_of(result, "chosen") == [
        "chosen 2 MPI_Comm_rank", "chosen 2 MPI_Comm_rank", "chosen 1 MPI_Barrier",
        "chosen 2 MPI_Barrier", "chosen 2 MPI_Barrier", "chosen 1 MPI_Barrier"]


# ---- The word ------------------------------------------------------------------------------------


def test_after_gets_the_word_that_before_has_stored_also_if_calls_are_nested():
    result = succeed("word", "init", "barrier", "barrier", "comm_rank", "finalize")
    assert notes_of(result, "word") == ["word 1 lost 0 dirty 0 without caller 0 nested 2"]


def test_words_of_different_threads_are_kept_apart():
    result = succeed("word:empty", "race", name="threads")
    assert re.fullmatch(r"word 1 lost 0 dirty 0 without caller 0 nested \d+",
                        notes_of(result, "word")[0])


# ---- Refusals ------------------------------------------------------------------------------------

REFUSED = {
    "NULL": "argument", "no size": "argument", "too small": "argument",
    "unknown flags": "argument", "unknown groups": "argument", "no array": "argument",
    "function out of range": "argument", "less than no functions": "argument",
    "tool_id 0": "argument", "tool_id -1": "argument", "tool_id 1000": "argument",
}


def test_bad_observers_are_refused_and_never_called():
    result = succeed("wrong:empty", "init", "barrier", "finalize")
    notes = notes_of(result, "wrong")
    for what, answer in REFUSED.items():
        assert f"wrong {what} {answer}" in notes
    assert "wrong another layer other" in notes
    assert "wrong nothing success" in notes
    assert "wrong observer was called" not in notes


def test_an_observer_can_be_registered_only_in_init():
    result = succeed("wrong", "init", "comm_rank", "finalize")
    notes = notes_of(result, "wrong")
    assert notes[0] in ("wrong too early other", "wrong too early argument")
    assert "wrong registering in a call other" in notes


def test_wrong_calls_of_helper_functions_are_errors_and_set_nothing():
    result = succeed("wrong", "init", "comm_rank", "finalize")
    notes = notes_of(result, "wrong")
    asked = [line for line in notes if re.match(
        r"wrong (bytes|transfers|neighbors|binding|comm|root|peer|started|completed|argument|caller) ", line)]
    # In `before`, requests are not known yet, so calls that ask for requests may return the error class
    # for this, even if their arguments are also wrong.
    allowed = ("argument", "other")
    assert len(asked) == 25
    assert all(line.endswith(allowed) for line in asked), asked
    assert all(line.endswith("argument") for line in asked
               if not line.startswith(("wrong started", "wrong completed"))), asked
    assert "wrong outputs are set" not in notes


@pytest.mark.parametrize("when", ["before MPI_Init", "after MPI_Finalize"])
def test_world_ranks_are_unknown_before_mpi_init_and_after_mpi_finalize(when):
    result = succeed("wrong", "init", "comm_rank", "finalize")
    notes = notes_of(result, "wrong")
    start = notes.index(f"wrong ranks {when}")
    first, null, to_null, value = notes[start + 1:start + 5]
    assert first == "wrong world rank in MPI_COMM_WORLD other"
    assert null in ("wrong world rank in MPI_COMM_NULL argument",
                    "wrong world rank in MPI_COMM_NULL other")
    assert to_null in ("wrong world rank to NULL argument", "wrong world rank to NULL other")
    assert value == "wrong world rank is 77"


def test_the_world_rank_of_a_special_or_invalid_rank_is_undefined():
    result = succeed("wrong", "init", "comm_rank", "finalize")
    notes = notes_of(result, "wrong")
    start = notes.index("wrong ranks in MPI_Comm_rank")
    assert notes[start + 1:start + 5] == [
        "wrong world rank in MPI_COMM_WORLD success", "wrong world rank in MPI_COMM_NULL argument",
        "wrong world rank to NULL argument", "wrong world rank is 0"]
    for what in ("MPI_PROC_NULL", "MPI_ANY_SOURCE", "rank 99"):
        assert f"wrong world rank of {what} success undefined" in notes


def test_a_process_that_makes_no_mpi_call_is_not_observed():
    result = run_observed("no_mpi", ranks=1, tools="beside", preload=(LIBQMPI,))
    assert result.returncode == 0
    assert notes_of(result, "beside") == []
