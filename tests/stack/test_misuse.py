# SPDX-License-Identifier: MIT
"""Wrong calls of QMPI functions return an MPI error class and change nothing."""
import pytest

from support import program, run_mpi

RUN = ["init", "comm_rank", "comm_size", "finalize"]


def test_misuse_from_c_gives_error_classes_and_leaves_outputs_alone():
    result = run_mpi("calls", *RUN, ranks=1, tools="alpha:misuse:beta")
    assert result.returncode == 0
    assert not [line for line in result.trace if "WRONG" in line]
    assert "misuse made more than 250 checks: yes" in result.trace


def test_the_finalizer_that_was_registered_last_is_called_once_while_mpi_works():
    result = run_mpi("calls", "init", "barrier", "finalize", ranks=1, tools="alpha:misuse:beta")
    assert [line for line in result.trace if "finalizer" in line] == ["misuse finalizer of layer 2: active, timed"]


def test_misuse_changes_nothing_about_the_stack():
    result = run_mpi("calls", *RUN, ranks=1, tools="alpha:misuse:beta")
    calls = [line for line in result.calls if not line.startswith(("misuse made", "misuse finalizer"))]
    assert calls == [
        "app init", "alpha 1 MPI_Init", "beta 3 MPI_Init",
        "app comm_rank", "alpha 1 MPI_Comm_rank", "misuse 2 MPI_Comm_rank", "beta 3 MPI_Comm_rank",
        "app comm_size", "alpha 1 MPI_Comm_size", "beta 3 MPI_Comm_size",
        "app finalize", "alpha 1 MPI_Finalize", "beta 3 MPI_Finalize",
    ]
    raw = run_mpi("calls", *RUN, ranks=1, preload=())
    assert result.stdout == raw.stdout
    [first, hint] = result.messages
    assert first.startswith("layer 2 (misuse): a registration in the init function of the tool failed: "
                            "QMPI_Register_tool_function returned MPI_ERR_OTHER, and ")
    assert hint.startswith("  hint: ")


@pytest.mark.skipif(not program("api_cpp").exists(), reason="no C++ compiler")
def test_use_and_misuse_from_cpp_have_the_right_results():
    result = run_mpi("api_cpp", ranks=1, tools="in-c++", preload=())
    assert (result.returncode, result.stdout) == (0, "calls 2, wrong 0\n")
