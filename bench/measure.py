# SPDX-License-Identifier: MIT
"""How the measurements are made: instructions by single steps or callgrind, nanoseconds and
microseconds by the clock."""
import math
import operator
import os
import platform
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from setups import clean_environment

TIMEOUT = 120  # in seconds; a run takes one or two

# From three lengths of the loop, two results are computed; their difference is the noise of the
# count. A single step takes tens of microseconds, so stepped loops are short. The start of valgrind
# takes two seconds, so longer loops cost little there.
STEPPED_LENGTHS = (2, 4, 8)
COLLECTED_LENGTHS = (1000, 3000, 7000)
NOISE_LIMIT = 0.2  # in instructions per call
ATTEMPTS = 3  # maximum number of counts; another one is made if the noise of all before it was too high
NOISE_LIMIT_IN_TIME = 3  # in instructions per call, for tools whose instructions depend on the duration of a call

Environment = dict[str, str]


class Failed(Exception):
    """A run did not do what it should, so nothing can be measured."""


def output_of(command: list[str], environment: Environment) -> str:
    done = subprocess.run(command, env=clean_environment(environment), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=TIMEOUT, check=False)
    # The dynamic loader only prints a warning for a library that it cannot preload, and the run
    # would measure raw MPI.
    if done.returncode or "cannot be preloaded" in done.stderr:
        raise Failed(f"{' '.join(command)} with {environment}\n"
                     f"ended with status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def has_cycle_counter() -> bool:
    """Returns whether libqmpi reads the processor's counter on this machine instead of CLOCK_MONOTONIC: always on
    aarch64, and on x86-64 if the kernel considers the cycle counter reliable, or does not tell (src/clock)."""
    if platform.machine() == "aarch64":
        return True
    try:
        with open("/sys/devices/system/clocksource/clocksource0/available_clocksource", encoding="ascii") as file:
            return platform.machine() == "x86_64" and "tsc" in file.read()
    except OSError:
        return platform.machine() == "x86_64"


def has_callgrind() -> bool:
    return shutil.which("valgrind") is not None


@dataclass
class Run:
    """A program that calls count_loops, and how its instructions are counted."""

    command: list[str]
    environment: Environment
    # The program that counts by single steps, or None. If the instructions of a call depend on its
    # duration, an average over many calls is needed, and callgrind counts instead.
    stepper: str | None

    def lengths(self) -> tuple[int, int, int]:
        return STEPPED_LENGTHS if self.stepper else COLLECTED_LENGTHS


def stepped_through(run: Run) -> list[int]:
    # The libraries are preloaded into the program, and not into the stepper.
    preloads = [f"{name}={value}" for name, value in run.environment.items() if name == "LD_PRELOAD"]
    others = {name: value for name, value in run.environment.items() if name != "LD_PRELOAD"}
    return [int(line) for line in output_of(
        [run.stepper, "env", *preloads, *run.command, "count", *map(str, run.lengths())],
        others).split()]


def collected_by_callgrind(run: Run) -> list[int]:
    with tempfile.TemporaryDirectory(prefix="qmpi-bench-") as folder:
        out = os.path.join(folder, "out")
        # Counts only the loops, with a file for each.
        output_of(["valgrind", "--tool=callgrind", "--toggle-collect=call_loop",
                   "--dump-after=call_loop", f"--callgrind-out-file={out}", *run.command, "count",
                   *map(str, run.lengths())], run.environment)
        # The first file is for the single call that count_loops makes before the loops.
        return [total_in(f"{out}.{place}") for place in range(2, 2 + len(run.lengths()))]


def count_run(run: Run) -> list[int]:
    """Returns the number of instructions that a loop of each length executes, including those of called functions."""
    counted = stepped_through(run) if run.stepper else collected_by_callgrind(run)
    if len(counted) != len(run.lengths()) or any(map(operator.lt, counted, run.lengths())):
        raise Failed(f"no instructions were counted in call_loop() with {run.environment}")
    return counted


def count_start(command: list[str], environment: Environment) -> int:
    """Returns the number of instructions that the program's first MPI call executes, including those of called
    functions."""
    with tempfile.TemporaryDirectory(prefix="qmpi-bench-") as folder:
        out = os.path.join(folder, "out")
        output_of(["valgrind", "--tool=callgrind", "--toggle-collect=call_first",
                   f"--callgrind-out-file={out}", *command], environment)
        total = total_in(out)
    if not total:
        raise Failed(f"callgrind counted nothing in call_first() with {environment}")
    return total


def count_starts(runs: list[tuple[list[str], Environment]]) -> list[int]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda run: count_start(*run), runs))


def total_in(path: str) -> int:
    """Returns the sum in one of callgrind's files; 0 if there is no file, or no sum in it."""
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(r"^(?:totals|summary): (\d+)", file.read(), re.MULTILINE)
    except FileNotFoundError:
        return 0
    return int(found[1]) if found else 0


def count_calls(run: Run) -> tuple[float, float]:
    """Returns the instructions per call, without start-up, and the noise. The attempt with the
    least noise is used, because occasional work of the MPI library may fall into some loops and not
    into others."""
    short, middle, long = run.lengths()
    best = (0.0, math.inf)
    for _ in range(ATTEMPTS):
        in_short, in_middle, in_long = count_run(run)
        first = (in_middle - in_short) / (middle - short)
        second = (in_long - in_middle) / (long - middle)
        best = min(best, ((in_long - in_short) / (long - short), abs(first - second)), key=operator.itemgetter(1))
        if best[1] < NOISE_LIMIT:
            break
    return best


def count_instructions(runs: list[Run]) -> list[tuple[float, float]]:
    """Returns the instructions per call and the noise, for each run."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(count_calls, runs))


def time_rounds(runs: list[tuple[list[str], Environment]], rounds: int) -> list[list[float]]:
    """
    Returns the number that each command prints, one for each round. All commands run once in each
    round. Figures of one round can be compared, because the speed of the machine usually changes
    little within a round.
    """
    figures: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for (command, environment), figure in zip(runs, figures):
            figure.append(float(output_of(command, environment)))
    return figures


def difference(upper: list[float], lower: list[float], divisor: float = 1.0) -> float:
    """Returns the median over the rounds of the difference `upper` - `lower`, divided by `divisor`."""
    return median((a - b) / divisor for a, b in zip(upper, lower))


def ratio(upper: list[float], lower: list[float]) -> float:
    """Returns the median over the rounds of `upper` / `lower`."""
    return median(a / b for a, b in zip(upper, lower))
