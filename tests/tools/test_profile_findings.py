# SPDX-License-Identifier: MIT
"""The findings of profile. Most programs have one problem of a known size, at a known line and rank; others have no
problem. Most ranks sleep instead of computing, so that other tests do not slow them down."""
import json
import re
import subprocess
import time

import pytest
from findings_support import HOSTS, PROGRAMS, SLOW, check_healthy, check_planted, line_of, of_program, run_case, until
from mpi_in_use import EMULATED, OPEN_MPI
from processors import processors
from profile_support import TOOL_PATH, load, report
from support import ASAN, LIBQMPI, QMPI, clean_environment, launch, run_mpi

pytestmark = pytest.mark.usefixtures("separate_nodes")

# (case; kind; rank in the summary, or several possible ranks; seconds, or None if the program prints them or there are
# more than 2 ranks; number of ranks; tools, if other layers are needed)
CASES = [
    ("sender_recv", "late-sender", 1, .3, 2),
    ("sender_any", "late-sender", 0, .3, 2),
    ("sender_moves", "late-sender", 0, None, 4),
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
    ("last_moves", "imbalance", (0, 1, 2, 3), None, 4),
    ("last_equal", "imbalance", (0, 1, 2, 3), None, 4),
    ("last_reduces", "imbalance", 0, None, 4),
    ("last_fence", "imbalance", 1, .3, 2),
    ("access_wait", "one-sided-wait", 0, .3, 2),
    ("access_wait", "one-sided-wait", 0, None, 4),
    ("small_accesses", "small-file-accesses", (0, 1), None, 2, SLOW.format("MPI_File_write", "100us")),
    ("serial_io", "serial-io", 1, None, 2),
    ("serial_sends", "serial-sends", 0, None, 3),
    ("polling_probe", "polling", 1, .3, 2, SLOW.format("MPI_Iprobe", "20us")),
    ("polling_test", "polling", 0, .3, 2, SLOW.format("MPI_Test", "20us")),
    ("polling_pauses", "polling", 0, .3, 2),
    ("polling_pauses", "polling", 0, None, 4),
    ("polling_naps", "polling", 1, .3, 2),
    ("polling_ways", "polling", 0, .3, 2),
    ("objects_types", "temporary-objects", (0, 1), None, 2, SLOW.format("MPI_Type_commit", "20us")),
    ("objects_comms", "temporary-objects", (0, 1), None, 2, SLOW.format("MPI_Comm_dup", "200us")),
    ("startup", "startup", (0, 1), 1.5, 2, SLOW.format("MPI_Init", "1500ms")),
    ("shutdown", "shutdown", 1, 1.4, 2),
    ("startup_bcast", "serial-startup", 0, .3, 2),
    ("startup_bcast", "serial-startup", 0, None, 4),
    ("startup_recv", "serial-startup", 1, .3, 2),
    ("startup_recv", "serial-startup", 1, None, 4),
    ("master_serves", "bottleneck", 0, None, 4),
    ("master_makes", "bottleneck", 1, None, 3),
    ("io_barrier", "serial-io", 0, None, 2, SLOW.format("MPI_File_write", "30ms")),
    ("io_recv", "serial-io", 1, None, 2, SLOW.format("MPI_File_write", "30ms")),
    ("late_elsewhere", "imbalance", 0, .3, 2, SLOW.format("MPI_Get_processor_name", "30ms")),
]


# Under an emulator, opening and closing the file of serial_io takes longer than writing it, and Open MPI takes a second
# to start 8 ranks, and a quarter of a second for 2.
OTHERS_COST_MORE = ([("serial_io", 2)] if EMULATED else []) + (
    [("last_allreduce", 8), ("startup", 2)] if EMULATED and OPEN_MPI else [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[4]}")
def test_a_planted_problem_is_the_first_finding(tmp_path, case):
    name, kind, rank, seconds, ranks = case[:5]
    if (name, ranks) in OTHERS_COST_MORE:
        pytest.skip("under the emulator, other parts of the program cost more than the problem")
    until(check_planted, tmp_path, PROGRAMS / "tools_planted", "planted.c", name, kind, rank, seconds, ranks=ranks,
          tools=case[5] if len(case) > 5 else "{profile}")


@pytest.mark.parametrize("case, kind, rank", [("fortran_sender", "late-sender", 1), ("fortran_barrier", "barrier", 1),
                                              ("fortran_reduce", "imbalance", 0),
                                              ("fortran_startup", "serial-startup", 0)])
@pytest.mark.parametrize("binding", ["mpif_h", "f08"])
def test_a_problem_of_a_fortran_program_is_the_first_finding(tmp_path, binding, case, kind, rank):
    program = PROGRAMS / f"tools_planted_{binding}"
    if not program.exists():
        pytest.skip("built without Fortran")
    until(check_planted, tmp_path, program, "planted.F90", case, kind, rank, .3)


def test_a_problem_that_delay_plants_above_profile_is_the_first_finding(tmp_path):
    until(check_planted, tmp_path, PROGRAMS / "tools_planted", "planted.c", "healthy_allreduce", "imbalance", 1, .3,
          tools="delay,functions=MPI_Allreduce,ranks=1,before=30ms:{profile}")


def check_slow_node(tmp_path):
    document = check_planted(tmp_path, PROGRAMS / "tools_planted", "planted.c", "slow_node", "slow-node", (2, 3),
                             ranks=4, line=False, env={"HOSTS": "here,here,there,there"}, preload=(HOSTS,))
    assert "there" in document["findings"][0]["meaning"]


def test_a_node_whose_ranks_all_compute_longer_is_named(tmp_path):
    until(check_slow_node, tmp_path)


@pytest.mark.parametrize("case, ranks", [("startup_bcast", 2), ("startup_recv", 2), ("startup_parts", 3)])
def test_waiting_at_the_start_is_a_single_finding(tmp_path, case, ranks):
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case, ranks=ranks)
        assert [finding["kind"] for finding in document["findings"] if finding["rank"] == document["findings"][0]["rank"]
                or finding.get("peer") == document["findings"][0]["rank"]] == ["serial-startup"]
    until(check)


def check_access(tmp_path):
    document = check_planted(tmp_path, PROGRAMS / "tools_planted", "planted.c", "access_complete", "one-sided-wait",
                             (1, 2, 3), ranks=4, line=False)
    first = document["findings"][0]
    assert first["peer"] == 0 and first["function"] in ("MPI_Win_start", "MPI_Win_complete")


def test_origins_wait_for_the_target_that_opens_its_window_late(tmp_path):
    until(check_access, tmp_path)


def check_moving(tmp_path):
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "last_moves", ranks=4)
    assert "changes from call to call" in document["findings"][0]["meaning"]
    assert not any("is last" in finding["summary"] for finding in document["findings"])
    assert document["findings"][0]["share"] > .6


def test_no_rank_is_called_the_last_one_if_that_changes(tmp_path):
    until(check_moving, tmp_path)


@pytest.mark.parametrize("case, words", [("sender_moves", "for 3 ranks"), ("last_reduces", "for other ranks")])
def test_a_summary_names_no_single_peer_if_the_peer_changes(tmp_path, case, words):
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case, ranks=4)
        assert document["findings"][0]["summary"].endswith(words)
    until(check)


def check_early_end(tmp_path, ranks):
    check_planted(tmp_path, PROGRAMS / "tools_planted", "planted.c", "early_end", "shutdown", 1, .59, ranks=ranks,
                  line=False)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_that_end_early_are_found_even_in_a_short_run(tmp_path, ranks):
    until(check_early_end, tmp_path, ranks)


def check_cause(tmp_path, case, place, words, ranks, tools):
    """There must be a single finding, which describes the work of a rank and says that the others wait for it."""
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case, ranks=ranks, tools=tools)
    finding, = document["findings"]
    assert finding["line"] == line_of("planted.c", place)
    assert re.search(words, finding["meaning"]), finding


@pytest.mark.parametrize("case, place, words, ranks, tools", [
    ("io_barrier", "io_barrier", r"Others wait for it meanwhile in MPI_Barrier at planted\.c:", 2,
     SLOW.format("MPI_File_write", "30ms")),
    ("io_recv", "io_recv", r"Others wait for it meanwhile in MPI_Recv at planted\.c:", 2, SLOW.format("MPI_File_write", "30ms")),
    ("late_elsewhere", "late_elsewhere", r"Meanwhile, rank 0 is in MPI_Get_processor_name at planted\.c:", 2,
     SLOW.format("MPI_Get_processor_name", "30ms")),
    ("master_serves", "master_serves", r"MPI_Recv at planted\.c:\d+ and MPI_Ssend at planted\.c:", 4, "{profile}"),
    ("master_makes", "master_makes", r"MPI_Recv at planted\.c:\d+ and MPI_Recv at planted\.c:", 3, "{profile}"),
])
def test_a_wait_is_no_finding_beside_its_cause(tmp_path, case, place, words, ranks, tools):
    until(check_cause, tmp_path, case, place, words, ranks, tools)


@pytest.mark.parametrize("case, kind, tools", [("healthy_master", "bottleneck", "{profile}"),
                                               ("healthy_io", "serial-io", SLOW.format("MPI_File_write", "5ms"))])
def test_a_busy_rank_for_which_no_other_waits_is_no_finding(tmp_path, case, kind, tools):
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case, ranks=3, tools=tools)
        assert kind not in [finding["kind"] for finding in document["findings"]]
        assert not any("eanwhile" in finding["meaning"] for finding in document["findings"])
    until(check)


@pytest.mark.parametrize("case, objects, made", [("types", "200 datatypes", 300), ("comms", "30 communicators", 30),
                                                 ("requests", "50 persistent requests", 50), ("files", "10 files", 10)])
def test_objects_that_are_never_freed_are_found(tmp_path, case, objects, made):
    """Windows are not tested, because MPICH may crash in MPI_Finalize if a window was not freed."""
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", f"leak_{case}")
    finding, = [finding for finding in document["findings"] if finding["kind"] == "leaked-objects"]
    assert objects in finding["summary"] and f" {made} " in finding["meaning"]
    assert finding["line"] == line_of("planted.c", f"leak_{case}") and f"planted.c:{finding['line']}" in finding["summary"]
    assert finding["seconds"] == finding["share"] == 0 and "no problems found" not in report(tmp_path / "out.json")


@pytest.mark.parametrize("case", ["healthy_split", "healthy_types", "healthy_put", "healthy_io"])
def test_objects_that_are_freed_or_do_not_exist_are_not_leaked(tmp_path, case):
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case)
    assert "leaked-objects" not in [finding["kind"] for finding in document["findings"]]


def check_off(tmp_path):
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "last_off")
    finding, = document["findings"]
    assert (finding["kind"], finding["rank"], finding["line"]) == ("barrier", 0, line_of("planted.c", "last_off"))
    assert "Rank 1 was not profiled for" in finding["meaning"] and "is last" not in finding["summary"]
    seconds = {part["part"]: part["seconds"] for part in document["budget"]["parts"]}
    off = document["processes"][1]["off"]
    assert "off" not in document["processes"][0] and off > .2
    assert abs(seconds["not-profiled"] - off) < .05 * off and seconds["end"] < .2 * off


def test_a_rank_that_is_not_profiled_is_not_called_late(tmp_path):
    until(check_off, tmp_path)


# ---- problems without a rule ---------------------------------------------------------------------


def check_unexplained(tmp_path, ranks, delay, efficiency):
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "unexplained", ranks=ranks,
                           tools=SLOW.format("MPI_Get_processor_name", delay))
    assert document["efficiency"]["parallel"] < efficiency
    assert len(document["findings"]) == 1, document["findings"]
    finding = document["findings"][0]
    assert (finding["kind"], finding["function"]) == ("time-in-mpi", "MPI_Get_processor_name")
    assert finding["line"] == line_of("planted.c", "unexplained") and f"planted.c:{finding['line']}" in finding["summary"]
    assert finding["share"] > .9 * (1 - document["efficiency"]["parallel"])
    assert "no problems found" not in report(tmp_path / "out.json")


@pytest.mark.parametrize("ranks, delay, efficiency", [(2, "30ms", .35), (4, "30ms", .35), (4, "190ms", .1)])
def test_a_finding_names_the_call_that_takes_the_time_of_an_inefficient_run(tmp_path, ranks, delay, efficiency):
    until(check_unexplained, tmp_path, ranks, delay, efficiency)


def check_self(tmp_path):
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "self_exchange",
                           tools=SLOW.format("MPI_Sendrecv", "20ms"))
    assert [finding["kind"] for finding in document["findings"]] == ["time-in-mpi"]
    assert not any("waits" in site for site in document["callsites"])


def test_no_rank_waits_for_itself(tmp_path):
    until(check_self, tmp_path)


@pytest.mark.parametrize("case, ranks", [("last_equal", 4), ("last_allreduce", 4), ("small_accesses", 2),
                                         ("serial_io", 2)])
@pytest.mark.parametrize("listed", ["outliers", "all"])
def test_findings_do_not_depend_on_the_ranks_that_are_listed(tmp_path, case, ranks, listed):
    """Findings follow from the ranks in `callers` or, where this is missing, from those in `by_rank`. So they are also
    the same for a file without the lists `by_rank` that stand beside `callers`."""
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case, ranks=ranks, options=f",ranks={listed}")
    path = tmp_path / "out.json"
    assert found_again(path) == texts(document)
    whole = json.loads(path.read_text())
    for element in whole["functions"] + whole["callsites"]:
        if "callers" in element:
            element.pop("by_rank", None)
    path.write_text(json.dumps(whole))
    assert found_again(path) == texts(document)


def found_again(path):
    done = subprocess.run([QMPI, "report", "--format=json", path], env=clean_environment(), text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return texts(of_program(json.loads(done.stdout)))


def texts(document):
    return [(finding["kind"], finding["rank"], finding["summary"], finding["meaning"]) for finding in document["findings"]]


# ---- calls in flight -----------------------------------------------------------------------------


def start_hanging(tmp_path, case, ranks):
    """Starts a job that hangs. Its processes save their data each second."""
    environment = {**clean_environment(), "QMPI_TOOL_PATH": TOOL_PATH, "QMPI_TOOLS": "profile,output=r%r.json,checkpoint=1"}
    libraries = ":".join(filter(None, [ASAN, str(LIBQMPI)]))
    return subprocess.Popen([*launch(ranks, LD_PRELOAD=libraries), PROGRAMS / "tools_planted", case], cwd=tmp_path,
                            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def wait_for_flights(paths):
    """Waits until each process has saved its data while it was in a call."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if all(path.exists() and load(path)["in_flight"] for path in paths):
            return
        time.sleep(.05)
    raise AssertionError("a process was never in a call")


def find_in_hanging(tmp_path, case, ranks=2):
    paths = [tmp_path / f"r{rank}.json" for rank in range(ranks)]
    with processors(ranks):
        process = start_hanging(tmp_path, case, ranks)
        try:
            wait_for_flights(paths)
        finally:
            process.kill()
            process.communicate(timeout=60)
    done = subprocess.run([QMPI, "report", *paths], env=clean_environment(), text=True, capture_output=True, timeout=60)
    assert "no problems found" not in done.stdout
    done = subprocess.run([QMPI, "report", "--format=json", *paths], env=clean_environment(), text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return of_program(json.loads(done.stdout))["findings"]


def test_a_hang_in_which_all_ranks_wait_is_found(tmp_path):
    finding, = find_in_hanging(tmp_path, "hang_wait")
    assert (finding["kind"], finding["function"], finding["line"]) == ("deadlock", "MPI_Wait",
                                                                       line_of("planted.c", "hang_wait"))
    assert "Rank 0 waits for a message with tag 5 from rank 1." in finding["meaning"]


def test_a_hang_in_which_ranks_are_in_different_calls_is_found(tmp_path):
    finding, = find_in_hanging(tmp_path, "hang_barrier")
    assert (finding["kind"], finding["function"], finding["rank"], finding["line"]) == (
        "deadlock", "MPI_Barrier", 0, line_of("planted.c", "hang_barrier"))
    assert f"rank 1 is in MPI_Recv from rank 0 (planted.c:{line_of('planted.c', 'hang_recv')})" in finding["summary"]


# ---- no problem ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["compute", "halo", "allreduce", "write", "put", "types", "test"])
def test_a_program_without_a_problem_has_no_finding(tmp_path, case):
    until(check_healthy, tmp_path, PROGRAMS / "tools_planted", f"healthy_{case}")


def check_progress(tmp_path):
    _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "healthy_progress")
    assert "polling" not in [finding["kind"] for finding in document["findings"]]


def test_a_rank_that_computes_between_two_calls_does_not_poll(tmp_path):
    """The check is repeated, because another program may take the processor from a rank."""
    until(check_progress, tmp_path)


# ---- thresholds ----------------------------------------------------------------------------------


def count_findings(*arguments):
    done = subprocess.run([QMPI, "report", "--format=json", *arguments], env=clean_environment(), text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return len(json.loads(done.stdout)["findings"])


def test_losses_below_the_threshold_are_no_findings(tmp_path):
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


def test_waits_are_kept_when_files_of_single_processes_are_merged(tmp_path):
    result = run_mpi(PROGRAMS / "tools_planted", "sender_recv", cwd=tmp_path, timeout=120,
                     tools="profile,output=r%r.json,checkpoint=1000", env={"QMPI_TOOL_PATH": TOOL_PATH, "PLANTED_EXIT": "1"})
    files = [tmp_path / "r0.json", tmp_path / "r1.json"]
    assert [path.exists() for path in files] == [True, True], result.messages
    done = subprocess.run([QMPI, "report", "--format=json", *files], env=clean_environment(), text=True,
                          capture_output=True, timeout=60)
    site, = [site for site in json.loads(done.stdout)["callsites"] if site["name"] == "MPI_Recv"]
    assert (site["waits"]["rank"], site["waits"]["peer"]) == ([1], [0])
