# SPDX-License-Identifier: MIT
"""Finds the MPI library for a build, and prints the properties that the build needs.

    find_mpi.py WANTED [--pkg-config COMMAND] [--nm COMMAND] [--readelf COMMAND] -- COMPILER...

WANTED: auto           the first place in AUTO at which a usable MPI is found
      mpich, openmpi   by pkg-config, or by the MPI's compiler command
      abi              the standard ABI: see abi()
      FOLDER           a prefix: include/mpi.h, and the library in lib/
      COMMAND          the compiler command of an MPI, such as mpicc, mpiicx, or Cray's cc

Each place yields arguments for COMPILER. The properties are then read from the preprocessed mpi.h
that these arguments lead to, and from the library that the linker uses. No version of an MPI
library is assumed, and only by_prefix() and abi() assume names of its files. The output has one line
for each field of Found: its name, and its value or elements, separated by tabs.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass, field, fields
from pathlib import Path

# Places in the order in which they are tried; MPICH comes first because the examples of the manual
# use it.
AUTO = ["mpich", "mpicc", "cc", "openmpi"]
PACKAGES = {"mpich": ["mpich"], "openmpi": ["ompi-c", "ompi"]}
COMMANDS = {"mpich": ["mpicc.mpich", "mpicc"], "openmpi": ["mpicc.openmpi", "mpicc"]}
# Options that make a compiler command print its arguments. The commands of at least one MPI library
# understand each of them.
QUESTIONS = [["-show"], ["--cray-print-opts=all"], ["-compile-info"]]
# Directories of a prefix that may contain the library; Intel MPI has lib/release.
LIBRARY_FOLDERS = ["lib", "lib64", "lib/release", f"lib/{sysconfig.get_config_var('MULTIARCH')}"]
PRODUCTS = {"mpich": "MPICH", "openmpi": "Open MPI", "abi": "the MPI standard ABI"}
ABI_HEADER = Path(__file__).resolve().parents[2] / "include/qmpi/mpi-abi"
ABI_SONAME = "libmpi_abi.so.1"  # the library for a program that has not loaded an MPI library itself
# The commands that read libraries. In a cross build, they are not those of this machine.
NM, READELF = ["nm"], ["readelf"]
PROGRAM = "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n"
# Macros that identify the MPI library of a header.
MACROS = """#include <mpi.h>
@ OPEN_MPI
@ MPICH_NAME
@ MPICH_VERSION
@ MPI_ABI_VERSION
"""


class Unusable(Exception):
    """The reason why a place has no usable MPI."""


@dataclass
class Found:
    kind: str = ""  # mpich, openmpi or abi
    package: str = ""  # name for pkg-config; empty: found without it
    compile_args: list[str] = field(default_factory=list)
    link_args: list[str] = field(default_factory=list)
    include: str = ""  # the directory of mpi.h
    # the path of the file; empty: there is none, and the functions are those that mpi.h declares
    library: str = ""
    soname: str = ""
    version: str = ""  # see version_of(); for the standard ABI, a fixed text
    mpicc: str = ""  # commands of this MPI; empty: unknown
    mpifort: str = ""
    mpiexec: str = ""


def run(command: list[str], **more) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line]
    return (errors or lines or ["no output"])[-1].strip()


# ---- Places: each gives arguments for the compiler --------------------------------------------------


def by_package(name: str, pkg_config: str) -> Found:
    answers = [run([pkg_config, option, name]) for option in ("--cflags", "--libs")]
    for answer in answers:
        if answer.returncode != 0:
            raise Unusable(f"pkg-config does not find {name}")
    return Found(package=name, compile_args=shlex.split(answers[0].stdout),
                 link_args=shlex.split(answers[1].stdout))


def beside(command: str, wanted: str) -> str:
    """Returns the command `wanted` that belongs to a compiler command: mpiexec.mpich for
    mpicc.mpich; empty: there is none."""
    path = Path(command)
    suffix = re.sub(r"^(mpi)?i?(g?cc|cx|icx)", "", path.name)
    for name in (wanted + suffix, wanted):
        if (path.parent / name).exists():
            return str(path.parent / name)
    return ""


def answer_of(command: str) -> list[str]:
    """Returns the arguments that a compiler command adds, if it can print them; otherwise none."""
    for question in QUESTIONS:
        answer = run([command, *question], timeout=60)
        words = shlex.split(answer.stdout) if answer.returncode == 0 else []
        if any(word.startswith(("-I", "-L", "-l")) for word in words):
            return words
    return []


def used_by(command: str) -> tuple[list[str], list[str]]:
    """Returns the arguments for the mpi.h and the library that the command uses."""
    with tempfile.TemporaryDirectory(prefix="qmpi-mpi-") as name:
        source, output = Path(name, "program.c"), Path(name, "program")
        source.write_text(PROGRAM, encoding="utf-8")
        answer = run([command, "-E", str(source)], timeout=60)
        header = re.search(r'^# \d+ "([^"]*/mpi\.h)"', answer.stdout, re.M)
        if answer.returncode != 0 or not header:
            raise Unusable(f"{command} does not find mpi.h: {last_line(answer.stderr)}")
        answer = run([command, str(source), "-o", str(output), "-Wl,--trace"], timeout=60)
        if answer.returncode != 0:
            raise Unusable(f"{command} cannot link an MPI program: {last_line(answer.stderr)}")
        library = mpi_library_of(answer.stdout + answer.stderr)
    return ["-I" + str(Path(header[1]).parent)], [library] if library else []


def by_command(command: str) -> Found:
    path = shutil.which(command)
    if not path:
        raise Unusable(f"there is no command {command}")
    words = answer_of(path)
    compile_args = [word for word in words if word.startswith("-I")]
    link_args = [word for word in words if word.startswith(("-L", "-l"))]
    if not compile_args or not link_args:
        compile_args, link_args = used_by(path)
    return Found(compile_args=list(dict.fromkeys(compile_args)), link_args=link_args, mpicc=path)


def by_prefix(folder: str) -> Found:
    prefix = Path(folder).absolute()
    if not (prefix / "include/mpi.h").is_file():
        raise Unusable(f"there is no {prefix}/include/mpi.h")
    for name in LIBRARY_FOLDERS:
        for library in sorted((prefix / name).glob("lib*mp*.so")):
            if is_mpi_library(str(library)):
                mpicc = str(prefix / "bin/mpicc")
                return Found(compile_args=[f"-I{prefix}/include"],
                             link_args=[f"-L{library.parent}", f"-l{library.name[3:-3]}"],
                             mpicc=mpicc if os.access(mpicc, os.X_OK) else "")
    raise Unusable(f"there is no shared MPI library in {prefix}/lib")


def abi() -> Found:
    """The standard ABI: the project's own mpi.h, with any library that has this ABI, or with
    none."""
    return Found(kind="abi", compile_args=[f"-I{ABI_HEADER}"], link_args=["-lmpi_abi"], soname=ABI_SONAME,
                 version="the standard ABI of MPI 5.0")


def places(wanted: str, pkg_config: str) -> list:
    if wanted == "auto":
        return [place for name in AUTO for place in places(name, pkg_config)]
    if wanted == "abi":
        return [abi]
    if wanted in PACKAGES:
        found = [lambda name=name: by_package(name, pkg_config) for name in PACKAGES[wanted] if pkg_config]
        return found + [lambda name=name: by_command(name) for name in COMMANDS[wanted]]
    if Path(wanted).is_dir():
        return [lambda: by_prefix(wanted)]
    return [lambda: by_command(wanted)]


# ---- From the arguments to the library --------------------------------------------------------------


def is_mpi_library(path: str) -> bool:
    return " PMPI_Init\n" in run([*NM, "-D", "--defined-only", path]).stdout


def mpi_library_of(trace: str) -> str:
    """Returns the shared MPI library among the files that the linker has opened; empty: there is none."""
    names = (re.sub(r".*\((.*)\)$", r"\1", line.strip()) for line in trace.splitlines())
    for name in dict.fromkeys(names):
        if ".so" in name and Path(name).is_file() and is_mpi_library(name):
            return os.path.normpath(name)
    return ""


def kind_of_header(macros: str) -> str:
    """Returns the kind of MPI that the preprocessed MACROS tell; empty: unknown. MPI_ABI_VERSION counts only if no
    other macro is defined, because Open MPI 6 and MPICH 5 may define it in headers that do not have this ABI."""
    is_defined = {name for name in re.findall(r"^@ (.*)$", MACROS, re.M) if f"@ {name}\n" not in macros}
    for name, kind in (("OPEN_MPI", "openmpi"), ("MPICH_NAME", "mpich"), ("MPICH_VERSION", "mpich"),
                         ("MPI_ABI_VERSION", "abi")):
        if name in is_defined:
            return kind
    return ""


def kind_of_library(library: str) -> str:
    """Determines the kind from the exported functions, because libraries of different kinds have the same file names
    and sonames. Native libraries may also have the functions of the ABI, but the ABI has no C functions that convert
    Fortran statuses."""
    names = {line.split()[-1] for line in run([*NM, "-D", "--defined-only", library]).stdout.splitlines()}
    if "PMPI_Status_c2f" not in names:
        return "abi" if "PMPI_Comm_toint" in names else ""
    if "MPIR_Dup_fn" in names:  # it is MPI_DUP_FN in each mpi.h of this family
        return "mpich"
    return "openmpi" if any(name.startswith("ompi_") for name in names) else ""


def version_of(library: str) -> str:
    """Returns the first line of the result of MPI_Get_library_version, which may be called before
    MPI_Init; "unknown" if this fails."""
    program = ("import ctypes, sys\n"
               "mpi = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
               "text, size = ctypes.create_string_buffer(8192), ctypes.c_int()\n"
               "mpi.MPI_Get_library_version(text, ctypes.byref(size))\n"
               "print(text.value.decode(errors='replace'))\n")
    answer = run([sys.executable, "-c", program, library], timeout=60)
    lines = [line for line in answer.stdout.splitlines() if line.strip()]
    return " ".join(lines[0].split()) if answer.returncode == 0 and lines else "unknown"


def complete(found: Found, compiler: list[str]) -> Found:
    """Reads all other properties from the header and the library that the compiler finds. For the standard ABI, there
    may be no library."""
    with tempfile.TemporaryDirectory(prefix="qmpi-mpi-") as name:
        source, output = Path(name, "program.c"), Path(name, "program")
        source.write_text(MACROS, encoding="utf-8")
        header = run([*compiler, *found.compile_args, "-E", str(source)])
        path = re.search(r'^# \d+ "([^"]*/mpi\.h)"', header.stdout, re.M)
        if header.returncode != 0 or not path:
            raise Unusable(f"the compiler cannot read mpi.h: {last_line(header.stderr)}")
        source.write_text(PROGRAM, encoding="utf-8")
        link = run([*compiler, *found.compile_args, str(source), "-o", str(output), *found.link_args,
                    "-Wl,--trace"])
        if link.returncode != 0 and found.kind == "abi":  # only tests need the library
            found.link_args, found.include = [], str(ABI_HEADER)
            return found
        if link.returncode != 0:
            raise Unusable(f"the compiler cannot link an MPI program: {last_line(link.stderr)}")
    found.include = os.path.normpath(Path(path[1]).parent)
    found.library = mpi_library_of(link.stdout + link.stderr)
    if not found.library:
        raise Unusable("the linker finds no shared MPI library")
    found.kind = found.kind or kind_of_header(header.stdout)
    if not found.kind:
        raise Unusable(f"{found.include}/mpi.h belongs to no MPI that qmpi knows")
    of_library = kind_of_library(found.library)
    if of_library != found.kind:
        raise Unusable(f"{found.include}/mpi.h belongs to {PRODUCTS[found.kind]}, but {found.library} belongs to "
                       f"{PRODUCTS.get(of_library, 'no MPI that qmpi knows')}")
    found.soname = soname_of(found.library)
    found.version = found.version or version_of(found.library)
    return add_commands(found)


def soname_of(library: str) -> str:
    text = run([*READELF, "-d", library]).stdout
    soname = re.search(r"\(SONAME\).*\[(.+)\]", text)
    return soname[1] if soname else Path(library).name


def add_commands(found: Found) -> Found:
    if not found.mpicc and found.package:
        commands = [shutil.which(name) for name in COMMANDS.get(found.kind, [])]
        found.mpicc = next(filter(None, commands), "")
    if found.mpicc:
        found.mpifort = beside(found.mpicc, "mpifort")
        found.mpiexec = beside(found.mpicc, "mpiexec")
    return found


def find(wanted: str, compiler: list[str], pkg_config: str) -> Found:
    reasons = []
    for place in places(wanted, pkg_config):
        try:
            found = complete(place(), compiler)
            if wanted in PRODUCTS and found.kind != wanted:
                raise Unusable(f"{found.library} belongs to {PRODUCTS[found.kind]}")
            return found
        except Unusable as reason:
            reasons.append(str(reason))
    raise Unusable("; ".join(dict.fromkeys(reasons)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wanted")
    parser.add_argument("--pkg-config", default="", help="empty: there is none")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("compiler", nargs="+")
    options = parser.parse_args()
    NM[:], READELF[:] = [options.nm], [options.readelf]
    try:
        found = find(options.wanted, options.compiler, options.pkg_config)
    except Unusable as reason:
        sys.exit(f"qmpi: -Dmpi={options.wanted}: no MPI that can be used: {reason}\n"
                 "hint: give -Dmpi= the compiler command of the MPI, such as mpicc, or its prefix, "
                 "the folder that has include/mpi.h and lib/")
    for each in fields(found):
        value = getattr(found, each.name)
        print(each.name, *(value if isinstance(value, list) else [value]), sep="\t")


if __name__ == "__main__":
    main()
