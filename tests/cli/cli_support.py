# SPDX-License-Identifier: MIT
"""Ways to run the command `qmpi` as a user runs it."""
import shutil

import pytest

from support import MPI_NAME, QMPI, clean_environment, run_command

# The library of each MPI, and an MPI other than this build's.
SONAMES = {"mpich": "libmpich.so.12", "openmpi": "libmpi.so.40", "abi": "libmpi_abi.so.1"}
OTHER_MPI = next(name for name in SONAMES if name != MPI_NAME)
PACKAGE = QMPI.name


def qmpi(*arguments, env=None, launcher=(), **more):
    """Runs the command, after the words of `launcher`, in a clean environment to which `env` adds variables."""
    environment = clean_environment()
    environment.update({key: str(value) for key, value in (env or {}).items()})
    return run_command([*launcher, QMPI, *arguments], environment, **more)


def qmpi_messages(result):
    """Returns the messages of qmpi, without the output of the tests' own tools."""
    return [line for line in result.messages if not line.startswith("trace: ")]


def compiler(name="cc"):
    """Returns a compiler; skips the test if there is none."""
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found
