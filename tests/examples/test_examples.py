# SPDX-License-Identifier: MIT
"""Tests that the tools of examples/ do what they demonstrate, alone and in stacks."""
import fcntl
import os
import re
import sys

import pytest
from support import BUILD, BUNDLED_TOOLS, HAS_SESSIONS, SOURCE, run_mpi

EXAMPLES = BUILD / "examples"
PROGRAMS = BUILD / "tests" / "examples"
PMPI_TOOLS = BUILD / "tests" / "pmpi" / "tools"


def run(program, tools, *arguments, **more):
    folders = f"{EXAMPLES}:{PMPI_TOOLS}:{BUNDLED_TOOLS}"
    return run_mpi(program, *arguments, tools=tools, env={"QMPI_TOOL_PATH": folders}, **more)


def messages(tools, **more):
    result = run(PROGRAMS / "programs" / "example_messages", tools, **more)
    assert result.returncode == 0
    return result


def lines(result, begin):
    return sorted(line for line in result.stderr.splitlines() if line.startswith(begin))


def needs(name):
    if not (EXAMPLES / f"{name}.so").exists():
        pytest.skip(f"{name} was not built: its compiler or library is missing")


def test_every_example_is_built_and_named_in_the_readme():
    build = (SOURCE / "examples" / "meson.build").read_text()
    page = (SOURCE / "examples" / "README.md").read_text()
    for path in (SOURCE / "examples").glob("*.c*"):
        assert f"'{path.stem}'" in build, path.name
        assert f"| [{path.name}]({path.name}) |" in page, path.name


def test_send_totals_adds_up_bytes_and_time_for_each_layer():
    result = messages("send_totals:count:send_totals")
    for layer in (1, 3):
        for rank, size in ((0, 22 * 400), (1, 0)):
            [line] = lines(result, f"send_totals (layer {layer}), rank {rank}:")
            assert re.search(rf": {size} bytes in \d+\.\d{{6}} s$", line)


def test_pcontrol_switches_off_and_on_and_flushes():
    result = messages("pcontrol:empty:pcontrol")
    assert lines(result, "pcontrol") == sorted(
        f"pcontrol (layer {layer}), rank {rank}, {when}"
        for layer in (1, 3) for rank in (0, 1)
        for when in ("so far: 7 calls", "in all: 12 calls"))


def matrix(*elements):
    """Returns the lines of the tool matrix for these pairs of ranks of tests/examples/programs/neighbors.c, whose
    persistent operations need MPI 4."""
    more = 16 if HAS_SESSIONS else 0
    sums = {(0, 0): 4, (0, 1): 164 + more, (1, 0): 72 + more}
    return sorted(f"matrix: from {one} to {other}: {sums[one, other]}" for one, other in elements)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_matrix_counts_messages_and_neighborhood_collectives(layers):
    result = run(PROGRAMS / "programs" / "example_neighbors", ":".join(["matrix"] * layers), ranks=2)
    assert (result.returncode, sorted(result.stderr.splitlines())) == (0, sorted(matrix((0, 0), (0, 1), (1, 0)) * layers))


def test_the_matrix_of_a_single_process_has_one_element():
    result = run("calls", "matrix", "init", "sendrecv", "finalize", ranks=1)
    assert result.returncode == 0
    assert lines(result, "matrix:") == ["matrix: from 0 to 0: 4"]


def test_the_matrix_has_the_rows_of_the_ranks_that_have_the_tool():
    """Only rank 1 has the tool. The only row must still be that of rank 1."""
    one = 'if [ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ]; then unset QMPI_TOOLS; fi; exec "$@"'
    result = run(PROGRAMS / "programs" / "example_neighbors", "matrix", ranks=2, wrapper=["sh", "-c", one, "-"])
    assert result.returncode == 0
    assert lines(result, "matrix:") == matrix((1, 0))


def test_the_matrix_of_a_layer_that_is_off_on_some_ranks_has_the_rows_of_the_other_ranks():
    result = run(PROGRAMS / "programs" / "example_neighbors", "matrix,@ranks=0", ranks=2)
    assert result.returncode == 0
    assert lines(result, "matrix:") == matrix((0, 0), (0, 1))


def test_the_code_of_matrix_has_at_most_40_lines():
    code = (SOURCE / "examples" / "matrix.c").read_text().split("*/", 2)[-1]
    assert len([line for line in code.splitlines() if line.strip("{} ")]) <= 40


@pytest.mark.parametrize("program, calls", [
    ("example_barrier_mpif_h", (0, 3, 0)), ("example_barrier_mpi", (0, 3, 0)), ("example_barrier_f08", (0, 0, 3)),
    ("example_broadcasts", (1, 0, 0))])
@pytest.mark.parametrize("tools", ["bindings", "bindings:libtally.so:count,output=/dev/null:bindings"])
def test_a_tool_in_fortran_knows_the_binding_of_each_call(program, calls, tools):
    if not (PROGRAMS / "bindings.so").exists():
        pytest.skip("no Fortran compiler")
    path = PROGRAMS / program if "barrier" in program else PROGRAMS / "programs" / program
    folders = f"{PROGRAMS}:{PMPI_TOOLS}:{BUNDLED_TOOLS}"
    result = run_mpi(path, tools=tools, ranks=1, env={"QMPI_TOOL_PATH": folders})
    assert result.returncode == 0
    assert lines(result, "bindings") == [
        f"bindings (layer {layer}): C {calls[0]}, mpif.h or mpi {calls[1]}, mpi_f08 {calls[2]}"
        for layer, name in enumerate(tools.split(":"), 1) if name == "bindings"]


# For each region: calls, bytes sent, bytes received.
EXPECTED = {"(no region)": (4, 0, 0), "input": (1, 8000, 0), "solve": (10, 80, 80), "exchange": (10, 8000, 8000)}
OFF = {"(no region)": (25, 16080, 8080)}  # in a stack without a layer that knows the regions


@pytest.mark.parametrize("tools, expected", [
    ("region_times:regions:region_bytes", EXPECTED), ("regions:region_bytes:region_times:count", EXPECTED),
    ("region_bytes:region_times:libtally.so:regions:regions", EXPECTED), ("region_times:region_bytes", OFF)])
def test_layers_get_the_regions_of_the_program_from_another_layer(tools, expected):
    needs("region_bytes")
    result = run(EXAMPLES / "stages", tools)
    assert result.returncode == 0
    times = dict(re.findall(r"(?m)^region_times \(layer \d\), rank 0: (.*): (\d+) calls, \d+\.\d{6} s$", result.stderr))
    assert {name: int(calls) for name, calls in times.items()} == {name: row[0] for name, row in expected.items()}
    rows = re.findall(r"(?m)^region_bytes \(layer \d\), rank 0: (.*): (\d+) sent, (\d+) received$", result.stderr)
    assert {name: (int(sent), int(received)) for name, sent, received in rows} == {
        name: row[1:] for name, row in expected.items() if row[1] or row[2]}
    assert ("add the tool regions to the stack" in result.stderr) == (expected == OFF)


def test_who_names_every_layer_and_draws_the_chain():
    result = messages("count:who,function=MPI_Recv:send_totals:empty")
    heads = [line for line in result.stderr.splitlines() if line.startswith("who: layer")]
    assert heads == [
        "who: layer 1 is count: counts the calls of every MPI function",
        "who: layer 2 is who (this tool): prints the layers of the stack",
        "who: layer 3 is send_totals: no description",
        "who: layer 4 is empty: intercepts every function and does nothing else: shows the cost of a layer"]
    assert "who: MPI_Recv goes count > empty > PMPI_Recv\n" in result.stderr
    kinds = {line.split(", ", 1)[0].rpartition("/")[2]: line.split(", ", 1)[1] for line in lines(result, "who:   from ")}
    assert kinds == {"count.so": "QMPI tool, observer", "who.so": "QMPI tool", "send_totals.so": "QMPI tool",
                     "empty.so": "QMPI tool"}


def test_who_refuses_an_unknown_function():
    result = run(PROGRAMS / "programs" / "example_messages", "who,function=MPI_Sned")
    assert result.returncode == 2
    assert "function= does not name an MPI function" in result.stderr


def test_timed_counts_and_times_functions():
    needs("timed")
    result = messages("timed:count:timed")
    for layer in (1, 3):
        assert re.search(rf"(?m)^timed \(layer {layer}\), rank 0: MPI_Send +22 calls +\d+\.\d+ s$",
                         result.stderr)
        assert re.search(rf"(?m)^timed \(layer {layer}\), rank 1: MPI_Recv +22 calls ", result.stderr)


@pytest.mark.parametrize("tools", [None, "squeeze", "squeeze,from=1", "squeeze,from=4000:squeeze,from=1",
                                   "count:squeeze:empty:libtally.so"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_squeeze_does_not_change_the_data_of_broadcasts(tools, ranks):
    needs("squeeze")
    result = run(PROGRAMS / "programs" / "example_broadcasts", tools, ranks=ranks)
    assert (result.returncode, result.stdout) == (0, "")


def test_squeeze_sends_fewer_bytes_in_calls_that_only_lower_layers_see():
    needs("squeeze")
    result = run(PROGRAMS / "programs" / "example_broadcasts", "count:squeeze:count")
    given, sent = map(int, re.search(
        r"squeeze \(layer 2\): (\d+) bytes to broadcast, (\d+) sent", result.stderr).groups())
    assert 0 < sent < given
    upper, lower = (int(text) for text in re.findall(r"MPI_Bcast +(\d+) ", result.stderr))
    assert upper < lower


def test_squeeze_refuses_an_invalid_number():
    needs("squeeze")
    for value in ("", "0", "4k", "99999999999"):
        result = run(PROGRAMS / "programs" / "example_messages", f"squeeze,from={value}")
        assert result.returncode == 2
        assert "from= is not a valid number of bytes" in result.stderr


# Runs a command with a pipe as its stderr of which each read gets what one write gave.
WITH_PACKETS = """
import fcntl, os, sys
writer = os.open(sys.argv[1], os.O_WRONLY)
fcntl.fcntl(writer, fcntl.F_SETFL, os.O_DIRECT)
os.dup2(writer, 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_each_example_writes_whole_lines():
    """Parts of lines would mix with those of other processes."""
    tools = ":".join(sorted(path.stem for path in EXAMPLES.glob("*.so")))
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)  # room for 256 writes
    with os.fdopen(reader, "rb", 0) as stream:
        run(EXAMPLES / "heat", tools, ranks=1,
            wrapper=[sys.executable, "-c", WITH_PACKETS, f"/proc/{os.getpid()}/fd/{writer}"])
        os.close(writer)
        parts = list(iter(lambda: stream.read(8192), b""))
    assert parts and [part for part in parts if not part.endswith(b"\n")] == []


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_program_computes_the_same_under_a_stack_of_examples(ranks):
    built = [name for name in ("timed", "squeeze") if (EXAMPLES / f"{name}.so").exists()]
    tools = ":".join(["who", "send_totals", "pcontrol", "barriers", "slowest", *built])
    bare = run_mpi(EXAMPLES / "heat", "50", ranks=ranks, preload=())
    result = run_mpi(EXAMPLES / "heat", "50", ranks=ranks, tools=tools,
                     env={"QMPI_TOOL_PATH": EXAMPLES})
    assert result.returncode == bare.returncode == 0
    assert result.stdout == bare.stdout
    assert bare.stdout.startswith("heat: 50 steps, sum ")
