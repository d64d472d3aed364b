# SPDX-License-Identifier: MIT
"""A PMPI tool keeps its pointer to the next function. After a switch, this pointer leads to an
obsolete node of the chain, but the layers below still know the caller."""
import pytest

from support import run_mpi


def callers(stack, *steps):
    result = run_mpi("switch", "single", *steps, "finalize", ranks=1, tools=stack, preload=())
    assert result.returncode == 0
    return [call for call in result.calls if call.startswith("caller ") and " from " in call
            and ("rank" in call or "MPI_Barrier from" in call or "MPI_Comm_size" in call)]


@pytest.mark.parametrize("stack", ["pmpi_keeps:caller:alpha", "pmpi_keeps:caller:pmpi_call",
                                   "pmpi_keeps:pmpi_keeps:caller:alpha",
                                   "pmpi_keeps:caller:alpha:beta"])
def test_the_caller_is_known_after_a_layer_below_was_switched(stack):
    layers = stack.count(":") + 1
    me = stack.split(":").index("caller") + 1
    seen = callers(stack, "rank", f"off={layers}", "rank", f"on={layers}", "rank")
    assert seen == [f"caller {me} MPI_Comm_rank from caller_of_rank"] * 3


def test_the_caller_is_known_to_a_layer_that_is_off_but_still_called():
    """The saved pointer still leads to layer 2, which is no longer the first native layer."""
    seen = callers("pmpi_keeps:caller:caller", "rank", "off=2", "rank", "on=2", "rank")
    assert seen == ["caller 2 MPI_Comm_rank from caller_of_rank",
                    "caller 3 MPI_Comm_rank from caller_of_rank"] * 3


def test_the_caller_is_known_to_a_layer_that_is_off_even_after_a_call_was_left_by_longjmp():
    """The recorded frame of the call that was left may look like that of an outer call, but must not be
    taken for one."""
    seen = callers("pmpi_keeps:caller:caller", "rank", "left", "off=2", "rank")
    assert [call for call in seen if "Comm_rank" in call] == [
        "caller 2 MPI_Comm_rank from caller_of_rank",
        "caller 3 MPI_Comm_rank from caller_of_rank"] * 2


def test_calls_from_a_layer_have_a_caller_of_their_own():
    """In MPI_Barrier, the layer calls MPI_Comm_size from the top, through the PMPI tool."""
    expected = ["caller 2 MPI_Barrier from caller_of_barrier",
                "caller 2 MPI_Comm_size from function_of_the_tool"]
    assert callers("pmpi_keeps:caller:alpha", "barrier", "off=3", "barrier") == expected * 2
