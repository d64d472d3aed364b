# SPDX-License-Identifier: MIT
"""What profile finds in planted.c's and planted.F90's programs, and in others."""
import re
from pathlib import Path

from profile_support import TOOL_PATH, load, report
from support import BUILD, LIBQMPI, SOURCE, run_mpi

PROGRAMS = BUILD / "tests" / "tools" / "programs"
SOURCES = SOURCE / "tests" / "tools" / "programs"
HOSTS = BUILD / "tests" / "tools" / "tools" / "hosts.so"
# The machine may be busy with something else: a rank is late then that should not be, or waits for longer. What is
# tested must be true in one of so many runs.
RUNS = 10


def run_case(tmp_path, program, case=None, *arguments, ranks=2, tools="{profile}", options="", env=None, preload=()):
    out = tmp_path / "out.json"
    out.unlink(missing_ok=True)
    result = run_mpi(program, *([case] if case else []), *arguments, ranks=ranks, cwd=tmp_path, timeout=120,
                     tools=tools.format(profile=f"profile,output=out.json{options}"),
                     preload=(LIBQMPI, *preload), env={"QMPI_TOOL_PATH": TOOL_PATH, **(env or {})})
    assert result.returncode == 0 and result.messages == []
    return result, load(out)


def until(check, *arguments, **more):
    """The first run that passes the check; else the last one's failure."""
    for attempt in range(RUNS):
        try:
            return check(*arguments, **more)
        except AssertionError:
            if attempt == RUNS - 1:
                raise
    return None


def line_of(source, case):
    return next(number for number, line in enumerate((SOURCES / source).read_text().splitlines(), 1)
                if re.search(rf"(/\*|!) {case}\b", line))


def check_planted(tmp_path, program, source, case, kind, rank, seconds=None, *, ranks=2, line=True, **more):
    """The first finding; where ranks do not wait for a processor, the seconds are within 10 %."""
    result, document = run_case(tmp_path, program, case, ranks=ranks, **more)
    assert document["findings"], document["functions"]
    first = document["findings"][0]
    assert first["kind"] == kind, document["findings"]
    assert first["rank"] in (rank if isinstance(rank, tuple) else (rank,)), document["findings"]
    rank = first["rank"]
    if ranks == 2 and kind.startswith("late-"):
        assert first["peer"] == 1 - rank, first
    if line:
        assert (Path(first["file"]).name, first["line"]) == (source, line_of(source, case)), first
        assert f"{source}:{first['line']}" in first["summary"]
    assert re.search(rf"\brank {rank}\b", first["summary"], re.I) and len(first["summary"]) <= 80
    assert re.search(r"\d (ms|s) \(\d+ %\)", first["summary"])
    if seconds is None and ranks == 2:
        lost = {int(words[1]): float(words[2]) for words in map(str.split, result.stdout.splitlines())
                if words[:1] == ["lost"]}
        seconds = lost[rank]
    if ranks == 2:
        assert abs(first["seconds"] - seconds) <= 0.1 * seconds, (first, seconds)
    return document


def check_healthy(tmp_path, program, case=None, *arguments, **more):
    result, document = run_case(tmp_path, program, case, *arguments, **more)
    assert document["findings"] == []
    assert "Findings: no problems found" in report(tmp_path / "out.json")
    return result


# The options of delay that give a problem its size, where that would be what calls themselves take.
SLOW = "{{profile}}:delay,functions={},before={}"
