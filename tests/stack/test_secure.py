# SPDX-License-Identifier: MIT
"""A privileged program (AT_SECURE) ignores all variables of qmpi.

The program is linked with libqmpi, because the loader does not preload libqmpi into privileged
programs. Root runs copies of the program that belong to another user and group and have the set-uid
or set-gid bit. A copy without these bits shows that the variables would otherwise have an effect.
"""
import os

import pytest

from support import ASAN, LIBQMPI, folder_open_to_all, program, run_mpi, tool

PLACEHOLDER = b"/qmpi-test-folder/" + b"." * 64
OTHER = 65534
RUN = ["init", "comm_rank", "finalize"]

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program another owner"),
    pytest.mark.skipif(bool(ASAN), reason="in a privileged program, the sanitizer ignores ASAN_OPTIONS, and its leak "
                                          "check fails"),
]

VARIABLES = {
    "QMPI_TOOLS with a tool": ({"QMPI_TOOLS": "alpha"}, "alpha 1 MPI_Comm_rank"),
    "QMPI_TOOLS with a path": ({"QMPI_TOOLS": "./alpha.so"}, "alpha 1 MPI_Comm_rank"),
    "QMPI_TOOLS with an error": ({"QMPI_TOOLS": "no_such_tool"}, "no such tool"),
    "QMPI_TOOL_PATH": ({"QMPI_TOOLS": "alpha", "QMPI_TOOL_PATH": "."}, "alpha 1 MPI_Comm_rank"),
    "QMPI_ON_ERROR": ({"QMPI_ON_ERROR": "perhaps"}, "QMPI_ON_ERROR"),
    "QMPI_CLOCK": ({"QMPI_CLOCK": "sundial"}, "QMPI_CLOCK: unknown value 'sundial'"),
    "QMPI_DEBUG": ({"QMPI_DEBUG": "all"}, "qmpi: base: "),
    "QMPI_DEBUG with an unknown topic": ({"QMPI_DEBUG": "nonsense"}, "unknown topic"),
}


@pytest.fixture(scope="module")
def folder():
    with folder_open_to_all(program("secure"), tool("alpha")) as copies:
        path = copies / "secure"
        data = path.read_bytes()
        assert data.count(PLACEHOLDER) == 1
        assert len(str(copies)) < len(PLACEHOLDER)
        path.write_bytes(data.replace(PLACEHOLDER, str(copies).encode().ljust(len(PLACEHOLDER),
                                                                             b"\0")))
        yield copies


def run_secure(folder, mode, env):
    path = folder / "secure"
    os.chown(path, OTHER, OTHER)
    path.chmod(mode)
    env = {"QMPI_TOOL_PATH": folder, **env}
    if not mode & 0o6000:
        env["LD_LIBRARY_PATH"] = folder
    return run_mpi(path, *RUN, ranks=1, preload=(), env=env, cwd=folder)


@pytest.mark.parametrize("mode", [0o4755, 0o2755], ids=["set-uid", "set-gid"])
@pytest.mark.parametrize("variable", VARIABLES)
def test_a_privileged_program_ignores_the_variable(variable, mode, folder):
    env, effect = VARIABLES[variable]
    plain = run_secure(folder, 0o755, env)
    assert effect in plain.stderr, "without privilege the variable has its effect"
    secure = run_secure(folder, mode, env)
    assert secure.returncode == 0
    assert "comm_rank: result 0, flag 0, numbers 0 -1" in secure.stdout
    assert secure.messages == []
    assert secure.trace == [f"app {step}" for step in RUN]


def test_the_privileged_program_does_run_through_libqmpi(folder):
    """Without libqmpi, the program cannot even start, so the tests above do test libqmpi."""
    library = folder / LIBQMPI.resolve().name
    hidden = folder / "hidden"
    library.rename(hidden)
    try:
        assert run_secure(folder, 0o4755, {}).returncode == 127
    finally:
        hidden.rename(library)
    assert run_secure(folder, 0o4755, {}).returncode == 0
