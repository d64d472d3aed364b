# SPDX-License-Identifier: MIT
"""Processes with many libraries, and a process in which a thread loads a library while another one
switches layers."""
import shutil

import pytest

from redirect_support import (ASAN, EXCHANGE, GOT, REDIRECT_PROGRAMS, counted, in_each_rank, qmpi, reach,
                           redirect_program)
from support import LIBQMPI

MANY = 600


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Creates MANY copies of a library, each of which is a different library for the loader."""
    folder = tmp_path_factory.mktemp("many")
    libraries = [folder / f"lib{number}.so" for number in range(MANY)]
    for library in libraries:
        shutil.copy(REDIRECT_PROGRAMS / "libredirectmany.so", library)
    return libraries


@pytest.mark.parametrize("name", ["exchange_c", "exchange_mpif_h", "exchange_f08"])
def test_calls_of_a_process_with_many_libraries_are_counted(name, many, tmp_path):
    (tmp_path / "files").mkdir()
    result = reach(name, tmp_path / "files", tools="count,output=%t.json:tally:count,output=%t.json",
                   preload=[LIBQMPI, *many], env={"REDIRECT_TALLY": tmp_path / "tally"}, cwd=tmp_path)
    assert result.returncode == 0
    assert sorted(result.stdout.splitlines()) == GOT
    assert result.messages == []
    for layer in (1, 3):
        assert counted(tmp_path / f"{layer}.json") == in_each_rank(EXCHANGE)


@pytest.mark.skipif(bool(ASAN), reason="AddressSanitizer refuses other libraries that are preloaded into the command")
def test_doctor_recognizes_the_binding_of_a_program_with_many_libraries(many):
    preload = {"LD_PRELOAD": ":".join(map(str, many))}
    result = qmpi("doctor", "--", redirect_program("exchange_f08"), env=preload)
    assert "through the module mpi_f08: libqmpi redirects the calls" in result.stdout
    few = qmpi("doctor", "--", redirect_program("exchange_f08"), env={"LD_PRELOAD": str(many[0])})
    assert result.returncode == few.returncode


@pytest.mark.parametrize("tools", ["libwrappers.so", "libwrappers.so:empty", "empty:libwrappers.so"])
def test_a_layer_may_be_switched_while_another_thread_loads_a_library(tools):
    """The loader is binding the references of the library. Before it has done so, libqmpi must not
    change the protection of the library's pages."""
    result = reach("loading", redirect_program("loading_plugin.so"), tools=tools, ranks=1, timeout=30)
    assert result.returncode == 0
    assert result.stdout.splitlines() == ["switched: 0 0"] * 3 + ["loaded: right"]
    assert [line.split(" from ")[0] for line in result.calls] == ["wrappers MPI_Barrier"]
