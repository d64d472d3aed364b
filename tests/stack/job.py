# SPDX-License-Identifier: MIT
"""Runs an MPI job, and reads the output and the exit status of each rank directly.

If a job fails, the launcher is unreliable: it kills all ranks when one aborts or fails, may return
the status of any of them, and may lose their last output. Therefore, tests/stack/programs/run_rank.c
runs between the launcher and each rank. The launcher learns that a rank has ended only when all ranks that end by
themselves have ended, and the output of the ranks does not pass through the launcher. If a rank
calls MPI_Abort, the launcher may still kill the programs of all ranks.
"""
import contextlib
import itertools
import os
import selectors
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field

from processors import processors

COUNTER = itertools.count()


@dataclass
class Rank:
    """One process of the job. `returncode` is its exit status, or the negative number of the signal
    that ended it, or None while run_rank has not reported its end; `killed` says whether the test
    killed it."""
    number: int
    pid: int = 0
    returncode: int | None = None
    killed: bool = False
    output: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(),
                                                                  "stderr": bytearray()})

    @property
    def stdout(self) -> str:
        return self.output["stdout"].decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.output["stderr"].decode(errors="replace")


class Job:
    """A running job. `launcher`, `run_rank` and `command` are parts of its command line, and `variables`
    are set for the program only. `ends` are the ranks that end by themselves, by default all; when they
    have ended, the others are killed. If `ends` is empty, the others are killed when the first rank has
    ended. `takes` is the number of processors that the job uses; the default is one for each rank."""

    def __init__(self, run_rank, launcher, command, *, ranks, ends=None, variables=None, env=None, cwd=None,
                 takes=None):
        name = f"qmpi-test-{os.getpid()}-{next(COUNTER)}"
        self.size, self.ends = ranks, set(range(ranks) if ends is None else ends)
        self.ranks: dict[int, Rank] = {}
        self.connections: dict[int, socket.socket] = {}
        self.launcher_output = bytearray()
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(f"\0{name}")
        self.listener.listen(ranks)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.processors = contextlib.ExitStack()
        self.processors.enter_context(processors(takes or ranks))
        settings = [f"{key}={value}" for key, value in (variables or {}).items()]
        self.command = [str(part) for part in [*launcher, run_rank, name, *settings, *command]]
        self.process = subprocess.Popen(
            self.command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        self.read_from(self.process.stdout.fileno(), self.launcher_output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends everything that belongs to the job."""
        self.end()
        for connection in self.connections.values():
            connection.close()
        self.listener.close()
        for key in list(self.selector.get_map().values()):
            if isinstance(key.fileobj, int) and key.fileobj != self.process.stdout.fileno():
                os.close(key.fileobj)
        self.selector.close()
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.stdout.close()
        self.process.wait()
        self.processors.close()

    # ---- The output ------------------------------------------------------------------------------

    def read_from(self, source, target):
        def read():
            data = os.read(source, 65536)
            target.extend(data)
            if data:
                return
            self.selector.unregister(source)
            if source != self.process.stdout.fileno():
                os.close(source)
            elif len(self.ranks) < self.size or self.process.wait() < 0:
                self.end()  # the ranks would wait for missing ranks, or for a launcher that was killed
        self.selector.register(source, selectors.EVENT_READ, read)

    def accept(self):
        connection, _ = self.listener.accept()
        self.selector.register(connection, selectors.EVENT_READ, lambda: self.hear(connection))

    def hear(self, connection):
        """Handles a message of run_rank.c: `rank N` after run_rank has started, `pid N` (of the program)
        when the launcher can no longer kill run_rank, and `status N` (as waitpid returns it) when the
        program has ended."""
        try:
            word, _, number = connection.recv(64).decode().partition(" ")
        except ConnectionError:
            word = ""
        if word == "rank":
            self.connections[int(number)], self.ranks[int(number)] = connection, Rank(int(number))
            if len(self.ranks) == self.size:
                self.send_pipes()
            return
        rank = next((self.ranks[n] for n, known in self.connections.items() if known is connection), None)
        if word == "pid":
            rank.pid = int(number)
            if len(self.ranks) == self.size and all(rank.pid for rank in self.ranks.values()):
                for known in self.connections.values():
                    known.send(b"start")
        elif word == "status":
            rank.returncode = os.waitstatus_to_exitcode(int(number))
            if self.ends <= {rank.number for rank in self.ranks.values() if rank.returncode is not None}:
                self.end()
        else:
            self.selector.unregister(connection)

    def send_pipes(self):
        for number, connection in self.connections.items():
            pipes = {name: os.pipe() for name in ("stdout", "stderr")}
            socket.send_fds(connection, [b"pipes"], [write for _, write in pipes.values()])
            for name, (read, write) in pipes.items():
                os.close(write)
                self.read_from(read, self.ranks[number].output[name])

    def end(self):
        """Lets run_rank end in all ranks, so that the launcher learns their statuses. Programs that still
        run are killed."""
        for number, connection in self.connections.items():
            self.ranks[number].killed |= self.ranks[number].returncode is None
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)

    # ---- Waiting --------------------------------------------------------------------------------

    @property
    def launcher_died(self):
        return (self.process.poll() or 0) < 0

    def sources(self):
        return [key for key in self.selector.get_map().values() if key.fileobj is not self.listener]

    def step(self, end):
        """Handles the next events. Returns False if there are none before the time `end`."""
        events = self.selector.select(max(0, end - time.monotonic()))
        for key, _ in events:
            key.data()
        return bool(events)

    def wait(self, timeout):
        """Waits until the launcher and all ranks have ended and all of their output has arrived. Returns
        the ranks. The test fails after `timeout` seconds."""
        end = time.monotonic() + timeout
        while self.sources():
            if not self.step(end):
                self.end()
                raise AssertionError(f"not done after {timeout} s: {self.describe()}")
        self.process.wait()
        ranks = [self.ranks.get(number, Rank(number)) for number in range(self.size)]
        if not self.launcher_died:
            assert all(rank.returncode is not None for rank in ranks), f"a rank is lost: {self.describe()}"
        return ranks

    def wait_for(self, there, timeout=120):
        """Calls `there()` repeatedly until its result is true, and returns the result. The test fails
        after `timeout` seconds."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.step(time.monotonic() + 0.05)
            found = there()
            if found:
                return found
        raise AssertionError(f"{there.__doc__ or 'it'} is not there after {timeout} s: {self.describe()}")

    def describe(self):
        parts = [f"{' '.join(self.command)[:2000]}\n"
                 f"launcher, exit status {self.process.poll()} (None: still running):\n"
                 f"{self.launcher_output.decode(errors='replace')[:8000]}"]
        for number, rank in sorted(self.ranks.items()):
            parts.append(f"rank {number}, process {rank.pid}: {rank.returncode}"
                         f"{', killed' if rank.killed else ''}\nstdout:\n{rank.stdout[:4000]}"
                         f"stderr:\n{rank.stderr[:8000]}")
        return "\n".join(parts)
