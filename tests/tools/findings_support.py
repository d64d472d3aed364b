# SPDX-License-Identifier: MIT
"""Checks the findings that profile reports for the programs planted.c, planted.F90 and others."""
import os
import re
import resource
import time
from pathlib import Path

import pytest
from profile_support import TOOL_PATH, load, report
from support import BUILD, LIBQMPI, SOURCE, run_mpi

PROGRAMS = BUILD / "tests" / "tools" / "programs"
SOURCES = SOURCE / "tests" / "tools" / "programs"
HOSTS = BUILD / "tests" / "tools" / "tools" / "hosts.so"
# On a busy machine, ranks may be late or wait longer for reasons that lie outside the program. So a check of findings
# is repeated until it passes, until it has failed in QUIET_RUNS runs during which the rest of the machine was quiet,
# or until SECONDS have passed.
QUIET_RUNS = 3
SECONDS = 20
QUIET = 0.1  # share of the processors' time that others may use


def of_program(document):
    """Returns a profile without the findings of the kind no-processor, which are not faults of the program."""
    findings = [finding for finding in document["findings"] if finding["kind"] != "no-processor"]
    return {**document, "findings": findings}


def run_case(tmp_path, program, case=None, *arguments, ranks=2, tools="{profile}", options="", env=None, preload=(), processors=False,
             **more):
    """Runs a program under profile. Returns the Result and the profile, without the findings that of_program removes
    unless `processors` is true."""
    out = tmp_path / "out.json"
    out.unlink(missing_ok=True)
    result = run_mpi(program, *([case] if case else []), *arguments, ranks=ranks, cwd=tmp_path, timeout=120,
                     tools=tools.format(profile=f"profile,output=out.json{options}"),
                     preload=(LIBQMPI, *preload), env={"QMPI_TOOL_PATH": TOOL_PATH, **(env or {})}, **more)
    assert result.returncode == 0 and result.messages == []
    document = load(out)
    return result, document if processors else of_program(document)


def processor_seconds():
    """Returns two times in seconds: how long all processors together have worked, or were withheld by the hypervisor;
    and how long the children of this process that have ended worked."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    worked = sum(fields) - fields[3] - fields[4]  # without idle time and waiting for I/O
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return worked / os.sysconf("SC_CLK_TCK"), children.ru_utime + children.ru_stime


def is_quiet(before, after, seconds):
    others = (after[0] - before[0]) - (after[1] - before[1])
    return others <= QUIET * seconds * os.cpu_count()


def until(check, *arguments, **more):
    """Repeats a check, which includes a run, until it passes. A check also fails if it unpacks a list of an unexpected
    length, or looks for something that does not exist. If SECONDS have passed, the test is skipped."""
    quiet, end = 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        before, begin = processor_seconds(), time.monotonic()
        try:
            return check(*arguments, **more)
        except (AssertionError, LookupError, StopIteration, ValueError):
            quiet += is_quiet(before, processor_seconds(), time.monotonic() - begin)
            if quiet == QUIET_RUNS:
                raise
    return pytest.skip("other programs take the processors")


def line_of(source, case):
    return next(number for number, line in enumerate((SOURCES / source).read_text().splitlines(), 1)
                if re.search(rf"(/\*|!) {case}\b", line))


def check_planted(tmp_path, program, source, case, kind, rank, seconds=None, *, ranks=2, line=True, **more):
    """Checks the first finding. `rank` is its rank, or a tuple of possible ranks. If `line` is true, the finding must
    have the line that a comment in the source marks. With 2 ranks, its seconds must be within 10 % of `seconds` or, if
    this is None, of what the program prints. More ranks may wait for a processor, so that their seconds are not
    compared."""
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
    assert re.search(rf"\brank {rank}\b", first["summary"], re.I)
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


def check_communicating(tmp_path, program, case=None, *arguments, **more):
    """Checks a program that does nothing wrong. If the program spends much of its time in MPI, this must be the only
    finding; otherwise, there must be none."""
    result, document = run_case(tmp_path, program, case, *arguments, **more)
    is_efficient = document["efficiency"]["parallel"] >= .8
    assert [finding["kind"] for finding in document["findings"]] == ([] if is_efficient else ["time-in-mpi"])
    losses = [part for part in document["budget"]["parts"][1:] if part["share"] >= .05]
    assert ("Findings: no problems found" in report(tmp_path / "out.json")) == (is_efficient and not losses)
    return result


# A stack in which the layer delay determines the size of a problem. Without it, the size would be the time that the
# calls themselves take.
SLOW = "{{profile}}:delay,functions={},before={}"
