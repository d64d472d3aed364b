# SPDX-License-Identifier: MIT
"""Tests that the MPI standard's own examples in its chapter on tool support run under stacks."""
import re

from support import BUILD, BUNDLED_TOOLS, run_mpi

EXAMPLES = BUILD / "tests" / "mpit" / "examples"


def example(name, *arguments, tools, ranks=2):
    result = run_mpi(EXAMPLES / f"example_{name}", *arguments, ranks=ranks, tools=tools,
                     env={"QMPI_TOOL_PATH": f"{EXAMPLES}:{BUNDLED_TOOLS}"})
    assert result.returncode == 0 and not result.messages
    return result


def test_the_send_profiler_accumulates_bytes_and_time():
    result = example("messages", tools="send_profiler.so")
    assert sorted(result.trace) == ["sent 0 bytes, time is zero", "sent 3200 bytes, time is positive"]


def test_control_variables_of_layers_are_listed_after_those_of_the_library():
    lines = [example("list_cvars", tools=tools, ranks=1).stdout.splitlines()
             for tools in (None, "queue_length:empty")]
    alone, merged = ([re.fullmatch(r"Var (\d+): (\S+)", line).groups() for line in each]
                     for each in lines)
    assert len(alone) > 100
    assert merged[: len(alone)] == alone
    assert {name for _, name in merged[len(alone):]} == {
        "qmpi.stack", "qmpi.queue_length.enabled", "qmpi.queue_length.size", "qmpi.empty.enabled"}


def test_a_control_variable_that_is_bound_to_a_communicator_is_read():
    result = example("read_cvar", "qmpi.queue_length.size", tools="queue_length")
    assert result.stdout.splitlines() == ["world 2 self 1"]


def test_receives_with_a_long_queue_are_detected_by_the_pmpi_tool_of_the_standard():
    result = example("messages", tools="long_queues.so:queue_length")
    assert result.trace == [f"receive with {length} unexpected messages" for length in (8, 7, 6)]


def test_a_tool_finds_a_variable_that_is_published_several_layers_below():
    result = example("messages", tools="empty:long_queues.so:empty:send_profiler.so:queue_length")
    assert [line for line in result.trace if "unexpected" in line] == [
        f"receive with {length} unexpected messages" for length in (8, 7, 6)]


def test_two_copies_of_the_tool_detect_the_same_receives():
    result = example("messages", tools="long_queues.so:queue_length:long_queues.so")
    assert sorted(result.trace) == sorted(
        f"receive with {length} unexpected messages" for length in (8, 7, 6) for _ in range(2))
