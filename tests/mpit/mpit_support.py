# SPDX-License-Identifier: MIT
"""Runs MPI_T clients under stacks with the layer `publisher` of these tests."""

from support import BUILD, SOURCE, TOOLS, run_mpi


MPIT_TOOLS = BUILD / "tests" / "mpit" / "tools"
MPIT_PROGRAMS = BUILD / "tests" / "mpit" / "programs"
PMPI_TOOLS = BUILD / "tests" / "pmpi" / "tools"
SOURCES = SOURCE / "tests" / "mpit" / "programs"


def run_mpit(name, *args, env=None, **kwargs):
    kwargs.setdefault("ranks", 1)
    environment = {"QMPI_TOOL_PATH": f"{MPIT_TOOLS}:{PMPI_TOOLS}:{TOOLS}"}
    environment.update(env or {})
    path = MPIT_PROGRAMS / name
    return run_mpi(path if path.exists() else name, *args, env=environment, **kwargs)
