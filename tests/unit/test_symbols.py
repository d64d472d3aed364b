# SPDX-License-Identifier: MIT
"""Tests the functions, files and lines that qmpi finds for addresses. Real programs print the addresses of their calls,
and what qmpi finds is compared with the sources."""
import os
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("QMPI_BUILD_ROOT", "build")).resolve()
SOURCES = Path(os.environ.get("QMPI_SOURCE_ROOT", Path(__file__).parents[2])) / "tests/unit/symbols"
PRINT = BUILD / "tests" / "unit" / "print_symbols"
COMPILERS = {"c": "gcc", "cpp": "g++", "f90": "gfortran"}
PLACES = {"c": ["hidden", "inlined", "main", "last"], "cpp": ["exchange", "lambda"],
          "f90": ["exchange", "heat", "inner"]}
CPP_NAMES = ["grid::halo<double>::exchange(double const&, int)", "main::{lambda()#1}::operator()() const"]
NAMES = {"c": ["hidden", "inlined", "main", "last"], "cpp": CPP_NAMES, "f90": ["exchange", "heat", "inner"]}


def run(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=60,
                          **more).stdout


def compile_program(folder, language, *options, compiler=None):
    """Builds a program in `folder` from a copy of its source. Returns its path."""
    source = Path(shutil.copy(SOURCES / f"calls.{language}", folder))
    run("gcc", "-c", "-fPIC", "-o", folder / "where.o", SOURCES / "where.c")
    program = folder / f"program_{language}"
    run(compiler or COMPILERS[language], *options, "-o", program, source, folder / "where.o", "-ldl",
        cwd=folder)
    return program


def callers(program):
    """Runs a program. Returns the callers that it prints, as module and offset."""
    return [line.split() for line in run(program).splitlines()]


def resolve(frames, env=None):
    """Returns what qmpi finds for addresses that `callers` returned, as function, file and line."""
    lines = run(PRINT, *(word for frame in frames for word in frame), env={**os.environ, **(env or {})})
    return [(function, file, int(number)) for function, file, number in
            (line.split("\t") for line in lines.splitlines())]


def line_of(language, place):
    lines = (SOURCES / f"calls.{language}").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if re.search(rf"line: {place}\b", line))


def expected(folder, language):
    """Returns what `resolve` should return for the calls in a source."""
    return [(name, str(folder / f"calls.{language}"), line_of(language, place))
            for name, place in zip(NAMES[language], PLACES[language])]


@pytest.mark.parametrize("kind", ["-pie", "-no-pie"])
@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
@pytest.mark.parametrize("language", ["c", "cpp", "f90"])
def test_function_file_and_line_are_those_of_the_source(tmp_path, language, optimized, kind):
    position = "-fPIE" if kind == "-pie" else "-fno-pie"
    program = compile_program(tmp_path, language, "-g", optimized, position, kind)
    assert resolve(callers(program)) == expected(tmp_path, language)


def test_a_source_that_was_compiled_by_a_relative_path_is_named_in_full(tmp_path):
    (tmp_path / "below").mkdir()
    shutil.copy(SOURCES / "calls.c", tmp_path)
    run("gcc", "-g", "-o", tmp_path / "program", "../calls.c", SOURCES / "where.c", "-ldl",
        cwd=tmp_path / "below")
    files = [os.path.normpath(file) for _, file, _ in resolve(callers(tmp_path / "program"))]
    assert files == [str(tmp_path / "calls.c")] * 4


@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
def test_no_table_of_addresses_is_needed(tmp_path):
    """By default, clang does not write the table from which the compilation unit of an address can be found."""
    program = compile_program(tmp_path, "c", "-g", "-O1", compiler="clang")
    assert resolve(callers(program)) == expected(tmp_path, "c")


@pytest.mark.parametrize("version", ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gz"])
def test_dwarf_3_to_5_and_compressed_debug_information_are_read(tmp_path, version):
    program = compile_program(tmp_path, "c", "-g", version)
    assert resolve(callers(program)) == expected(tmp_path, "c")


def test_without_debug_information_symbols_are_used(tmp_path):
    """Without debug information, the names of functions come from the symbol table, and lines are unknown."""
    def functions(language):
        return [function for function, *rest in resolve(callers(compile_program(tmp_path, language)))
                if rest == ["-", 0]]

    assert functions("c") == ["hidden", "exported", "main", "last"]
    assert functions("cpp") == CPP_NAMES
    assert functions("f90") == ["__grid_MOD_exchange", "MAIN__", "inner.0"]


def test_a_stripped_program_has_only_exported_names(tmp_path):
    program = compile_program(tmp_path, "c", "-g", "-rdynamic", "-s")
    assert resolve(callers(program)) == [("-", "-", 0), ("exported", "-", 0), ("main", "-", 0),
                                         ("-", "-", 0)]


def separate(program, debug_file):
    """Moves the debug information of a program to a file. Returns the callers that the program prints
    before it is stripped."""
    run("objcopy", "--only-keep-debug", program, debug_file)
    frames = callers(program)
    run("strip", program)
    return frames


@pytest.mark.parametrize("subfolder", ["", ".debug"])
def test_a_separate_debug_file_is_found_by_its_name(tmp_path, subfolder):
    program = compile_program(tmp_path, "c", "-g", "-Wl,--build-id=none")
    folder = tmp_path / subfolder
    folder.mkdir(exist_ok=True)
    frames = separate(program, folder / "program.debug")
    run("objcopy", f"--add-gnu-debuglink={folder / 'program.debug'}", program)
    assert resolve(frames) == expected(tmp_path, "c")


def test_a_symbolic_link_leads_to_the_debug_file_of_its_target(tmp_path):
    program = compile_program(tmp_path, "c", "-g", "-Wl,--build-id=none")
    frames = separate(program, tmp_path / "program.debug")
    run("objcopy", f"--add-gnu-debuglink={tmp_path / 'program.debug'}", program)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "link").symlink_to(program)
    assert resolve([(elsewhere / "link", offset) for _, offset in frames]) == expected(tmp_path, "c")


def test_a_debug_file_of_another_build_is_not_taken(tmp_path):
    program = compile_program(tmp_path, "c", "-g", "-Wl,--build-id=none")
    frames = separate(program, tmp_path / "program.debug")
    run("objcopy", f"--add-gnu-debuglink={tmp_path / 'program.debug'}", program)
    with open(tmp_path / "program.debug", "ab") as file:
        file.write(b"changed")
    assert resolve(frames) == [("-", "-", 0)] * 4


def test_a_shared_library_is_a_module_of_its_own(tmp_path):
    shutil.copy(SOURCES / "calls.c", tmp_path)
    (tmp_path / "use.c").write_text("void exported(void); int main(void) { exported(); }\n")
    run("gcc", "-g", "-shared", "-fPIC", "-Dmain=unused", "-o", tmp_path / "libcalls.so",
        tmp_path / "calls.c", SOURCES / "where.c", "-ldl", cwd=tmp_path)
    run("gcc", "-o", tmp_path / "use", tmp_path / "use.c", tmp_path / "libcalls.so",
        f"-Wl,-rpath,{tmp_path}")
    program = compile_program(tmp_path, "cpp", "-g")
    both = callers(tmp_path / "use") + callers(program)
    frames = [both[1], both[0], both[2]]  # The modules alternate.
    wanted = expected(tmp_path, "cpp")
    assert resolve(frames) == [wanted[0], expected(tmp_path, "c")[1], wanted[1]]


def test_addresses_without_information_stay_unknown(tmp_path):
    (tmp_path / "text").write_text("no program\n")
    program = compile_program(tmp_path, "c", "-g")
    cut = tmp_path / "cut"
    cut.write_bytes(program.read_bytes()[:5000])
    frames = [("", "0x1000"), (tmp_path / "none", "1"), (tmp_path / "text", "3"), (tmp_path, "3"),
              (program, "0"), (program, "0x10000000"), (program, "0xffffffffffffffff"), ("[vdso]", "7"),
              (cut, "0x1150")]
    assert resolve(frames) == [("-", "-", 0)] * len(frames)


def test_no_server_is_asked_for_debug_information(tmp_path):
    asked = []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(30)

    def listen():
        try:
            connection, _ = server.accept()
            asked.append(connection.recv(1000))
            connection.close()
        except OSError:
            pass  # The socket is closed below.

    thread = threading.Thread(target=listen)
    thread.start()
    program = compile_program(tmp_path, "c", "-g", "-s", "-Wl,--build-id=sha1")
    url = f"http://127.0.0.1:{server.getsockname()[1]}"
    assert resolve(callers(program), {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(tmp_path)}) \
        == [("-", "-", 0)] * 4
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()
    assert not asked
