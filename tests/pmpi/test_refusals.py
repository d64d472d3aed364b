# SPDX-License-Identifier: MIT
"""A listed library that cannot be a PMPI layer is refused with one message and a hint, or left out if the user allows
this (QMPI_ON_ERROR=skip). Such a library that is preloaded and not listed is always left out."""
import os
import shutil
import struct
import subprocess

import pytest

from mpi_in_use import EMULATED
from pmpi_support import RUN, check_stack, pmpi_tool, one_message, run_pmpi, succeed
from support import LIBQMPI, MPI_SONAME

CLASS_AT, CLASS_32 = 4, 1
DYNAMIC, SYMBOL_TABLE = 2, 6  # PT_DYNAMIC, DT_SYMTAB


def altered(folder, offset, new):
    data = bytearray(pmpi_tool("lazy").read_bytes())
    data[offset:offset + len(new)] = new
    path = folder / "libaltered.so"
    path.write_bytes(data)
    return path


def without_symbols(folder):
    """Creates a tool in whose dynamic section the entry for the symbol table is overwritten."""
    data = pmpi_tool("lazy").read_bytes()
    table, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    for at in range(table, table + count * 56, 56):
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, at)
        if kind == DYNAMIC:
            for entry in range(offset, offset + size, 16):
                if struct.unpack_from("<Q", data, entry)[0] == SYMBOL_TABLE:
                    return altered(folder, entry, struct.pack("<Q", 0x6ffffdf0))
    raise AssertionError("no dynamic symbol table in the tool")


def truncated(folder):
    path = folder / "libtruncated.so"
    data = pmpi_tool("lazy").read_bytes()
    path.write_bytes(data[:len(data) // 2])
    return path


def without_its_library(folder):
    return shutil.copy(pmpi_tool("needs_missing"), folder / "libneeds_missing.so")


def unresolved(folder):
    """Builds a tool that is bound when it is loaded, and refers to a function that does not exist."""
    source = folder / "unresolved.c"
    source.write_text("int nobody_defines_this(void);\n"
                      "int MPI_Barrier(int comm) { return comm ? nobody_defines_this() : 0; }\n")
    path = folder / "libunresolved.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-z,now", "-o", path, source], check=True)
    return path


# Name of the case -> (function that returns the invalid entry, and may create its file in a directory; part of the
# message).
CASES = {
    "not a library": (lambda folder: __file__, "not an ELF file"),
    "truncated": (truncated, "the file is truncated"),
    "32-bit": (lambda folder: altered(folder, CLASS_AT, bytes([CLASS_32])), "32-bit"),
    "no dynamic symbol table": (without_symbols, "no dynamic symbol table"),
    "missing dependency": (without_its_library, "libmissing.so"),
    "missing function": (unresolved, "nobody_defines_this"),
    "the MPI library by name": (lambda folder: MPI_SONAME, "is an MPI library, not a tool"),
    "relocations in code": (lambda folder: "textrel", "relocations in its code"),
    "defines nothing of MPI": (lambda folder: "names", "not a tool"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_invalid_library_is_refused_with_its_name_and_the_reason(case, tmp_path):
    make_entry, expected = CASES[case]
    entry = make_entry(tmp_path)
    result = run_pmpi("calls", *RUN, tools=f"now:{entry}:alpha")
    assert (result.returncode, result.stdout) == (2, "")
    one_message(result, expected)
    assert result.messages[0].startswith(f"QMPI_TOOLS, entry 2 '{entry}'"[:100])


@pytest.mark.parametrize("case", CASES)
def test_an_invalid_library_is_left_out_if_the_user_skips_errors(case, tmp_path):
    make_entry, expected = CASES[case]
    result = succeed("calls", *RUN, tools=f"now:{make_entry(tmp_path)}:lazy",
                     env={"QMPI_ON_ERROR": "skip"})
    one_message(result, expected)
    result.stderr = "\n".join(f"trace: {line}" for line in result.trace)
    check_stack(["now", "lazy"], result)


@pytest.mark.parametrize("front", [False, True])
def test_a_preloaded_tool_that_is_not_listed_and_cannot_be_a_layer_ends_no_run(front):
    """The tool cannot become a layer. Without libqmpi, the program would run, so libqmpi only prints a message."""
    textrel = pmpi_tool("textrel")
    preload = (textrel, LIBQMPI) if front else (LIBQMPI, textrel)
    for tools in (None, "alpha"):
        result = succeed("calls", *RUN, tools=tools, preload=preload)
        one_message(result, f"'{textrel}', which is not in QMPI_TOOLS: {textrel} has relocations in its code")
        assert result.messages[-1] == "  the run continues without this layer"
        if not front:  # if the tool is in front of libqmpi, calls through its wrappers bypass the native layer
            assert sum(line.startswith("alpha ") for line in result.calls) == (len(RUN) if tools else 0)


def test_a_job_of_two_ranks_prints_one_message(tmp_path):
    result = run_pmpi("calls", *RUN, tools=f"{truncated(tmp_path)}", ranks=2)
    assert result.returncode == 2
    assert len([line for line in result.messages if not line.startswith(" ")]) == 1


# ---- Copies that cannot be made ------------------------------------------------------------------


def test_a_second_layer_without_a_temporary_folder_is_refused(tmp_path):
    for folder in (tmp_path / "absent", "/proc"):
        result = run_pmpi("calls", *RUN, tools="now:alpha:now", env={"TMPDIR": folder})
        assert (result.returncode, result.stdout) == (2, "")
        one_message(result, str(folder))
        assert "TMPDIR" in result.messages[-1]


def test_a_second_layer_without_a_temporary_folder_may_be_left_out(tmp_path):
    result = succeed("calls", *RUN, tools="now:alpha:now",
                     env={"TMPDIR": tmp_path / "absent", "QMPI_ON_ERROR": "skip"})
    assert result.calls.count("now MPI_Comm_rank 2") == 1
    assert sum(line.startswith("alpha") for line in result.calls) == len(RUN)


def test_no_temporary_folder_is_needed_for_one_layer_of_each_tool(tmp_path):
    result = succeed("calls", *RUN, tools="now:alpha:lazy", env={"TMPDIR": tmp_path / "absent"})
    check_stack(["now", "alpha", "lazy"], result)


def link(folder, name, code, *needed):
    source = folder / f"{name}.c"
    source.write_text(code)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / f"{name}.so", source,
                    f"-Wl,-soname,{name}.so", "-Wl,--no-as-needed", f"-L{folder}",
                    *(f"-l:{each}.so" for each in needed), "-Wl,-rpath,$ORIGIN"], check=True)
    return folder / f"{name}.so"


def test_a_library_that_several_others_need_is_copied_once_for_a_layer(tmp_path):
    link(tmp_path, "libbelow", "#include <stdio.h>\nint PMPI_Barrier(long c);\n"
         "int pass_on(long c) { return PMPI_Barrier(c); }\n"
         "__attribute__((constructor)) static void begin(void) { fputs(\"begins\\n\", stderr); }\n")
    for name in "left", "right":
        link(tmp_path, f"lib{name}", f"int pass_on(long c);\n"
             f"int {name}(long c) {{ return pass_on(c); }}\n", "libbelow")
    tool = link(tmp_path, "libown", "int left(long c), right(long c);\nint MPI_Barrier(long c);\n"
                "int MPI_Barrier(long c) { return left(c) + right(c); }\n", "libleft", "libright")
    result = run_pmpi("calls", *RUN, tools=f"{tool}:{tool}:alpha")
    assert result.returncode == 0 and result.stderr.count("begins") == 2
    assert sum("MPI_Barrier" in line for line in result.calls) == 4


def test_one_layer_of_a_tool_whose_library_calls_mpi_needs_no_temporary_folder(tmp_path):
    """If no copies can be made, the tool uses the original libraries, provided that the program does not use them."""
    result = succeed("calls", *RUN, tools="helped:alpha", env={"TMPDIR": tmp_path / "absent"})
    check_stack(["helped", "alpha"], result)


def mounted(folder, options):
    """Returns a wrapper that mounts a file system on `folder`, in a mount namespace of its own. Skips the test if this
    is not permitted. LD_PRELOAD is not set for unshare and mount, which may be built for another processor
    than libqmpi."""
    mount = f'mount -t tmpfs -o {options} tmpfs {folder} && export LD_PRELOAD="$0" && exec "$@"'
    wrapper = ["sh", "-c", f'libraries=$LD_PRELOAD; unset LD_PRELOAD; exec unshare -m sh -c \'{mount}\' "$libraries" "$@"',
               "sh"]
    if os.geteuid() != 0 or subprocess.run([*wrapper, "true"], capture_output=True).returncode:
        pytest.skip("no permission to mount")
    return wrapper


@pytest.mark.skipif(EMULATED, reason="the emulator loads files without the right to execute them")
def test_a_second_layer_in_a_folder_without_execution_is_refused(tmp_path):
    result = run_pmpi("calls", *RUN, tools="now:alpha:now", wrapper=mounted(tmp_path, "noexec"), env={"TMPDIR": tmp_path})
    assert (result.returncode, result.stdout) == (2, "")
    one_message(result, "cannot be loaded")
    assert "TMPDIR" in "\n".join(result.messages)


def test_a_second_layer_in_a_full_folder_is_refused(tmp_path):
    result = run_pmpi("calls", *RUN, tools="now:alpha:now", wrapper=mounted(tmp_path, "size=8k"), env={"TMPDIR": tmp_path})
    assert (result.returncode, result.stdout) == (2, "")
    one_message(result, "cannot write")
    assert "TMPDIR" in "\n".join(result.messages)
