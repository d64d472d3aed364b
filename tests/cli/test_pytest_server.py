# SPDX-License-Identifier: MIT
"""Tests tests/pytest_server.py: copies of its process run the test files of ./check. A test file must end
as it would without the server."""
import contextlib
import os
import signal
import subprocess
import sys

import pytest

from support import SOURCE, wait_until

FILE = """
import os, pathlib, signal, sys
import pytest

@pytest.fixture
def started():
    pathlib.Path("started").write_text(str(os.getpid()))
    yield
    pathlib.Path("started").unlink()

def test_passes():
    assert sys.argv[1:] == ["-q", "-p", "no:cacheprovider", "test_file.py", "-k", sys.argv[-1]]
    assert os.environ["WORD"] == "one" and "QMPI_TEST_SERVER" not in os.environ
    assert os.getsid(0) == os.getpid() or "SERVER" not in os.environ

def test_fails():
    assert os.environ["WORD"] == "two"

def test_crashes():
    os.kill(os.getpid(), signal.SIGSEGV)

def test_exits():
    os._exit(7)

def test_waits(started):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pathlib.Path("ready").touch()
    signal.pause()

def test_does_not_end(started):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pathlib.Path("ready").touch()
    while True:
        signal.pause()
"""
SCRIPT = [sys.executable, "-I", "-S", SOURCE / "tests/pytest_file.py"]


@contextlib.contextmanager
def server(command):
    """Starts a server with a command. Yields the server's process and the first line that the command
    prints. The command must end when its standard input is closed."""
    with subprocess.Popen([sys.executable, SOURCE / "tests/pytest_server.py", "sh", "-c", command],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process, process.stdout.readline().strip()


@pytest.fixture(scope="module")
def name():
    """Runs a server during the tests. Returns its name, as QMPI_TEST_SERVER has it."""
    with server("echo $QMPI_TEST_SERVER; cat; exit 3") as (process, line):
        yield line
        process.stdin.close()
        assert process.wait(60) == 3


def start(folder, case, server_name=None):
    (folder / "test_file.py").write_text(FILE)
    env = {**os.environ, "WORD": "one", **({"QMPI_TEST_SERVER": server_name, "SERVER": "1"} if server_name else {})}
    return subprocess.Popen([*SCRIPT, "-q", "-p", "no:cacheprovider", "test_file.py", "-k", case],
                            cwd=folder, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.parametrize("with_server", [False, True])
@pytest.mark.parametrize("case, status, text", [
    ("passes", 0, "1 passed, 5 deselected"), ("fails", 1, "1 failed, 5 deselected"), ("passes or fails", 1, "1 failed, 1 passed"),
    ("exits", 7, ""), ("crashes", -signal.SIGSEGV, "")])
def test_a_file_ends_as_its_tests_do(case, status, text, with_server, name, tmp_path):
    with start(tmp_path, case, name if with_server else None) as process:
        output = process.communicate(timeout=60)[0]
    assert process.returncode == status
    assert text in output


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_file_whose_time_is_up_ends_and_cleans_up(number, name, tmp_path):
    with start(tmp_path, "waits", name) as process:
        assert wait_until((tmp_path / "ready").exists)
        pid = int((tmp_path / "started").read_text())
        os.killpg(process.pid, number)
        assert process.wait(60) == -number
    assert wait_until(lambda: gone(pid))
    assert not (tmp_path / "started").exists()


def test_a_file_that_does_not_end_is_killed(name, tmp_path):
    with start(tmp_path, "does_not_end", name) as process:
        assert wait_until((tmp_path / "ready").exists)
        pid = int((tmp_path / "started").read_text())
        process.terminate()
    assert wait_until(lambda: gone(pid))


def test_no_file_outlives_the_command(tmp_path):
    with server("echo $QMPI_TEST_SERVER; cat; kill -TERM $$") as (process, line):
        with start(tmp_path, "waits", line) as file:
            assert wait_until((tmp_path / "ready").exists)
            process.stdin.close()
            assert process.wait(60) == -signal.SIGTERM
            assert file.wait(60) != 0
    assert not (tmp_path / "started").exists()


def test_no_file_outlives_the_server(tmp_path):
    with server("echo $QMPI_TEST_SERVER; cat") as (process, line):
        with start(tmp_path, "waits", line) as file:
            assert wait_until((tmp_path / "ready").exists)
            pid = int((tmp_path / "started").read_text())
            process.kill()
            assert file.wait(60) != 0
    assert wait_until(lambda: gone(pid))
    assert not (tmp_path / "started").exists()


def test_a_file_whose_server_does_not_exist_fails(tmp_path):
    with start(tmp_path, "passes", b"\0qmpi-none".hex()) as process:
        assert process.wait(60) != 0
