# SPDX-License-Identifier: MIT
"""qmpi run in front of launchers, scripts, programs without MPI, and programs into which libqmpi cannot
be preloaded. Also tests child processes of MPI programs."""
import os
import shutil
import stat
import struct

import pytest

from redirect_support import (EXCHANGE, QMPI, counted, in_each_rank, outside_asan, qmpi,
                           reach, redirect_program)
from support import MPIEXEC, clean_environment, folder_open_to_all, program, run_command

pytestmark = outside_asan("launchers and shells are not built with the sanitizer's library")


def script(folder, *lines):
    path = folder / "script.sh"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


# ---- qmpi run in front of other programs ---------------------------------------------------------


def test_qmpi_run_works_in_front_of_a_launcher(tmp_path):
    (tmp_path / "files").mkdir()
    result = qmpi("run", "-t", "alpha,functions=Barrier:count,output=calls.json", "--", MPIEXEC,
                  "-n", "2", redirect_program("exchange_c"), tmp_path / "files", cwd=tmp_path)
    assert result.returncode == 0
    assert result.messages == []
    assert result.trace.count("init alpha 1") == 2, "only MPI processes start tools"
    assert counted(tmp_path / "calls.json") == in_each_rank(EXCHANGE)


def test_qmpi_run_works_in_front_of_a_shell_script(tmp_path):
    (tmp_path / "files").mkdir()
    path = script(tmp_path, "echo before | cat", f'"{MPIEXEC}" -n 2 "$@"', "echo behind: $?",
                  "exit 7")
    result = qmpi("run", "-t", "alpha,functions=Barrier:count,output=calls.json", "--", path,
                  redirect_program("exchange_c"), tmp_path / "files", cwd=tmp_path)
    assert result.returncode == 7
    assert result.stdout.startswith("before\n") and result.stdout.endswith("behind: 0\n")
    assert result.messages == []
    assert result.trace.count("load alpha") == 2
    assert counted(tmp_path / "calls.json") == in_each_rank(EXCHANGE)


def test_qmpi_run_works_in_front_of_a_script_that_runs_one_rank(tmp_path):
    path = script(tmp_path, f'"{program("calls")}" init comm_rank finalize')
    result = qmpi("run", "-t", "alpha", "--", path)
    assert result.returncode == 0
    assert "comm_rank: result 0, flag 0, numbers 0 -1" in result.stdout
    assert result.trace.count("alpha 1 MPI_Comm_rank") == 1


@pytest.mark.parametrize("tools", ["count", "alpha:beta", "tally"])
@pytest.mark.parametrize("command", [["plain", "5"], ["/bin/sh", "-c", "/bin/true; exit 5"],
                                     ["/usr/bin/env", "sh", "-c", "exit 5"]],
                         ids=["a program", "a shell", "env"])
def test_a_program_without_mpi_runs_without_messages(command, tools):
    name, *arguments = command
    path = redirect_program(name) if "/" not in name else name
    result = qmpi("run", "-t", tools, "--", path, *arguments)
    assert result.returncode == 5
    assert result.stderr == ""


def test_a_program_without_mpi_runs_even_if_a_tool_does_not_exist():
    """Tools are not searched for before the first MPI call."""
    result = qmpi("run", "-t", "no_such_tool", "--", redirect_program("plain"), "3")
    assert (result.returncode, result.stderr) == (3, "")


# ---- Programs that preloading does not reach -----------------------------------------------------


def one_warning(result, words):
    heads = [line for line in result.messages if not line.startswith(" ")]
    assert len(heads) == 1 and words in heads[0]
    assert len([line for line in result.messages if line.startswith("  hint: ")]) == 1
    assert len(result.messages) == len(result.stderr.splitlines()) == 2


@pytest.mark.parametrize("status", [0, 6])
def test_a_static_program_causes_a_warning_and_runs(status):
    result = qmpi("run", "-t", "count", "--", redirect_program("plain_static"), status)
    assert (result.returncode, result.stdout) == (status, "a program without MPI\n")
    one_warning(result, "statically linked")


def test_a_static_program_found_by_path_causes_a_warning(tmp_path):
    shutil.copy(redirect_program("plain_static"), tmp_path / "found_by_path")
    result = qmpi("run", "-t", "count", "--", "found_by_path", "4",
                  env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert result.returncode == 4
    one_warning(result, "statically linked")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program another owner")
@pytest.mark.parametrize("mode", [stat.S_ISUID, stat.S_ISGID], ids=["set-uid", "set-gid"])
def test_a_privileged_program_causes_a_warning_and_runs(mode):
    with folder_open_to_all(redirect_program("plain")) as folder:
        path = folder / "plain"
        os.chown(path, 65534, 65534)
        path.chmod(0o755 | mode)
        result = qmpi("run", "-t", "count", "--", path, "9")
    assert (result.returncode, result.stdout) == (9, "a program without MPI\n")
    one_warning(result, "privileged program")


def with_capability(path):
    """Gives a program the capability CAP_NET_BIND_SERVICE, as setcap does (permitted and effective)."""
    try:
        os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))
    except OSError as error:
        pytest.skip(f"a file cannot be given capabilities: {error}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program capabilities")
def test_a_program_that_gains_no_privileges_is_measured_without_a_warning():
    """Root gains no privileges from the capabilities of a file, and no user gains any if new privileges
    are forbidden (no_new_privs)."""
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    with folder_open_to_all(program("calls")) as folder:
        path = folder / "calls"
        with_capability(path)
        results = [qmpi("run", "-t", "count", "--", path, "init", "finalize")]
        assert "privileged" not in qmpi("doctor", "--", path).stdout
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
        results.append(run_command(["setpriv", "--no-new-privs", QMPI, "run", "-t", "count", "--", path, "init", "finalize"],
                                   clean_environment()))
    for result in results:
        assert result.returncode == 0 and "MPI_Init " in result.stderr and "privileged" not in result.stderr


def test_a_position_independent_program_and_a_script_cause_no_warning(tmp_path):
    for path in (redirect_program("plain"), script(tmp_path, "exit 0")):
        result = qmpi("run", "-t", "count", "--", path)
        assert (result.returncode, result.stderr) == (0, "")


# ---- Child processes -----------------------------------------------------------------------------

HOWS = ["fork", "spawn", "system"]


@pytest.mark.parametrize("how", HOWS)
def test_a_child_without_mpi_is_left_alone(how, tmp_path):
    command = ["exec /bin/sh -c 'exit 5'"] if how == "system" else ["/bin/sh", "-c", "exit 5"]
    result = reach("children", how, *command, cwd=tmp_path,
                   tools="alpha,functions=Barrier:tally:count,output=calls.json",
                   env={"REDIRECT_TALLY": tmp_path / "tally"})
    assert result.returncode == 0
    assert result.stdout.splitlines() == ["child: 5"] * 2
    assert result.messages == []
    assert result.trace.count("init alpha 1") == 2
    assert result.calls == ["alpha 1 MPI_Barrier"] * 4
    assert counted(tmp_path / "calls.json") == in_each_rank(
        {"MPI_Init": 1, "MPI_Barrier": 2, "MPI_Finalize": 1})
    assert len(list(tmp_path.glob("tally.*"))) == 2


@pytest.mark.parametrize("how", HOWS)
def test_a_child_that_calls_mpi_is_under_the_same_stack(how):
    calls = program("calls")
    command = [f"exec '{calls}' get_version"] if how == "system" else [calls, "get_version"]
    result = reach("children", how, *command, ranks=1, tools="alpha,functions=Get_version+Barrier")
    assert result.returncode == 0
    assert "child: 0" in result.stdout
    assert result.trace.count("init alpha 1") == 2, "the parent's and the child's"
    assert result.calls == ["alpha 1 MPI_Barrier", "app get_version", "alpha 1 MPI_Get_version",
                            "alpha 1 MPI_Barrier"]


def test_qmpi_run_both_before_and_behind_the_launcher_preloads_once(tmp_path):
    result = qmpi("run", "-t", "alpha", "--", MPIEXEC, "-n", "2", QMPI, "run", "-t", "alpha:alpha",
                  "--", program("calls"), "init", "comm_rank", "finalize")
    assert result.returncode == 0
    assert result.calls.count("alpha 2 MPI_Comm_rank") == 2
    assert result.trace.count("load alpha") == 2
