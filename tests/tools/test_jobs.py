# SPDX-License-Identifier: MIT
"""The tool jobs writes a line for each job, however the job ends. By default, a job does not notice if the line cannot
be written."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest
from job import Job
from log_support import FAULTS, STEPS
from support import (ASAN, BUNDLED_TOOLS, LIBQMPI, RUN_RANK, SOURCE, clean_environment, launch, needs_sessions,
                     run_mpi)

BEGUN = ["init", "barrier"]


def run(directory, *steps, ranks=1, tools="jobs", options="", env=None, **more):
    return run_mpi(more.pop("program", STEPS), *steps, ranks=ranks, tools=f"{tools},directory={directory}{options}",
                   env={"QMPI_TOOL_PATH": BUNDLED_TOOLS, **(env or {})}, **more)


def records(directory):
    """Returns the records of the jobs. Checks that the directory contains nothing else, and that each record is one
    line."""
    assert [name for name in os.listdir(directory) if not re.fullmatch(r"\d{8}T\d{6}\.\d{9}Z-.*\.json", name)] == []
    texts = [path.read_text() for path in directory.iterdir()]
    assert all(text.endswith("}\n") and text.count("\n") == 1 for text in texts)
    return [json.loads(text) for text in texts]


def record(directory):
    only, = records(directory)
    return only


def end_of(directory):
    job = record(directory)
    return job["state"], job["finalized"], job["exit"], job["signal"]


def test_a_job_has_one_line_with_its_properties(tmp_path):
    result = run(tmp_path, *BEGUN, "finalize", ranks=2, tools="count:jobs",
                 env={"LOGNAME": 'an"n\\', "PBS_JOBID": "17.host", "SLURM_STEP_ID": None})
    assert result.returncode == 0
    job = record(tmp_path)
    version = re.search(r"version: '(.*?)'", (SOURCE / "meson.build").read_text())[1]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", job.pop("begin"))
    assert isinstance(job.pop("seconds"), float)
    assert re.search("MPICH|Open MPI", job.pop("mpi"))
    assert job == {
        "schema": "qmpi-job/1", "user": 'an"n\\', "uid": os.geteuid(), "job": "17.host", "step": None,
        "program": os.path.basename(STEPS), "ranks": 2, "node_count": 1, "nodes": [os.uname().nodename],
        "layers": [{"tool": "count", "version": version}, {"tool": "jobs", "version": version}],
        "qmpi": version, "state": "exited", "finalized": True, "exit": 0, "signal": None}


@pytest.mark.parametrize("steps, end", [
    (["finalize", "exit=3"], ("exited", True, 3, None)),
    (["exit=4"], ("exited", False, 4, None)),
    (["abort=5"], ("aborted", False, 5, None)),
    (["raise=15"], ("signal", False, None, "SIGTERM")),
    (["fault"], ("signal", False, None, "SIGSEGV")),
    (["finalize", "raise=15"], ("signal", True, None, "SIGTERM")),
    (["raise=9"], ("running", False, None, None)),
    (["finalize", "raise=9"], ("finalized", True, None, None)),
])
def test_the_line_says_how_the_job_ended_as_far_as_the_tool_can_know(tmp_path, steps, end):
    run(tmp_path, *BEGUN, *steps, env=FAULTS)
    assert end_of(tmp_path) == end


def test_a_job_that_is_killed_has_its_line(tmp_path):
    """Rank 0 cannot write anything when it is killed, as when its node fails."""
    env = {**clean_environment(), "QMPI_TOOL_PATH": str(BUNDLED_TOOLS), "QMPI_TOOLS": f"jobs,directory={tmp_path}"}
    libraries = f"{ASAN}:{LIBQMPI}" if ASAN else str(LIBQMPI)
    with Job(RUN_RANK, launch(2), [STEPS, *BEGUN, "sleep=600000", "finalize"], ranks=2, env=env,
             variables={"LD_PRELOAD": libraries}) as job:
        job.wait_for(lambda: any('"running"' in path.read_text() for path in tmp_path.glob("*.json")))
        os.kill(job.ranks[0].pid, signal.SIGKILL)
        job.wait_for(lambda: job.ranks[0].returncode)
    assert end_of(tmp_path) == ("running", False, None, None)
    assert record(tmp_path)["ranks"] == 2


def test_a_forked_child_and_a_program_without_mpi_have_no_line(tmp_path):
    run(tmp_path, "initialized")
    assert records(tmp_path) == []
    run(tmp_path, *BEGUN, "fork", "finalize")
    assert end_of(tmp_path) == ("exited", True, 0, None)


def test_a_child_that_is_forked_before_mpi_is_initialized_has_a_line_of_its_own(tmp_path):
    run(tmp_path, "initialized", "fork_and_go_on", *BEGUN, "finalize")
    ends = [(job["state"], job["finalized"], job["exit"]) for job in records(tmp_path)]
    assert ends == [("exited", True, 0)] * 2


@needs_sessions
def test_a_program_with_sessions_has_a_line(tmp_path):
    run(tmp_path, "session_init", "session_finalize", program="calls")
    assert end_of(tmp_path) == ("exited", False, 0, None)


def test_several_programs_that_are_no_job_of_mpi_have_one_line(tmp_path):
    """srun without the right option starts such programs: each one is rank 0 of 1, although the launcher's variables
    tell of several tasks."""
    for rank in range(3):
        run(tmp_path, *BEGUN, "finalize", env={"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": 3})
    assert len(records(tmp_path)) == 1


def test_a_condition_that_holds_nowhere_leaves_no_line_and_one_that_holds_in_rank_0_leaves_a_line(tmp_path):
    run(tmp_path, *BEGUN, "finalize", ranks=2, options=",@if-env=NOT_SET_AT_ALL")
    assert records(tmp_path) == []
    run(tmp_path, *BEGUN, "finalize", ranks=2, options=",@ranks=0")
    assert record(tmp_path)["ranks"] == 2


def test_the_directory_may_have_placeholders(tmp_path):
    (tmp_path / "ann-7").mkdir()
    run(tmp_path / "%u-${NUMBER}", *BEGUN, "finalize", env={"LOGNAME": "ann", "NUMBER": "7"})
    assert len(records(tmp_path / "ann-7")) == 1


def test_two_layers_write_two_files(tmp_path):
    run(tmp_path, *BEGUN, "finalize", tools=f"jobs,directory={tmp_path}:jobs")
    assert len(records(tmp_path)) == 2


# ---- Effects on jobs

@pytest.fixture
def without(tmp_path):
    """Returns the result of a job without the tool."""
    return run_mpi(STEPS, *BEGUN, "finalize", ranks=1, tools="")


def can_mount():
    """Returns whether file systems can be mounted here. The tests need them, because root can write to any directory
    unless its file system is full or read-only."""
    return shutil.which("unshare") and subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0


def mounted(directory, options, fill):
    """Returns a command that mounts a file system of its own at `directory`, runs the command `fill`, and then executes
    the command that follows. Other processes do not see the file system."""
    return ["unshare", "-rm", "sh", "-c",
            f'mount -t tmpfs -o {options} tmpfs {directory}; {fill}; exec env LD_PRELOAD="$LIBRARIES" "$@"', "sh"]


WAYS = {
    "missing": lambda path: path / "missing",
    "a file": lambda path: (path / "file").touch() or path / "file",
    "a file on the way": lambda path: (path / "file").touch() or path / "file" / "more",
    "a pipe": lambda path: os.mkfifo(path / "pipe") or path / "pipe",
    "of the system": lambda path: "/proc/self",
    "too long": lambda path: path / "/".join(["x" * 200] * 25),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_job_does_not_notice_a_directory_that_cannot_be_used(tmp_path, without, way):
    result = run(WAYS[way](tmp_path), *BEGUN, "finalize")
    assert (result.returncode, result.stdout, result.stderr) == (without.returncode, without.stdout, without.stderr)


@pytest.mark.parametrize("end, status", [("abort=5", 5), ("exit=3", 3)])
def test_the_status_of_a_job_without_its_directory_is_that_of_the_program(tmp_path, end, status):
    assert run(tmp_path / "missing", *BEGUN, end).returncode == status


@pytest.mark.parametrize("options, fill", [("ro", ":"), ("size=16k", "head -c 16k /dev/zero >{}/rest"),
                                           ("nr_inodes=1", ":")])
def test_a_job_does_not_notice_a_file_system_that_is_full_or_read_only(tmp_path, without, options, fill):
    if not can_mount():
        pytest.skip("file systems cannot be mounted in a namespace")
    libraries = f"{ASAN}:{LIBQMPI}" if ASAN else LIBQMPI
    result = run(tmp_path, *BEGUN, "finalize", preload=(), env={"LIBRARIES": libraries},
                 wrapper=mounted(tmp_path, options, fill.format(tmp_path)))
    assert (result.returncode, result.stdout, result.stderr) == (without.returncode, without.stdout, without.stderr)


def test_a_failure_is_reported_once_with_on_write_error_report(tmp_path):
    result = run(tmp_path / "missing", *BEGUN, "finalize", ranks=2, options=",on-write-error=report")
    assert result.returncode == 0
    assert [re.sub("/.*json", "FILE", line) for line in result.all_messages] == [
        "jobs (layer 1): cannot write FILE: No such file or directory",
        "  hint: let all users write to an existing directory, or set on-write-error=quiet"]


def test_the_directory_must_be_given():
    result = run_mpi(STEPS, *BEGUN, "finalize", ranks=1, tools="jobs", env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert result.returncode == 2
    assert "  hint: give directory=DIRECTORY" in result.all_messages
