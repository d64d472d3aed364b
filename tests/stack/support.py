# SPDX-License-Identifier: MIT
"""Runs an MPI program under a stack of tools, as a user would, and reads its output."""
import atexit
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import open_mpi
import pytest
from archives import check_archives
from job import Job, Rank
from mpi_commands import mpi_command
from mpi_in_use import ABI, EMULATED, ENVIRONMENT, IMPLEMENTATION, LINKED, OPEN_MPI
from processors import processors

BUILD = Path(os.environ.get("QMPI_BUILD_ROOT", "build")).resolve()
SOURCE = Path(os.environ.get("QMPI_SOURCE_ROOT", Path(__file__).parents[2])).resolve()
MPI_NAME = os.environ.get("QMPI_TEST_MPI", "mpich")
SUFFIX = "" if MPI_NAME == "mpich" else f"-{MPI_NAME}"
LIBQMPI = BUILD / "src" / f"libqmpi{SUFFIX}.so"
MPI_LIBRARY = "libmpi_abi.so" if ABI else "libmpi.so" if OPEN_MPI else "libmpich.so"
MPI_SONAME = "libmpi_abi.so.1" if ABI else "libmpi.so.40" if OPEN_MPI else "libmpich.so.12"
QMPI = BUILD / "cli" / f"qmpi{SUFFIX}"
BUNDLED_TOOLS = BUILD / "tools"
PROGRAMS = BUILD / "tests" / "stack" / "programs"
TOOLS = BUILD / "tests" / "stack" / "tools"
ASAN = os.environ.get("QMPI_TEST_ASAN", "")
MPIEXEC = mpi_command("mpiexec", IMPLEMENTATION, BUILD) or "mpiexec"


def abi_compiler() -> str:
    """Returns a command that compiles programs for the standard ABI, like the compiler commands of
    an MPI."""
    folder = tempfile.mkdtemp(prefix="qmpi-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "mpicc"
    path.write_text(f'#!/bin/sh\nexec cc -I"{SOURCE}/include/qmpi/mpi-abi" "$@" "-Wl,{LINKED}"\n')
    path.chmod(0o755)
    return str(path)


TIME_LIMIT = 600 if EMULATED else 120  # seconds
RUN_RANK = PROGRAMS / "run_rank"
# Makes ranks of MPICH yield while they wait: see tools/programs/yielding.c.
YIELDING = BUILD / "tests" / "yielding.so" if MPI_NAME == "mpich" else None
MPICC = abi_compiler() if ABI else mpi_command("mpicc", MPI_NAME, BUILD) or "mpicc"


def read_macros() -> dict[str, str]:
    """Returns the macros of mpi.h. The build has asked the compiler for them, except for the
    standard ABI."""
    built = BUILD / "src" / "generate" / "mpi.macros"
    text = built.read_text() if built.exists() else subprocess.run(
        [MPICC, "-E", "-dM", "-include", "mpi.h", "-x", "c", os.devnull],
        check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^#define (MPI_\w+) (.*)", text, re.MULTILINE))


MPI_MACROS = read_macros()
MPI_VERSION = int(MPI_MACROS["MPI_VERSION"])
HAS_SESSIONS = "MPI_SESSION_NULL" in MPI_MACROS
needs_sessions = pytest.mark.skipif(not HAS_SESSIONS, reason="this MPI has no sessions")
needs_helper = pytest.mark.skipif(EMULATED, reason="qmpi-helper cannot start: an emulator's clone refuses children that end "
                                                   "without a signal")
needs_ptrace = pytest.mark.skipif(EMULATED, reason="instructions are counted by ptrace, which an emulator does not have")
# The library that contains the procedures of each Fortran binding.
FORTRAN_LIBRARIES = ({"f08": "libmpi_usempif08.so.40", "mpi": "libmpi_mpifh.so.40",
                      "mpif_h": "libmpi_mpifh.so.40"} if OPEN_MPI else
                     dict.fromkeys(("f08", "mpi", "mpif_h"), "libmpichfort.so.12"))
# A writable int control variable of the MPI library, and a pattern that matches no other variable.
LIBRARY_CVAR, LIBRARY_CVAR_GLOB = (
    ("coll_tuned_bcast_algorithm_segmentsize", "coll_tuned_bcast_algorithm_s*") if OPEN_MPI else
    ("MPIR_CVAR_BCAST_MIN_PROCS", "MPIR_CVAR_BCAST_M*"))
TOOLS_FOLDER = f"qmpi{SUFFIX}"


def private_tmpdir() -> str:
    """All jobs of a user share a folder in the temporary directory, which a job that ends may
    remove while another one creates it. Therefore, this process has its own directory, even if a
    test changes TMPDIR. Any user may use it."""
    folder = tempfile.mkdtemp(prefix="qmpi-test-")
    os.chmod(folder, 0o1777)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# Ranks that wait yield. Open MPI starts faster without looking for networks. Sockets are needed for
# spawned processes.
OPEN_MPI_SETTINGS = open_mpi.LAUNCHER | {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_orte_tmpdir_base": private_tmpdir() if OPEN_MPI else tempfile.gettempdir(),
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "^ofi,openib,smcuda,uct,usnic",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_osc": "^ucx",
}
if EMULATED:  # an emulator reads no other process's memory
    OPEN_MPI_SETTINGS["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
OPEN_MPI_SETTINGS["PRTE_MCA_prte_tmpdir_base"] = OPEN_MPI_SETTINGS["OMPI_MCA_orte_tmpdir_base"]

# Words with which a report of a sanitizer begins.
SANITIZER_REPORT = re.compile(r"AddressSanitizer:|runtime error:|UndefinedBehaviorSanitizer:")


@dataclass
class Result:
    """The result of a command, or of the ranks of a job, one after the other; the output of the
    launcher is separate."""
    returncode: int
    stdout: str
    stderr: str
    launcher: str = ""
    ranks: list[Rank] = field(default_factory=list)

    @property
    def trace(self) -> list[str]:
        """The notes of the test tools and programs, in order, without the mark."""
        mark = "trace: "
        return [line[len(mark):] for line in self.stderr.splitlines() if line.startswith(mark)]

    @property
    def calls(self) -> list[str]:
        """The trace without the notes of tools when they are loaded and initialized."""
        return [line for line in self.trace if not re.match(r"(load|init|exit) ", line)]

    @property
    def all_messages(self) -> list[str]:
        """The lines of libqmpi on stderr, without the prefix."""
        mark = "qmpi: "
        return [line[len(mark):] for line in self.stderr.splitlines() if line.startswith(mark)]

    @property
    def messages(self) -> list[str]:
        """The same without messages about PMPI tools that wrap only one of MPI_Init and
        MPI_Init_thread, like many test tools. tests/pmpi/test_pmpi_work.py tests this message and
        its hint."""
        lines, found = self.all_messages, []
        for line in lines:
            if re.search(r" wraps MPI_Init(_thread)?, but not MPI_Init", line):
                continue
            if not (line.startswith("  hint: ") and line.endswith("a version of the tool that wraps both")):
                found.append(line)
        return found


def program(name: str) -> Path:
    return PROGRAMS / name


def tool(name: str) -> Path:
    return TOOLS / f"{name}.so"


def clean_environment() -> dict[str, str]:
    """Returns this environment without variables that affect libqmpi or the sanitizers."""
    unwanted = re.compile(r"(QMPI_(?!TEST|BUILD|SOURCE)|LD_|PMI|OMPI_|PRTE_|ASAN_|UBSAN_|LSAN_)")
    environment = {key: value for key, value in os.environ.items() if not unwanted.match(key)}
    environment["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0"
    environment |= (OPEN_MPI_SETTINGS if OPEN_MPI else {}) | ENVIRONMENT
    # the user who runs the tests may have a configuration
    environment["XDG_CONFIG_HOME"] = str(BUILD / "no-configuration")
    environment["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
    return environment


def launch(ranks, **variables) -> list[str]:
    """Returns the launcher to be put in front of a program; the variables are set only for the
    ranks."""
    command = [MPIEXEC, "-n", str(ranks)]
    for name, value in variables.items():
        command += ["-x", f"{name}={value}"] if OPEN_MPI else ["-genv", name, str(value)]
    return command


@contextmanager
def folder_open_to_all(*files):
    """Returns a folder of copies that any user may read, including libqmpi, because the build
    folder and pytest's folder may be accessible only to their owner."""
    with tempfile.TemporaryDirectory(prefix="qmpi-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for path in (LIBQMPI.resolve(), *files):
            (folder / path.name).write_bytes(path.read_bytes())
            (folder / path.name).chmod(0o755)
        (folder / f"{LIBQMPI.name}.0").symlink_to(LIBQMPI.resolve().name)
        yield folder


def without_launcher(stderr) -> str:
    """Returns the output of processes: Open MPI's launcher prints a remark between two rules about
    each that fails."""
    rule = "-" * 74 + "\n"
    return re.sub(f"{rule}.*?{rule}", "", stderr, flags=re.S) if OPEN_MPI else stderr


def lines_without_remarks(stderr) -> list[str]:
    """Returns the output of processes, without the notes of test tools and programs, and without
    remarks of Open MPI's library or PMIx about the machine or the launcher, which libqmpi does not
    affect."""
    remark = re.compile(r"\[[^][]+:\d+\] |\[[^][]+\]\[\[" if OPEN_MPI or ABI else "(?!)")
    return [line for line in without_launcher(stderr).splitlines()
            if not line.startswith("trace: ") and not remark.match(line)]


def check_sanitizers(text):
    assert not SANITIZER_REPORT.search(text), "a sanitizer found something"


class OpenMpiCrashed(Exception):
    """Ends a test function, which is then run again from the beginning: see tests/conftest.py."""


can_rerun = False  # within a test function, until it was repeated twice


def run_again():
    """After a crash of Open MPI (see run_job), files of this job must not count. In a fixture, only
    the job is repeated."""
    if can_rerun:
        raise OpenMpiCrashed


def run_command(command, env, timeout=TIME_LIMIT, cwd=None) -> Result:
    """Runs `command` in a process group of its own, and ends the group after the time limit. It
    takes one processor or, if it is a launcher, those of all ranks."""
    command = [str(part) for part in command]
    ranks = command[command.index("-n") + 1] if MPIEXEC in command and "-n" in command else ""
    for _ in range(3):
        with processors(int(ranks) if ranks.isdecimal() else 1):
            returncode, stdout, stderr = communicate(command, env, timeout, cwd)
        if not (OPEN_MPI and MPIEXEC in command and returncode == 128 + signal.SIGSEGV):
            break
        run_again()
    result = Result(returncode, stdout, without_launcher(stderr))
    print(f"$ {' '.join(command)[:2000]}\n-> {result.returncode}\n{stdout[:8000]}")
    print(f"stderr:\n{stderr[:8000]}")
    check_sanitizers(stdout + stderr)
    return result


def communicate(command, env, timeout, cwd):
    """Returns the status and the output of `command`."""
    process = subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise AssertionError(
            f"not done after {timeout} s: {command}\nstdout:\n{stdout}\nstderr:\n{stderr}"
        ) from None
    except BaseException:  # this process is being ended itself
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, stdout, stderr


# The line in which the MPI library prints the argument of MPI_Abort, in a rank or through the
# launcher.
ABORTED = re.compile(r"(?:^Abort\(|^with errorcode )(-?\d+)", re.MULTILINE)


def status_of(ranks, launcher, launcher_status):
    """Returns the status with which a job was aborted, or with which the first failed rank ended.
    The launcher may kill all ranks when one aborts, including that one; in that case, only its own
    status is known."""
    for text in (*(rank.stderr for rank in ranks), launcher):
        if found := ABORTED.search(text):
            return int(found[1]) & 0xff
    bad = sorted((rank.returncode for rank in ranks if rank.returncode and not rank.killed),
                 key=lambda status: status < 0)
    killed = -(signal.SIGTERM if OPEN_MPI else signal.SIGKILL)
    return launcher_status if bad and bad[0] == killed and launcher_status > 0 else bad[0] if bad else 0


def run_job(command, env, *, ranks, ends=None, variables=None, timeout=TIME_LIMIT, cwd=None, takes=None) -> Result:
    """Runs `command` in each rank of a job. `ends` are the ranks that end by themselves (None:
    all), after which the others are killed; `variables` are set only for the ranks; for `takes`,
    see Job."""
    variables = variables or {}
    if YIELDING:
        preloaded = variables.get("LD_PRELOAD") or env.get("LD_PRELOAD")
        variables = {**variables, "LD_PRELOAD": ":".join(filter(None, [preloaded, str(YIELDING)]))}
    launcher = launch(ranks)
    if OPEN_MPI:  # they are then also set for spawned processes
        launcher, variables = launch(ranks, **variables), {}
    for _ in range(3):
        with Job(RUN_RANK, launcher, command, ranks=ranks, ends=ends, variables=variables, env=env,
                 cwd=cwd, takes=takes) as job:
            done = job.wait(timeout)
            said = job.launcher_output.decode(errors="replace")
            print(f"$ {job.describe()}")
        # Open MPI 4.1 sometimes crashes, even without qmpi. The launcher crashes if several
        # processes report errors at once: in a thread of PMIx, in orte_rml_oob_send_buffer_nb. A
        # rank crashes in MPI_Finalize (about one of a thousand on a busy machine): the thread that
        # orte_finalize is about to join calls a function of a component that was just unloaded. A
        # crash that libqmpi causes each time still makes the test fail.
        crashed = any(rank.returncode == -signal.SIGSEGV for rank in done)
        if not (OPEN_MPI and (job.launcher_died or crashed)):
            break
        run_again()
    result = Result(status_of(done, said, job.process.returncode),
                    *("".join(getattr(rank, name) for rank in done) for name in ("stdout", "stderr")),
                    said, done)
    check_sanitizers(result.stdout + result.stderr + said)
    return result


def wait_until(is_so, seconds=60):
    """Waits for an effect of another process. Returns the last result of `is_so`."""
    end = time.monotonic() + seconds
    while not (answer := is_so()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def run_mpi(name, *args, ranks=2, tools=None, env=None, preload=(LIBQMPI,), timeout=TIME_LIMIT, cwd=None,
            wrapper=(), ends=None, spawns=False, sleeps=False) -> Result:
    """Runs a program of the build folder (or of a path) as an MPI job.

    ranks    1: started directly, without a launcher; else by mpiexec
    tools    the value of QMPI_TOOLS; None: not set
    env      further variables; a value None unsets
    preload  the libraries of LD_PRELOAD, for the ranks only; (): none
    wrapper  a command in front of the program, such as valgrind
    ends     the ranks that end by themselves, where not all do: the others are killed then
    spawns   spawned processes get the libraries too; PRRTE gives them its own environment
    sleeps   all ranks sleep most of the time, also those that wait (tools/programs/yielding.c): they share a processor
    """
    environment = clean_environment()
    environment["QMPI_TOOL_PATH"] = str(TOOLS)
    if tools is not None:
        environment["QMPI_TOOLS"] = tools
    for key, value in (env or {}).items():
        if value is None:
            environment.pop(key, None)
        else:
            environment[key] = str(value)
    path = program(name) if "/" not in str(name) else Path(name)
    command = [*wrapper, path, *args]
    libraries = ":".join(map(str, ([ASAN] if ASAN and preload else []) + list(preload)))
    if spawns and not OPEN_MPI:
        # MPICH reaches spawned processes by sockets.
        environment["UCX_TLS"] = os.environ.get("UCX_TLS", "self,posix,cma") + ",tcp"
    if spawns and libraries:
        environment["LD_PRELOAD"] = libraries
    if ranks > 1:
        result = run_job(command, environment, ranks=ranks, ends=ends, timeout=timeout, cwd=cwd,
                         takes=1 if sleeps and MPI_NAME == "mpich" else None,
                         variables={"LD_PRELOAD": libraries} if libraries else {})
    else:
        # Avoids a helper process, which LD_PRELOAD would also affect. Launchers do not support this
        # setting.
        if OPEN_MPI and not any("mpiexec" in str(part) for part in command):
            environment = open_mpi.SINGLETON | environment
        if libraries:
            environment["LD_PRELOAD"] = libraries
        result = run_command(command, environment, timeout, cwd)
    if cwd and re.search(r"(^|:)trace\b", tools or ""):
        check_archives(cwd)
    return result


@functools.cache
def can_spawn(name, *args) -> bool:
    """Returns whether this MPI library can spawn the processes for a program. Debian's MPICH before
    5 never can; 5.0 can, but often crashes, or does not reach them if more than one group is
    spawned."""
    try:
        results = (run_mpi(name, *args, preload=(), spawns=True) for _ in range(1 if OPEN_MPI else 8))
        return all(result.returncode == 0 and "cannot spawn" not in result.stdout for result in results)
    except AssertionError:  # a rank is lost, or the time limit is reached
        return False
