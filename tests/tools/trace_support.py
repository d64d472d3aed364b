# SPDX-License-Identifier: MIT
"""Runs programs under trace, and reads the traces with a program of the tests (read_trace.c)."""
import subprocess
from dataclasses import dataclass, field

from archives import HAS_READER, check_archives
from otf2_events import check_archive_of
from support import BUILD, BUNDLED_TOOLS, QMPI, clean_environment, run_mpi

PROGRAMS = BUILD / "tests" / "tools" / "programs"
CALLS = PROGRAMS / "tools_trace_calls"
MANY = PROGRAMS / "tools_trace_many"
PAUSES = PROGRAMS / "tools_trace_pauses"
SIZES = PROGRAMS / "tools_message_sizes"
STEPS = PROGRAMS / "tools_steps"
TOOL_PATH = f"{BUNDLED_TOOLS}:{BUILD / 'tests' / 'tools' / 'tools'}"
SPECIAL = {-1: "any", -2: "nobody", -3: "self"}


@dataclass
class Process:
    traits: dict
    locations: list = field(default_factory=list)
    comms: list = field(default_factory=list)
    windows: list = field(default_factory=list)
    files: list = field(default_factory=list)
    regions: list = field(default_factory=list)
    counters: list = field(default_factory=list)
    sites: list = field(default_factory=list)
    events: dict = field(default_factory=dict)  # location -> events

    def all_events(self):
        return [event for events in self.events.values() for event in events]

    def kinds(self, *kinds):
        return [event for event in self.all_events() if event["kind"] in kinds]

    def calls(self):
        """Returns function -> number of its calls."""
        found = {}
        for event in self.kinds("enter"):
            found[event["function"]] = found.get(event["function"], 0) + 1
        return found


def read(path):
    """Reads a trace from a directory or a file. Returns rank -> Process, and the warnings of the reader."""
    result = subprocess.run([PROGRAMS / "tools_read_trace", path], capture_output=True, text=True, check=False,
                            env=clean_environment())
    assert result.returncode == 0, result.stderr
    processes, warnings = {}, []
    lists = {"location": "locations", "comm": "comms", "window": "windows", "file": "files", "region": "regions",
             "counter": "counters", "site": "sites"}
    for line in result.stdout.splitlines():
        what, _, rest = line.partition(" ")
        # There may be hundreds of thousands of events. They contain no names and no further `=`, so a simple split is
        # sufficient.
        if what == "event":
            words = iter(rest.replace(" ", "=").split("="))
            traits = dict(zip(words, words, strict=True))
            traits["name"] = ""
            processes[int(traits["rank"])].events.setdefault(int(traits["location"]), []).append(traits)
            continue
        if line.startswith("warnings="):
            warnings.append(line.removeprefix("warnings="))
            continue
        if not rest or (what != "process" and what not in lists):
            warnings.append(line)
            continue
        # The last member of definitions is a name, which may contain spaces.
        members, _, name = rest.partition(" name=")
        traits = dict(word.split("=", 1) for word in members.split(" "))
        traits["name"] = name
        rank = int(traits["rank"])
        if what == "process":
            processes[rank] = Process(traits)
        else:
            getattr(processes[rank], lists[what]).append(traits)
    return processes, [warning for warning in warnings if warning]


def run(program, *arguments, cwd, tools="trace,format=own", ranks=2, **more):
    environment = {"QMPI_TOOL_PATH": TOOL_PATH, **more.pop("env", {})}
    return run_mpi(program, *arguments, ranks=ranks, tools=tools, env=environment, cwd=cwd, **more)


def qmpi_trace(folder, *arguments, path="qmpi-trace", status=0):
    """Runs `qmpi trace`, which must end with this status. Returns the completed process."""
    done = subprocess.run([QMPI, "trace", *arguments, path], capture_output=True, text=True, timeout=60, cwd=folder,
                          env=clean_environment(), check=False)
    assert done.returncode == status, done.stdout + done.stderr
    if "--to=otf2" in arguments:
        check_archives(folder / arguments[arguments.index("-o") + 1])
    return done


def trace(tmp_path, program, *arguments, options="", archive=True, **more):
    """Returns the processes of a run, which must succeed without messages. The archive must contain the same events.
    With archive=False, or without the Python reader for OTF2, no archive is written."""
    archive = archive and HAS_READER
    result = run(program, *arguments, cwd=tmp_path, tools=f"trace{'' if archive else ',format=own'}{options}", **more)
    assert result.returncode == 0 and result.messages == []
    processes, warnings = read(tmp_path / "qmpi-trace")
    assert warnings == []
    if archive:
        check_archive_of(processes, tmp_path / "qmpi-trace" / "traces.otf2")
    return processes


def describe(process, event, requests):
    """Returns an event as text, with names instead of indices. Requests are numbered from 1 in the order in which they
    appear."""
    words = [event["kind"]]
    if "comm" in event:
        words.append(process.comms[int(event["comm"])]["name"].removeprefix("MPI_COMM_"))
    if "object" in event:
        kind = event["kind"].split("_")[0]
        objects = {"region": process.regions, "counter": process.counters, "file": process.files,
                   "io": process.files, "call": process.files}.get(kind)
        words.append(objects[int(event["object"])]["name"] if objects else f"window{event['object']}")
    for name in ("peer", "tag", "root"):
        if name in event:
            number = int(event[name])
            words.append(f"{name}={SPECIAL.get(number, number)}")
    if "request" in event:
        words.append(f"#{requests.setdefault(event['request'], len(requests) + 1)}")
    if event["kind"] in ("icollective_complete",):
        words.append(event["function"])
    sized = ("send", "recv", "isend", "irecv_request", "irecv")
    if event["kind"] in sized or event["bytes"] != "0":
        words.append(f"bytes={event['bytes']}")
    if event["received"] != "0":
        words.append(f"received={event['received']}")
    return " ".join(words)


def tell(process, events):
    """Returns the outermost calls and the events outside of calls in order. A call is written as NAME or
    NAME[event; event], with a final `!` if it was interrupted. A call that did not end is written as `NAME(event…`."""
    calls, stack, requests = [], [], {}

    def add(text):
        (stack[-1][1] if stack else calls).append(text)

    for event in events:
        if event["kind"] == "enter":
            stack.append((event["function"].removeprefix("MPI_"), []))
        elif event["kind"] in ("leave", "interrupted") and stack:
            name, told = stack.pop()
            assert event["function"] == "MPI_" + name
            end = "!" if event["kind"] == "interrupted" else ""
            add(name + (f"[{'; '.join(told)}]" if told else "") + end)
        else:
            add(describe(process, event, requests))
    while stack:
        name, told = stack.pop()
        add(f"{name}({'; '.join(told)}…")
    return calls


def sections(process, location=0):
    """Returns region -> the events within it, without the calls that begin and end it."""
    found, name, begun = {}, None, None
    events = process.events[location]
    for place, event in enumerate(events):
        if event["kind"] == "region_begin":
            name, begun = process.regions[int(event["object"])]["name"], place + 2
        elif event["kind"] == "region_end":
            found[name] = tell(process, events[begun:place - 1])
    return found
