# SPDX-License-Identifier: MIT
"""Removes what linking does not need from an installed static library: Meson strips programs and shared libraries only.

strip_archive.py ARCHIVE; a relative path is meant in the prefix.
"""
import os
import subprocess
import sys
from pathlib import Path

archive = Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], sys.argv[1])
if archive.exists() and "MESON_INSTALL_DRY_RUN" not in os.environ:
    subprocess.run([os.environ.get("STRIP", "strip"), "--strip-unneeded", archive], check=True)
