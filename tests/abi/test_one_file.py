# SPDX-License-Identifier: MIT
"""Tests that the same files of tools, compiled for the standard ABI, print the same in programs of
MPICH, in programs of Open MPI, and in programs that use the ABI with either library.

QMPI_OTHER_BUILD names a build for the other MPI, QMPI_ABI_BUILD one with -Dmpi=abi. Parts whose
build is missing are skipped.
"""
import hashlib
import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import mpi_in_use
from mpi_commands import mpi_command
from support import (ASAN, BUILD, BUNDLED_TOOLS, MPI_NAME, OPEN_MPI_SETTINGS, QMPI, SOURCE, clean_environment)

pytestmark = pytest.mark.skipif(bool(ASAN), reason="the other builds would have to be sanitized too")

OTHER_MPI = {"mpich": "openmpi", "openmpi": "mpich"}[MPI_NAME]
BUILDS = {MPI_NAME: BUILD, OTHER_MPI: Path(os.environ.get("QMPI_OTHER_BUILD") or "none"),
          "abi": Path(os.environ.get("QMPI_ABI_BUILD") or "none")}
LIBQMPIS = {"mpich": "libqmpi.so", "openmpi": "libqmpi-openmpi.so", "abi": "libqmpi-abi.so"}
SIDES = ["mpich", "openmpi", "abi with mpich", "abi with openmpi"]
TOOLS = ["profile", "count", "log", "trace"]
EXCHANGE = SOURCE / "tests/abi/programs/exchange.c"


def build_of(name):
    build = BUILDS[name]
    if not (build / "src" / LIBQMPIS[name]).exists():
        pytest.skip("QMPI_ABI_BUILD names no build with -Dmpi=abi" if name == "abi" else
                    "QMPI_OTHER_BUILD names no build for the other MPI")
    return build


def abi_library(implementation):
    """Returns the library of MPICH or of Open MPI that has the standard ABI. Searches the folder of the
    MPI library file itself, which may have both, whereas the linker's folder for this build may have only one."""
    for path in sorted(mpi_in_use.LINKED.resolve().parent.glob("libmpi_abi*.so*")):
        if mpi_in_use.implementation_of(path) == implementation:
            return path.resolve()
    pytest.skip(f"no libmpi_abi of {implementation} is installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("one_file")


@pytest.fixture(scope="module")
def observer(folder):
    """Makes a tool with `qmpi new` and compiles it as users of qmpi do."""
    subprocess.run([QMPI, "new", "--observer", folder / "sender"], check=True, capture_output=True)
    flags = subprocess.run(["pkg-config", "--cflags", "qmpi-abi"], check=True, capture_output=True, text=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled")}).stdout.split()
    source = next((folder / "sender").rglob("sender.c"))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "sender.so", source, *flags], check=True)
    return folder / "sender.so"


class Side:
    """An MPI library, and the libqmpi and the program that are compiled for this library."""

    def __init__(self, name, folder):
        kind, _, implementation = name.partition(" with ")
        implementation = implementation or kind
        self.libqmpi = build_of(kind) / "src" / LIBQMPIS[kind]
        self.launcher = mpi_command("mpiexec", implementation, build_of(kind))
        if not self.launcher:
            pytest.skip(f"no launcher of {implementation} is installed")
        self.program = folder / f"exchange-{name.replace(' ', '-')}"
        self.settings = OPEN_MPI_SETTINGS if implementation == "openmpi" else {}
        if kind == "abi":
            library = abi_library(implementation)
            place = folder / self.program.name.replace("exchange", "library")
            place.mkdir()
            (place / mpi_in_use.soname(library)).symlink_to(library)
            self.settings = {**self.settings, "LD_LIBRARY_PATH": str(place)}
            compiler = ["cc", f"-I{SOURCE}/include/qmpi/mpi-abi"]
            link = [library]
        else:
            compiler, link = [mpi_command("mpicc", kind, build_of(kind))], []
        subprocess.run([*compiler, "-w", "-o", self.program, EXCHANGE, *link], check=True)

    def run(self, tools):
        environment = {**clean_environment(), **self.settings, "QMPI_TOOLS": tools}
        result = subprocess.run([self.launcher, "-n", "2", "env", f"LD_PRELOAD={self.libqmpi}", self.program],
                                env=environment, capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stderr
        return result.stderr


def figures_of_profile(side, folder, more):
    output = folder / "profile.json"
    side.run(f"{BUNDLED_TOOLS}/profile.so,output={output},format=json{more}")
    result = json.loads(output.read_text())
    output.unlink()
    return {"functions": {each["name"]: (each["calls"], each["bytes"]["sent"], each["bytes"]["received"])
                          for each in result["functions"]},
            "communicators": sorted((each["name"], each["calls"], each["bytes"]["sent"], each["bytes"]["received"])
                                    for each in result["communicators"]),
            "matrix": result["matrix"],
            "unfinished receives": result["unfinished_receives"]}


def figures_of_count(side):
    """Returns, by function, the number of calls."""
    return {words[1]: words[2] for words in map(str.split, side.run(f"{BUNDLED_TOOLS}/count.so").splitlines())
            if len(words) > 2 and words[1].startswith("MPI_")}


def figures_of_log(side, folder):
    """Returns how often log prints each line, shortened to the rank, the function, and those arguments that are numbers
    or predefined handles."""
    side.run(f"{BUNDLED_TOOLS}/log.so,output={folder}/log.%r")
    lines = Counter()
    for rank in range(2):
        path = folder / f"log.{rank}"
        for name, arguments in re.findall(r" (MPI_\w+)\((.*)", path.read_text()):
            words = re.findall(r"\b(\w*(?:count|dest|source|tag|root|type|op)=(?:-?\d+|MPI_\w+))[,)]", arguments)
            lines[f"{rank} {name} {' '.join(words)}"] += 1
        path.unlink()
    return lines


@pytest.fixture(scope="module")
def told(folder, observer):
    """Returns a function that runs the program of a side under each tool, and returns the results of the tools."""
    known = {}

    def of(name):
        if name not in known:
            side = Side(name, folder)
            known[name] = {
                "profile": figures_of_profile(side, folder, ""),
                "count": figures_of_count(side),
                "log": figures_of_log(side, folder),
                "a tool from qmpi new": re.findall(r"sender \(layer 1\): .*", side.run(str(observer))),
            }
        return known[name]

    return of


def test_the_figures_are_those_of_the_program(told):
    mine = told(MPI_NAME)
    functions = mine["profile"]["functions"]
    assert functions["MPI_Send"] == (7, 800 + 2 * 120, 0)
    assert functions["MPI_Irecv"] == (6, 0, 2 * (80 + 120))
    assert mine["count"]["MPI_Startall"] == "6"
    assert mine["log"]["0 MPI_Send count=40 datatype=MPI_DOUBLE dest=1 tag=4"] == 1
    assert len(mine["a tool from qmpi new"]) == 1


@pytest.mark.parametrize("tool", ["profile", "count", "log", "a tool from qmpi new"])
@pytest.mark.parametrize("side", [side for side in SIDES if side != MPI_NAME])
def test_the_same_file_gives_the_same_figures_on_each_side(told, side, tool):
    assert told(side)[tool] == told(MPI_NAME)[tool]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("build", [name for name in BUILDS if name != MPI_NAME])
def test_all_builds_make_the_same_file(build, tool):
    def sum_of(folder):
        return hashlib.sha256((folder / f"tools/{tool}.so").read_bytes()).hexdigest()

    assert sum_of(build_of(build)) == sum_of(BUILD)
