# SPDX-License-Identifier: MIT
"""Layers do not see MPI calls that a shared MPI library itself makes, unless QMPI_INTERNAL=1 is set."""
import pytest

from redirect_support import counted, in_each_rank, reach, tallied
from support import ABI, BUNDLED_TOOLS, OPEN_MPI, run_mpi

with_inner_calls = pytest.mark.skipif(
    OPEN_MPI, reason="Open MPI's library makes no MPI calls of its own")

# The calls that files.c makes in each rank.
EXPECTED = {
    "MPI_Init": 1, "MPI_Finalize": 1, "MPI_Comm_rank": 1, "MPI_Comm_size": 1,
    "MPI_Type_vector": 1, "MPI_Type_commit": 1, "MPI_Type_free": 1,
    "MPI_File_open": 1, "MPI_File_set_view": 1, "MPI_File_write_all": 1, "MPI_File_seek": 1,
    "MPI_File_read_all": 1, "MPI_File_close": 1,
}


def files(folder, tools, **env):
    result = reach("files", folder / "file", tools=tools, cwd=folder,
                   env={"REDIRECT_TALLY": folder / "tally", **env})
    assert result.returncode == 0
    assert sorted(result.stdout.splitlines()) == [
        f"rank {rank} read what it wrote" for rank in (0, 1)]
    assert result.messages == []


@pytest.mark.parametrize("internal", [None, "0", ""])
def test_the_librarys_own_calls_are_hidden(internal, tmp_path):
    files(tmp_path, "count,output=%t.json:tally:count,output=%t.json", QMPI_INTERNAL=internal)
    for name in ("1.json", "3.json"):
        assert counted(tmp_path / name) == in_each_rank(EXPECTED)
    tally = tallied(tmp_path)
    assert tally["MPI_Type_commit"] == 2
    assert tally == {name: 2 * EXPECTED.get(name, 0) for name in tally}


@with_inner_calls
def test_qmpi_internal_shows_the_librarys_own_calls(tmp_path):
    """In MPICH, ROMIO queries the datatype of the view (since MPICH 5, by functions that only MPICH
    has) and duplicates the communicator."""
    files(tmp_path, "count,output=calls.json", QMPI_INTERNAL="1")
    calls = counted(tmp_path / "calls.json")
    inner = set(calls) - set(EXPECTED)
    assert "MPI_Comm_dup" in inner
    # The standard ABI does not contain functions that only MPICH has.
    assert ABI or {"MPI_Type_get_envelope", "MPIX_Type_iov_len"} & inner
    for name, number in EXPECTED.items():
        assert calls[name][0] >= 2 * number, name
    assert calls["MPI_File_open"] == (2, 1, 1)


@with_inner_calls
def test_qmpi_internal_shows_the_librarys_own_calls_to_pmpi_tools(tmp_path):
    hidden, shown = tmp_path / "hidden", tmp_path / "shown"
    for folder, internal in ((hidden, None), (shown, "1")):
        folder.mkdir()
        files(folder, "tally", QMPI_INTERNAL=internal)
    assert tallied(hidden)["MPI_Comm_rank"] == 2
    assert tallied(shown)["MPI_Comm_rank"] > 2


@with_inner_calls
def test_every_layer_sees_the_same_inner_calls(tmp_path):
    files(tmp_path, "count,output=%t.json:empty:count,output=%t.json", QMPI_INTERNAL="1")
    upper, lower = counted(tmp_path / "1.json"), counted(tmp_path / "3.json")
    # The lower layer may see more functions: in MPI_Finalize, the upper layer itself calls MPI, and in
    # these calls, the library may call MPI.
    assert set(upper) - set(EXPECTED)
    assert {name: lower[name] for name in upper} == upper


def test_an_unknown_value_of_qmpi_internal_is_reported_once():
    result = run_mpi("calls", "init", "finalize", tools="empty", env={"QMPI_TOOL_PATH": BUNDLED_TOOLS,
                                                                       "QMPI_INTERNAL": "maybe"})
    assert result.returncode == 0
    assert result.messages == ["QMPI_INTERNAL: unknown value 'maybe'; using no", "  hint: set it to yes or no"]
