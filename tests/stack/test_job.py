# SPDX-License-Identifier: MIT
"""The helpers in job.py and support.py report what the ranks of a job did, and leave no process of
a job behind."""
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support import OPEN_MPI, clean_environment, run_job, run_mpi

RANK = "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; "


def shell(text, **more):
    """Runs a job of two ranks that does not use MPI."""
    return run_mpi("/bin/sh", "-c", RANK + text, preload=(), **more)


def is_there(pid, word=b""):
    """Returns whether the process exists and has `word` in its command line."""
    try:
        return word in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_each_rank_has_its_own_output_and_status():
    result = shell("echo out $rank; echo err $rank >&2; exit $((3 + rank))")
    assert [rank.returncode for rank in result.ranks] == [3, 4]
    assert [(rank.stdout, rank.stderr) for rank in result.ranks] == [
        (f"out {rank}\n", f"err {rank}\n") for rank in (0, 1)]
    assert (result.returncode, result.stdout, result.stderr) == (3, "out 0\nout 1\n", "err 0\nerr 1\n")


started = []


@pytest.mark.skipif(not OPEN_MPI, reason="MPICH does not crash by itself")
def test_a_test_in_which_open_mpi_crashed_is_run_again_in_an_empty_directory(tmp_path):
    started.append(list(tmp_path.iterdir()))
    result = shell(f"touch {tmp_path}/left; [ {len(started)} -gt 2 ] || [ $rank = 0 ] || kill -SEGV $$")
    assert result.returncode == 0
    assert started == [[], [], []]


def test_a_rank_that_fails_does_not_prevent_another_from_ending(tmp_path):
    """Rank 1 fails, and rank 0 ends after it. If the launcher learned that rank 1 had failed, it
    would kill rank 0."""
    result = shell("""mkfifo fifo.$rank
        if [ $rank = 1 ]; then until [ -p fifo.0 ]; do :; done; exec 3>fifo.0; exit 9; fi
        read line <fifo.0; echo all; exit 2""", cwd=tmp_path)
    assert [rank.returncode for rank in result.ranks] == [2, 9]
    assert result.stdout == "all\n"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_the_status_of_a_rank_that_a_signal_ends_is_the_negative_number_of_the_signal(number):
    result = shell(f"echo before; kill -{int(number)} $$")
    assert [rank.returncode for rank in result.ranks] == [-number] * 2
    assert not any(rank.killed for rank in result.ranks)
    assert result.stdout == "before\n" * 2


def test_ranks_that_do_not_end_are_killed_after_the_others_have_ended():
    result = shell("if [ $rank = 0 ]; then echo done; exit 37; fi; exec sleep 600", ends=[0])
    assert [rank.killed for rank in result.ranks] == [False, True]
    assert (result.returncode, result.stdout) == (37, "done\n")
    assert [rank.returncode for rank in result.ranks] == [37, -signal.SIGKILL]
    assert not any(is_there(rank.pid) for rank in result.ranks)


LINGERS = """
#include <stdlib.h>
#include <unistd.h>
static void linger(void) { close(atoi(getenv("PMI_FD"))); usleep(300000); }
__attribute__((constructor)) static void begin(void) { if (*getenv("PMI_RANK") == '0') atexit(linger); }
"""


@pytest.mark.skipif(OPEN_MPI, reason="only MPICH's launcher notices the end of a rank by its connection")
def test_a_rank_that_takes_its_time_to_end_is_not_killed_meanwhile(tmp_path):
    """Rank 0 closes its connection to the launcher some time before it ends. Without run_rank,
    MPICH's launcher would then kill rank 0, and the status of the job would be 9."""
    (tmp_path / "lingers.c").write_text(LINGERS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "lingers.so", "lingers.c"], cwd=tmp_path, check=True)
    result = run_mpi("calls", "init", "a step that there is not", preload=[tmp_path / "lingers.so"])
    assert [rank.returncode for rank in result.ranks] == [99, 99]


def test_a_job_that_a_rank_aborts_has_the_argument_of_mpi_abort_as_status():
    for code in (1, 9, 137):
        result = run_mpi("calls", "init", f"abort={code}", "barrier", preload=())
        assert result.returncode == code
        if "barrier" in result.stdout:
            pytest.skip("MPI_Abort of this MPI library returns")


def test_each_rank_reports_a_program_that_cannot_be_executed():
    result = run_mpi("/no/such/program", preload=())
    assert [rank.returncode for rank in result.ranks] == [127, 127]
    assert result.stderr == "/no/such/program: No such file or directory\n" * 2


def test_a_job_that_does_not_end_is_ended_with_all_its_processes(tmp_path):
    sleep = shutil.which("sleep")
    with pytest.raises(AssertionError, match="not done after 3 s"):
        run_job(["/bin/sh", "-c", f"{RANK} echo $$ >pid.$rank; exec {sleep} 600"], clean_environment(),
                ranks=2, timeout=3, cwd=tmp_path)
    for path in tmp_path.glob("pid.*"):
        while is_there(path.read_text().strip(), sleep.encode()):
            time.sleep(0.02)  # run_rank may not have killed the program yet
