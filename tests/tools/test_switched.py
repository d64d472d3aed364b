# SPDX-License-Identifier: MIT
"""The tools count and profile combine all ranks even if they are switched off on a single rank. If a program uses MPI
Sessions, they combine all ranks if these end a session together; otherwise, each process writes a file of its own. No
rank waits for one that does not take part."""
import pytest
from profile_support import (JSON, SLOWER, calls, clocks, functions, load, named, names, profile, report,
                             run_steps)
from support import needs_sessions

pytestmark = pytest.mark.usefixtures("separate_nodes")

BOTH = f"{JSON}:count,output=count.json"


def both(tmp_path, *steps, **more):
    """Returns the calls that profile and count have found. They are the same unless only one of the layers was
    switched."""
    result = run_steps(*steps, cwd=tmp_path, tools=BOTH, **more)
    assert result.returncode == 0 and result.messages == []
    assert names(tmp_path) == ["count.json", "out.json"]
    count = load(tmp_path / "count.json")
    return calls(load(tmp_path / "out.json")), {
        name: function["calls"] for name, function in count["functions"].items()}


# ---- Layers that are off on one rank -------------------------------------------------------------


def test_a_rank_whose_layers_are_off_at_the_end_still_contributes_its_calls(tmp_path):
    profiled, counted = both(tmp_path, "init", "barrier", "only=1", "off=profile", "off=count",
                             "only=-1", "barrier", "finalize")
    for seen in (profiled, counted):
        assert (seen["MPI_Init"], seen["MPI_Barrier"], seen["MPI_Finalize"]) == (2, 3, 1)


@pytest.mark.parametrize("first, second", [("count", "count#2"), ("count#2", "count")])
def test_ranks_combine_their_layers_in_the_same_order_if_different_ones_are_off(tmp_path, first, second):
    """If the orders differed, the ranks of one layer would combine their numbers with those of another layer."""
    result = run_steps("init", "barrier", "only=0", f"off={first}", "only=1", f"off={second}",
                       "only=-1", "finalize", cwd=tmp_path,
                       tools="count,output=%t.json:empty:count,output=%t.json")
    assert result.returncode == 0 and result.messages == []
    for name in ("1.json", "3.json"):
        counted = load(tmp_path / name)
        assert counted["ranks"] == 2 and counted["functions"]["MPI_Barrier"]["calls"] == 2
        assert counted["functions"]["MPI_Finalize"]["calls"] == 1


def test_ranks_on_which_the_layer_is_off_take_part_in_the_barriers_of_sync(tmp_path):
    result = profile(tmp_path, "init", "only=1", "off=profile", "only=-1", "bcast", "bcast",
                     "finalize", options=",sync=yes")
    assert calls(result)["MPI_Bcast"] == 2


def test_a_layer_that_is_off_during_mpi_init_takes_part_at_the_end(tmp_path):
    result = run_steps("initialized", "only=1", "off=profile", "only=-1", "init", "only=1",
                       "on=profile", "only=-1", "barrier", "finalize", cwd=tmp_path, tools=JSON)
    assert result.returncode == 0 and result.messages == []
    result = load(tmp_path / "out.json")
    assert (calls(result)["MPI_Init"], calls(result)["MPI_Barrier"]) == (1, 2)
    assert [process["rank"] for process in result["processes"]] == [0, 1]


def test_handles_that_come_and_go_while_the_layer_is_off_are_known_afterwards(tmp_path):
    """MPI may give the communicator `second` the handle of `first`, which was freed while the layer was off."""
    result = profile(tmp_path, "init", "dup", "name=first", "use", "off=profile", "drop",
                     "dup_self", "name=second", "use", "on=profile", "use", "drop", "finalize")
    rows = [(comm["name"], comm["size"], comm["instances"], comm["calls"])
            for comm in result["communicators"] if "WORLD" not in comm["name"]]
    assert sorted(rows) == [("first", 2, 1, 4), ("second", 1, 1, 2), ("second", 1, 1, 2)]


def test_files_that_are_opened_while_the_layer_is_off_have_their_names(tmp_path):
    result = profile(tmp_path, "init", "open=first", "write", "off=profile", "close", "open=second",
                     "on=profile", "write", "close", "finalize", ranks=1)
    files = named(result["files"])
    assert {name: (file["written"], file["calls"]) for name, file in files.items()} == {
        "first": (7, 2), "second": (7, 2)}


def test_regions_that_end_while_the_layer_is_off_have_ended(tmp_path):
    result = profile(tmp_path, "init", "region=a", "barrier", "off=profile", "end=a", "on=profile",
                     "barrier", "finalize")
    region, = result["regions"]
    assert calls(region)["MPI_Barrier"] == 2


# ---- Sessions ------------------------------------------------------------------------------------


@needs_sessions
def test_a_session_of_all_processes_combines_their_results(tmp_path):
    profiled, counted = both(tmp_path, "session_init", "session_comm", "session_barrier",
                             "session_finalize")
    assert profiled == counted
    assert profiled["MPI_Barrier"] == profiled["MPI_Session_finalize"] == 2


@needs_sessions
def test_a_communicator_that_is_only_created_and_freed_combines_the_results(tmp_path):
    profiled, _ = both(tmp_path, "session_init", "session_comm", "session_free",
                       "session_finalize")
    assert profiled["MPI_Comm_free"] == 2


def alone(tmp_path, *steps):
    """Returns the calls of the two processes. For each process, profile and count must write a file of its own."""
    result = run_steps(*steps, cwd=tmp_path, tools=BOTH)
    assert result.returncode == 0 and result.messages == []
    assert names(tmp_path) == ["count.0.json", "count.1.json", "out.0.json", "out.1.json"]
    return [calls(load(tmp_path / f"out.{rank}.json")) for rank in (0, 1)]


@needs_sessions
def test_a_session_without_a_communicator_of_all_processes_combines_nothing(tmp_path):
    """A rank may open and close a session that the others do not have. (The session around it is
    needed because MPICH synchronizes all ranks when the first session begins and when the last one ends.)"""
    first, second = alone(tmp_path, "session_init", "only=1", "session_init=1", "session_finalize=1",
                          "only=-1", "session_finalize")
    assert (first["MPI_Session_init"], second["MPI_Session_init"]) == (1, 2)


@needs_sessions
def test_ranks_may_open_sessions_a_different_number_of_times(tmp_path):
    """Rank 0 has one session for both communicators, and rank 1 has one for each. Because MPI_Comm_disconnect frees the
    communicators, the ends of the sessions need not match, and each process reports for itself."""
    first, second = alone(
        tmp_path, "session_init", "session_comm", "session_barrier", "session_disconnect",
        "only=1", "session_init=1", "session_finalize", "session_comm=1", "only=0", "session_comm",
        "only=-1", "session_barrier", "session_disconnect",
        "only=1", "session_finalize=1", "only=0", "session_finalize")
    assert (first["MPI_Session_init"], second["MPI_Session_init"]) == (1, 2)
    assert first["MPI_Barrier"] == second["MPI_Barrier"] == 2


@needs_sessions
def test_no_rank_waits_if_one_has_several_sessions(tmp_path):
    """MPI does not show from which session a communicator was created, so each process reports for itself."""
    alone(tmp_path, "session_init", "only=1", "session_init=1", "only=-1", "session_comm",
          "session_barrier", "only=1", "session_finalize=1", "only=-1", "session_finalize")


@needs_sessions
def test_sessions_of_one_rank_beside_the_session_of_all_do_no_harm(tmp_path):
    profiled, counted = both(tmp_path, "session_init", "session_comm", "only=1", "session_init=1",
                             "session_finalize=1", "only=-1", "session_barrier", "session_finalize")
    assert profiled == counted
    assert profiled["MPI_Session_finalize"] == 3


@needs_sessions
def test_calls_after_the_session_of_all_ranks_are_saved_too(tmp_path):
    """Rank 1 has a second session open when the session of all ranks ends."""
    result = run_steps("session_init", "session_comm", "only=1", "session_init=1", "only=-1",
                       "session_finalize", "only=1", "session_finalize=1", cwd=tmp_path, tools=BOTH)
    assert result.returncode == 0 and result.messages == []
    assert names(tmp_path) == ["count.1.json", "count.json", "out.1.json", "out.json"]
    assert calls(load(tmp_path / "out.json"))["MPI_Session_finalize"] == 2
    assert calls(load(tmp_path / "out.1.json"))["MPI_Session_finalize"] == 2


SESSION = ["session_init", "session_comm", "session_barrier"]


@needs_sessions
@pytest.mark.parametrize("steps, barriers", [
    ([*SESSION, "init", "barrier", "session_barrier", "session_finalize", "barrier", "finalize"], 4),
    ([*SESSION, "init", "barrier", "finalize", "session_barrier", "session_finalize"], 3),
    (["init", "barrier", *SESSION, "finalize", "session_barrier", "session_finalize"], 3)],
    ids=["session in front", "session around", "session behind"])
def test_results_are_combined_at_the_later_end_of_session_and_mpi_finalize(tmp_path, steps, barriers):
    profiled, counted = both(tmp_path, *steps)
    assert profiled == counted
    assert profiled["MPI_Barrier"] == 2 * barriers
    assert profiled["MPI_Finalize"] == profiled["MPI_Session_finalize"] == 2


@needs_sessions
@pytest.mark.parametrize("steps", [["session_comm", "session_barrier", "session_free"],
                                   ["session_init=1", "session_comm=1", "session_barrier", "session_free",
                                    "session_finalize=1"]], ids=["same session", "another session"])
def test_calls_of_a_session_that_outlives_mpi_finalize_are_saved(tmp_path, steps):
    """No communicator of all processes exists in MPI_Finalize. The results are combined there. All calls are in a second
    result, which the session combines, or which each process saves at exit."""
    result = run_steps("session_init", "init", "barrier", "finalize", *steps, "session_finalize", cwd=tmp_path,
                       tools=BOTH)
    assert result.returncode == 0 and result.messages == []
    suffixes = [".0", ".1"] if "session_init=1" in steps else [""]
    for suffix in suffixes:
        counted = load(tmp_path / f"count{suffix}.json")["functions"]
        profiled = calls(load(tmp_path / f"out{suffix}.json"))
        assert {name: function["calls"] for name, function in counted.items()} == profiled
        assert profiled["MPI_Barrier"] == 2 * profiled["MPI_Finalize"] == 4 / len(suffixes)
    assert names(tmp_path) == sorted(f"{tool}{suffix}.json" for tool in ("count", "out") for suffix in {*suffixes, ""})


@needs_sessions
def test_a_session_combines_the_results_although_the_layers_of_a_rank_are_off(tmp_path):
    profiled, counted = both(tmp_path, "session_init", "only=1", "off=profile", "off=count",
                             "only=-1", "session_comm", "session_barrier", "session_finalize")
    assert profiled["MPI_Barrier"] == counted["MPI_Barrier"] == 1


@needs_sessions
def test_a_process_whose_sessions_are_finalized_reports_for_itself_without_complaint(tmp_path):
    result = run_steps("clock=begin", "session_init", "session_finalize", "clock=end", "sleep=300", cwd=tmp_path,
                       ranks=1, tools=BOTH)
    assert result.returncode == 0 and result.stderr == ""
    assert load(tmp_path / "count.0.json")["functions"]["MPI_Session_finalize"]["calls"] == 1
    saved = load(tmp_path / "out.0.json")
    assert saved["ending"] == "MPI_Session_finalize" and calls(saved)["MPI_Session_finalize"] == 1
    at = clocks(result)
    # The time after MPI was finalized is not included.
    assert saved["application"]["sum"] <= (at["end"] - at["begin"]) / SLOWER
    assert "ended    each process reported separately: MPI_Session_finalize\n" in report(tmp_path / "out.0.json")


@needs_sessions
def test_messages_name_the_rank_and_its_file_if_no_output_is_given(tmp_path):
    result = run_steps("session_init", "session_init=1", "session_finalize", "session_finalize=1",
                       cwd=tmp_path, ranks=1, tools="count:profile")
    assert result.returncode == 0 and names(tmp_path) == ["qmpi-profile.0.json"]
    heads = [line for line in result.messages if "(layer" in line]
    assert sorted(heads) == ["count (layer 1): MPI calls of rank 0 alone",
                             "profile (layer 2): rank 0: its data is in qmpi-profile.0.json"]


@needs_sessions
@pytest.mark.parametrize("steps", [["session_init"], ["session_init", "session_init=1", "session_finalize=1"],
                                   ["session_init", "init", "session_finalize"]])
def test_a_session_or_mpi_that_is_not_finalized_is_reported(tmp_path, steps):
    result = run_steps(*steps, cwd=tmp_path, ranks=1, tools=BOTH)
    assert sum("ended without MPI_Finalize" in line for line in result.messages) == 2
    assert load(tmp_path / "out.0.json")["ending"] == "exit"


# ---- Sessions, and ranks with other tools --------------------------------------------------------

RANK = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
SESSION = ["session_init", "session_comm", "session_barrier", "session_free", "session_finalize"]


def run_differing(tmp_path, *steps, others, **more):
    """Runs a job in which the ranks in `others` have other tools, because each of them first executes a shell command
    that changes its environment. There is one rank more than there are others."""
    cases = " ".join(f"{rank}) {command} ;;" for rank, command in others.items())
    result = run_steps(*steps, cwd=tmp_path, ranks=len(others) + 1, timeout=60,
                       wrapper=["sh", "-c", f"case {RANK} in {cases} esac; exec \"$@\"", "-"], **more)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("the processes of this job have different tools") == 1
    return result


@needs_sessions
@pytest.mark.parametrize("steps", [SESSION, [*SESSION[:3], "init", "barrier", "finalize", *SESSION[3:]],
                                   ["session_init", "init", *SESSION[1:], "finalize"]], ids=["alone", "around", "in front"])
@pytest.mark.parametrize("tools", ["count,output=x", "profile,output=x,format=json", "trace,output=x"])
@pytest.mark.parametrize("other", ["unset LD_PRELOAD", "export QMPI_TOOLS=empty"], ids=["none", "empty"])
@pytest.mark.parametrize("alone", [0, 1])
def test_in_a_session_a_tool_of_one_rank_does_not_wait_for_the_other(tmp_path, alone, other, tools, steps):
    run_differing(tmp_path, *steps, others={1 - alone: other}, tools=tools)
    if tools.startswith("trace"):
        assert [path.name for path in (tmp_path / "x").glob("*.qtrace")] == [f"rank-{alone}.qtrace"]
    else:
        result = load(tmp_path / "x")
        functions = result["functions"]
        called = calls(result) if isinstance(functions, list) else {
            name: function["calls"] for name, function in functions.items()}
        assert called["MPI_Session_init"] == 1 and called["MPI_Barrier"] == 1 + ("barrier" in steps)


@needs_sessions
def test_a_session_combines_the_ranks_that_have_the_layer(tmp_path):
    run_differing(tmp_path, *SESSION, tools="profile,output=out.json:empty:count,output=count.json",
                  others={1: "unset LD_PRELOAD", 2: "export QMPI_TOOLS=count,output=count.json",
                          3: "export QMPI_TOOLS=profile,output=out.json"})
    count, profiled = load(tmp_path / "count.json"), load(tmp_path / "out.json")
    assert count["ranks"] == 2 and count["functions"]["MPI_Barrier"]["calls"] == 2
    assert [process["rank"] for process in profiled["processes"]] == [0, 3] and calls(profiled)["MPI_Barrier"] == 2


@needs_sessions
def test_in_a_session_nobody_waits_before_collectives_if_a_rank_does_not_have_the_layer(tmp_path):
    result = run_differing(tmp_path, *SESSION, tools=f"{JSON},sync=yes", others={1: "unset LD_PRELOAD"})
    assert sum("sync=yes has no effect" in line for line in result.messages) == 1
    assert calls(load(tmp_path / "out.json"))["MPI_Barrier"] == 1


# ---- Calls that are left by a jump ---------------------------------------------------------------


def test_later_calls_are_timed_after_an_error_handler_has_jumped_out_of_a_call(tmp_path):
    result = profile(tmp_path, "init", "jump", "finalize", ranks=1, options=":slow,ms=200")
    assert functions(result)["MPI_Barrier"]["calls"] == 1
    assert functions(result)["MPI_Barrier"]["time"]["sum"] >= 0.2 * SLOWER
    assert result["time"]["sum"] >= functions(result)["MPI_Barrier"]["time"]["sum"]


# ---- Layers that conditions switch off -----------------------------------------------------------


@pytest.mark.parametrize("switch, seen", [([], {"MPI_Initialized", "MPI_Init"}), (["on=count"], None)])
def test_a_switch_before_the_rank_is_known_takes_precedence_over_the_condition(tmp_path, switch, seen):
    run_steps("initialized", *switch, "init", "barrier", "finalize", ranks=1, cwd=tmp_path,
              tools="count,output=count.json,@ranks=1-")
    counted = set(load(tmp_path / "count.json")["functions"])
    assert counted == seen if seen else counted > {"MPI_Init", "MPI_Barrier", "MPI_Finalize"}


def test_a_layer_that_is_off_at_the_start_is_switched_on_by_its_variable(tmp_path):
    result = run_steps("init", "barrier", "only=1", "on=profile", "on=count", "only=-1", "barrier", "finalize",
                       cwd=tmp_path, tools=f"{JSON},@enabled=no:count,output=count.json,@enabled=no")
    assert (result.returncode, result.messages) == (0, [])
    counted = load(tmp_path / "count.json")["functions"]
    assert calls(load(tmp_path / "out.json"))["MPI_Barrier"] == counted["MPI_Barrier"]["calls"] == 1


@pytest.mark.parametrize("end", [("level=2", "finalize"), ("exit=0",), ("raise=15",)])
def test_layers_that_were_never_on_write_nothing(tmp_path, end):
    result = run_steps("init", "barrier", *end, cwd=tmp_path, ranks=1,
                       tools=f"{JSON},@if-env=NONE:count,output=count.json,@enabled=no:profile,@program=none")
    assert result.messages == [] and names(tmp_path) == []
