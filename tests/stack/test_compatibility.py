# SPDX-License-Identifier: MIT
"""A tool of the first release runs, and versions are as docs/compatibility.md describes."""
import re
import subprocess

import pytest
from support import ASAN, LIBQMPI, MPICC, SOURCE, run_mpi

pytestmark = pytest.mark.skipif(bool(ASAN), reason="the tools that the tests compile are not sanitized")

VERSION = re.search(r"version: '(.*)'", (SOURCE / "meson.build").read_text())[1]

TOOL = r"""
#include <qmpi/qmpi.h>
#include <stdio.h>
static void init(int tool_id)
{
    int major = -1, minor = -1, patch = -1;
    (void)tool_id;
    if (QMPIX_Get_version(&major, &minor, &patch) == MPI_SUCCESS)
        fprintf(stderr, "trace: runs %d.%d.%d compiled %d.%d.%d %s\n", major, minor, patch, QMPIX_VERSION_MAJOR,
                QMPIX_VERSION_MINOR, QMPIX_VERSION_PATCH,
                QMPIX_VERSION >= QMPIX_MAKE_VERSION(0, 2, 0) ? "new" : "old");
}
__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("version", init);
}
"""


def exported():
    listing = subprocess.run(["nm", "-D", "--defined-only", LIBQMPI], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in listing.splitlines()]


def test_a_tool_that_was_compiled_with_the_first_release_runs(tmp_path):
    tool = tmp_path / "first_release.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", tool,
                    SOURCE / "tests/stack/tools/first_release.c"], check=True)
    result = run_mpi("calls", "init", "comm_rank", "finalize", ranks=1, tools=f"{tool},word=given:{tool}")
    assert result.returncode == 0
    assert "first_release given of 2 MPI_Comm_rank rank 0" in result.trace
    assert "first_release default of 2 MPI_Comm_rank rank 0" in result.trace


def test_the_header_and_the_library_know_their_version(tmp_path):
    (tmp_path / "version.c").write_text(TOOL)
    subprocess.run([MPICC, "-shared", "-fPIC", "-Wall", "-Werror", f"-I{SOURCE / 'include'}",
                    f"-I{LIBQMPI.parent / 'generate/include'}", "-o", tmp_path / "version.so", tmp_path / "version.c"],
                   check=True)
    result = run_mpi("calls", "init", "finalize", ranks=1, tools=str(tmp_path / "version.so"))
    assert f"runs {VERSION} compiled {VERSION} new" in result.trace


def test_calls_of_qmpi_have_symbol_versions_and_functions_of_mpi_have_none():
    names = exported()
    assert {"QMPI_Register_tool_name@@QMPI_0.1", "QMPIX_Tool_count@@QMPI_0.1", "QMPIX_Get_version@@QMPI_0.2",
            "MPI_Send", "PMPI_Send"} <= set(names)
    assert not [name for name in names if "@" in name and not name.startswith("QMPI")]


def test_the_change_log_begins_with_this_version():
    assert f"## {VERSION} " in (SOURCE / "CHANGELOG.md").read_text()
