# SPDX-License-Identifier: MIT
"""Distributes the machine's processors among the test files that run in parallel.

Waiting ranks of MPICH are busy for about a millisecond before they sleep
(tests/tools/programs/yielding.c), so many jobs on the same processors would delay each other
endlessly. Therefore, each job takes as many processors as it has ranks, and waits until they are
free; a job with more ranks than processors runs alone. Launchers and starting processes are mostly
idle, so two more processors are distributed than the machine has.

Ranks of Open MPI yield while they wait (the tests set this), and Open MPI's launcher is idle for about
half a second. Therefore, several jobs of Open MPI share the processors, even jobs with more ranks than
processors. A job of MPICH whose ranks mostly sleep takes only one processor.
"""
import contextlib
import fcntl
import os
import pathlib
import time

from mpi_in_use import OPEN_MPI

BUILD = pathlib.Path(os.environ.get("QMPI_BUILD_ROOT", "build")).resolve()
AVAILABLE = len(os.sched_getaffinity(0))
COUNT = 6 * AVAILABLE if OPEN_MPI else AVAILABLE + 2
in_use = 0  # 1 while this process has processors; commands that it runs meanwhile share them


def lock(stack, path):
    """Waits for the lock, and holds it until `stack` is closed or the process ends."""
    file = stack.enter_context(open(path, "w", encoding="ascii"))
    fcntl.flock(file, fcntl.LOCK_EX)


def try_lock(stack, path):
    file = open(path, "w", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    stack.enter_context(file)
    return True


@contextlib.contextmanager
def processors(wanted):
    """Within this context, the process has `wanted` processors. If the machine has fewer, a process
    with a job of MPICH has all of them, so that the job runs alone. A job of Open MPI, whose ranks
    yield, may share them with other jobs. A context within this one takes no further processors."""
    global in_use
    if in_use:
        yield
        return
    folder = BUILD / "processors"
    folder.mkdir(exist_ok=True)
    free = [folder / str(number) for number in range(COUNT)]
    with contextlib.ExitStack() as taken:
        # Only one process at a time takes processors; the others wait in the queue. Otherwise, they
        # would take single processors again and again while one process waits for all of them.
        with contextlib.ExitStack() as queue:
            lock(queue, folder / "queue")
            missing = min(wanted, COUNT) if OPEN_MPI or wanted <= AVAILABLE else COUNT
            while True:
                for path in list(free):
                    if missing and try_lock(taken, path):
                        free.remove(path)
                        missing -= 1
                if not missing:
                    break
                time.sleep(0.005)
        in_use += 1
        try:
            yield
        finally:
            in_use -= 1
