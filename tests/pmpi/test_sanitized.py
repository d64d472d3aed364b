# SPDX-License-Identifier: MIT
"""Tools that are built with AddressSanitizer run as layers if the library of the sanitizer is preloaded."""
import subprocess

import pytest

from pmpi_support import RUN, check_stack, pmpi_program, pmpi_tool, succeed
from support import ASAN, LIBQMPI

pytestmark = pytest.mark.skipif(not pmpi_tool("sanitized").exists(), reason="no AddressSanitizer")


def sanitizer():
    if ASAN:
        return []
    found = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True, capture_output=True,
                           text=True).stdout.strip()
    return [found]


@pytest.mark.parametrize("stack", [
    ("sanitized",), ("sanitized", "alpha"), ("alpha", "sanitized", "now"),
    ("sanitized", "beta", "sanitized")])
def test_sanitized_tools_run_and_count(stack):
    result = succeed("calls", *RUN, tools=":".join(stack), preload=[*sanitizer(), LIBQMPI])
    check_stack(stack, result)
    assert result.trace.count("exit sanitized counted 6 helper 0") == stack.count("sanitized")


def test_native_layers_work_below_the_programs_own_wrappers_or_a_tool_in_front():
    """The sanitizer's library comes before all others, as it must in a program that is built with the sanitizer."""
    result = succeed(pmpi_program("own"), *RUN, tools="alpha", preload=[*sanitizer(), LIBQMPI])
    check_stack(("own", "alpha"), result)
    front = succeed("calls", *RUN, tools="alpha", preload=[*sanitizer(), pmpi_tool("now"), LIBQMPI])
    check_stack(("now", "alpha"), front)


def test_a_native_layer_below_a_pmpi_layer_knows_the_caller_if_the_sanitizer_is_preloaded():
    result = succeed("callers", tools="now:caller", preload=[*sanitizer(), LIBQMPI])
    assert "caller 2 MPI_Comm_rank from caller_of_rank" in result.trace


@pytest.mark.parametrize("stack", [
    ("sanitized_tally",), ("sanitized_tally", "counter", "sanitized_tally")])
def test_counts_of_four_threads_are_exact_in_sanitized_tools(stack):
    result = succeed("threads", "count", 2000, tools=":".join(stack),
                     preload=[*sanitizer(), LIBQMPI])
    assert result.trace.count("sanitized_tally counted 1 8000 8000") == \
        stack.count("sanitized_tally")
