# SPDX-License-Identifier: MIT
"""The calls in progress are counted and named when profile saves the data of a process that hangs, or
that ends without MPI_Finalize."""
import signal
import subprocess
import time

import pytest
from processors import processors
from profile_support import JSON, LIBQMPI, STEPS, calls, functions, load, named, report, run_steps
from support import ASAN, BUNDLED_TOOLS, clean_environment, launch

# (step that ends the process, ending in the JSON file, exit status)
ENDS = [(f"raise={int(signal.SIGTERM)}", "signal SIGTERM", -signal.SIGTERM), ("exit=3", "exit", 3),
        ("abort=5", "MPI_Abort", 5)]


@pytest.mark.parametrize("end, termination, status", ENDS)
def test_a_call_that_has_not_ended_is_counted_and_named(tmp_path, end, termination, status):
    result = run_steps("init", "region=r", f"in_dup={end}", cwd=tmp_path, ranks=1, tools=JSON)
    assert result.returncode == status
    output = load(tmp_path / "out.0.json")
    flight, = output["in_flight"]
    assert (output["ending"], flight["name"], flight["rank"], flight["waiting"]) == (
        termination, "MPI_Comm_dup", 0, False)
    assert flight["since"][:19] >= output["begin"][:19] and 0 < flight["time"] < 60
    row = functions(output)["MPI_Comm_dup"]
    assert (row["calls"], row["no_bytes"], sum(number for _, number in row["times"])) == (1, 1, 1)
    assert "wait" not in row and "Waiting for the other ranks" not in report("--waits", tmp_path / "out.0.json")
    assert row["time"]["sum"] == row["longest"] == row["shortest"] == flight["time"]
    site, = (site for site in output["callsites"] if site["name"] == "MPI_Comm_dup")
    assert site["time"] == row["time"] and site["calls"] == 1
    assert [frame["offset"] for frame in site["frames"]] == [frame["offset"] for frame in flight["frames"]]
    region, = output["regions"]
    assert functions(region)["MPI_Comm_dup"]["time"]["sum"] == flight["time"]
    assert flight["time"] <= output["time"]["sum"] <= output["application"]["sum"]
    assert region["mpi"]["sum"] >= flight["time"]
    text = report("--in-flight", tmp_path / "out.0.json")
    assert "Calls in flight when the process was saved" in text
    assert "MPI_Comm_dup" in text and "from dup_doing (steps_handles.c:" in text
    row, = (line for line in report("--format=csv", tmp_path / "out.0.json").splitlines()
            if line.startswith("in_flight,"))
    assert row.startswith("in_flight,,MPI_Comm_dup,dup_doing (") and f",{flight['since']}" in row


def test_a_call_within_a_call_is_listed_after_the_outer_one_and_counts_once_in_mpi_time(tmp_path):
    result = run_steps("init", "in_two_dups=exit=3", cwd=tmp_path, ranks=1, tools=JSON)
    assert result.returncode == 3
    output = load(tmp_path / "out.0.json")
    outer, inner = output["in_flight"]
    assert outer["time"] > inner["time"] and outer["name"] == inner["name"] == "MPI_Comm_dup"
    row = functions(output)["MPI_Comm_dup"]
    assert row["calls"] == 2 and row["time"]["sum"] == pytest.approx(outer["time"] + inner["time"])
    # The rest of the time in MPI is that of calls that have ended, without MPI_Init, which precedes the measured time.
    others = sum(function["time"]["sum"] for name, function in functions(output).items()
                 if name not in ("MPI_Comm_dup", "MPI_Init"))
    assert outer["time"] <= output["time"]["sum"] <= outer["time"] + others + 1e-6


def test_calls_that_have_ended_are_not_in_flight(tmp_path):
    for steps in (["init", "in_dup=barrier", "exit=0"], ["init", "jump", "barrier", "exit=0"]):
        run_steps(*steps, cwd=tmp_path, ranks=1, tools=JSON)
        assert load(tmp_path / "out.0.json")["in_flight"] == []
    run_steps("init", "barrier", "finalize", cwd=tmp_path, tools=JSON)
    assert load(tmp_path / "out.json")["in_flight"] == []


def test_a_snapshot_that_is_taken_in_a_call_names_this_call(tmp_path):
    result = run_steps("init", "in_dup=level=2", "finalize", cwd=tmp_path, ranks=1, tools=JSON)
    assert result.returncode == 0
    first = load(tmp_path / "out.0.snapshot-1.json")
    assert [flight["name"] for flight in first["in_flight"]] == ["MPI_Comm_dup"]
    whole = load(tmp_path / "out.json")
    assert calls(first)["MPI_Comm_dup"] == calls(whole)["MPI_Comm_dup"] == 1
    assert functions(whole)["MPI_Comm_dup"]["time"]["sum"] > first["in_flight"][0]["time"]


def test_a_call_that_begins_while_profiling_is_off_is_not_named(tmp_path):
    run_steps("init", "level=0", "in_dup=exit=0", cwd=tmp_path, ranks=1, tools=JSON)
    output = load(tmp_path / "out.0.json")
    assert output["in_flight"] == [] and "MPI_Comm_dup" not in calls(output)


def test_each_layer_names_a_call_in_flight_with_as_many_callers_as_its_depth(tmp_path):
    run_steps("init", "in_dup=exit=0", cwd=tmp_path, ranks=1,
              tools="profile,output=1,format=json:profile,output=2,format=json,depth=3")
    for name, depth in (("1.0", 1), ("2.0", 3)):
        flight, = load(tmp_path / name)["in_flight"]
        assert [frame["function"] for frame in flight["frames"]] == [
            "dup_doing", "handle_step", "main"][:depth]


# ---- Processes that hang -------------------------------------------------------------------------


def start(*steps, cwd, tools, ranks=1):
    """Starts a job that hangs."""
    libraries = ":".join(filter(None, [ASAN, str(LIBQMPI)]))
    environment = {**clean_environment(), "QMPI_TOOL_PATH": str(BUNDLED_TOOLS), "QMPI_TOOLS": tools,
                   "OMPI_MCA_ess_singleton_isolated": "1"}
    command = [*launch(ranks, LD_PRELOAD=libraries), STEPS, *steps] if ranks > 1 else [STEPS, *steps]
    if ranks == 1:
        environment["LD_PRELOAD"] = libraries
    return subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)


def saved(path, name):
    """Waits until the saved data list a call of this name in flight, and returns the data."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        output = load(path) if path.exists() else {"in_flight": []}
        if name in [flight["name"] for flight in output["in_flight"]]:
            return output
        time.sleep(0.05)
    raise AssertionError(f"{path} never had {name}")


def end(process, number=signal.SIGKILL):
    process.send_signal(number)
    process.communicate(timeout=60)


@pytest.mark.parametrize("steps", [["receive"], ["receive_in_thread", "sleep=60000"]])
def test_a_process_that_hangs_is_saved_with_the_call_in_which_it_hangs(tmp_path, steps):
    process = start("init_threads", "barrier", *steps, cwd=tmp_path, tools=f"{JSON},checkpoint=1")
    try:
        first = saved(tmp_path / "out.0.json", "MPI_Recv")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    finally:
        end(process)
    last = load(tmp_path / "out.0.json")
    assert (first["ending"], last["ending"]) == ("checkpoint", "signal SIGTERM")
    assert last["in_flight"][0]["time"] > first["in_flight"][0]["time"]
    for output in (first, last):
        flight, = output["in_flight"]
        row = functions(output)["MPI_Recv"]
        assert (row["calls"], row["time"]["sum"]) == (1, flight["time"])
        assert output["time"]["sum"] >= flight["time"]


def test_a_rank_that_waits_for_the_others_is_named_as_waiting(tmp_path):
    """Rank 1 never comes to the collective."""
    with processors(2):
        process = start("init", "barrier", "only=0", "bcast", "only=1", "sleep=60000", cwd=tmp_path,
                        ranks=2, tools=f"{JSON},checkpoint=1,sync=yes")
        try:
            output = saved(tmp_path / "out.0.json", "MPI_Bcast")
        finally:
            end(process, signal.SIGTERM)
    flight, = output["in_flight"]
    bcast = functions(output)["MPI_Bcast"]
    assert flight["waiting"] and bcast["wait"]["sum"] == flight["time"] and bcast["time"]["sum"] == 0
    assert named(output["communicators"])["MPI_COMM_WORLD"]["wait"]["sum"] == flight["time"]
