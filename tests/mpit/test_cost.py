# SPDX-License-Identifier: MIT
"""What MPI_T calls cost, in instructions."""
import re
import shutil

import pytest

from mpit_support import run_mpit
from support import ASAN

VALGRIND = shutil.which("valgrind")
pytestmark = [
    pytest.mark.skipif(not VALGRIND, reason="there is no valgrind"),
    pytest.mark.skipif(bool(ASAN), reason="valgrind cannot run a sanitized program"),
]


def instructions(what, tmp_path, **how):
    """
    Of one call: from the difference of two numbers of calls, so far apart that the start of the two
    processes, which differs by some ten thousand instructions, no longer counts.
    """
    few, many = 1000, 401000
    totals = []
    for calls in (few, many):
        result = run_mpit("cost", what, calls, wrapper=[
            VALGRIND, "--tool=callgrind", f"--callgrind-out-file={tmp_path / 'out'}"], **how)
        assert result.returncode == 0
        totals.append(int(re.search(r"Collected : (\d+)", result.stderr)[1]))
    return (totals[1] - totals[0]) / (many - few)


def test_reading_a_published_counter_costs_at_most_60_instructions_more_than_a_call(tmp_path):
    call = instructions("nothing", tmp_path, tools="publisher")
    read = instructions("read", tmp_path, tools="publisher")
    print(f"an empty function {call}, reading {read}")
    assert read - call <= 60


def test_without_layers_an_mpi_t_call_costs_one_jump(tmp_path):
    alone = instructions("num", tmp_path, preload=())
    stack = instructions("num", tmp_path, tools="")
    print(f"alone {alone}, without layers {stack}")
    assert stack - alone <= 1.5
