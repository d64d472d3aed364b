# SPDX-License-Identifier: MIT
"""Prints the soname of a library."""
import re
import subprocess
import sys

text = subprocess.run(
    ["readelf", "-d", sys.argv[1]], check=True, capture_output=True, text=True
).stdout
print(re.search(r"\(SONAME\).*\[(.+)\]", text).group(1))
