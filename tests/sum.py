# SPDX-License-Identifier: MIT
"""Prints the last lines of ./check: everything that did not pass, and `N passed, N failed[, N
skipped]`.

    sum.py FORMAT SPELLING BUILD-FOLDER... -- PROBLEM... -- SKIPPED...

This script adds up the checks of format and spelling ('passed', 'failed', or '' if one did not run), Meson's
log of each folder's tests (testlog.json, and the names in tests.list), the problems, each of which
is one failure, and the parts that were skipped as a whole, each with the number of its tests in
front: `12 part: why`. If a test crashed, ran out of time or reported fewer points than it announced,
and none of its points failed, this is one failure; so is a test that should have run and did not.
The comments that follow a failed point of a TAP report explain the failure. Their first COMMENTS_SHOWN lines
are printed with the point, because Meson shows them nowhere.
"""
import json
import re
import sys
from collections import Counter
from pathlib import Path

GOOD = {"OK", "EXPECTEDFAIL", "SKIP"}
PLAN = re.compile(r"^1\.\.\d+", re.MULTILINE)
NAME = re.compile(r"\w+:[\w+-]+ / |[\w+-]+ - \w+:")  # PROJECT:SUITES / TEST; newer: SUITES - PROJECT:TEST
POINT = re.compile(r"^(not )?ok\b *\d* *(?:- )?([^#\n]*)(# *skip)?.*((?:\n#.*)*)", re.MULTILINE | re.IGNORECASE)
COMMENTS_SHOWN = 40


def lines_of(path):
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []


def add_test(test, sums, bad):
    """Counts a TAP report point by point, and any other test as one."""
    name, result = test["name"], test["result"]
    output = test.get("stdout", "")
    points = POINT.findall(output) if PLAN.search(output) else []
    if not points and result in GOOD:
        sums["skipped" if result == "SKIP" else "passed"] += 1
    failed = 0
    for failure, point, skip, comments in points:
        sums["failed" if failure else "skipped" if skip else "passed"] += 1
        if failure:
            failed += 1
            shown = comments.splitlines()[1:COMMENTS_SHOWN + 1]
            bad.append("\n    ".join([f"{name}: {point.strip()}", *shown]))
    if result not in GOOD and not failed:
        sums["failed"] += 1
        bad.append(f"{name}: {result} after {len(points)} results")


def add_folder(folder, sums, bad):
    ran = set()
    for line in lines_of(folder / "meson-logs" / "testlog.json"):
        try:
            test = json.loads(line)
        except ValueError:  # the last line is incomplete if Meson was killed
            continue
        ran.add(test["name"])
        add_test(test, sums, bad)
    wanted = {line.strip() for line in lines_of(folder / "tests.list") if NAME.match(line)}
    if not wanted:
        sums["failed"] += 1
        bad.append(f"{folder}: tests.list names no tests")
    for name in sorted(wanted - ran):
        sums["failed"] += 1
        bad.append(f"{name}: did not run in {folder}")


def main(format_result, spelling_result, *arguments):
    split = arguments.index("--")
    second = arguments.index("--", split + 1)
    sums, bad = Counter(), []
    for name, result in (("format", format_result), ("spelling", spelling_result)):
        if result:
            sums[result] += 1
            bad += [name] if result == "failed" else []
    for folder in arguments[:split]:
        in_folder = []
        add_folder(Path(folder), sums, in_folder)
        bad += [f"{folder}: {line}" for line in in_folder]
    for problem in arguments[split + 1:second]:
        sums["failed"] += 1
        bad.append(problem)
    for line in bad:
        print(f"not passed: {line}")
    for skip in arguments[second + 1:]:
        number, _, what = skip.partition(" ")
        sums["skipped"] += int(number)
        print(f"skipped: {what}")
    skipped = f", {sums['skipped']} skipped" if sums["skipped"] else ""
    print(f"{sums['passed']} passed, {sums['failed']} failed{skipped}")
    return sums["failed"] != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
