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
    """Returns a command like mpicc that compiles programs for the standard ABI."""
    folder = tempfile.mkdtemp(prefix="qmpi-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "mpicc"
    path.write_text(f'#!/bin/sh\nexec cc -I"{SOURCE}/include/qmpi/mpi-abi" "$@" "-Wl,{LINKED}"\n')
    path.chmod(0o755)
    return str(path)


TIME_LIMIT = 600 if EMULATED else 120  # seconds
RUN_RANK = PROGRAMS / "run_rank"
# Makes ranks of MPICH sleep while they wait: see tests/tools/programs/yielding.c.
YIELDING = BUILD / "tests" / "yielding.so" if MPI_NAME == "mpich" else None
MPICC = abi_compiler() if ABI else mpi_command("mpicc", MPI_NAME, BUILD) or "mpicc"


def read_macros() -> dict[str, str]:
    """Returns the macros of mpi.h whose names begin with MPI_, from the file that the build has created
    or, without this file (for the standard ABI), from the compiler."""
    built = BUILD / "src" / "generate" / "mpi.macros"
    text = built.read_text() if built.exists() else subprocess.run(
        [MPICC, "-E", "-dM", "-include", "mpi.h", "-x", "c", os.devnull],
        check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^#define (MPI_\w+) (.*)", text, re.MULTILINE))


MPI_MACROS = read_macros()
MPI_VERSION = int(MPI_MACROS["MPI_VERSION"])
HAS_SESSIONS = "MPI_SESSION_NULL" in MPI_MACROS
needs_sessions = pytest.mark.skipif(not HAS_SESSIONS, reason="this MPI has no sessions")
needs_helper = pytest.mark.skipif(EMULATED, reason="qmpi-helper cannot start: an emulator's clone refuses children "
                                                   "without an exit signal")
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
    """Creates a temporary directory for the Open MPI jobs of this process; any user may write to it.
    By default, all Open MPI jobs of a user share a folder, which a job that ends may remove while
    another job creates it. This directory stays in use even if a test changes TMPDIR."""
    folder = tempfile.mkdtemp(prefix="qmpi-test-")
    os.chmod(folder, 0o1777)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# Waiting ranks yield. Open MPI starts faster if it does not look for networks, but it needs sockets
# for spawned processes.
OPEN_MPI_SETTINGS = open_mpi.LAUNCHER | {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_orte_tmpdir_base": private_tmpdir() if OPEN_MPI else tempfile.gettempdir(),
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "^ofi,openib,smcuda,uct,usnic",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_osc": "^ucx",
}
if EMULATED:  # an emulator cannot read another process's memory
    OPEN_MPI_SETTINGS["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
OPEN_MPI_SETTINGS["PRTE_MCA_prte_tmpdir_base"] = OPEN_MPI_SETTINGS["OMPI_MCA_orte_tmpdir_base"]

# Words with which a report of a sanitizer begins.
SANITIZER_REPORT = re.compile(r"AddressSanitizer:|runtime error:|UndefinedBehaviorSanitizer:")


@dataclass
class Result:
    """The result of a command or of a job. The output of a job is that of its ranks, one after the
    other; `launcher` is the output of the launcher. For a command, `launcher` and `ranks` are empty."""
    returncode: int
    stdout: str
    stderr: str
    launcher: str = ""
    ranks: list[Rank] = field(default_factory=list)

    @property
    def trace(self) -> list[str]:
        """The notes of the test tools and programs, in order, without the prefix."""
        mark = "trace: "
        return [line[len(mark):] for line in self.stderr.splitlines() if line.startswith(mark)]

    @property
    def calls(self) -> list[str]:
        """The trace without the notes that tools print when they are loaded and initialized, in
        MPI_Finalize, and when the process ends."""
        return [line for line in self.trace if not re.match(r"(load|init|exit) ", line)]

    @property
    def all_messages(self) -> list[str]:
        """The lines of libqmpi on stderr, without the prefix."""
        mark = "qmpi: "
        return [line[len(mark):] for line in self.stderr.splitlines() if line.startswith(mark)]

    @property
    def messages(self) -> list[str]:
        """Like all_messages, but without the warning that a PMPI tool wraps only one of MPI_Init
        and MPI_Init_thread, which applies to many test tools. tests/pmpi/test_pmpi_work.py tests
        this warning and its hint."""
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
    """Returns this environment with the tests' settings for Open MPI and the sanitizers, and without
    other variables that affect libqmpi, the loader, launchers or sanitizers."""
    unwanted = re.compile(r"(QMPI_(?!TEST|BUILD|SOURCE)|LD_|PMI|OMPI_|PRTE_|ASAN_|UBSAN_|LSAN_)")
    environment = {key: value for key, value in os.environ.items() if not unwanted.match(key)}
    environment["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0"
    environment |= (OPEN_MPI_SETTINGS if OPEN_MPI else {}) | ENVIRONMENT
    # Ignores the configuration of the user who runs the tests.
    environment["XDG_CONFIG_HOME"] = str(BUILD / "no-configuration")
    environment["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
    return environment


def launch(ranks, **variables) -> list[str]:
    """Returns the launcher and its options, to be followed by a program. The variables are set only
    for the ranks."""
    command = [MPIEXEC, "-n", str(ranks)]
    for name, value in variables.items():
        command += ["-x", f"{name}={value}"] if OPEN_MPI else ["-genv", name, str(value)]
    return command


@contextmanager
def folder_open_to_all(*files):
    """Yields a folder with copies of libqmpi and of `files` that any user may read. The build folder
    and pytest's folder may be accessible only to their owner."""
    with tempfile.TemporaryDirectory(prefix="qmpi-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for path in (LIBQMPI.resolve(), *files):
            (folder / path.name).write_bytes(path.read_bytes())
            (folder / path.name).chmod(0o755)
        (folder / f"{LIBQMPI.name}.0").symlink_to(LIBQMPI.resolve().name)
        yield folder


def without_launcher(stderr) -> str:
    """Returns stderr without the remarks, each between two rules, that Open MPI's launcher prints
    about failed processes."""
    rule = "-" * 74 + "\n"
    return re.sub(f"{rule}.*?{rule}", "", stderr, flags=re.S) if OPEN_MPI else stderr


def lines_without_remarks(stderr) -> list[str]:
    """Returns the lines of stderr without those of the launcher, without the notes of test tools
    and programs, and without remarks of Open MPI's library or PMIx about the machine, which libqmpi
    does not affect."""
    remark = re.compile(r"\[[^][]+:\d+\] |\[[^][]+\]\[\[" if OPEN_MPI or ABI else "(?!)")
    return [line for line in without_launcher(stderr).splitlines()
            if not line.startswith("trace: ") and not remark.match(line)]


def check_sanitizers(text):
    assert not SANITIZER_REPORT.search(text), "a sanitizer found something"


class OpenMpiCrashed(Exception):
    """Ends a test function, which is then run again from the beginning: see tests/conftest.py."""


can_rerun = False  # set by tests/conftest.py: the test function that runs now may be repeated


def run_again():
    """Called after a crash of Open MPI (see run_job). Repeats the whole test function, so that it
    does not see files of the crashed job. If that is not possible (in a fixture, for example),
    returns, and the caller repeats only the job."""
    if can_rerun:
        raise OpenMpiCrashed


def run_command(command, env, timeout=TIME_LIMIT, cwd=None) -> Result:
    """Runs `command` in a session of its own. After the time limit, kills its process group, and the
    test fails. The command takes one processor or, if it is a launcher with -n, one for each rank. A
    command in which Open MPI's launcher crashes is run up to three times."""
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
    except BaseException:  # this process itself is being ended
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, stdout, stderr


# The line with the argument of MPI_Abort, which the MPI library or the launcher prints.
ABORTED = re.compile(r"(?:^Abort\(|^with errorcode )(-?\d+)", re.MULTILINE)


def status_of(ranks, launcher, launcher_status):
    """Returns the status with which a job was aborted. If it was not aborted, returns the status of the
    first rank that failed, or 0; a rank that exited comes before one that a signal ended, and ranks that
    the test killed do not count. The launcher may kill all ranks when one aborts, including the aborting
    one; in that case, only the status of the launcher is known."""
    for text in (*(rank.stderr for rank in ranks), launcher):
        if found := ABORTED.search(text):
            return int(found[1]) & 0xff
    bad = sorted((rank.returncode for rank in ranks if rank.returncode and not rank.killed),
                 key=lambda status: status < 0)
    killed = -(signal.SIGTERM if OPEN_MPI else signal.SIGKILL)
    return launcher_status if bad and bad[0] == killed and launcher_status > 0 else bad[0] if bad else 0


def run_job(command, env, *, ranks, ends=None, variables=None, timeout=TIME_LIMIT, cwd=None, takes=None) -> Result:
    """Runs `command` in each rank of a job. `ends` are the ranks that end by themselves, after which
    the others are killed; the default is all ranks. `variables` are set only for the ranks. For
    `takes`, see Job."""
    variables = variables or {}
    if YIELDING:
        preloaded = variables.get("LD_PRELOAD") or env.get("LD_PRELOAD")
        variables = {**variables, "LD_PRELOAD": ":".join(filter(None, [preloaded, str(YIELDING)]))}
    launcher = launch(ranks)
    if OPEN_MPI:  # Open MPI's launcher also sets the variables for spawned processes
        launcher, variables = launch(ranks, **variables), {}
    for _ in range(3):
        with Job(RUN_RANK, launcher, command, ranks=ranks, ends=ends, variables=variables, env=env,
                 cwd=cwd, takes=takes) as job:
            done = job.wait(timeout)
            said = job.launcher_output.decode(errors="replace")
            print(f"$ {job.describe()}")
        # Open MPI 4.1 sometimes crashes, even without qmpi. The launcher may crash if several
        # processes report errors at the same time: in a thread of PMIx, in
        # orte_rml_oob_send_buffer_nb. On a busy machine, about one rank in a thousand crashes in
        # MPI_Finalize: a thread that orte_finalize is about to join calls a function of a component
        # that was just unloaded. A crash that libqmpi causes each time still makes the test fail.
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
    """Calls `is_so` until its result is true or the time is over. Returns its last result."""
    end = time.monotonic() + seconds
    while not (answer := is_so()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def run_mpi(name, *args, ranks=2, tools=None, env=None, preload=(LIBQMPI,), timeout=TIME_LIMIT, cwd=None,
            wrapper=(), ends=None, spawns=False, sleeps=False) -> Result:
    """Runs a program as an MPI job. `name` is a program in PROGRAMS, or a path.

    ranks    the number of ranks; a single rank is started directly, without mpiexec
    tools    the value of QMPI_TOOLS, which is unset by default
    env      further variables; those with the value None are unset
    preload  the libraries in LD_PRELOAD, which is set only for the ranks
    wrapper  a command in front of the program, such as valgrind
    ends     the ranks that end by themselves, by default all; the others are killed after them
    spawns   the program spawns processes; the launcher gets LD_PRELOAD too, because PRRTE passes its own
             environment to spawned processes
    sleeps   ranks sleep most of the time, even while they wait (tests/tools/programs/yielding.c), so the ranks of
             MPICH share a processor
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
        # Without these settings, Open MPI would start a helper process, which LD_PRELOAD would also
        # affect. They must not be set for a launcher.
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
    """Returns whether this program can spawn its processes with this MPI library. Debian's MPICH
    before 5 can never spawn processes. MPICH 5.0 can, but often crashes, or does not reach the
    processes if it spawns more than one group. So all of eight runs must succeed."""
    try:
        results = (run_mpi(name, *args, preload=(), spawns=True) for _ in range(1 if OPEN_MPI else 8))
        return all(result.returncode == 0 and "cannot spawn" not in result.stdout for result in results)
    except AssertionError:  # a rank is lost, or the time limit is reached
        return False
