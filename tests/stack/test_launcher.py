# SPDX-License-Identifier: MIT
"""If the launcher of another MPI has started a job, each process is rank 0 of a job of its own, and
a warning says so."""
import pytest

from mpi_commands import mpi_command

from support import IMPLEMENTATION, OPEN_MPI, run_mpi

# Variables of the other MPI's launcher, and of the launcher of the MPI library in use.
SIZE, RANK = ("PMI_SIZE", "PMI_RANK") if OPEN_MPI else ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")
LIBRARY_SIZE = "OMPI_COMM_WORLD_SIZE" if OPEN_MPI else "PMI_SIZE"
SAID = "the launcher started 2 processes, but each of them is rank 0 of 1"


@pytest.mark.parametrize("tools", ["alpha", "count"])
@pytest.mark.parametrize("begin", ["init", "init_thread"])
def test_a_warning_says_that_each_process_is_alone(begin, tools):
    result = run_mpi("calls", begin, "finalize", ranks=1, tools=tools, env={SIZE: 2})
    assert result.returncode == 0
    assert result.stderr.count(SAID) == 1
    assert f"hint: launch with mpiexec.{IMPLEMENTATION}" in result.stderr


@pytest.mark.parametrize("env", [{SIZE: 1}, {SIZE: 2, RANK: 1}, {SIZE: ""}, {SIZE: 2, LIBRARY_SIZE: 1}, {}])
def test_a_single_process_another_rank_and_a_process_of_both_launchers_print_no_warning(env):
    assert "launcher" not in run_mpi("calls", "init", "finalize", ranks=1, tools="alpha", env=env).stderr


def test_processes_of_one_job_print_no_warning():
    result = run_mpi("calls", "init", "finalize", tools="alpha", env={SIZE: 2})
    assert result.returncode == 0 and "launcher" not in result.stderr


def test_jobs_are_started_by_the_launcher_that_the_build_has_found(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/mpi.json").write_text('{"kind": "mpich", "mpicc": "/mpi/bin/mpicc", "mpiexec": "/mpi/bin/mpiexec"}')
    assert mpi_command("mpiexec", "mpich", tmp_path) == "/mpi/bin/mpiexec"
    assert mpi_command("mpicc", "mpich", tmp_path) == "/mpi/bin/mpicc"
    assert mpi_command("mpiexec", "openmpi", tmp_path) != "/mpi/bin/mpiexec"
