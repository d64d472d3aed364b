# SPDX-License-Identifier: MIT
"""Random MPI_T calls from two threads against a model, calls in signal handlers, and the same under
valgrind, which must find nothing that is ours."""
import shutil

import pytest

from mpit_support import run_mpit
from support import ASAN

VALGRIND = shutil.which("valgrind")


@pytest.mark.parametrize("stack", ["publisher", "empty:publisher:now"])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_random_calls_answer_as_the_model(seed, stack):
    result = run_mpit("random_calls", seed, 10000, tools=stack)
    assert (result.returncode, result.stdout) == (0, "done\n")


def test_values_may_be_read_written_and_reset_in_a_signal_handler():
    result = run_mpit("signals", 2, tools="publisher")
    assert (result.returncode, result.stdout) == (0, "done\n")


@pytest.mark.skipif(not VALGRIND, reason="there is no valgrind")
@pytest.mark.skipif(bool(ASAN), reason="valgrind cannot run a sanitized program")
@pytest.mark.parametrize("program", [["random_calls", 5, 10000], ["conform"]])
def test_valgrind_finds_nothing_of_ours(program, tmp_path):
    from test_valgrind import errors_of_ours
    report = tmp_path / "report.xml"
    result = run_mpit(*program, tools="publisher", timeout=300, wrapper=[
        VALGRIND, "--quiet", "--xml=yes", f"--xml-file={report}", "--leak-check=full",
        "--show-leak-kinds=definite"])
    assert result.returncode == 0
    assert "not ok" not in result.stdout
    assert errors_of_ours(report) == []
