# SPDX-License-Identifier: MIT
"""Tests that the public headers compile in C and C++: by themselves, before and after mpi.h. Also tests
the types that they declare."""
import os
import re
import shutil
import subprocess

import generate_support as support
import pytest

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only"]
STANDARDS = ["c99", "c11", "gnu17", "c++11", "c++17"]

ORDERS = {
    "alone": "#include <qmpi/qmpi.h>\n",
    "after_mpi_h": "#include <mpi.h>\n#include <qmpi/qmpi.h>\n",
    "before_mpi_h": "#include <qmpi/qmpi.h>\n#include <mpi.h>\n",
    "twice": "#include <qmpi/qmpi.h>\n#include <qmpi/qmpi.h>\n",
    "mpit": "#include <qmpi/mpit.h>\n",
    "service": "#include <qmpi/service.h>\nstruct part;\nQMPIX_SERVICE(part, \"part\", 1, 2, struct part)\n",
    "wrappers_alone": "#include <qmpi/wrappers.h>\n",
}

# Defines an interceptor of every function, with the types of an X macro and with QMPI_X_t.
EVERY_FUNCTION = """
#include <qmpi/wrappers.h>
#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                      \\
    static RESULT my_##X PARAMETERS                                         \\
    {                                                                       \\
        return QMPIX_NEXT(context, X) ARGUMENTS;                            \\
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)
QMPIX_PCONTROL_READER static int my_Pcontrol(QMPI_Context context, const int level, ...)
{
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    return QMPIX_NEXT(context, Pcontrol)(QMPIX_NEXT_CONTEXT(context), level,
                                         QMPIX_PCONTROL_PASS(words));
}
static QMPI_Pcontrol_t *const typed_Pcontrol = my_Pcontrol;
#define TYPED(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) static QMPI_##X##_t *const typed_##X = my_##X;
QMPIX_FOR_EACH_FUNCTION(TYPED)
void init(int tool_id);
void init(int tool_id)
{
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                  \\
    QMPI_Register_tool_function(tool_id, NUMBER, (void (*)(void))typed_##X);
    QMPIX_FOR_EACH_FUNCTION(REGISTER)
    QMPI_Register_tool_function(tool_id, MPI_PCONTROL_T, (void (*)(void))typed_Pcontrol);
#if __cplusplus || __STDC_VERSION__ >= 201112
#define CHECKED(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) QMPIX_REGISTER(tool_id, X, my_##X);
    QMPIX_FOR_EACH_FUNCTION(CHECKED)
    QMPIX_REGISTER(tool_id, Pcontrol, my_Pcontrol);
#endif
}
"""

EVERY_CALL = """
#include <qmpi/qmpi.h>
static int next_send(QMPI_Context c, const void *buf, int count, MPI_Datatype datatype, int dest,
                     int tag, MPI_Comm comm)
{
    return QMPIX_NEXT(c, Send)(QMPIX_NEXT_CONTEXT(c), buf, count, datatype, dest, tag, comm);
}
static void start(int tool_id)
{
    void *storage = 0, *caller = 0;
    void (*function)(void) = 0;
    QMPI_Context context = 0, next = 0;
    enum QMPI_Functions_enum fn = MPI_SEND_T;
    QMPI_Send_t *send = next_send;
    int number = 0;
    (void)QMPI_Register_tool_storage(tool_id, storage);
    (void)QMPI_Register_tool_function(tool_id, fn, (void (*)(void))send);
    (void)QMPI_Context_get_storage(context, tool_id, &storage);
    (void)QMPI_Context_get_calling_address(context, tool_id, &caller);
    (void)QMPI_Get_function(tool_id, fn, &function, &next);
    (void)QMPIX_Context_get_tool_id(context, &number);
    (void)QMPIX_Function_id("MPI_Send", &fn);
}
int announce(void);
int announce(void)
{
    return QMPI_Register_tool_name("tool", start);
}
"""


def compile_as(standard, source, folder, compiler=None):
    cxx = standard.startswith(("c++", "gnu++"))
    if cxx and not support.CXX:
        pytest.skip("no C++ compiler")
    file = folder / ("use.cc" if cxx else "use.c")
    file.write_text(source, encoding="utf-8")
    includes = [f"-I{path}" for path in support.PUBLIC_HEADERS] + [f"-isystem{support.MPI_INCLUDE}"]
    support.run(
        *(compiler or (support.CXX if cxx else support.CC)), f"-std={standard}", *STRICT, *includes, file
    )


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_header_compiles(order, standard, tmp_path):
    compile_as(standard, ORDERS[order] + "int used;\n", tmp_path)


@pytest.mark.parametrize("standard", STANDARDS)
def test_every_interceptor_type_is_that_of_its_wrapper(standard, tmp_path):
    compile_as(standard, EVERY_FUNCTION, tmp_path)


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("order", ["after_mpi_h", "before_mpi_h"])
def test_the_draft_s_names_mean_qmpi_s_calls(order, standard, tmp_path):
    """The draft's names must mean qmpi's calls, even if mpi.h declares those of MPICH's variant."""
    compile_as(standard, ORDERS[order] + EVERY_CALL, tmp_path)


def test_an_interceptor_of_another_type_is_refused(tmp_path):
    wrong = "#include <qmpi/qmpi.h>\nstatic int f(QMPI_Context c, double d);\n"
    wrong += "QMPI_Send_t *const wrong = f;\n"
    with pytest.raises(AssertionError, match="incompatible"):
        compile_as("c11", wrong, tmp_path)


def test_an_interceptor_type_is_mpi_s_signature_with_a_context_in_front(tmp_path):
    """Compares with mpi.h itself: without the context, the type must be that of PMPI_X."""
    text = (support.GENERATED / "functions.h").read_text(encoding="utf-8")
    types = re.findall(
        r"^typedef (.+?) QMPI_(\w+)_t\(QMPI_Context context(?:, )?(.*)\);$", text, flags=re.M
    )
    assert len(types) >= (437 if support.MPI_NAME == "openmpi" else 600)
    # Open MPI's mpi.h shows removed functions only on request.
    source = "#define OMPI_OMIT_MPI1_COMPAT_DECLS 0\n#include <qmpi/qmpi.h>\n"
    source += '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n'
    for result, short, parameters in types:
        name = f"PMPIX_{short[2:]}" if short.startswith("X_") else f"PMPI_{short}"
        source += f"{result} (*const as_{short})({parameters or 'void'}) = {name};\n"
    compile_as("c11", source, tmp_path)


# Interceptors, and whether QMPIX_REGISTER accepts them. The wrong ones lack the context, or have a wrong
# result, a wrong parameter, or a wrong number of parameters.
REGISTERED = {
    "static int wrap(QMPI_Context c, MPI_Comm comm) { (void)c; (void)comm; return 0; }": True,
    "static int wrap(MPI_Comm comm) { (void)comm; return 0; }": False,
    "static void wrap(QMPI_Context c, MPI_Comm comm) { (void)c; (void)comm; }": False,
    "static int wrap(QMPI_Context c, int *comm) { (void)c; (void)comm; return 0; }": False,
    "static int wrap(QMPI_Context c, MPI_Comm comm, int tag) { (void)c; (void)comm; return tag; }": False,
}


@pytest.mark.parametrize("standard", ["c11", "c++11"])
@pytest.mark.parametrize("compiler", ["", "clang"])
def test_registering_checks_the_signature(compiler, standard, tmp_path):
    name = compiler and compiler + "++" * (standard == "c++11")
    if name and not shutil.which(name):
        pytest.skip(f"{name} is not installed")

    def compiles(wrapper, use):
        source = f"""#include <qmpi/qmpi.h>
{wrapper}
int announce(int tool_id);
int announce(int tool_id) {{ return QMPIX_REGISTER(tool_id, Barrier, {use}); }}
"""
        try:
            compile_as(standard, source, tmp_path, compiler=name and [name])
        except AssertionError:
            return False
        return True

    for wrapper, right in REGISTERED.items():
        assert compiles(wrapper, "wrap") == right, wrapper
    assert compiles(next(iter(REGISTERED)), "&wrap")


# The two types that the compiler shows in one line: the expected one, which is that of MPI_Recv with a context, and the
# given one, which lacks the communicator. Compilers may show the meaning of a typedef of Open MPI instead of its name.
DATATYPE, COMM = r"(?:MPI_Datatype|struct ompi_datatype_t ?\*)", r"(?:MPI_Comm|struct ompi_communicator_t ?\*)"
BEGINNING, END = rf"(?:QMPIX_Node|QMPI_Context)[^()]*int, *{DATATYPE}, *int, *int, *", r"MPI_Status ?\*\)"
EXPECTED_TYPE = rf"{BEGINNING}{COMM}, *{END}|QMPI_Recv_t"
GIVEN_TYPE = BEGINNING + END


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_compiler_refuses_a_wrong_signature_and_shows_the_right_signature(compiler, language, tmp_path):
    name = {"gcc": "g++", "clang": "clang++"}[compiler] if language == "c++" else compiler
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    (tmp_path / "tool.c").write_text("""#include <qmpi/qmpi.h>
static int my_Recv(QMPI_Context c, void *buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Status *s)
{
    return QMPIX_NEXT(c, Recv)(QMPIX_NEXT_CONTEXT(c), buffer, count, datatype, source, tag, MPI_COMM_WORLD, s);
}
int announce(int tool_id);
int announce(int tool_id) { return QMPIX_REGISTER(tool_id, Recv, my_Recv); }
""")
    includes = [f"-I{path}" for path in support.PUBLIC_HEADERS] + [f"-isystem{support.MPI_INCLUDE}"]
    done = subprocess.run([name, "-x", language, "-fsyntax-only", *includes, tmp_path / "tool.c"],
                          env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True)
    assert done.returncode != 0 and "error:" in done.stderr
    lines = done.stderr.splitlines()
    assert any(re.search(EXPECTED_TYPE, line) and re.search(GIVEN_TYPE, line) for line in lines), done.stderr


@pytest.mark.parametrize("standard", ["c99", "c11", "c++11"])
def test_the_functions_of_a_service_accept_only_its_table(standard, tmp_path):
    source = """#include <qmpi/service.h>
struct part { int (*answer)(int); };
struct other { int (*answer)(int); };
QMPIX_SERVICE(part, "part", 1, 2, struct part)
int use(const struct TABLE *offered, const struct TABLE **found);
int use(const struct TABLE *offered, const struct TABLE **found) { (void)offered; (void)found; return USE; }
"""
    for use in ("part_offer(1, offered)", "part_find(1, 0, found)"):
        compile_as(standard, source.replace("TABLE", "part").replace("USE", use), tmp_path)
        with pytest.raises(AssertionError, match="incompatible|cannot convert|invalid conversion"):
            compile_as(standard, source.replace("TABLE", "other").replace("USE", use), tmp_path)
