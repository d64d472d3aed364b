# SPDX-License-Identifier: MIT
"""Runs MPI_T clients under stacks with the layers of these tests."""
import functools
import subprocess
import tempfile
from pathlib import Path

import pytest

from support import BUILD, MPICC, SOURCE, TOOLS, run_mpi


MPIT_TOOLS = BUILD / "tests" / "mpit" / "tools"
MPIT_PROGRAMS = BUILD / "tests" / "mpit" / "programs"
PMPI_TOOLS = BUILD / "tests" / "pmpi" / "tools"
SOURCES = SOURCE / "tests" / "mpit" / "programs"


@functools.cache
def lists_its_variables():
    """Returns whether the MPI library alone, without libqmpi, survives the program that lists and
    reads the variables of the library."""
    return run_mpi(MPIT_PROGRAMS / "list_all", ranks=1, preload=()).returncode == 0


@functools.cache
def knows_all_handles():
    """Returns whether the MPI library alone, without libqmpi, survives a program that uses
    MPI_T_PVAR_ALL_HANDLES."""
    with tempfile.TemporaryDirectory(prefix="qmpi-test-") as folder:
        program = Path(folder) / "all_handles"
        subprocess.run([MPICC, "-o", program, SOURCE / "tests/mpit/all_handles.c"], check=True)
        return run_mpi(program, ranks=1, preload=()).returncode == 0


# Programs and tools that read all variables, or the information about all of them.
READ_ALL = {"list_all", "conform", "conform_native", "conform_pmpi"}


def skip_what_the_library_does_not_survive(name, tools):
    used = {name, *(tools or "").split(":")}
    if used & READ_ALL and not lists_its_variables():
        pytest.skip("the MPI library alone crashes when all its MPI_T variables are read")


def run_mpit(name, *args, env=None, **kwargs):
    kwargs.setdefault("ranks", 1)
    skip_what_the_library_does_not_survive(name, kwargs.get("tools"))
    environment = {"QMPI_TOOL_PATH": f"{MPIT_TOOLS}:{PMPI_TOOLS}:{TOOLS}"}
    environment.update(env or {})
    path = MPIT_PROGRAMS / name
    return run_mpi(path if path.exists() else name, *args, env=environment, **kwargs)
