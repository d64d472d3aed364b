# SPDX-License-Identifier: MIT
"""The cost of MPI_T calls in instructions."""
import pytest

from mpit_support import run_mpit
from support import ASAN, BUILD, needs_ptrace

pytestmark = [needs_ptrace, pytest.mark.skipif(bool(ASAN), reason="the sanitizers' instructions would be counted")]


def instructions(what, **how):
    """Returns the number of instructions of one call, from two loops with different numbers of calls."""
    few, many = 2, 10
    result = run_mpit("cost", what, few, many, wrapper=[BUILD / "tests/count_steps"], **how)
    assert result.returncode == 0
    in_few, in_many = map(int, result.stdout.split())
    return (in_many - in_few) / (many - few)


def test_reading_a_published_counter_costs_at_most_60_instructions_more_than_a_call():
    call = instructions("nothing", tools="publisher")
    read = instructions("read", tools="publisher")
    print(f"an empty function {call}, reading {read}")
    assert 0 < read - call <= 60


def test_without_layers_an_mpi_t_call_costs_one_jump():
    alone = instructions("num", preload=())
    stack = instructions("num", tools="")
    print(f"alone {alone}, without layers {stack}")
    assert 0 <= stack - alone <= 1.5
