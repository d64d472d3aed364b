# SPDX-License-Identifier: MIT
"""Copies libraries under numbered names, so that the loader takes each for a different one:
copies.py STAMP FOLDER NAME=SOURCE=FIRST=COUNT… writes FOLDER/NAME<FIRST>.so and so on."""
import shutil
import sys
from pathlib import Path

stamp, folder, *jobs = sys.argv[1:]
for job in jobs:
    name, source, first, count = job.split("=")
    for number in range(int(first), int(first) + int(count)):
        target = Path(folder, f"{name}{number}.so")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
Path(stamp).touch()
