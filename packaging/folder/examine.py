# SPDX-License-Identifier: MIT
"""Fails if the folder needs what a system may lack: examine.py FOLDER GLIBC PATH

It fails for each of these:

- a symbol of a later glibc than GLIBC (such as 2.28)
- a library that is neither in the folder, nor part of glibc or of GCC's runtime, nor that of Open MPI
- a run path that does not begin with $ORIGIN
- PATH, the directory in which the folder was built, in a file that is not an object
"""
import re
import subprocess
import sys
from pathlib import Path

SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|libgcc_s)\.so\.\d+")


# Tools that are built for Open MPI need its library, which the process has already loaded.
MPI = ("libmpi.so.40",)


def number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def examine(path: Path, folder: Path, glibc: str) -> tuple[list[str], list[str]]:
    """Returns the versions of glibc that an object needs, and descriptions of its faults."""
    dynamic = subprocess.run(["readelf", "-dVW", str(path)], check=True, capture_output=True, text=True).stdout
    versions = re.findall(r"Name: GLIBC_([\d.]+)", dynamic)
    wrong = [f"needs glibc {version}" for version in sorted(set(versions)) if number(version) > number(glibc)]
    for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic):
        if not SYSTEM.fullmatch(needed) and not (folder / "lib" / needed).exists() and needed not in MPI:
            wrong.append(f"needs {needed}")
    for run_path in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
        wrong += [f"has the run path {part}" for part in run_path.split(":") if not part.startswith("$ORIGIN")]
    return versions, wrong


def main() -> None:
    folder, glibc, built = Path(sys.argv[1]), sys.argv[2], sys.argv[3].encode()
    wrong, objects, highest = [], 0, "2.0"
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if content[:4] == b"\x7fELF":
            objects += 1
            versions, reasons = examine(path, folder, glibc)
            wrong += [f"{path}: {reason}" for reason in reasons]
            highest = max([highest, *versions], key=number)
        elif built in content:
            wrong.append(f"{path}: contains {sys.argv[3]}")
    print(f"{objects} objects; highest version of glibc: {highest}")
    if wrong:
        sys.exit("\n".join(wrong))


main()
