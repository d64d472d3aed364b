# SPDX-License-Identifier: MIT
"""Tests which tools `qmpi run` preloads, what the option @preload does, and what `qmpi check` and
`qmpi doctor` say about tools that replace functions outside MPI, cannot be loaded later, or do not
work together."""
import re
import shutil
import subprocess

import pytest

from cli_support import compiler, qmpi
from mpi_in_use import EMULATED
from support import (ABI, ASAN, BUILD, LIBQMPI, MPI_NAME, MPI_SONAME, MPICC, OPEN_MPI, PROGRAMS, QMPI, clean_environment,
                     run_command, run_mpi)

pytestmark = pytest.mark.skipif(bool(ASAN), reason="the libraries are not sanitized")

RUN = [PROGRAMS / "calls", "init", "comm_rank", "finalize"]

# A PMPI tool. Its handles have the type long, which holds either type of a handle: int or a pointer.
PMPI_TOOL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int PMPI_Comm_rank(long comm, int *rank);
extern __thread char storage[];
int MPI_Comm_rank(long comm, int *rank)
{
    fprintf(stderr, "trace: " NAME " MPI_Comm_rank\n");
#ifdef STORAGE
    storage[STORAGE - 1] = 1;
#endif
    return PMPI_Comm_rank(comm, rank);
}
#ifdef STORAGE
__thread char storage[STORAGE] __attribute__((tls_model("initial-exec")));
#endif
#ifdef WHERE
typedef int opener(const char *, int, ...);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* If WHERE is RTLD_DEFAULT, `next` may be the `open` of another tool, whose `next` is this function. */
static int own(const char *path, int flags, ...)
{
    opener *next = (opener *)(uintptr_t)dlsym(WHERE, "open");
    if (next == own)
        next = (opener *)(uintptr_t)dlsym(RTLD_NEXT, "open");
    if (strstr(path, "test-data"))
        fprintf(stderr, "trace: " NAME " open\n");
    pthread_mutex_lock(&lock);
    int result = next(path, flags, 0600);
    pthread_mutex_unlock(&lock);
    return result;
}
int open(const char *path, int flags, ...) __attribute__((alias("own")));
int open64(const char *path, int flags, ...) __attribute__((alias("own")));
__attribute__((constructor)) static void begin(void)
{
    close(open("/dev/null", O_RDONLY));
}
#endif
"""

NATIVE_TOOL = r"""
#include <stdio.h>
int QMPI_Register_tool_name(const char *name, void (*init)(int tool_id));
static void init(int tool_id)
{
    fprintf(stderr, "trace: init %d\n", tool_id);
}
__attribute__((constructor)) static void begin(void)
{
    QMPI_Register_tool_name("announced", init);
}
"""


def build(folder, name, *flags, source=PMPI_TOOL):
    (folder / f"{name}.c").write_text(source)
    path = folder / f"lib{name}.so"
    subprocess.run([compiler(), "-shared", "-fPIC", "-fno-builtin", f'-DNAME="{name}"', "-o", path,
                    folder / f"{name}.c", *flags], check=True)
    return path


def plain(folder, name="plain"):
    return build(folder, name)


def opens(folder, name="opens", where="RTLD_NEXT"):
    return build(folder, name, f"-DWHERE={where}")


def preloaded(*stack, env=None):
    """Returns the names of the libraries that are preloaded into a program of this stack."""
    result = qmpi("run", "-t", ":".join(map(str, stack)), "--", "sh", "-c", "echo $LD_PRELOAD", env=env)
    assert result.returncode == 0, result.stderr
    return [re.sub(r"^.*/lib(.*?)\.so.*$", r"\1", path) for path in result.stdout.strip().split(":")]


OURS = LIBQMPI.name[3:].partition(".so")[0]

# ---- The option @preload --------------------------------------------------------------------------


def test_a_tool_that_replaces_functions_is_preloaded_unless_its_option_says_no(tmp_path):
    tool = opens(tmp_path)
    assert preloaded(tool) == preloaded(f"{tool},@preload=yes") == [OURS, "opens"]
    assert preloaded(f"{tool},@preload=no") == [OURS]


def test_another_tool_is_preloaded_if_its_option_says_yes(tmp_path):
    tool = plain(tmp_path)
    assert preloaded(tool) == preloaded(f"{tool},@preload=no") == [OURS]
    assert preloaded(f"{tool},@preload=yes", "count") == [OURS, "plain"]


def test_the_first_layer_of_a_library_decides(tmp_path):
    tool = opens(tmp_path)
    assert preloaded(f"{tool},@preload=no", tool) == [OURS]
    assert preloaded(tool, f"{tool},@preload=no") == [OURS, "opens"]


def test_a_tool_that_is_not_preloaded_sees_mpi_without_a_message(tmp_path):
    tool, data = opens(tmp_path), tmp_path / "test-data"
    data.write_text("")
    for option, sees in (("", True), (",@preload=no", False)):
        result = qmpi("run", "-t", f"{tool}{option}", "--", BUILD / "tests/pmpi/programs/surroundings",
                      f"open={data}", "init", "comm_rank", "finalize")
        assert result.returncode == 0 and result.messages == []
        assert result.trace.count("opens MPI_Comm_rank") == 1
        assert ("opens open" in result.trace) == sees


@pytest.mark.parametrize("condition", ["@if-env=NONE", "@program=none", "@enabled=no,@preload=yes"])
def test_a_tool_that_certainly_starts_off_is_not_preloaded(tmp_path, condition):
    """Tests also that the tool's replacements of functions outside MPI are not called."""
    tool, data = opens(tmp_path), tmp_path / "test-data"
    data.write_text("")
    result = qmpi("run", "-t", f"{tool},{condition}", "--", BUILD / "tests/pmpi/programs/surroundings",
                  f"open={data}", "init", "comm_rank", "finalize")
    assert (result.returncode, result.messages) == (0, [])
    assert not [line for line in result.trace if line.startswith("opens ")]
    # a shell may start any program, so the tool is preloaded
    assert preloaded(f"{tool},{condition}") == [OURS, "opens"]


def test_a_tool_that_starts_off_is_preloaded_if_it_cannot_be_loaded_later(tmp_path):
    tool = build(tmp_path, "nodlopen", "-Wl,-z,nodlopen")
    result = qmpi("run", "-t", f"{tool},@enabled=no:empty", "--", *RUN)
    assert (result.returncode, result.messages) == (0, [])
    assert "nodlopen MPI_Comm_rank" not in result.trace


def test_native_tools_may_have_the_option_too(tmp_path):
    tool = build(tmp_path, "native", source=NATIVE_TOOL)
    for option in ("", ",@preload=no", ",@preload=yes"):
        result = qmpi("run", "-t", f"count:{tool}{option}", "--", *RUN)
        assert result.returncode == 0 and "init 2" in result.trace


def test_the_option_may_be_in_a_configuration_file(tmp_path):
    path = tmp_path / "qmpi.conf"
    path.write_text(f"{opens(tmp_path)}\n  @preload = no\n  env.X = 1\n")
    result = qmpi("run", "-c", path, "--", "sh", "-c", "echo $LD_PRELOAD")
    assert "opens" not in result.stdout and OURS in result.stdout
    path.write_text(path.read_text().replace("@preload = no", "@preload = never"))
    result = qmpi("check", "-c", path)
    assert result.returncode == 2 and f"{path}, line 2 '@preload = never': " in result.stderr


@pytest.mark.parametrize("entry, words, hint", [
    ("count,@prelaod=no", "unknown option '@prelaod'", "@preload"),
    ("count,@=no", "unknown option '@'", "@preload"),
    ("count,@preload=", "invalid value for option '@preload': ''", "give yes or no"),
    ("count,@preload=No", "invalid value for option '@preload': 'No'", "give yes or no"),
    ("count,@preload", "not of the form key=value", "write @preload=yes "),
    ("count,@preload=no,@preload=no", "option '@preload' is given twice", "keep one"),
    ("PMPI,@nonesuch=1", "unknown option '@nonesuch'", "@preload")])
def test_a_wrong_option_of_qmpi_leads_to_one_message(entry, words, hint, tmp_path):
    entry = entry.replace("PMPI", str(plain(tmp_path)))
    for command in (["check"], ["run", "--", *RUN]):
        result = qmpi(command[0], "-t", f"empty:{entry}", *command[1:])
        assert (result.returncode, result.stdout) == (2, "")
        assert len(result.messages) == 2 and f"entry 2 '{entry}'"[:60] in result.messages[0]
        assert words in result.messages[0] and hint in result.messages[1]


def test_a_tool_does_not_see_the_options_of_qmpi():
    output = qmpi("check", "-t", "count,@preload=no,output=x").stdout
    assert "output=x" in output and "@preload" not in output


# ---- Tools that cannot be loaded into a running process -------------------------------------------

FLAGS = {"nodlopen": (["-Wl,-z,nodlopen"], "is linked with -z nodlopen"),
        "storage": (["-DSTORAGE=8192"], "has large static thread-local storage")}


@pytest.mark.parametrize("kind", FLAGS)
def test_a_tool_that_cannot_be_loaded_later_is_preloaded_and_works(kind, tmp_path):
    flags, said = FLAGS[kind]
    tool = build(tmp_path, kind, *flags)
    result = qmpi("run", "-t", f"count:{tool}:empty", "--", *RUN)
    assert result.returncode == 0
    assert result.trace.count(f"{kind} MPI_Comm_rank") == 1
    checked = qmpi("check", "-t", f"count:{tool}:empty")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert f"  preloaded   it {said}" in checked.stdout
    looked = qmpi("doctor", "-t", f"count:{tool}:empty")
    assert looked.returncode == 0 and f"`qmpi run` preloads it: it {said}" in looked.stdout


@pytest.mark.parametrize("flags, said", FLAGS.values(), ids=FLAGS)
def test_a_native_tool_that_cannot_be_loaded_later_is_preloaded_and_works(flags, said, tmp_path):
    source = NATIVE_TOOL + "#ifdef STORAGE\n__thread char storage[STORAGE] __attribute__((tls_model(" \
        '"initial-exec")));\nchar *use(void);\nchar *use(void) { return storage; }\n#endif\n'
    tool = build(tmp_path, "native", *flags, source=source)
    result = qmpi("run", "-t", f"count:{tool}", "--", *RUN)
    assert result.returncode == 0 and "init 2" in result.trace
    assert f"  preloaded   it {said}" in qmpi("check", "-t", tool).stdout


@pytest.mark.parametrize("kind", FLAGS)
def test_without_qmpi_run_the_message_gives_a_hint(kind, tmp_path):
    flags, said = FLAGS[kind]
    tool = build(tmp_path, kind, *flags)
    result = run_mpi("calls", "init", "finalize", tools=str(tool), ranks=1)
    assert result.returncode == 2
    text = "\n".join(result.messages)
    assert f"cannot be loaded into a running process, because it {said}" in text
    assert "hint: start the program with `qmpi run`, which preloads the first layer of such a tool" in text
    result = qmpi("run", "-t", f"{tool},@preload=no", "--", *RUN)
    assert result.returncode == 2 and "@preload=no" in result.messages[-1]


def test_a_missing_library_is_the_reason_even_if_a_tool_has_static_storage(tmp_path):
    """A node may lack a library that a tool needs. The message must then name this library."""
    (tmp_path / "absent.c").write_text("int absent(void) { return 1; }\n")
    subprocess.run([compiler(), "-shared", "-fPIC", "-Wl,-soname,libabsent.so.4", "-o", tmp_path / "libabsent.so",
                    tmp_path / "absent.c"], check=True)
    tool = build(tmp_path, "storage", "-DSTORAGE=8192", "-Wl,--no-as-needed", tmp_path / "libabsent.so")
    result = run_mpi("calls", "init", "finalize", tools=str(tool), ranks=1)
    assert result.returncode == 2
    text = "\n".join(result.messages)
    assert "it needs libabsent.so.4, which the dynamic loader does not find" in text
    assert "hint: install the package of libabsent.so.4" in text and "static" not in text


def test_a_little_static_storage_is_no_reason_to_preload(tmp_path):
    tool = build(tmp_path, "little", "-DSTORAGE=16")
    assert preloaded(tool) == [OURS]
    assert qmpi("run", "-t", f"{tool}:{tool}", "--", *RUN).trace.count("little MPI_Comm_rank") == 2


def test_more_layers_of_a_tool_with_static_storage_work_with_the_tunable_in_the_message(tmp_path):
    tool = build(tmp_path, "storage", "-DSTORAGE=8192")
    result = qmpi("run", "-t", f"{tool}:{tool}", "--", *RUN)
    assert result.returncode == 2
    name, _, value = re.search(r"(GLIBC_TUNABLES)(=)(\S+)", result.stderr).groups()
    result = qmpi("run", "-t", f"{tool}:{tool}", "--", *RUN, env={name: value})
    assert result.returncode == 0 and result.trace.count("storage MPI_Comm_rank") == 2


# ---- check and doctor on tools that replace more than MPI -----------------------------------------


def test_check_and_doctor_examine_the_stack_as_qmpi_run_loads_it(tmp_path):
    tool = opens(tmp_path)
    checked = qmpi("check", "-t", f"count:{tool}")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert re.search(r"  binding     PMPI tool, preloaded or linked.*\n  preloaded   it also replaces functions outside MPI: open",
                     checked.stdout)
    looked = qmpi("doctor", "-t", f"count:{tool}", "--", PROGRAMS / "calls")
    assert looked.returncode == 0 and "does not see" not in looked.stdout
    assert "`qmpi run` preloads it: it also replaces functions outside MPI: open" in looked.stdout


# Defines a PMPI function in addition to its wrapper, as libmonitor of HPCToolkit does.
DEFINES_PMPI = """
int PMPI_Barrier(long comm);
int MPI_Barrier(long comm) { return PMPI_Barrier(comm); }
int PMPI_Init(int *argc, char ***argv) { return !argc && !argv; }
"""


def test_a_preloaded_tool_that_defines_pmpi_functions_is_no_mpi_library(tmp_path):
    tool = build(tmp_path, "monitor", source=DEFINES_PMPI)
    checked = qmpi("check", "-t", f"{tool},@preload=yes")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "layer 1: monitor" in checked.stdout
    looked = qmpi("doctor", "-t", f"{tool},@preload=yes")
    assert looked.returncode == 0 and "layer 1: monitor" in looked.stdout


def test_doctor_only_notes_that_a_second_layer_sees_no_calls_outside_mpi(tmp_path):
    """The second layer of a library does not see the calls of functions outside MPI that the library replaces.
    `qmpi doctor` only notes this."""
    tool = opens(tmp_path)
    looked = qmpi("doctor", "-t", f"{tool}:{tool}")
    assert looked.returncode == 0
    assert "note   layer 2 (opens) also replaces functions outside MPI (open, open64)" in looked.stdout


def test_check_names_the_functions_that_two_layers_both_replace(tmp_path):
    one, other, third = opens(tmp_path, "one"), opens(tmp_path, "other"), plain(tmp_path)
    words = "layers 1 and 3 both replace functions outside MPI: open, open64"
    for stack in (f"{one}:{third}:{other}:{one}", f"{one},@preload=no:{third}:{other}"):
        checked = qmpi("check", "-t", stack)
        lines = [line for line in checked.stdout.splitlines() if line.startswith("layers ")]
        assert lines[0].startswith(words) and "@preload=no" in lines[0]
        # the tool of layer 1 is also layer 4, so layers 3 and 4 form a second pair
        assert len(lines) == (1 if "@" in stack else 2)
        assert f"note   {words}" in qmpi("doctor", "-t", stack).stdout
    assert "both replace" not in qmpi("check", "-t", f"{one}:{third}:{one}").stdout


# ---- Global names that two tools both define ------------------------------------------------------


def shares(folder, name, count, referenced=True):
    """Makes a tool that defines and uses `count` functions and variables which other tools also define.
    If `referenced` is true, the dynamic loader looks them up, and may find those of another tool."""
    functions = "".join(f"int shared_f{i}(void); int shared_f{i}(void) {{ return {i}; }}\nint shared_v{i} = {i};\n"
                        for i in range(count))
    uses = "+".join(f"shared_f{i}() + shared_v{i}" for i in range(count))
    flags = [] if referenced else ["-Wl,-Bsymbolic", "-fvisibility=protected"]
    return build(folder, name, *flags,
                 source=f"{functions}int PMPI_Barrier(long c);\nint MPI_Barrier(long c) {{ return PMPI_Barrier(c) + "
                        f"(c ? 0 : {uses}); }}\n")


@pytest.mark.parametrize("count, referenced, wrong", [(20, True, True), (5, True, False), (20, False, False)])
def test_tools_that_define_and_use_many_global_names_of_each_other_are_wrong_if_preloaded(count, referenced, wrong, tmp_path):
    """Such tools, for example Recorder and Pilgrim, crash or hang in a run without any message, so the
    warning matters."""
    one, other = shares(tmp_path, "one", count), shares(tmp_path, "other", count, referenced)
    words = f"layers 1 and 3 both define and use {2 * count} global names (shared_"
    for stack in (f"{one},@preload=yes:empty:{other}", f"{other}:empty:{one},@preload=yes"):
        checked = qmpi("check", "-t", stack)
        assert (words in checked.stdout) == wrong and checked.returncode == 0
        looked = qmpi("doctor", "-t", stack)
        assert (f"wrong  {words}" in looked.stdout) == wrong and looked.returncode == wrong
        assert ("hint: give both the option @preload=no, or remove one" in looked.stdout) == wrong
    assert "both define" not in qmpi("check", "-t", f"{one}:{other}").stdout
    assert "both define" not in qmpi("check", "-t", f"{one},@preload=yes:empty:{one}").stdout


# ---- Tools that do not work together --------------------------------------------------------------

HANGS = 'int pause(void);\n__attribute__((constructor)) static void begin(void) { for (;;) pause(); }\n' \
        "int MPI_Barrier(long comm);\nint MPI_Barrier(long comm) { return comm != 0; }\n"


def foes(folder):
    """Makes two tools whose replacements of `open` call each other if both tools are preloaded in this order. The
    first one, called again, then waits forever for the lock that it holds."""
    return opens(folder, "one"), opens(folder, "other", "RTLD_DEFAULT")


@pytest.mark.parametrize("command, status", [("check", 2), ("doctor", 1)])
def test_tools_that_hang_together_are_named(command, status, tmp_path):
    one, other = foes(tmp_path)
    # The time must suffice to load each tool alone.
    result = qmpi(command, f"--timeout={15 if EMULATED else 3}", "-t", f"{one}:empty:{other}")
    assert result.returncode == status
    text = result.stdout + result.stderr
    assert text.count("the stack hangs when it is loaded") == 1
    assert f"without entry 1 '{one}', or without entry 3 '{other}'" in text
    assert "without entry 2" not in text and "hint: remove one of these tools, or give one of them" in text
    assert "@preload=no" in text


def test_tools_that_hang_together_work_if_one_is_not_preloaded(tmp_path):
    one, other = foes(tmp_path)
    for stack in (f"{one},@preload=no:{other}", f"{one}:{other},@preload=no"):
        result = qmpi("run", "-t", stack, "--", *RUN)
        assert result.returncode == 0
        assert [line for line in result.trace if "MPI" in line] == [
            "one MPI_Comm_rank", "other MPI_Comm_rank"]
        assert qmpi("check", "-t", stack).returncode == 0


@pytest.mark.parametrize("command, status", [("check", 2), ("doctor", 1)])
def test_a_tool_that_hangs_alone_is_named(command, status, tmp_path):
    bad = build(tmp_path, "bad", source=HANGS)
    result = qmpi(command, "--timeout=3", "-t", f"empty:{bad}")
    assert result.returncode == status
    text = result.stdout + result.stderr
    assert f"-t, entry 2 '{bad}': it hangs when it is loaded" in text
    assert "hint: remove it from the stack" in text and "entry 1" not in text


def test_a_tool_that_hangs_and_blocks_every_signal_is_ended_too(tmp_path):
    source = "#define _GNU_SOURCE\n#include <signal.h>\n#include <unistd.h>\n" + HANGS.replace(
        "int pause(void);", "").replace("{ for", "{ sigset_t all; sigfillset(&all); "
                                        "sigprocmask(SIG_BLOCK, &all, 0); alarm(0); for")
    bad = build(tmp_path, "bad", source=source)
    assert "entry 1" in qmpi("doctor", "--timeout=3", "-t", bad).stdout


def test_list_runs_no_code_of_a_tool(tmp_path):
    build(tmp_path, "bad", source="int pause(void);\n" + NATIVE_TOOL.replace(
        '"announced", init);', '"announced", init);\n    for (;;)\n        pause();'))
    result = qmpi("list", "--tool-path", tmp_path)
    assert result.returncode == 0 and "count " in result.stdout
    assert f"{tmp_path}/libbad.so\n  a QMPI tool without a manifest; `qmpi check -t {tmp_path}/libbad.so` " in result.stdout


@pytest.mark.parametrize("command", ["check", "doctor"])
@pytest.mark.parametrize("value", ["", "x", "-1", "1.5m", "99999999999999999999"])
def test_a_timeout_that_is_no_time_is_an_error_of_use(command, value):
    result = qmpi(command, f"--timeout={value}")
    assert result.returncode == 2 and "--timeout must be a time" in result.stderr


# ---- Paths that the dynamic loader does not accept ------------------------------------------------


@pytest.fixture(params=["$ORIGIN", "a${LIB}b", "$PLATFORM", "a b"])
def odd_prefix(request, tmp_path):
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", tmp_path / "stage"],
                   check=True, capture_output=True)
    staged = next(path.parent for path in (tmp_path / "stage").rglob("bin") if path.is_dir())
    return shutil.copytree(staged, tmp_path / request.param / "prefix", symlinks=True)


def test_a_prefix_that_the_loader_does_not_accept_leads_to_one_message(odd_prefix):
    """Without the message, the program would run without tools, and would succeed."""
    command = [odd_prefix / "bin" / QMPI.name, "run", "-t", "count"]
    result = run_command([*command, "--", *RUN], clean_environment())
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.messages) == 2
    assert "cannot be preloaded: the dynamic loader does not accept a path with " in result.messages[0]
    assert result.messages[1] == "  hint: install qmpi under another path"
    result = run_command([*command, "--on-error=skip", "--", *RUN], clean_environment())
    assert result.returncode == 0 and "continues without preloading it" in result.stderr
    looked = run_command([odd_prefix / "bin" / QMPI.name, "doctor"], clean_environment())
    assert looked.returncode == 1 and "hint: install qmpi under another path" in looked.stdout


@pytest.mark.parametrize("name", ["$ORIGIN", "x$LIB", "${PLATFORM}"])
def test_a_path_of_a_tool_that_the_loader_does_not_accept_leads_to_one_message(name, tmp_path):
    folder = tmp_path / name
    folder.mkdir()
    said = "the dynamic loader does not accept a path with $"
    for tool, hint in ((opens(folder), "give it the option @preload=no"), (plain(folder), "move it to")):
        result = qmpi("run", "-t", tool, "--", *RUN)
        assert result.returncode == 2 and len(result.messages) == 2
        assert said in result.messages[0] and hint in result.messages[1]


def test_a_dollar_that_the_loader_does_not_replace_is_no_obstacle(tmp_path):
    folder = tmp_path / "$ORIGINAL$x$"
    folder.mkdir()
    result = qmpi("run", "-t", opens(folder), "--", *RUN)
    assert result.returncode == 0 and "opens MPI_Comm_rank" in result.trace


# ---- Libraries that replace the same functions as libqmpi -----------------------------------------

# A library that replaces functions which libqmpi replaces, too. It finds the next function by dlsym, that of `dlclose`
# in the C library.
WRAPPER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#define SAY(name) write(2, "trace: " name "\n", sizeof "trace: " name "\n" - 1)
#define NEXT(type, name) ((type)(uintptr_t)(SAY(name), dlsym(RTLD_NEXT, name)))
typedef void (*handler)(int);
int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return NEXT(int (*)(int, const struct sigaction *, struct sigaction *), "sigaction")(number, action, old);
}
handler signal(int number, handler new)
{
    return NEXT(handler (*)(int, handler), "signal")(number, new);
}
void *dlopen(const char *file, int mode)
{
    return NEXT(void *(*)(const char *, int), "dlopen")(file, mode);
}
int dlclose(void *handle)
{
    SAY("dlclose");
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return ((int (*)(void *))(uintptr_t)dlsym(library, "dlclose"))(handle);
}
#define JUMP(name) \
    __attribute__((noreturn)) void name(struct __jmp_buf_tag *buffer, int value) \
    { \
        NEXT(void (*)(struct __jmp_buf_tag *, int), #name)(buffer, value); \
        __builtin_unreachable(); \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
#ifdef DLSYM
void *dlsym(void *handle, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *(*next)(void *, const char *) = NULL;
    for (int i = 0; !next && i < 3; i++)
        next = (void *(*)(void *, const char *))(uintptr_t)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (!strcmp(name, "cosh"))
        SAY("dlsym");
    return next(handle, name);
}
#endif
"""

WRAPPED = r"""
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static jmp_buf place;
static sigjmp_buf other_place;
int main(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    fputs("trace: begin\n", stderr);
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGUSR2, SIG_IGN);
    void *library = dlopen("libm.so.6", RTLD_LAZY);
    if (!dlsym(library, "cosh") || dlclose(library))
        return 1;
    if (!setjmp(place))
        longjmp(place, 1);
    if (!setjmp(place))
        _longjmp(place, 1);
    if (!sigsetjmp(other_place, 1))
        siglongjmp(other_place, 1);
    fputs("trace: end\n", stderr);
    return 0;
}
"""


@pytest.mark.parametrize("dlsym", [[], ["-DDLSYM"]], ids=["", "dlsym"])
def test_functions_of_another_library_that_libqmpi_precedes_are_called(dlsym, tmp_path):
    (tmp_path / "app.c").write_text(WRAPPED)
    wrapper, app, linked = build(tmp_path, "wrapper", *dlsym, source=WRAPPER), tmp_path / "app", tmp_path / "linked"
    subprocess.run([compiler(), "-o", app, tmp_path / "app.c"], check=True)
    subprocess.run([compiler(), "-o", linked, tmp_path / "app.c", "-Wl,--no-as-needed", wrapper], check=True)
    for program, *libraries in (app, wrapper), (app, LIBQMPI, wrapper), (app, wrapper, LIBQMPI), (linked, LIBQMPI):
        result = run_command([program], clean_environment() | {"LD_PRELOAD": ":".join(map(str, libraries))})
        assert result.returncode == 0
        # libqmpi itself calls some of these functions before and after `main`.
        assert result.trace[result.trace.index("begin") + 1:result.trace.index("end")] == [
            "sigaction", "signal", "dlopen", *(["dlsym"] if dlsym else []), "dlclose", "dlopen", "longjmp", "_longjmp",
            "siglongjmp"]


# ---- Programs that are built with a sanitizer -----------------------------------------------------

SANITIZED = r"""
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef OPTIONS
const char *__asan_default_options(void) { return OPTIONS; }
#endif
static jmp_buf start;
static void leave(int depth)
{
    volatile char frame[300];
    memset((void *)frame, depth, sizeof frame);
    if (!depth)
        longjmp(start, 1);
    leave(depth - 1);
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 10; i++) {
        if (!setjmp(start))
            leave(20);
        volatile char frame[500];
        memset((void *)frame, i, sizeof frame); /* in the place of the frames that longjmp left */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (argc > 1) {
        volatile char *words = malloc(10);
        words[atoi(argv[1])] = 1;
        free((void *)words);
    }
    MPI_Finalize();
    puts("end");
    return 0;
}
"""
ADDRESS = {"gcc": ["gcc", "-fsanitize=address"],
           "clang": ["clang", "-fsanitize=address"],
           "clang, shared": ["clang", "-fsanitize=address", "-shared-libasan"]}
# Replaces the options of clean_environment, which keep the sanitizer from checking that its library comes first.
STRICT = {"ASAN_OPTIONS": "detect_leaks=0"}


def runtime(command):
    """Returns the path of a compiler's shared library of AddressSanitizer."""
    name = "libasan.so" if command == "gcc" else "libclang_rt.asan-x86_64.so"
    found = subprocess.run([compiler(command), f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    if "/" not in found.stdout:
        pytest.skip(f"{command} has no {name}")
    return found.stdout.strip()


def sanitized(folder, command, *flags, name="sanitized", source=SANITIZED):
    compiler(command)
    if "-shared-libasan" in flags:
        flags = [*flags, "-Wl,-rpath," + runtime(command).rpartition("/")[0]]
    (folder / f"{name}.c").write_text(source)
    environment = clean_environment() | {"MPICH_CC": command, "OMPI_CC": command}
    built = subprocess.run([MPICC, "-g", "-w", "-o", folder / name, folder / f"{name}.c", *flags], env=environment,
                           capture_output=True, text=True)
    if built.returncode or ABI and command != "gcc":
        pytest.skip(f"{command} cannot build such a program: {built.stderr}")
    return folder / name


def counted(result, number=10):
    return result.returncode == 0 and re.search(rf"MPI_Barrier +{number} ", result.stderr)


@pytest.mark.parametrize("kind", ADDRESS)
def test_a_program_with_address_sanitizer_runs_with_tools(kind, tmp_path):
    app = sanitized(tmp_path, *ADDRESS[kind])
    assert counted(qmpi("run", "-t", "count:profile,output=/dev/null", "--", app, env=STRICT))
    site = STRICT | {"LD_PRELOAD": LIBQMPI, "QMPI_TOOLS": "count", "QMPI_TOOL_PATH": BUILD / "tools/count"}
    assert counted(qmpi("run", "-t", "count", "--", app, env=site))
    assert counted(run_mpi(app, ranks=1, tools="count", env=STRICT))


@pytest.mark.parametrize("kind", ADDRESS)
def test_a_program_with_address_sanitizer_and_options_of_its_own_runs_with_tools(kind, tmp_path):
    app = sanitized(tmp_path, *ADDRESS[kind], '-DOPTIONS="detect_leaks=0:exitcode=7"')
    plain = clean_environment()
    del plain["ASAN_OPTIONS"]
    command = [QMPI, "run", "-t", "count", "--", app]
    for variables, status in ({}, 7), ({"ASAN_OPTIONS": "exitcode=9"}, 9):
        assert counted(run_command(["env", "-u", "ASAN_OPTIONS", *(f"{k}={v}" for k, v in variables.items()), *command],
                                   clean_environment()))
        wrong = subprocess.run([*command, "10"], env=plain | variables, capture_output=True, text=True)
        assert wrong.returncode == status and "heap-buffer-overflow" in wrong.stderr


@pytest.mark.parametrize("kind", ADDRESS)
def test_a_site_that_preloads_libqmpi_harms_no_program_with_address_sanitizer(kind, tmp_path):
    app = sanitized(tmp_path, *ADDRESS[kind], source="int main(void) { return 0; }")
    result = run_command([app], clean_environment() | STRICT | {"LD_PRELOAD": str(LIBQMPI)})
    assert (result.returncode, result.stderr) == (0, "")


def test_address_sanitizer_reports_a_signal_that_the_program_cannot_handle(tmp_path):
    """By handle_segv=2, the library of the sanitizer keeps its handler although the program sets another action."""
    app = sanitized(tmp_path, *ADDRESS["gcc"], source="#include <signal.h>\n"
                    "int main(void) { signal(SIGSEGV, SIG_DFL); return *(volatile int *)0; }")
    result = subprocess.run([QMPI, "run", "-t", "", "--", app], capture_output=True, text=True,
                            env=clean_environment() | {"ASAN_OPTIONS": "detect_leaks=0:handle_segv=2:exitcode=7"})
    assert result.returncode == 7 and "AddressSanitizer: SEGV on unknown address" in result.stderr


def test_sanitizer_options_of_another_preloaded_library_are_in_force_behind_libqmpi(tmp_path):
    app = sanitized(tmp_path, *ADDRESS["gcc"])
    options = build(tmp_path, "options", source='const char *__asan_default_options(void) { return "exitcode=7"; }')
    for preload in ((options, runtime("gcc")), (LIBQMPI, options, runtime("gcc"))):
        variables = STRICT | {"LD_PRELOAD": ":".join(map(str, preload))}
        if preload[0] == options:
            variables["ASAN_OPTIONS"] += ":verify_asan_link_order=0"
        result = subprocess.run([app, "10"], env=clean_environment() | variables, capture_output=True, text=True)
        assert result.returncode == 7 and "heap-buffer-overflow" in result.stderr


def test_the_library_of_a_sanitizer_that_the_user_preloads_stays_in_front(tmp_path):
    library, plain_library = runtime("gcc"), plain(tmp_path)
    result = qmpi("run", "-t", "count", "--", "sh", "-c", "echo $LD_PRELOAD",
                  env=STRICT | {"LD_PRELOAD": f"{library}:{plain_library}"})
    assert result.stdout.strip().split(":") == [library, str(LIBQMPI.resolve()), str(plain_library)]
    app = sanitized(tmp_path, *ADDRESS["gcc"], '-DOPTIONS="detect_leaks=0"')
    assert counted(qmpi("run", "-t", "count", "--", app, env=STRICT | {"LD_PRELOAD": library}))


TOOLS_WITH_OUTPUT = {"count": "", "profile": ",output=out", "trace": ",output=out", "log": ",output=out",
                     "mpit": ",output=out", "delay": ",functions=MPI_Barrier,before=1us"}


@pytest.mark.parametrize("tool", TOOLS_WITH_OUTPUT)
def test_tools_leave_nothing_that_a_sanitizer_reports(tool, tmp_path):
    """Compares the reports with those of runs without tools, because the MPI library itself leaks memory."""
    if OPEN_MPI:
        pytest.skip("Open MPI's reports differ from run to run")
    variables = {"ASAN_OPTIONS": "detect_leaks=1", "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
    for kind in "address", "thread":
        app, reports = sanitized(tmp_path, "clang", f"-fsanitize={kind}", name=kind), []
        for front in ([], [QMPI, "run", "-t", tool + TOOLS_WITH_OUTPUT[tool].replace("=out", f"={kind}.out"), "--"]):
            result = subprocess.run([*front, app], env=clean_environment() | variables, cwd=tmp_path,
                                    capture_output=True, text=True)
            assert "end" in result.stdout, result.stderr
            reports.append((result.returncode, re.findall("^SUMMARY.*", result.stderr, re.M)))
        assert reports[0] == reports[1]


def doctor_of(*arguments):
    """Runs `qmpi doctor`, without run_command, which would mistake the output for a sanitizer's report."""
    return subprocess.run([QMPI, "doctor", "--", *arguments], env=clean_environment(), capture_output=True, text=True)


def test_doctor_says_how_a_program_with_address_sanitizer_starts(tmp_path):
    told = doctor_of(sanitized(tmp_path, *ADDRESS["gcc"]))
    assert told.returncode == 0
    assert re.search(r"ok     the program uses \S+/libasan\.so\.\d+, a sanitizer's library: libqmpi precedes it, and "
                     "tells AddressSanitizer to accept that", told.stdout)
    told = doctor_of(sanitized(tmp_path, *ADDRESS["gcc"], '-DOPTIONS="detect_leaks=0"'))
    assert told.returncode == 0
    assert re.search(r"note   the program uses \S+, a sanitizer's library, and defines __asan_default_options: `qmpi run` "
                     "sets ASAN_OPTIONS=verify_asan_link_order=0", told.stdout)
    assert "libasan" not in doctor_of(PROGRAMS / "calls").stdout
