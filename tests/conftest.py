# SPDX-License-Identifier: MIT
"""Prepares all pytest files: they share the TAP report that Meson reads, and the path to
stack/support.py.

Every test is one TAP line; after the line of a failed test, its captured output follows as comments.
Outside Meson (QMPI_TEST_TAP not set), pytest prints its usual report.
"""
import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "stack"))

# A shell starts a command in the background (`&`) with these signals ignored. The tested programs would inherit this,
# but tests send them these signals.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


# When Meson ends this process with SIGTERM, the tests still end the programs they started, and
# remove their files.
signal.signal(signal.SIGTERM, signal.default_int_handler)

# Some of the libraries in temporary folders are preloaded, and the dynamic loader splits LD_PRELOAD
# at blanks and colons. The paths of temporary folders must therefore contain none.
if re.search(r"[\s:]", tempfile.gettempdir()):
    os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"


@pytest.fixture
def separate_nodes(monkeypatch):
    """Makes MPICH treat each rank of a job as if it were on a node of its own.

    Ranks of one node synchronize several times in MPI_Init and MPI_Finalize by polling shared memory
    without ever yielding. If other processes use the processors, most of the processor time of a
    small job goes into this polling. Ranks of separate nodes synchronize through the launcher, and
    sleep while they wait; their messages still go through shared memory. They do not wait for each
    other at the end of MPI_Init. A rank that ends without MPI_Finalize can therefore make another
    rank fail that is still in MPI_Init. This fixture is for test files with many jobs, in all of
    which every rank calls MPI_Finalize."""
    monkeypatch.setenv("MPIR_CVAR_NOLOCAL", "1")


def copy_into(source, target):
    for path in source.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, target / path.name, symlinks=True)
        else:
            shutil.copy2(path, target / path.name, follow_symlinks=False)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a test function. If Open MPI crashes in it, runs it again, at most twice, after restoring
    the content that tmp_path had before."""
    import mpi_in_use
    if not mpi_in_use.OPEN_MPI:
        return None
    import support
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    folder = pyfuncitem.funcargs.get("tmp_path")
    with tempfile.TemporaryDirectory(prefix="qmpi-test-") as saved:
        if folder:
            copy_into(folder, Path(saved))
        for _ in range(2):
            support.can_rerun = True
            try:
                pyfuncitem.obj(**arguments)
                return True
            except support.OpenMpiCrashed:
                print("Open MPI crashed: the test is run again")
            finally:
                support.can_rerun = False
            if folder:
                shutil.rmtree(folder)
                folder.mkdir()
                copy_into(Path(saved), folder)
    return None


class NoReport:
    """Replaces pytest's own report. Pytest still asks the report's writer how to colour the differences
    that failed assertions show."""

    def __init__(self, report):
        self._tw = report._tw


class TapReport:
    def __init__(self):
        self.number = 0
        self.failed_collection = False
        self.reason = None  # the reason for which the whole file is skipped

    def pytest_collectreport(self, report):
        if report.skipped:
            self.reason = report.longrepr[2].removeprefix("Skipped: ")
        if report.failed:
            self.failed_collection = True
            self.comment(str(report.longrepr))

    def pytest_collection_finish(self, session):
        if self.failed_collection:
            print("Bail out! the test file cannot be read", flush=True)
        elif self.reason and not session.items:
            print(f"1..0 # SKIP {self.reason}", flush=True)
        else:
            print(f"1..{len(session.items)}", flush=True)

    def pytest_runtest_logreport(self, report):
        """Prints one line for each test: for its call, or for a setup that failed."""
        if report.when == "setup" and report.passed:
            return
        if report.when == "teardown":
            if report.failed:  # the test's line is already printed, so only `Bail out!` can make the file fail
                self.comment(report.longreprtext)
                print(f"Bail out! teardown of {name_of(report)}", flush=True)
            return
        self.number += 1
        line = f"{'not ok' if report.failed else 'ok'} {self.number} - {name_of(report)}"
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            line += f" # SKIP {reason.removeprefix('Skipped: ')}"
        print(line, flush=True)
        if report.failed:
            self.comment(report.longreprtext)
            for title, text in report.sections:
                self.comment(f"{title}\n{text}")

    def pytest_sessionfinish(self, session):
        """Makes the exit status 0 even if tests failed. The TAP lines have reported these tests, and
        Meson would take any other exit status as the sign of an incomplete report."""
        if session.exitstatus == pytest.ExitCode.TESTS_FAILED or (
                self.reason and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.OK

    @staticmethod
    def comment(text):
        for line in text.splitlines():
            print(f"# {line}", flush=True)


def name_of(report):
    """Returns the test's name without `#`, which would begin a TAP directive."""
    return report.nodeid.rpartition("::")[2].replace("#", " ")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if os.environ.get("QMPI_TEST_TAP"):
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        config.pluginmanager.unregister(terminal)
        config.pluginmanager.register(NoReport(terminal), "terminalreporter")
        config.pluginmanager.register(TapReport(), "tap_report")
