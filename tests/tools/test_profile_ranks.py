# SPDX-License-Identifier: MIT
"""The figures of profile are exact with many ranks, whose results reach rank 0 through a tree of several levels. For
some figures, profile names the ranks."""
import json
import re
import subprocess

import pytest
from profile_support import JSON, calls, functions, load, logged, named, names, profile, run_steps
from support import ASAN, QMPI, clean_environment

pytestmark = pytest.mark.usefixtures("separate_nodes")

STEPS = ["init", "shift=100", "bcast", "finalize"]


def profile_many(tmp_path, ranks):
    """Returns the result of a run with possibly far more ranks than processors, which needs a long timeout."""
    result = run_steps(*STEPS, cwd=tmp_path, tools=JSON, ranks=ranks, timeout=240)
    assert result.returncode == 0 and result.messages == []
    return load(tmp_path / "out.json")


def check(result, ranks):
    assert result["ranks"] == ranks
    assert calls(result) == {"MPI_Init": ranks, "MPI_Comm_rank": ranks, "MPI_Comm_size": ranks,
                             "MPI_Sendrecv": ranks, "MPI_Bcast": ranks, "MPI_Finalize": ranks}
    assert functions(result)["MPI_Sendrecv"]["bytes"] == {"sent": 100 * ranks,
                                                          "received": 100 * ranks}
    assert [process["rank"] for process in result["processes"]] == list(range(ranks))
    assert sorted((cell["from"], cell["to"]) for cell in result["matrix"]) == [
        (rank, (rank + 1) % ranks) for rank in range(ranks)]
    assert {(cell["messages"], cell["bytes"]) for cell in result["matrix"]} == {(1, 100)}
    assert all(entry["ranks"] == ranks for entry in result["callsites"] + result["functions"])
    assert all(len(entry["by_rank"]["rank"]) <= 32 for entry in result["callsites"] + result["functions"]
               if "by_rank" in entry)


def test_the_result_of_64_ranks_is_exact(tmp_path):
    ranks = 16 if ASAN else 64
    check(profile_many(tmp_path, ranks), ranks)
    assert names(tmp_path) == ["out.json"]


@pytest.mark.parametrize("ranks", [1, 3, 5, 7])
def test_the_result_of_an_odd_number_of_ranks_is_exact(tmp_path, ranks):
    check(profile_many(tmp_path, ranks), ranks)


def test_the_communicator_of_all_ranks_is_one_row(tmp_path):
    world = named(profile_many(tmp_path, 7)["communicators"])["MPI_COMM_WORLD"]
    assert (world["size"], world["instances"], world["calls"]) == (7, 1, 7 * 4)


# ---- which rank ----------------------------------------------------------------------------------

DELAYED = ["init", "barrier", "only=2", "sleep=300", "only=1", "sleep=100", "only=-1", "barrier", "rank", "finalize"]


def sites(result, name):
    return [site for site in result["callsites"] if site["name"] == name]


def test_the_minimum_and_the_maximum_name_their_rank(tmp_path):
    """The last rank to arrive waits least."""
    result = profile(tmp_path, *DELAYED, ranks=3)
    for entry in (functions(result)["MPI_Barrier"], *sites(result, "MPI_Barrier")):
        assert (entry["time"]["min_rank"], entry["time"]["max_rank"]) == (2, 0)
    assert result["time"]["min_rank"] == 2
    for name in ("min", "max"):
        process = result["processes"][result["application"][f"{name}_rank"]]
        assert process["application"] == result["application"][name]
    text = run_steps(*DELAYED, cwd=tmp_path, ranks=3).messages
    assert any(re.match(r"MPI_Barrier +6 .* 2 +[\d.]+ ms +0 ", line) for line in text), text


def test_ranks_that_differ_are_listed_with_their_calls(tmp_path):
    result = profile(tmp_path, *DELAYED, ranks=3)
    for entry in (functions(result)["MPI_Barrier"], *sites(result, "MPI_Barrier")):
        by_rank = entry["by_rank"]
        assert by_rank["rank"] == [0, 1, 2] and by_rank["calls"] == [2, 2, 2]
        assert by_rank["time"][0] == entry["time"]["max"] and by_rank["time"][2] == entry["time"]["min"]
        assert sum(by_rank["time"]) == pytest.approx(entry["time"]["sum"])
    assert "by_rank" not in functions(result)["MPI_Comm_rank"]


def test_on_request_every_rank_is_listed_with_the_figures_that_log_shows(tmp_path):
    """The times of profile lie between those that `log` measures above and below it, however busy the machine is."""
    steps = ["init", "late=200", "bcast", "send=1000", "only=1", "rank", "only=-1", "finalize"]
    result = run_steps(*steps, cwd=tmp_path, tools=f"log,output=%r.log:{JSON},ranks=all:log,output=%r.lower")
    assert result.returncode == 0 and result.messages == []
    result = load(tmp_path / "out.json")
    calls_of = [logged(tmp_path / f"{rank}.log") for rank in (0, 1)]
    lower_calls = [logged(tmp_path / f"{rank}.lower") for rank in (0, 1)]
    for function in result["functions"]:
        name, by_rank = function["name"], function["by_rank"]
        if name == "MPI_Finalize":  # this call is not complete when the result is made
            continue
        times = {rank: [end - begin for its_name, begin, end in calls if its_name == name]
                 for rank, calls in enumerate(calls_of)}
        assert by_rank["rank"] == [rank for rank in times if times[rank]], name
        assert by_rank["calls"] == [len(times[rank]) for rank in by_rank["rank"]]
        for rank, time in zip(by_rank["rank"], by_rank["time"]):
            least = sum(end - begin for its_name, begin, end in lower_calls[rank] if its_name == name)
            assert 0.99 * least - 1e-4 <= time <= 1.01 * sum(times[rank]) + 1e-4, name
    assert functions(result)["MPI_Send"]["by_rank"]["sent"] == [1000]
    assert functions(result)["MPI_Recv"]["by_rank"]["received"] == [1000]


@pytest.mark.parametrize("option, listed", [("", [0, 1, 2]), (",ranks=all", [0])])
def test_merged_files_of_single_processes_list_the_ranks(tmp_path, option, listed):
    """With ranks=all, the ranks that made calls are listed. Otherwise, outliers are listed, which include ranks without
    calls."""
    run_steps("init", "send=100", "barrier", "exit=0", cwd=tmp_path, ranks=3, tools=JSON + option)
    files = sorted(tmp_path.glob("out.*.json"))
    assert len(files) == 3
    done = subprocess.run([QMPI, "report", "--format=json", *files], env=clean_environment(), timeout=60,
                          check=True, capture_output=True, text=True)
    entry = functions(json.loads(done.stdout))["MPI_Send"]
    assert entry["ranks"] == 1 and entry["by_rank"]["rank"] == listed
    assert entry["by_rank"]["sent"] == [100, 0, 0][:len(listed)]
