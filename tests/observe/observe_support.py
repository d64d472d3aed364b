# SPDX-License-Identifier: MIT
"""Runs a program under the tool `witness`, and compares the observed calls with those of the program.

The program writes down its calls in the file expected.RANK (see programs/expect.h), and the witness
writes down the observed calls in witness.RANK (see tools/witness.c). Both files have a line for each
call.
"""
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

from mpi_in_use import PROCESSOR
from support import BUILD, TOOLS, program, run_mpi

OBSERVE = BUILD / "tests" / "observe"
OBSERVE_TOOLS = OBSERVE / "tools"
OBSERVE_PROGRAMS = OBSERVE / "programs"
PMPI_TOOLS = BUILD / "tests" / "pmpi" / "tools"

HAS_COUNTER = PROCESSOR == "aarch64" or "tsc" in open(
    "/sys/devices/system/clocksource/clocksource0/available_clocksource", encoding="ascii").read()

# The values of fields that are missing in a line of the program.
DEFAULTS = {
    "result": "0", "sent": "0", "received": "0", "transfers": "-", "comm": "-", "root": "-",
    "started": "-", "completed": "-", "fault": "-",
}
# Fields that have the value of another field if they are missing.
SAME_AS = {
    "sent_before": "sent", "received_before": "received", "transfers_before": "transfers",
    "comm_after": "comm", "root_before": "root", "came": "received",
}
UNORDERED = ("started", "completed")


def observe_program(name) -> Path:
    return OBSERVE_PROGRAMS / name


def run_observed(name, *args, env=None, **kwargs):
    """Calls run_mpi for a program of tests/observe or, if there is none of this name, tests/stack. Unless
    `env` sets QMPI_TOOL_PATH, tools are searched for in tests/observe, tests/pmpi and tests/stack."""
    path = observe_program(name)
    environment = {"QMPI_TOOL_PATH": f"{OBSERVE_TOOLS}:{PMPI_TOOLS}:{TOOLS}", **(env or {})}
    return run_mpi(path if path.exists() else program(name), *args, env=environment, **kwargs)


def fields_of(line: str) -> dict[str, str]:
    """Returns the fields of a line by their names. If a name occurs several times, its values are joined."""
    function, *words = line.split()
    fields = {"function": function}
    for word in words:
        name, _, value = word.partition("=")
        if name in fields:
            value = f"{fields[name]},{value}"
        if name in UNORDERED:
            value = ",".join(sorted(value.split(",")))
        fields[name] = value
    return fields


def read(folder, what, rank) -> list[dict[str, str]]:
    path = Path(folder) / f"{what}.{rank}"
    return [fields_of(line) for line in path.read_text(encoding="utf-8").splitlines()]


def completed(expected: dict[str, str]) -> dict[str, str]:
    whole = DEFAULTS | expected
    for name, other in SAME_AS.items():
        whole.setdefault(name, whole[other])
    return whole


def differences(expected: dict[str, str], seen: dict[str, str]) -> list[str]:
    seen = {"fault": "-"} | seen
    return [f"{name}: seen {seen.get(name)}, true {value}"
            for name, value in completed(expected).items()
            if name != "came" and not fnmatchcase(seen.get(name, "(none)"), value)]


def plain(line: dict[str, str]) -> str:
    """Formats a line for messages, without the function and its arguments."""
    return " ".join(f"{name}={value}" for name, value in line.items()
                    if not name.startswith("a.") and name != "function")


def check_rank(folder, rank) -> list[dict[str, str]]:
    """Checks that the calls of a rank were observed once each, in order and with the right values.
    Returns the observed calls."""
    expected, seen = read(folder, "expected", rank), read(folder, "witness", rank)
    wrong = []
    for number, (true, got) in enumerate(zip(expected, seen), 1):
        if true["function"] != got["function"]:
            wrong.append(f"rank {rank}, call {number}: {got['function']} was seen, "
                         f"{true['function']} was called")
            break
        found = differences(true, got)
        if found:
            wrong.append(f"rank {rank}, call {number}, {true['function']}: {'; '.join(found)}\n"
                         f"    program: {plain(true)}\n    witness: {plain(got)}")
    if not wrong and len(expected) != len(seen):
        wrong.append(f"rank {rank}: {len(expected)} calls, {len(seen)} seen")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:12])
    return seen


def check_unordered(folder, rank) -> None:
    """Like check_rank, but for programs with threads, whose calls have no order."""
    keys = ["function", *DEFAULTS, *SAME_AS]
    # Programs with threads allow any value of some of these fields, and the witness does not observe the others.
    for free in ("root", "root_before", "comm_after", "came"):
        keys.remove(free)

    def key(line):
        return tuple(line.get(name, "-") for name in keys)

    expected = Counter(key(completed(line)) for line in read(folder, "expected", rank))
    seen = Counter(key(line) for line in read(folder, "witness", rank))
    assert expected - seen == Counter() and seen - expected == Counter()


def witness(folder, more="") -> str:
    """Returns the entry of QMPI_TOOLS for a witness that writes to `folder`."""
    return f"witness,folder={folder}{more}"


def check_program(name, folder, *args, ranks=2, more="", upper=(), lower=(), check=check_rank,
                  **kwargs):
    """Runs the program under the witness, with the given layers above and below it, and checks each
    rank."""
    tools = ":".join([*upper, witness(folder, more), *lower])
    result = run_observed(name, folder, *args, ranks=ranks, tools=tools, **kwargs)
    assert result.returncode == 0
    assert result.messages == []
    for rank in range(ranks):
        check(folder, rank)
    return result
