# SPDX-License-Identifier: MIT
"""Tests the clean-up process, which removes the temporary directory with the copies of tools when the program has
ended. Later runs remove the directories of runs that were killed together with this process. No other files may be
removed, and the program must not notice the process."""
import fcntl
import os
import platform
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import open_mpi
import pytest

from mpi_in_use import EMULATED
from pmpi_support import PMPI_TOOLS, entries, pmpi_program, pmpi_tool, run_pmpi, succeed
from support import (ASAN, LIBQMPI, OPEN_MPI, TOOLS, clean_environment, folder_open_to_all,
                     needs_helper, program, wait_until)

SURROUNDINGS = pmpi_program("surroundings")
TWICE = "now:alpha:now"


def descriptors_of(process):
    return {path.name: os.readlink(path) for path in (process / "fd").iterdir()}


def needs_cleanup():
    if EMULATED:
        pytest.skip(needs_helper.kwargs["reason"])


def cleanup_of(folder):
    """Waits until the clean-up process for `folder` has started. Returns the directory of this process in /proc."""
    needs_cleanup()
    return wait_until(lambda: find_cleanup(folder))


def find_cleanup(folder):
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"qmpi-helper" in arguments[0] and os.fsencode(folder) in arguments:
            return process
    return None


def has_ended(process):
    try:
        return "State:\tZ" in (process / "status").read_text()
    except OSError:
        return True


def kill_cleanup_of(folder):
    process = cleanup_of(folder)
    os.kill(int(process.name), signal.SIGKILL)
    assert wait_until(lambda: has_ended(process))


@contextmanager
def running(folder):
    """Runs a program that has copies of tools in `folder` and then waits for input. Yields its process and the
    directory of the copies."""
    environment = clean_environment() | {
        "QMPI_TOOLS": TWICE, "QMPI_TOOL_PATH": f"{PMPI_TOOLS}:{TOOLS}", "TMPDIR": str(folder),
        "LD_PRELOAD": ":".join([ASAN] * bool(ASAN) + [str(LIBQMPI)])}
    if OPEN_MPI:
        environment |= open_mpi.SINGLETON
    before = set(entries(folder))
    process = subprocess.Popen([SURROUNDINGS, "initialized", "list=/", "read"], env=environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith("initialized: ")
        (made,) = set(entries(folder)) - before
        yield process, folder / made
    finally:
        process.kill()
        process.communicate()


def run_to_its_kill(folder):
    """Runs a program that has copies of tools in `folder` and kills itself. Waits until its clean-up process has
    removed them."""
    needs_cleanup()
    before = set(entries(folder))
    result = run_pmpi(SURROUNDINGS, "initialized", "kill", tools=TWICE, env={"TMPDIR": folder})
    assert result.returncode == -signal.SIGKILL
    assert result.trace.count("load now") == 2
    mine = set(entries(folder)) - before
    assert wait_until(lambda: not mine & set(entries(folder)))


# ---- Files that are removed, and others ----------------------------------------------------------


@pytest.mark.parametrize("end, status", [("finalize", 0), ("kill", -signal.SIGKILL)])
def test_a_newline_in_the_path_of_the_copies_does_not_remove_another_folder(end, status, tmp_path):
    other = tmp_path / "folder"
    other.mkdir()
    (other / "kept").write_text("")
    folder = tmp_path / "folder\nsecond"
    folder.mkdir()
    if status:
        needs_cleanup()
    result = run_pmpi(SURROUNDINGS, "init", f"list={folder}", end, tools=TWICE, env={"TMPDIR": folder})
    assert result.returncode == status
    assert "list: 1" in result.stdout
    assert wait_until(lambda: entries(folder) == [])
    assert entries(other) == ["kept"]


def test_a_relative_temporary_folder_is_not_used(tmp_path):
    (tmp_path / "here").mkdir()
    result = succeed(SURROUNDINGS, "init", "list=here", "finalize", tools=TWICE, cwd=tmp_path,
                     env={"TMPDIR": "here"})
    assert "list: 0" in result.stdout
    assert result.messages == []


@pytest.mark.parametrize("end", ["finalize", "kill"])
def test_a_folder_that_has_replaced_that_of_the_copies_is_not_removed(end, tmp_path):
    result = run_pmpi(SURROUNDINGS, "init", f"replace={tmp_path}", end, tools=TWICE,
                        env={"TMPDIR": tmp_path})
    assert "replace: 0 0" in result.stdout
    (moved,) = [path for path in tmp_path.iterdir() if path.name.startswith("moved-")]
    made = tmp_path / moved.name.removeprefix("moved-")
    assert wait_until(lambda: not find_cleanup(made))
    assert entries(made) == ["kept"]


def test_the_next_run_removes_copies_of_a_run_killed_together_with_its_clean_up(tmp_path):
    with running(tmp_path) as (process, folder):
        kill_cleanup_of(folder)
        process.kill()
        process.wait()
    assert entries(tmp_path) == [folder.name]
    run_to_its_kill(tmp_path)
    assert entries(tmp_path) == []


def test_other_runs_do_not_remove_copies_in_use(tmp_path):
    with running(tmp_path) as (process, folder):
        run_to_its_kill(tmp_path)
        assert entries(tmp_path) == [folder.name]
        kill_cleanup_of(folder)
        run_to_its_kill(tmp_path)
        assert entries(tmp_path) == [folder.name]
        process.communicate("\n")
        assert process.returncode == 0
        assert entries(tmp_path) == []


def left_behind(root, name, mode=0o700, inode=None, machine=platform.node()):
    """Creates a directory like that of a process that was killed together with its clean-up process."""
    folder = root / name
    (folder / "1").mkdir(parents=True)
    folder.chmod(mode)
    (folder / "1" / "libtool.so").write_text("")
    (folder / "lock").write_text(f"{machine} {inode or folder.stat().st_ino}\n")
    return folder


def test_only_folders_that_were_surely_left_behind_are_removed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    root = tmp_path / "root"
    root.mkdir()
    left_behind(root, "qmpi-gone00")
    (root / "qmpi-link00").symlink_to(left_behind(elsewhere, "qmpi-target"))
    left_behind(root, "qmpi-other0", machine="another")
    left_behind(root, "qmpi-moved0", inode=1)
    left_behind(root, "qmpi-open00", mode=0o755)
    left_behind(root, "other-0000")
    for name, lock in (("qmpi-plain0", None), ("qmpi-fifo00", os.mkfifo),
                       ("qmpi-dangle", lambda path: path.symlink_to("lock2"))):
        (left_behind(root, name) / "lock").unlink()
        if lock:
            lock(root / name / "lock")
    held = left_behind(root, "qmpi-held00")
    before = entries(root)
    with open(held / "lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run_to_its_kill(root)
        assert entries(root) == [name for name in before if name != "qmpi-gone00"]
        assert all(entries(path) for path in root.iterdir())
    run_to_its_kill(root)
    assert held.name not in entries(root)
    assert entries(elsewhere / "qmpi-target") == ["1", "lock"]


def test_a_link_among_the_copies_is_not_followed(tmp_path):
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (other / "kept").write_text("")
    folder = left_behind(root, "qmpi-links0")
    (folder / "link").symlink_to(other)
    run_to_its_kill(root)
    assert entries(root) == []
    assert entries(other) == ["kept"]


# ---- The program does not notice the clean-up process --------------------------------------------


def test_the_program_gets_no_signal_about_the_clean_up_process(tmp_path):
    result = succeed(SURROUNDINGS, "children", "initialized", "children", "fork", "children",
                     tools=TWICE, env={"TMPDIR": tmp_path})
    assert [line for line in result.stdout.splitlines() if line.startswith("children")] == [
        "children: 0", "children: 0", "children: 1"]


def test_a_program_that_closes_all_descriptors_keeps_its_copies(tmp_path):
    with running(tmp_path) as (_, folder):
        run_to_its_kill(tmp_path)
        assert entries(folder) == ["1", "lock"]
    result = run_pmpi(SURROUNDINGS, "initialized", "close", f"list={tmp_path}", "leave",
                        tools=TWICE, env={"TMPDIR": tmp_path})
    assert result.returncode == 0
    assert "list: 1" in result.stdout
    assert wait_until(lambda: entries(tmp_path) == [])


def test_the_clean_up_process_shares_nothing_with_the_program(tmp_path):
    with running(tmp_path) as (process, folder):
        cleanup = cleanup_of(folder)
        # The last thing that this process does before it waits is to change its directory.
        assert wait_until(lambda: os.readlink(cleanup / "cwd") == "/"
                          and len(descriptors_of(cleanup)) == 3)
        descriptors = descriptors_of(cleanup)
        assert descriptors["1"] == str(folder / "lock") and descriptors["2"] == "/dev/null"
        pid = int(cleanup.name)
        assert os.getsid(pid) == os.getpgid(pid) == pid
        assert (cleanup / "environ").read_bytes() == b""
        maps = (cleanup / "maps").read_text()
        assert "libqmpi" not in maps and "libnow" not in maps
        # Launchers and batch systems send these signals to all processes. The clean-up process must survive them.
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            os.kill(pid, number)
        process.kill()
        process.wait()
        assert wait_until(lambda: entries(tmp_path) == [])


# ---- Limits, and a clean-up process that is missing or killed ------------------------------------


def test_few_descriptors_do_not_end_the_run_by_a_signal(tmp_path):
    for number in (8, 7, 6, 5):
        result = run_pmpi(SURROUNDINGS, "initialized", "initialized", tools=TWICE,
                            env={"TMPDIR": tmp_path},
                            wrapper=["sh", "-c", f'ulimit -n {number}; exec "$@"', "sh"])
        if number == 8:
            assert result.returncode == 0
        assert result.returncode == 0 or (result.returncode == 2 and result.messages)
        assert wait_until(lambda: entries(tmp_path) == [])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as a user without other processes")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_limit_on_processes_does_not_end_the_run(processes, tmp_path):
    if EMULATED and processes == 1:
        pytest.skip("the limit also counts the thread that the emulator has in each process")
    user = str(1_000_000 + os.getpid())
    with folder_open_to_all(program("calls"), pmpi_tool("now"), pmpi_tool("lazy")) as folder:
        (folder / "tmp").mkdir()
        (folder / "tmp").chmod(0o1777)
        result = run_pmpi(folder / "calls", "initialized", "initialized", tools="now:lazy:now",
                            preload=[folder / f"{LIBQMPI.name}.0"],
                            env={"TMPDIR": folder / "tmp", "QMPI_TOOL_PATH": folder},
                            wrapper=["setpriv", f"--reuid={user}", "--clear-groups", "prlimit",
                                     f"--nproc={processes}"])
        assert result.returncode == 0
        assert result.trace.count("load now") == 2
        assert entries(folder / "tmp") == []


def test_a_missing_clean_up_program_does_not_end_the_run(tmp_path):
    with folder_open_to_all() as folder:
        result = succeed(SURROUNDINGS, "init", f"list={tmp_path}", "finalize", tools="now:lazy:now",
                         preload=[folder / f"{LIBQMPI.name}.0"], env={"TMPDIR": tmp_path})
        assert "list: 1" in result.stdout
        assert result.messages == []
        assert entries(tmp_path) == []


def test_a_killed_clean_up_process_does_not_end_the_run(tmp_path):
    with running(tmp_path) as (process, folder):
        kill_cleanup_of(folder)
        process.communicate("\n")
        assert process.returncode == 0
        assert entries(tmp_path) == []


def test_a_limit_on_the_size_of_files_causes_an_error_but_no_signal(tmp_path):
    result = run_pmpi(SURROUNDINGS, "initialized", tools=TWICE, env={"TMPDIR": tmp_path},
                      wrapper=["sh", "-c", 'ulimit -f 8; exec "$@"', "sh"])
    assert result.returncode == 2 and "File too large" in "\n".join(result.messages)
