# SPDX-License-Identifier: MIT
"""However a run ends, and whatever prevents it from writing its trace, the part of the trace that was written is
readable by the reader of the tests and by `qmpi trace`, can be converted to an archive in OTF2, and says where it
ends."""
import concurrent.futures
import contextlib
import os
import re
import signal

import pytest

from archives import HAS_READER
from otf2_events import check_archive_of
from support import ASAN, OPEN_MPI, clean_environment, needs_sessions, wait_until
from trace_support import MANY, PROGRAMS, STEPS, qmpi_trace, read, run, trace

TERMINATIONS = PROGRAMS / "tools_terminations"


def check_what_is_there(folder, path="qmpi-trace"):
    """Returns the processes of a trace, and its summary with the warnings. Checks that the archive that `qmpi trace`
    makes from the trace has the same events."""
    processes, warnings = read(folder / path)
    if HAS_READER:
        qmpi_trace(folder, "--to=otf2", "-o", "archive", path=path)
        check_archive_of(processes, folder / "archive" / "traces.otf2")
    return processes, qmpi_trace(folder, path=path).stdout + "\n".join(warnings)


# Switches off the handlers of sanitizers. With Open MPI, the signal is not SIGSEGV, because a test in which a rank of
# Open MPI ends by SIGSEGV is repeated.
FAULTS = {"ASAN_OPTIONS": clean_environment()["ASAN_OPTIONS"] + ":handle_segv=0:handle_sigbus=0"}
FAULT = signal.SIGBUS if OPEN_MPI else signal.SIGSEGV


@pytest.mark.parametrize("steps, end, words", [
    ([f"raise={int(signal.SIGTERM)}"], "4", "signal SIGTERM"), ([f"raise={int(FAULT)}"], "4", f"signal {FAULT.name}"),
    (["abort=3"], "3", "MPI_Abort"),
    # The files have all events that are older than a second, also those of processes that are killed.
    (["sleep=1500", f"raise={int(signal.SIGKILL)}"], "0", "no end: killed")])
def test_a_trace_is_readable_if_a_rank_ends_while_another_one_waits(steps, end, words, tmp_path):
    run(STEPS, "init", "shift=8", "only=1", *steps, "only=0", "barrier", cwd=tmp_path, ends=[1], env=FAULTS)
    processes, text = check_what_is_there(tmp_path)
    assert sorted(processes) == [0, 1] and processes[1].traits["end"] == end
    assert re.search(rf"(?m)^(end)? +{words}.* \(ranks? [01, -]*1\)$", text), text
    # The clocks were compared in MPI_Init.
    assert re.search(r"clocks +(the processes have one clock|the error is at most [\d.]+ \w+)", text), text
    for process in processes.values() if end == "0" else [processes[1]]:
        assert process.calls()["MPI_Sendrecv"] == 1
    assert processes[0].traits["end"] != "1"


@needs_sessions
@pytest.mark.parametrize("steps", [
    ["init", "barrier", "session_barrier", "session_finalize", "barrier", "finalize"],
    ["init", "barrier", "finalize", "session_barrier", "session_barrier", "session_finalize"]],
    ids=["in front", "around"])
def test_a_session_that_begins_before_mpi_init_is_recorded(steps, tmp_path):
    processes = trace(tmp_path, STEPS, "session_init", "session_comm", "session_barrier", *steps)
    assert sorted(processes) == [0, 1]
    for process in processes.values():
        assert process.calls()["MPI_Barrier"] == 4 and process.calls()["MPI_Finalize"] == 1
        assert process.traits["end"] == "1"
    last = "MPI_Finalize" if steps[-1] == "finalize" else "MPI_Session_finalize"
    assert re.search(rf"(?m)^end +{last} \(ranks 0-1\)$", qmpi_trace(tmp_path).stdout)


@needs_sessions
def test_a_message_says_that_calls_of_sessions_after_mpi_finalize_are_not_recorded(tmp_path):
    result = run(STEPS, "session_init", "init", "finalize", "session_comm", "session_barrier", "session_free",
                 "session_finalize", cwd=tmp_path)
    assert result.returncode == 0
    assert [line for line in result.messages if not line.startswith((" ", "hint:"))] == [
        "trace (layer 1): a communicator was created from a session after the end of the trace; its calls are not recorded"]
    assert "MPI_Barrier" not in read(tmp_path / "qmpi-trace")[0][0].calls()


@needs_sessions
def test_the_last_session_is_finalized_once_in_the_trace(tmp_path):
    """Without a communicator of all processes, each file is completed when its process ends, after the last
    call of MPI_Session_finalize."""
    process = trace(tmp_path, STEPS, "session_init", "session_finalize", archive=False, ranks=1)[0]
    assert process.calls()["MPI_Session_finalize"] == 1


@pytest.mark.parametrize("steps, end", [
    pytest.param(["session_init", "session_finalize"], "MPI_Session_finalize", marks=needs_sessions),
    (["pmpi_init", "barrier", "pmpi_finalize"], "exit without MPI_Finalize")], ids=["session", "pmpi"])
def test_files_that_processes_begin_alone_belong_to_one_run(steps, end, tmp_path):
    """Without a communicator of all processes, and without MPI_Init, the processes choose the number of the run without
    communication."""
    run(STEPS, *steps, cwd=tmp_path)
    processes, text = check_what_is_there(tmp_path)
    assert sorted(processes) == [0, 1]
    assert re.search(r"(?m)^ranks +0-1 of 2; 2 processes with 2 threads,", text) and "warnings" not in text, text
    assert re.search(rf"(?m)^end +{end} \(ranks 0-1\)$", text), text


def test_the_number_of_ranks_is_left_out_if_it_is_not_known(tmp_path):
    """A process without a launcher that calls PMPI_Init knows neither its rank nor the number of ranks."""
    run(STEPS, "pmpi_init", "barrier", "pmpi_finalize", cwd=tmp_path, ranks=1)
    assert re.search(r"(?m)^ranks +not known; 1 process", qmpi_trace(tmp_path).stdout)


@contextlib.contextmanager
def small_file_system(folder):
    folder.mkdir()
    if os.geteuid() or os.system(f"mount -t tmpfs -o size=1m none {folder} 2>/dev/null"):
        pytest.skip("a small file system cannot be mounted")
    try:
        yield
    finally:
        os.system(f"umount {folder}")


def check_full(folder, calls, *steps, options, is_whole):
    """Checks that the program is not disturbed, that there is no archive, and that the file of the process is
    readable. `is_whole` is whether this file must contain all calls."""
    result = run(MANY, *steps, f"calls={calls}", cwd=folder, ranks=1, tools=f"trace,{options}")
    assert result.returncode == 0
    problems = [line for line in result.messages if not line.startswith((" ", "hint:"))]
    assert len(problems) == 2 - is_whole and "no archive in OTF2: cannot write an archive" in problems[-1], problems
    assert is_whole or "the trace ends here" in problems[0]
    assert not list(folder.rglob("traces*"))
    text = qmpi_trace(folder, path=next(folder.rglob("rank-0.qtrace")).parent).stdout
    number = int(re.search(r"MPI_Initialized +(\d+)", text)[1])
    assert number == calls if is_whole else 1000 < number < calls


@pytest.mark.parametrize("limit, calls, is_whole", [(200000, 30000, True), (2000000, 300000, True), (500000, 300000, False)])
def test_the_program_continues_if_a_file_reaches_the_size_limit(limit, calls, is_whole, tmp_path):
    """The limit stops the file of the process, or only the files of the archive, which are written at the end."""
    check_full(tmp_path, calls, f"limit={limit}", options="compress=no", is_whole=is_whole)


@pytest.mark.skipif(not HAS_READER, reason="OTF2 is not installed")
def test_a_rank_that_has_not_failed_does_not_say_why_there_is_no_archive(tmp_path):
    """The file of rank 1 disappears during the run. Rank 0 says for the job that there is no archive."""
    file = tmp_path / "qmpi-trace" / "rank-1.qtrace"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        result = pool.submit(run, MANY, "wait", cwd=tmp_path, ranks=3, tools="trace")
        assert wait_until(lambda: file.exists() and file.stat().st_size)
        file.unlink()
        (tmp_path / "go").touch()
    problems = sorted(line for line in result.result().messages if not line.startswith((" ", "hint:")))
    assert len(problems) == 2, problems
    assert "rank 0: no archive in OTF2: no archive was written, because a process" in problems[0]
    assert "rank 1: no archive in OTF2: " in problems[1] and "rank-1.qtrace" in problems[1]
    assert not list(tmp_path.rglob("traces*"))


def test_a_converted_file_that_reaches_the_size_limit_is_removed(tmp_path):
    """The limit lies between the size of the file of a process and the size of the file for Perfetto. Both sizes depend
    on how long the calls take. So both runs are repeated if the limit, which follows from the sizes in the first run,
    does not lie between the sizes in the second one."""
    path = tmp_path / "qmpi-trace"
    arguments = {"cwd": tmp_path, "ranks": 1, "tools": "trace,sites=yes,format=perfetto"}
    for _ in range(20):
        result = run(MANY, "calls=20000", **arguments)
        assert result.returncode == 0 and result.messages == []
        sizes = [(path / f"rank-0.{suffix}").stat().st_size for suffix in ("qtrace", "perfetto-trace")]
        assert sizes[0] < sizes[1]
        result = run(MANY, f"limit={sum(sizes) // 2}", "calls=20000", **arguments)
        if result.messages and "rank-0.perfetto-trace: " in result.messages[0]:
            break
    assert result.returncode == 0 and "rank-0.perfetto-trace: File too large" in result.messages[0]
    assert [file.name for file in path.iterdir()] == ["rank-0.qtrace"]
    assert read(path)[0][0].calls()["MPI_Initialized"] == 20000


def test_the_program_continues_if_the_disk_is_full(tmp_path):
    with small_file_system(tmp_path / "small"):
        check_full(tmp_path, 300000, options="compress=no,output=small/trace", is_whole=False)


def test_the_job_runs_without_a_trace_if_no_directory_can_be_created(tmp_path):
    """If root runs the test, the problem of the first layer is found only in MPI_Init: /proc seems to be
    writable for root."""
    (tmp_path / "file").touch()
    result = run(STEPS, "init", "shift=8", "finalize", cwd=tmp_path, env={"QMPI_ON_ERROR": "skip"},
                 tools="trace,output=/proc/qmpi-trace:trace,output=file/qmpi-trace")
    assert result.returncode == 0
    problems = [line for line in result.messages if not line.startswith((" ", "hint:"))]
    assert len(problems) == 2, problems


def test_a_child_that_makes_calls_is_not_in_the_trace(tmp_path):
    result = run(TERMINATIONS, "calls=10", "fork=5", "calls=7", "finalize", cwd=tmp_path, ranks=1, tools="trace")
    assert result.returncode == 0 and result.messages == []
    processes, _ = read(tmp_path / "qmpi-trace")
    # Parent and child both make the five calls of the step fork=5. Only those of the parent are recorded.
    assert processes[0].calls() == {"MPI_Init_thread": 1, "MPI_Iprobe": 22, "MPI_Finalize": 1}
    if HAS_READER:
        check_archive_of(processes, tmp_path / "qmpi-trace" / "traces.otf2")


@pytest.mark.skipif(OPEN_MPI or bool(ASAN), reason="so many processes take long to begin")
def test_64_ranks_record_their_messages(tmp_path):
    processes = trace(tmp_path, STEPS, "init", "shift=8", "finalize", ranks=64, sleeps=True, timeout=300)
    assert sorted(processes) == list(range(64))
    for rank, process in processes.items():
        sent, = process.kinds("send")
        received, = process.kinds("recv")
        assert (int(sent["peer"]), int(received["peer"])) == ((rank + 1) % 64, (rank - 1) % 64)
    assert qmpi_trace(tmp_path, "--check").stdout.startswith("no difference")
