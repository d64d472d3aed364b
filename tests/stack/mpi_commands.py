# SPDX-License-Identifier: MIT
"""The launcher and the compiler command of an MPI. Those of a build were found by
src/generate/find_mpi.py, because they have different names, and PATH may first contain the commands
of another MPI."""
import json
import os
import shutil
from pathlib import Path

OTHER_BUILD = os.environ.get("QMPI_OTHER_BUILD")  # the build folder for the other MPI, which ./check sets


def mpi_command(name: str, kind: str, build: Path) -> str | None:
    """Returns `mpiexec` or `mpicc` of an MPI (mpich, openmpi): that of this build or of the other
    build, if one of them is for this MPI and has the command, otherwise the command in PATH whose
    name contains that of the MPI. None: there is none."""
    for folder in filter(None, (build, OTHER_BUILD)):
        with open(Path(folder) / "tests/mpi.json", encoding="utf-8") as file:
            told = json.load(file)
        if told["kind"] == kind and told[name]:
            return told[name]
    return shutil.which(f"{name}.{kind}")
