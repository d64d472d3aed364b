# SPDX-License-Identifier: MIT
"""libqmpi with an MPI library other than the one for which it was built.

Another version of the same MPI is simulated by a copy of the library in which one function is
renamed, so that libqmpi knows a function that the library lacks, and the library has a function
that libqmpi does not know. For MPI libraries of other kinds, programs are built with each installed
MPI; each program must work, or end with one message.
"""
import glob
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import mpi_in_use
from mpi_commands import mpi_command
from support import (ABI, ASAN, BUILD, BUNDLED_TOOLS, LIBQMPI, MPI_NAME, MPI_SONAME, MPICC, QMPI, SOURCE,
                     clean_environment, launch, run_command)

LIBRARY = mpi_in_use.library if ABI else mpi_in_use.LINKED

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    if (argc > 1) {
        MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    puts("the program ends");
    return MPI_Finalize();
}
"""


def compile_with(command, folder, *arguments):
    source, output = folder / "program.c", folder / "program"
    source.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([*command, "-w", source, "-o", output, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


# ---- Another version -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Creates a folder with the program and a library in which MPI_Comm_idup is named MPI_Xomm_idup."""
    folder = tmp_path_factory.mktemp("other_version")
    compile_with([MPICC], folder)
    content = Path(LIBRARY).read_bytes()
    assert content.count(b"\0PMPI_Comm_idup\0") == 1
    (folder / MPI_SONAME).write_bytes(content.replace(b"MPI_Comm_idup\0", b"MPI_Xomm_idup\0"))
    return folder


def run_other(folder, *arguments, tools="", ranks=0, command="run"):
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(folder)}
    launcher = launch(ranks) if ranks else []
    options = ["-t", tools] if command == "run" else []
    return run_command([*launcher, QMPI, command, *options, "--", folder / "program", *arguments], environment)


@pytest.mark.parametrize("tools", ["", "empty:count"])
def test_a_program_that_does_not_call_a_missing_function_works(folder, tools):
    result = run_other(folder, tools=tools)
    assert (result.returncode, result.stdout) == (0, "the program ends\n")
    assert not any("MPI_Comm_idup" in line for line in result.messages)


@pytest.mark.parametrize("tools", ["", "empty:count"])
def test_a_call_of_a_function_that_the_library_lacks_ends_the_program_with_a_message(folder, tools):
    result = run_other(folder, "idup", tools=tools)
    assert result.returncode == 2
    assert "the program ends" not in result.stdout
    said = [line for line in result.messages if "was called" in line]
    assert said == [f"MPI_Comm_idup was called, but {folder / MPI_SONAME} does not provide it"]
    after = result.messages[result.messages.index(said[0]) + 1]
    assert after.strip().startswith("hint: ")


def test_a_call_of_a_function_that_the_library_lacks_ends_the_whole_job(folder):
    result = run_other(folder, "idup", tools="empty", ranks=2)
    assert result.returncode not in (0, 124)
    assert "MPI_Comm_idup was called" in result.stderr


def test_functions_and_doctor_list_the_functions_that_the_library_or_libqmpi_lacks(folder):
    for file in (folder / MPI_SONAME, folder / "program"):
        environment = {**clean_environment(), "LD_LIBRARY_PATH": str(folder)}
        lines = run_command([QMPI, "functions", file], environment).stdout.splitlines()
        states = {name: (number, state) for number, name, state in (line.split() for line in lines)}
        assert states["MPI_Xomm_idup"] == ("-", "bypass")
        assert states["MPI_Comm_idup"][1] == "lacking"
        assert states["MPI_Comm_dup"][1] == "yes"
        assert {state for _, state in states.values()} <= {"yes", "no", "lacking", "bypass"}
    text = " ".join(run_other(folder, command="doctor").stdout.split())
    lacks = re.search(r"lacks functions of the MPI library .*? \((\d+)\); .*? a message: ((\bMPIX?_\w+ ?)+)", text)
    has = re.search(r"has functions beyond the MPI library .*? \((\d+)\), .*? do not see: ((\bMPIX?_\w+ ?)+)", text)
    assert "MPI_Comm_idup" in lacks[2].split() and "MPI_Xomm_idup" in has[2].split()
    if not ABI:  # some libraries have only a part of the functions of the ABI
        assert (lacks[1], has[1]) == ("1", "1")


@pytest.mark.skipif(ABI, reason="libqmpi for the standard ABI is built without an MPI library")
def test_qmpi_functions_prints_the_same_with_and_without_the_path_of_the_library():
    plain = run_command([QMPI, "functions"], clean_environment()).stdout
    assert run_command([QMPI, "functions", LIBRARY], clean_environment()).stdout == plain


def test_qmpi_functions_refuses_a_file_without_mpi(folder):
    for file, reason in ((folder / "program.c", "cannot read '{}': not an ELF file"),
                         (shutil.which("sh"), "'{}' is neither an MPI library nor a program that uses a shared one"),
                         ("no-such-program", "cannot read '{}': No such file or directory"),
                         (folder, "cannot read '{}': a directory")):
        result = run_command([QMPI, "functions", file], clean_environment())
        assert (result.returncode, result.stdout) == (2, "")
        assert result.messages == [reason.format(file), "hint: give the path of an MPI program, or of the library"]


def needed_by(library):
    text = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def test_bundled_tools_need_no_mpi_library_except_the_one_that_all_versions_have():
    """All versions of Open MPI have libmpi.so.40. Tools must not refer to predefined handles, because Open MPI 6 has
    them in another library, libopen_mpi.so.40, which earlier versions do not have. Tools for other kinds of MPI need
    no MPI library."""
    for tool in BUNDLED_TOOLS.glob("*.so"):
        ours = {name for name in needed_by(tool) if re.match(r"lib(mpi|open.|pmi|hwloc|event)", name)}
        assert ours <= ({MPI_SONAME} if MPI_NAME == "openmpi" else set()), tool


# ---- Another kind --------------------------------------------------------------------------------


def find_abi():
    """Returns the installed libraries with the standard ABI, and the folder of a header for them. Returns
    no libraries if there is no such header."""
    found = {}
    for library in sorted(glob.glob("/usr/lib/*/libmpi_abi*.so*") + glob.glob("/usr/local/lib/libmpi_abi*.so*")):
        found.setdefault(os.path.realpath(library), library)
    headers = [SOURCE / "include/qmpi/mpi-abi", *map(Path, glob.glob("/usr/lib/*/*/include/standard_abi")),
               *map(Path, glob.glob("/usr/lib/*/mpi_abi_*/include"))]
    header = next((path for path in headers if (path / "mpi.h").exists()), None)
    return [Path(path) for path in found if header and Path(path).exists()], header


ABI_LIBRARIES, ABI_HEADER = find_abi()
KINDS = {"mpich": "MPICH", "openmpi": "Open MPI", "abi": "the standard ABI of MPI"}
COMMANDS = {kind: mpi_command("mpicc", kind, BUILD) for kind in ("mpich", "openmpi")}
PROGRAMS = [*(f"shared {kind}" for kind, command in COMMANDS.items() if command), "static mpich",
            *(f"abi {library.name}" for library in ABI_LIBRARIES)]


def build_program(what, folder):
    """Builds one of PROGRAMS. Returns its kind of MPI and its path. Skips the test if a program
    cannot be linked with a static MPI library."""
    how, name = what.split()
    if how == "abi":
        library = next(path for path in ABI_LIBRARIES if path.name == name)
        soname = re.search(r"SONAME.*\[(.*)\]", subprocess.run(
            ["readelf", "-d", library], capture_output=True, text=True, check=True).stdout)[1]
        (folder / soname).symlink_to(library)
        return "abi", compile_with(["cc"], folder, f"-I{ABI_HEADER}", folder / soname, f"-Wl,-rpath,{folder}")
    if how == "shared":
        return name, compile_with([COMMANDS[name]], folder)
    if not COMMANDS[name]:
        pytest.skip("MPICH is not installed")
    flags = subprocess.run([COMMANDS[name], "-show"], capture_output=True, text=True, check=True).stdout.split()
    needed = subprocess.run(["pkg-config", "--libs", name], capture_output=True, text=True).stdout.split()
    libraries = ["-l:libmpich.a", *(flag for flag in needed if flag != "-lmpich"), "-ldl", "-lm"]
    try:
        return name, compile_with(["cc"], folder, *(flag for flag in flags if flag[:2] in ("-I", "-L")), *libraries)
    except AssertionError as error:
        pytest.skip(f"a program cannot be linked with a static MPI library here: {str(error)[-100:]}")


@pytest.mark.skipif(bool(ASAN), reason="a program that is built here is not sanitized")
@pytest.mark.parametrize("tools", ["", "empty", "count"])
@pytest.mark.parametrize("what", PROGRAMS)
def test_a_program_of_any_mpi_works_or_ends_with_one_message(what, tools, tmp_path):
    kind, program = build_program(what, tmp_path)
    environment = {**clean_environment(), "LD_PRELOAD": str(LIBQMPI.resolve()), "QMPI_TOOLS": tools,
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_ess_singleton_isolated": "1",
                   "QMPI_TOOL_PATH": str(LIBQMPI.parent.parent / "tools")}
    result = run_command([program, "idup"], environment)
    wrong = [line for line in result.messages if "the program uses " in line]
    if kind == MPI_NAME or not tools or what.startswith("static"):
        assert (result.returncode, wrong) == (0, []), result.stderr
        assert "the program ends" in result.stdout
    else:
        assert result.returncode == 2, result.stderr
        assert len(wrong) == 1
        assert f"the program uses {KINDS[kind]} (" in wrong[0]
        assert wrong[0].endswith(f"but this libqmpi was built for {MPI_NAME}")
        assert f"-Dmpi={kind}" in result.stderr
        assert result.stdout == ""


@pytest.mark.parametrize("what", [what for what in PROGRAMS if not what.startswith("static")])
def test_doctor_tells_the_kind_of_the_programs_mpi(what, tmp_path):
    kind, program = build_program(what, tmp_path)
    text = " ".join(run_command([QMPI, "doctor", "--", program], clean_environment()).stdout.split())
    if kind == MPI_NAME:
        assert "the program uses the MPI library for which this libqmpi was built: " in text
    else:
        assert f"the program uses {KINDS[kind]} (" in text
        assert f"-Dmpi={kind}" in text or f"/libqmpi{'-' + kind if kind != 'mpich' else ''}.so" in text
