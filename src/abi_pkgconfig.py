# SPDX-License-Identifier: MIT
"""Lets the qmpi-abi.pc of the build with -Dmpi=abi take precedence over those of other builds.

With the file of the build with -Dmpi=abi, programs can be compiled, too; those of other builds serve only tools.
abi_pkgconfig.py LIBDIR KIND runs after the installation of a build; KIND is its MPI. The build with -Dmpi=abi saves a
copy of its qmpi-abi.pc in the directory of its tools. A build of another kind that is installed later replaces its own
file with this copy.
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
