# SPDX-License-Identifier: MIT
"""Tools built with AddressSanitizer, whose own library is preloaded then, run as layers."""
import subprocess

import pytest

from host_support import RUN, check_stack, hosted, succeed
from support import ASAN, LIBQMPI

pytestmark = pytest.mark.skipif(not hosted("sanitized").exists(), reason="no AddressSanitizer")


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


@pytest.mark.parametrize("stack", [
    ("sanitized_tally",), ("sanitized_tally", "counter", "sanitized_tally")])
def test_counts_of_four_threads_are_exact_in_sanitized_tools(stack):
    result = succeed("threads", "count", 2000, tools=":".join(stack),
                     preload=[*sanitizer(), LIBQMPI])
    assert result.trace.count("sanitized_tally counted 1 8000 8000") == \
        stack.count("sanitized_tally")
