# SPDX-License-Identifier: MIT
"""What is measured: the rows of the table of costs, and the other programs, each with its environment."""
import functools
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "stack"))

HEIGHTS = (1, 2, 4, 8)

RAW = "raw"
WRAPPER = "wrapper"
CHAIN = "chain"
NO_LAYER = "no layer"
OFF = "switched off"
CONDITIONS = "off by conditions"
NEXT = "next"
LOOK_UP = "look up"
OBSERVER = "observer"
AFTER_ONLY = "after only"
PROFILE = "profile"
PROFILE_DEPTH = "profile depth"
TRACE = "trace"
MPICH = "mpich"
MPICH_ONCE = "mpich once"
MPICH_LOOK_UP = "mpich look up"
MPICH_MIXED = "mpich mixed"
MPICH_OVER = "mpich over native"
ELSEWHERE = "elsewhere"
PMPI_CHAIN = "pmpi chain"
PMPI = "pmpi"
OVER_NATIVE = "PMPI over native"
UNDER_NATIVE = "native over PMPI"


@dataclass
class Row:
    """One line of the table; `cells` maps the number of tools to an environment."""

    key: str
    title: str
    cells: dict[int, dict[str, str]] = field(default_factory=dict)


@dataclass
class Start:
    """A start-up, whose first MPI call is measured."""

    name: str
    environment: dict[str, str]
    # The entry is compared with the earlier entry `than`, and the difference is divided by `more`: the number of layers
    # that the entry has in addition to those of `than`, or 1 if the target is for the whole difference.
    more: int = 0
    than: str = ""
    target: float = 0  # for the difference after the division, in microseconds; 0: none
    # The maximum number of instructions in the first call, minus those of the first entry; 0: no target. The number is
    # for the MPICH of Debian 12; dependencies.scaled() adapts it to the libraries of the measured program.
    instructions: int = 0


@dataclass
class Question:
    """A call of dlsym, made after the program's first MPI call or before it."""

    name: str
    arguments: list[str]  # of ask_dlsym
    target: float = 20  # for the additional nanoseconds with libqmpi; 0: none


@dataclass
class Bundled:
    """A bundled tool: a call of MPI_Iprobe is measured, compared with the tool `empty`."""

    name: str
    environment: dict[str, str]
    target: float = 0  # nanoseconds more than `empty`; 0: none


@dataclass
class Conversion:
    """A request of an observer that is compiled for the standard ABI, in a program with another ABI. Its cost is the
    difference between the environments `more` and `less`, divided by `divisor`."""

    name: str
    more: dict[str, str]
    less: dict[str, str]
    divisor: int = 1
    target: float = 0  # nanoseconds; 0: none
    instructions: int = 0  # 0: no target


@dataclass
class RoundTrip:
    """A stack under which two ranks exchange messages of 8 bytes."""

    name: str
    environment: dict[str, str]
    # A round trip may take at most `target` nanoseconds more than without libqmpi, plus the time of `readings` readings
    # of the clock. If `target` is 0, there is no such limit.
    target: float = 0
    readings: int = 0
    times: float = 0  # at most this multiple of the previous entry; 0: no target


class Build:
    """A build folder with the programs and libraries."""

    def __init__(self, folder: str):
        self.folder = Path(folder).resolve()
        self.bench = self.folder / "bench"
        self.loop = self.bench / "loop"
        self.count_steps = self.folder / "tests/count_steps"
        self.first_call = self.bench / "first_call"
        self.ask_dlsym = self.bench / "ask_dlsym"
        self.probe = self.bench / "probe"
        self.probe_status = self.bench / "probe_status"
        self.places = self.bench / "places"
        self.places_turn = self.bench / "places_turn"
        self.round_trip = self.bench / "round_trip"
        self.clock = self.bench / "clock"
        libraries = [path for path in (self.folder / "src").glob("libqmpi*.so") if path.exists()]
        if not libraries or not self.loop.exists():
            raise SystemExit(f"bench/run: {self.folder} is not a complete build of qmpi\n"
                             f"hint: meson configure {folder} -Dtests=true && ninja -C {folder} bench_programs")
        self.library = libraries[0]

    def option_values(self) -> dict:
        listed = json.loads((self.folder / "meson-info" / "intro-buildoptions.json").read_text())
        return {option["name"]: option["value"] for option in listed}

    def mpi(self) -> str:
        """Returns the kind of MPI that the build is for: mpich, openmpi or abi. This is read from a header, because the
        option may be `auto`."""
        header = (self.folder / "src" / "generate" / "build.h").read_text()
        return re.search(r'QMPI_MPI "(\w+)"', header)[1]

    def implementation(self) -> str:
        """Returns the implementation of the MPI library: mpich or openmpi."""
        if self.mpi() != "abi":
            return self.mpi()
        os.environ["QMPI_TEST_MPI"] = "abi"
        import mpi_in_use
        return mpi_in_use.IMPLEMENTATION

    def options(self) -> str:
        """The build options that matter for the figures."""
        values = self.option_values()
        return f"{values['buildtype']}, -O{values['optimization']}, {self.mpi()}"

    def mpi_library(self) -> str:
        """Returns the path of the MPI library that the programs load; empty if ldd does not show
        it."""
        text = subprocess.run(["ldd", str(self.loop)], capture_output=True, text=True, check=False,
                              env=clean_environment({}))
        found = re.search(r"=> (\S*libmpi\S*)", text.stdout)
        return found[1] if found else ""

    def with_tools(self, tools: str) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "QMPI_TOOLS": tools,
            "QMPI_TOOL_PATH": str(self.bench),
        }

    def trace(self) -> str:
        """Returns the entry of a stack for `trace`. The files of each run replace those of the previous run."""
        return f"trace,format=own,output={self.bench / 'trace-files'}"

    def with_preloads(self, names: list[str]) -> dict[str, str]:
        return {"LD_PRELOAD": ":".join(str(self.bench / f"{name}.so") for name in names)}

    def with_stack(self, *parts: str) -> dict[str, str]:
        return self.with_tools(":".join(parts))


def numbered(name: str, count: int) -> list[str]:
    return [f"{name}{number}" for number in range(1, count + 1)]


def in_turn(one: str, other: str, count: int) -> list[str]:
    return [f"{other if number % 2 == 0 else one}{number}" for number in range(1, count + 1)]


@functools.cache
def abi_library() -> dict[str, str]:
    """Returns the variables by which programs of the standard ABI find the library that QMPI_TEST_ABI selects, as in
    the tests. Returns no variables if QMPI_TEST_ABI is not set."""
    if not os.environ.get("QMPI_TEST_ABI"):
        return {}
    os.environ["QMPI_TEST_MPI"] = "abi"
    import mpi_in_use
    return mpi_in_use.ENVIRONMENT


def clean_environment(extra: dict[str, str]) -> dict[str, str]:
    """Returns the environment of this process without variables that would change a measurement, such as
    MALLOC_PERTURB_, which `meson test` sets and which makes malloc and free fill memory. Adds the variables of
    abi_library() and `extra`."""
    dropped = ("QMPI_", "LD_", "PMI_", "PMI2_", "PMIX_", "HYDRA_", "MPIR_", "MPICH_", "MALLOC_", "GLIBC_TUNABLES")
    passed = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**passed, **abi_library(), **extra}


def rows(build: Build) -> list[Row]:
    """Returns the rows of the table from the top, with raw MPI first."""
    def stacks(name: str, above: tuple = (), lower: tuple = ()) -> dict[int, dict[str, str]]:
        return {k: build.with_stack(*above, *numbered(name, k), *lower) for k in HEIGHTS}

    kinds = ["pass", "observe", "pmpi_wrapper"] + (["mpich_once"] if build.mpi() == "mpich" else [])
    # In MPI_Init, `@ranks=1-` switches a layer off, because the measured process has rank 0.
    conditions = ["@enabled=no", "@ranks=1-", "@functions=MPI_Barrier"]
    left_out = [f"{kinds[k % len(kinds)]}{k + 1},{conditions[k % 3]}" for k in range(HEIGHTS[-1])]

    mpich = [
        Row(MPICH, "qmpi, layers of MPICH's variant", stacks("mpich_cached")),
        Row(MPICH_ONCE, "qmpi, the same, tools that are listed once", stacks("mpich_once")),
        Row(MPICH_LOOK_UP, "qmpi, the same, looking up on each call", stacks("mpich_look_up")),
        Row(MPICH_MIXED, "qmpi, QMPI layers and MPICH's variant, in turn",
            {k: build.with_stack(*in_turn("pass", "mpich_once", k)) for k in HEIGHTS}),
        Row(MPICH_OVER, "qmpi, MPICH's variant and QMPI layers, in turn",
            {k: build.with_stack(*in_turn("mpich_once", "pass", k)) for k in HEIGHTS}),
    ] if build.mpi() == "mpich" else []
    return [
        Row(RAW, "raw MPI", {0: {}}),
        Row(WRAPPER, "one PMPI wrapper", {1: build.with_preloads(["pmpi_wrapper1"])}),
        Row(CHAIN, "PMPI wrappers chained by RTLD_NEXT",
            {k: build.with_preloads(numbered("pmpi_chain", k)) for k in HEIGHTS}),
        Row(NO_LAYER, "qmpi, QMPI_TOOLS empty", {0: build.with_tools("")}),
        Row(ELSEWHERE, "qmpi, layers that do not intercept it",
            {k: build.with_stack(*["elsewhere1"] * k) for k in (1, 100)}),
        Row(OFF, "qmpi, layers that are switched off", stacks("off")),
        Row(CONDITIONS, "qmpi, layers of all kinds that conditions leave out",
            {k: build.with_stack(*left_out[:k]) for k in HEIGHTS}),
        Row(NEXT, "qmpi, layers with QMPIX_NEXT", stacks("pass")),
        Row(LOOK_UP, "qmpi, layers that look up on each call", stacks("look_up")),
        Row(OBSERVER, "qmpi, observers with empty callbacks", stacks("observe")),
        Row(AFTER_ONLY, "qmpi, the same, without `before`", stacks("observe_after")),
        Row(PROFILE, "qmpi, `empty`, and `profile` below it",
            {1: build.with_tools("empty"), 2: build.with_tools("empty:profile")}),
        Row(PROFILE_DEPTH, "qmpi, the same with `profile,depth=4`",
            {1: build.with_tools("empty"), 2: build.with_tools("empty:profile,depth=4")}),
        Row(TRACE, "qmpi, `empty`, and `trace` below it",
            {1: build.with_tools("empty"), 2: build.with_tools("empty:" + build.trace())}),
        *mpich,
        Row(PMPI_CHAIN, "qmpi, PMPI tools that use RTLD_NEXT", stacks("pmpi_chain")),
        Row(PMPI, "qmpi, PMPI tools that call PMPI_X", stacks("pmpi_wrapper")),
        Row(OVER_NATIVE, "qmpi, the same over a QMPI layer",
            stacks("pmpi_wrapper", lower=("pass1",))),
        Row(UNDER_NATIVE, "qmpi, the same under a QMPI layer",
            stacks("pmpi_wrapper", above=("pass1",))),
    ]


def checked_rows(build: Build) -> list[Row]:
    """Returns the rows with only those heights that the targets in instructions need."""
    checked = rows(build)
    for row in checked:
        pairs = row.key in (MPICH_MIXED, MPICH_OVER, OBSERVER, AFTER_ONLY, PROFILE,
                             PROFILE_DEPTH, TRACE, NEXT)
        lowest = () if row.key == AFTER_ONLY else (0, 1)
        row.cells = {k: row.cells[k] for k in row.cells if k in (*lowest, 8, 100) or pairs and k == 2}
    return checked


def asking(build: Build) -> dict[int, dict[str, str]]:
    """Returns, by number of questions, the environment with one layer that asks for the calling address so often in
    each call."""
    return {1: build.with_tools("ask_once1"), 9: build.with_tools("ask_nine1")}


def start_ups(build: Build) -> list[Start]:
    """Returns the entries, each of them somewhere after the one with which it is compared (`than`)."""
    twice = build.with_stack(*["pmpi_wrapper1"] * 2)
    eight_times = build.with_stack(*["pmpi_wrapper1"] * 8)
    return [
        Start("no libqmpi", {}),
        Start("no layer", build.with_tools(""), 1, "no libqmpi", instructions=192_000),
        Start("1 layer", build.with_tools("empty"), 1, "no layer"),
        Start("8 layers of one tool", build.with_stack(*["empty"] * 8), 1, "no libqmpi", 1000,
              instructions=681_000),
        Start("8 layers of 8 tools", build.with_stack(*numbered("pass", 8)), 1, "no libqmpi",
              1000),
        Start("1 PMPI tool", build.with_tools("pmpi_wrapper1"), 1, "no layer", 500),
        Start("8 PMPI tools", build.with_stack(*numbered("pmpi_wrapper", 8)), 8, "no layer",
              500),
        Start("1 PMPI tool twice", twice, 1, "1 PMPI tool", 500, instructions=755_000),
        Start("1 PMPI tool 8 times", eight_times, 6, "1 PMPI tool twice", 500),
    ]


def checked_start_ups(build: Build) -> list[Start]:
    """Returns the first entry, and those with a target in instructions, which are compared with it. The targets are for
    MPICH, so there are no entries for other implementations."""
    if build.implementation() != "mpich":
        return []
    starts = start_ups(build)
    return [starts[0], *(start for start in starts if start.instructions)]


def questions(build: Build) -> list[Question]:
    mpi = build.mpi_library()
    return [
        Question("strlen, libc's handle", ["after", "libc.so.6", "strlen"]),
        Question("strlen, RTLD_DEFAULT", ["after", "default", "strlen"]),
        Question("MPI_Send, MPI's handle", ["after", mpi, "MPI_Send"]),
        Question("the same before any MPI call", ["before", mpi, "MPI_Send"], target=0),
    ]


def bundled(build: Build) -> list[Bundled]:
    """Returns `empty`, and then the entries that are compared with it."""
    def tool(name: str) -> dict[str, str]:
        return {**build.with_tools(name), "QMPI_TOOL_PATH": str(build.folder / "tools")}

    return [Bundled("empty", tool("empty")),
            Bundled("log,output=/dev/null", tool("log,output=/dev/null"), 500),
            # A rule that selects the function, and a call number that is never reached.
            Bundled("delay, no delay", tool("delay,functions=MPI_Iprobe,before=1ms,calls=4000000000"), 15)]


def conversions(build: Build) -> list[Conversion]:
    """Returns the entries: none in a build for the standard ABI, in which nothing is converted."""
    if build.mpi() == "abi":
        return []

    def asked(what: str) -> tuple[dict[str, str], dict[str, str], int]:
        return build.with_tools(f"convert_{what}_nine"), build.with_tools(f"convert_{what}_once"), 8

    return [Conversion("nothing, over an observer of this MPI", build.with_tools("convert_nothing"),
                       build.with_tools("observe_after1"), instructions=15),
            Conversion("a handle", *asked("comm"), target=5),
            Conversion("a status", *asked("status"), target=5)]


def round_trips(build: Build) -> list[RoundTrip]:
    """Returns the entries. The first one is without libqmpi. The targets `target` compare with it, and the targets
    `times` with the previous entry."""
    return [
        RoundTrip("no libqmpi", {}),
        RoundTrip("empty", build.with_tools("empty")),
        RoundTrip("profile", build.with_tools("profile"), target=50, readings=5),
        RoundTrip("profile:count:mpit", build.with_tools("profile:count:mpit"), times=1.05),
        RoundTrip("trace", build.with_tools(build.trace()), target=80, readings=5),
        RoundTrip("trace:profile:count", build.with_tools(build.trace() + ":profile:count"), times=1.15),
    ]
