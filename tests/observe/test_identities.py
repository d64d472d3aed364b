# SPDX-License-Identifier: MIT
"""A communicator has the same id in all of its processes, and different communicators have different
ids.

programs/identities.c names its communicators, and tools/identity.c prints their identities.
"""
from collections import defaultdict
from dataclasses import replace

import pytest

from observe_support import observe_program, run_observed
from support import can_spawn, needs_sessions, run_mpi, tool

ALL = ["copies", "parts", "topologies", "groups", "intercommunicators", "again"]


def noted(result):
    """Returns what the tool printed: {name: [(rank, id, parent, processes)]}."""
    found = defaultdict(list)
    for line in result.trace:
        kind, *values = line.split()
        if kind == "identity":
            rank, name, *values = values
            found[name].append((int(rank), *values))
    return {name: sorted(values) for name, values in found.items()}


def run_identities(*parts, ranks=2, tools="identity", name="observe_identities", **kwargs):
    result = run_observed(name, *parts, ranks=ranks, tools=tools, **kwargs)
    assert (result.returncode, result.messages) == (0, [])
    return result


def check_identities(result, layers=1):
    """Checks the identities that `layers` layers have printed. Returns {name: id} of the communicators whose identities
    must be known."""
    found, ids = noted(result), {}
    for text, notes in found.items():
        name, _, rest = text.partition("<")
        processes = rest.split("=")[1]
        answers = {values for _, *values in map(tuple, notes) for values in [tuple(values)]}
        assert len(answers) == 1, (text, notes)
        number, _, count = answers.pop()
        assert count == ("-" if processes == "?" else processes), text
        if processes == "?":
            continue
        assert len(notes) == layers * int(processes), text
        assert int(number, 16) != 0
        assert name not in ids
        ids[name] = number
    assert len(set(ids.values())) == len(ids)
    for text, notes in found.items():
        parent = text.partition("<")[2].split("=")[0]
        if parent in ids and notes[0][1] != "-":
            assert notes[0][2] == ids[parent], text
        elif parent == "-" and notes[0][1] != "-":
            assert notes[0][2] == "0", text
    assert ids
    return ids


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_communicators_that_are_created_in_many_ways_have_identities(ranks):
    ids = check_identities(run_identities(*ALL, ranks=ranks))
    assert len(ids) > 60


def test_identities_are_the_same_in_each_run():
    first, second = (check_identities(run_identities(*ALL)) for _ in range(2))
    assert first == second


def test_several_layers_get_identities():
    check_identities(run_identities(*ALL, tools="identity:empty:identity,quiet=yes:counter:identity"), 3)


@pytest.mark.parametrize("tools", ["now:identity:next_pmpi", "identity:lazy", "lazy:identity"])
def test_communicators_have_identities_with_pmpi_tools_above_and_below(tools):
    check_identities(run_identities(*ALL, tools=tools))


def test_identities_are_unknown_if_no_layer_has_requested_them():
    notes = noted(run_identities("copies", tools="identity,quiet=yes"))
    assert {values[1:] for each in notes.values() for values in each} == {("-", "-", "-")}


def test_a_failed_call_does_not_count():
    result = run_identities("copies", "fail")
    assert result.stdout == ""
    assert "after_failure" in check_identities(result)


def test_communicators_that_layers_do_not_see_have_no_identity():
    assert "after_unseen" in check_identities(run_identities("copies", "unseen"))


def test_communicators_that_are_created_while_the_layer_is_off_have_identities():
    assert {"while_off", "while_on"} < set(check_identities(run_identities("copies", "switch")))


def test_communicators_that_threads_create_have_identities():
    assert len(check_identities(run_identities("copies", "threads"))) > 80


def test_memory_does_not_grow():
    result = run_identities("grow")
    growth = [int(line.split()[1]) for line in result.stdout.splitlines()]
    assert len(growth) == 2 and max(growth) < 8, "bytes for each communicator"


def test_spawned_processes_have_the_identities_of_a_job_of_their_own():
    """The identities of the parents' communicators are also the same as without spawned processes,
    even if spawning fails."""
    alone = run_identities("copies", "parts")
    parents = run_identities("copies", "spawn", "parts", spawns=True)
    if not can_spawn(observe_program("observe_identities"), "spawn"):
        assert parents.stdout == "cannot spawn\n"
        assert noted(parents) == noted(alone)
        return
    worlds = noted(parents), noted(replace(parents, stderr=parents.launcher))
    for world in worlds:
        for name in ("spawned<-=?", "merged_with_spawned<spawned=?", "one_world<merged_with_spawned=?"):
            assert [values[1:] for values in world.pop(name)] == 2 * [("-", "-", "-")]
    assert worlds[0] == noted(alone)
    assert worlds[1] == noted(run_identities("copies"))


def test_in_spawned_processes_a_condition_for_ranks_means_the_ranks_of_their_own_world():
    if not can_spawn(observe_program("observe_identities"), "spawn"):
        pytest.skip("this MPI library cannot spawn")
    result = run_mpi(observe_program("observe_identities"), "copies", "spawn", spawns=True, tools=f"{tool('alpha')},@ranks=1")
    assert result.returncode == 0
    for text in (result.stderr, result.launcher):
        assert text.count("trace: init alpha 1\n") == 2
        assert text.count("trace: alpha 1 MPI_Init_thread\n") == text.count("trace: alpha 1 MPI_Finalize\n") == 1


@needs_sessions
def test_communicators_of_sessions_have_identities():
    ids = check_identities(run_identities(name="observe_identities_sessions"))
    assert len(ids) > 8
