# SPDX-License-Identifier: MIT
"""Prints the results of each suite with each MPI library as a table in Markdown, and why tests were
skipped.

    table.py BUILD-FOLDER...

A cell is PASSED, PASSED / FAILED / SKIPPED if not all passed, or - if no test of the suite ran. The
numbers are those of sum.py, which counts a test file without a TAP report as one test.
"""
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from sum import add_test, lines_of

TITLES = {"sid-abi-mpich": "ABI on MPICH", "sid-abi-openmpi": "ABI on Open MPI"}
REASON = re.compile(r"^ok\b.*# *skip *(.*)", re.MULTILINE | re.IGNORECASE)


def cell(sums):
    if not sums:
        return "-"
    if sums["passed"] and not sums["failed"] and not sums["skipped"]:
        return str(sums["passed"])
    return f"{sums['passed']} / {sums['failed']} / {sums['skipped']}"


def main(*folders):
    table, reasons, suites = defaultdict(lambda: defaultdict(Counter)), defaultdict(Counter), []
    for folder in folders:
        for line in lines_of(Path(folder) / "meson-logs" / "testlog.json"):
            try:
                test = json.loads(line)
            except ValueError:  # the last line is incomplete if Meson was killed
                continue
            suite = re.match(r"(?:qmpi:)?(\w+)", test["name"])[1]
            suites += [suite] if suite not in suites else []
            for sums in (table[suite][folder], table["all"][folder]):
                add_test(test, sums, [])
            for reason in REASON.findall(test.get("stdout", "")):
                reasons[reason][folder] += 1
    names = [Path(folder).name.removeprefix("build-") for folder in folders]
    names = [TITLES.get(name, name) for name in names]
    print("| suite |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|")
    for suite in (*sorted(suites), "all"):
        print(f"| {suite} |", " | ".join(cell(table[suite][folder]) for folder in folders), "|")
    print("\nskipped:")
    for reason, counts in sorted(reasons.items()):
        where = ", ".join(f"{counts[folder]} {name}" for folder, name in zip(folders, names) if counts[folder])
        print(f"- {reason or 'without a reason'}: {where}")


if __name__ == "__main__":
    main(*sys.argv[1:])
