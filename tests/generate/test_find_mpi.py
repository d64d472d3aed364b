# SPDX-License-Identifier: MIT
"""Tests src/generate/find_mpi.py, by which a build finds its MPI, with the MPI libraries that are
installed here."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from generate_support import CC, GENERATOR, MPI_INCLUDE, MPI_LIBRARY, MPI_NAME, SOURCE, run

FIND = [sys.executable, "-B", GENERATOR / "find_mpi.py"]
PKG_CONFIG = shutil.which("pkg-config")
COMMANDS = [name for name in ("mpicc.mpich", "mpicc.openmpi", "mpicc") if shutil.which(name)]


def ask(wanted, *options, env=None):
    command = [str(part) for part in [*FIND, wanted, *options, "--", *CC]]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})


def find(wanted, *options, env=None):
    answer = ask(wanted, *options, env=env)
    assert answer.returncode == 0, answer.stderr
    return {key: values for key, *values in (line.split("\t") for line in answer.stdout.splitlines())}


def refusal(wanted, *options):
    """Returns the first line of the message with which an MPI is refused. The last line of the
    message must be its only hint."""
    answer = ask(wanted, *options)
    assert answer.returncode == 1 and answer.stdout == ""
    lines = answer.stderr.splitlines()
    assert lines[0].startswith(f"qmpi: -Dmpi={wanted}: no MPI that can be used: ")
    assert [line for line in lines if line.startswith("hint: ")] == [lines[-1]]
    return lines[0]


def header_folder(name):
    """Returns the folder of a compiler command's mpi.h."""
    text = subprocess.run([name, "-E", "-x", "c", "-"], input="#include <mpi.h>\n", check=True,
                          capture_output=True, text=True).stdout
    return os.path.normpath(Path(re.search(r'^# \d+ "([^"]*/mpi\.h)"', text, re.M)[1]).parent)


def prefix_of(folder, include=MPI_INCLUDE, library=MPI_LIBRARY):
    """Makes a prefix out of links to an MPI that is installed in other folders."""
    (folder / "lib").mkdir(parents=True)
    (folder / "include").symlink_to(include)
    (folder / "lib" / Path(library).name).symlink_to(os.path.realpath(library))
    return folder


def wrapper(path, code):
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


def other_mpi():
    """Returns the folder of mpi.h and the library of an installed MPI that is not this build's."""
    for name in COMMANDS:
        found = find(name)
        if found["kind"] != [MPI_NAME]:
            return found["include"][0], found["library"][0]
    pytest.skip("no other MPI is installed")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_compiler_command_tells_the_place_of_its_mpi(command):
    found = find(command)
    assert found["include"] == [header_folder(command)]
    assert found["package"] == [""]
    assert found["mpicc"] == [shutil.which(command)]
    program = subprocess.run(["readelf", "-d", found["library"][0]], check=True, capture_output=True, text=True)
    assert f"[{found['soname'][0]}]" in program.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_compiler_command_that_tells_nothing_is_asked_to_compile(command, tmp_path):
    """Makes a compiler command like Cray's: its MPI appears only in the preprocessed program and in
    the linker's trace."""
    silent = wrapper(tmp_path / "silent", f'case "$1" in -show|--cray*|-compile*) exit 1;; esac\nexec {command} "$@"')
    found, told = find(silent), find(command)
    for key in ("kind", "include", "soname", "version"):
        assert found[key] == told[key], key
    assert os.path.realpath(found["library"][0]) == os.path.realpath(told["library"][0])


def test_a_prefix_needs_no_pkg_config_and_no_compiler_command(tmp_path):
    prefix = prefix_of(tmp_path / "prefix")
    found = find(prefix)
    assert found["kind"] == [MPI_NAME]
    assert found["include"] == [f"{prefix}/include"]
    assert Path(found["library"][0]).parent == prefix / "lib"
    assert found["package"] == found["mpicc"] == found["mpiexec"] == [""]


def test_the_library_of_a_prefix_may_have_any_name(tmp_path):
    """Examples are lib/release/libmpi.so of Intel MPI and lib/libmpi_cray.so of Cray MPICH."""
    prefix = prefix_of(tmp_path / "prefix")
    (prefix / "lib/release").mkdir()
    library = next((prefix / "lib").glob("*.so"))
    library.rename(prefix / "lib/release/libmpi_other.so")
    assert find(prefix)["library"] == [f"{prefix}/lib/release/libmpi_other.so"]


@pytest.mark.skipif(not PKG_CONFIG, reason="pkg-config is not installed")
def test_pkg_config_is_asked_first_and_is_not_needed():
    packages = [name for name in ("mpich", "ompi-c")
                if subprocess.run([PKG_CONFIG, "--exists", name]).returncode == 0]
    if not packages:
        pytest.skip("pkg-config knows no MPI")
    name = {"mpich": "mpich", "ompi-c": "openmpi"}[packages[0]]
    found, without = find(name, "--pkg-config", PKG_CONFIG), find(name)
    assert (found["package"], without["package"]) == ([packages[0]], [""])
    assert (found["kind"], found["soname"]) == (without["kind"], without["soname"]) == ([name], found["soname"])


def test_a_header_and_a_library_of_two_mpis_are_refused(tmp_path):
    include, library = other_mpi()
    line = refusal(prefix_of(tmp_path / "prefix", library=library))
    assert f"{tmp_path}/prefix/include/mpi.h belongs to " in line
    assert f"but {tmp_path}/prefix/lib/{Path(library).name} belongs to " in line
    line = refusal(prefix_of(tmp_path / "turned", include=include))
    assert f"{tmp_path}/turned/include/mpi.h belongs to " in line


def test_the_name_of_one_mpi_never_means_another(tmp_path):
    other_mpi()
    if MPI_NAME == "abi":
        pytest.skip("abi is the name of no MPI")
    command = find({"mpich": "openmpi", "openmpi": "mpich"}[MPI_NAME])["mpicc"][0]
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "mpicc").symlink_to(command)
    # If ccache is installed under the name of a compiler, it looks for the real compiler in PATH, which has
    # only the folder `commands` here. The links must therefore lead to the real compilers.
    path = os.pathsep.join(folder for folder in os.get_exec_path() if Path(folder).name != "ccache")
    for name in {"sh", "nm", "readelf", "cc", "gcc", "as", "ld", *CC}:
        if shutil.which(name, path=path):
            (commands / Path(name).name).symlink_to(shutil.which(name, path=path))
    answer = ask(MPI_NAME, env={"PATH": str(commands)})
    assert answer.returncode == 1
    assert " belongs to " in answer.stderr


def test_a_place_without_an_mpi_is_refused_with_the_reason(tmp_path):
    assert "there is no command no-such-command" in refusal("no-such-command")
    assert f"there is no {tmp_path}/include/mpi.h" in refusal(tmp_path)
    assert "silent does not find mpi.h: " in refusal(wrapper(tmp_path / "silent", "exit 1"))
    compiler = wrapper(tmp_path / "compiler", f'case "$1" in -*show*) exit 1;; esac\nexec {CC[-1]} "$@"')
    assert "does not find mpi.h: " in refusal(compiler)


def test_a_prefix_with_a_static_library_alone_is_refused(tmp_path):
    prefix = prefix_of(tmp_path / "prefix")
    library = next((prefix / "lib").glob("*.so"))
    library.rename(library.with_suffix(".a"))
    assert f"there is no shared MPI library in {prefix}/lib" in refusal(prefix)


def test_a_header_of_no_known_mpi_is_refused(tmp_path):
    include = tmp_path / "include"
    include.mkdir()
    (include / "mpi.h").write_text("int MPI_Init(int *argc, char ***argv);\n")
    prefix = prefix_of(tmp_path / "prefix", include=include)
    assert f"{prefix}/include/mpi.h belongs to no MPI that qmpi knows" in refusal(prefix)


def test_a_build_from_a_prefix_is_configured_without_pkg_config(tmp_path):
    """Also tests that the build's own files for pkg-config lead to this MPI, which pkg-config does not
    know without them."""
    prefix = prefix_of(tmp_path / "prefix")
    build = tmp_path / "build"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PKG_CONFIG")}
    setup = subprocess.run(["meson", "setup", build, SOURCE, f"-Dmpi={prefix}", "-Dtests=false"], text=True,
                           capture_output=True, env={**environment, "PKG_CONFIG": "/bin/false"})
    assert setup.returncode == 0, setup.stdout
    shown = dict(re.findall(r"^    ([\w.-]+(?: \w+)*) *: (.*)$", setup.stdout, re.M))
    assert shown["library"] == f"{prefix}/lib/{Path(MPI_LIBRARY).name}"
    assert shown["mpi.h in"] == f"{prefix}/include"
    if not PKG_CONFIG:
        return
    options = json.loads(run("meson", "introspect", "--buildoptions", build))
    assert {"mpi": str(prefix)}.items() <= {each["name"]: each["value"] for each in options}.items()
    package = "qmpi" if MPI_NAME == "mpich" else f"qmpi-{MPI_NAME}"
    flags = subprocess.run([PKG_CONFIG, "--cflags", "--libs", package], check=True, capture_output=True, text=True,
                           env={**environment, "PKG_CONFIG_PATH": str(build / "meson-private")}).stdout.split()
    if MPI_NAME == "abi":  # its tools have the project's own mpi.h, and need no library
        assert "-lmpi_abi" not in flags and any(flag.endswith("/qmpi/mpi-abi") for flag in flags)
        return
    assert f"-I{prefix}/include" in flags
    assert f"-L{prefix}/lib" in flags
