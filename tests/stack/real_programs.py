# SPDX-License-Identifier: MIT
"""Programs of Debian packages: ScaLAPACK's test of its LU factorization, and NetPIPE."""
import shutil
from pathlib import Path

import pytest

from mpi_in_use import ABI, BUILD_MPI, OPEN_MPI, PROCESSOR

LU = """'ScaLAPACK, LU factorization input file'
'MPI Machine'
'LU.out'             output file name (if any)
6                    device out
{0}                  number of problems sizes
{sizes}              values of M
{sizes}              values of N
1                    number of NB's
{block}              values of NB
1                    number of NRHS's
{right}              values of NRHS
1                    number of NBRHS's
{right}              values of NBRHS
1                    number of process grids (ordered pairs of P & Q)
{grid[0]}            values of P
{grid[1]}            values of Q
1.0                  threshold
{more}               (T or F) Test Cond. Est. and Iter. Ref. Routines
"""


def scalapack(folder, *, sizes=(5, 13), block=4, right=3, grid=(2, 1), more="T"):
    """Writes the input file LU.dat to `folder`, and returns the program, which must run there. Skips
    the test if the program is not installed."""
    found = next(Path("/usr/lib").glob(f"{PROCESSOR}-*/scalapack/{BUILD_MPI}-tests/xdlu"), None)
    if not found:
        pytest.skip("ScaLAPACK's tests are not installed for this MPI")
    (folder / "LU.dat").write_text(LU.format(len(sizes), sizes=" ".join(map(str, sizes)), block=block, right=right,
                                             grid=grid, more=more))
    return found


def netpipe():
    """Returns the program. Skips the test if NetPIPE is not installed for this MPI."""
    found = shutil.which("NPopenmpi" if OPEN_MPI else "NPmpich2")
    if ABI or not found:
        pytest.skip("NetPIPE is not installed for this MPI")
    return found
