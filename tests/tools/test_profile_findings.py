# SPDX-License-Identifier: MIT
"""profile: findings in words. Programs with one problem each, at a known line and rank, of a known size; and
programs without any. Most ranks sleep: another test takes no time from them."""
import json
import subprocess

import pytest
from findings_support import HOSTS, PROGRAMS, SLOW, check_healthy, check_planted, run_case, until
from profile_support import TOOL_PATH
from support import QMPI, clean_environment, run_mpi

# case, kind, rank that the summary names (None: any), seconds (None: the program says), ranks, tools
CASES = [
    ("sender_recv", "late-sender", 1, .3, 2),
    ("sender_any", "late-sender", 0, .3, 2),
    ("sender_wait", "late-sender", 1, .3, 2),
    ("sender_waitall", "late-sender", (0, 2), None, 3),
    ("sender_probe", "late-sender", 1, .3, 2),
    ("sender_exchange", "late-sender", 0, .3, 2),
    ("receiver_ssend", "late-receiver", 0, .3, 2),
    ("receiver_large", "late-receiver", 1, .3, 2),
    ("receiver_isend", "late-receiver", 0, .3, 2),
    ("receiver_persistent", "late-receiver", 0, .3, 2),
    ("last_allreduce", "imbalance", 1, .3, 2),
    ("last_allreduce", "imbalance", 3, None, 4),
    ("last_allreduce", "imbalance", 7, None, 8),
    ("last_bcast", "imbalance", 0, .3, 2),
    ("last_reduce", "imbalance", 1, None, 3),
    ("last_alltoall", "imbalance", 1, .3, 2),
    ("last_barrier", "barrier", 0, .3, 2),
    ("last_branches", "barrier", 0, .3, 2),
    ("last_turns", "imbalance", (0, 1), None, 2),
    ("last_fence", "imbalance", 1, .3, 2),
    ("small_accesses", "small-file-accesses", (0, 1), None, 2, SLOW.format("MPI_File_write", "100us")),
    ("serial_io", "serial-io", 1, None, 2),
    ("serial_sends", "serial-sends", 0, None, 3),
    ("polling_probe", "polling", 1, .3, 2, SLOW.format("MPI_Iprobe", "20us")),
    ("polling_test", "polling", 0, .3, 2, SLOW.format("MPI_Test", "20us")),
    ("objects_types", "temporary-objects", (0, 1), None, 2, SLOW.format("MPI_Type_commit", "20us")),
    ("objects_comms", "temporary-objects", (0, 1), None, 2, SLOW.format("MPI_Comm_dup", "200us")),
    ("startup", "startup", (0, 1), 1.5, 2, SLOW.format("MPI_Init", "1500ms")),
    ("shutdown", "shutdown", 1, 1.4, 2),
    ("startup_bcast", "serial-startup", 0, .3, 2),
    ("startup_bcast", "serial-startup", 0, None, 4),
    ("startup_recv", "serial-startup", 1, .3, 2),
    ("startup_recv", "serial-startup", 1, None, 4),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[4]}")
def test_a_planted_problem_is_the_first_finding(tmp_path, case):
    name, kind, rank, seconds, ranks = case[:5]
    until(check_planted, tmp_path, PROGRAMS / "tools_planted", "planted.c", name, kind, rank, seconds, ranks=ranks,
          tools=case[5] if len(case) > 5 else "{profile}")


@pytest.mark.parametrize("case, kind, rank", [("fortran_sender", "late-sender", 1), ("fortran_barrier", "barrier", 1),
                                              ("fortran_reduce", "imbalance", 0),
                                              ("fortran_startup", "serial-startup", 0)])
@pytest.mark.parametrize("binding", ["mpif_h", "f08"])
def test_so_is_one_of_a_fortran_program(tmp_path, binding, case, kind, rank):
    program = PROGRAMS / f"tools_planted_{binding}"
    if not program.exists():
        pytest.skip("built without Fortran")
    until(check_planted, tmp_path, program, "planted.F90", case, kind, rank, .3)


def test_so_is_one_that_delay_plants_above_profile(tmp_path):
    until(check_planted, tmp_path, PROGRAMS / "tools_planted", "planted.c", "healthy_allreduce", "imbalance", 1, .3,
          tools="delay,functions=MPI_Allreduce,ranks=1,before=30ms:{profile}")


def check_slow_node(tmp_path):
    document = check_planted(tmp_path, PROGRAMS / "tools_planted", "planted.c", "slow_node", "slow-node", (2, 3),
                             ranks=4, line=False, env={"HOSTS": "here,here,there,there"}, preload=(HOSTS,))
    assert "there" in document["findings"][0]["meaning"]


def test_a_node_whose_ranks_all_compute_longer_is_named(tmp_path):
    until(check_slow_node, tmp_path)


@pytest.mark.parametrize("case, ranks", [("startup_bcast", 2), ("startup_recv", 2), ("startup_parts", 3)])
def test_waiting_at_the_start_is_told_once(tmp_path, case, ranks):
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case, ranks=ranks)
        assert [finding["kind"] for finding in document["findings"] if finding["rank"] == document["findings"][0]["rank"]
                or finding.get("peer") == document["findings"][0]["rank"]] == ["serial-startup"]
    until(check)


# ---- no problem ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["compute", "halo", "allreduce", "write", "put", "types", "test"])
def test_a_program_without_a_problem_has_no_finding(tmp_path, case):
    until(check_healthy, tmp_path, PROGRAMS / "tools_planted", f"healthy_{case}")


# ---- thresholds ----------------------------------------------------------------------------------


def count_findings(*arguments):
    done = subprocess.run([QMPI, "report", "--format=json", *arguments], env=clean_environment(), text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return len(json.loads(done.stdout)["findings"])


def test_thresholds_say_what_is_a_finding(tmp_path):
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "last_allreduce")
        share = document["findings"][0]["share"]
        assert .6 < share < .9
        assert count_findings(tmp_path / "out.json") == 1
        assert count_findings("--threshold=50", tmp_path / "out.json") == 1
        assert count_findings("--threshold=95", tmp_path / "out.json") == 0
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "last_allreduce", options=",threshold=95")
        assert document["findings"] == []
    until(check)


def test_waits_of_several_files_are_those_of_one(tmp_path):
    """The results of single processes, merged by qmpi report."""
    result = run_mpi(PROGRAMS / "tools_planted", "sender_recv", cwd=tmp_path, timeout=120,
                     tools="profile,output=r%r.json,checkpoint=1000", env={"QMPI_TOOL_PATH": TOOL_PATH, "PLANTED_EXIT": "1"})
    files = [tmp_path / "r0.json", tmp_path / "r1.json"]
    assert [path.exists() for path in files] == [True, True], result.messages
    done = subprocess.run([QMPI, "report", "--format=json", *files], env=clean_environment(), text=True,
                          capture_output=True, timeout=60)
    site, = [site for site in json.loads(done.stdout)["callsites"] if site["name"] == "MPI_Recv"]
    assert (site["waits"]["rank"], site["waits"]["peer"]) == ([1], [0])
