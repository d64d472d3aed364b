# SPDX-License-Identifier: MIT
"""Scales the targets for the instructions of the first MPI call to the libraries of a program. In this call, libqmpi
searches the table of names of each library for the first `MPI`, in order to find the MPI library, and examines the MPI
functions of the MPI library. The unscaled targets are for the MPI library of Debian 12."""
import re
import subprocess

FUNCTIONS = 619  # number of MPI functions in the MPI library of Debian 12
BYTES = 109_000  # number of bytes that libqmpi searches in the tables of names if a program uses that library
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
    """Returns the target `wanted`, in instructions, raised for the libraries of a program. It is never lowered."""
    libraries = re.findall(r"(/\S+) \(", output_of("ldd", program))
    further = max(0, sum(map(names_before_mpi, libraries)) - BYTES)
    return round(wanted * max(1, functions_in(mpi_library) / FUNCTIONS) + further * INSTRUCTIONS_PER_BYTE)
