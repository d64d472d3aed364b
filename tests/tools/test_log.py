# SPDX-License-Identifier: MIT
"""The tool log writes one line for each call, or two if the call contains others, in order, with the arguments in
words."""
import re

import pytest
from log_support import OBSERVED, STEPS, WORDS, lines_of, matches, names, read, run_log
from support import ABI, BUILD, OPEN_MPI, PROGRAMS, clean_environment, needs_sessions, run_command, run_mpi

# ---- A part of the program -----------------------------------------------------------------------


@pytest.mark.parametrize("option, seen", [
    ("", ["MPI_Init", "MPI_Barrier", "MPI_Pcontrol", "MPI_Pcontrol", "MPI_Bcast", "MPI_Finalize"]),
    (",functions=MPI_B*", ["MPI_Barrier", "MPI_Bcast"]),
    (",@enabled=no", ["MPI_Bcast", "MPI_Finalize"])])
def test_pcontrol_pauses_and_resumes(option, seen):
    result = run_log(STEPS, "init", "barrier", "level=0", "barrier", "level=1", "bcast", "finalize",
                     ranks=1, options=option)
    assert names(lines_of(result)) == seen


# ---- Every call ----------------------------------------------------------------------------------

PROGRAMS_WITH_RANKS = [("point_to_point", 2), ("completion", 2), ("persistent", 2), ("collectives", 2),
            ("in_place", 2), ("neighbours", 2), ("one_sided", 2), ("files", 2),
            ("intercommunicators", 3), ("communicators", 3),
            pytest.param("sessions", 2, marks=needs_sessions), ("arguments", 1), ("outside", 1)]


@pytest.mark.parametrize("name, ranks", PROGRAMS_WITH_RANKS)
def test_every_call_has_its_line_in_order(tmp_path, name, ranks):
    """The lines are compared with the calls that the programs themselves write down."""
    result = run_log(OBSERVED / f"observe_{name}", tmp_path, ranks=ranks,
                     options=f",output={tmp_path}/log.%r")
    assert result.returncode == 0 and result.messages == []
    for rank in range(ranks):
        lines = read(tmp_path / f"log.{rank}")
        called = [line.split()[0]
                  for line in (tmp_path / f"expected.{rank}").read_text().splitlines()]
        assert names(lines) == called
        assert {line.rank for line in lines} == {rank}
        for line in lines:
            assert line.result != "MPI_SUCCESS" or not unknown(line), line.text


def unknown(line):
    """Returns the arguments that are shown as `?`, although the call has found something and must have set them."""
    if "flag=false" in line.arguments or "outcount=MPI_UNDEFINED" in line.arguments:
        return []
    return re.findall(r"\w+=\?", line.arguments)


def test_arguments_have_the_names_of_mpi_h(tmp_path):
    described, function = {}, None
    output = run_command([OBSERVED / "describe"], clean_environment()).stdout
    for kind, *fields in (line.split("|") for line in output.splitlines()):
        if kind == "function":
            function = described.setdefault(fields[1], [])
        else:
            function.append(fields[0])
    run_log(OBSERVED / "observe_collectives", tmp_path, ranks=2,
            options=f",output={tmp_path}/log.%r")
    for line in read(tmp_path / "log.1"):
        assert re.findall(r"(?:[(]|, )(\w+)=", line.arguments) == described[line.function]


@pytest.mark.parametrize("module", ["mpi", "f08"])
def test_calls_of_a_fortran_program_have_their_lines(tmp_path, module):
    program = OBSERVED / f"observe_fortran_{module}"
    if not program.exists():
        pytest.skip("no Fortran compiler")
    lines = lines_of(run_log(program, tmp_path, ranks=2))
    assert {"MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Finalize"} <= set(names(lines))
    assert any("datatype=MPI_INTEGER," in line.arguments for line in lines)


@pytest.mark.parametrize("program, steps", [
    (PROGRAMS / "errors", []),
    (PROGRAMS / "threads", ["count", "50"]),
    (BUILD / "tests" / "mpit" / "programs" / "random_calls", ["7", "300"]),
    (STEPS, ["init", "comms", "window", "nest", "sort", "threads=3", "finalize"])])
def test_a_program_runs_as_without_log(tmp_path, program, steps):
    if not program.exists():
        pytest.skip("the program is not built here")
    alone = run_mpi(program, *steps, ranks=1, cwd=tmp_path)
    logged = run_log(program, *steps, cwd=tmp_path)
    assert (logged.returncode, logged.stdout) == (alone.returncode, alone.stdout)
    assert lines_of(logged)


# ---- Words ---------------------------------------------------------------------------------------

WORLD = "comm=MPI_COMM_WORLD"
NULL_COPY, NULL_DELETE = "MPI_COMM_NULL_COPY_FN", "MPI_COMM_NULL_DELETE_FN"
# Part of tests/tools/programs/words.c -> its lines. For `*`, see log_support.matches.
KNOWN = {
    "point_to_point": [
        f"MPI_Isend(buf=*, count=4, datatype=MPI_INT, dest=0, tag=7, {WORLD}, request=*)",
        "MPI_Recv(buf=*, count=8, datatype=MPI_INT, source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, "
        f"{WORLD}, status={{source=0, tag=7, count=4}})",
        "MPI_Wait(request=MPI_Isend@*, status=MPI_STATUS_IGNORE)",
        "MPI_Sendrecv(sendbuf=*, sendcount=3, sendtype=MPI_INT, dest=0, sendtag=1, recvbuf=*, "
        f"recvcount=24, recvtype=MPI_BYTE, source=0, recvtag=1, {WORLD}, "
        "status={source=0, tag=1, count=12})",
        f"MPI_Iprobe(source=0, tag=5, {WORLD}, flag=false, status=?)",
        f"MPI_Isend(buf=*, count=2, datatype=MPI_DOUBLE, dest=0, tag=9, {WORLD}, request=*)",
        f"MPI_Mprobe(source=0, tag=9, {WORLD}, message=*, status={{source=0, tag=9, bytes=16}})",
        "MPI_Mrecv(buf=*, count=2, datatype=MPI_DOUBLE, message=*, "
        "status={source=0, tag=9, count=2})",
        "MPI_Waitall(count=1, array_of_requests=[*], array_of_statuses=MPI_STATUSES_IGNORE)",
        "MPI_Waitany(count=2, array_of_requests=[MPI_REQUEST_NULL, MPI_REQUEST_NULL], "
        "index=MPI_UNDEFINED, status={source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, bytes=0})",
        f"MPI_Irecv(buf=*, count=1, datatype=MPI_INT, source=0, tag=3, {WORLD}, request=*)",
        f"MPI_Irecv(buf=*, count=1, datatype=MPI_INT, source=0, tag=3, {WORLD}, request=*)",
        "MPI_Test(request=*, flag=false, status=?)",
        "MPI_Testany(count=2, array_of_requests=[MPI_Irecv@*, MPI_Irecv@*], index=MPI_UNDEFINED, flag=false, "
        "status=?)",
        f"MPI_Send(buf=*, count=1, datatype=MPI_INT, dest=0, tag=3, {WORLD})",
        "MPI_Waitsome(incount=3, array_of_requests=[*, *, MPI_REQUEST_NULL], outcount=1, "
        "array_of_indices=[0], array_of_statuses=[{source=0, tag=3, bytes=4}])",
        "MPI_Cancel(request=*)",
        "MPI_Wait(request=*, status={cancelled})",
        f"MPI_Send(buf=MPI_BOTTOM, count=0, datatype=MPI_BYTE, dest=MPI_PROC_NULL, tag=0, {WORLD})",
    ],
    "collectives": [
        "MPI_Allreduce(sendbuf=MPI_IN_PLACE, recvbuf=*, count=2, datatype=MPI_FLOAT, op=MPI_MAX, "
        f"{WORLD})",
        "MPI_Alltoallw(sendbuf=*, sendcounts=[1], sdispls=[0], sendtypes=[MPI_INT], recvbuf=*, "
        f"recvcounts=[1], rdispls=[0], recvtypes=[MPI_INT], {WORLD})",
        "MPI_Gatherv(sendbuf=*, sendcount=1, sendtype=MPI_INT, recvbuf=*, recvcounts=[1], "
        f"displs=[0], recvtype=MPI_INT, root=0, {WORLD})",
        "MPI_Op_create(user_fn=*, commute=true, op=*)",
        f"MPI_Reduce(sendbuf=*, recvbuf=*, count=1, datatype=MPI_INT, op=*, root=0, {WORLD})",
        "MPI_Op_free(op=*)",
        f"MPI_Comm_split({WORLD}, color=MPI_UNDEFINED, key=0, newcomm=MPI_COMM_NULL)",
        f"MPI_Comm_dup({WORLD}, newcomm=*)",
        r'MPI_Comm_set_name(comm=*, comm_name="rows \"1\"\n")',
        r'MPI_Barrier(comm="rows \"1\"\n"@*)',
        r'MPI_Comm_free(comm="rows \"1\"\n"@*)',
        "MPI_Type_indexed(count=20, array_of_blocklengths=[1, 1, 1, 1, 1, 1, 1, 1, ...], "
        "array_of_displacements=[0, 2, 4, 6, 8, 10, 12, 14, ...], oldtype=MPI_INT, newtype=*)",
        'MPI_Type_set_name(datatype=*, type_name="sieve")',
        'MPI_Type_commit(datatype="sieve"@*)',
        f'MPI_Bcast(buffer=MPI_BOTTOM, count=0, datatype="sieve"@*, root=0, {WORLD})',
        'MPI_Type_free(datatype="sieve"@*)',
    ],
    "objects": [
        "MPI_Dims_create(nnodes=1, ndims=2, dims=[0, 0] => [1, 1])",
        "MPI_Cart_create(comm_old=MPI_COMM_WORLD, ndims=2, dims=[1, 1], periods=[true, false], "
        "reorder=true, comm_cart=*)",
        "MPI_Cart_coords(comm=*, rank=0, maxdims=2, coords=[0, 0])",
        "MPI_Cart_shift(comm=*, direction=1, disp=1, rank_source=MPI_PROC_NULL, "
        "rank_dest=MPI_PROC_NULL)",
        "MPI_Topo_test(comm=*, status=MPI_CART)",
        "MPI_Comm_compare(comm1=*, comm2=MPI_COMM_WORLD, result=MPI_CONGRUENT)",
        "MPI_Comm_free(comm=*)",
        f"MPI_Comm_group({WORLD}, group=*)",
        "MPI_Group_range_incl(group=*, n=1, ranges=[[0, 0, 1]], newgroup=*)",
        "MPI_Group_translate_ranks(group1=*, n=1, ranks1=[0], group2=*, ranks2=[0])",
        "MPI_Group_free(group=*)",
        "MPI_Group_free(group=*)",
        "MPI_Type_contiguous(count=3, oldtype=MPI_LONG, newtype=*)",
        "MPI_Type_get_envelope(datatype=*, num_integers=1, num_addresses=0, num_datatypes=1, "
        "combiner=MPI_COMBINER_CONTIGUOUS)",
        "MPI_Type_get_contents(datatype=*, max_integers=2, max_addresses=1, max_datatypes=1, "
        "array_of_integers=[3], array_of_addresses=[], array_of_datatypes=[MPI_LONG])",
        "MPI_Type_free(datatype=*)",
        "MPI_Pack(inbuf=*, incount=1, datatype=MPI_INT, outbuf=*, outsize=64, position=0 => 4, "
        f"{WORLD})",
        f"MPI_Comm_get_attr({WORLD}, comm_keyval=MPI_WTIME_IS_GLOBAL, attribute_val=&*, flag=true)",
        f"MPI_Comm_create_keyval(comm_copy_attr_fn={NULL_COPY}, "
        f"comm_delete_attr_fn={NULL_DELETE}, comm_keyval=*, extra_state=NULL)",
        f"MPI_Comm_get_attr({WORLD}, comm_keyval=*, attribute_val=?, flag=false)",
        "MPI_Comm_free_keyval(comm_keyval=*)",
        "MPI_Info_create(info=*)",
        'MPI_Info_set(info=*, key="key", value="value")',
        'MPI_Info_get(info=*, key="none", valuelen=63, value=?, flag=false)',
        'MPI_Info_get(info=*, key="key", valuelen=63, value="value", flag=true)',
        "MPI_Info_free(info=*)",
        "MPI_Query_thread(provided=MPI_THREAD_SINGLE)",
    ],
    "windows_and_files": [
        f"MPI_Win_create(base=*, size=16, disp_unit=4, info=MPI_INFO_NULL, {WORLD}, win=*)",
        'MPI_Win_set_name(win=*, win_name="halo")',
        'MPI_Win_fence(assert=MPI_MODE_NOSTORE|MPI_MODE_NOPRECEDE, win="halo"@*)',
        'MPI_Win_fence(assert=0, win="halo"@*)',
        'MPI_Win_lock(lock_type=MPI_LOCK_EXCLUSIVE, rank=0, assert=MPI_MODE_NOCHECK, '
        'win="halo"@*)',
        'MPI_Win_unlock(rank=0, win="halo"@*)',
        'MPI_Win_free(win="halo"@*)',
        'MPI_File_open(comm=MPI_COMM_SELF, filename="data", amode=MPI_MODE_RDWR|MPI_MODE_CREATE, '
        'info=MPI_INFO_NULL, fh="data"@*)',
        'MPI_File_write_at(fh="data"@*, offset=8, buf=*, count=4, datatype=MPI_INT, '
        'status={count=4})',
        'MPI_File_seek(fh="data"@*, offset=0, whence=MPI_SEEK_END)',
        'MPI_File_close(fh="data"@*)',
    ],
    "tools": [
        "MPI_T_init_thread(required=MPI_THREAD_SINGLE, provided=MPI_THREAD_SINGLE)",
        "MPI_T_cvar_get_num(num_cvar=*)",
        'MPI_T_cvar_get_info(cvar_index=0, name="*", name_len=64 => *, verbosity=*, '
        'datatype=*, enumtype=*, desc=*, desc_len=0 => *, bind=*, scope=*)',
        "MPI_T_finalize()",
        "MPI_Pcontrol(level=1, ...)",
    ],
}


@pytest.mark.parametrize("part", KNOWN)
def test_arguments_are_written_in_words(tmp_path, part):
    lines = lines_of(run_log(WORDS, part, "data", cwd=tmp_path))
    known = ["MPI_Init(argc=NULL, argv=NULL)", *KNOWN[part]]
    if part == "objects" and (ABI or not OPEN_MPI):  # otherwise, MPI_Aint_add is a macro in mpi.h
        assert lines[-2].call == "MPI_Aint_add(base=40, disp=2) = 42"
        lines.pop(-2)
    for line, pattern in zip(lines, [*known, "MPI_Finalize()"]):
        assert matches(f"{pattern} = MPI_SUCCESS", line.call), f"{pattern}\n{line.call}"
    assert len(lines) == len(known) + 1


def test_command_line_and_strings_are_shortened(tmp_path):
    result = run_log(OBSERVED / "observe_arguments", tmp_path, options=",strings=5")
    line = lines_of(result)[0]
    assert line.arguments == f'(argc=2, argv=["{str(OBSERVED)[:5]}"..., "{str(tmp_path)[:5]}"...])'
    whole = run_log(OBSERVED / "observe_arguments", tmp_path, options=",strings=0,array=1")
    assert lines_of(whole)[0].arguments == (f'(argc=2, argv=["{OBSERVED}/observe_arguments", ...])')


def test_the_option_array_limits_the_elements_that_are_shown():
    def indexed(options):
        lines = lines_of(run_log(WORDS, "collectives", options=options))
        return next(line.arguments for line in lines if line.function == "MPI_Type_indexed")
    assert "array_of_displacements=[0, 2, ...]" in indexed(",array=2")
    assert f"array_of_displacements={list(range(0, 40, 2))}" in indexed(",array=0")


def test_arguments_can_be_left_out():
    lines = lines_of(run_log(STEPS, "init", "barrier", "finalize", options=",args=no"))
    assert [line.arguments for line in lines] == ["(...)"] * 3
