# SPDX-License-Identifier: MIT
"""Shares the machine's processors between the test files that run side by side.

MPICH's ranks that wait take all the time that they are given, for about a millisecond before they give way
(tools/programs/yielding.c), so that many jobs on the same processors keep each other from ending. Each job takes as
many processors as it has ranks, and waits until they are free; one with more ranks is alone. A launcher and the start
of a process wait for other things most of the time: two processes more than there are processors may run. Open MPI's
ranks give way while they wait (as the tests set it), and its launcher takes half a second in which nothing happens:
several jobs share the processors, also those with more ranks. So may jobs of MPICH whose ranks sleep in place of
working and of waiting: these take one processor.
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
in_use = 0  # by this process, which may run commands while its job runs


def lock(stack, path):
    """Waits for the lock, and holds it until the stack is left or the process ends."""
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
    """Within it, this process has `wanted` processors; if there are fewer, it is alone where ranks do not give way."""
    global in_use
    if in_use:
        yield
        return
    folder = BUILD / "processors"
    folder.mkdir(exist_ok=True)
    free = [folder / str(number) for number in range(COUNT)]
    with contextlib.ExitStack() as taken:
        # One process at a time waits: else single processors would be taken again and again
        # while a job waits for all of them.
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
