# SPDX-License-Identifier: MIT
"""The efficiency that profile reports equals the values that follow from the lines of log, and the values that programs
are constructed to have. This is tested for nodes, threads, regions, and files of single processes."""
import json
import re
import subprocess
from collections import defaultdict

import pytest
from mpi_in_use import EMULATED
from profile_support import JSON, load, logged, names, profile, run_steps
from support import BUILD, LIBQMPI, QMPI, clean_environment

pytestmark = pytest.mark.usefixtures("separate_nodes")

# Under an emulator, the times of the two tools differ more, because it translates code between their clock readings.
TOLERANCE = 0.03 if EMULATED else 0.01

HOSTS = BUILD / "tests" / "tools" / "tools" / "hosts.so"


def ratios(elapsed, useful, hosts=None):
    """Computes the ratios from their definitions. `useful` contains the time outside MPI of each rank, and `hosts` the
    node of each rank."""
    nodes = defaultdict(list)
    for rank, time in enumerate(useful):
        nodes[hosts[rank] if hosts else ""].append(time)
    mean, most = sum(useful) / len(useful), max(useful)
    node = max(sum(times) / len(times) for times in nodes.values())
    return {"elapsed": elapsed, "parallel": mean / elapsed, "communication": most / elapsed,
            "load_balance": mean / most, "load_balance_within_nodes": node / most,
            "load_balance_between_nodes": mean / node}


def of_processes(result):
    """Returns the ratios as computed from the figures of the ranks."""
    processes = result["processes"]
    return ratios(max(process["application"] for process in processes),
                  [process["useful"] for process in processes],
                  [process["host"] for process in processes])


# ---- what log says -------------------------------------------------------------------------------


def outside(calls, begin, end):
    """Returns the seconds between two times, and how many of them were outside MPI."""
    inside = sum(until - since for _, since, until in calls if begin <= since and until <= end)
    return end - begin, end - begin - inside


def run_logged(folder):
    """Makes one run. Returns two pairs, for the run and for a region: the ratios from profile, and those from the lines
    of log."""
    steps = ["init", "sleep=200", "late=300", "barrier", "region=solve", "sleep=300", "bcast", "late=200",
             "barrier", "end=solve", "sleep=100", "barrier", "finalize"]
    tools = f"log,output=%r.log:{JSON}:delay,functions=MPI_Bcast,after=150ms"
    result = run_steps(*steps, cwd=folder, tools=tools)
    assert result.returncode == 0 and result.messages == []
    runs, regions = [], []
    for rank in (0, 1):
        calls = logged(folder / f"{rank}.log")
        at = {name: (begin, end) for name, begin, end in calls}
        first, last = (call for call in calls if call[0] == "MPI_Pcontrol")
        finalize = re.search(r"\] ([\d.]+) MPI_Finalize", (folder / f"{rank}.log").read_text())
        runs.append(outside(calls, at["MPI_Init"][1], float(finalize[1])))
        regions.append(outside(calls, first[2], last[2]))
    result = load(folder / "out.json")
    return [(found["efficiency"], ratios(max(time for time, _ in times), [useful for _, useful in times]))
            for found, times in ((result, runs), (result["regions"][0], regions))]


def test_efficiency_equals_the_one_that_follows_from_the_lines_of_log(tmp_path):
    """It is enough that one of five runs agrees, because a process may be interrupted between the clock readings of the
    two tools."""
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        both = run_logged(tmp_path / str(number))
        if all(found == pytest.approx(wanted, rel=TOLERANCE) for found, wanted in both):
            break
    for found, wanted in both:
        assert found == pytest.approx(wanted, rel=TOLERANCE)
        assert 0.3 < wanted["parallel"] < 0.9  # otherwise, the test would not be meaningful


# ---- programs that are built to have given values ----------------------------------------------------


@pytest.mark.parametrize("steps, options, parallel, balance, communication", [
    (["sleep=800", "barrier"], "", 1, 1, 1),
    (["sleep=500", "late=500", "barrier"], "", 0.75, 0.75, 1),
    (["late=800", "barrier"], "", 0.5, 0.5, 1),
    (["only=0", "sleep=500", "only=-1", "barrier", "late=500", "barrier"], "", 0.5, 1, 0.5),
    (["sleep=500", "barrier"], ":delay,functions=MPI_Barrier,after=500ms", 0.5, 1, 0.5),
    (["sleep=400", "late=400", "barrier", "bcast"], ":delay,functions=MPI_Bcast,after=800ms",
     0.375, 0.75, 0.5)])
def test_the_efficiency_of_a_program_with_a_known_efficiency_is_reported(tmp_path, steps, options, parallel, balance,
                                                                         communication):
    """It is enough that one of 15 runs agrees, because the machine may be busy."""
    wanted = {"parallel": parallel, "load_balance": balance, "communication": communication}
    for _ in range(15):
        found = profile(tmp_path, "init", "barrier", "region=r", *steps, "end=r", "finalize",
                        options=options)["regions"][0]["efficiency"]
        if all(found[name] == pytest.approx(value, rel=0.02) for name, value in wanted.items()):
            break
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=0.02)


# ---- nodes and threads -------------------------------------------------------------------------------


@pytest.mark.parametrize("hosts", [["a", "a", "b", "b"], ["a", "b", "b", "b"]])
def test_load_balance_is_reported_within_and_between_nodes(tmp_path, hosts):
    steps = ["init", "region=r", "only=0", "sleep=400", "only=2", "sleep=200", "only=3", "sleep=200",
             "only=-1", "end=r", "barrier", "finalize"]
    result = profile(tmp_path, *steps, ranks=4, env={"HOSTS": ",".join(hosts)},
                     preload=[LIBQMPI, HOSTS])
    assert [process["host"] for process in result["processes"]] == hosts
    wanted = of_processes(result)
    assert result["efficiency"] == pytest.approx(wanted)
    region, = result["regions"]
    nodes = {node["host"]: node["useful"] for node in region["nodes"]}
    assert sum(nodes.values()) == pytest.approx(region["useful"]["sum"])
    node = max(nodes[host] / hosts.count(host) for host in nodes)
    found = region["efficiency"]
    assert found["load_balance_within_nodes"] == pytest.approx(node / region["useful"]["max"])
    assert found["load_balance_between_nodes"] == pytest.approx(region["useful"]["mean"] / node)
    assert found["load_balance"] == pytest.approx(
        found["load_balance_within_nodes"] * found["load_balance_between_nodes"])
    assert found["load_balance_within_nodes"] <= 1 and found["load_balance_between_nodes"] <= 1


def test_with_several_threads_the_time_in_mpi_is_the_mean_of_those_that_call_mpi(tmp_path):
    """Four threads are in MPI for 0.4 s at the same time, while the main thread waits for them."""
    result = profile(tmp_path, "init_threads", "region=r", "threads=4", "sleep=400", "end=r", "finalize",
                     ranks=1, options=":delay,functions=MPI_Comm_rank,after=100ms")
    process, = result["processes"]
    assert process["mpi"] >= 1.6 * 0.99
    # There are five threads that call MPI, because the main thread ends the region by a call.
    for time, mpi, useful in ((process["application"], process["mpi"], process["useful"]),
                              (result["regions"][0]["time"]["sum"], result["regions"][0]["mpi"]["sum"],
                               result["regions"][0]["useful"]["sum"])):
        assert useful == pytest.approx(time - mpi / 5)


# ---- files ---------------------------------------------------------------------------------------


def report(*arguments):
    done = subprocess.run([QMPI, "report", *arguments], env=clean_environment(), text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_merged_files_of_single_processes_have_the_efficiency_of_the_run(tmp_path):
    steps = ["init", "region=r", "sleep=200", "late=200", "barrier", "end=r", "exit=0"]
    run_steps(*steps, cwd=tmp_path, tools=JSON, env={"HOSTS": "a,b"}, preload=[LIBQMPI, HOSTS])
    files = [tmp_path / name for name in names(tmp_path)]
    assert len(files) == 2
    alone = load(files[0])
    assert alone["efficiency"]["load_balance"] == 1
    assert alone["efficiency"]["parallel"] == pytest.approx(
        alone["processes"][0]["useful"] / alone["processes"][0]["application"])
    whole = json.loads(report("--format=json", *files))
    wanted = of_processes(whole)
    assert whole["efficiency"] == pytest.approx(wanted) and wanted["load_balance"] < 0.9
    region = whole["regions"][0]["efficiency"]
    assert region["load_balance_between_nodes"] == pytest.approx(region["load_balance"]) != 1


def test_the_report_explains_the_efficiency_in_words(tmp_path):
    result = run_steps("init", "sleep=200", "late=400", "barrier", "finalize", cwd=tmp_path)
    text = "\n".join(result.messages)
    assert re.search(r"(?m)^parallel efficiency +0\.\d{3}  mean rank: \d+ ms of \d+ ms outside MPI$", text)
    assert re.search(r"(?m)^  load balance +0\.\d{3}  mean \d+ ms, most \d+ ms on rank 1$", text)
    assert re.search(r"(?m)^  communication +[01]\.\d{3}  rank 1: \d+ ms of \d+ ms outside MPI$", text)
    assert "between nodes" not in text
