# SPDX-License-Identifier: MIT
"""Jobs that hang: see tests/tools/programs/hangs.c."""
import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from findings_support import PROGRAMS
from processors import processors
from profile_support import TOOL_PATH
from support import ASAN, LIBQMPI, MPI_NAME, clean_environment, launch

SECONDS = 60


def holds(check, seconds):
    """Waits until the result of `check` is true or the time is over. Returns the last result."""
    end = time.monotonic() + seconds
    while not check() and time.monotonic() < end:
        time.sleep(.1)
    return check()


def catches(folder, number, rank):
    """Returns whether a rank has a handler for a signal."""
    try:
        status = Path(f"/proc/{int((folder / f'pid.{rank}').read_text())}/status").read_text()
    except (OSError, ValueError):
        return False
    return bool(int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (number - 1) & 1)


class Job:
    """A job that hangs. By default, its processes save their data each second. Ranks of MPICH sleep while they wait
    (yielding.c), so they share a processor."""

    def __init__(self, folder, case, ranks, options=",checkpoint=1", tool="profile,output=r%r.json"):
        self.held = contextlib.ExitStack()
        self.held.enter_context(processors(1 if MPI_NAME == "mpich" else ranks))
        self.paths = [folder / f"r{rank}.json" for rank in range(ranks)]
        self.folder, self.ranks = folder, ranks
        environment = {**clean_environment(), "QMPI_TOOL_PATH": TOOL_PATH,
                       "QMPI_TOOLS": tool + options}
        libraries = ":".join(filter(None, [ASAN, str(LIBQMPI)]))
        self.messages = self.held.enter_context(open(folder / "messages", "w+", encoding="utf-8", errors="replace"))
        self.process = subprocess.Popen(
            [*launch(ranks, LD_PRELOAD=libraries), PROGRAMS / "tools_hangs", case], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=self.messages, stderr=self.messages, start_new_session=True)

    def signal(self, number):
        for rank in range(self.ranks):
            try:
                os.kill(int((self.folder / f"pid.{rank}").read_text()), number)
            except (OSError, ValueError):
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.signal(signal.SIGKILL)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.communicate(timeout=SECONDS)
        self.held.close()

    def describe(self):
        """Returns what is known of a job that does not do what it should."""
        self.messages.seek(0)
        return f"status {self.process.poll()}, {sorted(os.listdir(self.folder))}, {self.messages.read()}"

    def signal_in_init(self, number):
        """Sends a signal to rank 0 of the case `starting` once this rank has a handler for it. It then waits in
        MPI_Init."""
        assert holds(lambda: catches(self.folder, number, 0), SECONDS), self.describe()
        os.kill(int((self.folder / "pid.0").read_text()), number)
