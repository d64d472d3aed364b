# SPDX-License-Identifier: MIT
"""The paths and commands of the tests in this folder. meson.build passes them in the environment."""
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["QMPI_SOURCE_ROOT"])
BUILD = Path(os.environ["QMPI_BUILD_ROOT"])
LIBRARY = Path(os.environ["QMPI_TEST_LIBRARY"])  # libqmpi
MPI_NAME = os.environ["QMPI_TEST_MPI"]  # mpich, openmpi or abi
MPI_LIBRARY = os.environ["QMPI_TEST_MPI_LIBRARY"]
MPI_INCLUDE = os.environ["QMPI_TEST_MPI_INCLUDE"]
CC = os.environ["QMPI_TEST_CC"].split("\n")
CXX = os.environ["QMPI_TEST_CXX"].split()  # empty if there is no C++ compiler

GENERATOR = SOURCE / "src/generate"
GENERATED = BUILD / "src/generate"
NUMBERS = SOURCE / "src/functions/functions.txt"
PUBLIC_HEADERS = [SOURCE / "include", GENERATED / "include"]

sys.path.insert(0, str(GENERATOR))


def run(*command):
    """Runs a command and returns its standard output. If the command fails, the test fails with the
    command's messages."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout
