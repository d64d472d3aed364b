# SPDX-License-Identifier: MIT
"""Tests that the list of functions that tools for the standard ABI may call is the one in the
documents."""
import re
import sys

from support import SOURCE

sys.path.insert(0, str(SOURCE / "src/generate"))

import abi_calls


def test_the_documents_list_the_functions_that_convert():
    text = (SOURCE / "docs/write/observers.md").read_text(encoding="utf-8")
    table = text[text.index("| | PMPI functions |"):].split("\n\n")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(abi_calls.CALLS)
