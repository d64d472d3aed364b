# SPDX-License-Identifier: MIT
"""Tests that qmpi report merges the files of 1,024 processes, or of 64 with AddressSanitizer. The program
make_saves (make_saves.c) makes these files from the file of one real process."""
import csv
import json
import subprocess

import jsonschema
import pytest
from mpi_in_use import EMULATED
from support import ASAN, BUILD, BUNDLED_TOOLS, LIBQMPI, MPICC, QMPI, SOURCE, clean_environment, run_mpi

RANKS, PEERS, CALLSITES = (64, 6, 50) if ASAN else (1024, 6, 100)
SCHEMA = json.loads((SOURCE / "docs" / "run" / "qmpi-profile-2.schema.json").read_text())

PROGRAM = """#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size, in = 0, out = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 200; i++) {
        MPI_Pcontrol(1, "solve");
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Pcontrol(-1, "solve");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    exit(0);
}
"""


@pytest.fixture(scope="module")
def saves(tmp_path_factory):
    """Makes the files of all processes. Returns their paths, in the order of the ranks."""
    folder = tmp_path_factory.mktemp("saves")
    (folder / "ring.c").write_text(PROGRAM)
    subprocess.run([MPICC, "-g", "-O1", "-o", "ring", "ring.c"], cwd=folder, check=True)
    run_mpi(folder / "ring", ranks=2, cwd=folder, timeout=120, tools="profile,output=save.%r.json,depth=2",
            preload=(LIBQMPI,), env={"QMPI_TOOL_PATH": str(BUNDLED_TOOLS)})
    (folder / "all").mkdir()
    subprocess.run([BUILD / "tests" / "cli" / "make_saves", folder / "save.0.json", folder / "all", str(RANKS),
                    str(PEERS), str(CALLSITES)], env=clean_environment(), check=True, timeout=300)
    files = sorted((folder / "all").iterdir())
    assert len(files) == RANKS
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(files[-1].read_text()))
    return files


@pytest.fixture(scope="module")
def merged(saves, tmp_path_factory):
    """Returns the path of the result in JSON, and the peak memory of the command in bytes, or None if it
    cannot be measured."""
    path = tmp_path_factory.mktemp("merged") / "merged.json"
    command = [QMPI, "report", "-o", path, *saves]
    done = subprocess.run(["/usr/bin/env", "time", "-f", "%M", *command], env=clean_environment(), text=True,
                          capture_output=True, timeout=600)
    if done.returncode == 127:  # the command `time` is not installed
        subprocess.run(command, env=clean_environment(), check=True, timeout=600)
        return path, None
    assert done.returncode == 0, done.stderr
    return path, int(done.stderr.split()[-1]) * 1024


def test_the_files_of_all_ranks_become_one_result(saves, merged):
    whole = json.loads(merged[0].read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(whole)
    assert whole["ranks"] == RANKS and whole["ending"] == "exit"
    assert [process["rank"] for process in whole["processes"]] == list(range(RANKS))
    assert len({process["host"] for process in whole["processes"]}) == RANKS // 32
    assert len(whole["callsites"]) == CALLSITES and len(whole["matrix"]) == RANKS * PEERS
    assert {site["ranks"] for site in whole["callsites"]} == {RANKS}
    times = {}
    for path in saves[::RANKS // 64]:
        part = json.loads(path.read_text())
        times[part["rank"]] = part["functions"][0]["time"]["sum"]
        name = part["functions"][0]["name"]
    function, = (function for function in whole["functions"] if function["name"] == name)
    assert function["ranks"] == RANKS
    assert function["time"]["max"] >= max(times.values()) and function["time"]["min"] <= min(times.values())
    assert all(function["by_rank"]["time"][k] == pytest.approx(times[rank])
               for k, rank in enumerate(function["by_rank"]["rank"]) if rank in times)
    assert len(whole["windows"]["ranks"]) == RANKS
    assert all(len(site["waits"]["rank"]) <= 64 for site in whole["callsites"] if "waits" in site)


def test_merging_needs_no_memory_for_all_files_at_once(saves, merged):
    """The peak memory of the merge must be much less than the size of all files."""
    size = sum(path.stat().st_size for path in saves)
    if merged[1] is None or ASAN or EMULATED:  # the emulator's own memory counts, too
        pytest.skip("the memory of the command alone was not measured")
    assert merged[1] < size / 5


@pytest.mark.parametrize("form", ["text", "csv", "html"])
def test_the_result_in_other_formats_has_a_limited_size(merged, tmp_path, form):
    done = subprocess.run([QMPI, "report", f"--format={form}", "-o", tmp_path / "out", merged[0]],
                          env=clean_environment(), text=True, capture_output=True, timeout=600)
    assert done.returncode == 0 and done.stderr == ""
    text = (tmp_path / "out").read_text()
    if form == "csv":
        sites = [row for row in csv.DictReader(text.splitlines()) if row["table"] == "callsite"]
        assert len(sites) == CALLSITES
    assert len(text) < {"text": 100_000, "csv": 10_000_000, "html": 1_000_000}[form]
