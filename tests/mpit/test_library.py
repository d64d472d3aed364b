# SPDX-License-Identifier: MIT
"""The MPI library's own variables do not change when layers publish variables. In a stack, MPI_T can
be initialized and finalized several times, although MPICH 4.0.2 and Open MPI 4.1.4 alone may crash in
this case."""
import pytest

from mpit_support import run_mpit
from support import ABI, OPEN_MPI

STACKS = ["publisher", "empty:publisher:now:publisher", "now:empty"]


def listing(*args, **how):
    result = run_mpit("list_all", *args, **how)
    assert result.returncode == 0
    return result.stdout.splitlines()


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("args", [[], ["write"]], ids=["read", "write"])
def test_the_librarys_variables_keep_index_info_value_and_writability(args, stack):
    alone = listing(*args, preload=())
    assert len([line for line in alone if line.startswith("category ")]) >= 20
    assert len(alone) > 600
    assert listing(*args, tools=stack) == alone


def test_without_layers_the_variables_of_the_library_do_not_change():
    assert listing() == listing(preload=())


@pytest.mark.parametrize("order", ["before", "between", "after", "around"])
@pytest.mark.parametrize("stack", STACKS)
def test_mpi_t_may_be_initialized_and_finalized_at_any_time(order, stack):
    if OPEN_MPI and not ABI and order == "after" and "publisher" not in stack:
        order = "refused"  # because a first use of MPI_T so late crashes Open MPI, libqmpi refuses it
    result = run_mpit("come_and_go", order, tools=stack)
    assert (result.returncode, result.stdout) == (0, "done\n")
