# SPDX-License-Identifier: MIT
"""No tool queries MPI about a handle that MPI has not accepted, because this would invoke the
program's error handler, which by default ends the job. What MPI accepts and refuses is the same as
without tools."""
import functools
import re

import pytest
from support import BUILD, BUNDLED_TOOLS, LIBQMPI, run_mpi

HANDLES = BUILD / "tests" / "tools" / "programs" / "tools_handles"
TOOLS = ["count,output=out", "profile,output=out", "profile,sync=yes,output=out",
         "trace,output=out", "log,output=out", "log,min-size=1,output=out", "mpit,output=out",
         "delay,before=1us,functions=MPI_*", "delay,error=MPI_ERR_OTHER,probability=0,functions=MPI_*",
         "trace,output=out:profile,output=out2:log,output=out3:profile,output=out4"]


def run(tools, steps, folder):
    return run_mpi(HANDLES, *steps, ranks=1, tools=tools, cwd=folder,
                   preload=() if tools is None else (LIBQMPI,), env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})


@functools.cache
def counted_without_tools(folder):
    bare = run(None, ["count"], folder)
    assert bare.returncode == 0
    return bare.stdout


@pytest.mark.parametrize("tools", TOOLS)
def test_no_error_handler_is_called_more_often_than_without_tools(tmp_path, tools):
    under = run(tools, ["count"], tmp_path)
    assert under.stdout == counted_without_tools(tmp_path.parent)
    assert under.returncode == 0 and under.messages == []


@pytest.mark.parametrize("tools", TOOLS)
def test_a_query_of_a_tool_does_not_end_a_job_whose_errors_are_fatal(tmp_path, tools):
    accepted = re.findall(r"^(\w+): accepted, handled 0$", counted_without_tools(tmp_path.parent), re.MULTILINE)
    assert accepted
    under = run(tools, ["fatal", *accepted], tmp_path)
    assert re.findall(r"^(\w+): accepted", under.stdout, re.MULTILINE) == accepted
    assert under.returncode == 0 and under.messages == []
