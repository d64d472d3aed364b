# SPDX-License-Identifier: MIT
"""Programs of Debian packages: their results do not change, and tools see their calls."""
import re

import pytest

from real_programs import netpipe, scalapack
from redirect_support import counted, reach, tallied

STACKS = {"native": "count,output=%t.json",
          "native, PMPI, native": "count,output=%t.json:tally:count,output=%t.json"}
every_stack = pytest.mark.parametrize("tools", STACKS.values(), ids=STACKS)


@pytest.fixture(autouse=True)
def all_libraries(monkeypatch):
    """The MPI library opens all libraries that it opens for users: see cheap_mpi_start in
    tests/meson.build."""
    for name in ("HWLOC_PLUGINS_PATH", "UCX_MODULES"):
        monkeypatch.delenv(name, raising=False)


def without_times(text):
    """Returns the lines of the report, without the times and speeds in lines with results."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] in (["WALL"], ["CPU"]):
            # The columns are TIME M N NB NRHS NBRHS P Q, LU and solve time, MFLOPS, and the
            # verdict.
            line = " ".join([word for word in words if not re.fullmatch(r"\d*\.\d+", word)])
        lines.append(line)
    return lines


@every_stack
def test_scalapacks_lu_factorization_has_the_same_results(tools, tmp_path):
    program = scalapack(tmp_path)
    run = {"cwd": tmp_path, "timeout": 120, "env": {"REDIRECT_TALLY": tmp_path / "tally"}}
    plain = reach(program, preload=(), **run)
    stacked = reach(program, tools=tools, **run)
    assert plain.returncode == stacked.returncode == 0
    assert "tests completed and passed residual checks" in plain.stdout
    assert without_times(stacked.stdout) == without_times(plain.stdout)
    assert stacked.messages == []
    upper = counted(tmp_path / "1.json")
    assert upper["MPI_Comm_rank"][1] > 0 and upper["MPI_Type_commit"][1] > 0
    if "tally" in tools:
        assert counted(tmp_path / "3.json") == upper
        tally = tallied(tmp_path)
        assert sum(tally.values()) > 100
        assert tally == {name: upper.get(name, (0,))[0] for name in tally}


@every_stack
def test_netpipe_finishes_and_its_messages_are_seen(tools, tmp_path):
    result = reach(netpipe(), "-u", "64", "-n", "10", "-o", tmp_path / "np.out", tools=tools,
                   cwd=tmp_path, timeout=120, env={"REDIRECT_TALLY": tmp_path / "tally"})
    assert result.returncode == 0
    sizes = [int(line.split()[0]) for line in (tmp_path / "np.out").read_text().splitlines()]
    assert sizes[0] == 1 and 64 in sizes
    upper = counted(tmp_path / "1.json")
    assert upper["MPI_Send"][0] >= 10 * len(sizes)
    assert upper["MPI_Send"][0] == upper["MPI_Recv"][0]
    if "tally" in tools:
        assert counted(tmp_path / "3.json") == upper
        tally = tallied(tmp_path)
        assert tally == {name: upper.get(name, (0,))[0] for name in tally}
