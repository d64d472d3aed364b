# SPDX-License-Identifier: MIT
"""The tool mpit lists, samples and sets the variables of the MPI library and of the layers."""
import csv
import functools
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from support import (BUILD, BUNDLED_TOOLS, LIBRARY_CVAR, LIBRARY_CVAR_GLOB, MPICC, OPEN_MPI, PROGRAMS,
                     SOURCE, needs_sessions, run_mpi)

EXAMPLES = BUILD / "tests" / "mpit" / "examples"
MONITOR = EXAMPLES / "example_monitor"
STEPS = BUILD / "tests" / "tools" / "programs" / "tools_steps"
TOOL_PATH = f"{BUNDLED_TOOLS}:{BUILD / 'tests' / 'mpit' / 'tools'}:{EXAMPLES}"
JSON = "format=json,output=out.json"
# Variables for the calls of MPI_Sendrecv, of which the program `monitor` makes 100 in each round, with 40 bytes each.
COUNTED = "qmpi.count.calls.MPI_Sendrecv"
CALLS, SENT, TIME = (f"qmpi.profile.{what}.MPI_Sendrecv" for what in ("calls", "bytes.sent", "time"))


def run(tools, name="calls", *arguments, ranks=1, **more):
    arguments = arguments or (("init", "barrier", "finalize") if name == "calls" else ())
    environment = {"QMPI_TOOL_PATH": TOOL_PATH, **more.pop("env", {})}
    return run_mpi(name, *arguments, ranks=ranks, tools=tools, env=environment, **more)


def listed(tmp_path, tools, *arguments, **more):
    """Returns the control variables, the performance variables and the categories in the JSON list that the first layer
    of mpit writes, each as name -> entry."""
    result = run(tools.replace("mpit", f"mpit,{JSON}", 1), *arguments, cwd=tmp_path, **more)
    assert result.returncode == 0
    everything = json.loads((tmp_path / "out.json").read_text())
    assert everything["schema"] == "qmpi-mpit/1"
    return [{entry["name"]: entry for entry in everything[part]}
            for part in ("cvars", "pvars", "categories")]


def set_value(tmp_path, setting, name):
    cvars, _, _ = listed(tmp_path, f"mpit,at=init,set.{setting}:publisher")
    return cvars[name]


def sampled(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def watched(tmp_path, tools, *arguments):
    """Returns what the program that monitors itself has read: after 0 … 4 rounds, and after a
    reset. Also returns the Result."""
    result = run(tools, MONITOR, *arguments, cwd=tmp_path)
    assert result.returncode == 0
    return [[float(word) for word in line.split()[1:]] for line in result.stdout.splitlines()], result


# ---- The list ------------------------------------------------------------------------------------


def test_the_list_is_a_table_on_stderr_when_mpi_is_finalized():
    result = run("mpit:count")
    assert result.messages[0].startswith("mpit (layer 1): ")
    assert result.messages[0].endswith("at MPI_Finalize in rank 0")
    barrier = [line.split() for line in result.messages if "qmpi.count.calls.MPI_Barrier " in line]
    assert [row[:4] for row in barrier] == [
        ["qmpi.count.calls.MPI_Barrier", "1", "MPI_UNSIGNED_LONG_LONG", "counter"]]


def test_the_list_may_be_printed_at_mpi_init_or_never():
    assert run("mpit,at=init").messages[0].endswith("at MPI_Init in rank 0")
    assert run("mpit,at=never").messages == []


def test_only_one_rank_lists_variables_unless_each_rank_has_a_file(tmp_path):
    result = run("mpit", ranks=2)
    assert sum("control variables," in line for line in result.messages) == 1
    run("mpit,output=list.%r", ranks=2, cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["list.0", "list.1"]


def test_the_table_contains_the_variables_that_show_selects():
    result = run(f"mpit,show={LIBRARY_CVAR_GLOB};qmpi.publisher")
    names = [line.split()[0] for line in result.messages[1:] if line.startswith("  ")]
    assert names[1:] == [LIBRARY_CVAR]


def test_the_json_list_describes_all_kinds_of_variables(tmp_path):
    cvars, pvars, categories = listed(tmp_path, "mpit,at=init:publisher")
    assert len(cvars) > 300 and len(categories) > 20
    assert cvars["qmpi.stack"]["value"] == "mpit:publisher"
    assert cvars["qmpi.publisher.text"]["value"] == "as it was"
    assert cvars["qmpi.publisher.limit"] == {
        "name": "qmpi.publisher.limit", "value": 7, "datatype": "MPI_INT", "count": 1,
        "verbosity": "user_basic", "bind": "none", "description": "A number", "scope": "all_eq"}
    assert cvars["qmpi.publisher.raw.state"]["label"] == "idle"
    assert cvars["qmpi.publisher.raw.array"]["value"] == [0, 0, 0, 0]
    assert pvars["qmpi.publisher.part"]["value"] == 0.25
    assert pvars["qmpi.publisher.size"]["class"] == "size"
    assert pvars["qmpi.publisher.size"]["value"] == 4096
    total = pvars["qmpi.publisher.total"]
    assert (total["class"], total["verbosity"]) == ("counter", "tuner_detail")
    assert total["atomic"] and total["continuous"] and not total["readonly"]
    assert categories["qmpi.publisher"]["categories"] == ["qmpi.publisher.group"]
    assert categories["qmpi.publisher.inner"]["cvars"] == ["qmpi.publisher.limit"]
    assert categories["qmpi.publisher.inner"]["pvars"] == ["qmpi.publisher.total"]


def test_variables_of_communicators_are_read_for_the_world(tmp_path):
    cvars, pvars, _ = listed(tmp_path, "mpit:queue_length", ranks=2)
    assert cvars["qmpi.queue_length.size"]["value"] == 2
    assert pvars["MPI_T_UMQ_LENGTH"]["value"] == 0
    assert pvars["MPI_T_UMQ_LENGTH"]["bind"] == "comm"


def test_variables_that_must_be_started_count_from_the_end_of_mpi_init(tmp_path):
    _, pvars, _ = listed(tmp_path, "mpit,at=init:publisher")
    assert pvars["qmpi.publisher.calls"]["value"] is None
    assert pvars["qmpi.publisher.calls"]["reason"] == "it counts only from its start"
    _, pvars, _ = listed(tmp_path, "mpit,at=finalize:publisher")
    assert pvars["qmpi.publisher.calls"]["value"] == 0


@pytest.mark.parametrize("tools", ["mpit:profile:count", "count:profile:mpit", "profile:mpit:count"])
def test_the_list_has_values_of_count_and_profile_above_and_below(tmp_path, tools):
    _, pvars, categories = listed(tmp_path, tools)
    assert pvars["qmpi.count.calls.MPI_Barrier"]["value"] == 1
    assert pvars["qmpi.profile.calls.MPI_Barrier"]["value"] == 1
    assert 0 < pvars["qmpi.profile.time.MPI_Barrier"]["value"] < 10
    assert len(categories["qmpi.count"]["pvars"]) >= (430 if OPEN_MPI else 634)
    assert categories["qmpi.profile"]["categories"] == [
        "qmpi.profile.calls", "qmpi.profile.bytes", "qmpi.profile.time"]
    for entry in (pvars[name] for name in pvars if name.startswith("qmpi.")):
        assert entry["continuous"] and entry["atomic"] and not entry["readonly"]
    assert {pvars[name]["class"] for name in categories["qmpi.profile.bytes"]["pvars"]} == {"aggregate"}
    assert {pvars[name]["class"] for name in categories["qmpi.profile.time"]["pvars"]} == {"timer"}


@pytest.mark.parametrize("tools", ["count:{0}", "{0}:count", "profile:{0}", "empty:{0}:profile"])
def test_a_pmpi_tool_finds_variables_of_layers_above_and_below(tools):
    result = run(tools.format(BUILD / "tests/tools/tools/libhow_many.so"))
    assert "how_many: variables" in result.stderr


def test_two_layers_of_count_have_variables_of_their_own(tmp_path):
    _, pvars, _ = listed(tmp_path, "mpit:count:count")
    for name in ("qmpi.count.calls.MPI_Init", "qmpi.count#2.calls.MPI_Init"):
        assert pvars[name]["value"] == 1


def test_a_program_that_finalizes_mpi_t_too_often_gets_its_list_and_samples(tmp_path):
    """MPI counts the initializations of MPI_T by the program and by the layers together. So the program's call of
    MPI_T_finalize undoes the initialization by the layer."""
    _, pvars, _ = listed(tmp_path, "mpit,csv=s.csv,pvars=*MPI_Barrier:count", "calls", "init", "t_finalize", "barrier",
                         "finalize")
    assert pvars["qmpi.count.calls.MPI_Barrier"]["value"] == 1
    assert [row["value"] for row in sampled(tmp_path / "s.csv")] == ["1"]


@needs_sessions
def test_a_program_with_sessions_alone_gets_its_list():
    result = run("mpit,show=qmpi.count.calls.MPI_Session_init:count", "calls", "session_init",
                 "session_finalize")
    assert result.returncode == 0
    row = [line.split() for line in result.messages if "MPI_Session_init" in line][0]
    assert row[:2] == ["qmpi.count.calls.MPI_Session_init", "1"]


def test_the_output_of_the_program_does_not_change():
    assert run("mpit").stdout == run(None).stdout


# ---- While the program runs ----------------------------------------------------------------------


def test_a_program_that_polls_reads_growing_numbers(tmp_path):
    rows, _ = watched(tmp_path, "mpit,at=never:profile:count", COUNTED, CALLS, SENT, TIME)
    assert [row[:3] for row in rows[:5]] == [
        [100 * n, 100 * n, 4000 * n] for n in range(5)]
    times = [row[3] for row in rows[:5]]
    assert times[0] == 0 and times == sorted(times) and len(set(times)) == 5


def test_a_reset_affects_only_the_reader_and_not_the_reports(tmp_path):
    rows, result = watched(tmp_path, "profile,output=p.json,format=json:count", COUNTED, CALLS, SENT,
                           TIME)
    assert rows[5] == [0, 0, 0, 0]
    report = [line.split() for line in result.messages if line.startswith("MPI_Sendrecv ")]
    assert report == [["MPI_Sendrecv", "400", "400", "400.0", "400"]]
    functions = json.loads((tmp_path / "p.json").read_text())["functions"]
    entry = {function["name"]: function for function in functions}["MPI_Sendrecv"]
    assert entry["calls"] == 400 and entry["bytes"]["sent"] == 16000


def test_writing_0_to_enabled_stops_count_at_this_point(tmp_path):
    rows, _ = watched(tmp_path, "mpit,at=never:profile:count", COUNTED, CALLS,
                      "off=qmpi.count.enabled")
    assert [row[0] for row in rows[:5]] == [0, 100, 200, 200, 200]
    assert [row[1] for row in rows[:5]] == [0, 100, 200, 300, 400]


# ---- Samples -------------------------------------------------------------------------------------


def test_samples_are_taken_at_pcontrol_2_and_when_mpi_is_finalized(tmp_path):
    result = run("mpit,at=never,csv=s.csv,pvars=*.count.calls.MPI_Sendrecv;*.MPI_Pcontrol:count", MONITOR,
                 COUNTED, cwd=tmp_path)
    assert result.returncode == 0
    rows = sampled(tmp_path / "s.csv")
    assert list(rows[0]) == ["rank", "sample", "moment", "seconds", "variable", "class", "element",
                             "value"]
    calls = [row for row in rows if row["variable"] == COUNTED]
    assert [row["value"] for row in calls] == ["100", "200", "300", "400", "400"]
    assert [row["moment"] for row in calls] == ["pcontrol"] * 4 + ["finalize"]
    assert [row["sample"] for row in calls] == list("01234")
    seconds = [float(row["seconds"]) for row in calls]
    assert seconds == sorted(seconds) and seconds[0] > 0
    assert {row["class"] for row in rows} == {"counter"}
    # mpit takes its sample before it passes MPI_Pcontrol on to count, so this call is not yet counted.
    assert [row["value"] for row in rows if "Pcontrol" in row["variable"]] == list("01234")


def test_each_rank_samples_into_a_file_of_its_own(tmp_path):
    run("mpit,at=never,csv=s.csv,pvars=*MPI_Init:mpit,at=never,csv=%r-%t,pvars=*MPI_Init:count",
        ranks=2, cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0-2", "1-2", "s.0.csv", "s.1.csv"]
    assert [row["rank"] for row in sampled(tmp_path / "s.1.csv")] == ["1"]


def test_arrays_take_a_line_for_each_element(tmp_path):
    run("mpit,at=never,csv=s.csv,pvars=qmpi.publisher.generic:publisher", cwd=tmp_path)
    rows = sampled(tmp_path / "s.csv")
    assert [(row["element"], row["value"]) for row in rows] == [("0", "1"), ("1", "2"), ("2", "3")]


def test_variables_that_appear_later_are_sampled_from_then_on(tmp_path):
    run("mpit,at=never,csv=s.csv,pvars=*late*:mpit,at=never,set.qmpi.publisher.publish=3:publisher",
        cwd=tmp_path)
    assert [row["variable"] for row in sampled(tmp_path / "s.csv")] == ["qmpi.publisher.late.3"]


@pytest.fixture(scope="module")
def comma(tmp_path_factory):
    """Returns the environment of a user whose locale has a decimal comma."""
    folder = tmp_path_factory.mktemp("locales")
    localedef = shutil.which("localedef")
    if localedef:
        subprocess.run([localedef, "--no-archive", "-c", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    if not (folder / "de_DE.UTF-8" / "LC_NUMERIC").exists():
        pytest.skip("the locale de_DE.UTF-8 cannot be created")
    return {"LOCPATH": folder, "LC_ALL": "de_DE.UTF-8"}


def test_numbers_have_a_decimal_point_in_any_locale_of_the_program(tmp_path, comma):
    result = run("mpit,csv=s.csv,pvars=*.part,show=*.real,set.qmpi.publisher.raw.real=2.5e-3:publisher",
                 STEPS, "locale", "init", "finalize", cwd=tmp_path, env=comma)
    assert result.returncode == 0
    row, = sampled(tmp_path / "s.csv")
    assert float(row["seconds"]) >= 0 and "." in row["seconds"]
    assert (row["variable"], row["element"], row["value"]) == ("qmpi.publisher.part", "0", "0.25")
    real = [line.split() for line in result.messages if "qmpi.publisher.raw.real" in line]
    assert [words[:3] for words in real] == [["qmpi.publisher.raw.real", "0.0025", "MPI_DOUBLE"]]


def test_a_pattern_that_no_variable_matches_is_reported(tmp_path):
    result = run("mpit,at=never,csv=s.csv,pvars=qmpi.*Init;nothing*:count", cwd=tmp_path)
    assert [line for line in result.messages if "nothing" in line] == [
        "mpit (layer 1): pvars=: no performance variable is named 'nothing*'"]


@functools.cache
def can_allocate(pvar):
    """Returns whether the MPI library without tools provides a handle for the variable: Open MPI
    6.0.0rc2 provides none for variables of communicators."""
    with tempfile.TemporaryDirectory(prefix="qmpi-test-") as folder:
        program = Path(folder) / "pvar_of_world"
        subprocess.run([MPICC, "-o", program, SOURCE / "tests/mpit/pvar_of_world.c"], check=True)
        return run_mpi(program, pvar, ranks=1, preload=()).returncode == 0


@pytest.mark.skipif(not OPEN_MPI, reason="all variables of this MPI can be read")
@pytest.mark.parametrize("at", ["never", "finalize"])
@pytest.mark.parametrize("pvar", ["mpool_hugepage_bytes_allocated", "pml_ob1_unexpected_msgq_length"])
def test_open_mpis_own_variables_are_sampled_by_their_whole_names(tmp_path, at, pvar):
    if not can_allocate(pvar):
        pytest.skip(f"the MPI library alone gives no handle for {pvar}")
    run(f"mpit,at={at},csv=s.csv,pvars={pvar};no_such_variable", cwd=tmp_path)
    assert {row["variable"] for row in sampled(tmp_path / "s.csv")} == {pvar}
    result = run(f"mpit,at={at},csv=s.csv,pvars={pvar[:-1]}*", cwd=tmp_path)
    assert sampled(tmp_path / "s.csv") == []
    assert ("  hint: `qmpi vars -t TOOLS` lists them; give the full names of the MPI "
            "library's own variables") in result.messages


@pytest.mark.parametrize("option", ["csv=/no/such/folder/x", "output=/no/such/folder/x"])
def test_a_file_that_cannot_be_written_is_reported_and_the_run_goes_on(option):
    result = run(f"mpit,{option}:count")
    assert result.returncode == 0
    assert any("cannot write /no/such/folder/x: No such file" in line for line in result.messages)


# ---- Settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting,name,value", [
    (f"{LIBRARY_CVAR}=3", LIBRARY_CVAR, 3),
    ("qmpi.publisher.limit=-0x10", "qmpi.publisher.limit", -16),
    ("qmpi.publisher.raw.small=4294967295", "qmpi.publisher.raw.small", 4294967295),
    ("qmpi.publisher.raw.counter=18446744073709551615", "qmpi.publisher.raw.counter", 2.0 ** 64),
    ("qmpi.publisher.raw.real=2.5e-3", "qmpi.publisher.raw.real", 0.0025),
    ("qmpi.publisher.raw.array=1 2 3 4", "qmpi.publisher.raw.array", [1, 2, 3, 4]),
    ("qmpi.publisher.text=a \\: b", "qmpi.publisher.text", "a : b"),
    ("qmpi.publisher.raw.state=busy", "qmpi.publisher.raw.state", 5),
    ("qmpi.publisher.raw.state=-1", "qmpi.publisher.raw.state", -1),
])
def test_a_control_variable_is_set_before_mpi_is_initialised(tmp_path, setting, name, value):
    assert set_value(tmp_path, setting, name)["value"] == value


@pytest.mark.parametrize("setting,message", [
    ("nope=1", "unknown control variable"),
    ("=1", "unknown control variable"),
    ("qmpi.stack=x", "it is read-only (scope constant)"),
    ("qmpi.publisher.readonly=1", "it is read-only (scope readonly)"),
    ("qmpi.publisher.locked=1", "it cannot be set before MPI is initialized"),
    ("qmpi.publisher.limit=many", "'many' is not a valid MPI_INT"),
    ("qmpi.publisher.limit=2147483648", "'2147483648' is not a valid MPI_INT"),
    ("qmpi.publisher.limit=1 2", "it takes 1 value"),
    ("qmpi.publisher.limit=", "it takes 1 value"),
    ("qmpi.publisher.raw.small=-1", "'-1' is not a valid MPI_UNSIGNED"),
    ("qmpi.publisher.raw.real=1.5x", "'1.5x' is not a valid MPI_DOUBLE"),
    ("qmpi.publisher.raw.array=1 2 3", "it takes 4 values"),
    ("qmpi.publisher.text=sixteen letters.", "the text is too long"),
    ("qmpi.publisher.raw.state=asleep", "'asleep' is not one of its values"),
    ("qmpi.publisher.raw.state=1", "'1' is not one of its values"),
    ("qmpi.publisher.raw.level=9223372036854775807", "its owner rejects this value"),
])
def test_a_variable_that_cannot_be_set_is_reported_once_and_the_run_stops(setting, message):
    result = run(f"mpit,at=never,set.{setting}:publisher", ranks=2)
    assert result.returncode == 2
    said = [line for line in result.messages if line.startswith("mpit")]
    assert said == [f"mpit (layer 1): set.{setting}: {message}"]
    assert any(line.strip().startswith("hint: ") for line in result.messages)


def test_the_programs_own_wrappers_cannot_be_switched_off():
    result = run("mpit,at=never,set.qmpi.own.enabled=0",
                 BUILD / "tests" / "pmpi" / "programs" / "own", "init", "finalize")
    assert result.returncode == 2
    assert "mpit (layer 2): set.qmpi.own.enabled=0: it is read-only" in result.messages


def test_the_values_of_an_enumeration_are_named():
    result = run("mpit,set.qmpi.publisher.raw.state=asleep:publisher")
    assert "  hint: use one of idle (0), busy (5), lost (-1)" in result.messages


def test_with_skip_the_run_goes_on_without_the_setting():
    result = run("mpit,at=never,set.nope=1,set.qmpi.count.enabled=0:count",
                 env={"QMPI_ON_ERROR": "skip"})
    assert result.returncode == 0
    assert "  the run continues without this setting" in result.messages


def test_a_layer_above_is_switched_off_before_it_counts():
    result = run("count:mpit,at=never,set.qmpi.count.enabled=0", "calls", "init", "barrier",
                 "comm_rank", "finalize")
    assert result.returncode == 0
    assert not [line for line in result.messages if line.startswith(("MPI_Barrier", "MPI_Comm"))]


# ---- Options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options,message", [
    ("at=sometimes", "give init, finalize or never"),
    ("format=xml", "give table or json"),
    ("pvars=*", "name a file with csv=FILE"),
    ("csv=x%q", "%r %p %t %h"),
    ("output=x,csv=x", "different names"),
    ("nonsense=1", "set.*"),
])
def test_options_that_make_no_sense_are_refused(options, message):
    result = run(f"mpit,{options}")
    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize("tools", ["mpit,output=x:mpit,csv=x", "mpit,csv=x:count,output=x",
                                   "count,output=x:empty:profile,output=x"])
def test_two_layers_with_one_file_are_refused(tools):
    result = run(tools)
    assert result.returncode == 2
    assert "the same file" in result.stderr and "put %t" in result.stderr
