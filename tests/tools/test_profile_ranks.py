# SPDX-License-Identifier: MIT
"""profile: many ranks, whose results go up a tree of several levels to rank 0."""
import pytest
from profile_support import JSON, calls, functions, load, named, names, run_steps
from support import ASAN

STEPS = ["init", "shift=100", "bcast", "finalize"]


def profile_many(tmp_path, ranks):
    """Far more ranks than processors: each waits for its turn."""
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
    assert all(site["ranks"] == ranks for site in result["callsites"])


def test_64_ranks_are_one_exact_result(tmp_path):
    ranks = 16 if ASAN else 64
    check(profile_many(tmp_path, ranks), ranks)
    assert names(tmp_path) == ["out.json"]


@pytest.mark.parametrize("ranks", [1, 3, 5, 7])
def test_a_number_of_ranks_that_is_no_power_of_two_loses_nobody(tmp_path, ranks):
    check(profile_many(tmp_path, ranks), ranks)


def test_the_communicator_of_all_is_one_row_however_many_ranks_saw_it(tmp_path):
    world = named(profile_many(tmp_path, 7)["communicators"])["MPI_COMM_WORLD"]
    assert (world["size"], world["instances"], world["calls"]) == (7, 1, 7 * 4)
