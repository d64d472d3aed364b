# SPDX-License-Identifier: MIT
"""Tests tools that are compiled for the standard ABI, in programs of an MPI library with another ABI."""
import hashlib
import re
import subprocess

import pytest

from support import BUILD, BUNDLED_TOOLS, run_mpi

HERE = BUILD / "tests/abi"


def run(tool, program="calls", ranks=2, **kwargs):
    return run_mpi(HERE / f"abi_{program}", ranks=ranks, tools=HERE / f"abi_{tool}.so", **kwargs)


@pytest.fixture(scope="module")
def read():
    """Returns, for each function, what abi_reader printed about its calls on rank 0. The errors that abi_reader
    provokes itself are entries too, such as "no call"."""
    result = run("reader")
    assert result.returncode == 0, result.stderr
    lines = {}
    for line in result.ranks[0].stderr.splitlines():
        match = re.match(r"reader: (?:(.+) is error |(MPI_\w+) ?)(.*)", line)
        if match:
            lines.setdefault(match[1] or match[2], []).append(match[3])
    return lines


def test_predefined_handles_have_the_values_of_the_abi(read):
    assert "comm=0x101 " in read["MPI_Comm_rank"][0]
    assert "sendtype=0x209 " in read["MPI_Sendrecv"][0]
    assert "datatype=0x214 op=0x21 comm=0x101" in read["MPI_Allreduce"][0]
    assert "errhandler=0x143" in read["MPI_Comm_set_errhandler"][0]
    assert "info=0x130" in read["MPI_Win_create"][0]


def test_other_handles_are_none_of_the_predefined_ones(read):
    assert "newcomm=other" in read["MPI_Comm_dup"][0]
    assert "request=other" in read["MPI_Isend"][0]
    assert "newtype=other" in read["MPI_Type_create_struct"][0]


def test_handles_that_a_call_frees_are_the_null_handles_of_the_abi(read):
    assert "0x180" in read["MPI_Wait"][0]
    assert "0x200" in read["MPI_Type_free"][0]
    assert "win=0x110" in read["MPI_Win_free"][0]


def test_arrays_of_handles_are_converted(read):
    assert "array_of_types=0x229 array_of_types=0x20f" in read["MPI_Type_create_struct"][0]
    assert "array_of_requests=0x180 array_of_requests=0x180" in read["MPI_Waitall"][0]


def test_ranks_tags_and_other_constants_are_those_of_the_abi(read):
    assert "source=-1 recvtag=-2" in read["MPI_Sendrecv"][0]
    assert "source=-3 tag=6" in read["MPI_Recv"][0]
    assert "required=1024 provided=1024" in read["MPI_Init_thread"][0]
    assert "result=202" in read["MPI_Comm_compare"][0]
    assert [re.search(r"status=(\S+)", line)[1] for line in read["MPI_Topo_test"]] == ["-32766", "213"]
    assert "combiner=110" in read["MPI_Type_get_envelope"][0]
    assert "lock_type=302 rank=0 assert=1024" in read["MPI_Win_lock"][0]
    assert "amode=32" in read["MPI_File_open"][0]
    assert "whence=402" in read["MPI_File_seek"][0]


def test_addresses_that_are_constants_are_those_of_the_abi(read):
    assert "sendbuf=address1" in read["MPI_Allreduce"][0]
    assert "status=address0" in read["MPI_Recv"][1]
    assert "sourceweights=address10" in read["MPI_Dist_graph_create_adjacent"][0]
    assert "weights=" not in read["MPI_Dist_graph_create_adjacent"][0].replace("weights=address10", "")  # no elements


def test_statuses_are_converted_in_both_directions(read):
    assert "status={1 5 1 cancelled=0}" in read["MPI_Sendrecv"][0]
    assert "status={-3 -2 0 cancelled=0}" in read["MPI_Recv"][0]
    assert "cancelled=1}" in read["MPI_Wait"][0]
    assert not [line for lines in read.values() for line in lines if "(count" in line]


def test_the_length_of_a_message_is_read_from_its_status(read):
    assert "cancelled=0} bytes=4" in read["MPI_Sendrecv"][0]
    assert "cancelled=0} bytes=0" in read["MPI_Recv"][0]
    assert "cancelled=1} bytes=0" in read["MPI_Wait"][0]
    assert "bytes=" not in read["MPI_Recv"][1]  # MPI_Recv without a status has no number of bytes


def test_peers_and_roots_are_values_of_the_abi(read):
    assert "; peer 1 world 1 tag 5" in read["MPI_Sendrecv"][0]
    assert "; peer -3 world -32766" in read["MPI_Recv"][0]
    assert "; root 1" in read["MPI_Reduce"][0]


def test_errors_are_those_of_the_abi(read):
    assert "; error 6" in read["MPI_Send"][0]
    assert read["wrong tool_id"] == ["13"] and read["no call"] == ["13"]


# ---- What a tool for the standard ABI may do ---------------------------------------------------------


def test_a_tool_may_make_mpi_calls_that_are_converted():
    result = run("acting")
    assert result.returncode == 0, result.stderr
    assert [line for rank in result.ranks for line in rank.stderr.splitlines()
            if line.startswith("acting:")] == ["acting: 2 ranks"] * 2


@pytest.mark.parametrize("tool, name", [("interceptor", "QMPI_Register_tool_function"),
                                        ("keyval", "PMPI_Comm_free_keyval")])
def test_a_tool_that_uses_a_function_that_is_not_converted_is_refused(tool, name):
    result = run(tool, ranks=1)
    assert result.returncode == 2
    assert "compiled for the standard ABI" in result.messages[0] and name in result.messages[0]
    assert result.messages[-1].strip().startswith("hint: build the tool with pkg-config qmpi")


def test_with_skip_a_tool_that_uses_a_function_that_is_not_converted_is_left_out():
    result = run("keyval", ranks=1, program="calls", env={"QMPI_ON_ERROR": "skip"}, timeout=120)
    assert any("PMPI_Comm_free_keyval" in line for line in result.messages)
    assert any("the run continues without this layer" in line for line in result.messages)


# ---- Services of other layers ------------------------------------------------------------------------


def test_a_tool_for_the_abi_offers_services_and_uses_those_of_other_tools():
    abi = HERE / "abi_service.so"
    result = run_mpi("switch", "init", "rank", "off=1", "on=1", "finalize", ranks=1, preload=(),
                     tools=f"service,offer=a@1.0,find=b@1.0+c@1.0:{abi},offer=b@1.3,find=a@1.0+a@2.0+c@1.0,watch=a@1.0")
    assert result.returncode == 0
    assert [line for line in result.trace if " finds " in line and "later" in line] == [
        "service 1 finds b@1.0 later: layer 2 answers 23", "service 1 finds c@1.0 later: MPI_ERR_NAME",
        "service 2 finds a@1.0 later: layer 1 answers 11",
        "service 2 finds a@2.0 later: MPI_ERR_UNSUPPORTED_OPERATION", "service 2 finds c@1.0 later: MPI_ERR_NAME"]
    assert [line for line in result.trace if "is told" in line] == [
        "service 2 is told: layer 1 answers 11", "service 2 is told: layer 0 answers 0",
        "service 2 is told: layer 1 answers 11"]


def test_a_tool_for_the_abi_declares_conflicts_and_gets_error_classes_of_the_abi():
    abi = HERE / "abi_service.so"
    result = run_mpi("switch", "init", "rank", "finalize", ranks=1, preload=(), tools=f"{abi},misuse=yes")
    assert result.returncode == 0 and not [line for line in result.trace if "WRONG" in line]
    result = run_mpi("switch", "init", "finalize", ranks=1, preload=(), tools=f"service,provides=x:{abi},conflicts=x")
    assert result.returncode == 2
    assert "layer 2 cannot be used together with 'x', and layer 1 provides 'x'" in result.messages[0]


# ---- Bundled tools ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["count", "log", "profile", "trace"])
def test_bundled_tools_refer_only_to_functions_that_convert_or_need_no_conversion(name):
    tool = BUNDLED_TOOLS / f"{name}.so"
    listing = subprocess.run(["nm", "-D", "--undefined-only", tool], check=True, capture_output=True,
                             text=True).stdout
    names = re.findall(r"\bP?Q?MPIX?_\w+", listing)
    assert names and all(re.match("QMPIX_(abi_|Function_name$|Debug_info_release$|Standard_write$|stack$)", name) for name in names)
    print(f"sha256 of {name}.so: {hashlib.sha256(tool.read_bytes()).hexdigest()}")


def test_count_counts_the_calls_of_the_program():
    result = run_mpi(HERE / "abi_calls", ranks=2, tools="count", env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    calls = {parts[0]: int(parts[1]) for parts in (line.split() for line in result.messages)
             if parts[0].startswith("MPI_")}
    expected = {"MPI_Recv": 4, "MPI_Irecv": 4, "MPI_Allreduce": 2, "MPI_Comm_split": 2, "MPI_Topo_test": 4,
                "MPI_Comm_free": 5, "MPI_Init_thread": 2, "MPI_Finalize": 2}
    assert {name: calls[name] for name in expected} == expected
