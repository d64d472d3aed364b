# SPDX-License-Identifier: MIT
"""profile: findings about programs that are in MPI calls all the time. Their ranks wait for each other wherever
something else takes a processor: no other test runs meanwhile."""
import pytest
from findings_support import PROGRAMS, SLOW, check_healthy, check_planted, until
from real_programs import netpipe, scalapack
from support import ASAN

pytestmark = pytest.mark.skipif(bool(ASAN), reason="the sanitizer takes longer than most calls")


def test_small_messages_are_found(tmp_path):
    until(check_planted, tmp_path, PROGRAMS / "tools_planted", "planted.c", "small_messages", "small-messages", 0,
          tools=SLOW.format("MPI_Send", "5us"))


def test_many_short_waits_are_found(tmp_path):
    until(check_planted, tmp_path, PROGRAMS / "tools_planted", "planted.c", "sender_often", "late-sender", 1)


@pytest.mark.parametrize("case", ["stream", "alltoall"])
def test_a_program_that_moves_much_has_no_finding(tmp_path, case):
    until(check_healthy, tmp_path, PROGRAMS / "tools_planted", f"healthy_{case}")


def test_netpipe_has_none(tmp_path):
    until(check_healthy, tmp_path, netpipe(), "-u", "262144", "-n", "50", "-o", tmp_path / "np.out")


def test_scalapack_has_none(tmp_path):
    until(check_healthy, tmp_path, scalapack(tmp_path, sizes=[1200], block=32, right=1, grid=(1, 2), more="F"))
