# SPDX-License-Identifier: MIT
"""Call sites in libraries that the program opens and closes, one at the address where another one was."""
import re

from log_support import TOOL_PATH, read
from profile_support import load
from support import BUILD, run_mpi
from trace_support import read as read_trace

PROGRAMS = BUILD / "tests" / "observe" / "programs"
PLUGINS = ["plugin_first", "plugin_second"]


def test_call_sites_in_closed_libraries_are_distinguished(tmp_path):
    tools = ("log,caller=yes,functions=MPI_Comm_rank,output=log:profile,depth=1,output=one.json:"
             "profile,depth=2,output=two.json:trace,sites=yes,format=own,output=trace")
    result = run_mpi(PROGRAMS / "observe_sites_O0", PROGRAMS, ranks=1, tools=tools, cwd=tmp_path,
                     env={"QMPI_TOOL_PATH": TOOL_PATH})
    assert result.returncode == 0 and result.messages == []
    callers = [line.caller.split()[0] for line in read(tmp_path / "log")]
    assert [caller for caller in callers if caller in PLUGINS] == 3 * PLUGINS
    for name, callers in [("one.json", PLUGINS), ("two.json", 2 * PLUGINS)]:
        found = [(function, site["calls"]) for site in load(tmp_path / name)["callsites"]
                 for frame in site["frames"] if (function := frame.get("function")) in PLUGINS]
        assert sorted(found) == sorted((function, 3) for function in callers)
    process = read_trace(tmp_path / "trace")[0][0]
    found = [process.sites[int(event["site"])]["frames"] for event in process.kinds("enter")]
    plugins = [re.search("observe_(plugin_[a-z]+)", frames) for frames in found]
    assert [match[1] for match in plugins if match] == 3 * PLUGINS
