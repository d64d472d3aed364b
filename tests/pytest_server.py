# SPDX-License-Identifier: MIT
"""A server that runs a command. For each test file that the command starts, the server makes a copy of
itself, which has already loaded pytest:

    pytest_server.py COMMAND...       COMMAND: `meson test` with its arguments

Loading pytest takes as long as running a short test file. pytest_file.py, which Meson starts for each
test file, asks for a copy through the socket that QMPI_TEST_SERVER names, and ends as the copy ends. A copy
has the arguments, the environment, the folder and the standard streams of pytest_file.py, and its
own process group. The server ends this group if pytest_file.py ends before the copy, for example
because Meson ends it after a timeout. When COMMAND has ended, the server ends all copies. It then
ends itself with the status of COMMAND.
"""
import contextlib
import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time

PR_SET_PDEATHSIG = 1
SECONDS = 5  # the time for a copy to end its jobs and to remove its files; also the timeout of a connection
# Modules that test files use, besides pytest itself.
MODULES = ("atexit", "collections", "contextlib", "csv", "dataclasses", "fcntl", "functools", "hashlib", "io",
           "json", "jsonschema", "pathlib", "platform", "random", "re", "resource", "selectors", "shlex", "shutil",
           "signal", "socket", "statistics", "struct", "subprocess", "tempfile", "textwrap", "threading", "xml.etree.ElementTree")


def load():
    sys.path.pop(0)  # the folder of this file
    config = importlib.import_module("_pytest.config")
    for name in (*(f"_pytest.{plugin}" for plugin in config.default_plugins), "pytest", *MODULES):
        with contextlib.suppress(ImportError):  # a test file that needs a missing module will report it
            importlib.import_module(name)
    gc.freeze()


class Server:
    def __init__(self):
        self.handlers = {number: signal.getsignal(number)
                         for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
        self.copies = {}  # by process: the connection to pytest_file.py, or None if pytest_file.py has ended
        self.deadlines = {}  # by process: the time at which a copy that should end is killed
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind("")  # the kernel chooses a name
        self.listener.listen(socket.SOMAXCONN)
        self.wakeup = socket.socketpair()
        for end in self.wakeup:
            end.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.selector.register(self.wakeup[0], selectors.EVENT_READ, self.wake)

    def run(self, command):
        """Runs the command and makes copies. In the server, returns the status of the command; in a
        copy, returns the request that the copy must fulfil."""
        os.environ["QMPI_TEST_SERVER"] = self.listener.getsockname().hex()
        signal.set_wakeup_fd(self.wakeup[1].fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, lambda *_: None)  # the terminal sends it to the command, too
        self.command = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(self.command, number))
        status = None
        while status is None or self.copies:
            for key, _ in self.selector.select(self.time_left()):
                request = key.data()
                if request:
                    return request
            status = self.reap(status)
            if status is not None:
                for pid in self.copies:
                    self.end(pid)
            self.kill_overdue()
        return status

    def wake(self):
        """Called when a signal has arrived. `run` then checks whether a process has ended."""
        self.wakeup[0].recv(4096)

    def accept(self):
        connection, _ = self.listener.accept()
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user != os.geteuid():
            connection.close()
            return None
        connection.settimeout(SECONDS)
        text, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if len(streams) != 3:
            connection.close()
            return None
        pid = os.fork()
        if pid == 0:
            self.leave()
            return json.loads(text), streams
        for stream in streams:
            os.close(stream)
        self.copies[pid] = connection
        self.selector.register(connection, selectors.EVENT_READ, lambda: self.lose(pid))
        return None

    def lose(self, pid):
        """Ends a copy whose pytest_file.py has ended."""
        self.close(pid)
        self.end(pid)

    def close(self, pid):
        connection = self.copies[pid]
        if connection:
            self.selector.unregister(connection)
            connection.close()
            self.copies[pid] = None

    def end(self, pid):
        if pid not in self.deadlines:
            self.deadlines[pid] = time.monotonic() + SECONDS
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGTERM)

    def time_left(self):
        return max(0, min(self.deadlines.values()) - time.monotonic()) if self.deadlines else None

    def kill_overdue(self):
        for pid, deadline in self.deadlines.items():
            if deadline < time.monotonic():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)

    def reap(self, command_status):
        """Tells each pytest_file.py how its copy ended. Returns the command's status if the command
        has ended, otherwise `command_status`."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return command_status
            if pid == 0:
                return command_status
            if pid == self.command:
                command_status = status
            elif pid in self.copies:
                if self.copies[pid]:
                    with contextlib.suppress(OSError):
                        self.copies[pid].send(str(status).encode())
                self.close(pid)
                del self.copies[pid]
                self.deadlines.pop(pid, None)

    def leave(self):
        """Called in a copy: separates it from the server."""
        signal.set_wakeup_fd(-1)
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        os.setsid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # end if the server is killed
        for connection in (self.listener, *self.wakeup, *filter(None, self.copies.values())):
            connection.close()
        self.selector.close()


def become(request, streams):
    """Runs pytest as pytest_file.py itself would."""
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    del os.environ["QMPI_TEST_SERVER"]
    os.chdir(request["folder"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX")
    sys.path.insert(0, request["folder"])
    sys.argv[1:] = request["arguments"]
    return importlib.import_module("pytest").console_main()


def main(*command):
    load()
    result = Server().run(command)
    if isinstance(result, tuple):
        return become(*result)
    code = os.waitstatus_to_exitcode(result)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
