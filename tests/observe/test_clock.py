# SPDX-License-Identifier: MIT
"""Tests the clock of a process, and the conversion of its times to those of rank 0's clock.

tools/skew.c gives the ranks clocks with known differences, and tools/times.c prints the times that
libqmpi returns.
"""
import re
import time
from dataclasses import replace

import pytest

from mpi_in_use import PROCESSOR
from observe_support import HAS_COUNTER, OBSERVE_TOOLS, observe_program, run_observed
from support import ASAN, LIBQMPI, can_spawn, needs_sessions

SKEW = OBSERVE_TOOLS / "skew.so"
needs_counter = pytest.mark.skipif(not HAS_COUNTER, reason="the machine has no cycle counter of constant rate")
may_lack_counter = pytest.mark.skipif(PROCESSOR == "aarch64", reason="each aarch64 processor has a counter")


def run_times(*steps, ranks=1, options="", program="calls", tools="times{}", spawns=False, **env):
    """Runs a program under the tool `times`, with skew.so preloaded."""
    result = run_observed(program, *steps, ranks=ranks, tools=tools.format(options), env=env,
                          preload=[LIBQMPI, SKEW], spawns=spawns)
    assert result.returncode == 0
    return result


def run_skewed(clocks, nodes=None, program="calls", steps=("init", "comm_rank", "finalize"), **kwargs):
    """Runs a job whose ranks have the clocks [(nanoseconds, ppm)]. `nodes` contains the name of a node for
    each rank; by default, all ranks are on the real node. Returns the result, and a function that reads
    moments from a trace: {(phase, rank): [(before, after, time, bound)]}. `before` and `after` are times
    of rank 0's clock, between which the moment was. libqmpi returned `time` for the moment, and `bound`
    as the largest possible error of this time."""
    since = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    env = {"QMPI_CLOCK": "monotonic", "SKEW_SINCE": since,
           "SKEW_CLOCKS": ",".join(f"{shift}/{ppm}" for shift, ppm in clocks)}
    if nodes:
        env["SKEW_NODES"] = ",".join(map(str, nodes))
    result = run_times(*steps, program=program, ranks=len(clocks), **env, **kwargs)
    shift, ppm = clocks[0]

    def read(trace):
        moments = {}
        for line in trace:
            if found := re.match(r"(\w+) (\d+) moment (\d+) (\d+) (\d+) (\d+)$", line):
                phase, (rank, *true, world, bound) = found[1], map(int, found.groups()[1:])
                shown = [moment + shift + (moment - since) * ppm * 1e-6 for moment in true]
                moments.setdefault((phase, rank), []).append((*shown, world, bound))
        assert len(moments) == 2 * len(clocks)
        assert all(len(of_rank) == 50 for of_rank in moments.values())
        return moments

    return result, read


def examples_of(result, phase):
    """Returns {rank: time} for the number of ticks that all ranks have converted to a time."""
    return {int(rank): int(world) for rank, world in
            re.findall(rf"{phase} (\d+) example (\d+)", "\n".join(result.trace))}


def check_bounds(moments):
    for (phase, rank), of_rank in moments.items():
        # Unless a rank has the clock of rank 0, the times after the second measurement differ from
        # those after the first one.
        if any(bound for *_, bound in of_rank) and phase == "both":
            assert of_rank != moments["first", rank]
        for first, last, world, bound in of_rank:
            assert first - bound - 1 <= world <= last + bound + 1, (phase, rank, world - first, bound)


CLOCKS = {
    "equal": [(0, 0), (0, 0)],
    "shifted": [(0, 0), (50_000_000_000, 0)],
    "drifting": [(0, 0), (0, 300)],
    "both": [(10_000_000, -150), (-70_000_000, 250)],
    "of four": [(5_000_000_000, 100), (0, 0), (-90_000_000, 200), (3_000_000, -300)],
}


@pytest.mark.parametrize("clocks", CLOCKS.values(), ids=CLOCKS)
def test_known_clocks_are_found_within_the_bound(clocks):
    result, read = run_skewed(clocks)
    assert result.messages == []
    check_world(read(result.trace))


def test_spawned_processes_have_the_time_of_their_own_rank_0():
    """The children have the same clocks as the parents with the same ranks."""
    if not can_spawn(observe_program("observe_identities"), "spawn"):
        pytest.skip("this MPI library cannot spawn")
    result, read = run_skewed(CLOCKS["both"], program="observe_identities", steps=["spawn"],
                              spawns=True)
    check_world(read(result.trace))
    check_world(read(replace(result, stderr=result.launcher).trace))


def check_world(moments):
    check_bounds(moments)
    assert {bound for (_, rank), found in moments.items() if rank == 0 for *_, bound in found} == {0}


@pytest.mark.parametrize("clock", ["tsc", "monotonic"])
def test_processes_of_one_host_have_one_clock_without_any_error(clock):
    result = run_times("init", "comm_rank", "finalize", program="calls", ranks=3, QMPI_CLOCK=clock)
    moments = re.findall(r"^(\w+) (\d+) moment \d+ \d+ \d+ (\d+)$", "\n".join(result.trace), re.MULTILINE)
    assert {rank for _, rank, _ in moments} == {"0", "1", "2"}
    assert {bound for *_, bound in moments} == {"0"}


@pytest.mark.parametrize("options", [",observe=no", ",off=1"])
def test_a_layer_without_an_observer_and_one_that_is_off_get_world_times(options):
    result, read = run_skewed(CLOCKS["both"], options=options)
    check_bounds(read(result.trace))


def test_a_layer_among_others_gets_world_times():
    result, read = run_skewed(CLOCKS["both"], tools="count:times:empty:chosen")
    check_bounds(read(result.trace))


def test_ranks_of_a_node_get_equal_times():
    one, other = (7_000_000, 100), (80_000_000_000, -200)
    result, read = run_skewed([one, other, other, one], nodes="abba")
    check_bounds(read(result.trace))
    for phase in ("first", "both"):
        examples = examples_of(result, phase)
        assert examples[0] == examples[3] != examples[1] == examples[2]


@pytest.mark.parametrize("odd", [1, 2, 3])
def test_ranks_with_the_clock_of_rank_0_get_exactly_its_times(odd):
    clocks = [(7_000_000, 100)] * 4
    clocks[odd] = (80_000_000_000, -200)
    examples = examples_of(run_skewed(clocks, nodes="abcd")[0], "both")
    assert len(set(examples.values())) == 2
    assert [rank for rank in range(4) if examples[rank] != examples[0]] == [odd]


def test_a_layer_that_fails_in_one_rank_does_not_stop_the_other_rank():
    result = run_times("init", "comm_rank", "finalize", ranks=2, options=",fail=1",
                       QMPI_ON_ERROR="skip")
    assert len([line for line in result.trace if line.startswith("both 0 moment")]) == 50


@pytest.mark.parametrize("ranks", [2, pytest.param(16, marks=pytest.mark.skipif(
    bool(ASAN), reason="takes long, and a sanitizer would check the same code as with 2 ranks"))])
@pytest.mark.parametrize("clock", ["tsc", "monotonic"])
def test_no_message_arrives_before_it_was_sent(clock, ranks):
    if clock == "tsc" and not HAS_COUNTER:
        pytest.skip("the machine has no cycle counter of constant rate")
    result = run_times("init", "comm_rank", "finalize", ranks=ranks, QMPI_CLOCK=clock,
                       options=f",messages={-(-500 // ranks)}")
    early = [line for line in result.trace if " early " in line]
    assert len(early) == 2 * ranks
    assert all(line.endswith(" early 0") for line in early)
    examples = re.findall(r"(first|both) \d+ example (\d+)", "\n".join(result.trace))
    assert len(examples) == 2 * ranks
    assert len(set(examples)) == 2


def test_world_times_are_unknown_if_no_layer_has_requested_them():
    trace = run_times("init", "comm_rank", "finalize", ranks=2, options=",ask=no").trace
    assert sorted(line for line in trace if "unknown" in line) == [
        "both 0 unknown 1", "both 1 unknown 1", "first 0 unknown 1", "first 1 unknown 1"]


def test_calls_with_wrong_arguments_are_errors():
    trace = run_times("init", "comm_rank", "finalize", options=",errors=yes").trace
    assert "errors 9" in trace


def test_a_job_of_one_process_has_its_own_time():
    trace = "\n".join(run_times("init", "comm_rank", "finalize", QMPI_CLOCK="monotonic").trace)
    moments = re.findall(r"both 0 moment (\d+) (\d+) (\d+) (\d+)", trace)
    assert len(moments) == 50
    for before, after, world, bound in moments:
        assert int(before) <= int(world) <= int(after) and bound == "0"


@needs_sessions
def test_a_program_with_only_sessions_has_no_world_times():
    trace = run_times("session_init", "session_finalize").trace
    assert not any("moment" in line for line in trace)


def test_a_job_that_is_aborted_ends():
    result = run_observed("calls", "init", "abort=3", ranks=2, tools="times",
                          preload=[LIBQMPI, SKEW])
    assert result.returncode == 3


# ---- The clock of a process ----------------------------------------------------------------------

@pytest.mark.parametrize("clock", [pytest.param("tsc", marks=needs_counter), "monotonic"])
def test_qmpi_clock_selects_the_clock(clock):
    result = run_times("init", "comm_rank", "finalize", QMPI_CLOCK=clock)
    assert result.messages == []
    trace = "\n".join(result.trace)
    name, tick, resolution, cost = re.search(
        r"clock (\w+) tick (\S+) resolution (\S+) cost (\S+)", trace).groups()
    assert name == clock
    assert 0.05 < float(tick) < 100 if clock == "tsc" else float(tick) == 1
    assert float(resolution) >= float(tick)
    assert 0 < float(cost) < 10000
    duration, true = map(int, re.search(r"duration (\d+) of (\d+)", trace).groups())
    assert 20_000_000 * 0.999 < duration <= true * 1.001


@pytest.mark.parametrize("env, message, clock", [
    ({"QMPI_CLOCK": "sundial"}, ["QMPI_CLOCK: unknown value 'sundial'; using the default",
                                 "  hint: set it to tsc or monotonic"],
     "tsc" if HAS_COUNTER else "monotonic"),
    pytest.param({"QMPI_CLOCK": "tsc", "SKEW_COUNTER": "no"},
                 ["QMPI_CLOCK: this machine has no cycle counter of constant rate; using monotonic",
                  "  hint: unset it, or set it to monotonic"], "monotonic", marks=may_lack_counter),
    pytest.param({"SKEW_COUNTER": "no"}, [], "monotonic", marks=may_lack_counter),
    ({}, [], "tsc" if HAS_COUNTER else "monotonic"),
])
def test_only_a_value_of_qmpi_clock_that_cannot_be_used_is_reported(env, message, clock):
    result = run_times("init", "comm_rank", "finalize", ranks=2, **env)
    assert result.messages == message
    assert len([line for line in result.trace if line.startswith(f"clock {clock} ")]) == 2
