# SPDX-License-Identifier: MIT
"""Tests that a rule in semantics.py is enough for a new function: the parts of qmpi that classify
functions then treat it like others of its kind.

The functions are invented, and added to copies of mpi.h, of the list of numbers and of
semantics.py; nothing else is changed. The parts of qmpi that classify functions are compiled with
the generator's output for the copies.
"""
import re
import shutil
import sys

import generate_support as support
import pytest

FUNCTIONS = {
    "MPI_Hsend": "const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm",
    "MPI_Ihsend": "const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request",
    "MPI_Hrecv": "void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status",
    "MPI_Hrecv_init": "void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request",
    "MPI_Allmix": "const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm",
    "MPI_Iallmix": "const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request",
    "MPI_Hand_out": "void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm",
    "MPI_Fetch_twice": "const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win",
    "MPI_File_reread_all": "MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status",
    "MPI_Waitfirst": "int count, MPI_Request array_of_requests[], int *index, MPI_Status *status",
    "MPI_Testfirst": "int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status",
    "MPI_Hstart": "MPI_Request *request",
    "MPI_Comm_double": "MPI_Comm comm, MPI_Comm *newcomm",
    "MPI_Comm_dissolve": "MPI_Comm *comm",
    "MPI_Win_grow": "MPI_Aint size, MPI_Comm comm, MPI_Win *win",
    "MPI_File_reopen": "MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh",
}
RULES = '''
    Rule(r"i?hsend(_init)?", "SEND", "SEND", "SYNCHRONOUS"),
    Rule(r"i?hrecv(_init)?", "RECEIVE", "RECEIVE"),
    collective("allmix", "ALLREDUCE", "ALL", operation="OTHER"),
    collective("hand_out", "BCAST", "FROM_ROOT", operation="OTHER"),
    Rule(r"fetch_twice", "ACCESS", "FETCH_ONE", access="FETCH"),
    Rule(r"file_reread_all", "FILE_ACCESS", "READ", "COLLECTIVE", access="READ"),
    Rule(r"waitfirst", "COMPLETE", "COMPLETE"),
    Rule(r"testfirst", "COMPLETE", "COMPLETE", "POLLS"),
    Rule(r"hstart", "START", "START"),
    creation(r"comm_double", "COPY", flow="ALL"),
    Rule(r"comm_dissolve", "COMM_FREE", flags="COLLECTIVE"),
    Rule(r"win_grow", "WIN_CREATE", flags="COLLECTIVE ALLOCATES", flow="ALL"),
    Rule(r"file_reopen", "FILE_OPEN", flags="COLLECTIVE", flow="ALL"),
'''
# Program in tests/generate/semantics -> sources of qmpi that it is linked with, besides those that `answer` adds.
PROGRAMS = {
    "trace": ["lib/toolkit/pending.c"],
    "profile": ["lib/toolkit/pending.c"],
    "log": [],
    "results": ["tools/trace/profile/sums.c", "lib/standard/functions.c"],
}


class Invented:
    def __init__(self, folder):
        self.folder = folder
        generator = folder / "generate"
        shutil.copytree(support.GENERATOR, generator, ignore=shutil.ignore_patterns("__pycache__", "include", "mpi"))
        rules = generator / "semantics.py"
        text = rules.read_text(encoding="utf-8")
        assert "\nRULES = [" in text
        rules.write_text(text.replace("\nRULES = [", "\nRULES = [" + RULES), encoding="utf-8")
        self.numbers = folder / "functions.txt"
        self.numbers.write_text(support.NUMBERS.read_text(encoding="utf-8") + "\n".join(FUNCTIONS) + "\n",
                                encoding="utf-8")
        self.write_header()
        include = folder / "include/qmpi/abi"
        include.mkdir(parents=True)
        (folder / "include/generate").mkdir()
        self.generate("main.py", "--mpi", "abi", "--header", folder / "mpi.i",
                      f"header={include}/functions.h", f"shapes={folder}/include/generate/shapes.h",
                      f"mpich_numbers={folder}/include/generate/mpich_numbers.h",
                      f"description={folder}/description.c", f"names={folder}/names.c")
        self.generate("abi.py", "--abi-header", folder / "mpi.i", "--abi-text", folder / "mpi.h",
                      "--public", support.SOURCE / "include/qmpi/traits.h",
                      f"standard_functions={folder}/standard_functions.c")

    def write_header(self):
        text = (support.SOURCE / "include/qmpi/mpi-abi/mpi.h").read_text(encoding="utf-8")
        declared = "".join(f"int {each}({given});\nint P{each}({given});\n" for each, given in FUNCTIONS.items())
        place = text.index("#undef QMPI_DECLARE")
        (self.folder / "mpi.h").write_text(text[:place] + declared + text[place:], encoding="utf-8")
        (self.folder / "mpi.c").write_text('#include "mpi.h"\n', encoding="utf-8")
        support.run(*support.CC, "-E", self.folder / "mpi.c", "-o", self.folder / "mpi.i")

    def generate(self, script, *arguments):
        support.run(sys.executable, self.folder / "generate" / script, "--numbers", self.numbers, *arguments)

    def answer(self, program):
        """Returns name -> {word: number, …}, in which "" has the whole line that the program printed."""
        folders = [self.folder, self.folder / "include", support.SOURCE, support.SOURCE / "src", support.SOURCE / "lib",
                   support.SOURCE / "include", support.SOURCE / "tests/generate/semantics"]
        sources = [support.SOURCE / path for path in PROGRAMS[program]]
        sources += [self.folder / "standard_functions.c"] if program == "results" else [
            support.SOURCE / "src/observe/semantics.c", self.folder / "description.c", self.folder / "names.c"]
        # The compiled parts refer to other parts of qmpi, which are not called here and stay unresolved.
        support.run(*support.CC, "-std=gnu11", "-w", "-DQMPI_LIBRARY", "-D_GNU_SOURCE", "-no-pie", "-O1",
                    "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections,--unresolved-symbols=ignore-all",
                    *[f"-I{folder}" for folder in folders], support.SOURCE / f"tests/generate/semantics/{program}.c",
                    *sources, "-o", self.folder / program)
        lines = support.run(self.folder / program, *FUNCTIONS).splitlines()
        return {line.split()[0]: {word: int(value) for word, value in re.findall(r"(\w+)=(-?\d+)", line)} | {"": line}
                for line in lines}


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    return Invented(tmp_path_factory.mktemp("invented"))


def enumeration(path, name):
    """Returns {constant: number} of an enumeration in a header."""
    text = (support.SOURCE / path).read_text(encoding="utf-8")
    body = re.search(rf"enum {name} {{(.*?)}}", text, re.S)[1]
    names = re.findall(r"\b([A-Z]\w+)\b(?=\s*(?:,|$))", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    return {each: number for number, each in enumerate(names)}


def test_trace_knows_the_actions_of_the_functions(invented):
    actions = enumeration("tools/trace/record/traits.h", "trait_action")
    known = invented.answer("trace")
    assert {name: next(key for key, value in actions.items() if value == each["action"])
            for name, each in known.items()} == {
        "MPI_Hsend": "DOES_SEND", "MPI_Ihsend": "DOES_POST", "MPI_Hrecv": "DOES_RECEIVE",
        "MPI_Hrecv_init": "DOES_INIT_MESSAGE", "MPI_Allmix": "DOES_COLLECTIVE", "MPI_Iallmix": "DOES_POST_COLLECTIVE",
        "MPI_Hand_out": "DOES_COLLECTIVE", "MPI_Fetch_twice": "DOES_RMA", "MPI_File_reread_all": "DOES_IO",
        "MPI_Waitfirst": "DOES_COMPLETE", "MPI_Testfirst": "DOES_COMPLETE", "MPI_Hstart": "DOES_START",
        "MPI_Comm_double": "DOES_CREATE_COMM", "MPI_Comm_dissolve": "DOES_FREE_COMM", "MPI_Win_grow": "DOES_CREATE_WIN",
        "MPI_File_reopen": "DOES_OPEN_FILE",
    }
    assert known["MPI_Allmix"]["comm"] == 5
    assert known["MPI_Fetch_twice"]["window"] == 6
    assert known["MPI_File_reread_all"]["file"] == 0
    assert (known["MPI_Waitfirst"]["requests"], known["MPI_Waitfirst"]["index"]) == (0, 2)
    assert known["MPI_Win_grow"]["created"] == 2


def test_profile_knows_the_transfers_and_waits_of_the_functions(invented):
    known = invented.answer("profile")
    receives = enumeration("tools/profile/record/traits.h", "traits_receives")
    sends = enumeration("tools/profile/record/traits.h", "traits_sends")
    assert {name for name, each in known.items() if each["transfers"]} == {
        "MPI_Hsend", "MPI_Ihsend", "MPI_Hrecv", "MPI_Hrecv_init", "MPI_Fetch_twice", "MPI_Win_grow", "MPI_Hstart"}
    assert {name for name, each in known.items() if each["bytes"]} == {
        "MPI_Allmix", "MPI_Iallmix", "MPI_Hand_out", "MPI_File_reread_all", "MPI_File_reopen", "MPI_Hstart"}
    assert {name for name, each in known.items() if each["waits"]} == {"MPI_Allmix", "MPI_Hand_out"}
    assert {name for name, each in known.items() if each["polls"]} == {"MPI_Testfirst"}
    assert known["MPI_Waitfirst"]["receives"] == known["MPI_Testfirst"]["receives"] == receives["RECEIVES_COMPLETES"]
    assert known["MPI_Hrecv_init"]["receives"] == receives["RECEIVES_MAKES"]
    assert known["MPI_Hstart"]["receives"] == receives["RECEIVES_STARTS"]
    assert known["MPI_Ihsend"]["sends"] == sends["SENDS_SYNCHRONOUSLY"]
    assert (known["MPI_Hsend"]["destination"], known["MPI_Hrecv"]["source"]) == (3, 3)


def test_log_knows_the_arguments_of_the_functions(invented):
    known = invented.answer("log")
    directions = enumeration("include/qmpi/traits.h", "QMPIX_Direction")
    constants = enumeration("include/qmpi/traits.h", "QMPIX_Constants")
    lengths = enumeration("include/qmpi/traits.h", "QMPIX_Length")

    def shown(name, argument):
        direction, kind, length, of = known[name][""].split()[3 + argument].split("/")
        return [next(key for key, value in each.items() if value == int(number)).split("_", 2)[2] for each, number in
                ((directions, direction), (constants, kind), (lengths, length))] + [int(of)]

    assert shown("MPI_Hsend", 3) == ["IN", "RANK", "ONE", -1]
    assert shown("MPI_Allmix", 0) == ["ADDRESS", "COLLECTIVE_BUFFER", "ONE", -1]
    assert shown("MPI_Waitfirst", 1) == ["IN", "NONE", "OF", 0]
    assert shown("MPI_Testfirst", 3) == ["OUT", "BOOLEAN", "ONE", -1]
    assert shown("MPI_Comm_double", 1) == ["OUT", "NONE", "ONE", -1]
    assert shown("MPI_File_reopen", 2) == ["IN", "FILE_MODE", "ONE", -1]
    assert known["MPI_Waitfirst"]["request"] == 1


def test_readers_of_results_know_the_functions_by_name(invented):
    known = invented.answer("results")
    kinds = enumeration("tools/trace/analysis/collectives.h", "trace_collectives_kind")
    flows = enumeration("include/qmpi/traits.h", "QMPIX_Flow")
    assert known["MPI_Allmix"]["kind"] == known["MPI_Iallmix"]["kind"] == kinds["COLLECTIVE_ALL"]
    assert known["MPI_Hand_out"]["kind"] == kinds["COLLECTIVE_FROM_ROOT"]
    assert known["MPI_Comm_double"]["flow"] == known["MPI_Win_grow"]["flow"] == flows["QMPIX_FLOW_ALL"]
    assert {name for name, each in known.items() if each["waits"]} == {"MPI_Hsend", "MPI_Hrecv"}
    assert {name for name, each in known.items() if each["completes"]} == {"MPI_Waitfirst", "MPI_Testfirst"}
    assert {name for name, each in known.items() if each["polls"]} == {"MPI_Testfirst"}
    assert {name for name, each in known.items() if each["fetches"]} == {"MPI_Fetch_twice"}


def test_communicators_that_the_functions_create_get_an_identity(invented):
    invented.generate("main.py", "--mpi", "abi", "--header", invented.folder / "mpi.i",
                      f"creators={invented.folder}/creators.c")
    text = (invented.folder / "creators.c").read_text(encoding="utf-8")
    assert "qmpi_comm_id_note_copy(comm, *newcomm);" in text.split("follow_MPI_Comm_double(")[1].split("\n}")[0]


def test_the_right_functions_have_the_flags_creates_any_time_and_any_thread():
    sys.path.insert(0, str(support.SOURCE / "src/generate"))
    import semantics
    names = re.findall(r"(?m)^MPIX?_\w+$", (support.SOURCE / "src/functions/functions.txt").read_text())
    flagged = {flag: {name for name in names if flag in semantics.flags_of(name)} for flag in semantics.FLAGS}
    assert flagged["CREATES"] >= {
        "MPI_Comm_dup", "MPI_Comm_idup", "MPI_Comm_group", "MPI_Group_incl", "MPI_Type_vector_c", "MPI_Type_dup", "MPI_Op_create",
        "MPI_Win_create_errhandler", "MPI_Errhandler_create", "MPI_Win_get_info", "MPI_File_open", "MPI_Session_init"}
    assert not flagged["CREATES"] & {
        "MPI_Comm_get_parent", "MPI_Comm_free", "MPI_Group_size", "MPI_Type_get_contents", "MPI_Type_create_f90_real",
        "MPI_Type_create_keyval", "MPI_Type_match_size", "MPI_Info_get", "MPI_T_cvar_get_info", "MPI_Isend"}
    assert flagged["ANY_TIME"] - flagged["ANY_THREAD"] == {name for name in flagged["ANY_TIME"] if re.search("_error_|Error_|Session", name)}
    assert flagged["ANY_THREAD"] - flagged["ANY_TIME"] == {
        "MPI_Aint_add", "MPI_Aint_diff", "MPI_Is_thread_main", "MPI_Query_thread", "MPI_Wtick", "MPI_Wtime"}
    assert {"MPI_Initialized", "MPI_T_init_thread", "MPI_Info_create"} < flagged["ANY_TIME"] & flagged["ANY_THREAD"]
    assert not any("MPI_Send" in each or "MPI_Init" in each for each in flagged.values())
