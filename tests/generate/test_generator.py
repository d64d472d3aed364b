# SPDX-License-Identifier: MIT
"""Tests the generator with an invented mpi.h (small/), and the committed list of numbers."""
import hashlib
import re
import subprocess
import sys

import generate_support as support
import mpi_header
import pytest

SMALL = support.SOURCE / "tests/generate/small"
LISTED = ["MPI_Init", "MPI_Gone", "MPI_Pcontrol", "MPI_Finalize", "MPI_Group_range_incl"]
LISTED += ["MPI_Wtime", "MPI_Comm_f2c", "MPI_Keyval_create", "MPI_Send", "MPI_Recv"]
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused"]


class Small:
    """The generator's inputs, the files that it wrote, and its warnings."""

    def __init__(self, folder):
        self.folder = folder
        self.numbers = folder / "functions.txt"
        self.numbers.write_text("# numbers\n\n" + "\n".join(LISTED) + "\n", encoding="utf-8")
        self.header = folder / "mpi.i"
        self.library = folder / "libsmall.so"
        support.run(*support.CC, "-E", SMALL / "mpi.h", "-o", self.header)
        support.run(*support.CC, "-shared", "-fPIC", SMALL / "mpi.c", "-o", self.library)
        self.warnings = {}
        (folder / "qmpi/mpich").mkdir(parents=True)
        (folder / "generate").mkdir()
        for what, name in {
            "header": "qmpi/mpich/functions.h",
            "wrappers": "qmpi/mpich/wrappers.h",
            "mpich_numbers": "generate/mpich_numbers.h",
            "dispatch_table": "dispatch_table.c",
            "dispatch_0": "dispatch_0.c",
            "dispatch_1": "dispatch_1.c",
            "dispatch_2": "dispatch_2.c",
            "dispatch_3": "dispatch_3.c",
            "entries": "entries.S",
            "names": "names.c",
            "check": "check.c",
            "echo": "echo.c",
        }.items():
            self.generate(what, folder / name)

    def generate(self, what, output, numbers=None):
        done = subprocess.run(
            [sys.executable, support.GENERATOR / "main.py", "--numbers", numbers or self.numbers]
            + ["--header", self.header, "--library", self.library, "--mpi", "mpich"]
            + [f"{what}={output}"],
            capture_output=True,
            text=True,
        )
        self.warnings[what] = done.stderr
        assert done.returncode == 0, done.stderr

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def dispatch(self):
        return "".join(self.text(f"dispatch_{part}.c") for part in range(4))

    def compile(self, source):
        source_root = support.SOURCE
        includes = [self.folder, SMALL, source_root / "include", source_root / "src"]
        includes.append(source_root / "tests/generate")
        flags = [f"-I{folder}" for folder in includes]
        support.run(*support.CC, *FLAGS, *flags, "-c", source, "-o", self.folder / "out.o")

    def functions(self):
        tree = mpi_header.parse(str(self.header))
        exports = mpi_header.read_exports(str(self.library))
        numbers = mpi_header.read_numbers(str(self.numbers))
        return {f.name: f for f in mpi_header.read_functions(tree, numbers, exports)}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Small(tmp_path_factory.mktemp("small"))


# ---- the committed list ------------------------------------------------------------------------


def committed():
    return mpi_header.read_numbers(str(support.NUMBERS))


def test_no_committed_number_has_changed():
    lines = (support.SOURCE / "tests/generate/functions.digest").read_text(encoding="utf-8").splitlines()
    count, digest = lines[-1].split()
    frozen = committed()[: int(count)]
    assert len(frozen) == int(count), "lines of functions.txt were removed"
    found = hashlib.sha256("".join(name + "\n" for name in frozen).encode()).hexdigest()
    assert found == digest, "lines of functions.txt were moved, renamed or removed"


def test_the_committed_list_contains_every_function_of_this_mpi():
    exports = mpi_header.read_exports(support.MPI_LIBRARY)
    tree = mpi_header.parse(str(support.GENERATED / "mpi.i"))
    declared = {f.name for f in mpi_header.read_functions(tree, [], exports)}
    assert len(declared) >= (437 if support.MPI_NAME == "openmpi" else 600)
    assert sorted(declared - set(committed())) == []


def test_the_generated_enum_has_the_committed_numbers():
    text = (support.GENERATED / "functions.h").read_text(encoding="utf-8")
    for number, name in enumerate(committed()):
        assert f"    {name.upper()}_T = {number},\n" in text
    assert f"    MPI_LAST_FUNC = {len(committed())}\n" in text


def test_a_name_listed_twice_is_refused(tmp_path):
    numbers = tmp_path / "functions.txt"
    numbers.write_text("MPI_Send\nMPI_Recv\nMPI_Send\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="twice"):
        mpi_header.read_numbers(str(numbers))


# ---- the functions that are read, and their numbers ---------------------------------------------


def test_only_declared_and_exported_functions_are_read(small):
    assert set(small.functions()) == {
        "MPI_Init", "MPI_Finalize", "MPI_Group_range_incl", "MPI_Pcontrol", "MPI_Wtime",
        "MPI_Comm_f2c", "MPI_Keyval_create", "MPIX_Small_news",
    }  # fmt: skip


def test_a_function_that_this_mpi_lacks_keeps_its_number(small):
    header = small.text("qmpi/mpich/functions.h")
    assert "    MPI_GONE_T = 1,\n    MPI_PCONTROL_T = 2,\n" in header
    assert "QMPI_Gone_t" not in header
    assert re.search(r'    \{&"PMPI_Gone"\[1\], 0, 0x[0-9a-f]{8}\},\n'
                     r'    \{&"PMPI_Pcontrol"\[1\], 1, 0x[0-9a-f]{8}\},\n', small.text("names.c"))
    assert "SLOT MPI_Init, 0\nNO_SLOT\nSLOT MPI_Pcontrol, 2\n" in small.text("entries.S")


def test_an_unlisted_function_gets_a_number_past_the_end(small):
    number = len(LISTED)
    assert small.functions()["MPIX_Small_news"].number == number
    header = small.text("qmpi/mpich/functions.h")
    assert f"    MPIX_SMALL_NEWS_T = {number},\n    MPI_LAST_FUNC = {number + 1}\n" in header
    assert "QMPI_X_Small_news_t" in header


def test_an_unlisted_function_causes_a_warning(small):
    for what, said in small.warnings.items():
        assert said.count("warning:") == 1, what
        assert f"MPIX_Small_news is not in {small.numbers}" in said


def test_listed_functions_cause_no_warning(small, tmp_path):
    numbers = tmp_path / "functions.txt"
    numbers.write_text("\n".join(LISTED + ["MPIX_Small_news"]) + "\n", encoding="utf-8")
    small.generate("names", tmp_path / "names.c", numbers)
    assert small.warnings.pop("names") == ""
    small.generate("names", small.folder / "names.c")


# ---- declarations -------------------------------------------------------------------------------


def test_parameters_without_a_name_get_a_name(small):
    texts = [each.text for each in small.functions()["MPI_Init"].parameters]
    assert texts == ["int *argument1", "char ***argument2"]


def test_an_unnamed_parameter_is_named_after_its_position(small):
    names = [each.name for each in small.functions()["MPIX_Small_news"].parameters]
    assert names == ["comm", "argument2"]


def test_parameters_have_the_names_of_the_standard(tmp_path):
    """An extension that the standard has adopted gets the parameter names of the standard, too. A function
    whose number of parameters differs from that in the standard keeps its own names."""
    texts = {"mpi": "int MPI_Send(void *ibuf, int);\nint MPI_Finalize(void);\nint MPI_Recv(int a);\n"
                    "int MPIX_Scan_init(int old);\nint MPI_Pcontrol(int l, ...);\n",
             "standard": "int MPI_Send(void *buf, int count);\nint MPI_Finalize(void);\nint MPI_Recv(int b, int c);\n"
                         "int MPI_Scan_init(int new);\nint MPI_Pcontrol(int level, ...);\n"}
    trees = {}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        trees[name] = mpi_header.parse(str(tmp_path / name))
    names = mpi_header.read_parameter_names(trees["standard"])
    found = {function.name: [each.text for each in function.parameters]
             for function in mpi_header.read_functions(trees["mpi"], [], None, names)}
    assert found == {"MPI_Send": ["void *buf", "int count"], "MPI_Finalize": [], "MPI_Recv": ["int a"],
                     "MPIX_Scan_init": ["int new"], "MPI_Pcontrol": ["int level"]}


def test_void_is_no_parameter(small):
    assert small.functions()["MPI_Finalize"].parameters == []
    assert "int enter_MPI_Finalize(void)" in small.dispatch()


def test_array_declarators_are_kept(small):
    texts = [each.text for each in small.functions()["MPI_Group_range_incl"].parameters]
    assert texts == ["int n", "int ranges[][3]", "const int ranks[]", "char * const names[]"]


def test_a_function_pointer_keeps_its_declarator(small):
    texts = [each.text for each in small.functions()["MPI_Keyval_create"].parameters]
    assert texts[0] == "MPI_Copy_function *copy"
    assert texts[1].replace(" ", "") == "void(*inline_type)(int,double[2])"


def test_return_types_are_kept(small):
    results = {name: function.result for name, function in small.functions().items()}
    assert results["MPI_Wtime"] == "double"
    assert results["MPI_Comm_f2c"] == "MPI_Comm"
    assert results["MPI_Init"] == "int"


def test_a_variadic_function_passes_on_words_and_doubles(small):
    function = small.functions()["MPI_Pcontrol"]
    assert function.variadic
    assert [each.text for each in function.parameters] == ["const int level"]
    text = small.dispatch()
    for end in ("enter_MPI_Pcontrol(const int level, ...)",
                "terminator_MPI_Pcontrol(QMPI_Context qmpi_context, const int level, ...)"):
        body = text[text.index(end) :].split("\n}\n")[0]
        assert "QMPIX_PCONTROL_READ(qmpi_words, level);" in body
        assert "level, QMPIX_PCONTROL_PASS(qmpi_words))" in body


def test_no_wrapper_is_offered_for_a_variadic_function(small):
    assert "Pcontrol, MPI_PCONTROL_T" not in small.text("qmpi/mpich/wrappers.h")


def test_names_of_mpich_s_variant_are_renamed_by_macros(small):
    text = small.text("qmpi/mpich/functions.h")
    for name in ("QMPI_Context", "QMPI_Functions_enum", "QMPI_Get_function", "QMPI_Init_t",
                 "MPI_INIT_T", "MPI_LAST_FUNC"):
        assert f"#define {name} qmpix_{name}\n" in text
    assert "#define QMPI_Wtime_t" not in text  # small/mpi.h does not declare this type


# ---- the generated files compile ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["dispatch_table.c", "dispatch_0.c", "dispatch_3.c", "names.c", "check.c", "echo.c"])
def test_the_generated_source_compiles_without_a_warning(small, name):
    small.compile(small.folder / name)


def test_the_generated_headers_compile_without_a_warning(small, tmp_path):
    use = tmp_path / "use.c"
    use.write_text("#include <qmpi/qmpi.h>\n#include <qmpi/wrappers.h>\nint used;\n")
    small.compile(use)


def test_generating_twice_gives_the_same_text(small, tmp_path):
    for what, name in {"dispatch_0": "dispatch_0.c", "header": "qmpi/mpich/functions.h"}.items():
        small.generate(what, tmp_path / "again")
        assert (tmp_path / "again").read_text(encoding="utf-8") == small.text(name)
