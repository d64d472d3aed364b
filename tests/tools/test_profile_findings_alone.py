# SPDX-License-Identifier: MIT
"""The findings of profile about programs that are in MPI calls all the time. Their ranks wait for each other whenever
another program takes a processor, so no other test runs at the same time."""
import csv
import os
import subprocess

import pytest
from findings_support import PROGRAMS, SLOW, check_communicating, check_planted, line_of, run_case, until
from mpi_in_use import EMULATED
from real_programs import netpipe, scalapack
from support import ASAN, QMPI, clean_environment

pytestmark = pytest.mark.skipif(bool(ASAN), reason="the sanitizer takes longer than most calls")
NOT_EMULATED = pytest.mark.skipif(EMULATED, reason="the emulator takes longer than the fastest calls")


@NOT_EMULATED
def test_small_messages_are_found(tmp_path):
    until(check_planted, tmp_path, PROGRAMS / "tools_planted", "planted.c", "small_messages", "small-messages", 0,
          tools=SLOW.format("MPI_Send", "5us"))


def test_collectives_that_take_all_the_time_are_found(tmp_path):
    """Each call is too short for a wait to be detected."""
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "busy_allreduce")
        assert document["efficiency"]["parallel"] < .5
        first = document["findings"][0]
        assert (first["kind"], first["function"]) == ("small-collectives", "MPI_Allreduce")
        assert first["line"] == line_of("planted.c", "busy_allreduce")
        loss = document["budget"]["parts"][1]
        assert loss["part"] == "small-collectives" and loss["share"] > .5
        assert loss["places"][0]["line"] == first["line"]
    until(check)


def test_barriers_that_take_all_the_time_are_found(tmp_path):
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "busy_barrier")
        first = document["findings"][0]
        assert (first["kind"], first["function"]) == ("small-collectives", "MPI_Barrier")
        assert first["line"] == line_of("planted.c", "busy_barrier")
        assert first["advice"].startswith("Remove the barrier") and "small" not in first["summary"]
    until(check)


@pytest.mark.parametrize("case, function", [("slow_allreduce", "MPI_Allreduce"), ("slow_scatter", "MPI_Reduce_scatter_block")])
@pytest.mark.parametrize("options", ["", ",sync=yes"])
def test_collectives_that_are_slower_than_others_are_found(tmp_path, case, function, options):
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case, options=options)
        first = document["findings"][0]
        assert (first["kind"], first["function"]) == ("slow-collectives", function), document["findings"]
        assert first["line"] == line_of("planted.c", case)
        assert not any(finding["line"] == first["line"] for finding in document["findings"][1:] if "line" in finding)
    until(check)


@pytest.mark.parametrize("case", ["healthy_progress", "thread_computes"])
def test_ranks_that_share_a_processor_are_found(tmp_path, case):
    """The ranks are also found if the only thread that computes is one that the program has started."""
    def check():
        processor = min(os.sched_getaffinity(0))
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", case, processors=True,
                               wrapper=["taskset", "-c", str(processor)])
        first = next((finding for finding in document["findings"] if finding["kind"] == "no-processor"), None)
        assert first and first["share"] > .3, document["findings"]
        assert f"2 ranks on node {document['processes'][0]['host']} may only use processor {processor}," in first["meaning"]
        for process in document["processes"]:
            assert process["processors"] == str(processor)
            assert process["processor_time"] < process["application"] - 0.5 * process["queued"]
        lost = {part["part"]: part["share"] for part in document["budget"]["parts"]}["no-processor"]
        assert lost > .3
        rows = csv.DictReader(subprocess.run([QMPI, "report", "--format=csv", tmp_path / "out.json"], text=True,
                                             env=clean_environment(), capture_output=True, timeout=60).stdout.splitlines())
        assert [row["processors"] for row in rows if row["table"] == "process"] == [str(processor)] * 2
    until(check)


@NOT_EMULATED
def test_many_short_waits_are_found(tmp_path):
    until(check_planted, tmp_path, PROGRAMS / "tools_planted", "planted.c", "sender_often", "late-sender", 1)


@NOT_EMULATED
@pytest.mark.parametrize("case", ["stream", "alltoall"])
def test_a_program_that_moves_much_data_has_no_finding_but_time_in_mpi(tmp_path, case):
    until(check_communicating, tmp_path, PROGRAMS / "tools_planted", f"healthy_{case}")


@NOT_EMULATED
def test_netpipe_has_no_finding_but_time_in_mpi(tmp_path):
    until(check_communicating, tmp_path, netpipe(), "-u", "262144", "-n", "50", "-o", tmp_path / "np.out")


def test_the_waiting_of_scalapack_is_explained(tmp_path):
    """One rank at a time factorizes a block of columns, and the other one waits for it."""
    program = scalapack(tmp_path, sizes=[900] * 3, block=32, right=1, grid=(1, 2), more="F")

    def check():
        result, document = run_case(tmp_path, program)
        assert result.stdout.count("PASSED") == 4  # three results, and the explanation of this word
        if document["efficiency"]["parallel"] < .8:
            assert document["findings"], document["budget"]
            assert document["findings"][0]["kind"] in ("late-sender", "late-receiver", "imbalance")
    until(check)
