# SPDX-License-Identifier: MIT
"""Prints how many cases the listed tests had when they last ran: `meson test --list | cases.py BUILD-FOLDER`.

A test that is not in the folder's testlog.json counts as one case. If no test is listed, the number is 1.
"""
import json
import sys
from collections import Counter
from pathlib import Path

from sum import NAME, add_test, lines_of


def main(folder):
    wanted = {line.strip() for line in sys.stdin if NAME.match(line)}
    sums = Counter()
    for line in lines_of(Path(folder) / "meson-logs" / "testlog.json"):
        try:
            test = json.loads(line)
        except ValueError:  # the last line is incomplete if Meson was killed
            continue
        if test["name"] in wanted:
            wanted.remove(test["name"])
            add_test(test, sums, [])
    print(max(1, sums.total() + len(wanted)))


if __name__ == "__main__":
    main(*sys.argv[1:])
