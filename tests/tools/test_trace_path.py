# SPDX-License-Identifier: MIT
"""qmpi report --path finds the critical path in the traces of programs for which it is known by construction."""
import json
import re
import subprocess

import pytest
from mpi_in_use import EMULATED
from profile_support import QMPI, report, run_steps
from support import ASAN, BUILD, HAS_SESSIONS, clean_environment

pytestmark = pytest.mark.usefixtures("separate_nodes")

PROGRAMS = BUILD / "tests" / "tools" / "programs"
UNIT = 0.06  # seconds, as in tests/tools/programs/path.h
TOOL = "trace,format=own"
SLOW = ASAN or EMULATED  # a sanitizer or an emulator takes time, too, so only lower limits are checked


def find_path(folder, *options):
    """Returns the profile of the trace in a folder, with the critical path."""
    return json.loads(report("--path", "--format=json", *options, folder / "qmpi-trace"))


def run_case(folder, case, ranks=2, tools=TOOL, program="tools_path"):
    """Returns the profile of a run, and by how many seconds all ranks together have worked longer than planned."""
    result = run_steps(case, program=PROGRAMS / program, cwd=folder, tools=tools, ranks=ranks, sleeps=True)
    assert result.returncode == 0 and result.messages == []
    excess = [float(line.split()[1]) for line in result.stdout.splitlines() if line.startswith("excess ")]
    assert len(excess) == ranks
    return find_path(folder), sum(excess)


def check_case(folder, case, path, ranks=2, slack=0.02, **more):
    """Checks the critical path of a case, which must have the length `path` in units. Because the machine may be
    busy, only one of up to five runs has to agree. The critical path may contain any part of the time by which the
    ranks worked longer than planned, and may be longer by the share `slack`."""
    for _ in range(5):
        result, excess = run_case(folder, case, ranks, **more)
        found, least = result["efficiency"], path * UNIT
        if least * 0.999 <= found["critical_path"] and (
                SLOW or found["critical_path"] <= (least + excess) * (1 + slack)):
            break
    assert least * 0.999 <= found["critical_path"]
    assert SLOW or found["critical_path"] <= (least + excess) * (1 + slack)
    most = max(process["useful"] for process in result["processes"])
    assert found["serialisation"] == pytest.approx(most / found["critical_path"])
    assert found["transfer"] == pytest.approx(found["critical_path"] / found["elapsed"])
    longest = max(process["path"] for process in result["processes"])
    assert found["critical_path"] == pytest.approx(min(longest, found["elapsed"]))
    return result


# (case, number of ranks, critical path in units)
CASES = [
    ("chain", 2, 6), ("chain", 4, 12), ("chain_ssend", 2, 6), ("chain_isend", 2, 6), ("chain_issend", 2, 6),
    ("chain_bsend", 2, 6), ("chain_freed", 2, 6), ("chain_large", 2, 6), ("chain_persistent", 2, 6), ("pipeline", 3, 7),
    ("workers", 3, 8), ("halo", 2, 8), ("halo", 3, 8), ("halo_persistent", 2, 8), ("shift", 2, 4),
    ("out_of_order", 2, 4), ("any_before", 2, 4), ("any_after", 2, 4), ("any_tag", 2, 4), ("tags", 2, 4),
    ("polled", 2, 4), ("cancelled", 2, 4), ("abandoned", 2, 4), ("failing", 2, 6), ("probed", 2, 5),
    ("alternate", 2, 6), ("alternate", 3, 6), ("rooted", 2, 5), ("against_root", 2, 4), ("scans", 2, 4),
    ("nonblocking", 2, 5), ("communicators", 2, 30), ("intercommunicator", 2, 4), ("neighbors", 2, 5),
    ("windows", 2, 4), ("switched", 2, 12),
    ("exchange", 2, 4), ("freed_comm", 2, 4), ("without_clock", 2, 6), ("attributes", 2, 6), ("one_off", 2, 12), ("persistent_collective", 2, 4 if HAS_SESSIONS else 6),
]


@pytest.mark.parametrize("case, ranks, path", CASES)
def test_the_critical_path_is_that_of_the_program(tmp_path, case, ranks, path):
    check_case(tmp_path, case, path, ranks)


def test_regions_have_a_critical_path_of_their_own(tmp_path):
    wanted = {"all": 13, "chain": 6, "alternate": 6}
    for _ in range(5):
        result, excess = run_case(tmp_path, "regions")
        regions = {region["name"]: region for region in result["regions"]}
        if all(SLOW or regions[name]["path"] <= (units * UNIT + excess) * 1.02 for name, units in wanted.items()):
            break
    for name, units in wanted.items():
        region = regions[name]
        assert units * UNIT * 0.999 <= region["path"]
        assert SLOW or region["path"] <= (units * UNIT + excess) * 1.02
        found = region["efficiency"]
        assert found["critical_path"] == pytest.approx(min(region["path"], found["elapsed"]))
        assert found["serialisation"] == pytest.approx(region["useful"]["max"] / found["critical_path"])
    text = report("--path", tmp_path / "qmpi-trace")
    assert re.search(r"(?m)^region .* PE +LB +CommE +SerE +TE$", text)
    assert re.search(r"(?m)^    serialisation +0\.\d{3} +rank \d works \d+ ms, the critical path is \d+ ms$", text)
    assert re.search(r"(?m)^    transfer +[01]\.\d{3} +[\d.]+ m?s of [\d.]+ m?s$", text)


def test_threads_have_clocks_of_their_own(tmp_path):
    """The time in which one thread waits outside MPI for the end of the other one counts as work, so the path may be
    somewhat longer."""
    check_case(tmp_path, "threads", 6, slack=0.1)


def test_threads_may_receive_the_same_messages(tmp_path):
    """It is uncertain which thread gets which message. The chain that follows these messages takes 6 units."""
    result, _ = run_case(tmp_path, "threads_same")
    assert result["efficiency"]["critical_path"] >= 6 * UNIT


@pytest.mark.parametrize("binding", ["mpif_h", "mpi", "f08"])
def test_the_critical_path_of_a_fortran_program_is_found(tmp_path, binding):
    program = f"tools_path_{binding}"
    if not (PROGRAMS / program).exists():
        pytest.skip("built without Fortran")
    check_case(tmp_path, "", 8, program=program)


# ---- beside other tools, and in other forms -----------------------------------------------------------


@pytest.mark.parametrize("tools", ["trace,format=own,sites=yes,depth=4", "trace,format=own:log,output=/dev/null:count,output=count.txt",
                                   "trace,format=own,memory=1M:profile,output=other.json"])
@pytest.mark.parametrize("case, path", [("halo", 8), ("rooted", 5)])
def test_the_critical_path_is_the_same_beside_other_layers_and_options(tmp_path, case, path, tools):
    check_case(tmp_path, case, path, tools=tools)


def run_report(*arguments):
    return subprocess.run([QMPI, "report", *arguments], env=clean_environment(), text=True, capture_output=True,
                          timeout=60, check=False)


def test_a_part_of_a_trace_gives_a_part_of_the_path(tmp_path):
    run_case(tmp_path, "chain")
    done = run_report("--path", "--format=json", tmp_path / "qmpi-trace" / "rank-0.qtrace")
    assert done.returncode == 0
    assert done.stderr == (f"qmpi: {tmp_path}/qmpi-trace/rank-0.qtrace: the critical path contains only 1 of 2 ranks\n")
    found = json.loads(done.stdout)
    assert found["efficiency"]["critical_path"] == pytest.approx(found["processes"][0]["useful"])
    assert "serialisation" not in json.loads(report("--format=json", tmp_path / "qmpi-trace"))["efficiency"]


def test_a_saved_result_keeps_the_path_and_others_have_none(tmp_path):
    run_case(tmp_path, "chain")
    report("--path", "-o", tmp_path / "with.json", tmp_path / "qmpi-trace")
    report("-o", tmp_path / "without.json", tmp_path / "qmpi-trace")
    assert run_report("--path", tmp_path / "with.json").returncode == 0
    assert "serialisation" in report(tmp_path / "with.json")
    done = run_report("--path", tmp_path / "without.json")
    assert done.returncode == 2 and "Efficiency" in done.stdout
    assert done.stderr == (f"qmpi: {tmp_path}/without.json: this is a profile, which has no critical path\n"
                           "qmpi: hint: record a trace with 'qmpi run -t trace', and give --path the trace\n")


def test_the_removed_option_path_of_profile_is_refused_with_a_hint(tmp_path):
    result = run_steps("init", "finalize", cwd=tmp_path, tools="profile,path=yes", ranks=2)
    assert result.returncode == 2
    assert result.messages == [
        "QMPI_TOOLS, entry 1 'profile,path=yes': tool profile failed to initialize: path=yes is no longer "
        "supported: the critical path is found in a trace",
        "  hint: run the program with '-t trace', and then 'qmpi report --path qmpi-trace'"]


# ---- what the program itself says --------------------------------------------------------------------


def run_random(folder, seed, ranks):
    """Returns the critical path that the program itself has computed."""
    result = run_steps(seed, "20", program=PROGRAMS / "tools_path_random", cwd=folder, tools=TOOL, ranks=ranks,
                       sleeps=True)
    assert result.returncode == 0 and result.messages == []
    return float(dict(line.split() for line in result.stdout.splitlines())["path"])


@pytest.mark.parametrize("ranks, seed", [(2, seed) for seed in range(1, 9)] + [(3, seed) for seed in range(1, 4)])
def test_the_path_of_random_messages_equals_the_one_that_the_program_computes(tmp_path, seed, ranks):
    """The messages carry the length of the path that leads to them, from which the program computes the critical
    path."""
    for _ in range(20):
        path = run_random(tmp_path, str(seed), ranks)
        found = find_path(tmp_path)["efficiency"]["critical_path"]
        if SLOW or found == pytest.approx(path, rel=0.02):
            break
    assert SLOW or found == pytest.approx(path, rel=0.02)
