# SPDX-License-Identifier: MIT
"""Runs programs under PMPI tools, and computes the notes that the tools of tests/pmpi must print."""
import re
import subprocess
from pathlib import Path

from support import (BUILD, LIBQMPI, QMPI, TOOLS, clean_environment, lines_without_remarks, program,
                     run_command, run_mpi)

PMPI = BUILD / "tests" / "pmpi"
PMPI_TOOLS = PMPI / "tools"
PMPI_PROGRAMS = PMPI / "programs"

# The steps of the program `calls` of tests/stack in most of these tests, and the functions that they call.
STEPS = {"init": "MPI_Init", "comm_rank": "MPI_Comm_rank", "comm_size": "MPI_Comm_size",
         "barrier": "MPI_Barrier", "wtime": "MPI_Wtime", "finalize": "MPI_Finalize"}
RUN = list(STEPS)
NATIVE = {"alpha", "beta"}


def pmpi_tool(name) -> Path:
    return PMPI_TOOLS / f"lib{name}.so"


def pmpi_program(name) -> Path:
    return PMPI_PROGRAMS / name


def run_pmpi(name, *args, env=None, **kwargs):
    """Calls run_mpi with the tools of these tests in the tool path, by default on one rank."""
    kwargs.setdefault("ranks", 1)
    environment = {"QMPI_TOOL_PATH": f"{PMPI_TOOLS}:{TOOLS}"}
    environment.update(env or {})
    return run_mpi(name, *args, env=environment, **kwargs)


def succeed(*args, **kwargs):
    result = run_pmpi(*args, **kwargs)
    assert result.returncode == 0
    return result


def qmpi(*arguments, env=None, **more):
    environment = clean_environment()
    environment["QMPI_TOOL_PATH"] = f"{PMPI_TOOLS}:{TOOLS}"
    environment.update({key: str(value) for key, value in (env or {}).items()})
    return run_command([QMPI, *arguments], environment, **more)


def expected_calls(stack, steps=RUN):
    """Returns the notes of a run of `steps`: for each call, that of the program and those of all layers in order.
    Layers of native tools print their number (trace.c), and those of PMPI tools the number of calls that they have
    seen (bound.c)."""
    notes = []
    for number, step in enumerate(steps, 1):
        notes.append(f"app {step}")
        for tool_id, name in enumerate(stack, 1):
            notes.append(f"{name} {tool_id} {STEPS[step]}" if name in NATIVE
                         else f"{name} {STEPS[step]} {number}")
    return notes


def check_stack(stack, result, steps=RUN):
    """Asserts that each layer saw each call once and in order, and that the program got the right results."""
    assert result.calls == expected_calls(stack, steps)
    assert result.stdout == run_mpi("calls", *steps, ranks=1, preload=()).stdout
    assert result.messages == []


def run_stack(*stack, steps=RUN, **kwargs):
    result = succeed("calls", *steps, tools=":".join(stack), **kwargs)
    check_stack(stack, result, steps)
    return result


def one_message(result, expected):
    """Asserts that libqmpi printed a single message, with a hint, and that stderr contains nothing else except
    remarks."""
    heads = [line for line in result.messages if not line.startswith(" ")]
    assert len(heads) == 1, result.messages
    assert expected in "\n".join(result.messages)
    assert len([line for line in result.messages if re.match(" *hint: .", line)]) == 1
    lines = lines_without_remarks(result.stderr)
    assert all(line.startswith("qmpi: ") for line in lines), lines


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True,
                          text=True, env={**clean_environment(), "LC_ALL": "C"}).stdout


def compile_library(folder, name, code, *arguments):
    folder.mkdir(exist_ok=True)
    source = folder / f"{name}.c"
    source.write_text(code)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / name, source, f"-L{folder}",
                    "-Wl,--no-as-needed", *arguments], check=True)
    return folder / name


def entries(folder):
    """Returns the names in a directory, except for the directory that Open MPI creates for its jobs."""
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("ompi."))
