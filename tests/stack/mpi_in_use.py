# SPDX-License-Identifier: MIT
"""The MPI with which the test programs run. For the standard ABI (QMPI_TEST_MPI=abi), any library
with this ABI is possible: QMPI_TEST_ABI selects one by its implementation (mpich, openmpi) or by
its path. The default is the library with which the programs were linked.
"""
import atexit
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# The processor architecture of the build, which may be emulated.
PROCESSOR = os.environ.get("QMPI_TEST_PROCESSOR", platform.machine())
EMULATED = PROCESSOR != platform.machine()
# The interpreter for Python programs that call MPI. It must be built for the architecture PROCESSOR.
PYTHON = os.environ.get("QMPI_TEST_PYTHON", sys.executable)
BUILD_MPI = os.environ.get("QMPI_TEST_MPI", "mpich")
LINKED = Path(os.environ.get("QMPI_TEST_MPI_LIBRARY") or f"/usr/lib/{PROCESSOR}-linux-gnu/libmpi_abi.so")
MARKS = {"mpich": b"MPIR_", "openmpi": b"ompi_"}  # prefixes of symbols that no other implementation exports


def soname(library):
    listing = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return re.search(r"\(SONAME\).*\[(.+)\]", listing)[1]


def implementation_of(library):
    """Returns the implementation of a library with the standard ABI."""
    content = Path(library).read_bytes()
    return next(name for name, mark in MARKS.items() if mark in content)


def library_with_abi():
    wanted = os.environ.get("QMPI_TEST_ABI", "")
    if wanted not in MARKS:
        return Path(wanted or LINKED).resolve()
    for library in sorted(LINKED.parent.glob("libmpi_abi*.so*")):
        if implementation_of(library) == wanted:
            return library.resolve()
    raise SystemExit(f"QMPI_TEST_ABI={wanted}: no such library beside {LINKED}")


def folder_of(library):
    """Returns a folder in which programs find the library under the name that they need."""
    folder = Path(tempfile.mkdtemp(prefix="qmpi-test-abi-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / soname(LINKED)).symlink_to(library)
    return folder


IMPLEMENTATION = BUILD_MPI  # mpich, openmpi
ENVIRONMENT = {}  # the variables with which programs find the MPI library
if BUILD_MPI == "abi":
    library = library_with_abi()
    IMPLEMENTATION = implementation_of(library)
    ENVIRONMENT["LD_LIBRARY_PATH"] = str(folder_of(library))
OPEN_MPI = IMPLEMENTATION == "openmpi"
ABI = BUILD_MPI == "abi"
