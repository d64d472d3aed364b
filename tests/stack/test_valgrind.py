# SPDX-License-Identifier: MIT
"""valgrind finds no errors in libqmpi and in tools. An error counts if the innermost function
outside valgrind and the C library is in libqmpi or in a tool. Errors in the MPI library do not
count, even if libqmpi has called it."""
import shutil
from xml.etree import ElementTree

import pytest

from mpi_in_use import EMULATED
from support import ASAN, run_mpi, tool

VALGRIND = not EMULATED and shutil.which("valgrind")
pytestmark = [
    pytest.mark.skipif(not VALGRIND, reason="valgrind is not installed, or cannot run under the emulator"),
    pytest.mark.skipif(bool(ASAN), reason="valgrind cannot run a sanitized program"),
]

NOT_TO_BLAME = ("vgpreload", "/libc.so", "/libc-", "/ld-linux", "/ld-", "/libpthread", "/libdl")


def culprit(stack):
    """Returns the library that caused an error: that of the innermost frame outside valgrind and the
    C library, or an empty string."""
    for frame in stack.iter("frame"):
        library = frame.findtext("obj") or ""
        if not any(part in library for part in NOT_TO_BLAME):
            return library
    return ""


def describe(error):
    frames = [f"{frame.findtext('fn')} ({frame.findtext('obj')})" for frame in error.iter("frame")]
    return "\n    ".join([error.findtext("kind") or "", *frames])


def errors_of_ours(report):
    errors = list(ElementTree.parse(report).getroot().iter("error"))
    return [describe(error) for error in errors
            if any(name in culprit(error.find("stack")) for name in ("libqmpi", "/tools/"))]


def run_under_valgrind(report, *args, **kwargs):
    wrapper = [VALGRIND, "--xml=yes", f"--xml-file={report}", "--leak-check=full",
               "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
               "--num-callers=40", "--fair-sched=try"]
    return run_mpi(*args, ranks=1, wrapper=wrapper, timeout=240, **kwargs)


@pytest.mark.parametrize("tools", [
    "empty:empty", "alpha,functions=Comm_rank:lookup:nested:options,colour=red", "misuse:counter"])
def test_valgrind_finds_no_error_in_a_run(tools, tmp_path):
    report = tmp_path / "report.xml"
    result = run_under_valgrind(report, "calls", "initialized", "init", "comm_rank", "comm_size",
                                "barrier", "finalize", "finalized", tools=tools)
    assert result.returncode == 0
    assert "barrier: result 0" in result.stdout
    assert errors_of_ours(report) == []


def test_valgrind_finds_no_error_with_threads(tmp_path):
    report = tmp_path / "report.xml"
    result = run_under_valgrind(report, "threads", "race", tools="empty:counter")
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert errors_of_ours(report) == []


@pytest.mark.parametrize("tools", [
    "alpha:no_such_tool:plain:fails:beta,x:empty,y=1:be\\ta:beta,a=1,a=2",
    "undefined:twins:silent",
])
def test_valgrind_finds_no_error_if_bad_entries_are_skipped(tools, tmp_path):
    report = tmp_path / "report.xml"
    result = run_under_valgrind(report, "calls", "init", "comm_rank", "finalize", tools=tools,
                                env={"QMPI_ON_ERROR": "skip", "QMPI_DEBUG": "all,nonsense"})
    assert result.returncode == 0
    assert errors_of_ours(report) == []


def test_a_damaged_library_is_read_within_its_bounds(tmp_path):
    """A library is truncated at many places. libqmpi maps the file, so reading a page beyond its
    end would cause a bus error."""
    whole = tool("alpha").read_bytes()
    entries = []
    for part in range(1, 30):
        path = tmp_path / f"cut{part}.so"
        path.write_bytes(whole[:len(whole) * part // 30])
        entries.append(str(path))
    report = tmp_path / "report.xml"
    result = run_under_valgrind(report, "calls", "init", "finalize", tools=":".join(entries),
                                env={"QMPI_ON_ERROR": "skip"})
    assert result.returncode == 0
    assert len([line for line in result.messages if line.startswith("QMPI_TOOLS")]) == 29
    assert errors_of_ours(report) == []


def test_valgrind_finds_a_fault_of_a_tool(tmp_path):
    """If valgrind found no errors at all, the tests above would always pass."""
    report = tmp_path / "report.xml"
    run_under_valgrind(report, "calls", "init", "finalize", tools="leaky")
    assert [error for error in errors_of_ours(report) if error.startswith("UninitCondition")]
