# SPDX-License-Identifier: MIT
"""The tool log shows calls that do not return, or do not return normally, and how a process ended."""
import os
import signal

import pytest
from job import Job
from log_support import (FAULTS, STEPS, TERMINATION, TOOL_PATH, WORDS, Line, terminations_of, lines_of, matches,
                         names, read, run_log, writers_of)
from support import ASAN, LIBQMPI, OPEN_MPI, RUN_RANK, clean_environment, launch, needs_helper, wait_until

BEGUN = ["init", "barrier"]


@pytest.mark.parametrize("step, termination, status", [
    ("exit=3", "exit without MPI_Finalize", 3),
    ("rank", "exit without MPI_Finalize", 0),
    ("raise=15", "signal SIGTERM", -15),
    ("raise=2", "signal SIGINT", -2),
    ("fault", "signal SIGSEGV", -11),
    ("fall", "signal SIGSEGV", -11),
    ("abort=5", "MPI_Abort", 5),
    ("finalize", None, 0),
])
def test_the_log_says_how_a_process_ended(step, termination, status):
    result = run_log(STEPS, *BEGUN, step, env=FAULTS)
    assert result.returncode == status
    assert terminations_of(result).get(0) == termination
    assert names(lines_of(result))[:2] == ["MPI_Init", "MPI_Barrier"]


def test_a_signal_after_finalize_is_not_logged():
    result = run_log(STEPS, *BEGUN, "finalize", "raise=15")
    assert result.returncode == -15 and terminations_of(result) == {}


def test_the_end_of_a_process_that_did_not_initialize_mpi_is_not_logged():
    result = run_log(STEPS, "initialized")
    assert names(lines_of(result)) == ["MPI_Initialized"] and terminations_of(result) == {}


def test_the_end_of_a_forked_child_is_not_logged():
    result = run_log(STEPS, *BEGUN, "fork", "fork=15", "finalize")
    assert result.returncode == 0 and terminations_of(result) == {}


def test_the_applications_own_handlers_see_their_signals():
    result = run_log(STEPS, "handler=15", *BEGUN, "raise=15", "finalize")
    assert result.returncode == 0 and result.trace == ["own handler 15"]
    assert terminations_of(result) == {}


def test_mpi_abort_has_a_line_before_the_job_ends():
    lines = lines_of(run_log(STEPS, *BEGUN, "abort=5"))
    assert lines[-1].call == "MPI_Abort(comm=MPI_COMM_WORLD, errorcode=5) = ?"


def test_a_call_with_a_fatal_error_is_shown_as_unfinished():
    result = run_log(WORDS, "fatal", options=",enter=yes" if OPEN_MPI else "")
    line = lines_of(result)[-1]
    assert matches("(buf=*, count=1, datatype=MPI_INT, dest=5, tag=0, comm=MPI_COMM_WORLD)",
                   line.arguments)
    # Open MPI ends the process with _exit, which cannot be detected. So there is only the line that was written when
    # the call began.
    if OPEN_MPI:
        assert line.result == "<unfinished ...>" and terminations_of(result) == {}
    else:
        assert line.result.startswith("<unfinished after")
        assert terminations_of(result) == {0: "exit without MPI_Finalize"}


@pytest.mark.parametrize("part, function, words", [
    ("wild", "MPI_Alltoallv", "sendcounts=0x10, sdispls=0x10"),
    ("wild_requests", "MPI_Waitall", "array_of_requests=0x10"),
])
def test_invalid_pointers_are_printed_and_not_followed(part, function, words):
    """The MPI library faults because it reads what these arguments point to. The log shows only the addresses."""
    result = run_log(WORDS, part, env=FAULTS)
    assert result.returncode == -signal.SIGSEGV
    line = lines_of(result)[-1]
    assert line.function == function and line.result.startswith("<unfinished after")
    assert words in line.arguments
    assert terminations_of(result) == {0: "signal SIGSEGV"}


def test_a_call_that_is_left_by_a_jump_is_marked():
    result = run_log(WORDS, "jumps")
    lines = lines_of(result)
    assert [line.function for line in lines if line.result == "<left by a jump>"] == ["MPI_Send"]
    assert {line.depth for line in lines} == {0} and names(lines)[-1] == "MPI_Finalize"
    assert terminations_of(result) == {}


def sends_and_barriers(part):
    return [(line.function, line.depth, bool(line.again), line.result) for line in lines_of(run_log(WORDS, part))
            if line.function in ("MPI_Send", "MPI_Barrier")]


def test_a_signal_stack_in_a_frame_of_the_thread_does_not_look_like_a_jump():
    """The handler's calls are at higher addresses than the call during which the handler runs."""
    first, *rest = sends_and_barriers("signal_stack")
    assert first == ("MPI_Send", 0, False, "<unfinished ...>")
    assert rest[0] == ("MPI_Barrier", 1, False, "MPI_SUCCESS")
    assert rest[1][:3] == ("MPI_Send", 0, True) and rest[1][3].startswith("MPI_ERR_RANK")
    assert [first, *rest[:2]] == rest[2:]


def test_a_call_that_was_taken_for_left_has_its_own_result():
    """A coroutine runs on an array in a frame of the thread."""
    lines = sends_and_barriers("coroutine")
    assert [line[3].split()[0] for line in lines] == \
        ["<left", "MPI_SUCCESS", "MPI_ERR_RANK", "<unfinished", "MPI_SUCCESS", "MPI_ERR_RANK"]
    assert [line[0] for line in lines] == 2 * ["MPI_Send", "MPI_Barrier", "MPI_Send"]
    assert [line[2] for line in lines] == 2 * [False, False, True]


def test_calls_from_within_a_call_are_indented():
    lines = lines_of(run_log(STEPS, "init", "nest", "finalize"))
    dup = next(i for i, line in enumerate(lines) if line.function == "MPI_Comm_dup")
    outer, inner, again = lines[dup:dup + 3]
    assert (outer.depth, inner.depth, again.depth) == (0, 1, 0)
    assert outer.call == "MPI_Comm_dup(comm=MPI_COMM_SELF, newcomm=?) = <unfinished ...>"
    assert inner.call == "MPI_Barrier(comm=MPI_COMM_SELF) = MPI_SUCCESS"
    assert again.again and not inner.again
    assert matches("MPI_Comm_dup(comm=MPI_COMM_SELF, newcomm=*) = MPI_SUCCESS", again.call)


def test_a_line_is_also_written_when_a_call_begins():
    lines = lines_of(run_log(STEPS, *BEGUN, "rank", "finalize", options=",enter=yes"))
    for begun, ended in zip(lines[::2], lines[1::2]):
        assert (begun.function, begun.result) == (ended.function, "<unfinished ...>")
        assert ended.again and ended.result == "MPI_SUCCESS"
    assert "rank=?" in lines[4].arguments and "rank=0" in lines[5].arguments


@pytest.mark.parametrize("tools, layers", [
    ("profile:log", 1), ("log:profile", 1), ("log:profile:log", 2)])
@pytest.mark.parametrize("step, status", [("raise=15", -15), ("fault", -11)])
def test_log_and_profile_in_one_stack_both_record_the_end(tmp_path, tools, layers, step, status):
    result = run_log(STEPS, *BEGUN, step, tools=tools, cwd=tmp_path, env=FAULTS)
    assert result.returncode == status
    assert [path.name for path in tmp_path.iterdir()] == ["qmpi-profile.0.json"]
    assert sum("+++ signal" in text for text in result.messages) == layers


def test_the_calls_of_other_ranks_are_shown_as_unfinished_when_one_aborts(tmp_path):
    """When rank 1 aborts, the launcher kills rank 0 by SIGKILL, or by a signal that log handles. Rank 1 first
    receives a message that rank 0 sends by MPI_Sendrecv, so that rank 0 is certainly in this call."""
    result = run_log(STEPS, *BEGUN, "only=0", "shift=8", "finalize", "only=1", "send=8", "abort=5",
                     ranks=2, options=f",enter=yes,output={tmp_path}/x")
    assert result.returncode == 5
    # The last lines of a process that was killed are written after its end.
    assert wait_until(lambda: not writers_of(tmp_path / "x.0") + writers_of(tmp_path / "x.1"))
    waiting = [line for line in read(tmp_path / "x.0") if line.function == "MPI_Sendrecv"]
    assert waiting and all(line.result.startswith("<unfinished") for line in waiting)
    assert read(tmp_path / "x.1")[-1].function == "MPI_Abort"


# ---- Processes that are killed -------------------------------------------------------------------


def call_at_end_of(path):
    """Returns the last call of a process that could not notice its end, or None if there is none: the process was killed
    before its calls, or Open MPI's launcher has sent it SIGTERM. The line is written after its end."""
    assert wait_until(lambda: not writers_of(path))
    lines = path.read_text().splitlines()
    last = TERMINATION.fullmatch(lines[-1]) if lines else None
    if not last or (OPEN_MPI and last[5] == "signal SIGTERM"):
        return None
    assert last[5] == "SIGKILL, _exit or exec"
    return Line(lines[-2])


@needs_helper
@pytest.mark.parametrize("functions", ["", ",functions=MPI_Send"])
def test_a_fatal_error_under_a_launcher_is_in_the_file(tmp_path, functions):
    """MPICH's launcher kills a rank with a fatal error before it exits. Open MPI ends it with _exit."""
    run_log(WORDS, "fatal", options=f",output={tmp_path}/x{functions}", wrapper=launch(2))
    calls = [call for path in tmp_path.iterdir() if (call := call_at_end_of(path))]
    failed = [call for call in calls if call.function == "MPI_Send"]
    assert failed and all("dest=5" in call.arguments and call.result == "<unfinished after >" for call in failed)


# ---- Hanging -------------------------------------------------------------------------------------


class Hanging(Job):
    """Two ranks, the first of which waits for the other one for ever."""

    def __init__(self, folder, options=""):
        libraries = f"{ASAN}:{LIBQMPI}" if ASAN else str(LIBQMPI)
        super().__init__(
            RUN_RANK, launch(2), [STEPS, *BEGUN, "only=0", "shift=8", "finalize", "only=1", "sleep=600000"],
            ranks=2, cwd=folder, variables={"LD_PRELOAD": libraries},
            env={**clean_environment(), "QMPI_TOOL_PATH": TOOL_PATH, "QMPI_TOOLS": f"log,output=log.%r{options}"})
        self.log = folder / "log.0"

    def wait_for_line(self, words):
        """Waits until the log of the first rank contains `words`, and returns the lines of this log."""
        def there():
            text = self.log.read_text() if self.log.exists() else ""
            return words in text and text.endswith("\n")
        self.wait_for(there)
        return read(self.log)


def test_a_call_that_does_not_return_is_logged_while_it_hangs(tmp_path):
    with Hanging(tmp_path, ",stuck=200ms,functions=MPI_Sendrecv,caller=yes") as run:
        last = run.wait_for_line("<unfinished after")[-1]
    assert last.function == "MPI_Sendrecv" and "dest=1" in last.arguments
    assert last.result.startswith("<unfinished after")
    assert last.caller.startswith("send_to_next (steps.c:")


@pytest.mark.parametrize("number, name", [(signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")])
def test_a_call_that_hangs_is_logged_when_a_signal_ends_the_process(tmp_path, number, name):
    with Hanging(tmp_path, ",enter=yes,functions=MPI_Sendrecv") as run:
        run.wait_for_line("MPI_Sendrecv(")
        os.kill(run.ranks[0].pid, number)
        run.wait_for(lambda: run.ranks[0].returncode)
        assert run.ranks[0].returncode == -number
        begun, last = run.wait_for_line(f"+++ signal {name} +++")
    assert begun.result == "<unfinished ...>"
    assert (last.function, last.arguments) == (begun.function, begun.arguments)
    assert last.result.startswith("<unfinished after")


@needs_helper
def test_a_call_that_hangs_is_in_the_file_of_a_process_that_is_killed(tmp_path):
    with Hanging(tmp_path, ",enter=yes,caller=yes") as run:
        run.wait_for_line("MPI_Sendrecv(")
        os.kill(run.ranks[0].pid, signal.SIGKILL)
        last = call_at_end_of(run.log)
    assert (last.function, last.result) == ("MPI_Sendrecv", "<unfinished after >")
    assert last.caller.startswith("send_to_next (steps.c:")
