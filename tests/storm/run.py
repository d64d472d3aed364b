# SPDX-License-Identifier: MIT
"""Carries out a plan, and reports differences from the expected results."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "stack"))

import judge
import ledger
import open_mpi
from mpi_commands import mpi_command
from steps import COUNTED, EVENTS, FATAL

# Variables of the environment that a run does not inherit.
UNWANTED = re.compile(r"(QMPI_|LD_|PMI|OMPI_|PRTE_|STORM_|ASAN_|UBSAN_)")


@dataclass
class Place:
    """The build folders, and the MPI that is used."""
    home: Path      # the build folder with the storm's programs and tools
    build: Path     # the build folder with libqmpi and the bundled tools
    mpi: str        # mpich, openmpi or abi
    names: list     # names of functions, by number
    timeout: float = 60

    @property
    def suffix(self):
        """The suffix in the file names of libqmpi and of the command qmpi."""
        return "" if self.mpi == "mpich" else f"-{self.mpi}"

    def __post_init__(self):
        """Sets the implementation of the MPI library, the variables with which programs find it, and
        whether libqmpi can clean up."""
        os.environ["QMPI_TEST_MPI"] = self.mpi
        import mpi_in_use
        # qemu-user refuses to create a process that sends its parent no signal when it ends. The process that cleans
        # up is such a process (src/util/spawn.c).
        self.cleans_up = not mpi_in_use.EMULATED
        self.implementation, self.library = mpi_in_use.IMPLEMENTATION, mpi_in_use.ENVIRONMENT


@dataclass
class Outcome:
    plan: object
    differences: list  # lines of text
    events: dict = field(default_factory=dict)  # name -> number of events in rank 0
    calls: int = 0     # MPI calls of the program in rank 0
    output: str = ""
    skipped: str = ""  # why the plan was not carried out, if it was not


def environment(plan, place, folder, bare):
    storm = place.home / "tests/storm"
    environment = {key: value for key, value in os.environ.items() if not UNWANTED.match(key)}
    environment |= {"STORM_LEDGER": str(folder / "ledger"), "STORM_SCRIPT": str(folder / "script"), "STORM_RESULTS": str(folder / "results"),
             "STORM_LIBRARIES": str(storm), "STORM_HELP": str(storm / "storm_help.so"),
             "TMPDIR": str(folder / "tmp"), "UCX_HANDLE_ERRORS": "none",
             "HWLOC_COMPONENTS": "no_os,stop", "UCX_TLS": "self,posix,cma",
             "UCX_POSIX_SEG_SIZE": "2048", **place.library}
    preload = []
    if not bare:
        preload += [] if plan.linked else [place.build / f"src/libqmpi{place.suffix}.so"]
        for number, entry in enumerate(plan.layers, 1):
            if entry.preloaded:
                environment["STORM_LAYER"] = str(number)
                library = entry.text.split(",")[0].format(tools=storm)
                preload.insert(0 if entry.preloaded == "front" else len(preload), library)
        environment |= {"QMPI_TOOLS": plan.tools(tools=storm, run=folder),
                 "QMPI_TOOL_PATH": str(place.build / "tools"),
                 "LD_LIBRARY_PATH": ":".join([str(place.build / "src"), *place.library.values()])}
    if plan.program == "storm_behind":
        # In this program, the MPI library precedes libqmpi, so that calls in the constructors of tools
        # would lead directly to the MPI library. Therefore, tools make no such calls.
        environment["STORM_QUIET"] = "1"
    preload += [text.format(tools=storm) for text in plan.preload]
    if place.implementation == "openmpi":
        # Open MPI 6.0.0rc2 may crash if two threads create windows, because it checks whether it can
        # use UCX for them.
        environment |= open_mpi.LAUNCHER | {"OMPI_MCA_osc": "^ucx"}
        if plan.ranks == 1:  # these settings avoid a daemon, but make launchers crash
            environment |= open_mpi.SINGLETON
    if preload:
        environment["LD_PRELOAD"] = ":".join(map(str, preload))
    return environment


def by_rank(plan, storm, folder):
    """Returns a command, to be followed by the program, that sets QMPI_TOOLS for each rank. If a rank
    must have no libqmpi, the command unsets LD_PRELOAD."""
    cases = []
    for rank, variant in enumerate(plan.variants):
        tools = shlex.quote(plan.tools_of(rank, tools=storm, run=folder))
        cases.append(f"{rank}) unset LD_PRELOAD QMPI_TOOLS ;;" if variant.absent else f"{rank}) export QMPI_TOOLS={tools} ;;")
    return ["sh", "-c", f"case ${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} in {' '.join(cases)} esac; exec \"$@\"", "-"]


def command(plan, place, program=None, folder=None):
    program = [str(place.home / "tests/storm" / (program or plan.program))]
    if plan.variants and folder:
        program = by_rank(plan, place.home / "tests/storm", folder) + program
    if plan.ranks == 1:
        return program
    return [mpi_command("mpiexec", place.implementation, place.home) or "mpiexec", "-n", str(plan.ranks), *program]


def execute(words, env, folder, timeout):
    """Returns the status and the output of a command. The status is the exit status, the negative number
    of the signal that ended the process, or None if the time limit was reached."""
    process = subprocess.Popen(words, env=env, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = None
    return status, output.decode(errors="replace")


def becomes_empty(folder, seconds=60):
    """Waits until no file of qmpi is left in the folder, or until the time limit. Returns whether the
    files are gone. If a process was killed, another process removes its files some time later."""
    end = time.time() + seconds
    while any(folder.glob("qmpi*")):
        if time.time() > end:
            return False
        time.sleep(0.02)
    return True


# Messages of libqmpi and the tools that are expected in some runs.
ENDED = re.compile(r"qmpi: (?:count|profile) \(layer \d+\): rank \d+ ended without MPI_Finalize.*\n")
EXPECTED = re.compile(r"qmpi: layer \d+ \(\w+\) looked up functions of the layers below with dlsym: .*\n"
                      r"qmpi:   \w+: .*\n")


# Messages that are expected if ranks differ.
DIFFERENT = re.compile(r"qmpi: the processes of this job have different tools.*\n(?:qmpi:   .*\n)+|"
                       r"qmpi: (?:ranks? [\d, -]+ (?:on \S+|\(rank \d+ is on \S+\)): )?QMPI_TOOLS, entry \d+ '.*': "
                       r"(?:.*the file is truncated|no such tool)\n(?:qmpi:   .*\n)+")


def unexpected_lines(output, plan):
    expected = DIFFERENT.sub("", output) if plan.variants else output
    expected = expected if plan.finalizes else ENDED.sub("", expected)
    return (line for line in EXPECTED.sub("", expected).splitlines() if line.startswith("qmpi:"))


def wrong_end(plan, output):
    """Checks the output of a job that must end because some ranks have an error. The error must be
    printed once for each position in the stack at which it occurs."""
    said = [line for line in output.splitlines() if "no such tool" in line and plan.fails in line]
    places = {place for variant in plan.variants for place, text in variant.broken.items() if text == plan.fails}
    if len(said) != len(places):
        yield f"{len(said)} messages about {plan.fails}, not {len(places)}"


def differences(plan, place, folder, status, output, bare, truth):
    wanted = truth.status if truth else 0 if bare and plan.fails else plan.status
    if status is None:
        yield f"it did not end in {place.timeout} s"
    elif status != wanted:
        yield f"status {status}, not {wanted}"
    if truth:
        yield from other_lines(truth.results, results_of(folder))
        if truth.status:
            return  # the program ends before the end of its script
    yield from unexpected_lines(output, plan)
    if plan.fails and not bare:
        yield from wrong_end(plan, output)
        return
    books = [ledger.Ledger(folder / f"ledger.{rank}") for rank in range(plan.ranks)]
    if bare:
        yield from (line for book in books for line in book.messages)
    else:
        yield from judge.differences(plan, books, place, folder)
    if not bare and (place.cleans_up or plan.theme != "leaving") and not becomes_empty(folder / "tmp"):
        yield "something was left in TMPDIR"


# ---- Runs that are compared with one without tools --------------------------------------------------


@dataclass
class Truth:
    """The result of the same script without tools."""
    skip: set           # numbers of the calls that were left out
    status: int
    results: list       # the result of MPI for each call


def results_of(folder):
    path = folder / "results"
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def other_lines(expected, seen):
    for wanted, got in zip(expected, seen):
        if wanted != got:
            yield f"without tools: {wanted}; here: {got}"
    if len(expected) != len(seen):
        yield f"{len(seen)} calls, not {len(expected)}; the last one: {seen[-1:]}"


def run_bare(plan, place, folder, handlers, skip):
    (folder / "results").unlink(missing_ok=True)
    (folder / "script").write_text(plan.script(EVENTS, handlers))
    env = environment(plan, place, folder, True) | {"STORM_SKIP": ",".join(map(str, sorted(skip)))}
    status, _ = execute(command(plan, place, "storm_c"), env, folder, place.timeout)
    (folder / "storm.file").unlink(missing_ok=True)
    return status, results_of(folder)


def without_deaths(plan, place, folder, handlers, skip):
    """Runs the script without tools, at most 200 times, until no call crashes the program. Adds the
    calls that crash it to `skip`. Returns the status and the results of the last run."""
    for _ in range(200):
        status, results = run_bare(plan, place, folder, handlers, skip)
        if status == 0 or not results or " = " in results[-1]:
            return status, results
        skip.add(int(results[-1].split()[0]))
    return status, results


def truth_of(plan, place, folder):
    """Returns the expected results, from runs without tools. If errors are fatal, all calls that MPI
    refuses are left out, except possibly the last one."""
    skip = set()
    if plan.handlers != FATAL:
        status, results = without_deaths(plan, place, folder, plan.handlers, skip)
        return Truth(skip, status, results)
    _, results = without_deaths(plan, place, folder, COUNTED, skip)
    refused = {int(line.split()[0]) for line in results if not line.endswith(" = 0, handled 0")}
    last = {max(refused)} if refused and plan.seed % 2 else set()
    skip |= refused - last
    if last:
        status, results = run_bare(plan, place, folder, FATAL, skip)
    else:
        status, results = without_deaths(plan, place, folder, FATAL, skip)
    return Truth(skip, status, results)


# UCX 1.18 may fail in this way if threads create windows, because they add the same entry twice.
# Without qmpi, this happened in 5 of 360 runs of seed 98.
UCX_FAILED = re.compile(r"proto_select\.c:\d+ +Assertion `khret == UCS_KH_PUT_BUCKET_EMPTY' failed")


def run(plan, place, verbose=False, bare=False, leave=False):
    """Carries out a plan. If UCX fails, repeats the run at most twice."""
    for _ in range(2):
        outcome = run_once(plan, place, verbose, bare, leave)
        if not UCX_FAILED.search(outcome.output):
            return outcome
    return run_once(plan, place, verbose, bare, leave)


def run_once(plan, place, verbose, bare, leave):
    storm = place.home / "tests/storm"
    if (plan.fortran and not (storm / plan.program).exists()) or (
            any(entry.kind == "pmpi fortran" for entry in plan.layers) and not (storm / "storm_fortran.so").exists()):
        return Outcome(plan, [], skipped="no Fortran compiler, or no Fortran binding of MPI")
    folder = Path(tempfile.mkdtemp(prefix="storm-"))
    (folder / "tmp").mkdir()
    for rank in range(plan.ranks):
        ledger.make(folder / f"ledger.{rank}")
    truth = truth_of(plan, place, folder) if plan.handlers is not None else None
    if truth and truth.status and plan.handlers != FATAL:
        shutil.rmtree(folder, ignore_errors=True)
        return Outcome(plan, [], skipped=f"without tools, the program ends with the status {truth.status}")
    if truth:
        (folder / "results").unlink(missing_ok=True)
        ledger.make(folder / "ledger.0")
    (folder / "script").write_text(plan.script(EVENTS, plan.handlers))
    env = environment(plan, place, folder, bare)
    if truth:
        env["STORM_SKIP"] = ",".join(map(str, sorted(truth.skip)))
    if plan.variants:
        (folder / "damaged.so").write_bytes(next((place.build / "tools").glob("count.so")).read_bytes()[:1000])
        env["QMPI_ON_ERROR"] = "stop" if plan.fails else "skip"
    if verbose:
        env |= {"STORM_VERBOSE": "1", "UCX_HANDLE_ERRORS": "bt"}
    try:
        status, output = execute(command(plan, place, folder=None if bare else folder), env, folder, place.timeout)
        found = list(differences(plan, place, folder, status, output, bare, truth))
        book = ledger.Ledger(folder / "ledger.0")
        events = {name: count for name, count in zip(EVENTS, book.events) if count}
        return Outcome(plan, found, events, sum(book.program), output)
    finally:
        if leave:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
