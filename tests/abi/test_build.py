# SPDX-License-Identifier: MIT
"""Tests that the build for the standard ABI compiles. Other parts of ./check test such a build only with the MPI
libraries of a newer release of Debian, which have this ABI. Files that every build compiles for the standard ABI
are left out."""
import json
import os
import subprocess
from pathlib import Path

SOURCE, BUILD = Path(os.environ["QMPI_SOURCE_ROOT"]), Path(os.environ["QMPI_BUILD_ROOT"])
FOLDER = BUILD / "tests/abi/build"  # kept, so that only changes are compiled again
LIBRARIES = {"qmpi-abi", "qmpi-validate", "qmpi_static_parts", "delay", "empty", "mpit"}


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout[-10000:]
    return result.stdout


def test_libqmpi_its_tools_and_the_command_compile_for_the_standard_abi():
    # Without optimization and debug information, this takes a third of the time.
    if not (FOLDER / "build.ninja").exists():
        run("meson", "setup", FOLDER, SOURCE, "-Dmpi=abi", "-Dtests=false", "-Dshared=false", "-Dwerror=true",
            "-Doptimization=0", "-Ddebug=false")
    targets = [target for target in json.loads(run("meson", "introspect", "--targets", FOLDER))
               if target["name"] in LIBRARIES and target["type"] != "executable"]
    assert {target["name"] for target in targets} == LIBRARIES
    outputs = [os.path.relpath(path, FOLDER) for target in targets for path in target["filename"]]
    objects = [entry["output"] for entry in json.loads((FOLDER / "compile_commands.json").read_text())]
    command = [path for path in objects if path.startswith("cli/qmpi-abi.p/")]
    assert command
    run("ninja", "-C", FOLDER, "-j2", *outputs, *command)
