# SPDX-License-Identifier: MIT
"""The figures of profile are exact for all families of functions. The programs of tests/observe write a line about each
of their calls, and the figures must be the sums of these lines."""
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from profile_support import JSON, calls, load, run_steps
from support import needs_sessions

sys.path.insert(0, str(Path(__file__).parents[1] / "observe"))
from observe_support import completed, observe_program, read  # noqa: E402

pytestmark = pytest.mark.usefixtures("separate_nodes")

ONE_SIDED = {f"MPI_{name}{suffix}" for suffix in ("", "_c") for name in (
    "Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Rput", "Rget",
    "Raccumulate", "Rget_accumulate")}

PROGRAMS = [("point_to_point", 2), ("completion", 2), ("persistent", 2), ("collectives", 1),
            ("collectives", 3), ("in_place", 3), ("intercommunicators", 3), ("neighbours", 2),
            ("one_sided", 2), ("files", 2), ("communicators", 3),
            pytest.param("sessions", 2, marks=needs_sessions), ("threaded", 2),
            ("fortran_mpi", 2), ("fortran_f08", 2)]


def transfers_of(call):
    """Yields each transfer as (whether it is sent, the peer's rank in MPI_COMM_WORLD or None,
    bytes)."""
    for text in call["transfers"].split(",") if call["transfers"] != "-" else []:
        _, world, _, number = text.lstrip("*<>").split("/")
        world = int(world) if world.isdigit() else None
        if text[0] == "*":  # MPI_NO_OP: profile also counts a sent message of 0 bytes
            yield True, world, 0
        yield text.startswith(">"), world, int(number)


class Expected:
    """The sums of the lines that the ranks wrote."""

    def __init__(self, folder, ranks):
        self.calls, self.sent, self.received, self.no_bytes = (Counter() for _ in range(4))
        self.sizes = defaultdict(Counter)
        self.messages, self.bytes, self.with_data = Counter(), Counter(), Counter()
        for rank in range(ranks):
            for line in read(folder, "expected", rank):
                self.add(rank, completed(line))

    def add(self, rank, call):
        name = call["function"]
        # MPI libraries do not tell how much MPI_Isendrecv receives: see tools/profile/README.md.
        is_told = not name.startswith("MPI_Isendrecv")
        sent, received = int(call["sent"]), int(call["came"]) if is_told else 0
        self.calls[name] += 1
        self.sent[name] += sent
        self.received[name] += received
        if sent + received:
            self.sizes[name][(sent + received).bit_length() - 1] += 1
        else:
            self.no_bytes[name] += 1
        for sends, world, number in transfers_of(call):
            self.with_data[name] += number > 0 and (sends or is_told)
            if world is not None and (sends or name in ONE_SIDED):
                cell = (rank, world) if sends else (world, rank)
                self.messages[cell] += 1
                self.bytes[cell] += number


@pytest.mark.parametrize("program, ranks", PROGRAMS)
def test_rows_histograms_and_matrix_are_the_sums_of_the_lines_of_the_program(tmp_path, program, ranks):
    path = observe_program(f"observe_{program}")
    if not path.exists():
        pytest.skip("no Fortran compiler")
    result = run_steps(tmp_path, cwd=tmp_path, program=path, tools=JSON, ranks=ranks)
    assert result.returncode == 0 and result.messages == []
    result, expected = load(tmp_path / "out.json"), Expected(tmp_path, ranks)
    rows = {row["name"]: row for row in result["functions"]}
    assert calls(result) == expected.calls
    assert {name: row.get("bytes", {}).get("sent", 0) for name, row in rows.items()} == expected.sent
    assert {name: row.get("bytes", {}).get("received", 0)
            for name, row in rows.items()} == expected.received
    assert {name: dict(row.get("sizes", [])) for name, row in rows.items()} == {
        name: expected.sizes[name] for name in rows}
    assert {name: row.get("no_bytes", 0) for name, row in rows.items()} == {
        name: expected.no_bytes[name] for name in rows}
    matrix = {(cell["from"], cell["to"]): cell for cell in result["matrix"]}
    assert {cell: entry["messages"] for cell, entry in matrix.items()} == expected.messages
    assert {cell: entry["bytes"] for cell, entry in matrix.items()} == expected.bytes
    # The same calls by call site.
    sites, messages = Counter(), Counter()
    for site in result["callsites"]:
        sites[site["name"]] += site["calls"]
        messages[site["name"]] += site.get("messages", 0)
    assert sites == expected.calls
    assert {name: messages[name] for name, row in rows.items()
            if row["group"] in ("point-to-point", "one-sided")} == {
        name: expected.with_data[name] for name, row in rows.items()
        if row["group"] in ("point-to-point", "one-sided")}
