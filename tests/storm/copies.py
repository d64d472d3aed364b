# SPDX-License-Identifier: MIT
"""Copies libraries under numbered names, so that the loader treats each copy as another library.

copies.py STAMP FOLDER NAME=SOURCE=FIRST=COUNT… writes COUNT copies of each SOURCE, from
FOLDER/NAME<FIRST>.so on. Then it creates the empty file STAMP, or updates its time.
"""
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
