# SPDX-License-Identifier: MIT
"""The output of bundled tools. With output=, only one layer may write to a file, but any number of layers to a device
or a FIFO. Whatever the program does to descriptors, limits and stderr, the tools neither change its files nor end it,
and lost output is reported once."""
import json
import os
import re
import socket
import sys
import threading

import pytest
from mpi_in_use import EMULATED
from profile_support import report
from support import BUILD, BUNDLED_TOOLS, clean_environment, needs_sessions, run_mpi
from trace_support import STEPS, TOOL_PATH, read

TOOLS = ["log", "count", "profile", "mpit"]


def run(tools, *steps, **more):
    return run_mpi("calls", *steps, ranks=1, tools=tools, env={"QMPI_TOOL_PATH": BUNDLED_TOOLS},
                   **more)


def layers_with(output):
    return ":".join(f"{tool},output={output}" for tool in TOOLS + TOOLS)


@pytest.mark.parametrize("end", ["finalize", "comm_rank"])
def test_all_layers_may_write_to_one_device(tmp_path, end):
    device = tmp_path / "null"  # under another name, so that files created beside it are found
    device.symlink_to("/dev/null")
    result = run(layers_with(device), "init", "barrier", end)
    assert result.returncode == 0 and "the same file" not in result.stderr
    assert device.is_symlink() and os.listdir(tmp_path) == ["null"]


def test_all_layers_may_write_to_one_fifo(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)  # the FIFO has room for the whole output
    try:
        result = run(f"log,output={fifo}:count,output={fifo}:log,output={fifo}",
                     "init", "barrier", "finalize")
        assert result.returncode == 0
        text = os.read(reader, 1 << 16).decode()
    finally:
        os.close(reader)
    assert text.count("MPI_Barrier(") == 2 and '"schema": "qmpi-count/1"' in text


@pytest.mark.parametrize("tool", TOOLS)
def test_two_layers_may_not_write_to_one_file(tmp_path, tool):
    result = run(f"{tool},output=x:{tool},output=x", "init", "finalize", cwd=tmp_path)
    assert result.returncode == 2 and "the same file" in result.stderr


# ---- Actions of the program ----------------------------------------------------------------------

OUTPUTS = BUILD / "tests" / "tools" / "programs" / "tools_outputs"
UNCHANGED = re.compile(r"files: \d+, changed: 0\n")
# Switches off the handler of a sanitizer, which would report faults itself and end the process in its own way.
FAULTS = {"ASAN_OPTIONS": clean_environment()["ASAN_OPTIONS"] + ":handle_segv=0"}
TO_STDERR = ["log", "count", "profile", "mpit", "delay,before=1ns,report=yes"]

# Commands in front of the program that determine what its stderr is when it starts.
EXEC = "import os, signal, sys\n{}\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nos.execv(sys.argv[1], sys.argv[1:])"
CLOSED = (sys.executable, "-c", EXEC.format("os.close(2)"))
UNREAD = (sys.executable, "-c", EXEC.format("r, w = os.pipe(); os.dup2(w, 2); os.close(r); os.close(w)"))


def run_outputs(tools, *steps, ranks=1, **more):
    more["env"] = {"QMPI_TOOL_PATH": BUNDLED_TOOLS} | more.get("env", {})
    return run_mpi(OUTPUTS, *steps, ranks=ranks, tools=tools, **more)


def check_unchanged(result, ranks=1):
    assert result.returncode == 0 and len(UNCHANGED.findall(result.stdout)) == ranks, result


@pytest.mark.parametrize("tool", TO_STDERR)
def test_a_file_that_is_opened_as_descriptor_2_instead_of_stderr_is_not_changed(tmp_path, tool):
    check_unchanged(run_outputs(tool, "file", "init", "call", "finalize", wrapper=CLOSED, cwd=tmp_path))


@pytest.mark.parametrize("tool", TO_STDERR)
def test_a_file_that_replaces_stderr_is_not_changed_and_messages_go_to_stderr(tmp_path, tool):
    result = run_outputs(tool, "init", "close-stderr", "file", "call", "finalize", cwd=tmp_path)
    check_unchanged(result)
    assert any("MPI_Barrier" in line or "calls acted on" in line or "MPI_Finalize" in line for line in result.messages)


@pytest.mark.parametrize("ranks", [1, 2])
def test_files_of_tools_are_complete_when_the_program_takes_their_descriptors(tmp_path, ranks):
    steps = ["init", "call", "take-descriptors", "snapshot", "other-directory", "take-descriptors", "call", "finalize"]
    result = run_outputs("trace,output=t,format=own:mpit,output=m,csv=s.%r.csv:log,output=l.%r", *steps, ranks=ranks,
                         cwd=tmp_path)
    check_unchanged(result, ranks)
    assert not result.messages
    names = {"t", "m"} | {name for rank in range(ranks) for name in (f"l.{rank}", f"s.{rank}.csv")}
    assert set(os.listdir(tmp_path)) == names
    for rank in range(ranks):
        log = (tmp_path / f"l.{rank}").read_text()
        assert log.count("MPI_Barrier(") == 150 and "MPI_Finalize(" in log
        moments = {line.split(",")[2] for line in (tmp_path / f"s.{rank}.csv").read_text().splitlines()}
        assert moments == {"moment", "pcontrol", "finalize"}
        assert read(tmp_path / "t")[0][rank].calls()["MPI_Barrier"] == 150


# ---- Lost output ---------------------------------------------------------------------------------

@pytest.mark.parametrize("tool", TO_STDERR + ["trace,output=t:no_such_tool"])
def test_a_program_goes_on_when_nobody_reads_stderr(tmp_path, tool):
    check_unchanged(run_outputs(tool, "file", "init", "call", "finalize", wrapper=UNREAD, cwd=tmp_path,
                                env={"QMPI_ON_ERROR": "skip"}))


def test_a_nonblocking_stderr_gets_all_lines(tmp_path):
    fifo, lines = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    change = f"w = os.open({str(fifo)!r}, os.O_WRONLY | os.O_NONBLOCK); os.dup2(w, 2); os.close(w)"

    def read_lines():
        with os.fdopen(reader) as stream:
            lines.extend(stream)

    thread = threading.Thread(target=read_lines)
    writer = os.open(fifo, os.O_WRONLY)  # keeps the FIFO open until the program has opened it
    thread.start()
    try:
        check_unchanged(run_outputs("mpit:mpit:mpit", "init", "call", "finalize", cwd=tmp_path,
                                    wrapper=(sys.executable, "-c", EXEC.format(change))))
    finally:
        os.close(writer)
        thread.join()
    text = "".join(lines)
    assert len(text) > 3 << 16 and text.count("qmpi: control variables\n") == 3 and text.endswith("\n")
    assert all(line.startswith("qmpi: ") for line in lines)
    lists = re.split("(?m)^qmpi: mpit ", text)[1:]
    assert len({len(part.splitlines()) for part in lists}) == 1


def lost(result, reason):
    """Returns the number of messages that a file cannot be written for this reason. No message may appear twice."""
    lines = [line for line in result.messages if "cannot write" in line]
    assert all(reason in line for line in lines)
    assert len(set(lines)) == len(lines), lines
    return len(lines)


@pytest.mark.parametrize("tool, steps", [
    ("count,output=x", []), ("profile,output=x", []), ("profile,output=x,format=csv", []), ("mpit,output=x", []),
    ("mpit,csv=x.%r.csv,at=never:profile,output=/dev/null", ["call"]), ("trace,output=x,format=own", ["call"] * 20),
])
@pytest.mark.skipif(EMULATED, reason="an emulator writes a copy of /proc/self/maps, which exceeds the limit")
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_limit_on_the_size_of_files_is_reported_once_and_the_program_goes_on(tmp_path, ranks, tool, steps):
    result = run_outputs(tool, "init", "call", "small-files", *steps, "finalize", ranks=ranks, cwd=tmp_path)
    check_unchanged(result, ranks)
    assert lost(result, "File too large") == (ranks if tool.startswith(("mpit,csv", "trace")) else 1)


@pytest.mark.parametrize("tool", ["log,output=", "count,output=", "profile,output=", "mpit,output=",
                                  "mpit,at=never,csv=", "profile,checkpoint=1,output="])
def test_a_full_device_is_reported_once(tmp_path, tool):
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    result = run_outputs(tool + str(full), "init", "call", "call", "finalize", cwd=tmp_path)
    check_unchanged(result)
    assert lost(result, "No space left on device") == 1
    assert full.is_symlink() and os.listdir(tmp_path) == ["full"]


@pytest.mark.parametrize("tool, end", [("count,output=", "finalize"), ("count,output=", "fault"),
                                       ("mpit,output=", "finalize"), ("mpit,at=never,csv=", "finalize")])
def test_a_file_for_which_there_is_no_room_is_removed(tmp_path, tool, end):
    folder = tmp_path / "full"
    folder.mkdir()
    if os.geteuid() or os.system(f"mount -t tmpfs -o size=64k none {folder} 2>/dev/null"):
        pytest.skip("a small file system cannot be mounted")
    try:
        (folder / "fill").write_bytes(bytes(1 << 16))
        result = run_outputs(f"{tool}{folder}/x", "init", "call", end, cwd=tmp_path, env=FAULTS)
        assert sum("cannot write" in message for message in result.messages) == 1
        assert os.listdir(folder) == ["fill"]
    finally:
        os.system(f"umount {folder}")


def test_lost_lines_of_a_log_are_reported_when_a_signal_ends_the_process(tmp_path):
    result = run_outputs("log,output=/dev/full", "init", "call", "fault", cwd=tmp_path, env=FAULTS)
    assert result.returncode == -11 and "".join(result.messages).count("lines are missing at") == 1


@pytest.mark.parametrize("limit", ["few-descriptors", "few-for-ever"])
@pytest.mark.parametrize("kind", ["otf2", "perfetto"])
def test_a_trace_is_complete_when_no_descriptor_is_left(tmp_path, kind, limit):
    result = run_outputs(f"trace,output=t,format={kind}", limit, "init", "call", "use-up", "call", "finalize", ranks=2,
                         cwd=tmp_path)
    check_unchanged(result, 2)
    assert not result.messages
    for rank in range(2):
        assert read(tmp_path / "t")[0][rank].calls()["MPI_Barrier"] == 100
        size = {"otf2": lambda: (tmp_path / "t" / "traces" / f"{rank}.evt").stat().st_size,
                "perfetto": lambda: (tmp_path / "t" / f"rank-{rank}.perfetto-trace").stat().st_size}[kind]()
        assert size > 2000


@pytest.mark.parametrize("tool", ["count,output=x", "profile,output=x", "mpit,output=x"])
def test_a_file_is_written_when_no_descriptor_is_left(tmp_path, tool):
    result = run_outputs(tool, "few-descriptors", "init", "call", "use-up", "finalize", cwd=tmp_path)
    check_unchanged(result)
    assert not result.messages and (tmp_path / "x").stat().st_size > 500


def test_profile_finds_source_lines_when_no_descriptor_is_left(tmp_path):
    result = run_outputs("profile,output=x.json", "few-descriptors", "init", "call", "use-up", "finalize", cwd=tmp_path)
    check_unchanged(result)
    site, = [site for site in json.loads((tmp_path / "x.json").read_text())["callsites"] if site["name"] == "MPI_Barrier"]
    assert site["frames"][0]["file"].endswith("outputs.c")


# ---- Calls inside MPI_Finalize -------------------------------------------------------------------

LAST_CALLS = STEPS.with_name("tools_last_calls")
# The calls, apart from messages, of the function communicate in last_calls.c, which the main program and each of the
# two callbacks run once.
LAST_CALLED = {"MPI_Barrier": 3, "MPI_Allreduce": 2, "MPI_Comm_dup": 1, "MPI_Comm_free": 1, "MPI_Comm_rank": 1}


def calls_of_last_calls(rank):
    return {name: 3 * calls for name, calls in LAST_CALLED.items()} | {
        "MPI_Send" if rank == 0 else "MPI_Recv": 3, "MPI_Init": 1, "MPI_Finalize": 1, "MPI_Finalized": 2,
        "MPI_Comm_create_keyval": 2, "MPI_Comm_set_attr": 2}


def run_in_finalize(folder, *steps, program=LAST_CALLS, option=""):
    """Runs a program with four tools. Returns function -> number of calls, as found by count and by profile, over both
    ranks; then rank -> Process of the trace; and rank -> function -> number of calls, as found by log."""
    result = run_mpi(program, *steps, cwd=folder,
                     tools=f"log,output=log.%r:profile,output=profile.json,format=json{option}"
                           ":trace,output=t,format=own:count,output=count.json", env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert result.returncode == 0 and not result.messages
    counted = {name: function["calls"] for name, function in
               json.loads((folder / "count.json").read_text())["functions"].items()}
    profiled = {function["name"]: function["calls"] for function in
                json.loads((folder / "profile.json").read_text())["functions"]}
    traced, warnings = read(folder / "t")
    assert not warnings
    logged = {}
    for rank in range(2):
        logged[rank] = {}
        for name in re.findall(r"(MPI_\w+)\([^\n]*\) = (?:MPI_SUCCESS|<)?", (folder / f"log.{rank}").read_text()):
            logged[rank][name] = logged[rank].get(name, 0) + 1
    return counted, profiled, {rank: traced[rank] for rank in (0, 1)}, logged


def check_calls(found, of_rank):
    counted, profiled, traced, logged = found
    both = {name: sum(of_rank(rank).get(name, 0) for rank in (0, 1)) for name in of_rank(0) | of_rank(1)}
    assert counted == both and profiled == both
    for rank in (0, 1):
        assert logged[rank] == of_rank(rank) and traced[rank].calls() == of_rank(rank)


@pytest.mark.parametrize("option", ["", ",sync=yes"])
def test_all_tools_have_the_calls_that_callbacks_make_in_finalize(tmp_path, option):
    """MPI_Finalize first deletes the attributes of MPI_COMM_SELF, and calls their delete callbacks,
    including that of an attribute that was set immediately after MPI_Init."""
    found = run_in_finalize(tmp_path, option=option)
    check_calls(found, calls_of_last_calls)
    of_trace = {function["name"]: function["calls"] for function in json.loads(report("-f", "json", tmp_path / "t"))["functions"]}
    assert of_trace == found[1]
    for process in found[2].values():
        events = process.kinds("enter", "leave")
        names = [event["function"] for event in events]
        begin = names.index("MPI_Finalize")
        # The calls of the callbacks are within MPI_Finalize.
        assert names[-1] == "MPI_Finalize" and names.index("MPI_Finalized") > begin
        assert int(events[-1]["ticks"]) > int(events[begin]["ticks"])


def test_enter_and_leave_of_finalize_have_the_same_time_if_no_callback_makes_calls(tmp_path):
    found = run_in_finalize(tmp_path, "init", "barrier", "finalize", program=STEPS)
    check_calls(found, lambda rank: {"MPI_Init": 1, "MPI_Barrier": 1, "MPI_Finalize": 1})
    for process in found[2].values():
        events = process.kinds("enter", "leave")
        assert [event["function"] for event in events[-2:]] == ["MPI_Finalize", "MPI_Finalize"]
        assert events[-1]["ticks"] == events[-2]["ticks"]


@needs_sessions
def test_tools_report_in_finalize_although_a_session_is_still_open(tmp_path):
    """If a session is still open, MPICH deletes the attributes of MPI_COMM_SELF at the end of the session instead of in
    MPI_Finalize. At that time, the tools can no longer combine their results. So they report in MPI_Finalize, without
    waiting for the callbacks."""
    counted, profiled, traced, logged = run_in_finalize(
        tmp_path, "session_init", "init", "barrier", "finalize", "session_finalize", program=STEPS)
    called = {"MPI_Session_init": 1, "MPI_Init": 1, "MPI_Barrier": 1, "MPI_Finalize": 1}
    assert counted == profiled == {name: 2 for name in called}
    for rank, process in traced.items():
        assert process.calls() == called and process.traits["end"] == "1"
        assert logged[rank] == called | {"MPI_Session_finalize": 1}


def test_tools_report_although_a_lower_layer_does_not_pass_finalize_on(tmp_path):
    """MPI_Finalize does not reach the MPI library, so no callback is called. The tools report when the call returns."""
    result = run_mpi(STEPS, "init", "barrier", "finalize", cwd=tmp_path,
                     tools="profile,output=profile.json,format=json:trace,output=t,format=own:count,output=count.json"
                           ":keeps_finalize", env={"QMPI_TOOL_PATH": TOOL_PATH})
    assert result.returncode == 0 and not result.messages
    called = {"MPI_Init": 2, "MPI_Barrier": 2, "MPI_Finalize": 2}
    counted = json.loads((tmp_path / "count.json").read_text())["functions"]
    assert {name: function["calls"] for name, function in counted.items()} == called
    profiled = json.loads((tmp_path / "profile.json").read_text())["functions"]
    assert {function["name"]: function["calls"] for function in profiled} == called
    traced, warnings = read(tmp_path / "t")
    assert not warnings and {process.traits["end"] for process in traced.values()} == {"1"}
    for process in traced.values():
        assert process.calls() == {"MPI_Init": 1, "MPI_Barrier": 1, "MPI_Finalize": 1}


@pytest.mark.parametrize("tool, file", [("count,output=x", "x"), ("profile,output=x.json", "x.json")])
def test_a_process_that_ends_in_a_callback_reports_its_calls(tmp_path, tool, file):
    result = run_mpi(LAST_CALLS, "end", ranks=2, cwd=tmp_path, tools=tool, env={"QMPI_TOOL_PATH": BUNDLED_TOOLS},
                     ends=[0, 1])
    assert any("ended without MPI_Finalize (signal SIGTERM)" in line for line in result.messages), result.messages
    for rank in range(2):
        part = tmp_path / (file.replace(".json", f".{rank}.json") if "." in file else f"{file}.{rank}")
        assert "MPI_Allreduce" in part.read_text()


# ---- Floating point ------------------------------------------------------------------------------

@pytest.mark.parametrize("tool", [
    "log,array=9", "log,output=x,time=clock", "count", "profile", "profile,checkpoint=1", "mpit,csv=x",
    "trace,output=x", "trace,output=x,counters=qmpi.*,interval=0,format=perfetto,sites=yes",
    "delay,before=1ns-3ns,after=exp1ns", "delay,probability=0.5,noise=1us/10us,report=yes",
])
def test_calls_leave_no_flag_of_the_floating_point_environment_and_cause_no_trap(tmp_path, tool):
    steps = ["init", "no-flags", "call", "snapshot", "flags", "traps", "call", "snapshot", "inexact", "finalize"]
    bare = run_outputs(None, *steps)
    if bare.returncode or "flags: 0" not in bare.stdout:
        pytest.skip("this MPI library itself leaves flags, or causes a trap")
    result = run_outputs(tool, *steps, cwd=tmp_path)
    check_unchanged(result)
    assert "flags: 0\n" in result.stdout


def test_a_child_of_a_rank_does_not_take_the_place_of_the_rank(tmp_path):
    """The child makes the first MPI call, but does not initialize MPI."""
    tools = "count,output=count.json:profile,output=profile.json:trace,output=t,format=own:log,output=log"
    result = run_mpi(STEPS, "child", "init", "barrier", "finalize", cwd=tmp_path, tools=f"{tools}:count",
                     env={"QMPI_TOOL_PATH": TOOL_PATH})
    assert result.returncode == 0
    assert not any("without MPI_Finalize" in line or "another program" in line for line in result.messages)
    numbers = set(re.findall(r"process (\d+), which did not initialize MPI, has ended", "\n".join(result.messages)))
    assert len(numbers) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"count.json", "profile.json", "t", "log.0", "log.1"} | {
        name for number in numbers for name in (f"count.pid-{number}.json", f"profile.pid-{number}.json",
                                                f"log.pid-{number}", f"t.{socket.gethostname()}-{number}.qtrace")}
    for number in numbers:
        assert f"count (layer 5): MPI calls of process {number} alone, which did not initialize MPI" in result.messages
        saved = json.loads((tmp_path / f"count.pid-{number}.json").read_text())
        assert saved["pid"] == int(number) and "rank" not in saved
        assert "MPI_Initialized" in (tmp_path / f"log.pid-{number}").read_text()
    assert sorted(read(tmp_path / "t")[0]) == [0, 1]


@pytest.mark.parametrize("steps", [(), ("initialized",)], ids=["new", "open"])
def test_the_log_of_a_rank_that_a_program_has_started_has_the_rank(tmp_path, steps):
    """The parent is a shell into which libqmpi is preloaded. It has no MPI library, so it is not the rank itself."""
    result = run_mpi(STEPS, *steps, "init", "barrier", "finalize", cwd=tmp_path, tools="log,output=log",
                     wrapper=["sh", "-c", '"$@"; exit $?', "-"], env={"QMPI_TOOL_PATH": TOOL_PATH})
    assert (result.returncode, result.messages) == (0, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.0", "log.1"]
    for rank in (0, 1):
        text = (tmp_path / f"log.{rank}").read_text()
        assert ("MPI_Initialized" in text) == bool(steps) and "MPI_Finalize" in text


@pytest.mark.parametrize("steps", [(), ("initialized",)], ids=["new", "open"])
def test_the_log_of_a_child_that_initializes_mpi_has_the_rank(tmp_path, steps):
    """The file of the child has the process id in its name until MPI is initialized."""
    result = run_mpi(STEPS, "go_on_in_child", *steps, "init", "barrier", "finalize", cwd=tmp_path, tools="log,output=log",
                     env={"QMPI_TOOL_PATH": TOOL_PATH})
    assert (result.returncode, result.messages) == (0, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.0", "log.1"]
    for rank in (0, 1):
        text = (tmp_path / f"log.{rank}").read_text()
        assert ("MPI_Initialized" in text) == bool(steps) and "MPI_Finalize" in text
