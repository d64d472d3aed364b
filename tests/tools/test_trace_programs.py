# SPDX-License-Identifier: MIT
"""The tool trace records exactly the calls of whole programs, in C and in Fortran: each function as often as the layer
`count` below counts it, and each message that is in the source of the program. This is checked in the archive and in
the files of the processes."""
import json

import pytest

from archives import HAS_READER
from otf2_events import check_archive_of
from real_programs import netpipe, scalapack
from support import ASAN, BUILD
from trace_support import MANY, describe, qmpi_trace, read, run, trace
from trace_truth import check_truth

pytestmark = pytest.mark.usefixtures("separate_nodes")

OBSERVE = BUILD / "tests" / "observe" / "programs"
REDIRECT = BUILD / "tests" / "redirect" / "programs"


def trace_and_count(folder, program, *arguments, **more):
    """Returns the processes of a run that succeeds, and checks that the calls are those that `count` has counted."""
    result = run(program, *arguments, cwd=folder, tools="trace:count,output=counts.json", **more)
    assert result.returncode == 0 and result.messages == []
    processes, warnings = read(folder / "qmpi-trace")
    assert warnings == []
    if HAS_READER:
        check_archive_of(processes, folder / "qmpi-trace" / "traces.otf2")
    counted = json.loads((folder / "counts.json").read_text())["functions"]
    for name, numbers in counted.items():
        each = [process.calls().get(name, 0) for process in processes.values()]
        assert (sum(each), min(each), max(each)) == (numbers["calls"], numbers["min"], numbers["max"]), name
    assert {name for process in processes.values() for name in process.calls()} == counted.keys()
    assert qmpi_trace(folder, "--check").stdout.startswith("no difference")
    return processes


outside_asan = pytest.mark.skipif(bool(ASAN), reason="with a sanitizer, other tests make the same calls in less time")


# ---- Programs of other packages ------------------------------------------------------------------------

@outside_asan
def test_all_calls_of_scalapacks_lu_factorization_are_recorded(tmp_path):
    processes = trace_and_count(tmp_path, scalapack(tmp_path))
    sent, received = ([event for process in processes.values() for event in process.kinds(*kinds)
                       if event["peer"] != "-2"] for kinds in (("send", "isend"), ("recv", "irecv")))
    assert len(sent) == len(received) > 100


@outside_asan
def test_all_calls_of_netpipe_are_recorded(tmp_path):
    processes = trace_and_count(tmp_path, netpipe(), "-u", "4096", "-n", "10", "-p", "0", "-o", "np.out")
    sizes = [int(line.split()[0]) for line in (tmp_path / "np.out").read_text().splitlines()]
    assert 4096 in sizes
    for one, other in ((0, 1), (1, 0)):
        sent = [event["bytes"] for event in processes[one].kinds("send", "isend")]
        assert sent == [event["bytes"] for event in processes[other].kinds("recv", "irecv")]
        assert {size: 10 <= sent.count(str(size)) for size in sizes} == dict.fromkeys(sizes, True)


# ---- Fortran -------------------------------------------------------------------------------------------

def messages_of_exchange(rank):
    """Returns the events of the messages of tests/redirect/programs/exchange.F90. The communicator has
    the name that the program gives it at the end."""
    peer, four = f"everybody peer={1 - rank}", "bytes=4"
    ring = [f"send {peer} tag=1 {four}", f"recv {peer} tag=1 {four}"]
    return [*(ring if rank == 0 else ring[::-1]) * 3, f"irecv_request {peer} tag=2 #1 {four}", f"isend {peer} tag=2 #2 {four}",
            f"irecv {peer} tag=2 #1 {four}", "isend_complete #2", f"send {peer} tag=3 bytes=8", f"recv {peer} tag=3 bytes=8"]


@pytest.mark.parametrize("binding", [pytest.param("mpif_h", marks=outside_asan), pytest.param("mpi", marks=outside_asan), "f08"])
def test_all_calls_of_a_fortran_program_are_recorded(binding, tmp_path):
    program = REDIRECT / f"exchange_{binding}"
    if not program.exists():
        pytest.skip("built without Fortran")
    processes = trace_and_count(tmp_path, program, tmp_path)
    for rank, process in processes.items():
        requests = {}
        assert messages_of_exchange(rank) == [
            describe(process, event, requests)
            for event in process.kinds("send", "recv", "isend", "isend_complete", "irecv_request", "irecv")]


# ---- Threads -------------------------------------------------------------------------------------------

@outside_asan
def test_all_calls_of_eight_threads_are_recorded(tmp_path):
    process = trace_and_count(tmp_path, MANY, "threads=8", ranks=1)[0]
    assert sorted(len(events) for events in process.events.values())[-8:] == [2000] * 8
    assert process.calls() == {"MPI_Init_thread": 1, "MPI_Initialized": 8000, "MPI_Finalize": 1}


# ---- Events that programs record themselves ------------------------------------------------------------

@pytest.mark.parametrize("name, ranks", [
    ("point_to_point", 2), ("persistent", 2),
    *(pytest.param(*it, marks=outside_asan) for it in [("neighbours", 2), ("intercommunicators", 3), ("files", 2)])])
def test_all_calls_that_a_program_has_written_down_are_in_its_trace(name, ranks, tmp_path):
    """The calls include MPI_Isendrecv and partitioned communication if the library has them."""
    check_truth(trace(tmp_path, OBSERVE / f"observe_{name}", ".", ranks=ranks), tmp_path)
