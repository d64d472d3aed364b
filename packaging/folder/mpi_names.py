# SPDX-License-Identifier: MIT
"""Makes a directory from which qmpi can be built for an MPI library that this system cannot run.

    mpi_names.py PACKAGES KIND DIRECTORY

PACKAGES is a directory in which packages of a newer release are unpacked, and KIND is mpich or openmpi. DIRECTORY gets
the mpi.h of the packages, a file for pkg-config, and a library. This library has the soname of the packages' library,
and the names and kinds of its symbols, but not its code: the build only reads which functions and objects exist, and no
process loads the library.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

HEADERS = {"mpich": "usr/lib/*/mpich/include", "openmpi": "usr/lib/*/openmpi/include"}
LIBRARIES = {"mpich": "usr/lib/*/libmpich.so.12", "openmpi": "usr/lib/*/libmpi.so.40"}
PACKAGE = {"mpich": "mpich", "openmpi": "ompi-c"}


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def assembly(library: Path) -> str:
    lines, seen = [".text"], set()
    for line in output("readelf", "--wide", "--dyn-syms", str(library)).splitlines():
        words = line.split()
        if len(words) < 8 or words[6] in ("UND", "Ndx") or words[4] not in ("GLOBAL", "WEAK"):
            continue
        name, kind = words[7].split("@")[0], words[3]
        if name in seen or not re.fullmatch(r"[A-Za-z_.$][\w.$]*", name) or kind not in ("FUNC", "OBJECT"):
            continue
        seen.add(name)
        size = max(int(words[2], 0), 1)
        lines += [f".globl {name}", f".type {name}, @{'function' if kind == 'FUNC' else 'object'}"]
        lines += [f"{name}:", "ret"] if kind == "FUNC" else [f".comm {name}, {size}, 16"]
    return "\n".join(lines) + '\n.section .note.GNU-stack,"",@progbits\n'


def main() -> None:
    packages, kind, directory = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]).absolute()
    library = next(packages.glob(LIBRARIES[kind]))
    soname = re.search(r"\(SONAME\).*\[(.+)\]", output("readelf", "-d", str(library)))[1]
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "pkgconfig").mkdir(parents=True)
    shutil.copytree(next(packages.glob(HEADERS[kind])), directory / "include")
    source = directory / "names.S"
    source.write_text(assembly(library), encoding="utf-8")
    name = "mpich" if kind == "mpich" else "mpi"
    subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", "-o", str(directory / f"lib{name}.so"),
                    str(source)], check=True)
    (directory / "pkgconfig" / f"{PACKAGE[kind]}.pc").write_text(
        f"Name: {PACKAGE[kind]}\nDescription: names of an MPI library\nVersion: 0\n"
        f"Cflags: -I{directory}/include\nLibs: -L{directory} -l{name}\n", encoding="utf-8")


main()
