# SPDX-License-Identifier: MIT
"""Tests qmpi run --validate: each rule that a tool breaks is reported once, and correct tools are not reported."""
import re

import pytest
from cli_support import qmpi
from support import BUILD, BUNDLED_TOOLS, MPI_VERSION, OPEN_MPI, PROGRAMS, TOOLS, run_mpi

EXAMPLES = BUILD / "examples"
FAULTS = BUILD / "tests" / "tools" / "programs" / "tools_faults"
OBSERVED = BUILD / "tests" / "observe" / "programs"
PMPI_TOOLS = BUILD / "tests" / "pmpi" / "tools"
RUN = ["init", "comm_size", "comm_rank", "comm_rank", "pcontrol", "finalize"]
FOLDERS = f"{TOOLS}:{EXAMPLES}:{PMPI_TOOLS}:{BUNDLED_TOOLS}"


def validate(name, *arguments, tools, ranks=1, **more):
    env = {"QMPI_VALIDATE": "yes", "QMPI_TOOL_PATH": FOLDERS}
    return run_mpi(name, *arguments, ranks=ranks, tools=tools, env=env, **more)


def messages(result):
    """Returns the first line of each message of validation."""
    mark = "validation: "
    return [line[len(mark):] for line in result.all_messages if line.startswith(mark)]


def faults(result):
    return [line for line in messages(result) if not line.startswith("note: ")]


def notes(result):
    return [line[len("note: "):] for line in messages(result) if line.startswith("note: ")]


# The faults of the tool `wrong`: (the message, the function of the tool that it names, the summary).
CASES = {
    "drops": ("MPI_Comm_rank: the layer does not call the next MPI_Comm_rank", "my_Comm_rank",
              "next function not called: 2 calls of MPI_Comm_rank"),
    "uses-pmpi": ("MPI_Comm_rank: the layer calls PMPI_Comm_rank instead of the next MPI_Comm_rank", "my_Comm_rank",
                  "next function not called: 2 calls of MPI_Comm_rank"),
    "repeats": ("MPI_Comm_rank: the layer calls the next MPI_Comm_rank more than once", "my_Comm_rank",
                "next function called more than once: 2 calls of MPI_Comm_rank"),
    "uses-thread": ("MPI_Comm_rank: the layer calls the next MPI_Comm_rank in another thread", "call_next",
                    "next function called in another thread: 2 calls of MPI_Comm_rank"),
    "calls-other": ("MPI_Comm_rank: the layer calls the next MPI_Comm_size instead of the next MPI_Comm_rank",
                    "my_Comm_rank", "another function called instead: 2 calls of MPI_Comm_rank"),
    "passes-own": ("MPI_Comm_rank: the layer passes its own context to the next MPI_Comm_rank", "my_Comm_rank",
                   "own context passed on: 2 calls of MPI_Comm_rank"),
    "passes-other": ("MPI_Comm_rank: the layer passes the context of another function or layer", "my_Comm_rank",
                     "context of another function or layer passed on: 2 calls of MPI_Comm_rank"),
    "passes-null": ("MPI_Comm_rank: the layer passes NULL in place of a context to the next MPI_Comm_rank",
                    "my_Comm_rank", "NULL or no context at all passed on: 2 calls of MPI_Comm_rank"),
    "passes-number": ("MPI_Comm_rank: the layer passes a context that no layer has to the next MPI_Comm_rank",
                      "my_Comm_rank", "NULL or no context at all passed on: 2 calls of MPI_Comm_rank"),
    "changes-argument": ("MPI_Comm_rank: the layer changes the argument 'comm' of MPI_Comm_rank", "my_Comm_rank",
                         "arguments changed: 2 calls of MPI_Comm_rank"),
    "loses-words": ("MPI_Pcontrol: the layer changes the argument 'words' of MPI_Pcontrol", "my_Pcontrol",
                    "arguments changed: 1 call of MPI_Pcontrol"),
    "changes-result": ("MPI_Comm_rank: the layer returns another result of MPI_Comm_rank", "my_Comm_rank",
                       "result changed: 2 calls of MPI_Comm_rank"),
    "keeps-output": ("MPI_Comm_rank: the layer changes the output 'rank' of MPI_Comm_rank, or does not set it",
                     "my_Comm_rank", "output changed or not set: 2 calls of MPI_Comm_rank"),
    "changes-output": ("MPI_Comm_rank: the layer changes the output 'rank' of MPI_Comm_rank, or does not set it",
                       "my_Comm_rank", "output changed or not set: 2 calls of MPI_Comm_rank"),
    "calls-mpi": ("MPI_Comm_rank: the layer calls MPI_Comm_size in its MPI_Comm_rank, which enters the stack at the "
                  "top again (depth 1)", "my_Comm_rank", "MPI_X called: 2 calls of MPI_Comm_rank"),
    "waits-for-all": ("MPI_Comm_rank: the layer calls MPI_Barrier in MPI_Comm_rank on the same communicator",
                      "my_Comm_rank", "collective call on a communicator of the program: 2 calls of MPI_Comm_rank"),
    "outlives-mpi-by-pmpi": ("MPI_Get_processor_name: the layer calls MPI_Get_processor_name after its MPI_Finalize",
                             "my_Finalize", "MPI called after MPI_Finalize: 1 call of MPI_Get_processor_name"),
    "prints": ("MPI_Comm_rank: the layer writes to the standard output in MPI_Comm_rank", "my_Comm_rank",
               "standard output written: 2 calls of MPI_Comm_rank"),
    "prints-to-stream": ("MPI_Comm_rank: the layer writes to the standard output in MPI_Comm_rank", "my_Comm_rank",
                         "standard output written: 2 calls of MPI_Comm_rank"),
    "prints-in-all-ways": ("MPI_Comm_rank: the layer writes to the standard output in MPI_Comm_rank",
                           "my_Comm_rank|print_in_all_ways", "standard output written: 46 calls of MPI_Comm_rank"),
    "changes-status": ("MPI_Sendrecv: the layer changes the output 'status' of MPI_Sendrecv", "my_Sendrecv",
                       "output changed or not set: 1 call of MPI_Sendrecv"),
    "raises-level": ("MPI_Init_thread: the layer asks for MPI_THREAD_MULTIPLE in place of MPI_THREAD_SINGLE: it "
                     "raises the thread level of the program", "my_Init_thread",
                     "thread level changed or not sufficient: 1 call of MPI_Init_thread"),
    "lowers-level": ("MPI_Init_thread: the layer asks for MPI_THREAD_SINGLE in place of MPI_THREAD_MULTIPLE: it "
                     "lowers the thread level of the program", "my_Init_thread",
                     "thread level changed or not sufficient: 1 call of MPI_Init_thread"),
    "changes-provided": ("MPI_Init_thread: the layer reports a thread level to the program that differs from the one "
                         "that MPI provides",
                         "my_Init_thread", "thread level changed or not sufficient: 1 call of MPI_Init_thread"),
    "calls-in-thread": ("MPI_Comm_size: the layer calls MPI_Comm_size in a thread of its own, which needs "
                        "MPI_THREAD_MULTIPLE; MPI provides MPI_THREAD_", "count_processes",
                        "thread level changed or not sufficient: 2 calls of MPI_Comm_size"),
    "leaves-thread": ("MPI_Init: the layer starts a thread in its init function that is still running when the "
                      "process exits", "init", "threads left running: 1 call of MPI_Init"),
    "leaves-comm": ("MPI_Comm_dup: the layer does not free the communicator that it has created by MPI_Comm_dup",
                    "my_Comm_rank|leave_objects", "MPI objects not freed: 2 calls of MPI_Comm_dup"),
    "leaves-comm-below": ("MPI_Comm_dup: the layer does not free the communicator that it has created by MPI_Comm_dup",
                          "my_Comm_rank|leave_objects|dup_by_next", "MPI objects not freed: 2 calls of MPI_Comm_dup"),
    "leaves-created": ("MPI_Comm_rank: the layer does not free the communicator that it has created by "
                       "QMPIX_Tool_create_comm", "my_Comm_rank|leave_objects",
                       "MPI objects not freed: 2 calls of MPI_Comm_rank"),
    "leaves-group": ("MPI_Comm_group: the layer does not free the group that it has created by MPI_Comm_group",
                     "my_Comm_rank|leave_objects", "MPI objects not freed: 2 calls of MPI_Comm_group"),
    "leaves-request": ("MPI_Irecv: the layer does not complete the request that it has created by MPI_Irecv",
                       "my_Comm_rank|leave_objects", "requests not completed: 2 calls of MPI_Irecv"),
    "outlives-mpi": ("MPI_Get_processor_name: the layer calls MPI_Get_processor_name after its MPI_Finalize",
                     "my_Finalize", "MPI called after MPI_Finalize: 1 call of MPI_Get_processor_name"),
    "finalizer-calls-mpi": ("MPI_Finalize: the layer calls MPI_Comm_size in its finalizer, which enters the stack at the "
                            "top again (depth 1)", "finalize", "MPI_X called: 1 call of MPI_Finalize"),
    "finalizer-prints": ("MPI_Finalize: the layer writes to the standard output in MPI_Finalize", "finalize",
                         "standard output written: 1 call of MPI_Finalize"),
    "finalizer-leaves-created": ("MPI_Finalize: the layer does not free the communicator that it has created by "
                                 "QMPIX_Tool_create_comm", "finalize",
                                 "MPI objects not freed: 1 call of MPI_Finalize"),
    "finalizer-leaves-request": ("MPI_Irecv: the layer does not complete the request that it has created by MPI_Irecv",
                                 "finalize", "requests not completed: 1 call of MPI_Irecv"),
    "finalizer-leaves-thread": ("MPI_Finalize: the layer starts a thread in its finalizer that is still running when "
                                "the process exits", "finalize", "threads left running: 1 call of MPI_Finalize"),
}


# The steps of the program in cases for which those of RUN do not suffice.
STEPS = {
    "changes-status": ["init", "sendrecv", "finalize"],
    "raises-level": ["init_thread", "finalize"],
    "lowers-level": ["init_multiple", "finalize"],
    "changes-provided": ["init_multiple", "finalize"],
}


@pytest.mark.parametrize("does", CASES)
@pytest.mark.parametrize("stack", ["wrong,does={}", "count:wrong,does={}:empty"])
def test_each_broken_rule_is_reported_once_and_counted(does, stack):
    what, function, summary = CASES[does]
    result = validate("calls", *STEPS.get(does, RUN), tools=stack.format(does))
    layer = "layer 2 (wrong)" if stack.startswith("count") else "layer 1 (wrong)"
    first, *last = faults(result)
    assert first.startswith(f"{layer}, {what}")
    if OPEN_MPI and does.startswith("outlives"):
        assert result.returncode != 0  # MPI ends the process in this call
        return
    assert result.returncode == 1
    assert last == [f"{layer}: {summary}"]
    place, hint = result.all_messages[result.all_messages.index(f"validation: {first}") + 1:][:2]
    assert re.fullmatch(rf"  in ({function}) \(.*wrong\.c:\d+\)", place) and hint.startswith("  hint: ")


def test_passing_a_context_of_a_lower_layer_or_of_mpi_is_reported():
    for stack, what in (("wrong,does=passes-lower:empty", "the context of another layer"),
                        ("empty:wrong,does=passes-lower", "a context that no layer has")):
        result = validate("calls", *RUN, tools=stack)
        first, _ = faults(result)
        assert f"the layer passes {what} to the next MPI_Comm_rank" in first
        assert re.findall(r"(?m)^comm_rank: .*", result.stdout) == ["comm_rank: result 0, flag 0, numbers 0 -1"] * 2


def test_without_validation_nothing_is_reported():
    result = run_mpi("calls", *RUN, ranks=1, tools="wrong,does=repeats")
    assert (result.returncode, result.all_messages) == (0, [])


def test_a_tool_that_keeps_the_rules_or_declares_that_it_does_not_is_not_reported():
    for does in ("nothing", "declares-all", "uses-objects", "finalizer-uses-objects"):
        result = validate("calls", "init_multiple", *RUN[1:], tools=f"wrong,does={does}:empty")
        assert (result.returncode, faults(result)) == (0, ["no faults"])


def test_a_layer_that_misses_a_variant_of_a_function_is_noted():
    missed = "layer 2 (wrong) intercepts MPI_Init, but not MPI_Init_thread"
    for does, expected in (("lacks-variant", [missed]), ("nothing", [])):
        result = validate("calls", *RUN, tools=f"empty:wrong,does={does}")
        assert [note for note in notes(result) if "intercepts" in note] == expected
        assert (result.returncode, faults(result)) == (0, ["no faults"])
    if MPI_VERSION >= 4:
        result = validate("calls", *STEPS["changes-status"], tools="wrong,does=changes-status")
        assert "layer 1 (wrong) intercepts MPI_Sendrecv, but not MPI_Sendrecv_c" in notes(result)


def test_the_time_that_each_layer_adds_is_noted():
    result = validate("calls", *RUN, tools="empty:wrong")
    [upper, lower] = [note for note in notes(result) if "adds most time" in note]
    each = r"MPI_\w+ \([\d.]+ us in \d calls?, [\d.]+ us each\)"
    assert re.fullmatch(rf"layer 1 \(empty\) adds most time to {each}, {each}, {each}", upper)
    assert re.fullmatch(rf"layer 2 \(wrong\) adds most time to {each}, {each}, {each}", lower)
    assert "MPI_Comm_rank" in lower and " in 2 calls" in lower


def test_the_memory_that_each_layer_adds_is_noted():
    result = validate("calls", *RUN, tools="alpha:wrong,does=hoards")
    [lower] = [note for note in notes(result) if "layer 2 (wrong) adds memory" in note]
    assert lower == ("layer 2 (wrong) adds memory: 2000 bytes at the end, most in MPI_Comm_rank (2000 bytes in 2 "
                     "calls, 1000 bytes each)")
    [upper] = [note for note in notes(result) if "layer 1 (alpha) adds memory" in note]
    assert re.fullmatch(r"layer 1 \(alpha\) adds memory: \d+ bytes at the end", upper)  # alpha's storage


def test_the_thread_level_that_a_layer_needs_is_noted():
    result = validate("calls", *STEPS["raises-level"], tools="empty:wrong,does=raises-level")
    [note] = [note for note in notes(result) if "THREAD" in note]
    assert note.startswith("layer 2 (wrong) asks for MPI_THREAD_MULTIPLE, although the program asks for "
                           "MPI_THREAD_SINGLE; MPI provides MPI_THREAD_")
    result = validate("calls", "init_multiple", *RUN[1:], tools="wrong,does=calls-in-thread")
    levels = [note for note in notes(result) if "THREAD" in note]
    assert [note.split(";")[0] for note in levels] == [
        "layer 1 (wrong) needs MPI_THREAD_MULTIPLE, because its threads call MPI"]
    if levels[0].endswith("MPI_THREAD_MULTIPLE"):
        assert (result.returncode, faults(result)) == (0, ["no faults"])


def test_calls_of_threads_that_end_are_not_confused_with_those_of_others():
    """Destructors of thread-specific data may call MPI after the one of the validator."""
    result = validate("threads", "end", "20000", tools="empty")
    assert (result.returncode, faults(result)) == (0, ["no faults"])


def test_storage_of_another_layer_that_is_written_is_reported():
    first, last = faults(validate("calls", *RUN, tools="alpha:wrong,does=writes-storage"))
    assert first.startswith("layer 2 (wrong), MPI_Comm_rank: the layer writes to the storage of layer 1 (alpha)")
    assert last == "layer 2 (wrong): storage of another layer written: 2 calls of MPI_Comm_rank"


@pytest.mark.parametrize("more", ["", ",static=yes"])
def test_layers_of_one_tool_that_use_one_storage_are_reported(more):
    first, last = faults(validate("calls", *RUN, tools=f"confuses{more}:empty:confuses{more}"))
    assert first.startswith("layer 3 (confuses), MPI_Comm_rank: the layer writes to the storage of layer 1 (confuses)")
    assert last == "layer 3 (confuses): storage of another layer written: 2 calls of MPI_Comm_rank"
    for right in (f"confuses,own=yes{more}:confuses,own=yes{more}", f"confuses,shares=yes{more}:confuses{more}"):
        result = validate("calls", *RUN, tools=right)
        assert (result.returncode, faults(result)) == (0, ["no faults"])


def test_endless_recursion_is_ended_with_its_depth():
    result = validate("calls", *RUN, tools="wrong,does=recurs:empty")
    first, last = faults(result)
    assert "calls MPI_Comm_rank in its MPI_Comm_rank" in first and first.endswith("(depth 1)")
    assert last == ("layer 1 recurses endlessly: its MPI_Comm_rank calls MPI_Comm_rank, which enters the stack at the "
                    "top again (depth 100)")
    assert result.returncode == 1


def of_job(result):
    """Returns the message about the first fault, and the one with the numbers of calls, which the process that exits
    last prints."""
    first, last = faults(result)
    return (first, last) if ": the layer " in first else (last, first)


def test_each_fault_is_reported_once_in_a_job():
    result = validate("calls", *RUN, tools="wrong,does=drops", ranks=2)
    first, last = of_job(result)
    assert re.match(r"layer 1 \(wrong\), MPI_Comm_rank, rank [01]: the layer does not call the next", first)
    assert last == "layer 1 (wrong), 2 ranks (0, 1): next function not called: 4 calls of MPI_Comm_rank"
    assert result.returncode == 1
    result = validate("calls", *RUN, tools="wrong", ranks=2)
    assert (result.returncode, faults(result)) == (0, ["no faults"])


def test_a_fault_of_one_rank_is_a_fault_of_the_job():
    """The other rank does not say that there are no faults, even if it exits last."""
    result = validate("calls", *RUN, tools="wrong,@ranks=1,does=drops:empty", ranks=2)
    first, last = of_job(result)
    assert first.startswith("layer 1 (wrong), MPI_Comm_rank, rank 1: ")
    assert last == "layer 1 (wrong), rank 1: next function not called: 2 calls of MPI_Comm_rank"
    assert result.returncode == 1


def test_a_job_has_no_faults_also_if_the_last_process_calls_no_layer(tmp_path):
    """Rank 1, which has no layer, exits after rank 0."""
    ended = tmp_path / "ended"
    order = f'if [ ${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} = 0 ]; then "$@"; : >{ended}; else exec "$@" await={ended}; fi'
    result = validate("calls", *RUN, tools="wrong,@ranks=0", ranks=2, wrapper=["sh", "-c", order, "-"])
    assert (result.returncode, faults(result)) == (0, ["no faults"])


def test_a_rank_that_dies_keeps_its_message():
    result = validate("calls", "init", "comm_rank", "abort=3", tools="wrong,does=drops", ranks=2)
    [first] = [line for line in faults(result) if "does not call" in line]
    assert first.startswith("layer 1 (wrong), MPI_Comm_rank, rank ")
    assert result.returncode != 0


def test_the_rest_of_the_run_is_right_after_a_wrong_context():
    result = validate("calls", *RUN, tools="alpha:wrong,does=passes-own:beta", ranks=1)
    ranks = [line for line in result.calls if line.endswith("MPI_Comm_rank")]
    assert ranks == ["alpha 1 MPI_Comm_rank", "beta 3 MPI_Comm_rank"] * 2
    assert re.findall(r"(?m)^comm_rank: .*", result.stdout) == ["comm_rank: result 0, flag 0, numbers 0 -1"] * 2


def test_registrations_that_fail_in_init_are_reported_also_without_validation():
    for run, status in ((run_mpi, 0), (validate, 1)):
        result = run("calls", *RUN, ranks=1, tools="wrong,does=registers-badly")
        assert ("layer 1 (wrong): a registration in the init function of the tool failed: "
                "QMPIX_Register_tool_observer returned MPI_ERR_ARG, and 14 more") in result.all_messages
        assert result.returncode == status


def test_a_tool_that_exits_in_init_is_named():
    result = run_mpi("calls", *RUN, ranks=1, tools="empty:wrong,does=exits")
    assert "layer 2 (wrong): the init function of the tool ended the process with exit" in result.all_messages
    assert result.returncode == 7


def test_a_wrong_value_of_qmpi_validate_stops_the_run():
    result = run_mpi("calls", *RUN, ranks=1, tools="empty", env={"QMPI_VALIDATE": "maybe"})
    assert result.returncode == 2
    assert "QMPI_VALIDATE: invalid value 'maybe'" in result.all_messages


@pytest.mark.parametrize("value, validates", [("1", True), ("on", True), ("off", False), ("", False)])
def test_qmpi_validate_is_a_boolean_like_any_other(value, validates):
    result = run_mpi("calls", *RUN, ranks=1, tools="wrong,does=drops", env={"QMPI_VALIDATE": value})
    assert (bool(faults(result)), result.returncode) == (validates, int(validates))


def test_the_commands_validate_and_return_1_after_a_fault():
    env = {"QMPI_TOOL_PATH": TOOLS}
    program = [PROGRAMS / "calls", *RUN]
    for command in (["run", "--validate"], ["check", "--run"]):
        wrong = qmpi(*command, "-t", "wrong,does=drops", "--", *program, env=env)
        assert (wrong.returncode, len(faults(wrong))) == (1, 2)
        right = qmpi(*command, "-t", "wrong", "--", *program, env=env)
        assert (right.returncode, faults(right)) == (0, ["no faults"])
    assert qmpi("check", "--run", "-t", "empty").returncode == 2
    assert qmpi("check", "-t", "empty", "program").returncode == 2


# ---- Correct tools ---------------------------------------------------------------------------------------------------

BUNDLED = ("empty:count:profile,output=none:log,caller=yes,output=/dev/null:trace,output=trace:jobs,directory=.:"
           "delay,before=1us:mpit:empty")


@pytest.mark.parametrize("name", ["arguments", "collectives", "completion", "files", "one_sided", "persistent",
                                  "point_to_point", "threaded"])
def test_no_bundled_tool_is_reported(name, tmp_path):
    result = validate(OBSERVED / f"observe_{name}", tmp_path, tools=BUNDLED, ranks=2, cwd=tmp_path)
    assert (result.returncode, faults(result)) == (0, ["no faults"])


@pytest.mark.parametrize("how", ["return", "own", "own jump"])
def test_a_tool_that_lets_calls_fail_is_not_reported(how, tmp_path):
    """Tests also that no other tool is reported after an error handler has left calls by longjmp."""
    steps = ["jump"] * how.endswith("jump") + ["isend", "bcast", "type"]
    result = validate(FAULTS, how.split()[0], "good", *steps, ranks=1, cwd=tmp_path,
                      tools="empty:delay,functions=MPI_Isend;MPI_Bcast,error=MPI_ERR_OTHER:count")
    assert (result.returncode, faults(result)) == (0, ["no faults"])


def test_no_example_is_reported():
    for path in sorted(EXAMPLES.glob("*.so")):
        result = validate(EXAMPLES / "heat", tools=f"regions:{path.name}:empty:{path.name}", ranks=2)
        assert (result.returncode, faults(result)) == (0, ["no faults"]), path.name


@pytest.mark.parametrize("tool", ["lazy", "now", "constant", "table", "symbolic", "next_pmpi", "next_mpi"])
def test_no_pmpi_tool_is_reported(tool):
    library = f"lib{tool}.so"
    result = validate(EXAMPLES / "heat", tools=f"{library}:empty:{library}:count", ranks=2)
    assert (result.returncode, faults(result)) == (0, ["no faults"])


def test_layers_that_are_switched_are_checked_again():
    steps = ["init", "rank", "off=2", "rank", "barrier", "on=2", "off=1", "rank", "barrier", "on=1", "rank"]
    for stack in ("alpha:beta:alpha", "pmpi_call:alpha:pmpi_table", "alpha:pmpi_constant:count"):
        race = ["race=20"] * ("pmpi" not in stack)
        result = validate("switch", *steps, *race, "finalize", tools=stack, preload=())
        assert (result.returncode, faults(result)) == (0, ["no faults"]), stack
