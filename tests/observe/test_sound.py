# SPDX-License-Identifier: MIT
"""valgrind finds no errors in libqmpi and in observers. The checks of observe_support.py find wrong
values. For a call that does not return, `after` is not called."""
import pytest

from observe_support import (PMPI_TOOLS, OBSERVE_TOOLS, check_rank, observe_program, run_observed,
                             witness)
from support import ASAN, TOOLS
from test_valgrind import VALGRIND, errors_of_ours, run_under_valgrind


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed, or cannot run under the emulator")
@pytest.mark.skipif(bool(ASAN), reason="valgrind cannot run a sanitized program")
@pytest.mark.parametrize("name", ["arguments", "collectives", "in_place"])
def test_valgrind_finds_no_errors_in_an_observed_run(tmp_path, name):
    report = tmp_path / "report.xml"
    path = f"{OBSERVE_TOOLS}:{PMPI_TOOLS}:{TOOLS}"
    result = run_under_valgrind(report, observe_program(f"observe_{name}"), tmp_path,
                                tools=f"empty:{witness(tmp_path)}:now",
                                env={"QMPI_TOOL_PATH": path})
    assert result.returncode == 0
    assert errors_of_ours(report) == []
    check_rank(tmp_path, 0)


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed, or cannot run under the emulator")
@pytest.mark.skipif(bool(ASAN), reason="valgrind cannot run a sanitized program")
def test_valgrind_finds_no_errors_in_wrong_registrations_and_calls(tmp_path):
    report = tmp_path / "report.xml"
    result = run_under_valgrind(report, "calls", "init", "comm_rank", "barrier", "finalize",
                                tools="wrong:beside:chosen,twice=yes:word",
                                env={"QMPI_TOOL_PATH": OBSERVE_TOOLS})
    assert result.returncode == 0
    assert errors_of_ours(report) == []


@pytest.mark.parametrize("seen, complaint", [
    ("MPI_Send sent=12 received=0 transfers=>1/1/7/12 comm=0x01", "sent: seen 12, true 16"),
    ("MPI_Send sent=16 received=4 transfers=>1/1/7/16 comm=0x01", "received: seen 4, true 0"),
    ("MPI_Send sent=16 received=0 transfers=>1/0/7/16 comm=0x01", "transfers: seen >1/0/7/16"),
    ("MPI_Send sent=16 received=0 transfers=>1/1/7/16 comm=0x02", "comm: seen 0x02"),
    ("MPI_Send sent=16 received=0 transfers=>1/1/7/16 comm=0x01 fault=x", "fault: seen x"),
    ("MPI_Ssend sent=16 received=0 transfers=>1/1/7/16 comm=0x01", "MPI_Ssend was seen"),
    ("", "1 calls, 0 seen"),
])
def test_a_wrong_figure_would_be_found(tmp_path, seen, complaint):
    rest = (" result=0 root=- started=- completed=- sent_before=16 received_before=0 "
            "transfers_before=>1/1/7/16 comm_after=0x01 root_before=-")
    (tmp_path / "expected.0").write_text("MPI_Send sent=16 transfers=>1/1/7/16 comm=0x01\n",
                                         encoding="utf-8")
    (tmp_path / "witness.0").write_text(
        f"MPI_Send sent=16 received=0 transfers=>1/1/7/16 comm=0x01{rest}\n", encoding="utf-8")
    check_rank(tmp_path, 0)
    (tmp_path / "witness.0").write_text(f"{seen}{rest}\n" if seen else "", encoding="utf-8")
    with pytest.raises(AssertionError, match=complaint):
        check_rank(tmp_path, 0)


def test_after_is_not_called_for_a_call_that_does_not_return():
    result = run_observed("observe_abort", ranks=1, tools="chosen,functions=MPI_Abort+MPI_Init")
    assert result.returncode != 0
    assert [line for line in result.trace if line.startswith("chosen ")] == [
        "chosen 1 MPI_Init", "chosen 1 MPI_Init", "chosen 1 MPI_Abort"]
