# SPDX-License-Identifier: MIT
"""Jobs in which ranks differ: in their stacks, in their programs, in their errors, or in whether
they have libqmpi.

No such job hangs: a tool works with the processes that have it, and an error in one process ends
the job with the message of this process.
"""
import json
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from support import (ASAN, BUNDLED_TOOLS, HAS_SESSIONS, LIBQMPI, MPI_NAME, MPICC, MPIEXEC, OPEN_MPI, QMPI, YIELDING,
                     can_spawn, clean_environment, launch, program, run_mpi, tool)

RANK = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
# The argument with which libqmpi calls MPI_Abort. A launcher that can be reached ends the job with this status.
STATUS = 2


def by_rank(**settings):
    """Returns a command that sets variables in single ranks. For example, rank0="A=b" sets A in rank
    0. An empty string unsets LD_PRELOAD."""
    cases = []
    for name, setting in settings.items():
        command = f"export {setting}" if setting else "unset LD_PRELOAD"
        cases.append(f"{name.removeprefix('rank')}) {command} ;;")
    return ["sh", "-c", f"case {RANK} in {' '.join(cases)} esac; exec \"$@\"", "-"]


def run(*steps, ranks=2, tools="count", cwd=None, env=None, ends=None, **settings):
    return run_mpi("calls", "init", *steps, "finalize", ranks=ranks, tools=tools, cwd=cwd, ends=ends,
                   wrapper=by_rank(**settings), timeout=60,
                   env={"QMPI_TOOL_PATH": BUNDLED_TOOLS, **(env or {})})


def messages(result):
    return [line for line in result.stderr.splitlines() if line.startswith("qmpi:")]


def damaged(folder):
    """Creates a directory with a truncated tool `count`."""
    folder.mkdir()
    content = (BUNDLED_TOOLS / "count.so").read_bytes()
    (folder / "count.so").write_bytes(content[:1000])
    return folder


# ---- Spawned processes -------------------------------------------------------------------------------------

def child(tools, **env):
    """Returns a shell command that starts the spawned program under a stack of its own."""
    settings = {"LD_PRELOAD": ":".join(map(str, ([ASAN] if ASAN else []) + [LIBQMPI])), "QMPI_TOOLS": tools,
                "QMPI_TOOL_PATH": BUNDLED_TOOLS, **env}
    return " ".join(["exec", "env", *(f"{name}={value}" for name, value in settings.items()),
                     str(program("spawn_commands"))])


def run_parents(folder, *children):
    if not can_spawn("spawn_commands", f"exec {program('spawn_commands')}"):
        pytest.skip("this MPI library spawns no processes here")
    result = run_mpi("spawn_commands", *children, tools="count,output=parents", cwd=folder, timeout=60, ends=[],
                     env={"QMPI_TOOL_PATH": BUNDLED_TOOLS}, preload=[LIBQMPI])
    return result.returncode, result.stdout + result.stderr + result.launcher


@pytest.mark.parametrize("wrong", ["cuont", "/no/such/directory/tool.so", "damaged/count.so"])
@pytest.mark.parametrize("which", [[0], [1], [0, 1]], ids=["first", "second", "both"])
def test_an_error_of_a_spawned_process_ends_the_job(which, wrong, tmp_path):
    """The parents wait for the children in MPI. The parents must end too, although they are another job."""
    damaged(tmp_path / "damaged")
    wrong = wrong.replace("damaged", str(tmp_path / "damaged"))
    status, text = run_parents(tmp_path, *(child(wrong if i in which else "count,output=children") for i in range(2)))
    assert status != 0, text  # the launcher kills the parents
    assert text.count(f"QMPI_TOOLS, entry 1 '{wrong}': ") == 1, text
    assert "was spawned" not in text


@pytest.mark.parametrize("which", [[0], [1], [0, 1]], ids=["first", "second", "both"])
def test_a_spawned_process_runs_on_without_a_tool_if_errors_are_skipped(which, tmp_path):
    damaged(tmp_path / "damaged")
    wrong = tmp_path / "damaged/count.so"
    status, text = run_parents(tmp_path, *(child(wrong if i in which else "count,output=children",
                                                 QMPI_ON_ERROR="skip") for i in range(2)))
    assert status == 0, text
    assert text.count(f"QMPI_TOOLS, entry 1 '{wrong}': ") == 1 and "the run continues without this layer" in text, text
    assert text.count("was spawned\n") == 2
    assert (tmp_path / "children").exists() == (which != [0, 1]) and (tmp_path / "parents").exists()


# ---- Errors ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("first", [["init"], ["initialized", "init"], ["init_thread"]])
def test_an_error_that_rank_0_does_not_have_is_printed_and_ends_the_job(first):
    result = run_mpi("calls", *first, "barrier", "finalize", tools="count", timeout=60,
                     env={"QMPI_TOOL_PATH": BUNDLED_TOOLS}, wrapper=by_rank(rank1="QMPI_TOOLS=cuont"))
    assert result.returncode == STATUS
    assert len(re.findall(r"^qmpi: rank 1 on \S+: QMPI_TOOLS, entry 1 'cuont': no such tool$", result.stderr,
                          re.MULTILINE)) == 1
    assert "did you mean 'count'?" in result.stderr
    assert "barrier" not in result.stdout


def test_an_error_of_rank_0_alone_ends_the_job():
    result = run("barrier", rank0="QMPI_TOOLS=cuont")
    assert result.returncode == STATUS
    assert result.stderr.count("qmpi: QMPI_TOOLS, entry 1 'cuont': no such tool") == 1
    assert "barrier" not in result.stdout


def test_an_error_of_all_ranks_is_printed_once_without_a_rank():
    result = run(tools="cuont", ranks=3)
    assert [rank.returncode for rank in result.ranks] == [2, 2, 2]
    assert result.stderr.count("no such tool") == 1
    assert messages(result)[0] == "qmpi: QMPI_TOOLS, entry 1 'cuont': no such tool"


def test_each_distinct_error_is_printed_once_for_the_ranks_that_have_it():
    result = run(ranks=4, rank1="QMPI_TOOLS=cuont", rank2="QMPI_TOOLS=empyt", rank3="QMPI_TOOLS=cuont")
    assert result.returncode == STATUS
    assert len(re.findall(r"^qmpi: ranks 1, 3 \(rank 1 is on \S+\): .*'cuont': no such tool", result.stderr,
                          re.MULTILINE)) == 1
    assert len(re.findall(r"^qmpi: rank 2 on \S+: .*'empyt': no such tool", result.stderr, re.MULTILINE)) == 1
    assert result.stderr.count("no such tool") == 2


@pytest.mark.skipif(not HAS_SESSIONS, reason="this MPI library has no sessions")
def test_a_program_that_opens_a_session_instead_of_calling_mpi_init_does_not_run_without_its_tools():
    result = run_mpi("calls", "initialized", "session_init", "get_version", "session_finalize", tools="count",
                     env={"QMPI_TOOL_PATH": BUNDLED_TOOLS}, wrapper=by_rank(rank1="QMPI_TOOLS=cuont"), timeout=60)
    assert result.returncode == STATUS
    assert len(re.findall(r"^qmpi: rank 1 on \S+: QMPI_TOOLS, entry 1 'cuont': no such tool$", result.stderr,
                          re.MULTILINE)) == 1
    assert "get_version" not in result.stdout


@pytest.mark.skipif(not OPEN_MPI, reason="other MPI libraries use the descriptor themselves")
@pytest.mark.parametrize("tools", ["count", "cuont"])
def test_a_descriptor_that_another_launcher_named_is_left_alone(tools):
    """The program has the variables of an MPICH job, as if a process of that job had started it. In the
    program, however, the number in PMI_FD belongs to another descriptor."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        environment = clean_environment() | {
            "PMI_RANK": "0", "PMI_SIZE": "2", "PMI_FD": str(theirs.fileno()), "HYDI_CONTROL_FD": "100",
            "LD_PRELOAD": str(LIBQMPI), "QMPI_TOOL_PATH": str(BUNDLED_TOOLS), "QMPI_TOOLS": tools}
        done = subprocess.run([program("calls"), "init", "barrier", "finalize"], env=environment, timeout=60,
                              pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        assert done.returncode == (0 if tools == "count" else 2), done.stderr
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            ours.recv(100)


@pytest.mark.skipif(bool(ASAN), reason="a sanitizer reports faults in its own way")
def test_a_tool_that_crashes_on_one_rank_ends_the_job():
    # Open MPI's launcher ends the job only when it learns that rank 1 has ended: see job.py.
    result = run("barrier", rank1=f"QMPI_TOOLS={tool('dies')}", ends={1} if OPEN_MPI else None)
    assert result.returncode == STATUS
    assert len(re.findall(r"^qmpi: rank 1 on \S+: .*: terminated by SIG\w+ while it was loaded or initialized$",
                          result.stderr, re.MULTILINE)) == 1


# ---- Hydra with -pmi-port ------------------------------------------------------------------------------------

def run_by_port(setting, rank, *, tools="count"):
    """Runs two ranks that connect to the launcher through its port. The setting applies to `rank`
    only; an empty one unsets LD_PRELOAD. Returns the completed process and its run time."""
    change = f"export {setting}" if setting else "unset LD_PRELOAD"
    script = f'if [ "$PMI_ID" = {rank} ]; then {change}; fi; export LD_PRELOAD; exec "$@"'
    environment = clean_environment() | {"QMPI_TOOLS": tools, "QMPI_TOOL_PATH": str(BUNDLED_TOOLS)}
    start = time.monotonic()
    done = subprocess.run([MPIEXEC, "-pmi-port", "-n", "2", "sh", "-c", f"LD_PRELOAD={LIBQMPI}; {script}", "-",
                           program("calls"), "init", "barrier", "finalize"], env=environment, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done, time.monotonic() - start


BY_PORT = pytest.mark.skipif(OPEN_MPI or MPI_NAME != "mpich", reason="only Hydra has the option -pmi-port")


@BY_PORT
@pytest.mark.skipif(bool(ASAN), reason="a sanitizer reports faults in its own way")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_tool_that_crashes_on_one_rank_ends_a_job_with_a_port(rank):
    done, _ = run_by_port(f"QMPI_TOOLS={tool('dies')}", rank)
    assert done.returncode == STATUS
    assert len(re.findall(r"terminated by SIG\w+ while it was loaded or initialized$", done.stderr, re.MULTILINE)) == 1


@BY_PORT
@pytest.mark.skipif(bool(ASAN), reason="a sanitizer reports faults in its own way")
@pytest.mark.parametrize("host", ["elsewhere.invalid", "localhost"])
@pytest.mark.parametrize("rank", [0, 1])
def test_the_host_of_the_port_may_have_any_name(host, rank):
    """Hydra's proxy runs on the same host, even if the name in PMI_PORT cannot be resolved."""
    done, _ = run_by_port(f"PMI_PORT={host}:${{PMI_PORT##*:}} QMPI_TOOLS={tool('dies')}", rank)
    assert done.returncode == STATUS
    assert done.stderr.count("while it was loaded or initialized") == 1
    assert "does not answer" not in done.stderr


@BY_PORT
@pytest.mark.skipif(bool(ASAN), reason="a sanitizer reports faults in its own way")
# 192.0.2.1 is reserved for documentation (RFC 5737), so no host answers there.
@pytest.mark.parametrize("port", ["elsewhere.invalid:1", "192.0.2.1:9", "nowhere"])
def test_a_job_ends_even_if_the_port_does_not_answer(port):
    done, _ = run_by_port(f"PMI_PORT={port} QMPI_TOOLS={tool('dies')}", 1)
    assert done.returncode not in (0, STATUS)
    assert done.stderr.count("while it was loaded or initialized") == 1
    assert len(re.findall(rf"^qmpi: rank 1 on \S+: the launcher does not answer at PMI_PORT={re.escape(port)}, so that the job "
                          "cannot be aborted; this process ends by SIGKILL, which ends the job$", done.stderr,
                          re.MULTILINE)) == 1


@BY_PORT
@pytest.mark.parametrize("rank", [0, 1])
def test_the_launcher_tells_which_ranks_have_libqmpi_in_a_job_with_a_port(rank):
    """If the launcher did not tell this, the rank with libqmpi would wait ten seconds for the other one."""
    done, seconds = run_by_port("", rank)
    assert done.returncode == 0
    assert f"qmpi:   rank {rank}: no libqmpi, or no tools" in done.stderr
    assert seconds < 9


def test_with_skip_the_message_of_another_rank_is_printed_and_the_run_goes_on(tmp_path):
    result = run("barrier", env={"QMPI_ON_ERROR": "skip"}, rank1=f"QMPI_TOOL_PATH={damaged(tmp_path / 'broken')}")
    assert result.returncode == 0
    assert len(re.findall(r"^qmpi: rank 1 on \S+: .*'count': .*the file is truncated$", result.stderr,
                          re.MULTILINE)) == 1
    assert "qmpi:   the run continues without this layer (QMPI_ON_ERROR=skip)" in result.stderr
    assert "count (layer 1): MPI calls of 1 rank" in result.stderr


# ---- Stacks ------------------------------------------------------------------------------------------------

def calls_of(path):
    counted = json.loads(path.read_text(encoding="utf-8"))
    return counted["ranks"], counted["functions"]["MPI_Barrier"]["calls"]


@pytest.mark.parametrize("alone", [0, 1])
@pytest.mark.parametrize("name", ["count", "profile", "trace"])
def test_a_tool_of_one_rank_alone_does_not_wait_for_the_others(name, alone, tmp_path):
    result = run("barrier", "barrier", tools=name, cwd=tmp_path, **{f"rank{1 - alone}": ""})
    assert result.returncode == 0
    said = messages(result)
    assert said[0] == ("qmpi: the processes of this job have different tools, and each tool covers only the "
                       "processes that have it")
    assert f"qmpi:   rank {alone}: {name}" in said
    assert f"qmpi:   rank {1 - alone}: no libqmpi, or no tools" in said
    if name == "trace":
        assert [path.name for path in tmp_path.glob("qmpi-trace/*.qtrace")] == [f"rank-{alone}.qtrace"]
    else:
        assert f"qmpi: {name} (layer 1): " in result.stderr


@pytest.mark.parametrize("absent", [(0,), (1,), (0, 1), (0, 1, 2), (1, 3), (2, 4), (0, 2, 3)])
def test_any_of_the_processes_may_lack_libqmpi(absent, tmp_path):
    result = run("barrier", ranks=5, tools="count,output=calls.json", cwd=tmp_path,
                 **{f"rank{rank}": "" for rank in absent})
    assert result.returncode == 0
    assert calls_of(tmp_path / "calls.json") == (5 - len(absent), 5 - len(absent))
    assert result.stderr.count("have different tools") == 1


def test_each_stack_of_a_job_reports_for_its_processes(tmp_path):
    result = run("barrier", ranks=3, tools="count,output=a.json", cwd=tmp_path,
                 rank2="QMPI_TOOLS=empty:count,output=b.json")
    assert result.returncode == 0
    assert calls_of(tmp_path / "a.json") == (2, 2)
    assert calls_of(tmp_path / "b.json") == (1, 1)
    assert "qmpi:   ranks 0-1: count" in messages(result)
    assert "qmpi:   rank 2: empty:count" in messages(result)


def test_a_common_layer_of_different_stacks_reports_for_all(tmp_path):
    result = run("barrier", ranks=3, tools="empty:count,output=all.json:count,output=two.json", cwd=tmp_path,
                 rank1="QMPI_TOOLS=count,output=all.json")
    assert result.returncode == 0
    assert calls_of(tmp_path / "all.json") == (3, 3)
    assert calls_of(tmp_path / "two.json") == (2, 2)


def test_stacks_in_another_order_do_not_wait_for_each_other(tmp_path):
    one, two = "count,output=one-%t.json", "count,output=two-%t.json"
    result = run("barrier", tools=f"{one}:{two}", cwd=tmp_path, rank1=f"QMPI_TOOLS={two}:{one}")
    assert result.returncode == 0
    assert sum(calls_of(path)[1] for path in tmp_path.glob("*.json")) == 4


@pytest.mark.parametrize("option", ["sync"])
def test_options_that_wait_for_other_processes_are_off_if_some_processes_lack_the_layer(option):
    result = run("barrier", tools=f"profile,{option}=yes", rank1="")
    assert result.returncode == 0
    assert result.stderr.count(f"profile (layer 1): {option}=yes has no effect, because some processes of the job "
                               "do not have this layer") == 1


def test_a_tool_of_the_site_that_one_node_cannot_load_does_not_hang_the_job(tmp_path):
    """The site's file has on-error = skip, so that the layer is left out where it cannot be loaded."""
    site = tmp_path / "site.conf"
    site.write_text("[below]\non-error = skip\ncount\n", encoding="utf-8")
    result = run("barrier", tools=None, env={"QMPI_CONFIG": site},
                 rank1=f"QMPI_TOOL_PATH={damaged(tmp_path / 'broken')}")
    assert result.returncode == 0
    assert "qmpi: count (layer 1): MPI calls of 1 rank" in result.stderr
    assert "the file is truncated" in result.stderr
    assert "qmpi:   rank 1: no tools" in messages(result)


WRAPS_BARRIER = "#include <mpi.h>\nint MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }\n"


@pytest.mark.parametrize("name", ["one\nLine", "one\nSecond", "one\1two"])
def test_names_of_tools_may_contain_control_characters(name, tmp_path):
    (tmp_path / "tool.c").write_text(WRAPS_BARRIER)
    library = tmp_path / f"lib{name}.so"
    subprocess.run([MPICC, "-shared", "-fPIC", "-o", library, tmp_path / "tool.c"], check=True)
    result = run("barrier", tools=library, rank1="")
    assert result.returncode == 0
    shown = name.replace("\n", r"\n").replace("\1", r"\x01")
    assert f"qmpi:   rank 0: {shown}" in messages(result)


def test_layers_whose_options_differ_after_a_control_character_report_separately(tmp_path):
    result = run("barrier", tools="count,output=a\1b", rank1="QMPI_TOOLS=count,output=a\1c", cwd=tmp_path)
    assert result.returncode == 0
    assert calls_of(tmp_path / "a\1b") == calls_of(tmp_path / "a\1c") == (1, 1)
    assert r"qmpi:   rank 1: count,output=a\x01c" in messages(result)


def test_layers_with_other_options_on_some_ranks_are_listed_with_them(tmp_path):
    result = run("barrier", tools="empty:profile,sync=yes,output=a.json", rank1="QMPI_TOOLS=empty:profile,output=a.json",
                 ranks=3, cwd=tmp_path)
    assert result.returncode == 0
    assert "qmpi: profile (layer 2): sync=yes has no effect, because some processes of the job do not have this layer " \
        "with the same options" in messages(result)
    assert "qmpi: the processes of this job have different tools or options of tools, and each tool covers only the " \
        "processes that have it with the same options" in messages(result)
    assert "qmpi:   ranks 0, 2: empty:profile,sync=yes,output=a.json" in messages(result)
    assert "qmpi:   rank 1: empty:profile,output=a.json" in messages(result)


def test_equal_stacks_are_not_mentioned():
    assert "different" not in run("barrier", ranks=3).stderr


# ---- Waiting -----------------------------------------------------------------------------------------------

def test_a_message_names_the_ranks_for_which_a_tool_waits_at_the_end(tmp_path):
    """Rank 1 calls MPI_Finalize only after rank 0 has printed the message."""
    wrapper = f"""case {RANK} in
    0) "$@" 2>&1 | while read line; do echo "$line"; case "$line" in *waiting*) touch said ;; esac; done ;;
    1) exec "$1" init barrier await=said finalize ;;
    *) exec "$@" ;;
    esac"""
    result = run_mpi("calls", "init", "barrier", "finalize", tools="count", ranks=3, timeout=60, cwd=tmp_path,
                     env={"QMPI_TOOL_PATH": BUNDLED_TOOLS, "QMPI_RANK_TIMEOUT": "0.2"}, wrapper=["sh", "-c", wrapper, "-"])
    assert result.returncode == 0
    assert result.stdout.count("qmpi: count (layer 1): rank 0 has been waiting for rank 1 for 0.2 s") == 1
    assert "qmpi:   hint: it continues when they make the same MPI call, usually MPI_Finalize;" in result.stdout
    assert "count (layer 1): MPI calls of 3 ranks" in result.stdout


def said_after_kill(rank, folder, tools="count", apart=None):
    """Runs three ranks, one of which kills itself, and returns the lines on stderr until tools have said that they do
    not wait for it. The launcher lets the others continue. The rank `apart` does not see the processes of the others,
    as if it was on another host. The job is ended then, because MPI_Finalize of Open MPI 4.1 sometimes does not
    return after that, even without tools."""
    app = program("calls")
    script = f"""[ {RANK} != "{apart}" ] || apart="unshare --pid --fork --kill-child"
    [ {RANK} != {rank} ] || set -- {app} init barrier kill
    LD_PRELOAD={':'.join(map(str, ([ASAN] if ASAN else []) + [LIBQMPI]))} exec $apart "$@" """
    command = [*launch(3)[:-2], "--enable-recovery", "-n", "3", "sh", "-c", script, "-", app, "init", "barrier",
               "finalize"]
    environment = clean_environment() | {"QMPI_TOOLS": tools, "QMPI_TOOL_PATH": str(BUNDLED_TOOLS)}
    lines = []
    with subprocess.Popen([str(part) for part in command], env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        limit = threading.Timer(60, job.terminate)
        limit.start()
        for line in job.stderr:
            lines.append(line.rstrip("\n"))
            if "did not call MPI_Finalize" in line:
                break
        limit.cancel()
        job.terminate()
        job.stderr.read()
    return lines


def check_said(lines, rank):
    assert [line for line in lines if line.startswith("qmpi:")] == [
        f"qmpi: rank {rank} has terminated, but other ranks wait for it: the tools do not combine the data of the ranks, "
        "and each process reports its own", f"qmpi:   hint: find out why rank {rank} did not call MPI_Finalize"]


RECOVERS = pytest.mark.skipif(not OPEN_MPI, reason="only Open MPI's launcher has the option --enable-recovery")


@RECOVERS
@pytest.mark.parametrize("rank", [0, 1])
def test_tools_do_not_wait_for_a_rank_that_has_terminated(rank, tmp_path):
    check_said(said_after_kill(rank, tmp_path, "count:profile:trace"), rank)


def can_hide_processes():
    return shutil.which("unshare") and subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "true"],
                                                      capture_output=True, check=False).returncode == 0


@RECOVERS
def test_the_first_rank_is_told_of_a_rank_of_another_host_that_has_terminated(tmp_path):
    """Rank 0 cannot see that rank 2 has terminated. Rank 1 can, but leaves the message to rank 0."""
    if not can_hide_processes():
        pytest.skip("no process may have PIDs of its own here")
    check_said(said_after_kill(2, tmp_path, apart=0), 2)


@pytest.mark.parametrize("value", ["soon", "-1", "0", "10m"])
def test_a_wrong_time_is_refused(value):
    result = run(env={"QMPI_RANK_TIMEOUT": value})
    assert result.returncode == 0
    assert f"qmpi: QMPI_RANK_TIMEOUT: '{value}' is not a time above 0; using 10\nqmpi:   hint: give a time above 0, such as " \
        in result.stderr


@pytest.mark.skipif(MPI_NAME != "mpich", reason="only MPICH's launcher has the option -pmi-port")
@pytest.mark.parametrize("absent", [0, 1])
def test_a_job_whose_launcher_is_reached_by_a_port_does_not_hang(absent):
    wrapper = ["sh", "-c", f"if [ $PMI_ID = {absent} ]; then unset LD_PRELOAD; fi; exec \"$@\"", "-"]
    environment = clean_environment() | {
        "LD_PRELOAD": f"{LIBQMPI}:{YIELDING}", "QMPI_TOOL_PATH": str(BUNDLED_TOOLS), "QMPI_TOOLS": "count",
        "QMPI_RANK_TIMEOUT": "1"}
    command = [*launch(2)[:-2], "-pmi-port", "-n", "2", *wrapper, program("calls"), "init", "barrier", "finalize"]
    done = subprocess.run([str(part) for part in command], env=environment, timeout=60, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"qmpi:   rank {absent}: no libqmpi, or no tools" in done.stderr
    assert "qmpi: count (layer 1): MPI calls of 1 rank" in done.stderr


MESSAGE = """#include <mpi.h>
int main(void)
{
    char text[100] = "a message of the program";
    MPI_Init(0, 0);
    MPI_Send(text, 100, MPI_CHAR, 0, 32767, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


@pytest.mark.skipif(MPI_NAME != "mpich", reason="the test hides MPICH's launcher from libqmpi")
def test_an_error_in_libqmpis_own_messages_does_not_call_the_default_error_handler(tmp_path):
    """In rank 0, libqmpi does not know that rank 1 runs without libqmpi. Instead of a message of
    libqmpi, rank 0 receives one of the program, which is too long for the buffer of libqmpi."""
    (tmp_path / "message.c").write_text(MESSAGE)
    subprocess.run([MPICC, "-o", tmp_path / "message", tmp_path / "message.c"], check=True)
    wrapper = f"""case {RANK} in
    0) unset HYDI_CONTROL_FD; exec "$@" ;;
    *) unset LD_PRELOAD; exec {tmp_path / "message"} ;;
    esac"""
    result = run_mpi("calls", "init", "barrier", "finalize", tools="count", timeout=60, cwd=tmp_path,
                     env={"QMPI_TOOL_PATH": BUNDLED_TOOLS, "QMPI_RANK_TIMEOUT": "1"}, wrapper=["sh", "-c", wrapper, "-"])
    assert result.returncode == 0, result.stderr
    assert "qmpi:   rank 1: no libqmpi, or no tools" in messages(result)
    assert any("count (layer 1): MPI calls of 1 rank" in line for line in messages(result))


# ---- Programs ----------------------------------------------------------------------------------------------

def test_programs_of_one_job_may_have_stacks_of_their_own(tmp_path):
    """The command is `mpiexec -n 1 qmpi run … -- app : -n 1 qmpi run … -- app`."""
    app = program("calls")
    parts = []
    for name in "ab":
        parts += [":"] if parts else []
        parts += ["-n", "1", QMPI, "run", "-t", f"count,output={name}.json", "--", app, "init", "barrier", "finalize"]
    environment = clean_environment()
    command = [*launch(1)[:-2], *parts]
    done = subprocess.run([str(part) for part in command], env=environment, cwd=tmp_path, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert calls_of(tmp_path / "a.json") == calls_of(tmp_path / "b.json") == (1, 1)
