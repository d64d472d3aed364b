# SPDX-License-Identifier: MIT
"""Programs of Debian packages run under stacks of tools. Their results do not change, and all layers
see their calls."""
import json
import re
from collections import Counter

import pytest

from real_programs import netpipe, scalapack
from redirect_support import counted, reach, tallied

COUNT = "count,output=%t.json"
BUNDLED = ("profile,output=profile.json:trace,output=trace:log,output=log.%r:delay,functions=MPI_Barrier,before=1us:"
           "jobs,directory=jobs:empty")
STACKS = {"a PMPI tool twice": f"{COUNT}:tally:{COUNT}:tally:{COUNT}",
          "eight layers": f"{COUNT}:empty:empty:empty:empty:empty:empty:{COUNT}",
          # mpit is last, because it calls functions of the layers below, which would count these calls.
          "bundled tools": f"{COUNT}:{BUNDLED}:{COUNT}:mpit,output=mpit"}
every_stack = pytest.mark.parametrize("tools", STACKS.values(), ids=STACKS)


@pytest.fixture(autouse=True)
def all_libraries(monkeypatch):
    """Lets the MPI library open the same libraries as for users. In other tests, it opens fewer: see
    cheap_mpi_start in tests/meson.build."""
    for name in ("HWLOC_PLUGINS_PATH", "UCX_MODULES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def folder_of_jobs(tmp_path):
    (tmp_path / "jobs").mkdir()


def without_times(text):
    """Returns the lines of ScaLAPACK's report, without the times and speeds."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] in (["WALL"], ["CPU"]):
            # The columns are TIME M N NB NRHS NBRHS P Q, the times of LU and solve, MFLOPS, and the
            # verdict.
            line = " ".join([word for word in words if not re.fullmatch(r"\d*\.\d+", word)])
        lines.append(line)
    return lines


def check_layers(tools, folder):
    """Checks that all layers have seen the same calls. Returns the numbers of these calls: see `counted`."""
    upper, *others = (counted(path) for path in folder.glob("[0-9].json"))
    assert others == [upper] * (tools.count(COUNT) - 1)
    tally = tallied(folder)
    assert tally == {name: upper.get(name, (0,))[0] * tools.count("tally") for name in tally}
    assert bool(tally) == ("tally" in tools)
    if BUNDLED in tools:
        calls = {name: numbers[0] for name, numbers in upper.items()}
        profile = json.loads((folder / "profile.json").read_text())
        assert {row["name"]: row["calls"] for row in profile["functions"]} == calls
        lines = [line for path in folder.glob("log.*") for line in path.read_text().splitlines()]
        assert Counter(re.findall(r" (MPI_\w+)\(", "\n".join(lines))) == calls
        assert (folder / "trace" / "rank-1.qtrace").exists() and (folder / "mpit").exists()
        record, = (folder / "jobs").glob("*.json")
        assert json.loads(record.read_text())["state"] == "exited"
    return upper


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
    upper = check_layers(tools, tmp_path)
    assert upper["MPI_Comm_rank"][1] > 0 and upper["MPI_Type_commit"][1] > 0


@every_stack
def test_netpipes_messages_arrive_as_they_were_sent(tools, tmp_path):
    """NetPIPE checks the contents of the messages, and writes to a file which sizes it has sent, and how
    often."""
    def run(output, **more):
        result = reach(netpipe(), "-i", "-u", "64", "-n", "10", "-o", output, cwd=tmp_path, timeout=120,
                       env={"REDIRECT_TALLY": tmp_path / "tally"}, **more)
        assert result.returncode == 0 and result.messages == []
        sent = (tmp_path / output).read_text().splitlines()
        assert result.stderr.count("Integrity check passed") == len(sent) > 5
        return sent
    sent = run("plain.out", preload=())
    assert run("stacked.out", tools=tools) == sent
    upper = check_layers(tools, tmp_path)
    assert upper["MPI_Send"][0] >= 10 * len(sent)
    assert upper["MPI_Send"][0] == upper["MPI_Recv"][0]
