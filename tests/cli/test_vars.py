# SPDX-License-Identifier: MIT
"""qmpi vars: what the MPI library and a stack of tools offer through MPI_T, for people and as JSON."""
import json

from support import QMPI, run_mpi


def variables(*arguments, **more):
    return run_mpi(QMPI, "vars", *arguments, ranks=1, preload=(), **more)


def test_vars_prints_what_this_mpi_offers():
    result = variables()
    assert result.returncode == 0 and not result.stderr
    assert "MPIR_CVAR_BCAST_MIN_PROCS" in result.stdout
    assert result.stdout.startswith("mpit (layer 1): ")


def test_vars_prints_json_of_the_names_that_are_asked_for():
    chosen = json.loads(variables("--json", "MPIR_CVAR_BCAST_MIN*", "BCAST").stdout)
    assert [entry["name"] for entry in chosen["cvars"]] == ["MPIR_CVAR_BCAST_MIN_PROCS"]
    assert chosen["pvars"] == chosen["categories"] == []


def test_vars_shows_what_a_stack_publishes_and_none_of_its_reports():
    result = variables("-t", "count", "qmpi.count.*Barrier", env={"QMPI_TOOL_PATH": None})
    assert "qmpi.count.calls.MPI_Barrier" in result.stdout
    assert "MPIR_CVAR" not in result.stdout and not result.stderr


def test_vars_takes_any_character_in_a_pattern():
    result = variables("a=b:c,d\\*")
    assert result.returncode == 0 and len(result.stdout.splitlines()) == 1


def test_vars_says_of_a_stack_what_a_run_would():
    result = variables("-t", "no-such-tool")
    assert result.returncode == 2
    assert "QMPI_TOOLS, entry 2 'no-such-tool'" in result.stderr


def test_vars_has_help_that_says_how_names_are_chosen():
    result = variables("--help")
    assert result.returncode == 0
    assert result.stdout.startswith("Usage: qmpi vars [OPTION...] [GLOB...]")


def test_vars_says_when_nobody_takes_its_list():
    result = run_mpi("/bin/sh", "-c", f"exec {QMPI} vars > /dev/full", ranks=1, preload=())
    assert result.returncode == 2
    assert "the list cannot be written" in result.messages
