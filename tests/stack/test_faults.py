# SPDX-License-Identifier: MIT
"""A fault while a layer is loaded is reported with the entry of the layer, unless QMPI_DEBUG=load is
set, which leaves the signal to a debugger. After all layers are loaded, signals have their previous
actions again, unless a tool has installed a handler."""
import signal

import pytest
from support import ASAN, run_mpi

NUMBERS = [signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT]
pytestmark = pytest.mark.skipif(bool(ASAN), reason="a sanitizer reports faults in its own way")


@pytest.mark.parametrize("number", NUMBERS)
def test_the_programs_handlers_are_back_when_the_stack_is_built(number):
    result = run_mpi("handler", int(number), ranks=1, tools="alpha:beta")
    assert result.returncode == number
    assert "the program's handler" in result.trace and not result.messages


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
@pytest.mark.parametrize("tools", ["takes_signals", "alpha:takes_signals:beta"])
def test_a_handler_that_a_tool_installs_stays(number, tools):
    result = run_mpi("handler", int(number), ranks=1, tools=tools)
    assert result.returncode == number
    assert "the tool's handler" in result.trace and not result.messages


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_constructor_that_faults_is_reported_once(ranks):
    result = run_mpi("calls", "init", "finalize", ranks=ranks, tools="alpha:dies:beta")
    assert result.returncode == 2
    assert result.messages == [
        "QMPI_TOOLS, entry 2 'dies': terminated by SIGABRT while it was loaded or initialized",
        "  hint: rebuild or reinstall it; QMPI_DEBUG=load leaves the signal to a debugger"]


def test_with_qmpi_debug_load_the_signal_ends_the_process():
    result = run_mpi("calls", "init", ranks=1, tools="dies", env={"QMPI_DEBUG": "load"})
    assert result.returncode == -signal.SIGABRT
    assert "terminated by" not in result.stderr
