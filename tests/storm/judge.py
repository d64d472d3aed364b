# SPDX-License-Identifier: MIT
"""Compares the calls that the layers saw with the calls that were made. Each difference is a line of
text."""
import collections
import csv
import json
import os
import re
import subprocess

from ledger import FUNCTIONS, LAYERS, ON

# MPI_Finalize, and functions that the program also calls after it, when most tools have already reported.
OUTSIDE = {"MPI_Finalize", "MPI_Initialized", "MPI_Finalized", "MPI_Get_version"}
# A line of the tool `log`. A call that contains other calls has a second line, `... MPI_X(`, which
# does not match.
LOG_LINE = re.compile(r"^\[[^]]*\] (?:\d[\d.]* )? *(MPIX?_\w+)\(", re.M)


def arrivals(ledger):
    """Returns for each layer the number of calls of each function that reached its place in the
    stack."""
    program = list(ledger.program)
    downs = [list(ledger.column(layer, "down")) for layer in range(LAYERS)]
    tops = [list(ledger.column(layer, "top")) for layer in range(LAYERS)]
    above = [program[f] + sum(top[f] for top in tops) for f in range(FUNCTIONS)]
    result = [above]
    for layer in range(1, LAYERS):
        result.append(above)
        if any(downs[layer]):
            above = [before + self_calls for before, self_calls in zip(above, downs[layer])]
    return result


def bounds(ledger, layer, arrived):
    """Yields (function, least, most) for each function of which calls reached the layer's place: how many
    of these calls the layer must have seen, and how many it may have seen."""
    mark, low, high = (ledger.column(layer, name) for name in ("mark", "low", "high"))
    state = ledger.state(layer)
    for f in range(FUNCTIONS):
        if arrived[f]:
            since = arrived[f] - mark[f]
            yield (f, max(0, low[f] + (since if state == ON else 0) - ledger.slack[f]),
                   high[f] + (since if state else 0))


def wrong_number(layer, kind, seen, least, most, name):
    wanted = str(least) if least == most else f"{least} to {most}"
    return f"layer {layer} ({kind}) saw {seen} of {wanted} calls of {name}"


def counting_layer(ledger, layer, entry, arrived, names):
    """Checks a layer of one of the storm's own tools. A preloaded tool may be initialized several
    times, because child processes load it too."""
    if ledger.inits(layer) != 1 and not (entry.preloaded and ledger.inits(layer)):
        yield f"layer {layer} ({entry.kind}) was initialised {ledger.inits(layer)} times"
    kind, takes, seen = entry.kind, ledger.column(layer, "takes"), ledger.column(layer, "seen")
    must = [(0, 0)] * FUNCTIONS
    for f, least, most in bounds(ledger, layer, arrived):
        must[f] = (least, most) if takes[f] else (0, 0)
    for f, (least, most) in enumerate(must):
        if not least <= seen[f] <= most:
            yield wrong_number(layer, kind, seen[f], least, most, names[f])


def qmpi_trace(place, *words):
    """Runs `qmpi trace` with these arguments, and returns the completed process."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"} | {
        "LD_LIBRARY_PATH": str(place.build / "src")}
    return subprocess.run([place.build / "cli" / ("qmpi" + place.suffix), "trace", *words], env=environment, check=False,
                          capture_output=True, text=True, timeout=place.timeout)


def trace_calls(place, path):
    """Returns the number of calls of each function in a trace."""
    result = qmpi_trace(place, "--to=csv", path)
    rows = csv.DictReader(result.stdout.splitlines())
    return collections.Counter(row["function"] for row in rows if row["event"] == "enter")


def trace_problems(place, path, ranks):
    """Checks that a trace is complete according to `qmpi trace`, and that all of its processes end
    with MPI_Finalize or, if they use only sessions, with MPI_Session_finalize."""
    which = "rank 0" if ranks == 1 else f"ranks 0-{ranks - 1}"
    summary = qmpi_trace(place, path)
    if not re.search(rf"(?m)^end +MPI_(Finalize|Session_finalize) \({which}\)$", summary.stdout):
        yield f"the trace says of its end: {re.findall('(?m)^end.*', summary.stdout)}"
    for line in summary.stdout.splitlines():
        if re.match("(recorded|dropped|cut off) ", line):
            yield f"the trace says: {line}"
    checked = qmpi_trace(place, "--check", path)
    if checked.returncode:
        yield f"qmpi trace --check: {checked.stdout.splitlines()[:5]}"
    for line in (summary.stderr + checked.stderr).splitlines():
        yield f"qmpi trace: {line}"


def told_by(kind, paths, place):
    """Returns the number of calls of each function in the output of a bundled tool."""
    told = {}
    if kind == "trace":
        return trace_calls(place, paths[0])
    for text in (path.read_text(errors="replace") for path in paths):
        if kind == "log":
            for name in LOG_LINE.findall(text):
                told[name] = told.get(name, 0) + 1
        else:
            functions = json.loads(text)["functions"]
            entries = functions.items() if kind == "count" else ((r["name"], r) for r in functions)
            for name, row in entries:
                told[name] = told.get(name, 0) + row["calls"]
    return told


def files_of_layer(ranks, layer, kind, folder):
    """Returns the files that tell all calls of a layer, and a problem or None. If sessions outlive
    MPI_Finalize, count and profile may write a file for each process at exit, beside the one for all."""
    files = sorted(folder.glob(f"{kind}.{layer}*"))
    processes = [path for path in files if path.name != f"{kind}.{layer}"]
    if not files:
        return [], f"layer {layer} ({kind}) wrote no file"
    if len(files) == 1 or kind == "log":
        return files, None
    may_be_late = kind in ("count", "profile") and any(any(ledger.untold) for ledger, *_ in ranks)
    problem = None if may_be_late and len(processes) == len(ranks) else \
        f"layer {layer} ({kind}) wrote {', '.join(path.name for path in files)}"
    return processes, problem


def bundled_layer(ranks, layer, kind, place, folder):
    """Checks the output of a bundled tool for all ranks that have this layer. `ranks` contains for
    each of them (ledger, arrivals, number of the layer in this rank)."""
    files, problem = files_of_layer(ranks, layer, kind, folder)
    if problem:
        yield problem
    if not files:
        return
    if kind == "trace":
        yield from (f"layer {layer} ({kind}): {line}" for line in trace_problems(place, files[0], len(ranks)))
    told = told_by(kind, files, place)
    names, must = place.names, {}
    for ledger, came, tool_id in ranks:
        for f, least, most in bounds(ledger, tool_id, came[tool_id]):
            before = must.get(names[f], (0, 0))
            must[names[f]] = (before[0] + least - ledger.untold[f],
                              before[1] + most + ledger.untold[f])
    for name, (least, most) in must.items():
        seen = told.pop(name, 0)
        if not (0 if name in OUTSIDE and kind != "log" else least) <= seen <= most:
            yield wrong_number(layer, kind, seen, least, most, name)
    for name, seen in told.items():
        yield wrong_number(layer, kind, seen, 0, 0, name)


def differences(plan, ledgers, place, folder):
    arrived = [arrivals(ledger) for ledger in ledgers]
    for rank, (ledger, came) in enumerate(zip(ledgers, arrived)):
        yield from ledger.messages
        if ledger.message_count > len(ledger.messages):
            yield f"… and {ledger.message_count - len(ledger.messages)} further messages"
        if not ledger.ended:
            yield f"the script did not come to its end: {ledger.steps} of {plan.step_count} steps"
        elif ledger.steps != plan.step_count:
            yield f"{ledger.steps} of {plan.step_count} steps were carried out"
        for tool_id, _, entry in plan.stack_of(rank):
            if entry.counts:
                yield from counting_layer(ledger, tool_id, entry, came[tool_id], place.names)
    if plan.finalizes and all(ledger.ended for ledger in ledgers):
        for layer, entry in enumerate(plan.layers, 1):
            ranks = [(ledgers[rank], arrived[rank], tool_id) for rank in range(plan.ranks)
                     for tool_id, number, _ in plan.stack_of(rank) if number == layer]
            if entry.tells and ranks:
                yield from bundled_layer(ranks, layer, entry.kind, place, folder)
