# SPDX-License-Identifier: MIT
"""Removes data that is not needed for linking from an installed static library. Meson strips only programs and shared
libraries.

strip_archive.py STRIP ARCHIVE; a relative path is relative to the prefix.
"""
import os
import subprocess
import sys
from pathlib import Path

archive = Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], sys.argv[2])
if archive.exists() and "MESON_INSTALL_DRY_RUN" not in os.environ:
    subprocess.run([sys.argv[1], "--strip-unneeded", archive], check=True)
