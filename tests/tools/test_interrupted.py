# SPDX-License-Identifier: MIT
"""While a tool handles a call, a signal is raised after each instruction. The signal handler reads a variable, as
docs/write/mpi_t.md allows. Nothing hangs, and each call is counted."""
import json

import pytest
from mpi_in_use import PROCESSOR
from support import BUILD, BUNDLED_TOOLS, run_mpi

EVERY_STEP = BUILD / "tests" / "tools" / "programs" / "tools_every_step"
READ = "MPI_T_pvar_read"

pytestmark = pytest.mark.skipif(PROCESSOR != "x86_64", reason="only x86-64 has the trap flag that the program sets")


def run(tmp_path, tools, *steps):
    """Returns how often the handler has read the variable. In `tools`, COUNT stands for the layer that publishes it."""
    result = run_mpi(EVERY_STEP, "qmpi.count.calls.MPI_Comm_rank", *steps, ranks=1, cwd=tmp_path,
                     tools=tools.replace("COUNT", "count,output=count.json"),
                     env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert result.returncode == 0
    words = result.stdout.split()
    assert words[0] == "reads" and words[2:] == ["failures", "0"] and int(words[1]) > 100
    return int(words[1])


def calls(path):
    functions = json.loads(path.read_text())["functions"]
    if isinstance(functions, dict):
        return functions[READ]["calls"]
    return sum(row["calls"] for row in functions if row["name"] == READ)


@pytest.mark.parametrize("steps", [["read"], ["rank", "rank"], ["thread"]])
def test_count_loses_no_call(tmp_path, steps):
    reads = run(tmp_path, "COUNT", *steps)
    assert calls(tmp_path / "count.json") == reads + steps.count("read")


@pytest.mark.parametrize("depth, steps", [
    (1, ["read"]), (1, ["rank", "rank", "thread"]), (1, ["dup", "set_name", "of_dup", "get_name"]),
    (4, ["thread"]), (4, ["dup", "of_dup"]),
])
def test_profile_loses_no_call(tmp_path, depth, steps):
    reads = run(tmp_path, f"profile,depth={depth},output=profile.json,format=json:COUNT", *steps)
    assert calls(tmp_path / "count.json") == reads + steps.count("read")
    assert calls(tmp_path / "profile.json") == reads + steps.count("read")
    process, = json.loads((tmp_path / "profile.json").read_text())["processes"]
    if "thread" not in steps:  # without this step, all calls are made in the main thread
        assert process["useful"] == pytest.approx(process["application"] - process["mpi"])


@pytest.mark.parametrize("options", ["", ",caller=yes", ",enter=yes,time=clock"])
@pytest.mark.parametrize("steps", [["read"], ["rank"], ["thread"], ["dup", "of_dup"]])
def test_log_loses_no_line(tmp_path, options, steps):
    reads = run(tmp_path, f"log,output=lines{options}:COUNT", *steps)
    assert calls(tmp_path / "count.json") == reads + steps.count("read")
    with open(tmp_path / "lines", encoding="utf-8") as file:
        done = [line for line in file if f" {READ}(" in line and " = MPI_SUCCESS <" in line]
    assert len(done) == reads + steps.count("read")
    assert "caller" not in options or sum(" at strike (every_step.c:" in line for line in done) > 100


@pytest.mark.parametrize("tool", ["mpit", "delay,before=1ns,functions=MPI_Comm_rank"])
def test_mpit_and_delay_do_not_hang(tmp_path, tool):
    reads = run(tmp_path, f"COUNT:{tool}", "read", "rank")
    assert calls(tmp_path / "count.json") == reads + 1
