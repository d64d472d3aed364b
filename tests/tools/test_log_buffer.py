# SPDX-License-Identifier: MIT
"""The tool log collects its lines in a buffer. However a process ends, no line is lost, repeated or truncated, unless
the file cannot be written."""
import contextlib
import os
import re
import shutil
import signal
import threading
from pathlib import Path

import pytest
from job import Job
from log_support import FAULTS, PROGRAMS, WRITER, names, read, run_log, writers_of
from support import ASAN, BUNDLED_TOOLS, LIBQMPI, RUN_RANK, clean_environment, launch, needs_helper, wait_until

TERMINATIONS = PROGRAMS / "tools_terminations"
COUNT = 3000  # more lines than are written at once


def tags(lines):
    """Returns the numbers of the calls, in the order of their lines."""
    return [int(re.search(r"tag=(\d+)", line.arguments)[1]) for line in lines if line.function == "MPI_Iprobe"]


def run(folder, *steps, options="", **more):
    """Runs the program, waits until no process writes lines any more, and returns the result and the lines."""
    result = run_log(TERMINATIONS, *steps, options=f",output={folder}/lines.%r{options}", **more)
    path = folder / "lines.0"
    assert wait_until(lambda: not writers_of(path))
    return result, read(path)


# ---- Ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [
    "return", "exit", "_exit", "quick_exit", "finalize", "abort", "fatal", "exec",
    *(f"raise={int(number)}" for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGSEGV,
                                            signal.SIGABRT, signal.SIGUSR1))])
def test_no_line_is_lost_at_the_end(tmp_path, end):
    steps = [] if end == "return" else [end]
    _, lines = run(tmp_path, f"calls={COUNT}", *steps, env=FAULTS)
    assert tags(lines) == list(range(1, COUNT + 1))
    assert names(lines)[0] == "MPI_Init_thread"
    assert not any(line.result.startswith("<unfinished") for line in lines if line.function == "MPI_Iprobe")


def test_no_line_is_lost_if_exit_handlers_do_not_run_after_mpi_finalize(tmp_path):
    _, lines = run(tmp_path, f"calls={COUNT}", "finalize", "_exit")
    assert tags(lines) == list(range(1, COUNT + 1)) and names(lines)[-1] == "MPI_Finalize"


@pytest.mark.parametrize("end", ["exit", "finalize", "abort", "raise=15", "raise=11"])
def test_all_lines_are_in_the_file_when_the_process_has_ended(tmp_path, end):
    """The tool detects these ends and writes the lines itself, so the test need not wait for another process."""
    run_log(TERMINATIONS, f"calls={COUNT}", end, options=f",output={tmp_path}/lines.%r", env=FAULTS)
    assert tags(read(tmp_path / "lines.0")) == list(range(1, COUNT + 1))


def test_lines_are_in_the_file_when_mpi_is_finalized(tmp_path):
    result, _ = run(tmp_path, f"calls={COUNT}", "finalize", "lines", cwd=tmp_path)
    assert f"lines {COUNT + 2}\n" in result.stdout


def test_a_forked_child_neither_repeats_nor_loses_lines(tmp_path):
    _, lines = run(tmp_path, f"calls={COUNT}", f"fork={COUNT}", "calls=50", "finalize")
    in_both = range(COUNT + 1, 2 * COUNT + 1)
    assert sorted(tags(lines)) == sorted([*range(1, 2 * COUNT + 51), *in_both])


# ---- Threads ------------------------------------------------------------------------------------


def test_threads_that_wait_for_each_other_have_their_lines_in_that_order(tmp_path):
    _, lines = run(tmp_path, "turns", "finalize")
    assert tags(lines) == list(range(10000, 14000))


def test_a_line_that_is_longer_than_the_buffer_is_complete(tmp_path):
    _, lines = run(tmp_path, "calls=10", "long=200000", "calls=10", "finalize", options=",array=0")
    assert names(lines)[11:13] == ["MPI_Type_indexed", "MPI_Type_free"]
    assert len(lines[11].text) > 1000000 and tags(lines) == list(range(1, 21))


# ---- While it runs -------------------------------------------------------------------------------


class Running(Job):
    """A job of one rank under log, which the test observes while the job runs."""

    def __init__(self, folder, *steps, output="lines.%r", tool_path=BUNDLED_TOOLS):
        libraries = f"{ASAN}:{LIBQMPI}" if ASAN else str(LIBQMPI)
        super().__init__(
            RUN_RANK, launch(1), [TERMINATIONS, *steps], ranks=1, cwd=folder, variables={"LD_PRELOAD": libraries},
            env={**clean_environment(), "QMPI_TOOL_PATH": str(tool_path), "QMPI_TOOLS": f"log,output={output}"})
        self.path = folder / "lines.0"

    def wait_for_lines(self, count):
        self.wait_for(lambda: self.path.exists() and self.path.read_text().count("\n") >= count)


@needs_helper
def test_lines_of_a_process_that_hangs_are_in_the_file(tmp_path):
    with Running(tmp_path, "calls=10", "wait=600000") as job:
        job.wait_for_lines(11)
        assert tags(read(job.path)) == list(range(1, 11))
        writer, = writers_of(job.path)
        status = Path(f"/proc/{writer}/status").read_text()
        assert os.getsid(writer) == writer and f"PPid:\t{job.ranks[0].pid}" not in status
        assert len(list(Path(f"/proc/{writer}/fd").iterdir())) == 3
        os.kill(job.ranks[0].pid, signal.SIGKILL)
        assert wait_until(lambda: not writers_of(job.path))


def test_lines_after_a_long_pause_are_in_the_file(tmp_path):
    with Running(tmp_path, "calls=10", "wait=1500", "calls=10", "wait=600000") as job:
        job.wait_for_lines(21)
        assert tags(read(job.path)) == list(range(1, 21))


@needs_helper
def test_no_line_is_lost_if_the_writer_is_killed(tmp_path):
    with Running(tmp_path, "calls=10", "wait=1000", f"calls={3 * COUNT}", "finalize") as job:
        job.wait_for_lines(11)
        writer, = writers_of(job.path)
        os.kill(writer, signal.SIGKILL)
        job.wait_for(lambda: job.ranks[0].returncode is not None)
        assert job.ranks[0].returncode == 0
    assert tags(read(job.path)) == list(range(1, 3 * COUNT + 11))


def test_without_the_writer_lines_are_written_at_once(tmp_path):
    shutil.copy(BUNDLED_TOOLS / "log.so", tmp_path)
    with Running(tmp_path, f"calls={COUNT}", "wait=600000", tool_path=tmp_path) as job:
        job.wait_for_lines(COUNT + 1)
        assert writers_of(job.path) == []
    assert tags(read(job.path)) == list(range(1, COUNT + 1))


# ---- Lines that are written at once --------------------------------------------------------------


def test_lines_are_written_to_a_pipe_at_once(tmp_path):
    fifo, text = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: text.append(fifo.read_text()))
    reader.start()
    run_log(TERMINATIONS, f"calls={COUNT}", "raise=9", options=f",output={fifo}")
    reader.join(20)
    assert writers_of(fifo) == [] and text[0].count("MPI_Iprobe(") == COUNT


def test_a_child_that_is_forked_while_a_thread_opens_the_file_has_its_line(tmp_path):
    """Opening a FIFO blocks until there is a reader, which comes only after the fork."""
    fifo, text = tmp_path / "fifo", []
    os.mkfifo(fifo)

    def read_all():
        wait_until((tmp_path / "forked").exists)
        text.append(fifo.read_text())

    reader = threading.Thread(target=read_all)
    reader.start()
    result = run_log(TERMINATIONS, "opening", "finalize", options=f",output={fifo},functions=MPI_Iprobe", cwd=tmp_path)
    reader.join(20)
    assert result.stdout == "child 0\n"
    assert sorted(re.findall(r"MPI_Iprobe\(.*?tag=(\d)", text[0])) == ["1", "2"]


def test_lines_are_written_to_a_terminal_at_once(tmp_path):
    master, slave = os.openpty()
    path, text = os.ttyname(slave), bytearray()
    os.set_blocking(master, False)

    def has_lines():
        with contextlib.suppress(BlockingIOError):
            text.extend(os.read(master, 4096))
        return text.count(b"\n") >= 6

    with Running(tmp_path, "calls=5", "wait=600000", output=path) as job:
        job.wait_for(has_lines)
        assert writers_of(path) == []
    os.close(master)
    os.close(slave)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_device_is_reported_once_and_changes_nothing():
    result = run_log(TERMINATIONS, f"calls={COUNT}", "finalize", options=",output=/dev/full")
    assert result.returncode == 0 and len(result.messages) == 2
    assert "cannot write /dev/full: No space left on device; lines are missing at its end" in result.messages[0]


def test_a_full_file_system_loses_only_lines_that_do_not_fit(tmp_path):
    """The file system has only a few pages. The lines that were written before it was full are complete."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() or os.system(f"mount -t tmpfs -o size=16k none {folder} 2>/dev/null"):
        pytest.skip("a small file system cannot be mounted")
    try:
        result = run_log(TERMINATIONS, f"calls={COUNT}", "finalize", options=f",output={folder}/lines.%r")
        assert result.returncode == 0 and result.stderr.count("No space left on device; lines are missing at its end") == 1
        assert wait_until(lambda: not writers_of(folder / "lines.0"))
        text = (folder / "lines.0").read_text()
        assert 12000 < len(text) <= 16384
        assert [int(tag) for tag in re.findall(r"tag=(\d+),.*>\n", text)][:50] == list(range(1, 51))
    finally:
        os.system(f"umount {folder}")
