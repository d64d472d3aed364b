# SPDX-License-Identifier: MIT
"""Call sites of Python programs are lines of Python. Finding these lines makes no process fail."""
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
from findings_support import of_program, until
from mpi_in_use import PYTHON
from profile_support import TOOL_PATH, load, report
from support import ABI, BUILD, LIBQMPI, MPI_NAME, MPI_SONAME, OPEN_MPI, SOURCE, run_mpi

SOURCES = SOURCE / "tests" / "tools" / "programs"
FAKE = BUILD / "tests" / "tools" / "programs" / "tools_fake_python"
CALLS, MPI4PY = SOURCES / "python_calls.py", SOURCES / "mpi4py_calls.py"
IMPLEMENTATION = "abi" if ABI else MPI_NAME

# Debian's mpi4py needs the default MPI of Debian, which is Open MPI.
with_mpi4py = pytest.mark.skipif(not OPEN_MPI or ABI or not importlib.util.find_spec("mpi4py"),
                                 reason="no mpi4py for this MPI library")
needs_lines = pytest.mark.skipif(
    sys.version_info[:2] < (3, 11) or sys.version_info[:2] > (3, 15) or not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="profile does not find the lines of this Python")


def run_python(tmp_path, script, case, *, ranks=1, options="", output="out.json", **more):
    environment = {"QMPI_TOOL_PATH": TOOL_PATH, "PYTHON_CALLS_LIBRARY": MPI_SONAME, "PYTHON_CALLS_MPI": IMPLEMENTATION,
                   "PYTHONDONTWRITEBYTECODE": "1"}
    return run_mpi(PYTHON, script, case, ranks=ranks, cwd=tmp_path, env=environment,
                   tools=f"profile,output={output}{options}", preload=[LIBQMPI], **more)


def profile_python(tmp_path, script, case, **more):
    result = run_python(tmp_path, script, case, **more)
    assert result.returncode == 0 and result.messages == [], result
    return load(tmp_path / "out.json")


def line_of(script, name):
    numbers = [number for number, line in enumerate(script.read_text().splitlines(), 1)
               if re.search(rf"# {name}$", line)]
    assert len(numbers) == 1, (name, numbers)
    return numbers[0]


def place(script, name, function):
    return script.name, line_of(script, name), function


def places(frames):
    """Returns file, line and function of each frame. The file is "" if no line is known."""
    return [(Path(frame["file"]).name if frame.get("file") else "", frame.get("line", 0), frame.get("function", ""))
            for frame in frames]


def sites(document, function):
    """Returns places -> number of calls, for the call sites of an MPI function."""
    found = {}
    for site in document["callsites"]:
        if site["name"] == function:
            key = tuple(places(site["frames"]))
            assert key not in found, key
            found[key] = site["calls"]
    return found


# ---- Through ctypes ------------------------------------------------------------------------------


@needs_lines
def test_a_call_site_is_a_line_of_python(tmp_path):
    document = profile_python(tmp_path, CALLS, "lines")
    generator = "lines.<locals>.<genexpr>"
    assert sites(document, "MPI_Barrier") == {
        (place(CALLS, "twice", "lines"),): 6, (place(CALLS, "inner", "inner"),): 1,
        (place(CALLS, "generator", generator),): 2, (place(CALLS, "long", "lines"),): 1}
    assert "\n    from inner (python_calls.py:" in report(tmp_path / "out.json")


@needs_lines
def test_callers_are_lines_of_python_too(tmp_path):
    document = profile_python(tmp_path, CALLS, "lines", options=",depth=3")
    chain, = (site for site in sites(document, "MPI_Barrier") if site[0][2] == "inner")
    assert chain[:2] == (place(CALLS, "inner", "inner"), place(CALLS, "outer", "outer"))
    assert chain[2][::2] == (CALLS.name, "lines") and len(chain) == 3


@needs_lines
def test_generated_code_at_the_same_address_has_its_own_lines(tmp_path):
    document = profile_python(tmp_path, CALLS, "generated")
    assert sites(document, "MPI_Barrier") == {(("made.py", line, "<module>"),): 1 for line in range(1, 101)}


@needs_lines
def test_each_thread_has_its_own_lines(tmp_path):
    document = profile_python(tmp_path, CALLS, "threads")
    assert sites(document, "MPI_Comm_rank") == {
        (place(CALLS, "thread", "threads.<locals>.work"),): 1200, (place(CALLS, "no thread", "threads"),): 300}


@needs_lines
def test_signal_handlers_in_python_have_their_own_lines(tmp_path):
    document = profile_python(tmp_path, CALLS, "handler")
    assert sites(document, "MPI_Barrier") == {(place(CALLS, "handler", "handler.<locals>.handle_signal"),): 20}


@needs_lines
def test_a_callback_has_its_own_lines(tmp_path):
    document = profile_python(tmp_path, CALLS, "callback")
    assert sites(document, "MPI_Barrier") == {(place(CALLS, "called back", "callback.<locals>.<lambda>"),): 1}
    assert sites(document, "MPI_Comm_dup") == {(place(CALLS, "dup", "dup"),): 1}


@needs_lines
def test_a_call_in_flight_has_its_line(tmp_path):
    run_python(tmp_path, CALLS, "ending", output="r%r.json")
    document = load(tmp_path / "r0.json")
    flight, = document["in_flight"]
    assert (flight["name"], places(flight["frames"])) == ("MPI_Comm_dup", [place(CALLS, "dup", "dup")])
    assert re.search(r"from dup \(python_calls.py:\d+\)", report("--in-flight", tmp_path / "r0.json"))


def check_late(tmp_path, script):
    document = profile_python(tmp_path, script, "late", ranks=2)
    findings = of_program(document)["findings"]
    assert findings, document["functions"]
    first = findings[0]
    assert (first["kind"], first["rank"], Path(first.get("file", "")).name, first.get("line")) == (
        "late-sender", 0, script.name, line_of(script, "late")), findings
    assert f"{script.name}:{first['line']}" in first["summary"]


@needs_lines
def test_a_finding_names_the_line(tmp_path):
    until(check_late, tmp_path, CALLS)


def check_hang(tmp_path, script, receive):
    """Rank 0 waits for a message, and rank 1 in a collective, until each process sends itself a signal that ends it."""
    run_python(tmp_path, script, "hang", ranks=2, output="r%r.json")
    findings = json.loads(report("--format=json", *(tmp_path / f"r{rank}.json" for rank in range(2))))["findings"]
    assert findings[0]["kind"] == "deadlock", findings
    summary = findings[0]["summary"]
    assert re.search(rf"{receive} from rank 1 [^;]*{script.name}:{line_of(script, 'hang 0')}\b", summary), summary
    assert re.search(rf"MPI_Barrier [^;]*{script.name}:{line_of(script, 'hang 1')}\b", summary), summary


@needs_lines
def test_the_report_of_a_job_that_hangs_names_the_lines(tmp_path):
    check_hang(tmp_path, CALLS, "MPI_Recv")


def test_threads_may_call_mpi_while_the_interpreter_ends(tmp_path):
    for _ in range(3):
        result = run_python(tmp_path, CALLS, "finalizing", output="r%r.json")
        assert result.returncode == 0, result


def test_without_lines_the_extension_is_the_call_site(tmp_path):
    document = profile_python(tmp_path, CALLS, "lines", options=",python=no")
    assert len(sites(document, "MPI_Barrier")) == 1
    frame, = next(site["frames"] for site in document["callsites"] if site["name"] == "MPI_Barrier")
    assert re.search(r"libffi|_ctypes", frame["module"])


# ---- Through mpi4py ------------------------------------------------------------------------------


@with_mpi4py
@needs_lines
def test_call_sites_of_mpi4py_are_lines_of_python(tmp_path):
    document = profile_python(tmp_path, MPI4PY, "lines", ranks=2)
    assert sites(document, "MPI_Send") == {(place(MPI4PY, name, "exchange"),): 5
                                           for name in ("pickled send", "buffer send")}
    assert sites(document, "MPI_Recv") == {(place(MPI4PY, "buffer receive", "exchange"),): 5}
    assert sites(document, "MPI_Mprobe") == {(place(MPI4PY, "pickled receive", "exchange"),): 5}
    assert sites(document, "MPI_Isend") == {(place(MPI4PY, "begin", "lines"),): 2}
    assert sites(document, "MPI_Bcast") == {(place(MPI4PY, "pickled broadcast", "lines"),): 4}
    assert sites(document, "MPI_Barrier") == {(place(MPI4PY, "barrier", "lines"),): 2}
    # The modules of the interpreter that import mpi4py are left out.
    assert list(sites(document, "MPI_Init_thread")) == [(place(MPI4PY, "import", "<module>"),)]


@with_mpi4py
@needs_lines
def test_callers_of_mpi4py_are_lines_of_python_too(tmp_path):
    document = profile_python(tmp_path, MPI4PY, "lines", ranks=2, options=",depth=2")
    outer = place(MPI4PY, "exchange", "lines")
    assert sites(document, "MPI_Recv") == {(place(MPI4PY, "buffer receive", "exchange"), outer): 5}


@with_mpi4py
@needs_lines
def test_a_reduction_in_python_has_its_own_lines(tmp_path):
    document = profile_python(tmp_path, MPI4PY, "callback", ranks=2)
    assert list(sites(document, "MPI_Allreduce")) == [(place(MPI4PY, "reduce", "callback"),)]
    assert list(sites(document, "MPI_Barrier")) == [(place(MPI4PY, "called back", "callback.<locals>.add"),)]


@with_mpi4py
@needs_lines
def test_calls_of_threads_with_mpi4py_have_their_line(tmp_path):
    document = profile_python(tmp_path, MPI4PY, "threads", ranks=2)
    assert list(sites(document, "MPI_Isend")) == [(place(MPI4PY, "thread", "threads.<locals>.work"),)]
    assert sum(sites(document, "MPI_Isend").values()) == 200


@with_mpi4py
@needs_lines
def test_a_finding_names_the_line_of_mpi4py(tmp_path):
    until(check_late, tmp_path, MPI4PY)


@with_mpi4py
@needs_lines
def test_the_report_of_a_job_that_hangs_names_the_lines_of_mpi4py(tmp_path):
    check_hang(tmp_path, MPI4PY, "MPI_Mprobe")


@with_mpi4py
def test_without_lines_of_python_a_note_names_the_reason(tmp_path):
    profile_python(tmp_path, MPI4PY, "lines", ranks=2, options=",python=no")
    note = "(no lines of Python: they are found in CPython 3.11 to 3.15"
    text = report(tmp_path / "out.json")
    assert note in text and "no debug information in MPI." not in text
    profile_python(tmp_path, MPI4PY, "lines", ranks=2)
    assert note not in report(tmp_path / "out.json")


# ---- An interpreter of this test -----------------------------------------------------------------


def run_fake(tmp_path, *arguments, options=""):
    result = run_mpi(FAKE, *arguments, ranks=1, cwd=tmp_path, preload=[LIBQMPI], env={"QMPI_TOOL_PATH": TOOL_PATH},
                     tools=f"profile,output=out.json{options}")
    assert result.returncode == 0 and result.messages == [], result
    return sites(load(tmp_path / "out.json"), "MPI_Barrier")


def line_in_c(source, name):
    lines = (SOURCES / source).read_text().splitlines()
    return source, next(number for number, line in enumerate(lines, 1) if f"/* {name} */" in line)


def here():
    return *line_in_c("fake_python.c", "here"), "call_here"


KNOWN = ("known.py", 10, "known")
VERSIONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
# The lines of the Python code that fake_python.c describes, and the number of calls that each line makes.
LINES = {10: 2, 12: 1, 112: 2, 109: 1}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_layout_and_every_kind_of_entry_is_read(tmp_path, version):
    found = run_fake(tmp_path, version)
    expected = {(here(), ("δ.py", line, "Class.method")): calls for line, calls in LINES.items()}
    # Three calls have no line: those at two instructions, and one whose only frame belongs to no code. The frame of the
    # interpreter's import is left out, so that `caller` makes the call.
    assert found == {**expected, (here(),): 3, (here(), ("caller.py", 109, "caller")): 1}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_frame_of_an_extension_follows_those_of_python(tmp_path, version):
    extension = (*line_in_c("fake_extension.c", "extension"), "call_in_extension")
    found = run_fake(tmp_path, version, "extension", options=",depth=2")
    caller = ("caller.py", 12, "caller")
    assert {site for site in found if site[0][0] == "δ.py"} == {
        (("δ.py", line, "Class.method"), caller, extension) for line in LINES}
    assert found[("caller.py", 109, "caller"), extension] == 1


@pytest.mark.parametrize("case", ["free-threaded", "changed", "old", "new", "elsewhere", "no-code", "other-code"])
def test_an_unknown_layout_is_not_read(tmp_path, case):
    assert run_fake(tmp_path, case) == {(here(),): 1}


@pytest.mark.parametrize("case", ["ends", "leaves"])
def test_a_thread_without_frames_has_no_lines(tmp_path, case):
    assert run_fake(tmp_path, case) == {(here(), KNOWN): 1, (here(),): 1}


def test_depth_does_not_count_frames_of_python(tmp_path):
    site, = run_fake(tmp_path, "leaves", options=",depth=1").keys() - {(here(),)}
    assert site == (here(), KNOWN)
    found = run_fake(tmp_path, "leaves", options=",depth=2")
    assert sorted(map(len, found)) == [2, 3] and all(site[1][2] == "main" for site in found)
    assert {site[2:] for site in found} == {(), (KNOWN,)}
