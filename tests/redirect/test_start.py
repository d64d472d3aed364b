# SPDX-License-Identifier: MIT
"""Programs that do not call MPI_Init, and programs that spawn processes."""
import re

import pytest

from redirect_support import counted, in_each_rank, reach, redirect_program, tallied
from support import can_spawn, needs_sessions

SESSION = {"MPI_Session_init": 1, "MPI_Group_from_session_pset": 1, "MPI_Comm_create_from_group": 1,
           "MPI_Group_free": 1, "MPI_Comm_rank": 1, "MPI_Barrier": 1, "MPI_Comm_free": 1,
           "MPI_Session_finalize": 1}


def starts(result):
    return [line for line in result.trace if line.startswith(("load ", "init "))]


@needs_sessions
@pytest.mark.parametrize("tools", ["alpha,functions=Barrier:count,output=calls.json",
                                   "alpha,functions=Barrier:tally:count,output=calls.json"])
def test_sessions_alone_build_the_stack_once(tools, tmp_path):
    result = reach("sessions", tools=tools, cwd=tmp_path, env={"REDIRECT_TALLY": tmp_path / "tally"})
    assert result.returncode == 0
    assert sorted(result.stdout.splitlines()) == ["rank 0", "rank 1"]
    assert result.messages == []
    assert starts(result).count("init alpha 1") == 2, "once in each rank"
    assert result.calls.count("alpha 1 MPI_Barrier") == 2
    assert counted(tmp_path / "calls.json") == in_each_rank(SESSION)


@needs_sessions
def test_a_second_session_uses_the_same_stack(tmp_path):
    result = reach("sessions", "twice", tools="alpha,functions=Barrier:empty", cwd=tmp_path)
    assert result.returncode == 0
    assert starts(result).count("init alpha 1") == 2
    assert result.calls.count("alpha 1 MPI_Barrier") == 4


def test_users_of_mpi_t_without_init_share_one_stack(tmp_path):
    """MPI_T is used by the constructor of a library, by two threads and by main. A destructor makes the
    last call."""
    result = reach("information", ranks=1, tools="alpha,functions=Init:count,output=calls.json",
                   cwd=tmp_path)
    assert result.returncode == 0
    assert "no control variables" not in result.stderr
    assert starts(result) == ["load alpha", "init alpha 1"]
    calls = counted(tmp_path / "calls.0.json")
    assert calls["MPI_T_init_thread"][0] == 4
    assert calls["MPI_T_cvar_get_num"][0] == 3
    assert calls["MPI_T_finalize"][0] in (3, 4)  # count may report before the destructor makes the last call
    assert set(calls) == {"MPI_T_init_thread", "MPI_T_cvar_get_num", "MPI_T_finalize"}


def without_layers(how):
    """Runs the program `spawn` without libqmpi. Skips the test if this fails: MPICH 5 sometimes loses a
    rank, or does not reach processes that it has spawned."""
    try:
        return reach("spawn", how, preload=(), spawns=True)
    except AssertionError:
        pytest.skip("this MPI library sometimes crashes when it spawns")


@pytest.mark.parametrize("how", ["return", "fatal"])
def test_a_spawn_fails_in_the_same_way_as_without_libqmpi(how, tmp_path):
    """With `fatal`, only the exit statuses are compared. With `return`, the error messages are compared,
    too, without the addresses in them, which differ."""
    plain = without_layers(how)
    if "Error in spawn call" not in plain.stdout + plain.stderr + plain.launcher:
        pytest.skip("this MPI library does not refuse to spawn")
    stacked = reach("spawn", how, tools="empty:tally:empty",
                    env={"REDIRECT_TALLY": tmp_path / "tally"}, spawns=True)
    assert stacked.returncode == plain.returncode
    assert stacked.messages == []
    if how == "fatal":
        assert plain.returncode != 0
        return
    told = [sorted(re.sub("0x[0-9a-f]+", "ADDRESS", result.stdout).splitlines())
            for result in (plain, stacked)]
    assert told[0] == told[1]
    assert told[0].count("class 15, children none, codes 0 0") == 2


def test_a_spawn_is_counted(tmp_path):
    plain = without_layers("return")
    if "Error in spawn call" not in plain.stdout and not can_spawn(redirect_program("spawn"), "fatal"):
        pytest.skip("this MPI library sometimes crashes when it spawns")
    reach("spawn", "return", tools="count,output=calls.%p.json", cwd=tmp_path, spawns=True)
    spawns = [counted(file).get("MPI_Comm_spawn") for file in tmp_path.glob("calls.*.json")]
    assert [each for each in spawns if each] == [(2, 1, 1)]


def test_spawned_children_are_under_the_same_stack(tmp_path):
    """Each of the two ranks spawns two children, which form a world of their own."""
    if not can_spawn(redirect_program("spawn"), "fatal"):
        pytest.skip("this MPI library cannot spawn")
    result = reach("spawn", "return", cwd=tmp_path, env={"REDIRECT_TALLY": tmp_path / "tally"}, spawns=True,
                   tools="count,output=%t.%p.json:tally:count,output=%t.%p.json")
    assert result.returncode == 0
    assert result.stdout.count("children two") == 2
    for layer in (1, 3):
        worlds = [counted(file) for file in tmp_path.glob(f"{layer}.*.json")]
        assert [calls["MPI_Init"][0] for calls in worlds] == [2, 2, 2]
        assert sum("MPI_Comm_spawn" in calls for calls in worlds) == 1
    assert tallied(tmp_path)["MPI_Comm_rank"] == 0
