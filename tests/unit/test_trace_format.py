# SPDX-License-Identifier: MIT
"""Tests that a reader that was written from docs/run/trace-format.md finds the same contents in files as
tools/trace/file."""
import ctypes
import os
import re
import subprocess
from pathlib import Path

import pytest

import trace_reader

PROGRAM = Path(os.environ["QMPI_BUILD_ROOT"]) / "tests" / "unit" / "print_trace"
DOCUMENT = Path(os.environ["QMPI_SOURCE_ROOT"]) / "docs" / "run" / "trace-format.md"
ENTER, LEAVE, INTERRUPTED = 0, 1, 34


def has_zstd():
    try:
        ctypes.CDLL("libzstd.so.1")
    except OSError:
        return False
    return True


def expected(path):
    """Returns the lines in which print_trace shows what tools/trace/file finds."""
    return subprocess.run([PROGRAM, "print", path], check=True, capture_output=True, text=True,
                          timeout=60).stdout.splitlines()


def found(path):
    """Yields what trace_reader.py finds: lines of the same form for definitions, and tuples for events, whose times
    are compared with a tolerance."""
    blocks = list(trace_reader.blocks(path.read_bytes()))
    tables = trace_reader.definitions(blocks)
    for index in sorted(tables["function"]):
        name, group, _ = tables["function"][index]
        yield f"function {name}, {group}"
    for index in sorted(tables["comm"]):
        identity, _, name, _, _, group = tables["comm"][index]
        yield f"comm {name}, {identity:x}:" + "".join(f" {rank}" for rank in group)
    locations = {}
    for block in blocks:
        if block.type == 2:
            (location, stream, number), calls, events = trace_reader.events(block, tables["kinds"])
            assert stream == 0
            locations.setdefault(location, []).append((number, calls, events))
    for index in sorted(tables["location"]):
        yield f"location {tables['location'][index][0]}"
        yield from lines(tables, locations.get(index, []))


def lines(tables, blocks):
    stack, number = [], 0
    for first, calls, events in blocks:
        assert first == number and calls == stack
        for event in events:
            kind = event["kind"]
            if kind == ENTER:
                stack.append((event["function"], event["site"], event["ticks"], number))
            elif kind in (LEAVE, INTERRUPTED):
                event["function"], event["site"], *_ = stack.pop()
            number += 1
            members = "".join(f" {name}={event[name]}" for name in trace_reader.FIELDS + ["request"]
                              if name in event)
            value = f" value={event['value'].hex()}" if "value" in event else ""
            yield kind, event["ticks"], trace_reader.world_time(tables, event["ticks"]), members + value


def same(line, other):
    if isinstance(other, str):
        return line == other
    kind, ticks, time, members = other
    words = line.split(" ", 3)
    if words[:2] != [str(kind), str(ticks)] or abs(int(words[2]) - time) > 1 + abs(time) * 1e-15:
        return False
    values = members.split("value=")
    if len(values) == 2:  # C and Python format numbers differently.
        line_values = line.split("value=")
        return (line_values[0].split(" ", 3)[3:] == [values[0].lstrip()]
                and float.fromhex(line_values[1]) == float.fromhex(values[1]))
    return (words[3] if len(words) > 3 else "") == members.lstrip()


@pytest.mark.skipif(not has_zstd(), reason="no libzstd.so.1")
def test_another_reader_finds_the_same_events(tmp_path):
    path = tmp_path / "rank-0.qtrace"
    events = 0
    for seed in range(1, 13):
        subprocess.run([PROGRAM, "make", str(seed), path], check=True, timeout=60)
        one, other = expected(path), list(found(path))
        assert len(one) == len(other)
        for line, event in zip(one, other):
            assert same(line, event), f"seed {seed}: {line}, not {event}"
        events += len(one)
    assert events > 10000


def test_the_document_has_every_kind_of_event():
    text = DOCUMENT.read_text(encoding="utf-8")
    header = (Path(os.environ["QMPI_SOURCE_ROOT"]) / "tools/trace/file/event.h").read_text(encoding="utf-8")
    body = header.split("enum trace_event_kind {")[1].split("}")[0]
    count = len(re.findall(r"^ +TRACE_[A-Z_]+,", body, re.MULTILINE))
    numbers = {int(number) for row in text.split("### Kinds of events")[1].split("## Calls")[0].splitlines()
               if row.startswith("| ") and row[2].isdigit()
               for number in row.split("|")[1].split(",")}
    assert numbers == set(range(count))
