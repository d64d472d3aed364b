# SPDX-License-Identifier: MIT
"""Datatypes have equal signatures if and only if they consist of the same sequence of basic types.

programs/signatures.c names its datatypes by these sequences, and tools/signature.c prints the
signatures.
"""
from collections import defaultdict

import pytest

from observe_support import run_observed


def run_signatures(*args, ranks=1, tools="signature"):
    result = run_observed("observe_signatures", *args, ranks=ranks, tools=tools)
    assert (result.returncode, result.messages) == (0, [])
    return result


def noted(result):
    """Returns two dictionaries {sequence: {(hash, count, packed)}}: for one element of each datatype
    and for three elements."""
    one, three = defaultdict(set), defaultdict(set)
    for line in result.trace:
        kind, name, *values = line.split()
        assert kind == "signature", line
        sequence = name.split("/")[0]
        one[sequence].add(tuple(values[:3]))
        three[sequence].add(tuple(values[3:]))
    return one, three


@pytest.mark.parametrize("ranks, tools", [(1, "signature"), (2, "signature"), (1, "signature:empty:signature")])
def test_signatures_are_equal_if_and_only_if_sequences_are_equal(ranks, tools):
    one, three = noted(run_signatures(ranks=ranks, tools=tools))
    assert len(one) > 35
    for copies, found in ((1, one), (3, three)):
        for sequence, signatures in found.items():
            assert len(signatures) == 1, (sequence, signatures)
            (_, count, packed), = signatures
            assert int(count) == copies * len(sequence), sequence
            assert int(packed) == ("p" in sequence), sequence
    hashes = {next(iter(signatures))[0] for signatures in one.values()}
    assert len(hashes) == len(one)
    assert three["ii"] == one["iiiiii"]
    assert three["id"] == one["ididid"]
    assert three[""] == one[""] == {("0", "0", "0")}


def test_memory_does_not_grow():
    growth, = [int(line.split()[1]) for line in run_signatures("grow").stdout.splitlines()]
    assert growth < 8, "bytes for each pair of datatypes"
