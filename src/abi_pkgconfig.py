# SPDX-License-Identifier: MIT
"""Keeps qmpi-abi.pc of the build with -Dmpi=abi, which also serves programs, whichever build is installed last.

abi_pkgconfig.py LIBDIR KIND, after an installation: that build leaves a copy beside the tools, and the builds of
other kinds put it in the place of theirs.
"""
import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    libdir = Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], sys.argv[1])
    file, saved = libdir / "pkgconfig/qmpi-abi.pc", libdir / "qmpi-abi/qmpi-abi.pc"
    if sys.argv[2] == "abi":
        saved.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, saved)
    elif saved.exists():
        shutil.copyfile(saved, file)


main()
