# SPDX-License-Identifier: MIT
"""The handlers by which tools detect that a signal ends the process have no visible effect: the
program behaves as without tools, and sees no handler that it did not set."""
import signal

import pytest
from support import ASAN, BUILD, BUNDLED_TOOLS, LIBQMPI, run_mpi

pytestmark = pytest.mark.usefixtures("separate_nodes")

ACTIONS = BUILD / "tests" / "tools" / "programs" / "tools_actions"
USR1, USR2, TERM, HUP, SEGV = (int(getattr(signal, f"SIG{name}"))
                               for name in ("USR1", "USR2", "TERM", "HUP", "SEGV"))
TOOLS = ["log,output=x", "profile,output=x", "trace,output=x", "profile,output=x:log,output=y:profile,output=z"]


def run(tools, steps, folder):
    return run_mpi(ACTIONS, *steps, ranks=1, tools=tools, cwd=folder,
                   preload=() if tools is None else (LIBQMPI,),
                   env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})


@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.parametrize("steps", [
    ["init", f"raise={USR1}", "finalize"],  # MPICH has a handler that calls the previous one
    ["init", f"raise={USR2}"],
    [f"ignore={HUP}", "init", f"raise={HUP}", "finalize"],
    ["init", f"ignore={TERM}", f"raise={TERM}", "finalize"],
    *(["init", f"chain={number}", f"raise={number}", f"raise={number}", "finalize"]
      for number in (USR1, USR2, TERM)),
    ["init", f"chain_or_end={TERM}", f"raise={TERM}", "finalize"],
    ["init", f"signal={TERM}", f"raise={TERM}", f"query={TERM}", "finalize"],
    ["init", f"chain={TERM}", f"restore={TERM}", f"query={TERM}", f"raise={TERM}"],
    [f"chain={TERM}", "init", f"raise={TERM}", f"restore={TERM}", f"raise={TERM}"],
    ["init", *(f"query={number}" for number in (USR1, USR2, TERM, HUP, SEGV)), "finalize",
     *(f"query={number}" for number in (USR1, USR2, TERM, HUP, SEGV))],
    ["init", f"chain={TERM}", "finalize", f"restore={TERM}", f"query={TERM}", f"raise={TERM}"],
    ["init", f"fork={TERM}", f"raise={TERM}"],
    # A sanitizer reports faults, even if they are raised by raise().
    *([] if ASAN else [["init", f"fork={TERM}", f"fork={SEGV}", f"raise={TERM}"]]),
])
def test_a_program_lives_and_dies_as_without_tools(tmp_path, tools, steps):
    bare, under = (run(stack, steps, tmp_path) for stack in (None, tools))
    assert (under.returncode, under.stdout) == (bare.returncode, bare.stdout)


@pytest.mark.parametrize("steps, said", [
    (["init", f"raise={TERM}"], True),
    (["init", f"chain={TERM}", f"restore={TERM}", f"raise={TERM}"], True),
    (["init", f"chain_or_end={TERM}", f"raise={TERM}"], True),
    (["init", f"signal={TERM}", f"raise={TERM}", "finalize"], False),
])
def test_log_reports_a_signal_only_if_it_ends_the_process(tmp_path, steps, said):
    run("log,output=x", steps, tmp_path)
    assert ("+++ signal SIGTERM +++" in (tmp_path / "x").read_text()) == said
