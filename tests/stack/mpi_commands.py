# SPDX-License-Identifier: MIT
"""The launcher and the compiler command of an MPI. Those of a build are the ones that src/generate/find_mpi.py
has found; they have many names, and another MPI's commands may stand before them in PATH."""
import json
import os
import shutil
from pathlib import Path

OTHER_BUILD = os.environ.get("QMPI_OTHER_BUILD")  # a build folder for the other MPI; ./check names it


def mpi_command(name: str, kind: str, build: Path) -> str | None:
    """`mpiexec` or `mpicc` of an MPI (mpich, openmpi): that of the build, or of the one beside it, if one is
    for this MPI and knows it, otherwise that of PATH with the MPI's name. None: there is none."""
    for folder in filter(None, (build, OTHER_BUILD)):
        with open(Path(folder) / "tests/mpi.json", encoding="utf-8") as file:
            told = json.load(file)
        if told["kind"] == kind and told[name]:
            return told[name]
    return shutil.which(f"{name}.{kind}")
