# SPDX-License-Identifier: MIT
"""Errors that the tool delay raises arrive as if the MPI library had raised them; the tool selects calls exactly; and
delays last at least as long as the options say."""
import re
import subprocess

import pytest

from support import ABI, ASAN, BUILD, BUNDLED_TOOLS, LIBQMPI, OPEN_MPI, launch, needs_sessions, run_mpi

PROGRAMS = BUILD / "tests" / "tools" / "programs"
FAULTS = PROGRAMS / "tools_faults"
PMPI_TOOL = BUILD / "tests" / "tools" / "tools" / "libhow_many.so"
TOOL_PATH = f"{BUNDLED_TOOLS}:{BUILD / 'tests' / 'stack' / 'tools'}"

# Numbers of error classes, which differ between MPI libraries.
ARG, OTHER = (13, 16) if OPEN_MPI or ABI else (12, 15)

# Step of tests/tools/programs/faults.c -> options of delay with which the step ends as with a real
# error.
COMPLETED = ("wait", "test", "start", "waitall", "waitall_ignore", "waitsome",
             "testsome", "testall", "waitany", "testany")
STEPS = {
    "send": "functions=MPI_Send,calls=1,error=MPI_ERR_RANK",
    "bcast": "functions=MPI_Bcast,error=MPI_ERR_ROOT",
    "isend": "functions=MPI_Isend,calls=1,error=MPI_ERR_RANK",
    **dict.fromkeys(COMPLETED, "functions=MPI_Wait*;MPI_Test*,error=MPI_ERR_TRUNCATE,carry-out=yes,calls=1-2"),
    "mrecv": "functions=MPI_Mrecv,error=MPI_ERR_TRUNCATE,carry-out=yes",
    "type": "functions=MPI_Type_size,error=MPI_ERR_TYPE",
    "group": "functions=MPI_Group_incl,error=MPI_ERR_RANK",
    "put": "functions=MPI_Put,error=6",
    "seek": f"functions=MPI_File_seek,error=MPI_ERR_{'OTHER' if OPEN_MPI else 'ARG'}",
    "open": "functions=MPI_File_open,calls=2,error=MPI_ERR_NO_SUCH_FILE",
    "null": "functions=MPI_Ssend,error=MPI_ERR_COMM",
    "information": "functions=MPI_T_cvar_get_index,error=MPI_T_ERR_INVALID_NAME",
}
# Any call of these steps may be the one that finds the operation complete, and must then fail.
for step in ("test", "testsome", "testall", "testany"):
    STEPS[step] = STEPS[step].replace(",calls=1-2", "")
# delay's error for a pending request is compared with the real error of MPI_Cancel for a null request. In Open MPI,
# both invoke the same error handler. In MPICH, only the former invokes that of the request's communicator.
if OPEN_MPI:
    STEPS["cancel"] = "functions=MPI_Cancel,error=MPI_ERR_REQUEST"


def run(program, *arguments, tools=None, ranks=1, env=None, **more):
    return run_mpi(program, *arguments, tools=tools, ranks=ranks,
                   env={"QMPI_TOOL_PATH": TOOL_PATH, **(env or {})}, **more)


def faults(folder, *arguments, **more):
    return run(FAULTS, *arguments, cwd=folder, **more)


def stack_of(steps):
    return ":".join(f"delay,{rule}" for rule in dict.fromkeys(STEPS[step] for step in steps))


def reports(result):
    """Returns rank -> the numbers of report=yes: acted, delayed, failed, detours, seconds."""
    line = re.compile(r"delay \(layer \d+\): rank (\d+): calls acted on: (\d+), delayed: (\d+), "
                      r"failed: (\d+); detours: (\d+); time added: ([\d.]+) s")
    found = [line.fullmatch(message) for message in result.messages]
    return {int(match[1]): [float(number) for number in match.groups()[1:]] for match in found if match}


def many(folder, options, ranks=1, tools="{}"):
    """Returns the results of 100 calls of MPI_Comm_rank in each rank, one line for each rank: `.` means success, and
    `x` an error."""
    rule = f"delay,functions=MPI_Comm_rank,error=MPI_ERR_OTHER,{options}"
    result = faults(folder, "return", "good", "many", tools=tools.format(rule), ranks=ranks,
                    env={"FAULTS_MANY": folder / "many"})
    assert result.returncode == 0
    lines = [(folder / f"many.{rank}").read_text() for rank in range(ranks)]
    assert all(re.fullmatch(r"[.x]{100}", line) for line in lines)
    return lines


# ---- Errors arrive as the MPI library's own ------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Returns the errors that the MPI library itself raises, without delay: handler -> step -> the lines
    of this step."""
    folder = tmp_path_factory.mktemp("real")
    results = {how: faults(folder, how, "bad", *STEPS, preload=()) for how in ("return", "own")}
    assert all(result.returncode == 0 for result in results.values())
    # The library of Open MPI 6.0.0rc2 for the standard ABI passes an internal handle to some error handlers.
    return {how: {step: lines.replace("handler: unknown", "handler: MPI_COMM_WORLD")
                  for step, lines in by_step(result).items()} for how, result in results.items()}


@pytest.fixture(scope="module")
def handled(real):
    """Returns a function that maps an error class to the class that the call returns after the program's own handler
    has run: the same class, or success with MPICH 5."""
    return lambda error: 0 if "returned class 0" in real["own"]["send"] else error


def by_step(result):
    steps = re.split(r"^(\w+)\n", result.stdout, flags=re.MULTILINE)
    return dict(zip(steps[1::2], steps[2::2]))


@pytest.mark.parametrize("around", ["{}", "empty:{}:empty", f"{PMPI_TOOL}:{{}}:{PMPI_TOOL}"])
@pytest.mark.parametrize("how", ["return", "own"])
def test_an_application_sees_the_same_as_with_a_real_error(tmp_path, real, how, around):
    completing = [step for step in STEPS if step in COMPLETED]
    others = [step for step in STEPS if step not in COMPLETED]
    seen = by_step(faults(tmp_path, how, "good", *others, tools=around.format(stack_of(others))))
    for step in completing:
        if how == "own" or around == "{}":
            seen |= by_step(faults(tmp_path, how, "good", step, tools=around.format(stack_of([step]))))
    if "returned class 0" in real[how]["waitall_ignore"]:  # Open MPI 6.0.0rc2 loses this error
        seen.pop("waitall_ignore", None)
    assert seen == {step: real[how][step] for step in seen}
    assert len(seen) >= len(others)


def test_the_handlers_are_those_of_communicator_window_and_file(real):
    assert "handler: communicator, class 6" in real["own"]["send"]
    assert "handler: window" in real["own"]["put"]
    assert "handler: file" in real["own"]["seek"]
    assert "handler: MPI_FILE_NULL" in real["own"]["open"]
    assert "handler" not in real["own"]["information"]
    assert not any("handler" in lines for lines in real["return"].values())


@pytest.mark.parametrize("step", ["send", "put", "seek", "type"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_fatal_error_ends_the_job_with_the_same_status(tmp_path, step, ranks):
    raw = faults(tmp_path, "fatal", "bad", step, "type", ranks=ranks, preload=())
    ours = faults(tmp_path, "fatal", "good", step, "type", ranks=ranks, tools=stack_of([step]))
    assert raw.returncode != 0 and ours.returncode == raw.returncode
    assert "returned" not in ours.stdout
    if ranks == 1:
        assert ours.stdout == raw.stdout
        assert any("reports an error, and the error handler ends the job" in line
                   for line in ours.messages)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_status_of_abort_is_kept(tmp_path, ranks):
    raw = faults(tmp_path, "return", "good", "abort", ranks=ranks, ends=[0], preload=())
    ours = faults(tmp_path, "return", "good", "abort", ranks=ranks, ends=[0],
                  tools="delay,error=MPI_ERR_OTHER,functions=MPI_Ab*;MPI_Send,before=1ms")
    assert raw.returncode == ours.returncode == 37


def test_a_process_that_calls_abort_reports_before(tmp_path):
    """MPICH's launcher kills it before it exits. The launcher may lose output, so each process writes to a file."""
    run(PROGRAMS / "tools_steps", "init", "barrier", "abort=3", cwd=tmp_path,
        tools="delay,report=yes,functions=MPI_Barrier,before=1ns:delay,report=yes,functions=MPI_Put,before=1ns",
        wrapper=[*launch(2), "sh", "-c", 'exec "$@" 2> messages.$$', "-"])
    found = [sorted(re.findall(r"layer (\d)\): rank \d: calls acted on: (\d+)", path.read_text()))
             for path in tmp_path.glob("messages.*")]
    assert [("1", "1"), ("2", "0")] in found


def test_requests_of_a_call_that_was_not_carried_out_are_pending(tmp_path, real):
    result = faults(tmp_path, "own", "good", "waitall",
                    tools="delay,functions=MPI_Waitall,error=MPI_ERR_TRUNCATE")
    assert result.returncode == 0
    assert by_step(result)["waitall"] == real["own"]["waitall"]


def test_a_request_whose_communicator_is_freed_fails_too(tmp_path, handled):
    result = faults(tmp_path, "own", "good", "freed", tools="delay,functions=MPI_Wait,error=15")
    assert result.returncode == 0
    assert f"class 15\n  returned class {handled(15)}\n" in result.stdout


def test_delay_does_not_act_on_calls_of_an_error_handler(tmp_path, handled):
    rule = "delay,functions=MPI_Send;MPI_Comm_size,error=MPI_ERR_TAG,report=yes"
    result = faults(tmp_path, "own", "good", "send", tools=rule)
    assert result.stdout == f"send\n  handler: communicator, class 4\n  returned class {handled(4)}\n"
    assert reports(result)[0][:3] == [1, 0, 1]


def test_a_handler_may_jump_out(tmp_path):
    result = faults(tmp_path, "own", "good", "jump", tools="delay,functions=MPI_Send,error=MPI_ERR_RANK")
    assert result.stdout.count("handler: communicator, class 6") == 3
    assert result.stdout == faults(tmp_path, "own", "bad", "jump", preload=()).stdout


@needs_sessions
def test_a_session_has_its_own_handler(tmp_path, handled):
    result = faults(tmp_path, "return", "good", "session",
                    tools="delay,functions=MPI_Session_get_num_psets,error=MPI_ERR_OTHER")
    assert result.stdout == f"session\n  handler: session, class {OTHER}\n  returned class {handled(OTHER)}\n"


def test_before_init_and_after_finalize_the_code_is_returned():
    rule = "delay,functions=MPI_Get_version,error=MPI_ERR_OTHER"
    result = run("calls", "get_version", "init", "finalize", "get_version", tools=rule)
    assert result.returncode == 0
    assert result.stdout.count(f"get_version: result {OTHER},") == 2


def test_calls_that_only_begin_or_end_mpi_or_return_no_code_do_not_fail(tmp_path):
    result = run("calls", "init", "wtime", "finalize", tools="delay,error=MPI_ERR_OTHER,report=yes")
    assert result.returncode == 0
    assert "init: result 0" in result.stdout and "finalize: result 0" in result.stdout
    assert "wtime: result 0, flag 1" in result.stdout
    assert reports(result)[0][:3] == [0, 0, 0]


@pytest.mark.parametrize("binding", ["mpif_h", "f08"])
def test_ierr_and_a_fortran_handler_get_the_error(binding, handled):
    program = PROGRAMS / f"tools_faults_{binding}"
    if not program.exists():
        pytest.skip("no Fortran compiler")
    result = run(program, tools="delay,functions=MPI_Send,error=MPI_ERR_TAG")
    assert [line.strip() for line in result.stdout.splitlines()] == [
        "returned class  4", "handler: world T, class  4", f"returned class  {handled(4)}"]


def test_a_cpp_handler_may_throw():
    program = PROGRAMS / "tools_faults_cpp"
    if not program.exists():
        pytest.skip("no C++ compiler")
    result = run(program, tools="delay,functions=MPI_Send,error=MPI_ERR_TAG,calls=1;2;4")
    assert result.stdout == ("call 1: thrown class 4\ncall 2: thrown class 4\ncall 3: done\n"
                             "call 4: thrown class 4\n")


# ---- Selected calls ------------------------------------------------------------------------------


def test_exactly_the_calls_with_the_given_numbers_fail(tmp_path):
    [line] = many(tmp_path, "calls=3;10-12;every 25;99-")
    failed = [n for n, mark in enumerate(line, 1) if mark == "x"]
    assert failed == [3, 10, 11, 12, 25, 50, 75, 99, 100]


def test_calls_are_counted_by_function_or_together(tmp_path):
    rule = "delay,functions=MPI_Send;MPI_Bcast,error=MPI_ERR_ARG,calls=2"
    steps = ["send", "bcast", "bcast", "send"]
    for count, classes in (("function", [0, 0, ARG, ARG]), ("all", [0, ARG, 0, 0])):
        result = faults(tmp_path, "return", "good", *steps, tools=f"{rule},count={count}")
        assert [int(code) for code in re.findall(r"class (\d+)", result.stdout)] == classes


def test_calls_of_threads_are_counted_together():
    rule = "delay,functions=MPI_Comm_rank,before=1ns,report=yes,calls="
    result = run("threads", "count", "2000", tools=f"{rule}every 4:{rule}1-7999")
    assert result.returncode == 0
    acted = [int(number) for number in re.findall(r"acted on: (\d+),", result.stderr)]
    assert sorted(acted) == [2000, 7999]


def test_the_same_seed_selects_the_same_calls(tmp_path):
    [first] = many(tmp_path, "probability=0.3,seed=7")
    assert many(tmp_path, "probability=0.3,seed=7", tools="empty:{}") == [first]
    [other] = many(tmp_path, "probability=0.3,seed=8")
    assert 5 < first.count("x") < 60 and first != other


def test_each_rank_and_each_layer_draws_its_own_random_numbers(tmp_path):
    lines = many(tmp_path, "probability=0.3,seed=7", ranks=2)
    assert len(set(lines)) == 2
    assert sorted(lines) == sorted(many(tmp_path, "probability=0.3,seed=7", ranks=2))
    [one] = many(tmp_path, "probability=0.3,seed=7")
    [two] = many(tmp_path, "probability=0.3,seed=7", tools="{0}:{0}")
    assert two.count("x") > one.count("x")


def test_probability_0_selects_no_call_and_1_every_call(tmp_path):
    assert many(tmp_path, "probability=0") == ["." * 100]
    assert many(tmp_path, "probability=1") == ["x" * 100]


def test_only_calls_of_the_chosen_ranks_fail(tmp_path):
    assert sorted(many(tmp_path, "ranks=1", ranks=2)) == ["." * 100, "x" * 100]


@pytest.mark.parametrize("functions,acted", [
    ("collective;!MPI_Barrier", ["bcast"]),
    ("!MPI_Bcast;!MPI_Win*;!MPI_File*;!MPI_Comm*;!environment", ["send", "barrier"]),
    ("MPI_S*;MPI_[AB]cast", ["send", "bcast"]),
    ("point-to-point;MPI_Barrier", ["send", "barrier"]),
])
def test_functions_are_chosen_by_name_pattern_and_group(tmp_path, functions, acted):
    result = faults(tmp_path, "return", "good", "send", "bcast", "timed",
                    tools=f"delay,functions={functions},before=1ns,report=yes")
    calls = {"send": 1, "bcast": 1, "barrier": 10}
    assert reports(result)[0][0] == sum(calls[name] for name in acted)


# ---- Time ----------------------------------------------------------------------------------------


def seconds(result):
    return float(re.search(r"seconds ([\d.]+)", result.stdout)[1])


@pytest.mark.parametrize("delay,least", [
    ("before=3ms", 0.03),
    ("before=1ms,after=0.002s", 0.03),
    ("before=1500us,wait=sleep", 0.015),
    ("after=1ms-3ms", 0.01),
    ("before=2ms,calls=every 2", 0.01),
])
def test_delays_last_at_least_as_long_as_the_options_say(tmp_path, delay, least):
    result = faults(tmp_path, "return", "good", "timed",
                    tools=f"delay,functions=MPI_Barrier,report=yes,{delay}")
    acted, delayed, failed, _, added = reports(result)[0]
    assert seconds(result) >= (0.05 + least) * 0.99  # the computation takes 50 ms
    assert added >= least
    assert (acted, delayed, failed) == ((5, 5, 0) if "every" in delay else (10, 10, 0))


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
/* Every 50th reading is an hour before the one that precedes it. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static __typeof__(clock_gettime) *real;
    static long back, readings;
    if (!real)
        real = (__typeof__(real))dlvsym(RTLD_NEXT, "clock_gettime", "GLIBC_2.17");
    const int result = real(clock, time);
    if (clock == CLOCK_MONOTONIC) {
        back += __atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED) % 50 == 0 ? 3600 : 0;
        time->tv_sec += 10000000 - back;
    }
    return result;
}
"""


@pytest.mark.skipif(OPEN_MPI, reason="Open MPI's daemon would use the altered clock, too")
def test_a_clock_that_is_set_back_does_not_prolong_delays(tmp_path):
    (tmp_path / "clock.c").write_text(CLOCK)
    library = tmp_path / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "clock.c"], check=True)
    if subprocess.run(["true"], env={"LD_PRELOAD": str(library)}, capture_output=True, check=False).stderr or ASAN:
        pytest.skip("clock_gettime cannot be replaced in this way here")
    result = faults(tmp_path, "return", "good", "timed", tools="delay,functions=MPI_Barrier,report=yes,before=1ms",
                    env={"QMPI_CLOCK": "monotonic"}, preload=(LIBQMPI, library))
    acted, delayed, failed, _, added = reports(result)[0]
    assert result.returncode == 0 and (acted, delayed, failed) == (10, 10, 0)
    assert 0.01 <= added < 3600


def test_exponential_delays_delay_each_call(tmp_path):
    result = faults(tmp_path, "return", "good", "timed",
                    tools="delay,functions=MPI_Barrier,report=yes,before=exp 1ms")
    assert reports(result)[0][1] == 10 and reports(result)[0][4] > 0


def test_a_call_is_delayed_and_then_fails(tmp_path):
    result = faults(tmp_path, "return", "good", "send",
                    tools="delay,functions=MPI_Send,before=5ms,error=MPI_ERR_TAG,report=yes")
    assert "returned class 4" in result.stdout
    assert reports(result)[0][:3] == [1, 1, 1] and reports(result)[0][4] >= 0.005


@pytest.mark.parametrize("noise,each", [("200us/1ms", 200e-6), ("200us/random 1ms", 200e-6),
                                        ("100us-300us/1ms", 100e-6)])
def test_noise_is_a_detour_in_each_period_of_computing(tmp_path, noise, each):
    result = faults(tmp_path, "return", "good", "timed", tools=f"delay,noise={noise},report=yes")
    _, _, failed, detours, added = reports(result)[0]
    assert failed == 0
    assert detours >= 48  # in 50 ms
    assert added >= detours * each - 1e-6  # the time is printed in microseconds
    assert seconds(result) >= 0.05 + 44 * each  # `detours` includes those before this step


def test_a_function_without_an_error_code_can_be_delayed(tmp_path):
    result = faults(tmp_path, "return", "good", "wtime",
                    tools="delay,functions=MPI_Wtime,before=1ms,report=yes")
    assert reports(result)[0][:2] == [1, 1]


# ---- Other layers, and bad options ---------------------------------------------------------------


def test_the_numbers_of_delayed_and_failed_calls_can_be_read_through_mpi_t(tmp_path):
    rule = "delay,functions=MPI_Send,before=1ms,error=MPI_ERR_TAG"
    result = faults(tmp_path, "return", "good", "send", "send",
                    tools=f"mpit,show=qmpi.delay*:{rule},calls=2:{rule},calls=4")
    values = {words[0]: words[1] for words in map(str.split, result.messages) if len(words) > 3}
    assert values["qmpi.delay.failed"] == values["qmpi.delay.delayed"] == "1"
    assert float(values["qmpi.delay.time"]) >= 0.001
    assert values["qmpi.delay#2.acted"] == "0"


def test_layers_below_do_not_see_a_call_that_was_not_carried_out(tmp_path):
    rule = "delay,functions=MPI_Send,error=MPI_ERR_TAG,calls=2"
    for carry_out, seen in (("no", 2), ("yes", 3)):
        result = faults(tmp_path, "return", "good", "send", "send", "send",
                        tools=f"count:{rule},carry-out={carry_out}:count")
        calls = [line.split()[1] for line in result.messages if line.startswith("MPI_Send ")]
        assert calls == ["3", str(seen)]


@pytest.mark.parametrize("options,words", [
    ("", "the options specify no action"),
    ("before=10m", "invalid value before=10m"),
    ("before=10parsecs", "before=10parsecs"),
    ("before=20us-10us", "before=20us-10us"),
    ("after=1e9s", "after=1e9s"),
    ("after=-1us", "after=-1us"),
    ("noise=1ms", "50us/1ms"),
    ("noise=1ms/0", "noise=1ms/0"),
    ("before=1us,calls=0x", "calls=0x"),
    ("before=1us,calls=5-2", "calls=5-2"),
    ("before=1us,calls=every 0", "every 5"),
    ("before=1us,calls=", "invalid value calls="),
    ("before=1us,ranks=1;x", "ranks=1;x"),
    ("before=1us,probability=1.5", "from 0 to 1"),
    ("before=1us,probability=nan", "from 0 to 1"),
    ("before=1us,seed=x", "seed=x"),
    ("before=1us,wait=often", "give busy or sleep"),
    ("before=1us,count=twice", "give all or function"),
    ("before=1us,functions=MPI_Sned", "'MPI_Sned' matches no function of this MPI"),
    ("before=1us,functions=MPI_Send;!MPI_*", "selects no function to act on"),
    ("before=1us,carry-out=yes", "carry-out=yes requires an error"),
    ("error=MPI_ERR_FOO", "error=MPI_ERR_FOO"),
    ("error=0", "error=0"),
    ("error=MPI_SUCCESS", "error=MPI_SUCCESS"),
    ("error=1,functions=MPI_Abort", "MPI_Abort can be delayed, but cannot fail"),
    ("error=1,functions=MPI_Wt*", "selects no function that can fail"),
    ("before=1us,befor=2us", "befor"),
])
def test_options_that_make_no_sense_are_refused(options, words):
    result = run("calls", "init", "finalize", tools=f"delay,{options}".rstrip(","))
    assert result.returncode == 2 and "init: result" not in result.stdout
    assert words in result.stderr and "hint: " in result.stderr
