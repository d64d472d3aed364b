# SPDX-License-Identifier: MIT
"""The predefined handles and constants of the standard ABI."""
import re

from semantics import CONSTANTS

HANDLES = {  # type -> QMPIX_KIND_...
    "MPI_Comm": "COMM", "MPI_Datatype": "DATATYPE", "MPI_Errhandler": "ERRHANDLER", "MPI_File": "FILE",
    "MPI_Group": "GROUP", "MPI_Info": "INFO", "MPI_Message": "MESSAGE", "MPI_Op": "OP",
    "MPI_Request": "REQUEST", "MPI_Session": "SESSION", "MPI_Win": "WIN",
}


def read_handles(text: str, known: set[str]) -> list[tuple[str, str, int]]:
    """Returns (type, name, value) of each predefined handle in the text of the ABI's mpi.h that has a known name. If
    several known names have the same value, the first one counts."""
    found = {}
    for name, kind, value in re.findall(r"^#define (MPI_\w+)\s+\(\((MPI_\w+)\)\s*(0x[0-9a-f]+)\)", text, re.M):
        if kind in HANDLES and name in known:
            found.setdefault(int(value, 16), (kind, name, int(value, 16)))
    return list(found.values())


def read_constants(text: str) -> dict[str, list[tuple[str, int]]]:
    """Returns a dictionary: kind of constants -> (name, value) of each constant."""
    pairs = re.findall(r"^(?:#define|   ) (MPI_\w+)\s+(?:= )?\(?(-?\w+)\)?,?$", text, re.M)
    values = {name: int(value, 0) for name, value in pairs if re.match(r"-?\d", value)}
    return {kind: [(name, value) for name, value in values.items() if re.match(constants.pattern, name)]
            for kind, constants in CONSTANTS.items()}
