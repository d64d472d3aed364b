#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the conformance cases of QMPI against one implementation, or compares the results of several.

    run.py --implementation qmpi --mpicc mpicc.mpich --include include --library build/src/libqmpi.so
    run.py --implementation mpich --mpicc /opt/mpich/bin/mpicc --json mpich.json
    run.py --compare qmpi.json mpich.json

Prints one line for each case, and then a table of how many held. README.md explains the suite.
Exit status: 0 if every case holds or is skipped, and after a comparison; 1 if a case does not hold; 2 if the suite
cannot be built or is used wrongly.
"""
import argparse
import csv
import fnmatch
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BINDINGS = {"mpif": 1, "use_mpi": 2, "mpi_f08": 3}
OUTCOMES = ("pass", "fail", "crash", "skip")


@dataclass
class Implementation:
    variable: str  # the environment variable that contains the list of tools
    defines: tuple = ()
    lists_pmpi_tools: bool = False  # the list may name a PMPI tool by its path; otherwise, it is preloaded


IMPLEMENTATIONS = {
    "qmpi": Implementation("QMPI_TOOLS", lists_pmpi_tools=True),
    # libqmpi, through what MPICH's mpi.h declares
    "qmpi-mpich": Implementation("QMPI_TOOLS", ("-DDRAFT_OVER_MPI_H",), lists_pmpi_tools=True),
    # MPICH itself, configured with its option for QMPI
    "mpich": Implementation("MPIR_CVAR_QMPI_TOOL_LIST", ("-DDRAFT_OVER_MPI_H",)),
}

# Variables that may contain a list of tools in the environment in which the suite is started. They are removed.
LISTS = {"QMPI_TOOLS", "QMPI_CONFIG", "MPIR_CVAR_QMPI_TOOL_LIST", "MPIR_PARAM_QMPI_TOOL_LIST", "MPICH_QMPI_TOOL_LIST"}


@dataclass
class Scenario:
    tools: str | None  # None: the variable is not set
    ranks: int = 1
    status: int = 0  # the exit status that the run is to have; -1: any other than 0
    fortran: str = ""
    pmpi: bool = False


SCENARIOS = {
    "start": Scenario("alpha:beta:alpha"),
    "before": Scenario("alpha:beta"),
    "names": Scenario("alpha:bare"),
    "unset": Scenario(None),
    "empty": Scenario(""),
    "adjacent": Scenario("alpha:alpha"),
    "leading": Scenario(":alpha:beta"),
    "doubled": Scenario("alpha::beta"),
    "trailing": Scenario("alpha:beta:"),
    "many": Scenario(":".join(["alpha"] * 64)),
    "missing": Scenario("alpha:nosuchtool", status=-1),
    "no_call": Scenario("alpha:beta", status=9),
    "layers": Scenario("twice:changer:alpha:answerer:replaced:cached:bare:nested:alpha"),
    "errors": Scenario("alpha:errors"),
    "address": Scenario("alpha:beta:nested"),
    "pmpi": Scenario("alpha", pmpi=True),
    "threads": Scenario("alpha:beta"),
    "thread_address": Scenario("alpha:beta"),
    "run_time": Scenario("alpha:bare:alpha"),
    "first_thread": Scenario("alpha:beta"),
    "ranks": Scenario("alpha:beta:gamma", ranks=2),
    "sessions": Scenario("alpha:beta"),
    "mpit": Scenario("alpha:beta"),
    "pcontrol": Scenario("pcontrol:pcontrol:pc7"),
    "abort": Scenario("alpha:beta", status=5),
    "abort_kept": Scenario("alpha:quitter", status=3),
    "fortran_mpif": Scenario("alpha:beta", fortran="mpif"),
    "fortran_use_mpi": Scenario("alpha:beta", fortran="use_mpi"),
    "fortran_mpi_f08": Scenario("alpha:beta", fortran="mpi_f08"),
    "module": Scenario("alpha:fortran:alpha", fortran="module"),
}


@dataclass
class Case:
    name: str
    scenario: str
    source: str
    sentence: str
    outcome: str = ""
    detail: str = ""


def read_table(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [[field.strip() for field in line.split("|")] for line in lines if line and not line.startswith("#")]


def read_cases() -> list[Case]:
    return [Case(*fields) for fields in read_table("cases.txt")]


class Suite:
    """The programs of the suite, built for one implementation in a folder of their own."""

    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options = options
        self.implementation = IMPLEMENTATIONS[options.implementation]
        self.folder = folder
        self.without = {}  # for each Fortran program that is not built: the outcome of its cases, and the reason

    def compile(self, compiler: str, output: str, *arguments: str) -> None:
        command = [*shlex.split(compiler), "-g", "-O1", "-fno-optimize-sibling-calls",
                   *self.implementation.defines, *(f"-I{Path(path).absolute()}" for path in self.options.include),
                   *arguments, "-o", str(self.folder / output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
        if done.returncode:
            raise RuntimeError(f"{shlex.join(command)}\n{done.stderr}")

    def build(self) -> None:
        # The implementation's library stands before the MPI library.
        library = [str(Path(path).absolute()) for path in self.options.library]
        paths = [f"-Wl,-rpath,{Path(path).parent}" for path in library]
        own = [str(self.folder / "libtools.so"), f"-Wl,-rpath,{self.folder}"]
        linked = ["-Wl,--no-as-needed", *library, *paths]
        cc = self.options.mpicc
        shared = ["-shared", "-fPIC", "-Wall"]
        self.compile(cc, "libtools.so", *shared, "tools.c", *linked)
        with ThreadPoolExecutor(self.options.jobs) as pool:
            work = [pool.submit(self.compile, cc, "libapplication.so", *shared, "library.c"),
                    pool.submit(self.compile, cc, "pmpi.so", *shared, "pmpi.c")]
            for item in work:
                item.result()
            work = [pool.submit(self.compile, cc, "program", "-Wall", "program.c", "threads.c", *own,
                                str(self.folder / "libapplication.so"), *linked, "-lpthread", "-ldl")]
            work += [pool.submit(self.build_fortran, name, own + linked) for name in (*BINDINGS, "module")]
            for item in work:
                item.result()

    def build_fortran(self, name: str, linked: list[str]) -> None:
        if not self.options.mpifort:
            self.without[name] = "skip", "no Fortran compiler"
            return
        if name == "module":
            if not self.options.module:
                self.without[name] = "fail", "no module for tools in Fortran"
                return
            c, fortran, binding = "module.c", [str(Path(self.options.module).resolve()), "module.F90"], "-DBINDING=2"
        else:
            c, fortran, binding = "fortran.c", ["program.F90"], f"-DBINDING={BINDINGS[name]}"
        modules = self.folder / f"{name}.modules"
        modules.mkdir()
        self.compile(self.options.mpicc, f"fortran_{name}.o", "-c", "-Wall", binding, c)
        try:
            self.compile(self.options.mpifort, f"fortran_{name}", "-cpp", binding, f"-J{modules}",
                         *fortran, str(self.folder / f"fortran_{name}.o"), *linked, "-ldl")
        except RuntimeError as error:
            self.without[name] = "skip", f"does not compile: {str(error).splitlines()[-1]}"

    def run(self, name: str, cases: list[Case]) -> None:
        """Runs one scenario, and sets the outcome of its cases."""
        scenario = SCENARIOS[name]
        if scenario.fortran in self.without:
            for case in cases:
                case.outcome, case.detail = self.without[scenario.fortran]
            return
        results = self.folder / f"{name}.results"
        environment = dict(os.environ, CONFORMANCE_RESULTS=str(results))
        for variable in LISTS | {"LD_PRELOAD"}:
            environment.pop(variable, None)
        preload = list(self.options.preload)
        tools = scenario.tools
        if scenario.pmpi:
            pmpi = str(self.folder / "pmpi.so")
            if self.implementation.lists_pmpi_tools:
                tools = f"{pmpi}:{tools}"
            else:
                preload.append(pmpi)
        if tools is not None:
            environment[self.implementation.variable] = tools
        program = f"fortran_{scenario.fortran}" if scenario.fortran else "program"
        command = [str(self.folder / program), name]
        if preload:
            command = ["env", f"LD_PRELOAD={':'.join(preload)}", *command]
        if scenario.ranks > 1 or self.options.always_mpiexec:
            command = [*shlex.split(self.options.mpiexec), "-n", str(scenario.ranks), *command]
        else:
            environment.update(item.split("=", 1) for item in self.options.alone)
        # Processes of Open MPI that start at the same moment would compete for a folder in a common TMPDIR.
        temporary = self.folder / f"{name}.tmp"
        temporary.mkdir()
        environment["TMPDIR"] = str(temporary)
        with subprocess.Popen(command, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=self.options.timeout)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                status = None
        text = output.decode(errors="replace")
        if self.options.verbose and text:
            print(f"---- {name}: status {status}\n{text}", file=sys.stderr)
        self.judge(scenario, cases, read_results(results), status, text)

    @staticmethod
    def judge(scenario: Scenario, cases: list[Case], results: dict, status: int | None, text: str) -> None:
        crashed = status is None or status < 0 or status in (128 + signal.SIGSEGV, 128 + signal.SIGABRT)
        if status is None:
            end = "does not end"
        elif status < 0:
            end = f"killed by signal {-status} ({signal.strsignal(-status)})"
        else:
            end = f"ends with status {status}"
        of_the_end = {
            "list.missing_stops": not crashed and status != 0 and "has returned" not in text,
            "list.missing_named": "nosuchtool" in text,
            "life.no_call": status == scenario.status,
            "abort.status": status == scenario.status,
            "abort.kept": status == scenario.status,
        }
        for case in cases:
            if case.name in of_the_end:
                case.outcome = "pass" if of_the_end[case.name] else "crash" if crashed else "fail"
                case.detail = "" if case.outcome == "pass" else end
            elif case.name in results:
                case.outcome, case.detail = results[case.name]
                if "killed by signal" in case.detail:
                    case.outcome = "crash"
            else:
                last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
                case.outcome = "crash" if crashed else "fail"
                case.detail = f"not reached: the process {end}" + (f": {last}" if last and not crashed else "")


def read_results(path: Path) -> dict[str, tuple[str, str]]:
    """Returns the outcome of each case that was reported. If there are several reports of a case, the worst one counts."""
    worst = {"pass": 0, "skip": 1, "fail": 2}
    results: dict[str, tuple[str, str]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            name, outcome, detail = (line.split("\t") + ["", ""])[:3]
            if name not in results or worst[outcome] > worst[results[name][0]]:
                results[name] = (outcome, detail)
    return results


def print_summary(columns: dict[str, list[Case]]) -> None:
    """Prints how many cases held, by the source of their sentences."""
    sources = list(dict.fromkeys(case.source for cases in columns.values() for case in cases))
    print(f"\n{'':14}" + "".join(f"{name:>32}" for name in columns))
    for source in [*sources, "all"]:
        line = f"{source:14}"
        for cases in columns.values():
            chosen = [case for case in cases if source in ("all", case.source)]
            counts = {outcome: sum(case.outcome == outcome for case in chosen) for outcome in OUTCOMES}
            rest = ", ".join(f"{counts[o]} {o}" for o in ("fail", "crash", "skip") if counts[o])
            line += f"{str(counts['pass']) + ' pass' + (', ' + rest if rest else ''):>32}"
        print(line)


def print_tap(cases: list[Case]) -> None:
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        if case.outcome == "skip":
            print(f"ok {number} - {case.name} # SKIP {case.detail}")
        else:
            print(f"{'ok' if case.outcome == 'pass' else 'not ok'} {number} - {case.name}")
            if case.outcome != "pass":
                print(f"# {case.outcome}: {case.detail}\n# {case.source}: {case.sentence}")


def compare(paths: list[str], every: bool, markdown: bool) -> int:
    """Prints the cases that do not pass in at least one of the files, or all cases if `every` is true. The reason of a
    case is that of differences.txt or, if there is none, what was observed in the first file in which the case does
    not pass. All files must be of runs of the same cases."""
    columns = {}
    for path in paths:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        columns[told["name"]] = [Case(**case) for case in told["cases"]]
    reasons = read_table("differences.txt")
    rows = []
    for alternatives in zip(*columns.values()):
        first = alternatives[0]
        outcomes = [case.outcome for case in alternatives]
        if not every and all(outcome == "pass" for outcome in outcomes):
            continue
        missed = [case.detail for case in alternatives if case.outcome != "pass"]
        found = [reason for pattern, reason in reasons if fnmatch.fnmatch(first.name, pattern)]
        rows.append([first.name, *outcomes, (found or missed)[0] if missed else ""])
    titles = ["case", *columns, "reason"]
    if markdown:
        print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
        for row in rows:
            print(f"| `{row[0]}` | {' | '.join(row[1:])} |")
    else:
        widths = [max(len(row[i]) for row in [titles, *rows]) for i in range(len(titles) - 1)]
        for row in [titles, *rows]:
            print("  ".join([field.ljust(width) for field, width in zip(row, widths)] + row[-1:]))
        print_summary(columns)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--implementation", choices=IMPLEMENTATIONS, default="qmpi")
    parser.add_argument("--name", help="name of the implementation in tables and files (default: --implementation)")
    parser.add_argument("--mpicc", default="mpicc", help="compiles C for the MPI library")
    parser.add_argument("--mpifort", default="",
                        help="compiles Fortran for the MPI library (default: none; cases in Fortran are skipped)")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--alone", action="append", default=[], metavar="NAME=VALUE",
                        help="variable in the environment of runs without mpiexec")
    parser.add_argument("--always-mpiexec", action="store_true", help="use mpiexec for runs of one process, too")
    parser.add_argument("--include", action="append", default=[], metavar="FOLDER",
                        help="folder of the implementation's header")
    parser.add_argument("--module", metavar="FILE", help="source of the implementation's module for tools in Fortran")
    parser.add_argument("--library", action="append", default=[], metavar="FILE",
                        help="library of the implementation, to be linked before the MPI library")
    parser.add_argument("--preload", action="append", default=[], metavar="FILE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of runs at the same time")
    parser.add_argument("--timeout", type=float, default=60, help="time limit of a run, in seconds")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--tap", action="store_true", help="print the Test Anything Protocol instead")
    parser.add_argument("--verbose", action="store_true", help="also print what the programs print")
    parser.add_argument("--compare", nargs="+", metavar="JSON", help="compare the files of earlier runs")
    parser.add_argument("--all", action="store_true", help="with --compare: also print cases that hold everywhere")
    parser.add_argument("--markdown", action="store_true", help="with --compare: print a table in Markdown")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="patterns; default: all cases")
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.compare:
        return compare(options.compare, options.all, options.markdown)
    cases = read_cases()
    if options.cases:
        cases = [case for case in cases if any(fnmatch.fnmatch(case.name, p) for p in options.cases)]
    if not cases:
        print("qmpi: no such case", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="qmpi-conformance-"))
    try:
        suite = Suite(options, folder)
        try:
            suite.build()
        except (RuntimeError, OSError) as error:
            print(f"qmpi: the suite cannot be built\n{error}", file=sys.stderr)
            return 2
        by_scenario = {name: [case for case in cases if case.scenario == name] for name in SCENARIOS}
        with ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(suite.run, name, chosen) for name, chosen in by_scenario.items() if chosen]:
                done.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    name = options.name or options.implementation
    if options.tap:
        print_tap(cases)
    else:
        for case in cases:
            print(f"{case.outcome:5} {case.name:36} {case.detail or case.sentence}")
        print_summary({name: cases})
    if options.json:
        Path(options.json).write_text(json.dumps({"name": name, "cases": [asdict(case) for case in cases]}, indent=1)
                                      + "\n", encoding="utf-8")
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["name", "scenario", "source", "sentence", "outcome", "detail"])
            writer.writeheader()
            writer.writerows(asdict(case) for case in cases)
    return any(case.outcome in ("fail", "crash") for case in cases)


if __name__ == "__main__":
    sys.exit(main())
