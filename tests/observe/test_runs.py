# SPDX-License-Identifier: MIT
"""One interceptor calls the callbacks of all observers in a run of at most ten adjacent observers. For the
observers, this must make no difference.

The tests compare the callbacks in random stacks of observers (layers of the tool `member`) with a model in
which each layer calls the next one. There are layers of other kinds between some of the observers.
"""
import random
import re

import pytest

from observe_support import BUILD, OBSERVE_TOOLS, PMPI_TOOLS, check_rank, run_observed, witness
from support import MPI_NAME, TOOLS

MPICH_TOOLS = BUILD / "tests" / "mpich" / "tools"
OTHERS = ["now", "lazy", "counter"] + (["teller"] if MPI_NAME == "mpich" else [])
# The calls of programs/runs.c: (function, number of requests that it completes, its status: given,
# ignored, or none if it has no such argument).
CALLS = [
    ("MPI_Init_thread", 0, "none"), ("MPI_Comm_size", 0, "none"), ("MPI_Barrier", 0, "none"),
    ("MPI_Isend", 0, "none"), ("MPI_Recv", 0, "ignored"), ("MPI_Wait", 1, "ignored"),
    ("MPI_Isend", 0, "none"), ("MPI_Irecv", 0, "none"), ("MPI_Waitall", 2, "ignored"),
    ("MPI_Isend", 0, "none"), ("MPI_Irecv", 0, "none"), ("MPI_Waitall", 2, "given"),
    ("MPI_Isend", 0, "none"), ("MPI_Mprobe", 0, "ignored"), ("MPI_Mrecv", 0, "ignored"),
    ("MPI_Wait", 1, "given"), ("MPI_Send_init", 0, "none"), ("MPI_Request_free", 0, "none"),
    ("MPI_Finalize", 0, "none"),
]
# If the program ignores the status of these functions, an observer with the flag `statuses` passes
# one to the layers below.
STATUS_GIVEN = ("MPI_Recv", "MPI_Mprobe", "MPI_Mrecv", "MPI_Wait", "MPI_Waitall")
OPTIONS = ["acts", "statuses", "requests", "intercept", "nested", "few", "only=before", "only=after", "time", "entry"]
# With the option `few`, a member observes the functions in FEW. libqmpi also intercepts those in
# TRACKED, without callbacks, because what is known about MPI_Start and MPI_Mrecv depends on them.
FEW = ("MPI_Barrier", "MPI_Start", "MPI_Mrecv")
TRACKED = ("MPI_Mprobe", "MPI_Send_init", "MPI_Request_free")


def expected_notes(stack, calls=None):
    """Returns the notes of all members. `stack` contains the options of each member, or None for a
    layer of another kind. `calls` contains (function, requests, status, layers that are off)."""
    notes = []
    off = ()

    def call(layer, function, requests, status, nested):
        if layer == len(stack):
            return
        options = stack[layer]
        if options is None or layer + 1 in off or ("few" in options and function not in FEW + TRACKED):
            call(layer + 1, function, requests, status, nested)
            return
        if "statuses" in options and function in STATUS_GIVEN and status == "ignored":
            status = "given"
        saved = f"{requests}" if requests and "requests" in options else "0 none"
        tool_id = layer + 1

        def note(when, word):
            if "few" in options and function in TRACKED:
                return
            notes.append(f"member {tool_id} {when} {function} word {word} requests {saved} status {status}")

        def go_on(nested):
            if "intercept" in options and function == "MPI_Barrier":
                notes.append(f"member {tool_id} intercepts MPI_Barrier")
            call(layer + 1, function, requests, status, nested)

        if "only=after" not in options:
            note("before", 0)
            if "nested" in options and function == "MPI_Barrier" and not nested:
                go_on(True)
        go_on(nested)
        if "only=before" not in options:
            note("after", 0 if "only=after" in options else tool_id)

    for function, requests, status, off in calls or [(*entry, ()) for entry in CALLS]:
        call(0, function, requests, status, False)
    return notes


def random_stack(chosen):
    def options():
        found = [option for option in OPTIONS if chosen.random() < 0.2]
        return [option for option in found if option != "only=after" or "only=before" not in found]

    return [None if chosen.random() < 0.15 else options() for _ in range(chosen.randint(2, 10))]


def entry(layer, other):
    return other if layer is None else ",".join(["member", *(option if "=" in option else f"{option}=yes"
                                                              for option in layer)])


def run_stack(stack, others, *args, name="observe_runs", **env):
    path = f"{OBSERVE_TOOLS}:{PMPI_TOOLS}:{MPICH_TOOLS}:{TOOLS}"
    tools = ":".join(entry(layer, other) for layer, other in zip(stack, others))
    return run_observed(name, *args, ranks=1, tools=tools,
                        env={"QMPI_TOOL_PATH": path, **env})


def check_stack(stack, others):
    result = run_stack(stack, others)
    assert (result.returncode, result.messages) == (0, [])
    assert [line for line in result.trace if line.startswith("member ")] == expected_notes(stack)


@pytest.mark.parametrize("height", [1, 2, 10, 21])
def test_any_number_of_observers_matches_the_model(height):
    check_stack([[]] * height, [None] * height)


@pytest.mark.parametrize("seed", range(16))
def test_random_stacks_match_the_model(seed):
    chosen = random.Random(seed)
    stack = random_stack(chosen)
    check_stack(stack, [chosen.choice(OTHERS) for _ in stack])


@pytest.mark.parametrize("seed", range(10))
def test_random_stacks_with_layers_that_are_switched_match_the_model(seed):
    chosen = random.Random(seed)
    stack = random_stack(chosen)
    functions = {"rank": "MPI_Comm_rank", "size": "MPI_Comm_size", "barrier": "MPI_Barrier"}
    steps, calls, off = ["init"], [("MPI_Init_thread", 0, "none", ())], set()
    for _ in range(60):
        step = chosen.choice(["on", "off", *functions])
        if step in functions:
            calls.append((functions[step], 0, "none", tuple(off)))
        else:
            layer = chosen.randint(1, len(stack))
            (off.add if step == "off" else off.discard)(layer)
            step = f"{step}={layer}"
        steps.append(step)
    steps.append("finalize")
    calls.append(("MPI_Finalize", 0, "none", tuple(off)))
    result = run_stack(stack, ["counter"] * len(stack), *steps, name="switch")
    assert (result.returncode, result.messages) == (0, [])
    assert [line for line in result.trace if line.startswith("member ")] == expected_notes(stack, calls)


def runs_of(result):
    """Returns {tool_id: (joined, observed)}: of `observed` functions, the layer observes `joined` in a
    run with the layer below."""
    found = re.findall(r"layer (\d+) observes (\d+) functions, (\d+) of them in a run", result.stderr)
    return {int(tool_id): (int(joined), int(observed)) for tool_id, observed, joined in found}


@pytest.mark.parametrize("stack, joined", [
    ([[], []], {1: "all", 2: 0}),
    ([[], ["acts"], []], {1: 0, 2: "all", 3: 0}),
    ([[], None, []], {1: "but some", 3: 0}),
    ([["intercept"], []], {1: "but 1", 2: 0}),
    ([[], ["intercept"]], {1: "all", 2: 0}),
    ([["statuses"], []], {1: "all", 2: 0}),
    ([[], ["statuses"]], {1: "but some", 2: 0}),
    ([[]] * 11, {1: 0, 2: "all", 10: "all", 11: 0}),
])
def test_debug_output_counts_the_functions_that_are_observed_in_a_run(stack, joined):
    result = run_stack(stack, ["now"] * len(stack), QMPI_DEBUG="chain")
    found = runs_of(result)
    for tool_id, wanted in joined.items():
        count, observed = found[tool_id]
        assert {"all": count == observed, "but 1": count == observed - 1,
                "but some": 300 < count < observed - 1}.get(wanted, count == wanted), (tool_id, found)


def test_ten_witnesses_of_a_run_agree(tmp_path):
    """The results of all helper functions are right for each observer, also those about requests, although
    MPI has overwritten the handles."""
    folders = [tmp_path / str(number) for number in range(10)]
    for folder in folders:
        folder.mkdir()
    for name in ("completion", "persistent"):
        tools = ":".join(witness(folder) for folder in folders)
        result = run_observed(f"observe_{name}", folders[0], tools=tools)
        assert (result.returncode, result.messages) == (0, [])
        for rank in (0, 1):
            truth = folders[0] / f"expected.{rank}"
            for folder in folders:
                (folder / truth.name).write_bytes(truth.read_bytes())
                check_rank(folder, rank)
                (folder / f"witness.{rank}").unlink()
            truth.unlink()


def test_switching_layers_of_a_run_while_threads_call_loses_no_callback():
    """A layer that observes the beginning of a call also observes its end. The lowest layer, which
    stays on, observes all calls."""
    height = 6
    result = run_stack([["quiet"]] * height, [None] * height, 1000)
    assert (result.returncode, result.messages) == (0, [])
    layers, calls = map(int, re.search(r"layers (\d+) calls (\d+)", result.stdout).groups())
    assert layers == height and calls > 0
    notes = [re.fullmatch(r"member (\d+) before (\d+) after (\d+) wrong (\d+)", line).groups()
             for line in result.trace if line.startswith("member ")]
    found = {int(tool_id): tuple(map(int, rest)) for tool_id, *rest in notes}
    assert sorted(found) == list(range(1, height + 1))
    for before, after, wrong in found.values():
        assert before == after and wrong == 0
    lowest = found[height][0]
    assert lowest >= calls and all(found[tool_id][0] < lowest for tool_id in range(1, height))
