# SPDX-License-Identifier: MIT
"""profile reports the efficiency over time. Programs have the values that they are constructed to have, and the sums
agree with the other figures, also with threads, nested calls, switches and sessions, and without MPI_Finalize."""
import json
import math
import subprocess

import pytest
from profile_support import JSON, load, names, profile, report, run_steps
from support import QMPI, clean_environment, needs_sessions

pytestmark = pytest.mark.usefixtures("separate_nodes")

MOST = 200  # largest number of windows of a rank


def times(result, rank):
    """Returns the profiled time and the time in MPI of each window of a rank."""
    windows = result["windows"]
    found, = (entry for entry in windows["ranks"] if entry["rank"] == rank)
    count = len(found["mpi"])
    profiled = [windows["width"] * percent / 100 for percent in found.get("profiled", [100] * count)]
    profiled[-1:] = [found["last"]] if count else []
    return [(time, time * percent / 100) for time, percent in zip(profiled, found["mpi"])]


def check_sums(result):
    """Checks that the windows of each rank add up to its application time and its time in MPI,
    except for the rounding of the last window and of the clock."""
    width = result["windows"]["width"]
    assert [entry["rank"] for entry in result["windows"]["ranks"]] == \
        [process["rank"] for process in result["processes"]]
    for process in result["processes"]:
        found = times(result, process["rank"])
        apart = 0.005 * process["application"] + 0.01 * width
        assert len(found) <= MOST
        assert sum(time for time, _ in found) == pytest.approx(process["application"], abs=apart)
        assert sum(mpi for _, mpi in found) == \
            pytest.approx(process["application"] - process["useful"], abs=apart)


def efficiency(result, begin, end):
    """Returns parallel efficiency, load balance and communication efficiency of the windows between two times."""
    width = result["windows"]["width"]
    useful, elapsed = [], 0
    for entry in result["windows"]["ranks"]:
        chosen = [window for number, window in enumerate(times(result, entry["rank"]))
                  if number * width >= begin and (number + 1) * width <= end]
        useful.append(sum(time - mpi for time, mpi in chosen))
        elapsed = max(elapsed, sum(time for time, _ in chosen))
    mean = sum(useful) / len(useful)
    return mean / elapsed, mean / max(useful) if max(useful) else 1, max(useful) / elapsed


# ---- programs that are built to have given values ----------------------------------------------------


def phases(folder):
    """Runs a program with three phases of 0.4 s: both ranks work; rank 0 waits for rank 1; both are in MPI."""
    result = profile(folder, "init", "barrier", "sleep=400", "barrier", "late=400", "barrier", "bcast",
                     "finalize", options=":delay,functions=MPI_Bcast,after=400ms")
    check_sums(result)
    return result


def test_each_phase_of_a_program_has_its_efficiency(tmp_path):
    """It is enough that one of five runs agrees, because the machine may be busy."""
    wanted = [1, 1, 1, 0.5, 0.5, 1, 0, 0]
    for _ in range(5):
        result = phases(tmp_path)
        parallel, _, communication = efficiency(result, 0.85, 1.15)
        found = [*efficiency(result, 0.05, 0.35), *efficiency(result, 0.45, 0.75), parallel, communication]
        if found == pytest.approx(wanted, abs=0.02):
            break
    assert found == pytest.approx(wanted, abs=0.02)


def test_the_efficiencies_of_a_window_follow_from_the_times_of_the_ranks(tmp_path):
    result = profile(tmp_path, "init", "sleep=20", "late=30", "barrier", "sleep=7", "finalize")
    windows = result["windows"]
    check_sums(result)
    assert windows["count"] == max(len(entry["mpi"]) for entry in windows["ranks"]) \
        == len(windows["parallel_efficiency"]) > 50
    for number in range(windows["count"]):
        found = [times(result, rank) for rank in (0, 1)]
        here = [rank[number] if number < len(rank) else (0, 0) for rank in found]
        elapsed, useful = max(time for time, _ in here), [time - mpi for time, mpi in here]
        assert windows["parallel_efficiency"][number] == pytest.approx(sum(useful) / 2 / elapsed, abs=0.0006)
        assert windows["communication_efficiency"][number] == pytest.approx(max(useful) / elapsed, abs=0.0006)
        assert windows["load_balance"][number] == pytest.approx(
            sum(useful) / 2 / max(useful) if max(useful) else 1, abs=0.0006)


# ---- widths --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ms", [5, 150, 1100])
def test_the_width_doubles_only_when_there_would_be_too_many_windows(tmp_path, ms):
    result = profile(tmp_path, "init", f"sleep={ms}", *["barrier", "send=8", "rank"] * 20, "finalize")
    windows = result["windows"]
    check_sums(result)
    elapsed = max(process["application"] for process in result["processes"])
    doublings = round(windows["width"] / 0.001).bit_length() - 1
    assert windows["width"] == 0.001 * 2 ** doublings
    assert (windows["count"] - 1) * windows["width"] <= elapsed * 1.01
    assert windows["count"] * windows["width"] >= elapsed * 0.99
    assert MOST / 2 - 1 <= windows["count"] <= MOST or not doublings


# ---- threads, nested calls, switches and sessions ----------------------------------------------------


def test_the_time_of_threads_counts_as_their_mean(tmp_path):
    result = profile(tmp_path, "init_threads", "threads=4", "sleep=100", "finalize", ranks=1,
                     options=":delay,functions=MPI_Comm_rank,after=30ms")
    assert result["processes"][0]["mpi"] > 4 * 0.12 * 0.99
    check_sums(result)


def test_calls_within_calls_count_once(tmp_path):
    result = profile(tmp_path, "init", "nest", "in_dup=rank", "sleep=200", "finalize",
                     options=":delay,functions=MPI_Comm_rank,after=50ms")
    check_sums(result)


def test_time_while_profiling_is_off_is_left_out(tmp_path):
    result = profile(tmp_path, "init", "level=0", "sleep=100", "late=50", "barrier", "level=1", "sleep=30",
                     "barrier", "level=0", "sleep=40", "level=1", "late=60", "barrier", "finalize")
    check_sums(result)
    for entry in result["windows"]["ranks"]:
        assert len(entry["profiled"]) == len(entry["mpi"])
        assert entry["profiled"].count(0) * result["windows"]["width"] > 0.1
    assert None in result["windows"]["parallel_efficiency"]


def test_waiting_before_collectives_is_in_mpi(tmp_path):
    result = profile(tmp_path, "init", "late=150", "bcast", "sleep=50", "late=50", "bcast", "finalize",
                     options=",sync=yes")
    check_sums(result)
    assert sum(mpi for _, mpi in times(result, 0)) > 0.15


@needs_sessions
def test_sessions_without_init_have_windows(tmp_path):
    steps = ["session_init", "session_comm", "sleep=50", "late=50", "session_barrier", "session_free",
             "session_finalize"]
    run_steps(*steps, cwd=tmp_path, tools=JSON)
    for path in tmp_path.iterdir():
        check_sums(load(path))
    assert names(tmp_path)


# ---- processes that end without MPI_Finalize ----------------------------------------------------------


def merged(folder):
    done = subprocess.run([QMPI, "report", "--format=json", *(folder / name for name in names(folder))],
                          env=clean_environment(), text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_windows_of_ranks_with_different_run_times_get_one_width(tmp_path):
    """Each rank writes a file of its own, and rank 1 runs much longer than rank 0."""
    run_steps("init", "barrier", "sleep=90", "late=900", "exit=0", cwd=tmp_path, tools=JSON)
    widths = [load(tmp_path / name)["windows"]["width"] for name in names(tmp_path)]
    assert len(widths) == 2 and widths[1] > 2 * widths[0]
    result = merged(tmp_path)
    check_sums(result)
    assert result["windows"]["width"] == widths[1]
    short, long = (len(entry["mpi"]) for entry in result["windows"]["ranks"])
    assert long > 5 * short > 0


def test_a_call_in_flight_is_in_the_windows_of_its_time(tmp_path):
    run_steps("init_threads", "receive_in_thread", "sleep=300", "barrier", "exit=0", cwd=tmp_path, tools=JSON)
    assert len(names(tmp_path)) == 2
    for name in names(tmp_path):
        result = load(tmp_path / name)
        check_sums(result)
        flight, = result["in_flight"]
        assert flight["name"] == "MPI_Recv" and flight["time"] > 0.15
        begin = result["processes"][0]["application"] - flight["time"]
        first = math.ceil(begin / result["windows"]["width"])
        during = times(result, result["rank"])[first:]
        assert len(during) > 30 and all(mpi > 0.4 * time for time, mpi in during[:-1])


# ---- other formats -------------------------------------------------------------------------------


def test_csv_has_the_same_windows(tmp_path):
    result = profile(tmp_path, "init", "sleep=20", "late=30", "barrier", "finalize")
    done = subprocess.run([QMPI, "report", "--format=csv", tmp_path / "out.json"], text=True,
                          env=clean_environment(), capture_output=True, timeout=60)
    header, *lines = (line.split(",") for line in done.stdout.splitlines())
    listed = [dict(zip(header, line)) for line in lines]
    for rank in (0, 1):
        found = [(float(line["application"]), float(line["mpi"])) for line in listed
                 if line["table"] == "window_rank" and line["rank"] == str(rank)]
        assert found == [pytest.approx(window) for window in times(result, rank)]
    figures = [line for line in listed if line["table"] == "window"]
    for name, member in (("parallel", "parallel_efficiency"), ("load_balance", "load_balance"),
                         ("communication", "communication_efficiency")):
        assert [float(line["value"]) for line in figures if line["name"] == name] == \
            [pytest.approx(value, abs=0.0006) for value in result["windows"][member]]


def test_the_report_has_a_table_if_the_efficiency_varies(tmp_path):
    (tmp_path / "phases").mkdir()
    (tmp_path / "even").mkdir()
    phases(tmp_path / "phases")
    text = report(tmp_path / "phases" / "out.json")
    assert "\nEfficiency over time, every " in text
    profile(tmp_path / "even", "init", "sleep=300", "finalize")
    assert "\nEfficiency over time: parallel efficiency " in report(tmp_path / "even" / "out.json")
    table = report("--windows", tmp_path / "even" / "out.json").split("Efficiency over time")[1].splitlines()
    assert 10 <= len(table) - 2 <= 20
    assert all(len(line) <= 80 for line in table)
