# SPDX-License-Identifier: MIT
"""Combines all object files of a static library into one, in which hidden symbols are local, in a new static library.

one_object.py LIBRARY NEW_LIBRARY OBJCOPY AR -- COMPILER...
"""
import subprocess
import sys
from pathlib import Path

library, new, objcopy, ar, _, *compiler = sys.argv[1:]
combined = Path(new).with_suffix(".o")
subprocess.run([*compiler, "-r", "-nostdlib", "-o", combined, "-Wl,--whole-archive", library, "-Wl,--no-whole-archive"],
               check=True)
subprocess.run([objcopy, "--localize-hidden", combined], check=True)
Path(new).unlink(missing_ok=True)
subprocess.run([ar, "rcsD", new, combined], check=True)
combined.unlink()
