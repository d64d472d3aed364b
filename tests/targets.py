# SPDX-License-Identifier: MIT
"""Prints the targets that ninja must build for some of the tests, one a line.

    targets.py BUILD-FOLDER TESTS      TESTS: a file with the lines of `meson test --list` for these tests

The target `meson-test-prereq` builds the prerequisites of all tests, and `meson test` cannot build those
of some tests without running them.
"""
import json
import sys
from pathlib import Path


def main(folder, listed):
    folder = Path(folder).resolve()
    wanted = {line.strip() for line in Path(listed).read_text(encoding="utf-8").splitlines()}
    files = {}
    for target in json.loads((folder / "meson-info/intro-targets.json").read_text(encoding="utf-8")):
        files[target["id"]] = target["filename"]
    needed = set()
    for test in json.loads((folder / "meson-info/intro-tests.json").read_text(encoding="utf-8")):
        project = test["suite"][0].split(":")[0]
        suites = "+".join(suite.split(":", 1)[1] for suite in test["suite"])
        # Older and newer releases of Meson write the name of a test in different ways.
        if wanted & {f"{project}:{suites} / {test['name']}", f"{suites} - {project}:{test['name']}"}:
            for target in test["depends"]:
                needed.update(files[target])
    for path in sorted(needed):
        print(Path(path).relative_to(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
