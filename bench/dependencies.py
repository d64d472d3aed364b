# SPDX-License-Identifier: MIT
"""Scales the targets for the instructions of the first MPI call to the libraries of a program. In this call, libqmpi
searches the names of each library up to the first one of MPI, by which it finds the MPI library, and examines the MPI
functions of this library. The targets are for the MPI library of Debian 12."""
import re
import subprocess

FUNCTIONS = 619  # of MPI, in the library for which the targets are
BYTES = 109_000  # of names that libqmpi searches in a program that uses the MPI library of Debian 12
INSTRUCTIONS_PER_BYTE = 0.25  # for each byte of names beyond BYTES


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def names_before_mpi(library: str) -> int:
    """Returns how many bytes of the library's table of names are before the first `MPI`, or all if there is none."""
    found = re.search(r"\.dynstr +STRTAB +\S+ (\S+) (\S+)", output_of("readelf", "-SW", library))
    begin, size = (int(number, 16) for number in found.groups())
    with open(library, "rb") as file:
        file.seek(begin)
        names = file.read(size)
    at = names.find(b"MPI")
    return at if at >= 0 else size


def functions_in(library: str) -> int:
    return len(re.findall(r" PMPI_\w+", output_of("readelf", "--dyn-syms", "-W", library)))


def scaled(wanted: int, program: str, mpi_library: str) -> int:
    """Returns the target for a number of instructions, for the libraries of this program."""
    libraries = re.findall(r"(/\S+) \(", output_of("ldd", program))
    further = max(0, sum(map(names_before_mpi, libraries)) - BYTES)
    return round(wanted * max(1, functions_in(mpi_library) / FUNCTIONS) + further * INSTRUCTIONS_PER_BYTE)
