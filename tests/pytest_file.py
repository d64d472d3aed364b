# SPDX-License-Identifier: MIT
"""Runs pytest with the arguments of this script. If QMPI_TEST_SERVER names a server, pytest runs in
a copy of the server's process, otherwise in this process.

Meson starts this script with `-I -S`, so that Python starts faster. See pytest_server.py.
"""
import json
import os
import signal
import socket
import sys


def run(server, arguments):
    """Asks the server to run pytest in a copy of itself, and ends as the copy ended: with the same
    status, or by the same signal."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(bytes.fromhex(server))
        request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        answer = connection.recv(64)
    if not answer:
        sys.exit(f"{sys.argv[0]}: the test server has ended")
    code = os.waitstatus_to_exitcode(int(answer))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    if "QMPI_TEST_SERVER" in os.environ:
        run(os.environ["QMPI_TEST_SERVER"], sys.argv[1:])
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *sys.argv[1:]])
