# SPDX-License-Identifier: MIT
"""Runs the programs of tests/redirect, and reads what tools have counted. EXCHANGE contains the calls
of the program exchange.c and of its counterparts in other languages."""
import json
import os
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from support import ASAN, BUILD, BUNDLED_TOOLS, MPICC, QMPI, TOOLS, clean_environment, run_command, run_mpi

REDIRECT_PROGRAMS = BUILD / "tests" / "redirect" / "programs"
REDIRECT_TOOLS = BUILD / "tests" / "redirect" / "tools"

# The number of calls that exchange.c and its counterparts make in each of the two ranks.
EXCHANGE = {
    "MPI_Init": 1, "MPI_Finalize": 1, "MPI_Comm_rank": 1, "MPI_Wtime": 2,
    "MPI_Send": 3, "MPI_Recv": 3, "MPI_Get_count": 1,
    "MPI_Irecv": 1, "MPI_Isend": 1, "MPI_Waitall": 1,
    "MPI_Barrier": 2, "MPI_Bcast": 1, "MPI_Reduce": 1, "MPI_Allreduce": 1, "MPI_Gather": 1,
    "MPI_Allgather": 1, "MPI_Scatter": 1, "MPI_Scan": 1, "MPI_Alltoallw": 1,
    "MPI_Cart_create": 1, "MPI_Cartdim_get": 1, "MPI_Cart_shift": 1, "MPI_Cart_sub": 1,
    "MPI_Comm_size": 3, "MPI_Comm_free": 4, "MPI_Comm_split": 1,
    "MPI_Dist_graph_create_adjacent": 1, "MPI_Dist_graph_neighbors_count": 1,
    "MPI_Neighbor_alltoallw": 1,
    "MPI_Type_vector": 1, "MPI_Type_commit": 1, "MPI_Type_size": 1, "MPI_Sendrecv": 1,
    "MPI_Type_free": 1,
    "MPI_File_open": 1, "MPI_File_write_at": 1, "MPI_File_close": 1,
    "MPI_Comm_set_name": 1, "MPI_Comm_get_name": 1,
    "MPI_Info_create": 1, "MPI_Info_set": 1, "MPI_Info_free": 1,
}
GOT = ["rank 0 got 268", "rank 1 got 280"]


def redirect_program(name):
    path = REDIRECT_PROGRAMS / name
    if not path.exists():
        pytest.skip(f"{name} was not built, because its compiler or a library is missing")
    return path


def redirect_environment(env=None):
    values = {"QMPI_TOOL_PATH": f"{REDIRECT_TOOLS}:{TOOLS}:{BUNDLED_TOOLS}",
              "REDIRECT_MPI": mpi_soname()}
    values.update({key: str(value) for key, value in (env or {}).items() if value is not None})
    return values


def reach(name, *args, env=None, **kwargs):
    """Calls run_mpi for a program of this folder or a path. Tools are searched for in tests/redirect,
    tests/stack and among the bundled tools, in this order."""
    path = name if "/" in str(name) else redirect_program(name)
    return run_mpi(path, *args, env=redirect_environment(env), **kwargs)


@cache
def of_the_static_library():
    """Returns the calls that a static MPI library itself makes as MPI_X during the exchange. They are
    bound when the program is linked, so they cannot be distinguished from calls of the program. The
    only one is MPI_Comm_get_info, by which ROMIO of MPICH 4.2 asks for the hints of the communicator."""
    options = subprocess.run([MPICC, "-show"], check=True, text=True, capture_output=True).stdout.split()
    path = next((path for option in options if option.startswith("-L")
                 if (path := Path(option[2:], "libmpich.a")).exists()), None)
    path = path or subprocess.run([MPICC, "-print-file-name=libmpich.a"], check=True, text=True,
                                  capture_output=True).stdout.strip()
    called = subprocess.run(["nm", "-u", path], check=True, text=True, capture_output=True).stdout.split()
    return {name: 1 for name in ("MPI_Comm_get_info",) if name in called}


def qmpi(*arguments, env=None, **more):
    environment = {**clean_environment(), **redirect_environment(env)}
    return run_command([QMPI, *arguments], environment, **more)


def mpi_soname():
    """Returns the name of the MPI library that these programs need."""
    text = subprocess.run(["readelf", "-d", REDIRECT_PROGRAMS / "exchange_c"], check=True, text=True,
                          capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout
    return re.search(r"NEEDED.*\[(libmp[^]]*)\]", text)[1]


def needs(path):
    """Returns the libraries that a file needs, in their order. Those of sanitizers are left out."""
    text = subprocess.run(["readelf", "-d", path], check=True, text=True, capture_output=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    return [name for name in re.findall(r"NEEDED.*\[(.*)\]", text) if "san.so" not in name]


def counted(path):
    """Reads a file of the tool `count`. Returns {function: (calls of all ranks, minimum of a rank,
    maximum of a rank)}."""
    data = json.loads(path.read_text())
    assert data["schema"] == "qmpi-count/1"
    return {name: (row["calls"], row["min"], row["max"])
            for name, row in data["functions"].items()}


def in_each_rank(calls, ranks=2):
    return {name: (number * ranks, number, number) for name, number in calls.items()}


def tallied(folder, name="tally"):
    """Returns {function: number of calls}, the sums of all files that the tool `tally` has written."""
    total = Counter()
    for path in folder.glob(f"{name}.*"):
        for line in path.read_text().splitlines():
            function, number = line.split()
            total[function] += int(number)
    return total


def outside_asan(reason):
    return pytest.mark.skipif(bool(ASAN), reason=reason)
