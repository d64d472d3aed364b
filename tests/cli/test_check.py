# SPDX-License-Identifier: MIT
"""Tests qmpi check: the chains of functions that --function draws, and what it says about conditions."""
import re

import pytest

from cli_support import qmpi
from support import TOOLS


def steps(output):
    """Returns the steps of a drawn chain as [place, name, description]; the application has no description."""
    return [re.split(r"  +", line.strip(), maxsplit=2) for line in output.splitlines()[1:]
            if line.startswith("  ") and line.strip() not in ("│", "▼")]


def test_a_chain_goes_from_the_application_to_the_mpi_library():
    output = qmpi("check", "-t", "count:empty", "--function", "MPI_Send").stdout
    assert re.match(r"MPI_Send \(number \d+\)\n", output)
    rows = steps(output)
    assert rows[0] == ["application", "calls MPI_Send"]
    assert rows[1:3] == [["layer 1", "count", "QMPI tool, observer"], ["layer 2", "empty", "QMPI tool"]]
    assert rows[3][:2] == ["MPI library", "PMPI_Send"] and rows[3][2]
    assert output.count("▼") == 3


def test_a_layer_that_does_not_intercept_the_function_is_in_parentheses():
    env = {"QMPI_TOOL_PATH": TOOLS}
    stack = "alpha,functions=Barrier:empty"
    rows = steps(qmpi("check", "-t", stack, "--function", "MPI_Send", env=env).stdout)
    assert rows[1][0] == "(layer 1)" and "not called" in rows[1][2]
    rows = steps(qmpi("check", "-t", stack, "--function", "MPI_Barrier", env=env).stdout)
    assert rows[1][0] == "layer 1"


def test_a_chain_without_layers_says_that_no_layer_intercepts():
    output = qmpi("check", "-t", "", "--function", "MPI_Send").stdout
    assert "no layer intercepts or observes this function" in output
    assert [row[0] for row in steps(output)][:2] == ["application", "MPI library"]


def test_several_functions_are_drawn_in_order():
    output = qmpi("check", "-t", "empty", "--function=Send", "--function", "MPI_Wtime").stdout
    assert re.findall(r"^(MPI_\w+) \(", output, re.M) == ["MPI_Send", "MPI_Wtime"]


def test_conditions_are_shown_with_their_effect(tmp_path):
    file = tmp_path / "conf"
    file.write_text("[stack io]\ncount\n  @ranks = 0-3\nlog\n  @functions = MPI_File_*\nnonesuch\n  @optional = yes\n")
    env = {"QMPI_CONFIG": file, "SLURM_PROCID": ""}
    stack = "empty,@enabled=no:io,@ranks=every 2,@if-env=NONE,@if-env=PATH:empty,@program=lmp*"
    result = qmpi("check", "-t", stack, env=env)
    assert result.returncode == 0
    off, other = "the layer starts switched off", "does not hold here: the layer starts switched off"
    ranks, both = f"(on other ranks, {off})", [f"@if-env=NONE  ({other})", "@if-env=PATH  (holds here)"]
    conditions = [re.findall(r"(?m)^  condition   (.*)$", part) for part in result.stdout.split("\nlayer ")]
    only = "(the layer intercepts no other functions, except those that the tool needs in any case)"
    assert conditions == [
        [f"@enabled=no  ({other})"], [f"@ranks=0-3  {ranks}", f"@ranks=every 2  {ranks}", *both],
        [f"@ranks=every 2  {ranks}", *both, f"@functions=MPI_File_*  {only}"], [f"@program=lmp*  (in other programs, {off})"]]
    assert f"left out because it cannot be used (@optional=yes): nonesuch ({file}, line 6, stack io)\n" in result.stdout
    assert [line for line in result.messages if line[0] != " "] == [f"{file}, line 6 'nonesuch': no such tool"]
    assert "  the layer is left out (@optional=yes)" in result.messages
    assert "intercepts  all" in result.stdout  # a layer that is off shows the functions that it would intercept
    noted = qmpi("doctor", "-t", "nonesuch,@optional=yes")
    assert noted.returncode == 0 and "(@optional=yes): nonesuch,@optional=yes (-t, entry 1)" in noted.stdout
    known = qmpi("check", "-t", "empty,@ranks=1-2", env={"SLURM_PROCID": "2"}).stdout
    assert "@ranks=1-2  (holds here)" in known


@pytest.mark.parametrize("name", ["MPI_Sned", "", "PMPI_Send", "x" * 1000])
def test_an_unknown_function_is_an_error(name):
    result = qmpi("check", "-t", "empty", "--function", name)
    assert (result.returncode, result.stdout) == (2, "")
    assert "unknown MPI function" in result.messages[0]
    assert "qmpi functions" in result.messages[1]


def test_a_function_that_this_mpi_lacks_is_an_error():
    listed = [line.split() for line in qmpi("functions").stdout.splitlines()]
    lacking = next(name for _, name, there in listed if there == "no")
    result = qmpi("check", "-t", "empty", "--function", lacking)
    assert result.returncode == 2
    assert "does not provide" in result.messages[0]


def test_a_layer_that_delays_calls_does_not_delay_the_check():
    result = qmpi("check", "-t", "delay,before=5min")
    assert result.returncode == 0, result.stderr


def test_an_error_in_the_stack_is_reported_instead_of_the_chain():
    result = qmpi("check", "-t", "nonesuch", "--function", "MPI_Send")
    assert (result.returncode, result.stdout) == (2, "")
    assert "no such tool" in result.stderr
