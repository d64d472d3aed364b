# SPDX-License-Identifier: MIT
"""A process may be forked while another thread is in libqmpi or in the loader. The child, which
does not have this thread, does not wait for locks that the thread held."""
import pytest

from mpi_in_use import EMULATED
from support import ASAN, TOOLS, run_mpi

pytestmark = pytest.mark.skipif(bool(ASAN), reason="the sanitizer's malloc stays locked in a child")


@pytest.mark.parametrize("tools", ["counter:counter", "pmpi_quiet:counter",
                                   "counter:pmpi_quiet", "pmpi_quiet:pmpi_tally:counter"])
def test_a_child_that_is_forked_during_a_switch_can_switch_layers(tools):
    result = run_mpi("forks", ranks=1, tools=tools, timeout=120)
    assert (result.returncode, result.stdout) == (0, "50 of 50 children\n")


@pytest.mark.skipif(EMULATED, reason="libqmpi counts the emulator's threads, too, so it does not see that the child "
                                     "has one thread and needs no lock of the loader")
@pytest.mark.parametrize("tools", ["counter:counter", "pmpi_quiet:counter"])
def test_a_child_that_is_forked_while_a_library_is_loaded_can_switch_layers(tools):
    result = run_mpi("forks", TOOLS / "plain.so", ranks=1, tools=tools, timeout=120)
    assert (result.returncode, result.stdout) == (0, "50 of 50 children\n")


def test_a_child_that_is_forked_while_a_publisher_runs_can_initialize_mpi_t():
    result = run_mpi("forks_mpit", ranks=1, tools="waiting", timeout=120)
    assert (result.returncode, result.stdout) == (0, "the child initialized MPI_T\n")
