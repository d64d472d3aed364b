# SPDX-License-Identifier: MIT
"""Tests that the layer in docs/write/mpi_t.md can be built as it is printed, and publishes a variable."""
import re
import shutil

from mpit_support import MPIT_PROGRAMS
from support import BUILD, MPICC, SOURCE, clean_environment, run_command, run_mpi


def test_the_layer_of_the_page_publishes_its_counter(tmp_path):
    page = (SOURCE / "docs" / "write" / "mpi_t.md").read_text(encoding="utf-8")
    source = tmp_path / "barrier_count.c"
    source.write_text(re.search(r"```c\n(.*?)```", page, re.S)[1], encoding="utf-8")
    library = tmp_path / "barrier_count.so"
    built = run_command(
        [MPICC, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
         f"-I{SOURCE / 'include'}", f"-I{BUILD / 'src' / 'generate' / 'include'}",
         source, "-o", library], clean_environment())
    assert built.returncode == 0
    result = run_mpi(MPIT_PROGRAMS / "names", ranks=1, tools=str(library))
    assert result.returncode == 0
    assert re.search(r"^pvar \d+ qmpi.barrier_count.calls.MPI_Barrier$", result.stdout, re.M)
