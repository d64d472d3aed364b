# SPDX-License-Identifier: MIT
"""Tests qmpi vars: the variables of the MPI library and of a stack of tools in MPI_T, as tables and
as JSON."""
import json
import os

import pytest

from support import LIBRARY_CVAR, LIBRARY_CVAR_GLOB, OPEN_MPI, QMPI, run_mpi


def variables(*arguments, **more):
    return run_mpi(QMPI, "vars", *arguments, ranks=1, preload=(), **more)


def test_vars_prints_the_variables_of_this_mpi():
    result = variables()
    assert result.returncode == 0 and not result.stderr
    assert LIBRARY_CVAR in result.stdout
    assert result.stdout.startswith("mpit (layer 1): ")


def test_vars_prints_chosen_variables_as_json():
    chosen = json.loads(variables("--json", LIBRARY_CVAR_GLOB, "BCAST").stdout)
    assert [entry["name"] for entry in chosen["cvars"]] == [LIBRARY_CVAR]
    assert chosen["pvars"] == chosen["categories"] == []


def test_vars_shows_the_variables_of_a_stack_and_none_of_its_reports():
    result = variables("-t", "count", "qmpi.count.*Barrier", env={"QMPI_TOOL_PATH": None})
    assert "qmpi.count.calls.MPI_Barrier" in result.stdout
    assert LIBRARY_CVAR not in result.stdout and not result.stderr


@pytest.mark.skipif(not OPEN_MPI, reason="all variables of this MPI can be read")
def test_vars_does_not_read_variables_of_parts_of_the_library_that_are_not_in_use():
    listed = json.loads(variables("--json").stdout)
    cvars = {entry["name"]: entry for entry in listed["cvars"]}
    early = [entry for entry in cvars.values() if entry.get("early")]
    assert len(early) > 500 and cvars["qmpi.mpit.enabled"]["value"] == 1
    assert "early" not in cvars["qmpi.mpit.enabled"]
    assert cvars["mpi_warn_on_fork"]["datatype"] == "MPI_C_BOOL"
    assert {entry["value"] for entry in listed["pvars"]} == {None}


@pytest.mark.skipif(not OPEN_MPI, reason="all variables of this MPI can be read")
def test_vars_reads_a_performance_variable_of_the_library_by_its_whole_name():
    name = "mpool_hugepage_bytes_allocated"
    entry, = json.loads(variables("--json", name).stdout)["pvars"]
    assert entry["value"] == 0
    entry, = json.loads(variables("--json", name[:-1] + "*").stdout)["pvars"]
    assert (entry["value"], entry["reason"]) == (
        None, "its part of MPI may not be in use: request it by its full name")


def test_vars_takes_any_character_in_a_pattern():
    result = variables("a=b:c,d\\*")
    assert result.returncode == 0 and len(result.stdout.splitlines()) == 1


def test_vars_reports_errors_in_a_stack_as_a_run_does():
    result = variables("-t", "no-such-tool")
    assert result.returncode == 2
    assert "-t, entry 1 'no-such-tool'" in result.stderr


@pytest.mark.parametrize("disabled", ["darshan:mpi*", "~user~"])
def test_qmpi_disable_leaves_out_tools_but_not_the_list(disabled):
    shown = json.loads(variables("--json", "-t", "count", "*Barrier", LIBRARY_CVAR_GLOB,
                                 env={"QMPI_DISABLE": disabled}).stdout)
    assert [entry["name"] for entry in shown["cvars"]] == [LIBRARY_CVAR]
    assert ("qmpi.count.calls.MPI_Barrier" in [entry["name"] for entry in shown["pvars"]]) == (disabled != "~user~")


def test_vars_fails_if_there_is_no_list(tmp_path):
    (tmp_path / "mpit.so").write_bytes(b"")
    result = variables(env={"QMPI_TOOL_PATH": tmp_path, "QMPI_ON_ERROR": "skip"})
    assert (result.returncode, result.stdout) == (2, "")
    assert result.messages[-2].endswith("the tool mpit, which lists the variables, has written no list")
    assert result.messages[-1].startswith("hint: ")


@pytest.mark.parametrize("tools", [[], ["-t", "both"]])
def test_vars_uses_the_named_stacks_of_files_but_not_their_layers(tmp_path, tools):
    """A layer of a file would write a record of a job that is none, and could replace the results of an earlier job."""
    (tmp_path / "records").mkdir()
    (tmp_path / "qmpi.conf").write_text("log\n[above]\nempty\n[below]\njobs\n  directory = records\n"
                                        "[stack both]\ncount\nempty\n")
    result = variables("--json", *tools, "qmpi.*.enabled", cwd=tmp_path,
                       env={"QMPI_CONFIG": tmp_path / "qmpi.conf", "QMPI_TOOL_PATH": None})
    assert (result.returncode, result.messages) == (0, [])
    assert [entry["name"].split(".")[1] for entry in json.loads(result.stdout)["cvars"]] == (
        ["mpit", "count", "empty"] if tools else ["mpit"])
    assert sorted(os.listdir(tmp_path)) == ["qmpi.conf", "records"] and not os.listdir(tmp_path / "records")


def test_vars_has_a_help_text():
    result = variables("--help")
    assert result.returncode == 0
    assert result.stdout.startswith("Usage: qmpi vars [OPTION...] [GLOB...]")


def test_vars_reports_that_its_list_cannot_be_written():
    result = run_mpi("/bin/sh", "-c", f"exec {QMPI} vars > /dev/full", ranks=1, preload=())
    assert result.returncode == 2
    assert any("cannot write to standard output" in line for line in result.messages)
