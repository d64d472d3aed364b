# SPDX-License-Identifier: MIT
"""If the init function of a tool throws an exception, that is an error of the layer, and libqmpi
holds no lock afterwards."""
import pytest

from support import run_mpi, tool

pytestmark = pytest.mark.skipif(not tool("throws").exists(), reason="no C++ compiler")

WHAT = {"standard": "std::invalid_argument", "own": "(anonymous namespace)::tool_exception",
        "number": "int"}


def message(what):
    return (f"QMPI_TOOLS, entry 2 'throws,what={what}': tool throws failed to initialize: its init function "
            f"threw an exception of type {WHAT[what]}")


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("name, arguments", [("catches", []), ("calls", ["init", "finalize"])])
def test_the_run_stops_with_one_message(name, arguments, what):
    """The exception reaches neither the C++ program `catches`, which would catch it, nor the C
    program `calls`, which cannot catch exceptions."""
    result = run_mpi(name, *arguments, ranks=1, tools=f"alpha:throws,what={what}:beta")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.messages[0] == message(what)
    assert len([line for line in result.messages if not line.startswith(" ")]) == 1


@pytest.mark.parametrize("what", WHAT)
def test_with_skip_the_run_goes_on_without_the_layer(what):
    result = run_mpi("catches", ranks=1, tools=f"alpha:throws,what={what}:beta",
                     env={"QMPI_ON_ERROR": "skip"})
    assert (result.returncode, result.stdout) == (0, "initialized 1\n")
    assert result.messages[0] == message(what)
    for name, tool_id in (("alpha", 1), ("beta", 3)):
        assert f"{name} {tool_id} MPI_Initialized" in result.trace


def test_an_init_function_that_throws_nothing_works_like_any_other():
    result = run_mpi("catches", ranks=1, tools="throws:alpha")
    assert (result.returncode, result.stdout, result.messages) == (0, "initialized 1\n", [])
