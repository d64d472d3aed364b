# SPDX-License-Identifier: MIT
"""The tool profile: its options, exact figures over ranks and threads, regions, waiting times, and several layers."""
import csv
import io
import re
import shutil

import pytest
from mpi_in_use import EMULATED
from profile_support import (JSON, SLOWER, STEPS, calls, clocks, functions, load, named, names, profile,
                             profile_between, report, run_steps, watched)
from support import ASAN, BUNDLED_TOOLS, SOURCE, needs_sessions

PLAIN = ["init", "barrier", "barrier", "rank", "finalize"]


# ---- where the program ran ----


def test_the_result_names_the_user_the_nodes_the_command_and_the_settings(tmp_path):
    meant = {"OMP_NUM_THREADS": "4", "UCX_LOG_LEVEL": "error", "FI_LOG_LEVEL": "warn",
             "SLURM_JOB_NAME": "heat"}
    secret = {"SLURM_JWT": "geheim", "FI_SECRET": "geheim", "UCX_auth_token": "geheim", "OPENBLAS_KEYS": "geheim",
              "HYDRA_PROXY": "http://ann:geheim@host", "SLURM_JOB_COMMENT": "geheim", "PASSWORD": "geheim",
              "XOMP_NUM_THREADS": "geheim"}
    result = profile(tmp_path, *PLAIN, env={**meant, **secret, "LOGNAME": "ann", "PBS_JOBID": "17.server"})
    read = {each["name"]: each["value"] for each in result["environment"]}
    assert meant.items() <= read.items() and list(read) == sorted(read)
    assert result["user"] == "ann" and result["batch_job"] == "17.server"
    assert result["nodes"] == [{"host": result["processes"][0]["host"], "ranks": 2}]
    assert result["command"].endswith(f"{STEPS.name} {' '.join(PLAIN)}")
    text, rows, page = (report(*options, tmp_path / "out.json").splitlines()
                        for options in ((), ("--format=csv",), ("--html",)))
    assert f"started  {result['begin']} by user ann" in text and "job      17.server" in text
    settings, = (line for line in text if line.startswith("settings "))
    assert " FI_LOG_LEVEL=warn" in settings and len(settings) <= 80
    assert any(row.startswith("environment,") and ",UCX_LOG_LEVEL,error," in row for row in rows)
    for name, value in meant.items():
        assert f"<li><code>{name}={value}</code></li>" in page
    assert "geheim" not in (tmp_path / "out.json").read_text()


# ---- what comes out --------------------------------------------------------------------------------


def test_calls_are_summed_over_the_ranks(tmp_path):
    result = profile(tmp_path, *PLAIN)
    assert result["ranks"] == 2
    assert calls(result) == {"MPI_Init": 2, "MPI_Barrier": 4, "MPI_Comm_rank": 2, "MPI_Finalize": 2}


def test_by_default_rank_0_prints_one_table(tmp_path):
    result = run_steps(*PLAIN, cwd=tmp_path)
    assert sum(line.endswith(": 2 ranks") for line in result.messages) == 1
    # one line for the function, and one for its call site
    assert sum(bool(re.match(r"MPI_Barrier +\d", line)) for line in result.messages) == 2
    assert names(tmp_path) == []


def test_stdout_contains_only_the_output_of_the_program(tmp_path):
    assert run_steps(*PLAIN, cwd=tmp_path).stdout == ""


@pytest.mark.parametrize("form, begin", [("text", "profile (layer 1)"), ("csv", "table,"),
                                         ("json", "{")])
def test_the_option_format_selects_the_format_of_the_file(tmp_path, form, begin):
    result = run_steps(*PLAIN, cwd=tmp_path, tools=f"profile,output=out,format={form}")
    assert result.messages == []
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text().lstrip("# ").startswith(begin)


@pytest.mark.parametrize("options, begin", [
    ("output=out.json", "{"), ("output=out.html", "<!DOCTYPE html>"), ("output=out.%r.csv", "table,"), ("output=out.txt", "profile (layer 1)"),
    ("output=out.dat", "profile (layer 1)"), ("output=out.json,format=csv", "table,"),
    ("format=text,output=out.json", "profile (layer 1)")])
def test_without_format_the_name_of_the_file_selects_the_format(tmp_path, options, begin):
    result = run_steps(*PLAIN, cwd=tmp_path, tools=f"profile,{options}")
    assert result.messages == []
    file, = names(tmp_path)
    assert (tmp_path / file).read_text().startswith(begin)


def test_without_the_library_that_writes_html_a_page_is_refused(tmp_path):
    """The code that writes the page is in a library beside the tool, which is opened only for this purpose."""
    shutil.copy(BUNDLED_TOOLS / "profile.so", tmp_path)
    text, page = (run_steps("init", "finalize", cwd=tmp_path, ranks=1, tools=f"profile,output={name}",
                            env={"QMPI_TOOL_PATH": str(tmp_path)}) for name in ("out.txt", "out.html"))
    assert (text.returncode, page.returncode) == (0, 2)
    message = "\n".join(page.messages)
    assert "qmpi-html.module" in message and "hint: write JSON" in message
    assert names(tmp_path) == ["out.txt", "profile.so"]


def test_mpi_init_has_no_share_of_the_application_time(tmp_path):
    text = "\n".join(run_steps("init", "sleep=100", "finalize", cwd=tmp_path).messages)
    # one line for the function, and one for its call site
    assert re.findall(r"(?m)^MPI_Init +2 +[\d.]+ .?s +(\S+)", text) == ["-", "-"]
    assert float(re.search(r"(?m)^total +\d+ +[\d.]+ .?s +(\S+)", text)[1]) < 50


@pytest.mark.parametrize("name", [None, "out.txt"])
def test_lines_fit_into_80_columns(tmp_path, name):
    tools = f"profile,output={name}" if name else "profile"
    result = run_steps("init", "region=r", *["send=100000"] * 3, "comms", "window", "bcast", "end=r",
                       "finalize", cwd=tmp_path, tools=tools)
    lines = (tmp_path / name).read_text().splitlines() if name else result.messages
    width = 80 if name else 80 - len("qmpi: ")
    assert len(lines) > 50
    assert [line for line in lines if len(line) > width and not line.startswith("program ")] == []


def test_names_that_are_not_utf8_are_converted_in_csv_and_json(tmp_path):
    """Names may contain any bytes. Each byte that is not UTF-8 is replaced in the same way in both
    formats."""
    for form in ("csv", "json"):
        result = run_steps("init", "odd_names", "finalize", cwd=tmp_path, ranks=1,
                           tools=f"profile,output=out.{form},format={form}")
        assert result.returncode == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_bytes().decode(), newline="")))
    document = load(tmp_path / "out.json")
    files, regions, comms = ([row[column] for row in rows if row["table"] == table] for table, column in
                             (("file", "name"), ("region", "region"), ("communicator", "name")))
    assert files == [file["name"] for file in document["files"]] == ["\ufffd, é"]
    assert regions == [region["name"] for region in document["regions"]] == ["r\ufffdgion \ufffd\ufffd"]
    odd, = (name for name in comms if name.startswith("c"))
    assert odd.strip("c") == "\ufffd" and odd in named(document["communicators"])


def test_names_of_files_may_contain_the_rank_and_the_layer(tmp_path):
    run_steps(*PLAIN, cwd=tmp_path, tools="empty:profile,output=%t-%r.json,format=json")
    assert names(tmp_path) == ["2-0.json"]


def test_files_are_written_to_the_directory_in_which_the_program_was_started(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    profile(tmp_path, "init", "chdir=elsewhere", "finalize")


@pytest.mark.parametrize("option, hint", [
    ("format=xml", "text, json, csv or html"),
    ("format=json", "output=FILE"),
    ("top=few", "whole number"),
    ("top=-1", "whole number"),
    ("depth=0", "from 1 to 32"),
    ("depth=33", "from 1 to 32"),
    ("depth=1x", "from 1 to 32"),
    ("ranks=some", "outliers or all"),
    ("sync=maybe", "yes or no"),
    ("checkpoint=0", "at least 1s"),
    ("save-signal=SIGKILL", "give SIGUSR1, SIGUSR2"),
    ("checkpoint=99999999999999999999", "at least 1s"),
    ("output=x%q", "%r %p %t %h"),
    ("output=", "file name"),
])
def test_a_bad_value_is_refused_with_a_hint(tmp_path, option, hint):
    result = run_steps("init", "finalize", cwd=tmp_path, ranks=1, tools=f"profile,{option}")
    assert result.returncode == 2
    assert any("hint: " in line and hint in line for line in result.messages), result.messages


def test_two_layers_with_one_file_are_refused(tmp_path):
    for other in ("profile,output=x", "count,output=x", "mpit,csv=x"):
        result = run_steps("init", cwd=tmp_path, ranks=1, tools=f"profile,output=x:{other}")
        assert result.returncode == 2
        assert any("layer 2 (" in line and "the same file" in line for line in result.messages)
        assert any("%t" in line for line in result.messages)


@pytest.mark.parametrize("path", ["/dev/full", "/no/such/folder/x.json"])
@pytest.mark.parametrize("form", ["json", "csv", "text"])
def test_the_table_goes_to_stderr_if_the_file_cannot_be_written(tmp_path, path, form):
    result = run_steps(*PLAIN, "exit=3", cwd=tmp_path, tools=f"profile,output={path},format={form}")
    assert result.returncode == 3
    assert any(f"cannot write {path}" in line for line in result.messages)
    assert any(line.startswith("MPI_Barrier") for line in result.messages)


# ---- figures ---------------------------------------------------------------------------------------


def test_times_are_between_those_of_the_layers_below_and_above(tmp_path):
    result, lower, upper = profile_between(tmp_path, "init", *["send=8"] * 10, "finalize", ms=20,
                                           of="MPI_Send")
    send = functions(result)["MPI_Send"]
    assert send["calls"] == 10 and lower[1] == 0
    assert lower[0] <= send["time"]["sum"] <= upper["MPI_Send"].seconds
    assert send["time"]["max"] == send["time"]["sum"] and send["time"]["min"] == 0
    assert send["time"]["mean"] == send["time"]["stddev"] == pytest.approx(send["time"]["sum"] / 2)
    assert 0.02 * SLOWER <= send["shortest"] <= upper["MPI_Send"].shortest
    site, = (site for site in result["callsites"] if site["name"] == "MPI_Send")
    assert site["time"] == pytest.approx(send["time"])
    assert site["frames"][0]["function"] == "send"
    assert site["frames"][0]["file"].endswith("steps.c")


def test_application_time_runs_from_init_to_finalize_while_profiling_is_on(tmp_path):
    result = run_steps("sleep=100", "clock=start", "init", "clock=on", "sleep=100", "clock=stop", "level=0",
                       "clock=off", "sleep=300", "clock=again", "level=1", "finalize", "clock=end",
                       "sleep=300", cwd=tmp_path, tools=JSON, ranks=1)
    at, seconds = clocks(result), load(tmp_path / "out.json")["application"]["sum"]
    assert (at["stop"] - at["on"]) * SLOWER <= seconds
    assert seconds <= (at["off"] - at["start"] + at["end"] - at["again"]) / SLOWER


def test_a_call_from_within_a_call_is_in_mpi_time_once(tmp_path):
    result, lower, upper = profile_between(tmp_path, "init", "nest", "finalize", ranks=1, ms=400,
                                           of="MPI_Comm_dup")
    barrier, outer = (functions(result)[name]["time"]["sum"] for name in ("MPI_Barrier", "MPI_Comm_dup"))
    assert lower[0] <= barrier <= outer <= upper["MPI_Comm_dup"].seconds
    others = sum(call.seconds for name, call in upper.items() if name != "MPI_Barrier")
    assert outer <= result["time"]["sum"] <= others


def test_the_results_of_five_ranks_are_merged(tmp_path):
    result = profile(tmp_path, "init", "shift=8", "comms", "finalize", ranks=5)
    assert result["ranks"] == 5
    assert [process["rank"] for process in result["processes"]] == [0, 1, 2, 3, 4]
    assert [(cell["from"], cell["to"], cell["bytes"]) for cell in result["matrix"]] == [
        (0, 1, 8), (1, 2, 8), (2, 3, 8), (3, 4, 8), (4, 0, 8)]
    assert calls(result)["MPI_Sendrecv"] == 5
    site, = (site for site in result["callsites"] if site["name"] == "MPI_Sendrecv")
    assert site["ranks"] == 5 and site["calls"] == 5
    names_seen = [comm["name"] for comm in result["communicators"]]
    assert sorted(names_seen) == ["MPI_COMM_WORLD"] + 5 * ["kept"] + ["once", "twice"]


def test_the_matrix_contains_messages_and_one_sided_accesses(tmp_path):
    result = profile(tmp_path, "init", "send=1000", "send=0", "window", "finalize")
    # Rank 1 puts 16 bytes to rank 0 and gets 64 bytes from it, and vice versa.
    assert result["matrix"] == [{"from": 0, "to": 1, "messages": 4, "bytes": 1080},
                                {"from": 1, "to": 0, "messages": 2, "bytes": 80}]


def test_a_rank_that_sends_to_itself_and_reads_from_itself_has_one_cell(tmp_path):
    result = profile(tmp_path, "init", "shift=10", "window", "finalize", ranks=1)
    assert result["matrix"] == [{"from": 0, "to": 0, "messages": 3, "bytes": 90}]


def test_each_message_from_one_place_counts_for_its_peer_and_communicator(tmp_path):
    result = profile(tmp_path, "init", "peers", "finalize")
    # In each communicator, each rank sends four messages of 10 bytes to rank 0 and four of 11 bytes to
    # rank 1. In the second communicator, the ranks are reversed. In each one, one of the messages to
    # rank 0 of MPI_COMM_WORLD is empty instead.
    assert result["matrix"] == [
        {"from": rank, "to": to, "messages": 12, "bytes": total}
        for rank in (0, 1) for to, total in ((0, 93), (1, 128))]
    send, receive = (functions(result)[name] for name in ("MPI_Isend", "MPI_Recv"))
    assert (send["calls"], send["bytes"], send["no_bytes"]) == (54, {"sent": 442, "received": 0}, 12)
    assert (receive["calls"], receive["bytes"], receive["no_bytes"]) == (
        48, {"sent": 0, "received": 442}, 6)
    sites = [site for site in result["callsites"] if site["name"] in ("MPI_Isend", "MPI_Recv")]
    assert sorted((site["name"], site["calls"], site["messages"]) for site in sites) == [
        ("MPI_Isend", 54, 42), ("MPI_Recv", 48, 42)]
    freed = [comm["bytes"] for comm in result["communicators"] if comm["name"] != "MPI_COMM_WORLD"]
    assert sum(row["sent"] for row in freed) == sum(row["received"] for row in freed) == 442


def test_each_message_from_one_place_counts_with_the_size_of_its_datatype(tmp_path):
    result = profile(tmp_path, "init", "types", "finalize", ranks=1)
    send = functions(result)["MPI_Send"]
    predefined = 3 * (4 + 8 + 8 + 1 + 4)
    derived = 2 * 2 * 4 * (1 + 2 + 3 + 4 + 5)
    assert (send["calls"], send["bytes"]["sent"]) == (15, predefined + derived)
    assert result["matrix"] == [{"from": 0, "to": 0, "messages": 15, "bytes": predefined + derived}]
    assert functions(result)["MPI_Irecv"]["bytes"]["received"] == predefined + derived


def test_sizes_and_times_of_calls_are_in_their_bins(tmp_path):
    result = profile(tmp_path, "init", "send=1000", "send=1024", "send=0", "finalize",
                     options=":slow,ms=20")
    send = functions(result)["MPI_Send"]
    assert send["no_bytes"] == 1
    assert send["sizes"] == [[9, 1], [10, 1]]
    assert sum(number for _, number in send["times"]) == 3
    bins = [place for place, _ in send["times"]]
    # The longest and the shortest time are more exact than the bins: they are computed at the end of the run, when the
    # length of a tick is known more exactly.
    assert all(2 ** (place + 1) * 1.01 > send["shortest"] * 1e9 for place in bins)
    assert all(2 ** place * 0.99 <= send["longest"] * 1e9 for place in bins)
    assert min(bins) >= 24  # 20 ms


def test_communicators_are_told_apart_by_name_and_processes(tmp_path):
    result = profile(tmp_path, "init", "comms", "finalize")
    rows = [(comm["name"], comm["size"], comm["first"], comm["instances"], comm["calls"])
            for comm in result["communicators"]]
    # Each communicator has a barrier, MPI_Comm_set_name, and, if it is freed, MPI_Comm_free.
    assert sorted(row for row in rows if "WORLD" not in row[0]) == [
        ("kept", 1, 0, 1, 2), ("kept", 1, 1, 1, 2), ("once", 2, 0, 1, 6), ("twice", 2, 0, 2, 12)]


def test_files_have_the_bytes_that_were_written_and_read(tmp_path):
    result = profile(tmp_path, "init", "file=data", "file=data", "finalize", ranks=1)
    file, = result["files"]
    assert (file["name"], file["opens"], file["written"], file["read"]) == ("data", 2, 200, 20)
    assert file["calls"] == 8  # open, write, read, close


def test_peak_memory_is_that_of_the_process(tmp_path):
    """Rank 1 has used 64 MiB for a while."""
    result = profile(tmp_path, "init", "only=1", "touch=64", "only=-1", "finalize")
    assert [process["rank"] for process in result["processes"]] == [0, 1]
    first, second = (process["memory"] for process in result["processes"])
    assert first > 1 << 20
    assert 48 << 20 < second - first < 96 << 20


def test_four_threads_are_counted_exactly(tmp_path):
    result = profile(tmp_path, "init_threads", "threads=2000", "threads=500", "finalize", ranks=1)
    assert calls(result)["MPI_Comm_rank"] == 4 * 2500
    assert sum(site["calls"] for site in result["callsites"]
               if site["name"] == "MPI_Comm_rank") == 4 * 2500


def test_depth_adds_the_callers_of_the_caller(tmp_path):
    result = profile(tmp_path, "init", "send=8", "finalize", options=",depth=2")
    site, = (site for site in result["callsites"] if site["name"] == "MPI_Send")
    assert [frame["function"] for frame in site["frames"]] == ["send", "mpi_step"]


def test_a_function_that_two_functions_call_in_turn_has_two_call_sites(tmp_path):
    result = profile(tmp_path, "init", *["rank", "late=0"] * 20, "finalize", options=",depth=2",
                     ranks=1)
    sites = {site["frames"][1]["function"]: site["calls"] for site in result["callsites"]
             if site["frames"][0]["function"] == "rank_of"}
    assert sites == {"mpi_step": 20, "other_step": 20}


@pytest.mark.parametrize("depth", [4, 5, 32])
def test_the_programs_frames_end_with_main(tmp_path, depth):
    result = profile(tmp_path, "init", "send=8", "finalize", options=f",depth={depth}")
    frames = {site["name"]: [frame["function"] for frame in site["frames"]]
              for site in result["callsites"]}
    assert frames["MPI_Send"] == ["send", "mpi_step", "main"]
    assert frames["MPI_Init"] == ["mpi_step", "main"]


@pytest.mark.parametrize("depth", [3, 32])
def test_a_threads_frames_end_with_its_function(tmp_path, depth):
    result = profile(tmp_path, "init_threads", "threads=10", "finalize",
                     options=f",depth={depth}", ranks=1)
    site, = (site for site in result["callsites"] if site["name"] == "MPI_Comm_rank")
    assert [frame["function"] for frame in site["frames"]] == ["rank_of", "call_often"]


@pytest.mark.skipif(ASAN != "", reason="a sanitizer has a qsort of its own")
@pytest.mark.parametrize("depth", [2, 32])
def test_frames_of_the_c_library_between_others_are_kept(tmp_path, depth):
    result = profile(tmp_path, "init", "sort", "finalize", options=f",depth={depth}", ranks=1)
    site, = (site for site in result["callsites"] if site["name"] == "MPI_Comm_rank")
    assert site["frames"][0]["function"] == "compare"
    assert site["frames"][1]["module"].endswith("/libc.so.6")
    if depth == 32:
        assert [frame.get("function") for frame in site["frames"]][-3:] == ["sort", "mpi_step", "main"]


INLINED = STEPS.with_name("tools_inlined")
PLAIN_PROGRAM = STEPS.with_name("tools_plain")
LINE = "compile with -g to see source lines)"


def line_of(place):
    lines = (SOURCE / "tests" / "tools" / "programs" / "inlined.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if f"/* line: {place} */" in line)


@pytest.mark.parametrize("depth", [1, 4])
def test_callers_that_were_inlined_are_expanded(tmp_path, depth):
    result = profile(tmp_path, program=INLINED, options=f",depth={depth}", ranks=1)
    site, = (site for site in result["callsites"] if site["name"] == "MPI_Barrier")
    assert [(frame["function"], frame["line"], frame.get("inlined", False)) for frame in site["frames"]] == [
        ("meet", line_of("meet"), True), ("step", line_of("step"), True), ("main", line_of("main"), False)]
    assert len({(frame["module"], frame["offset"]) for frame in site["frames"]}) == 1
    text = run_steps(cwd=tmp_path, program=INLINED, ranks=1).messages
    at = text.index(f"    from meet (inlined.c:{line_of('meet')}) [inlined]")
    assert text[at + 1:at + 3] == [f"         step (inlined.c:{line_of('step')}) [inlined]",
                                   f"         main (inlined.c:{line_of('main')})"]
    assert LINE not in text


def test_a_program_without_debug_information_is_told_once_how_to_get_lines(tmp_path):
    text = run_steps(cwd=tmp_path, program=PLAIN_PROGRAM, ranks=1).messages
    assert sum(re.match(r"    from main \(tools_plain\+0x", line) is not None for line in text) == 3
    assert text.count(LINE) == 1
    assert text[text.index(LINE) - 1] == "(no debug information in tools_plain:"


def test_depth_skips_the_layers_above(tmp_path):
    result = profile(tmp_path, "init", "send=8", "finalize", options=",depth=3",
                     env={"QMPI_TOOLS": f"{':'.join(['empty'] * 30)}:{JSON},depth=3"})
    site, = (site for site in result["callsites"] if site["name"] == "MPI_Send")
    assert [frame["function"] for frame in site["frames"]] == ["send", "mpi_step", "main"]


# ---- regions ---------------------------------------------------------------------------------------


def test_calls_while_profiling_is_off_are_not_counted(tmp_path):
    result = profile(tmp_path, "init", "barrier", "level=0", "barrier", "comms", "level=1",
                     "barrier", "finalize")
    assert calls(result)["MPI_Barrier"] == 4
    # No calls were counted for the communicators that were created meanwhile, so they are not listed.
    assert [comm["name"] for comm in result["communicators"]] == ["MPI_COMM_WORLD"]


def test_regions_contain_the_calls_between_their_begin_and_end(tmp_path):
    result = profile(tmp_path, "init", "region=solve", "barrier", "sleep=50", "end=solve", "barrier",
                     "region=solve", "bcast", "sleep=50", "end=solve", "finalize")
    region, = result["regions"]
    assert region["name"] == "solve" and region["entries"] == 4
    assert region["time"]["sum"] >= 0.2 * SLOWER
    assert {name: number for name, number in calls(region).items() if "Pcontrol" not in name} == {
        "MPI_Barrier": 2, "MPI_Bcast": 2}
    assert region["mpi"]["sum"] == pytest.approx(
        sum(function["time"]["sum"] for function in region["functions"]))


def test_a_call_counts_in_each_open_region_even_if_the_regions_overlap(tmp_path):
    result = profile(tmp_path, "init", "region=a", "barrier", "region=b", "barrier", "end=a",
                     "barrier", "end=b", "barrier", "finalize")
    counts = {name: calls(region)["MPI_Barrier"] for name, region in named(result["regions"]).items()}
    assert counts == {"a": 4, "b": 4}


def test_a_region_within_itself_counts_once(tmp_path):
    result = run_steps("init", "clock=before", "region=a", "clock=begun", "region=a", "barrier", "sleep=300",
                       "end=a", "barrier", "clock=ends", "end=a", "clock=behind", "barrier", "finalize",
                       cwd=tmp_path, tools=JSON, ranks=1)
    at, (region,) = clocks(result), load(tmp_path / "out.json")["regions"]
    assert region["entries"] == 2
    assert calls(region)["MPI_Barrier"] == 2
    assert (at["ends"] - at["begun"]) * SLOWER <= region["time"]["sum"]
    assert region["time"]["sum"] <= (at["behind"] - at["before"]) / SLOWER  # the time is not counted twice


def test_a_region_of_one_rank_alone_takes_no_time_on_the_others(tmp_path):
    result = profile(tmp_path, "init", "only=1", "region=r", "sleep=100", "rank", "end=r",
                     "only=-1", "finalize")
    region, = result["regions"]
    assert region["entries"] == 1
    application = max(process["application"] for process in result["processes"])
    assert region["time"]["min"] == 0 and 0.1 * SLOWER <= region["time"]["max"] <= application
    assert region["time"]["mean"] == pytest.approx(region["time"]["max"] / 2)
    rank = functions(region)["MPI_Comm_rank"]
    assert rank["time"]["min"] == 0 and rank["time"]["stddev"] == pytest.approx(
        rank["time"]["max"] / 2)


def test_ends_of_regions_without_begins_cause_one_message_of_the_job(tmp_path):
    result = run_steps("init", "end=x", "end=x", "finalize", cwd=tmp_path, tools=JSON)
    heads = [line for line in result.messages if not line.startswith(" ")]
    assert len(heads) == 1 and "4 times" in heads[0] and '"x"' in heads[0]


def test_level_1_without_a_string_never_faults(tmp_path):
    result = profile(tmp_path, "init", "level=0", "on_without_string", "on_with_bad_pointer",
                     "barrier", "finalize", ranks=1)
    assert calls(result)["MPI_Barrier"] == 1


def test_pcontrol_2_writes_snapshots(tmp_path):
    result = run_steps("init", "barrier", "level=2", "barrier", "level=2", "finalize", cwd=tmp_path,
                       tools=JSON)
    assert names(tmp_path) == ["out.0.snapshot-1.json", "out.0.snapshot-2.json",
                               "out.1.snapshot-1.json", "out.1.snapshot-2.json", "out.json"]
    first, second = (load(tmp_path / f"out.1.snapshot-{number}.json") for number in (1, 2))
    assert (calls(first)["MPI_Barrier"], calls(second)["MPI_Barrier"]) == (1, 2)
    assert first["rank"] == 1 and first["ending"] == "MPI_Pcontrol"
    assert calls(load(tmp_path / "out.json"))["MPI_Barrier"] == 4
    assert sum("snapshot-1" in line for line in result.messages) == 2
    assert "MPI_Barrier" in report(tmp_path / "out.0.snapshot-1.json")


# ---- waiting ---------------------------------------------------------------------------------------


def test_sync_tells_waiting_from_the_operation(tmp_path):
    """The time of the operation begins when both ranks have arrived, so it is not longer than the rest of the call."""
    result = run_steps("init", "barrier", "late=500", "bcast", "finalize", cwd=tmp_path,
                       tools=f"watch:{JSON},sync=yes")
    first, second = (watched(result, rank)["MPI_Bcast"] for rank in (0, 1))
    result = load(tmp_path / "out.json")
    bcast = functions(result)["MPI_Bcast"]
    assert bcast["time"]["max"] <= (max(first.end, second.end) - second.begin) / SLOWER
    assert bcast["wait"]["max"] >= (second.begin - first.begin) / 2
    assert functions(result)["MPI_Barrier"].get("wait", {"sum": 0})["sum"] == 0
    assert calls(result)["MPI_Barrier"] == 2  # the additional barriers of the tool do not count


def test_ranks_on_which_profiling_is_off_take_part_in_the_barriers_of_sync(tmp_path):
    """Even a rank that counts nothing must take part in the barriers of the others."""
    result = profile(tmp_path, "init", "only=1", "level=0", "only=-1", "bcast", "bcast", "finalize",
                     options=",sync=yes")
    assert calls(result)["MPI_Bcast"] == 2


def test_only_one_layer_waits_before_collectives(tmp_path):
    """If two layers did so, the lower one would report that no rank waits. tests/abi tests such conflicts of
    tools for the standard ABI."""
    stack = "profile,sync=yes,output=1:profile,output=2:profile,sync=yes,output=3"
    result = run_steps("init", "finalize", cwd=tmp_path, tools=stack, ranks=1)
    assert result.returncode == 2
    assert "tool profile, layer 1, conflicts with tool profile, layer 3 (QMPI_TOOLS, entry 3)" in result.messages[0]
    assert run_steps("init", "finalize", cwd=tmp_path, tools=stack.replace("yes", "no"), ranks=1).returncode == 0


# ---- several layers --------------------------------------------------------------------------------


def test_three_layers_have_three_right_results(tmp_path):
    tools = "profile,output=%t.json,format=json:profile,depth=4,output=%t.json,format=json:" \
            "count,output=%t.json"
    result = run_steps(*PLAIN, "exit=0", cwd=tmp_path, tools=tools)
    assert result.returncode == 0 and result.messages == []
    upper, lower, count = (load(tmp_path / f"{layer}.json") for layer in (1, 2, 3))
    assert calls(upper) == calls(lower) == {name: function["calls"] for name, function
                                            in count["functions"].items()}
    assert [upper["layer"], lower["layer"]] == [1, 2]
    assert {len(site["frames"]) for site in upper["callsites"]} == {1}
    assert {len(site["frames"]) for site in lower["callsites"]} == {2, 3}
    assert {site["frames"][-1]["function"] for site in lower["callsites"]} == {"main"}
    # Both layers measure the same times in ticks, but each has determined the length of a tick itself.
    for name, function in functions(lower).items():
        assert function["time"]["sum"] == pytest.approx(functions(upper)[name]["time"]["sum"], rel=0.01)


@pytest.mark.parametrize("between", ["empty", "count,output=%t.txt", "empty:log,output=%t.log:empty"])
def test_the_figures_of_two_layers_agree(tmp_path, between):
    """The work between the two layers takes nanoseconds or microseconds, while calls take milliseconds. A process may
    be interrupted between the clock readings of the two layers, but not each time, so it is enough if the layers agree
    in one of five runs."""
    tools = f"profile,output=upper.json,format=json:{between}:profile,output=lower.json,format=json:" \
            "delay,functions=MPI_Barrier;MPI_Comm_rank,after=20ms"
    for _ in range(5):
        result = run_steps("init", *["barrier", "rank"] * 5, "finalize", cwd=tmp_path, tools=tools)
        assert result.returncode == 0 and result.messages == []
        upper, lower = (functions(load(tmp_path / f"{name}.json")) for name in ("upper", "lower"))
        times = [(upper[name]["time"], lower[name]["time"]) for name in ("MPI_Barrier", "MPI_Comm_rank")]
        assert all(time["sum"] >= 10 * 0.02 for time, _ in times)
        agree = [of_upper[figure] == pytest.approx(of_lower[figure], rel=0.2 if EMULATED else 0.01)
                 for of_upper, of_lower in times for figure in ("sum", "min", "max")]
        if all(agree):
            break
    assert all(agree), times


def test_two_layers_without_files_print_two_tables_and_leave_two_files(tmp_path):
    result = run_steps(*PLAIN, cwd=tmp_path, tools="profile:profile,depth=4:count")
    heads = [line for line in result.messages if "layer" in line and "2 ranks" in line]
    assert [line.split(":")[0] for line in heads] == [
        "profile (layer 1)", "profile (layer 2)", "count (layer 3)"]
    run_steps("init", "exit=0", cwd=tmp_path, ranks=1, tools="profile:profile")
    assert names(tmp_path) == ["qmpi-profile.1.0.json", "qmpi-profile.2.0.json"]


@pytest.mark.parametrize("tools", [f"libtally.so:{JSON}", f"{JSON}:libtally.so"])
def test_profile_works_above_and_below_a_pmpi_tool(tmp_path, tools):
    result = run_steps("init_threads", "threads=100", "barrier", "finalize", cwd=tmp_path,
                       tools=tools)
    assert result.returncode == 0
    result = load(tmp_path / "out.json")
    assert calls(result) == {"MPI_Init_thread": 2, "MPI_Comm_rank": 800, "MPI_Barrier": 2,
                             "MPI_Finalize": 2}
    site, = (site for site in result["callsites"] if site["name"] == "MPI_Comm_rank")
    assert site["frames"][0]["function"] == "rank_of"


@needs_sessions
def test_a_program_with_sessions_alone_is_profiled(tmp_path):
    result = profile(tmp_path, "session_init", "session_comm", "session_finalize")
    assert calls(result) == {"MPI_Session_init": 2, "MPI_Group_from_session_pset": 2,
                             "MPI_Comm_create_from_group": 2, "MPI_Group_free": 2,
                             "MPI_Session_finalize": 2}
    assert [process["rank"] for process in result["processes"]] == [0, 1]


def test_calls_before_init_are_counted(tmp_path):
    result = profile(tmp_path, "initialized", "init", "finalize", ranks=1)
    assert calls(result)["MPI_Initialized"] == 1
