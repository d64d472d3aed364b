# SPDX-License-Identifier: MIT
"""Runs programs under log, and reads its lines."""
import contextlib
import os
import re
from pathlib import Path

from support import BUILD, BUNDLED_TOOLS, clean_environment, run_mpi

PROGRAMS = BUILD / "tests" / "tools" / "programs"
STEPS, WORDS = PROGRAMS / "tools_steps", PROGRAMS / "tools_words"
OBSERVED = BUILD / "tests" / "observe" / "programs"
TOOL_PATH = ":".join(map(str, (BUNDLED_TOOLS, BUILD / "tests" / "pmpi" / "tools")))
WRITER = "qmpi-helper"

# Switches off the handler of a sanitizer, which would report faults itself and end the process in its own way.
FAULTS = {"ASAN_OPTIONS": clean_environment()["ASAN_OPTIONS"] + ":handle_segv=0"}

PREFIX = r"\[(\d+)(?::layer(\d+))?(?::thread(\d+))?\](?: (\d+\.\d{6}|\d\d:\d\d:\d\d\.\d{6}))? "
DURATION = r"\d+(?:\.\d+)? (?:ns|us|ms|s)"
CALL = re.compile(
    rf"{PREFIX}((?:  )*)(\.\.\. )?(MPIX?_\w+)(\(.*\))"
    rf"( = .+ <{DURATION}>| <unfinished \.\.\.>| <unfinished after {DURATION}>| <left by a jump>| = \?)"
    r"( at .+)?")
TERMINATION = re.compile(rf"{PREFIX}\+\+\+ (.+) \+\+\+")


class Line:
    """A line about a call, split into its parts. The text must be a complete line."""

    def __init__(self, text):
        found = CALL.fullmatch(text)
        assert found, f"not a line of a call: {text}"
        self.text = text
        (rank, layer, thread, self.time, indent, self.again, self.function, self.arguments,
         end, caller) = found.groups()
        self.rank, self.depth = int(rank), len(indent) // 2
        self.layer, self.thread = layer and int(layer), thread and int(thread)
        self.result = re.sub(rf" <{DURATION}>$|(?<=after ){DURATION}", "", end.removeprefix(" = ")).strip()
        self.caller = caller and caller.removeprefix(" at ")

    @property
    def call(self):
        return f"{self.function}{self.arguments} = {self.result}"


def run_log(program, *steps, options="", tools=None, ranks=1, **more):
    environment = {"QMPI_TOOL_PATH": TOOL_PATH, **more.pop("env", {})}
    return run_mpi(program, *steps, ranks=ranks, tools=tools or f"log{options}", env=environment,
                   **more)


def lines_of(result):
    """Returns the lines on stderr, without those about the ends of processes."""
    return [Line(text) for text in result.messages if not TERMINATION.fullmatch(text)]


def terminations_of(result):
    """Returns rank -> how its process ended, according to the log."""
    found = [TERMINATION.fullmatch(text) for text in result.messages]
    return {int(match[1]): match[5] for match in found if match}


def read(path):
    return [Line(text) for text in path.read_text().splitlines() if not TERMINATION.fullmatch(text)]


def names(lines):
    return [line.function for line in lines]


def matches(pattern, text):
    """Compares with a pattern, in which `*` stands for an address, a handle, a number or a name that
    may differ."""
    return re.fullmatch(r"[\w.&@-]+".join(map(re.escape, pattern.split("*"))), text)


def writers_of(path):
    """Returns the process ids of programs that write this file."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            arguments = (process / "cmdline").read_bytes().split(b"\0")
            if arguments[0].endswith(WRITER.encode()) and os.fsencode(path) in arguments:
                found.append(int(process.name))
    return found
