# SPDX-License-Identifier: MIT
"""Random MPI_T calls from two threads are compared with a model, and calls are made in signal
handlers. Under valgrind, no error may be found in libqmpi."""
import shutil

import pytest

from mpi_in_use import EMULATED
from mpit_support import run_mpit
from support import ASAN

VALGRIND = not EMULATED and shutil.which("valgrind")


@pytest.mark.parametrize("stack", ["publisher", "empty:publisher:now"])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_random_calls_return_the_values_of_the_model(seed, stack):
    result = run_mpit("random_calls", seed, 10000, tools=stack)
    assert (result.returncode, result.stdout) == (0, "done\n")


@pytest.mark.parametrize("what, rounds", [("handles", 20000), ("sessions", 20000)])
def test_two_threads_do_not_disturb_each_other(what, rounds):
    result = run_mpit("shared", what, rounds, tools="publisher")
    assert (result.returncode, result.stdout) == (0, "done\n")


def test_no_callback_is_called_for_an_object_whose_handle_was_freed():
    result = run_mpit("shared", "objects", 2000, tools="mortal")
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert [line for line in result.trace if "gone" in line] == []


def test_values_may_be_read_written_and_reset_in_a_signal_handler():
    result = run_mpit("signals", 1000, tools="publisher")
    assert (result.returncode, result.stdout) == (0, "done\n")


@pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed, or cannot run under the emulator")
@pytest.mark.skipif(bool(ASAN), reason="valgrind cannot run a sanitized program")
@pytest.mark.parametrize("program", [["random_calls", 5, 10000], ["conform"]])
def test_valgrind_finds_no_error_in_libqmpi(program, tmp_path):
    from test_valgrind import errors_of_ours
    report = tmp_path / "report.xml"
    result = run_mpit(*program, tools="publisher", timeout=300, wrapper=[
        VALGRIND, "--quiet", "--xml=yes", f"--xml-file={report}", "--leak-check=full",
        "--show-leak-kinds=definite"])
    assert result.returncode == 0
    assert "not ok" not in result.stdout
    assert errors_of_ours(report) == []
