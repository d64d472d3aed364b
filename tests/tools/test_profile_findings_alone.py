# SPDX-License-Identifier: MIT
"""profile: findings about programs that are in MPI calls all the time. Their ranks wait for each other wherever
something else takes a processor: no other test runs meanwhile."""
import shutil
from pathlib import Path

import pytest
from findings_support import PROGRAMS, SLOW, check_healthy, check_planted, until
from support import ASAN, MPI_NAME, OPEN_MPI

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
    program = shutil.which("NPopenmpi" if OPEN_MPI else "NPmpich2")
    if not program or MPI_NAME == "abi":
        pytest.skip("NetPIPE is not installed for this MPI")
    until(check_healthy, tmp_path, program, "-u", "262144", "-n", "50", "-o", tmp_path / "np.out")


LU = """'ScaLAPACK, LU factorization input file'
'MPI Machine'
'LU.out'             output file name (if any)
6                    device out
1                    number of problems sizes
1200                 values of M
1200                 values of N
1                    number of NB's
32                   values of NB
1                    number of NRHS's
1                    values of NRHS
1                    number of NBRHS's
1                    values of NBRHS
1                    number of process grids
1                    values of P
2                    values of Q
1.0                  threshold
F                    (T or F) Test Cond. Est. and Iter. Ref. Routines
"""


def test_scalapack_has_none(tmp_path):
    programs = list(Path("/usr/lib").glob(f"*/scalapack/{MPI_NAME}-tests/xdlu"))
    if not programs:
        pytest.skip("ScaLAPACK's tests are not installed")
    (tmp_path / "LU.dat").write_text(LU)
    until(check_healthy, tmp_path, programs[0])
