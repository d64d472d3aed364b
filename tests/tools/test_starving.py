# SPDX-License-Identifier: MIT
"""If libqmpi and its tools get no memory, or if MPI can create no more communicators, the program continues, and
messages report what is lost.

tests/tools/programs/starving.c refuses memory only to libqmpi and to the tools, after N more allocations.
"""
import re

import pytest
from profile_support import BUILD, STEPS, load, names, report, run_steps
from mpi_in_use import EMULATED
from support import ASAN, OPEN_MPI, needs_sessions

pytestmark = pytest.mark.usefixtures("separate_nodes")

STARVING = STEPS.with_name("tools_starving")
FORTRAN = STEPS.with_name("tools_starving_fortran")
NUMBERS = (0, 7, 45, 150)  # numbers of allocations that still succeed
WITHOUT_SANITIZER = pytest.mark.skipif(ASAN != "", reason="a sanitizer has an allocator of its own")
BEFORE = ["init", "barrier", "bcast", "shift=100", "region=a"]
AFTER = ["rank", "barrier", "end=a", "finalize", "fed"]


def starve(tmp_path, *steps, program=STARVING, ranks=1, env=None, **more):
    result = run_steps(*steps, program=program, cwd=tmp_path, ranks=ranks, env=env or {}, timeout=60, **more)
    assert result.returncode == 0, result.stderr
    return result


@WITHOUT_SANITIZER
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("tools", [
    "trace,output=t,format=otf2", "trace,output=t,format=perfetto,sites=yes", "trace,output=t", "profile", "count", "mpit",
    "log,caller=yes,output=log", "delay,before=1us"])
def test_programs_continue_if_memory_is_exhausted_until_the_end(tmp_path, tools, number):
    """The tools get no memory again before the end, not even in MPI_Finalize, in which trace converts its files to
    other formats."""
    result = starve(tmp_path, *BEFORE, f"starve={number}", *AFTER, tools=tools, ranks=2)
    asked = [int(count) for count in re.findall(r"(?m)^asked (\d+)$", result.stdout)]
    assert len(asked) == 2
    if "trace" in tools:
        assert {"rank-0.qtrace", "rank-1.qtrace"} <= set(names(tmp_path / "t"))
    if "format=" in tools and max(asked) > number:
        made = [name for name in names(tmp_path / "t") if name.endswith((".otf2", ".perfetto-trace"))]
        assert len(made) == (2 if "perfetto" in tools else 1) or any(
            "out of memory" in line or "no archive" in line for line in result.messages)


@WITHOUT_SANITIZER
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("tools", ["trace,output=t,format=otf2", "trace,output=t,format=perfetto"])
def test_the_job_continues_if_memory_is_exhausted_in_one_rank(tmp_path, tools, number, rank):
    """The other rank does not wait for the one that cannot take part."""
    result = starve(tmp_path, *BEFORE, f"only={rank}", f"starve={number}", "only=-1", *AFTER, tools=tools, ranks=2)
    asked = max(int(count) for count in re.findall(r"(?m)^asked (\d+)$", result.stdout))
    if asked > number and "otf2" in tools:
        assert "traces.otf2" in names(tmp_path / "t") or any("no archive" in line for line in result.messages)


@WITHOUT_SANITIZER
@pytest.mark.parametrize("rank", [[], ["only=0"], ["only=1"]], ids=["all", "0", "1"])
@pytest.mark.parametrize("number", (0, 3, 7, 150))
@pytest.mark.parametrize("tools", ["count", "profile"])
def test_results_that_are_lost_for_lack_of_memory_are_reported_and_no_rank_waits(tmp_path, tools, number, rank):
    """count prints its table of both ranks nevertheless, because the table needs no memory."""
    result = starve(tmp_path, *BEFORE, *rank, f"starve={number}", "only=-1", *AFTER, tools=tools, ranks=2)
    assert "without MPI_Finalize" not in result.stderr
    if tools == "count":
        assert re.search(r"count \(layer 1\): MPI calls of 2 ranks\b", result.stderr), result.stderr
        assert re.search(r"MPI_Barrier +4 +2 +2\.0 +2\b", result.stderr), result.stderr
    else:
        whole = "profile (layer 1): 2 ranks" in result.stderr
        assert whole or "out of memory" in result.stderr


@WITHOUT_SANITIZER
@pytest.mark.parametrize("number", (*NUMBERS, 60, 110, 170))
def test_a_tool_may_open_a_library_without_memory(tmp_path, number):
    """If the memory does not suffice, dlopen fails, or a message says that the references of the library
    cannot be redirected to the layers below."""
    env = {"TEST_OWN": BUILD / "tests/pmpi/tools/libplugin_pmpicaller.so", "TEST_OPENS": "barrier"}
    result = starve(tmp_path, "init", "rank", f"starve={number}", "barrier", "rank", "fed", "rank", "finalize",
                    tools="libopens:libaddress", env=env)
    asked = int(re.search(r"(?m)^asked (\d+)$", result.stdout)[1])
    opened = [line for line in result.trace if re.match("opens( a|:)", line)]
    assert opened == ["opens a library"] or "opens: out of memory" in opened[0]
    assert opened == ["opens: out of memory"] or asked <= number or \
        any("bypass the layers below: out of memory" in line for line in result.messages)


@WITHOUT_SANITIZER
@pytest.mark.skipif(not FORTRAN.exists(), reason="no Fortran compiler")
@pytest.mark.parametrize("number", range(0, 14, 3))
def test_a_layer_with_fortran_wrappers_is_switched_without_memory(tmp_path, number):
    """The layer is switched for calls in C and in Fortran, or for neither."""
    switches = ["layer_off=1", "layer_on=1", "layer_off=1"]
    pairs = [step for switch in switches for step in (switch, "fortran_barrier")]
    result = starve(tmp_path, "fortran_init", "fortran_barrier", f"starve={number}", *pairs, "fed", *pairs, "finalize",
                    program=FORTRAN, tools="libfortran_wrappers:libaddress")
    good = [code == "0" for code in re.findall(r"(?m)^switched (-?\d+)$", result.stdout)]
    assert good[len(switches):] == [True] * len(switches)
    is_on, expected = True, 1
    for switch, done in zip(switches * 2, good):
        is_on = switch == "layer_on=1" if done else is_on
        expected += is_on
    assert sum("fortran_wrappers mpi_barrier_" in line for line in result.trace) == expected
    assert sum("address MPI_Barrier" in line for line in result.trace) == 7


@WITHOUT_SANITIZER
@pytest.mark.skipif(EMULATED, reason="the emulator gets no memory, either")
@pytest.mark.parametrize("kilobytes", [128, 2000])
def test_the_status_stays_if_the_stack_cannot_grow(tmp_path, kilobytes):
    """The stack of the first thread grows when it is used, which is impossible if the address space is exhausted. The
    first MPI call extends it by a MiB for the report. If even this is used up, a message says that the report is
    lost."""
    result = run_steps("init", "barrier", f"exit_on_full_stack={kilobytes}", cwd=tmp_path, tools="profile,output=out.json",
                       ranks=1)
    is_saved = kilobytes < 1024
    assert result.returncode == 3
    assert names(tmp_path) == (["out.0.json"] if is_saved else [])
    assert any("(exit)" in line and ("out of memory" in line) != is_saved for line in result.messages), result.stderr


# ---- Communicators -------------------------------------------------------------------------------
@pytest.mark.skipif(OPEN_MPI, reason="Open MPI has numbers for more communicators than a test can create")
@pytest.mark.parametrize("handler", [[], ["count_errors"]])
@pytest.mark.parametrize("init", ["init", "pmpi_init"])
@pytest.mark.parametrize("tools", ["profile", "count", "trace,output=t,format=otf2"])
def test_no_call_of_libqmpi_invokes_the_error_handler_of_the_program(tmp_path, tools, init, handler):
    """The program has created all communicators for which MPICH has numbers, so no tool can create
    one."""
    result = run_steps(init, "barrier", "use_up_comms", *handler, "bcast", "finalize", "errors", cwd=tmp_path, tools=tools)
    assert result.returncode == 0, result.stderr
    assert re.findall(r"(?m)^errors (\d+)$", result.stdout) == ["0", "0"]
    said = sum("cannot create a communicator" in line for line in result.messages)
    assert said == 1 or (tools.startswith("trace") and said == 0)  # trace may find a number: it has freed communicators
    assert "ended without MPI_Finalize" not in result.stderr
    if tools == "count" and said:
        assert sum("because MPI_Finalize could not combine the ranks" in line for line in result.messages) == 2
    elif tools == "profile" and said:
        parts = [line for line in result.messages if "MPI_Finalize could not merge the data of the ranks; its data is in"
                 in line]
        assert len(parts) == 2
        assert load(tmp_path / "qmpi-profile.1.json")["ending"] == "MPI_Finalize"
        assert "each process reported separately: MPI_Finalize" in report(
            tmp_path / "qmpi-profile.0.json", tmp_path / "qmpi-profile.1.json")


@needs_sessions
@pytest.mark.skipif(OPEN_MPI, reason="Open MPI has numbers for more communicators than a test can create")
@pytest.mark.parametrize("tools", ["profile", "count", "trace,output=t"])
def test_no_call_of_a_tool_invokes_the_error_handler_of_a_communicator_of_a_session(tmp_path, tools):
    """When the program creates a communicator of all processes, the tools create one of their own. If MPI has no number
    left, the creation fails, and the error handler of the program's communicator must not be called."""
    result = run_steps("session_init", "session_comm", "session_barrier", "session_last_comm", "session_free",
                       "session_finalize", cwd=tmp_path, tools=tools, ranks=1)
    assert result.returncode == 0, result.stderr
    assert re.findall(r"(?m)^raised (\d+)$", result.stdout) == ["0"]
