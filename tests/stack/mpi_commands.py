# SPDX-License-Identifier: MIT
"""Finds the launcher and the compiler command of an MPI implementation. For the MPI of a build,
src/generate/find_mpi.py has found them: their names differ between systems, and a command in PATH
may belong to another MPI."""
import json
import os
import shutil
from pathlib import Path

OTHER_BUILD = os.environ.get("QMPI_OTHER_BUILD")  # set by ./check: the build folder for the other MPI


def mpi_command(name: str, kind: str, build: Path) -> str | None:
    """Returns the command `name` (mpiexec, mpicc) of the MPI `kind` (mpich, openmpi). First, the builds
    in the folders `build` and OTHER_BUILD are asked for the command that they have found; a build for
    another MPI does not count. Otherwise, the command is `name.kind` in PATH, or None."""
    for folder in filter(None, (build, OTHER_BUILD)):
        with open(Path(folder) / "tests/mpi.json", encoding="utf-8") as file:
            told = json.load(file)
        if told["kind"] == kind and told[name]:
            return told[name]
    return shutil.which(f"{name}.{kind}")
