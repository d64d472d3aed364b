# SPDX-License-Identifier: MIT
"""Tests the callers of a call, and the descriptions of their addresses, on stacks of many kinds. The
tool `sites` compares each list of callers with that of the C library's unwinder."""
import os
import random
import re
import shutil
import subprocess

import pytest

from mpi_in_use import PROCESSOR
from observe_support import OBSERVE_PROGRAMS, OBSERVE_TOOLS, observe_program, run_observed
from support import ASAN, LIBQMPI, SOURCE, run_mpi

PLACES = SOURCE / "tests" / "observe" / "programs"
LEAF = "innermost < inlined < leaf"
CC = os.environ.get("QMPI_TEST_CC", "cc").split("\n")
COMPILED = ["O0", "O2", "fp", "large"]


def walks(name, *args, tools="sites", lines=False, **kwargs):
    """Runs a program under `sites`. Returns a list of callers for each call that the tool printed,
    with line numbers if `lines` is true."""
    result = run_observed(name, *args, ranks=1, tools=tools, **kwargs)
    assert result.returncode == 0 and result.messages == []
    assert "some walks, 0 wrong" in result.trace
    assert not [line for line in result.trace if line.startswith("wrong")]
    return [(line if lines else re.sub(r":\d+", "", line)).partition(": ")[2].split(" | ")
            for line in result.trace if line.startswith("MPI_")]


def upper(found):
    """Returns the callers of the function `leaf` for each call, as a string."""
    assert all(callers[0] == LEAF for callers in found)
    return [" ".join(callers[1:]) for callers in found]


def line_of(file, place):
    lines = (PLACES / file).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if re.search(rf"line: {place}\b", line))


@pytest.mark.parametrize("how", COMPILED)
def test_callers_in_frames_of_changing_size_are_right(how):
    main = "frames main" if how == "O0" else "frames < main"
    found = upper(walks(f"observe_sites_{how}", "frames"))
    # The number of frames in qsort depends on the version of the C library.
    found = [re.sub("(libc )+", "libc ", callers) for callers in found]
    if ASAN:  # AddressSanitizer also calls the comparison function of qsort
        found = [callers for callers in found if "interceptor" not in callers]
    assert found == [f"{callers} {main}" for callers in (
        "one", "two", "one", "recurse", "recurse recurse", "recurse recurse recurse",
        "recurse recurse", "allocate", "allocate allocate", "allocate allocate", "vary", "vary vary",
        "align", "align align align", "large", *([] if ASAN else ["compare libc sort"]))]


@pytest.mark.parametrize("how", COMPILED)
def test_callers_in_thousands_of_random_stacks_are_right(how):
    assert walks(f"observe_sites_{how}", "random", tools="sites,describe=no") == []


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer's backtrace precedes that of unwinds.so")
@pytest.mark.parametrize("how", COMPILED)
def test_no_stack_is_left_to_the_c_librarys_unwinder(how):
    """libqmpi's fast walk supports the unwind rules of all frames of the program, so it need not call the C
    library's unwinder."""
    result = run_observed(f"observe_sites_{how}", "frames", "random", "thread", "coroutines", "barrier",
                          OBSERVE_PROGRAMS, ranks=1, tools="sites,describe=no",
                          preload=(OBSERVE_TOOLS / "unwinds.so", LIBQMPI))
    assert "some walks, 0 wrong" in result.trace and "0 unwound" in result.trace


def test_lines_are_those_of_the_calls():
    callers = walks("observe_sites_O2", "barrier", "thread", lines=True)[-1]
    places = ("innermost", "inlined", "leaf")
    assert callers[0] == " < ".join(f"{place}:{line_of('sites.c', place)}" for place in places)


def test_debug_information_is_read_again_after_its_release():
    """Descriptions are kept. Debug information is opened again only for an address that was not
    described before."""
    result = run_observed("observe_sites_O2", "frames", "frames", ranks=1, tools="sites,release=yes")
    released = [line for line in result.trace if line.startswith("released")]
    assert released[0] == "released: mapped before, not mapped now" and len(released) > 2
    assert "released: not mapped before, not mapped now" in released
    assert released.count(released[0]) > 1
    callers = [line for line in result.trace if line.startswith("MPI_")]
    assert callers == [line for line in run_observed("observe_sites_O2", "frames", "frames", ranks=1,
                                                              tools="sites").trace
                       if line.startswith("MPI_")]


@pytest.mark.parametrize("how", COMPILED)
def test_callers_in_threads_signals_and_coroutines_and_after_jumps_are_right(how):
    program = f"observe_sites_{how}"
    # Handlers return to code of the C library, of the vDSO, or of an emulator, which belongs to no file.
    inside = re.compile(r"one handle( libc| linux-vdso\S*| nowhere)( libc)* interrupted signals( <)? main")
    assert upper(walks(program, "thread")) == ["one start"] * 2
    signals = upper(walks(program, "signals"))
    assert len(signals) == 2 and all(map(inside.fullmatch, signals))
    assert upper(walks(program, "coroutines")) == [
        "recurse recurse coroutine", "recurse recurse recurse coroutine"] * 2
    assert [callers.replace("jumps < ", "jumps ") for callers in upper(walks(program, "jumps"))] == [
        "recurse jumps main", "recurse recurse jumps main"]


def check_plugins(how, step, **kwargs):
    """Checks the callers in libraries that are opened and closed alternately."""
    found = walks(f"observe_sites_{how}", f"{step}{OBSERVE_PROGRAMS}", **kwargs)
    assert [callers[:-1] for callers in found] == [
        callers for _ in range(3) for name in ("plugin_first", "plugin_second") for callers in (
            [LEAF, name, "call_back", "plugins"][:len(found[0]) - 1],
            [name, "call_back", "plugins"][:len(found[1]) - 1])]


@pytest.mark.parametrize("how", COMPILED)
@pytest.mark.parametrize("closed", ["", "found="], ids=["dlclose", "dlsym"])
def test_callers_in_a_library_in_the_place_of_another_one_are_right(how, closed):
    """In the case `dlsym`, the program has found the C library's dlclose by dlsym, as UCX does."""
    check_plugins(how, closed)


def test_callers_are_right_if_the_dlclose_that_the_program_has_found_is_not_the_next_one(tmp_path):
    """Another library interposes dlclose behind libqmpi, and the program has found that of the C library."""
    (tmp_path / "wrapper.c").write_text("int dlclose(void *handle) { (void)handle; return 1; }")
    subprocess.run([*CC, "-shared", "-fPIC", "-o", tmp_path / "wrapper.so", tmp_path / "wrapper.c"], check=True)
    check_plugins("O2", "found=", preload=(LIBQMPI, tmp_path / "wrapper.so"))


def test_a_library_that_was_closed_is_still_known():
    result = run_observed("observe_sites_O0", OBSERVE_PROGRAMS, ranks=1, tools="sites,end=yes")
    # Whether the address is the same depends on the kernel.
    assert re.search("^[0-5] in the same place$", result.stdout, re.MULTILINE)
    last = [line for line in result.trace if line.startswith("at the end: ")]
    assert [re.sub(r":\d+", "", line) for line in last] == [
        "at the end: plugin_second | call_back | plugins | main"]


def test_a_library_that_was_opened_by_a_relative_name_is_found():
    """The file is found although the program has changed its directory."""
    assert walks("observe_sites_O0", f"relative={OBSERVE_PROGRAMS}") == [
        ["plugin_first", "call_back", "relative", "main"]]


def test_memory_of_a_library_that_another_thread_closes_is_not_read():
    """While a thread walks its stack, the other one may close a library. The memory that the loader
    then frees is not read."""
    result = run_observed("observe_sites_O0", f"closing={OBSERVE_PROGRAMS}", ranks=1, tools="sites,describe=no")
    assert result.returncode == 0 and "some walks, 0 wrong" in result.trace


def test_callers_in_a_program_that_is_an_argument_of_the_loader_are_named():
    loader = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}[PROCESSOR]
    if not os.path.exists(loader):
        pytest.skip(f"{loader} does not exist")
    assert walks("observe_sites_O2", "barrier", "thread", wrapper=[loader])[-1][0] == LEAF


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer's own memory grows")
def test_callers_in_a_program_without_file_descriptors_are_right():
    """Without file descriptors, the bounds of the stack cannot be read. The callers must be right nevertheless, and
    memory must not grow."""
    result = run_observed("observe_sites_O2", "descriptors", ranks=1, tools="sites,describe=no")
    assert "some walks, 0 wrong" in result.trace
    assert int(result.stdout.split()[-1]) < 100, "pages"


def section(path, name):
    """Returns the offset and the size of a section in a file."""
    listed = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"\] {re.escape(name)} +PROGBITS +\w+ (\w+) (\w+)", listed)
    return int(found[1], 16), int(found[2], 16)


def damage(original, sections, seed):
    """Returns a copy of `original` with some wrong bytes in these sections."""
    chance, data = random.Random(seed), bytearray(original)
    for _ in range(chance.choice([1, 2, 4, 16, 64])):
        at, size = chance.choice(sections)
        place = at + chance.randrange(size)
        data[place] = chance.choice([0, 255, chance.randrange(256), data[place] ^ 1 << chance.randrange(8)])
    return data


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer reads these tables itself")
@pytest.mark.parametrize("how", ["O2", "fp"])
def test_a_program_whose_unwind_tables_are_damaged_runs_as_without_tools(how, tmp_path):
    """The program itself does not need its unwind tables, because it throws no exceptions. The variable
    DAMAGED sets the number of damaged programs."""
    original = observe_program(f"observe_sites_{how}")
    sections = [section(original, ".eh_frame")] * 9 + [section(original, ".eh_frame_hdr")]
    program = tmp_path / "damaged"
    for seed in range(int(os.environ.get("DAMAGED", "20"))):
        program.write_bytes(damage(original.read_bytes(), sections, seed))
        program.chmod(0o755)
        result = run_mpi(program, "frames", ranks=1, tools="profile,depth=16,output=/dev/null",
                         env={"QMPI_TOOL_PATH": None}, cwd=tmp_path)
        assert (result.returncode, result.messages) == (0, []), f"seed {seed}"


@pytest.mark.parametrize("how", COMPILED)
@pytest.mark.parametrize("tools", ["sites", "empty:sites", "sites:empty", "now:sites"])
def test_a_tools_own_call_has_the_programs_callers_too(how, tools):
    found = walks(f"observe_sites_{how}", "barrier", tools=tools)
    assert [" ".join(callers).replace(" <", "") for callers in found] == ["after barrier main"]


@pytest.mark.parametrize("how", ["O0", "O2"])
def test_callers_in_inlined_functions_and_destructors_of_cpp_are_named(how):
    program = observe_program(f"observe_sites_cpp_{how}")
    if not program.exists():
        pytest.skip("no C++ compiler")
    found = walks(f"observe_sites_cpp_{how}", lines=True)
    double = (f"grid::halo<double>::exchange(double&):{line_of('sites.cpp', 'exchange')}"
              f" < grid::halo<double>::update(double):{line_of('sites.cpp', 'update')}")
    whole = double.replace("double", "int")
    assert [callers[0] for callers in found] == [double, whole, whole, double, double]
    assert all("guard::~guard()" in callers[1] and "fail" in " ".join(callers[1:])
               for callers in found[1:3])
    assert [callers[-1].split(":")[-2].split(" ")[-1] for callers in found] == ["main"] * 5


@pytest.mark.parametrize("how", ["O0", "O2"])
@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
def test_callers_in_fortran_are_named(module, how):
    if not observe_program(f"observe_sites_{module}_{how}").exists():
        pytest.skip("no Fortran compiler")
    found = walks(f"observe_sites_{module}_{how}")
    assert [" ".join(callers).replace("heat < ", "heat ") for callers in found] == [
        "exchange heat main", "exchange exchange exchange heat main", "exchange exchange step heat main"]


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer is found first")
def test_without_debug_information_the_exported_function_is_known(tmp_path):
    """A copy of libqmpi does not find the library that reads debug information, as in an installation
    without libdw."""
    copy = tmp_path / "libqmpi.so"
    shutil.copy(LIBQMPI, copy)
    (tmp_path / "qmpi").mkdir()
    result = run_observed("observe_sites_O2", OBSERVE_PROGRAMS, ranks=1, tools="sites",
                          preload=(copy,))
    assert "MPI_Comm_rank: observe_plugin_first.so | call_back:0 | observe_sites_O2" in " ".join(result.trace)
