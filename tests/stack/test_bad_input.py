# SPDX-License-Identifier: MIT
"""For an error in an entry of QMPI_TOOLS, one message names the entry and gives a hint, and the program
ends with status 2 before any MPI call is carried out. With QMPI_ON_ERROR=skip, the program runs with
the rest of the stack."""
import os
import re
import shutil
import struct
import subprocess

import pytest

from mpi_in_use import PROCESSOR
from support import (BUNDLED_TOOLS, LIBQMPI, MPI_SONAME, TOOLS_FOLDER, folder_open_to_all,
                     lines_without_remarks, program, run_mpi, tool)

RUN = ["init", "comm_rank", "finalize"]

# Offsets and values in an ELF header.
CLASS_AT, DATA_AT, TYPE_AT, MACHINE_AT = 4, 5, 16, 18
OTHER_PROCESSOR = {"x86_64": 183, "aarch64": 62}[PROCESSOR]  # EM_AARCH64 or EM_X86_64
BIG_ENDIAN, CLASS_32, EXECUTABLE = 2, 1, 2


def altered(folder, offset, new, name="altered.so"):
    """Creates a copy of a good tool in which the bytes at `offset` are replaced by `new`."""
    data = bytearray(tool("beta").read_bytes())
    data[offset:offset + len(new)] = new
    path = folder / name
    path.write_bytes(data)
    return path


def truncated(folder, size):
    path = folder / "truncated.so"
    path.write_bytes(tool("beta").read_bytes()[:size])
    return path


def written(folder, content, name="text.so"):
    path = folder / name
    path.write_bytes(content)
    return path


def half_of_a_tool(folder):
    return truncated(folder, tool("beta").stat().st_size // 2)


# Name of the case -> (function that creates the bad entry in a folder, words in the message).
CASES = {
    "unknown name": (lambda folder: "no_such_tool", "no such tool"),
    "unknown file name": (lambda folder: "no_such_tool.so.1", "no such tool"),
    "path that does not exist": (lambda folder: folder / "absent.so", "no such library"),
    "path through a file": (lambda folder: f"{tool('alpha')}/x.so", "no such library"),
    "not an ELF file": (lambda folder: written(folder, b"#!/bin/sh\n" * 100), "not an ELF file"),
    "shorter than an ELF header": (lambda folder: written(folder, b"\x7fELF"), "not an ELF file"),
    "an ELF identity and no more": (
        lambda folder: truncated(folder, 16), "the file is truncated"),
    "empty file": (lambda folder: written(folder, b""), "an empty file"),
    "truncated in the middle": (half_of_a_tool, "the file is truncated"),
    "truncated after the header": (lambda folder: truncated(folder, 64), "the file is truncated"),
    "truncated by one byte": (
        lambda folder: truncated(folder, tool("beta").stat().st_size - 1), "the file is truncated"),
    "wrong architecture": (
        lambda folder: altered(folder, MACHINE_AT, struct.pack("<H", OTHER_PROCESSOR)),
        "built for another processor"),
    "wrong byte order": (
        lambda folder: altered(folder, DATA_AT, bytes([BIG_ENDIAN])),
        "built for another processor"),
    "32-bit class": (lambda folder: altered(folder, CLASS_AT, bytes([CLASS_32])), "32-bit"),
    "not a shared library": (
        lambda folder: altered(folder, TYPE_AT, struct.pack("<H", EXECUTABLE)),
        "not a shared library"),
    "a program": (lambda folder: "/bin/true", "a program, not a library"),
    "undefined symbols": (lambda folder: "undefined", "nobody_defines_this"),
    "no tool": (lambda folder: "plain", "is not a tool"),
    "registers no tool": (lambda folder: "silent", "registers no tool"),
    "registers two tools": (lambda folder: "twins", "registers 2 tools"),
    "directory": (lambda folder: folder, "a directory"),
    "directory as a tool's file": (
        lambda folder: (folder / "folder.so").mkdir() or folder / "folder.so", "a directory"),
    "named pipe": (
        lambda folder: os.mkfifo(folder / "pipe.so") or folder / "pipe.so", "not a regular file"),
    "device": (lambda folder: "/dev/zero", "not a regular file"),
    "option without =": (lambda folder: "beta,functions", "'functions'"),
    "option without a key": (lambda folder: "beta,=Comm_rank", "'=Comm_rank'"),
    "empty option": (lambda folder: "beta,", "''"),
    "option given twice": (
        lambda folder: "beta,functions=Send,functions=Recv", "'functions' is given twice"),
    "options without a name": (lambda folder: ",functions=Send", "no name"),
    "unknown option of a bundled tool": (
        lambda folder: "empty,colour=red", "empty has no option 'colour'"),
    "unknown option of a described tool": (
        lambda folder: "options,weight=7", "options has no option 'weight'"),
    "unknown escape": (lambda folder: r"be\ta", r"'\t' is not an escape"),
    "name of 100 KB": (lambda folder: "n" * 100_000, "no such tool"),
    "path of 100 KB": (lambda folder: "/n" * 50_000, "no such library"),
    "option of 100 KB": (lambda folder: "empty," + "k" * 100_000 + "=1", "has no option"),
    "init fails": (lambda folder: "fails", "failed to initialize: its two"),
    "the MPI library": (lambda folder: MPI_SONAME, "is an MPI library, not a tool"),
    "libqmpi": (lambda folder: LIBQMPI, "hint: "),
}


def check_messages(result, entry, expected):
    """Checks that stderr contains exactly one message, with a hint, apart from the notes of the
    test tools."""
    lines = lines_without_remarks(result.stderr)
    assert all(line.startswith("qmpi: ") for line in lines), lines
    heads = [line for line in result.messages if line.startswith("QMPI_TOOLS")]
    assert len(heads) == 1
    shown = str(entry)[:100]
    assert heads[0].startswith(f"QMPI_TOOLS, entry 2 '{shown}")
    assert expected in "\n".join(result.messages)
    assert len([line for line in result.messages if re.match(" *hint: .", line)]) == 1
    assert len(result.stderr) < 20_000


@pytest.mark.parametrize("case", CASES)
def test_the_run_stops_before_any_mpi_call_with_one_message(case, tmp_path):
    make_entry, expected = CASES[case]
    entry = make_entry(tmp_path)
    result = run_mpi("calls", *RUN, tools=f"alpha:{entry}:alpha,functions=Comm_rank")
    assert result.returncode == 2
    assert result.stdout == ""
    check_messages(result, entry, expected)
    assert set(result.calls) <= {"app init"}
    assert not [line for line in result.trace if line.startswith("exit ")], "exit handlers ran"


@pytest.mark.parametrize("case", CASES)
def test_with_skip_the_rest_of_the_stack_runs(case, tmp_path):
    make_entry, expected = CASES[case]
    entry = make_entry(tmp_path)
    result = run_mpi("calls", *RUN, tools=f"alpha:{entry}:alpha,functions=Comm_rank",
                     env={"QMPI_ON_ERROR": "skip"})
    assert result.returncode == 0
    check_messages(result, entry, expected)
    assert "continues without this layer" in "\n".join(result.messages)
    raw = run_mpi("calls", *RUN, preload=())
    assert sorted(result.stdout.splitlines()) == sorted(raw.stdout.splitlines())
    ranks = [line for line in result.calls if line.endswith(" MPI_Comm_rank")]
    assert sorted(re.sub(r" \d+ ", " N ", line) for line in ranks) == ["alpha N MPI_Comm_rank"] * 4
    assert not [line for line in result.calls if line.startswith(("beta", "broken"))]


def test_a_trailing_backslash_is_an_error():
    """In the tests above, another entry follows, so the backslash would not be the last character."""
    for on_error, code in (("stop", 2), ("skip", 0)):
        result = run_mpi("calls", *RUN, tools="alpha:beta\\", env={"QMPI_ON_ERROR": on_error})
        assert result.returncode == code
        check_messages(result, "beta\\", "ends with a backslash")
        assert ("alpha 1 MPI_Comm_rank" in result.calls) == (code == 0)
        assert not [line for line in result.calls if line.startswith("beta")]


# ---- More entries than layers --------------------------------------------------------------------


@pytest.mark.parametrize("entries", [256, 10_000])
def test_more_than_255_entries_are_an_error(entries):
    result = run_mpi("calls", *RUN, tools=":".join(["empty"] * entries))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.trace == ["app init"] * len(result.trace)
    assert [line for line in result.messages if f"{entries} entries" in line and "255" in line]
    assert len([line for line in result.messages if "hint: " in line]) == 1
    assert all(line.startswith("qmpi: ") for line in lines_without_remarks(result.stderr))


def test_with_skip_the_first_255_of_10000_entries_run():
    tools = ":".join(["alpha,functions=Comm_rank"] * 3 + ["empty"] * 9_997)
    result = run_mpi("calls", *RUN, ranks=1, tools=tools, env={"QMPI_ON_ERROR": "skip"})
    assert result.returncode == 0
    assert "comm_rank: result 0" in result.stdout
    assert [line for line in result.calls if line.startswith("alpha")] == [
        f"alpha {tool_id} MPI_Comm_rank" for tool_id in (1, 2, 3)]


def test_10000_unknown_entries_print_fewer_than_20_lines():
    result = run_mpi("calls", *RUN, tools=":".join(f"t{i}" for i in range(10_000)))
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.messages) < 20


def test_10000_empty_entries_are_no_entries():
    result = run_mpi("calls", *RUN, ranks=1, tools=":" * 5_000 + "alpha" + ":" * 5_000)
    assert (result.returncode, result.messages) == (0, [])
    assert "alpha 1 MPI_Comm_rank" in result.calls


# ---- Contents of a message -----------------------------------------------------------------------


def test_the_message_of_an_unknown_name_lists_every_place_with_its_reason(tmp_path):
    (tmp_path / "file").write_text("")
    path = f"{tmp_path}/one:{tmp_path}/file"
    result = run_mpi("calls", *RUN, ranks=1, tools="nonesuch", env={"QMPI_TOOL_PATH": path})
    text = "\n".join(result.messages)
    for name in ("nonesuch.so", "libnonesuch.so"):
        assert f"{tmp_path}/one/{name}: No such file or directory" in text
        assert f"{tmp_path}/file/{name}: Not a directory" in text
        assert f"{LIBQMPI.parent}/{TOOLS_FOLDER}/{name}: No such file or directory" in text


@pytest.mark.parametrize("name, file", [("mine", "mine.so"), ("mine", "libmine.so"), ("mine.so", "mine.so")])
def test_a_name_of_a_file_in_the_current_folder_gets_a_hint_with_the_path(name, file, tmp_path):
    (tmp_path / file).write_text("")
    result = run_mpi("calls", *RUN, ranks=1, tools=name, cwd=tmp_path)
    assert f"  hint: write ./{file}: only a name with a slash is a path" in result.messages
    assert "registered tools" not in result.stderr


def test_the_message_of_an_unknown_name_lists_the_registered_tools():
    result = run_mpi("calls", *RUN, ranks=1, tools="nonesuch",
                     preload=[LIBQMPI, tool("alpha"), tool("beta")])
    text = "\n".join(result.messages)  # the loader may run constructors in another order
    assert "registered tools: alpha, beta" in text or "registered tools: beta, alpha" in text


def test_a_message_names_both_libraries_that_register_the_same_name(tmp_path):
    other = shutil.copy(tool("alpha"), tmp_path / "other.so")
    env = {"LD_LIBRARY_PATH": LIBQMPI.parent}
    result = run_mpi("calls", *RUN, ranks=1, tools=f"{other}:alpha", env=env)
    text = "\n".join(result.messages)
    assert result.returncode == 2
    assert "entry 1" in text and str(other) in text and str(tool("alpha")) in text


def test_every_bad_entry_is_reported_with_skip():
    result = run_mpi("calls", *RUN, ranks=1, tools="none_a:alpha:none_b::plain,x",
                     env={"QMPI_ON_ERROR": "skip"})
    heads = [line for line in result.messages if line.startswith("QMPI_TOOLS")]
    assert [re.match(r"QMPI_TOOLS, entry (\d) '([^']*)'", line).groups() for line in heads] == [
        ("1", "none_a"), ("3", "none_b"), ("4", "plain,x")]
    assert "alpha 1 MPI_Comm_rank" in result.calls


def test_a_failing_layer_is_found_before_the_layers_above_are_loaded():
    result = run_mpi("calls", *RUN, ranks=1, tools="alpha:fails:beta")
    assert [line for line in result.trace if line.startswith(("load", "init"))] == [
        "load beta", "init beta 3", "load broken"]


def test_a_bad_file_is_found_before_anything_is_loaded(tmp_path):
    result = run_mpi("calls", *RUN, ranks=1, tools=f"{half_of_a_tool(tmp_path)}:alpha")
    assert result.returncode == 2
    assert result.trace == ["app init"]


def test_a_newline_in_an_entry_does_not_split_a_line_of_the_message():
    result = run_mpi("calls", *RUN, ranks=1, tools="two\nlines")
    assert result.returncode == 2
    assert all(line.startswith("qmpi: ") for line in lines_without_remarks(result.stderr))


# ---- Files that may not be read ------------------------------------------------------------------


@pytest.fixture
def not_root():
    """Returns a wrapper that runs a program as another user if this user is root, who may read all
    files; otherwise, an empty wrapper."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if not setpriv:
        pytest.skip("root may read all files, and setpriv, which would run the program as another user, is missing")
    return [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.parametrize("closed", ["file", "folder"])
@pytest.mark.parametrize("on_error, code", [("stop", 2), ("skip", 0)])
def test_an_unreadable_file_or_folder_is_reported(closed, on_error, code, not_root):
    with folder_open_to_all(tool("alpha"), program("calls")) as folder:
        inner = folder / "inner"
        inner.mkdir()
        entry = inner / "beta.so"
        shutil.copy(tool("beta"), entry)
        (entry if closed == "file" else inner).chmod(0)
        result = run_mpi(folder / "calls", *RUN, ranks=1, wrapper=not_root, cwd=folder,
                         tools=f"./alpha.so:{entry}", preload=[folder / f"{LIBQMPI.name}.0"],
                         env={"QMPI_ON_ERROR": on_error, "LD_LIBRARY_PATH": folder})
        inner.chmod(0o755)
    assert result.returncode == code
    check_messages(result, entry, "Permission denied")
    assert ("alpha 1 MPI_Comm_rank" in result.calls) == (code == 0)


# ---- The wrong MPI -------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [name for name in ("libmpich.so.12", "libmpi.so.40", "libmpi_abi.so.1")
                                   if name != MPI_SONAME])
def test_a_tool_built_for_another_mpi_is_refused(tmp_path, other):
    """The tool is linked with a library that has the name of another MPI's library."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler is installed")
    (tmp_path / "other.c").write_text("void other(void) {}\n")
    (tmp_path / "tool.c").write_text(
        "int QMPI_Register_tool_name(const char *, void (*)(int));\n"
        "static void init(int id) { (void)id; }\n"
        "__attribute__((constructor)) static void f(void)"
        "{ QMPI_Register_tool_name(\"other\", init); }\n")
    subprocess.run([compiler, "-shared", "-fPIC", "-Wl,-soname," + other, "-o", other,
                    "other.c"], cwd=tmp_path, check=True)
    subprocess.run([compiler, "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", "other.so", "tool.c",
                    other], cwd=tmp_path, check=True)
    result = run_mpi("calls", *RUN, ranks=1, tools=f"alpha:{tmp_path}/other.so")
    assert (result.returncode, result.stdout) == (2, "")
    check_messages(result, tmp_path / "other.so", f"another MPI: it needs {other}")


def test_a_tool_built_with_another_version_of_the_mpi_library_is_refused(tmp_path):
    """The tool refers to a predefined handle that the MPI library in use does not have."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler is installed")
    (tmp_path / "tool.c").write_text(
        "int QMPI_Register_tool_name(const char *, void (*)(int));\n"
        "extern char ompi_mpi_of_another_version[];\n"
        "char *handle = ompi_mpi_of_another_version;\n"
        "__attribute__((constructor)) static void f(void)"
        "{ QMPI_Register_tool_name(\"other\", 0); }\n")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "other.so", "tool.c"], cwd=tmp_path, check=True)
    result = run_mpi("calls", *RUN, ranks=1, tools=f"alpha:{tmp_path}/other.so")
    assert (result.returncode, result.stdout) == (2, "")
    check_messages(result, tmp_path / "other.so", "undefined symbol: ompi_mpi_of_another_version")
    assert "it was built with another version of the MPI library" in result.stderr


def test_the_bundled_tools_are_in_the_folder_that_the_tests_use():
    assert (BUNDLED_TOOLS / "empty.so").exists()
