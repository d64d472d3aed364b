# SPDX-License-Identifier: MIT
"""If a process ends without MPI_Finalize (but not by SIGKILL, _exit or the like), profile leaves a file, and the
process ends as it would without qmpi. A process that is killed leaves its last checkpoint, if there are checkpoints."""
import os
import re
import signal
import subprocess
import time

import pytest
from mpi_in_use import EMULATED
from profile_support import JSON, STEPS, calls, load, names, report, run_steps
from support import ASAN, LIBQMPI, OPEN_MPI, clean_environment

FINALIZING = STEPS.with_name("tools_finalizing")
# A program that opens and closes a library, and the library.
CLOSING = [STEPS.with_name("tools_closing"), STEPS.with_name("libtools_finalizing.so")]
WORK = ["init", "barrier", "rank"]
WITHOUT_MEMORY = pytest.mark.skipif(ASAN != "" or EMULATED,
                                    reason="sanitizers and emulators need address space of their own")
# For stacks that use MPI_T for the first time without memory. The tool mpit initializes MPI_T earlier.
MPI_T_NEEDS_MEMORY = pytest.mark.skipif(OPEN_MPI,
                                        reason="without memory, Open MPI crashes in MPI_T_init_thread")

# Switches off the handlers of a sanitizer. They would report faults and end the process in another way.
FAULTS = {"ASAN_OPTIONS": clean_environment()["ASAN_OPTIONS"] +
          ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0"}


def run_alone(tmp_path, *steps, termination, status, options=""):
    """Runs one process, and checks that it ends in the given way and leaves a file that `qmpi report` can read."""
    result = run_steps(*WORK, *steps, cwd=tmp_path, ranks=1, tools=f"profile{options}", env=FAULTS)
    assert result.returncode == status
    assert names(tmp_path) == ["qmpi-profile.0.json"]
    saved = load(tmp_path / "qmpi-profile.0.json")
    assert (saved["rank"], saved["ranks"], saved["ending"]) == (0, 1, termination)
    assert calls(saved)["MPI_Barrier"] == 1
    assert any("qmpi-profile.0.json" in line and termination in line for line in result.messages)
    assert "MPI_Barrier" in report(tmp_path / "qmpi-profile.0.json")
    return result


def test_a_process_that_calls_exit_leaves_a_file(tmp_path):
    run_alone(tmp_path, "exit=3", termination="exit", status=3)


def test_a_process_that_returns_from_main_leaves_a_file(tmp_path):
    run_alone(tmp_path, termination="exit", status=0)


@pytest.mark.parametrize("end, status", [
    ("exit=3", 3), ("abort=5", 5), (f"raise={int(signal.SIGTERM)}", -signal.SIGTERM), ("fault", -signal.SIGSEGV)])
def test_the_peak_of_memory_before_the_end_is_reported(tmp_path, end, status):
    """The peak is reported, although the process uses less memory at its end. The copy of the process that may write
    the file also uses less."""
    result = run_steps("init", "use_memory=100", end, cwd=tmp_path, ranks=1, tools=JSON, env=FAULTS)
    assert result.returncode == status
    used = int(re.search(r"(?m)^peak (\d+)$", result.stdout)[1])
    process, = load(tmp_path / "out.0.json")["processes"]
    assert 100 << 20 <= used <= process["memory"] < used + (100 << 20)


@WITHOUT_MEMORY
@pytest.mark.parametrize("tools", [
    "profile", "profile,depth=4", "trace,output=trace,sites=yes", "count", "mpit", "log,caller=yes,output=log",
    "profile:trace,output=trace:count"])
def test_a_program_that_has_used_up_its_memory_goes_on(tmp_path, tools):
    """The tools have no room to store the calls, call sites and regions that appear after the memory is used up."""
    regions = [step for number in range(200) for step in (f"region=r{number}", "rank", f"end=r{number}")]
    result = run_steps("init", "barrier", "use_up_memory", *regions, "bcast", "lift_limit", "finalize", cwd=tmp_path,
                       tools=tools, ranks=1)
    assert result.returncode == 0
    lost = [line for line in result.messages if "out of memory" in line]
    assert len(lost) <= 1 and ("profile" not in tools or lost)


@WITHOUT_MEMORY
@pytest.mark.parametrize("tools", ["count:profile:trace,output=trace:count", "mpit:profile,depth=4:count", "libaddress:libaddress:count"])
def test_layers_can_be_switched_again_after_a_lack_of_memory(tmp_path, tools):
    """Without memory, a layer is switched, or stays as it is. When there is memory again, each switch succeeds."""
    steps = [f"{step}={layer}" for step in ("layer_off", "layer_on") for layer in range(1, 4)]
    result = run_steps("init", "barrier", "use_up_memory", *steps, "rank", *steps, "rank", "lift_limit", *steps, "bcast",
                       "finalize", cwd=tmp_path, tools=tools, ranks=1)
    assert result.returncode == 0
    results = re.findall(r"(?m)^switched (-?\d+)$", result.stdout)
    assert len(results) == 3 * len(steps)
    assert set(results[2 * len(steps):]) == {"0"}


@WITHOUT_MEMORY
@pytest.mark.parametrize("tools", [
    pytest.param("count:profile:trace,output=trace", marks=MPI_T_NEEDS_MEMORY), "mpit",
    pytest.param("delay,before=1us", marks=MPI_T_NEEDS_MEMORY)])
def test_a_program_without_memory_that_lists_variables_continues(tmp_path, tools):
    """The program continues. Variables that cannot be published for lack of memory may be missing."""
    result = run_steps("init", "barrier", "use_up_memory", "variables", "rank", "variables", "lift_limit", "variables",
                       "bcast", "finalize", cwd=tmp_path, tools=tools, ranks=1)
    assert result.returncode == 0
    assert len(re.findall(r"(?m)^variables", result.stdout)) == 3


@pytest.mark.parametrize("program", [[FINALIZING], CLOSING], ids=["at exit", "when it is closed"])
@pytest.mark.parametrize("tools", [JSON, f"{JSON},checkpoint=1", "count,output=out.json", "trace,output=out.json",
                                   "trace,output=out.json,sites=yes,format=perfetto"])
def test_a_library_of_the_program_finalizes_mpi_in_a_destructor(tmp_path, tools, program):
    """The destructor runs after those of the tools, which are loaded later than the library; or it runs in dlclose,
    while the loader holds a lock for which the threads of the tools must not wait."""
    result = run_steps(*program[1:], cwd=tmp_path, program=program[0], tools=tools, timeout=60)
    assert result.returncode == 0 and result.messages == []
    assert names(tmp_path) == ["out.json"]
    if not tools.startswith("trace"):
        functions = load(tmp_path / "out.json")["functions"]
        calls = {row["name"]: row["calls"] for row in functions} if isinstance(functions, list) else {
            name: row["calls"] for name, row in functions.items()}
        assert calls["MPI_Barrier"] == calls["MPI_Finalize"] == 2


def test_a_process_that_aborts_leaves_a_file(tmp_path):
    run_alone(tmp_path, "abort=5", termination="MPI_Abort", status=5)


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGABRT", "SIGFPE", "SIGSEGV",
                                  "SIGBUS", "SIGTERM", "SIGUSR2", "SIGXCPU", "SIGALRM", "SIGPIPE"])
def test_a_process_that_a_signal_ends_leaves_a_file(tmp_path, name):
    number = getattr(signal, name)
    run_alone(tmp_path, f"raise={int(number)}", termination=f"signal {name}", status=-number)


def test_a_process_with_a_fault_leaves_a_file(tmp_path):
    run_alone(tmp_path, "fault", termination="signal SIGSEGV", status=-signal.SIGSEGV)


def test_a_process_whose_stack_overflows_leaves_a_file(tmp_path):
    run_alone(tmp_path, "fall", termination="signal SIGSEGV", status=-signal.SIGSEGV)


@pytest.mark.skipif(ASAN != "", reason="a sanitizer has a heap of its own")
def test_a_process_whose_heap_is_damaged_leaves_a_file(tmp_path):
    run_alone(tmp_path, "break_heap", termination="signal SIGABRT", status=-signal.SIGABRT)


def test_a_process_with_a_checkpoint_thread_leaves_a_file_after_a_signal(tmp_path):
    run_alone(tmp_path, "raise=15", termination="signal SIGTERM", status=-15, options=",checkpoint=1")


def test_the_applications_own_handlers_see_their_signals(tmp_path):
    for number in (signal.SIGTERM, signal.SIGSEGV):
        result = run_steps(f"handler={int(number)}", *WORK, f"raise={int(number)}", "finalize",
                           cwd=tmp_path, ranks=1)
        assert result.returncode == 0
        assert result.trace == [f"own handler {int(number)}"]
    assert names(tmp_path) == []


def test_a_handler_that_is_installed_after_init_replaces_that_of_profile(tmp_path):
    result = run_alone(tmp_path, "exiting_handler=15", "raise=15", termination="exit", status=7)
    assert result.trace == ["own handler 15"]


def test_a_signal_after_finalize_leaves_no_file(tmp_path):
    result = run_steps(*WORK, "finalize", "raise=15", cwd=tmp_path, ranks=1)
    assert result.returncode == -15
    assert names(tmp_path) == []


def test_a_forked_child_reports_nothing(tmp_path):
    for how in ("", f"={int(signal.SIGTERM)}"):
        result = run_steps(*WORK, f"fork{how}", "finalize", cwd=tmp_path, ranks=1)
        assert result.returncode == 0
        assert names(tmp_path) == []
        assert sum("1 rank" in line for line in result.messages) == 1


def test_a_process_that_does_not_initialize_mpi_reports_too(tmp_path):
    run_steps("initialized", cwd=tmp_path, ranks=1)
    assert calls(load(tmp_path / "qmpi-profile.0.json")) == {"MPI_Initialized": 1}


def test_each_rank_leaves_a_file_of_its_own(tmp_path):
    # The processes sleep, because a rank that started after the other one has ended might count as another program.
    run_steps("initialized", "sleep=500", cwd=tmp_path, tools=JSON)
    assert names(tmp_path) == ["out.0.json", "out.1.json"]
    assert [load(tmp_path / f"out.{rank}.json")["rank"] for rank in (0, 1)] == [0, 1]


def test_files_of_single_processes_are_json_with_any_value_of_format(tmp_path):
    run_steps("initialized", cwd=tmp_path, ranks=1, tools="profile,output=out.csv,format=csv")
    assert names(tmp_path) == ["out.csv.0.json"]
    load(tmp_path / "out.csv.0.json")


def test_both_layers_leave_their_files(tmp_path):
    result = run_steps(*WORK, "raise=15", cwd=tmp_path, ranks=1, tools="profile:profile,depth=3")
    assert result.returncode == -15
    assert names(tmp_path) == ["qmpi-profile.1.0.json", "qmpi-profile.2.0.json"]


@pytest.mark.parametrize("end, status", [("exit=3", 3), ("raise=15", -15), ("abort=5", 5)])
@pytest.mark.parametrize("path, reason", [("%r.json", "No space left on device"),
                                          ("/no/such/folder/x.%r", "No such file or directory")])
def test_a_process_that_cannot_write_its_file_says_so_and_ends_as_usual(tmp_path, end, status, path,
                                                                       reason):
    (tmp_path / "0.json").symlink_to("/dev/full")
    result = run_steps(*WORK, end, cwd=tmp_path, ranks=1, tools=f"profile,output={path}")
    assert result.returncode == status
    assert any("cannot be saved" in line and reason in line for line in result.messages)
    assert names(tmp_path) == ["0.json"]


def test_a_snapshot_that_cannot_be_written_is_reported_and_the_program_goes_on(tmp_path):
    result = run_steps("init", "level=2", "barrier", "finalize", cwd=tmp_path, ranks=1,
                       tools="profile,output=/no/such/folder/x")
    assert result.returncode == 0
    said = [line for line in result.messages if "MPI_Pcontrol(2)" in line]
    assert len(said) == 1 and said[0].startswith(
        "profile (layer 1): rank 0: MPI_Pcontrol(2): cannot write /no/such/folder/x.0.snapshot-1")


def start(*steps, cwd, tools, new_session=False):
    """Starts a separate process, which the test can signal while it runs."""
    environment = {**clean_environment(), "LD_PRELOAD": ":".join(filter(None, [ASAN, str(LIBQMPI)])),
                   "QMPI_TOOL_PATH": str(LIBQMPI.parent.parent / "tools"), "QMPI_TOOLS": tools,
                   "OMPI_MCA_ess_singleton_isolated": "1"}
    return subprocess.Popen([STEPS, *steps], cwd=cwd, env=environment, text=True,
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            start_new_session=new_session)


def test_a_checkpoint_that_cannot_be_written_is_reported_once(tmp_path):
    process = start(*WORK, "await=go", "finalize", cwd=tmp_path,
                    tools="profile,checkpoint=1,output=/no/such/folder/x")
    first = process.stderr.readline()  # the program waits until the message is printed
    (tmp_path / "go").touch()
    _, rest = process.communicate(timeout=60)
    assert first.startswith(
        "qmpi: profile (layer 1): rank 0: no checkpoint: cannot write /no/such/folder/x.0")
    assert process.returncode == 0 and "no checkpoint" not in rest


@pytest.mark.parametrize("end, status", [("exit=3", 3), ("raise=15", -15), ("abort=5", 5)])
@pytest.mark.parametrize("checkpoint", ["", ",checkpoint=1"])
def test_files_are_named_after_the_process_itself(tmp_path, end, status, checkpoint):
    """%p is the ID of the process even if a copy of the process writes the file, with or without checkpoints."""
    process = start(*WORK, *(["await_pid=pid-"] if checkpoint else []), end, cwd=tmp_path,
                    tools=f"profile,output=pid-%p,format=json{checkpoint}")
    process.communicate(timeout=60)
    assert process.returncode == status
    assert names(tmp_path) == [f"pid-{process.pid}"]
    assert load(tmp_path / f"pid-{process.pid}")["ending"] != "checkpoint"


def test_the_ranks_that_are_killed_with_an_aborting_one_have_their_checkpoints(tmp_path):
    result = run_steps("init", "barrier", "late=60000", "await=out.1.json", "abort=5", cwd=tmp_path,
                       tools=f"{JSON},checkpoint=1")
    assert result.returncode == 5
    # Open MPI's launcher may kill the second rank while it is replacing its checkpoint.
    whole = [name for name in names(tmp_path) if not re.fullmatch(r"out\.1\.json\.\d+\.tmp", name)]
    assert whole == ["out.0.json", "out.1.json"]
    first, second = (load(tmp_path / f"out.{rank}.json") for rank in (0, 1))
    assert first["ending"] == "MPI_Abort"
    assert second["ending"] in ("checkpoint", "signal SIGTERM")
    assert calls(second)["MPI_Barrier"] == 1


def test_a_killed_process_in_a_long_computation_has_its_checkpoint(tmp_path):
    process = start(*WORK, "sleep=60000", cwd=tmp_path, tools="profile,checkpoint=1")
    try:
        path = tmp_path / "qmpi-profile.0.json"
        end = time.monotonic() + 120
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    saved = load(path)
    assert saved["ending"] == "checkpoint" and calls(saved)["MPI_Barrier"] == 1
    assert "MPI_Barrier" in report(path)


def test_checkpoints_are_removed_after_mpi_finalize(tmp_path):
    result = run_steps("init", "await=out.0.json", "await=out.1.json", "barrier", "finalize",
                       cwd=tmp_path, tools=f"{JSON},checkpoint=1")
    assert result.returncode == 0 and result.messages == []
    assert names(tmp_path) == ["out.json"]


def test_a_result_with_the_name_of_a_checkpoint_is_not_removed(tmp_path):
    result = run_steps("init", "await=0.json", "await=1.json", "barrier", "finalize", cwd=tmp_path,
                       tools="profile,output=%r.json,format=json,checkpoint=1")
    assert result.returncode == 0
    assert names(tmp_path) == ["0.json"]
    assert load(tmp_path / "0.json")["ranks"] == 2


def test_the_data_are_saved_if_the_signal_is_sent_to_the_process_group_again(tmp_path):
    """At a time limit, batch systems send the signal repeatedly, while a copy of the process is still writing data."""
    process = start(*WORK, "sleep=60000", cwd=tmp_path, tools=f"{JSON},checkpoint=1", new_session=True)
    saved = tmp_path / "out.0.json"
    while process.poll() is None and not saved.exists():
        time.sleep(0.01)
    while process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        time.sleep(0.001)
    assert process.returncode == -signal.SIGTERM
    assert names(tmp_path) == [saved.name] and load(saved)["ending"] == "signal SIGTERM"
    assert "could not be saved" not in process.stderr.read()
