# SPDX-License-Identifier: MIT
"""Each call of a program is observed once, with the right values and, in programs without threads, in order."""
import pytest

from observe_support import OBSERVE_PROGRAMS, check_program, check_unordered, completed, observe_program, read
from support import needs_sessions, run_mpi

pytestmark = pytest.mark.usefixtures("separate_nodes")


def test_point_to_point_calls_are_observed(tmp_path):
    check_program("observe_point_to_point", tmp_path)


@pytest.mark.parametrize("lower", [[], ["pending"]], ids=["mpi", "pending"])
def test_completing_calls_are_observed(tmp_path, lower):
    check_program("observe_completion", tmp_path, lower=lower)


def test_completed_requests_are_observed_without_statuses(tmp_path):
    """The observer does not request statuses that the program ignores. If an operation fails, Open
    MPI's MPI_Waitall then returns the error of this operation instead of MPI_ERR_IN_STATUS, so only the
    requests are compared."""
    def check_requests(folder, rank):
        calls = zip(read(folder, "expected", rank), read(folder, "witness", rank), strict=True)
        for expected, seen in calls:
            assert [seen[key] for key in ("function", "started", "completed")] == [
                completed(expected)[key] for key in ("function", "started", "completed")], expected

    check_program("observe_completion", tmp_path, more=",few=yes", check=check_requests)


def test_a_message_with_the_handle_of_an_earlier_one_is_known(tmp_path):
    check_program("observe_matched", tmp_path, ranks=1, lower=["again"])


def test_the_error_handler_is_called_only_once_for_null_handles(tmp_path):
    if run_mpi(OBSERVE_PROGRAMS / "observe_refused", tmp_path, ranks=1, preload=()).returncode:
        pytest.skip("even without libqmpi, the MPI library ends a program that passes null handles")
    check_program("observe_refused", tmp_path, ranks=1)


def test_persistent_and_partitioned_operations_are_observed(tmp_path):
    check_program("observe_persistent", tmp_path)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_collectives_are_observed(tmp_path, ranks):
    check_program("observe_collectives", tmp_path, ranks=ranks)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_collectives_in_place_are_observed(tmp_path, ranks):
    check_program("observe_in_place", tmp_path, ranks=ranks)


def test_collectives_and_messages_on_intercommunicators_are_observed(tmp_path):
    check_program("observe_intercommunicators", tmp_path, ranks=3, more=",ranks=yes")


def test_collectives_among_neighbours_are_observed(tmp_path):
    check_program("observe_neighbours", tmp_path)


def test_one_sided_calls_are_observed(tmp_path):
    check_program("observe_one_sided", tmp_path)


def test_accesses_to_files_are_observed(tmp_path):
    check_program("observe_files", tmp_path)


def test_world_ranks_are_known_in_communicators_that_are_created_in_many_ways(tmp_path, monkeypatch):
    monkeypatch.delenv("MPIR_CVAR_NOLOCAL")  # one of the communicators consists of the ranks of a node
    check_program("observe_communicators", tmp_path, ranks=3, more=",ranks=yes")


@needs_sessions
def test_calls_of_a_program_with_only_sessions_are_observed(tmp_path):
    check_program("observe_sessions", tmp_path, more=",ranks=yes")


def test_calls_before_init_and_after_finalize_and_of_pcontrol_are_observed(tmp_path):
    check_program("observe_outside", tmp_path, ranks=1)


def test_arguments_and_results_are_those_of_the_program(tmp_path):
    check_program("observe_arguments", tmp_path, ranks=1)


def test_calls_of_four_threads_at_once_are_observed(tmp_path):
    check_program("observe_threaded", tmp_path, check=check_unordered)


@pytest.mark.parametrize("module", ["mpi", "f08"])
def test_calls_of_a_fortran_program_are_observed(tmp_path, module):
    path = observe_program(f"observe_fortran_{module}")
    if not path.exists():
        pytest.skip("no Fortran compiler")
    check_program(path.name, tmp_path)
