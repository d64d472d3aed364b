# SPDX-License-Identifier: MIT
"""Tests the findings of qmpi doctor, each with the problem that causes it."""
import os
import re
import shutil
import subprocess

import pytest

from cli_support import MPI_NAME, OTHER_MPI, SONAMES, compiler, qmpi
from support import (ABI, ASAN, BUILD, IMPLEMENTATION, LIBQMPI, MPIEXEC, PROGRAMS, TOOLS, folder_open_to_all, program,
                     tool)
from test_stacks import Installation

PMPI_TOOLS = BUILD / "tests" / "pmpi" / "tools"
REDIRECT_PROGRAMS = BUILD / "tests" / "redirect" / "programs"
MARKS = ("ok", "note", "wrong")


class Findings:
    """The findings that the command prints: lists of heading, mark and text."""
    def __init__(self, result):
        self.result = result
        self.all = []
        heading = None
        for line in result.stdout.splitlines():
            if not line.startswith(" "):
                heading = line
                continue
            mark = line[2:8].strip()
            if mark in MARKS:
                self.all.append([heading, mark, line[9:]])
            else:
                self.all[-1][2] += "\n" + line.strip()

    def of(self, mark, heading=None):
        return [text for place, its, text in self.all
                if its == mark and heading in (None, place)]

    def one(self, mark, part):
        """Checks that exactly one finding with this mark contains `part`. Returns its text."""
        found = [text for text in self.of(mark) if part in text]
        assert len(found) == 1, (mark, part, self.result.stdout)
        return found[0]


def doctor(*arguments, env=None, **more):
    findings = Findings(qmpi("doctor", *arguments, env=env, **more))
    wrong = findings.of("wrong")
    assert findings.result.returncode == (1 if wrong else 0)
    last = findings.result.stdout.splitlines()[-1]
    assert last == ("no problems found" if not wrong else "1 problem found" if len(wrong) == 1
                    else f"{len(wrong)} problems found")
    for text in wrong:
        assert "\nhint: " in text, text
    return findings


def redirect_program(name):
    path = REDIRECT_PROGRAMS / name
    if not path.exists():
        pytest.skip(f"{name} was not built: its compiler or a library is missing")
    return path


def build(folder, name, source, *arguments):
    """Builds a program or library for one test."""
    (folder / f"{name}.c").write_text(source)
    path = folder / name
    subprocess.run([compiler(), "-o", path, folder / f"{name}.c", *arguments], check=True)
    return path


# ---- qmpi and MPI --------------------------------------------------------------------------------


def test_a_good_run_has_nothing_wrong():
    findings = doctor("-t", "count:empty", "--", PROGRAMS / "calls", "init")
    assert findings.of("wrong") == []
    assert str(LIBQMPI.resolve()) in findings.one("ok", "libqmpi 0.2.0 for ")
    findings.one("ok", "installed tools: ")
    assert [re.match(r"layer \d: \w+", line)[0] for line in findings.of("ok", "stack")] == [
        "layer 1: count", "layer 2: empty"]
    findings.one("ok", "the program uses the MPI library for which this libqmpi was built")
    findings.one("ok", "from C or C++")


def test_the_mpi_library_is_named_with_its_version():
    version = [text for text in doctor().of("ok", "qmpi and MPI") if "MPI" in text and ".so" in text]
    assert any(re.search(r"\d+\.\d+", text) for text in version)


def test_the_c_library_is_named():
    assert doctor().one("ok", "C library: ").endswith(os.confstr("CS_GNU_LIBC_VERSION"))


LAUNCHERS = {"mpich": ("mpiexec.hydra", "MPICH"), "openmpi": ("orterun", "Open MPI")}


def launcher(folder, mpi):
    """Makes in the folder an mpiexec that belongs to `mpi`. Returns variables with the folder as PATH, and
    what `qmpi doctor` says about this mpiexec."""
    name, whose = LAUNCHERS[mpi]
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    (folder / "mpiexec").symlink_to(name)
    return {"PATH": folder}, f"mpiexec belongs to {whose}"


def test_a_launcher_of_another_mpi_is_noted(tmp_path):
    env, said = launcher(tmp_path, next(name for name in LAUNCHERS if name != IMPLEMENTATION))
    assert f"hint: launch with mpiexec.{IMPLEMENTATION}" in doctor(env=env).one("note", said)


def test_the_launcher_of_this_mpi_is_ok(tmp_path):
    env, said = launcher(tmp_path, IMPLEMENTATION)
    doctor(env=env).one("ok", said)


def test_no_launcher_in_the_path_is_noted(tmp_path):
    assert "\nhint: " in doctor(env={"PATH": tmp_path}).one("note", "mpiexec not found in PATH")


# ---- The environment -----------------------------------------------------------------------------


def test_the_variables_in_force_are_shown():
    findings = doctor(env={"QMPI_TOOLS": "count", "QMPI_ON_ERROR": "skip"})
    *variables, site = findings.of("note", "environment")
    assert variables == ["QMPI_TOOLS=count", "QMPI_ON_ERROR=skip"]
    assert site.startswith("configuration files of the site: /") and "/etc/qmpi/*.conf" in site
    assert doctor().of("note", "environment")[:-1] == ["no variables of qmpi are set"]


def test_a_tool_list_that_another_variable_overrides_is_shown_as_ignored():
    for name in ["MPIR_PARAM_QMPI_TOOL_LIST", "MPICH_QMPI_TOOL_LIST"]:
        findings = doctor(env={"QMPI_TOOLS": "", name: "count"})
        assert "ignored: QMPI_TOOLS" in findings.one("note", f"{name}=count")
    findings.one("note", "no layers")


@pytest.mark.parametrize("name, meant", [
    ("QMPI_TOOL", "QMPI_TOOLS"), ("QMPI_TOOLS_PATH", "QMPI_TOOL_PATH"), ("QMPI_DEBGU", "QMPI_DEBUG")])
def test_a_misspelt_variable_is_wrong(name, meant):
    text = doctor(env={name: "count"}).one("wrong", f"{name} is not a variable of qmpi")
    assert f"did you mean {meant}?" in text


def test_a_variable_unlike_those_of_qmpi_is_not_wrong():
    """Variables that are not similar to one of qmpi are not reported, even if they begin with QMPI."""
    assert doctor(env={"QMPI_TEST_SOMETHING": "x", "QMPIX": "y"}).of("wrong") == []


@pytest.mark.parametrize("name, value", [
    ("QMPI_ON_ERROR", "maybe"), ("QMPI_INTERNAL", "maybe"), ("QMPI_CLOCK", "sundial"), ("QMPI_DEBUG", "load,nonsense"),
    ("QMPI_RANK_TIMEOUT", "soon")])
def test_an_invalid_value_is_wrong(name, value):
    doctor(env={name: value}).one("wrong", f"invalid value for '{name}'")


def test_a_missing_folder_in_the_tool_path_is_wrong(tmp_path):
    text = doctor(env={"QMPI_TOOL_PATH": f"{TOOLS}:{tmp_path}/none"}).one("wrong", "QMPI_TOOL_PATH")
    assert f"{tmp_path}/none" in text
    file = shutil.copy(TOOLS / "alpha.so", tmp_path)
    text = doctor("--tool-path", file).one("wrong", f"the directory {file} does not exist or cannot be read")
    assert text.startswith("--tool-path: ")


def test_a_configuration_file_is_examined(tmp_path):
    path = tmp_path / "qmpi.conf"
    path.write_text("on-error = skip\ncolour = red\ncount\nnonesuch\n")
    findings = doctor("-c", path)
    findings.one("ok", f"configuration file of -c: {path}")
    findings.one("note", "the file sets on-error = skip")
    findings.one("wrong", f"{path}, line 2 'colour = red'")
    findings.one("wrong", f"{path}, line 4 'nonesuch': no such tool")
    assert len(findings.of("wrong")) == 2
    findings.one("ok", "layer 1: count")
    idle = doctor(env={"QMPI_CONFIG": path, "QMPI_ON_ERROR": "stop"})
    idle.one("note", "the file sets on-error = skip (ignored")
    idle.one("ok", f"configuration file of QMPI_CONFIG: {path}")


def test_a_wrong_setting_is_reported_with_its_file_and_line(tmp_path):
    path = tmp_path / "qmpi.conf"
    path.write_text(f"count\ntool-path = {TOOLS}:none\n[below]\nempty\n[stack one]\nlog\n[stack two]\n")
    findings = doctor("-c", path)
    text = findings.one("wrong", f"the directory {tmp_path}/none does not exist or cannot be read")
    assert text.startswith(f"{path}, line 2 'tool-path': ") and len(findings.of("wrong")) == 1
    assert findings.one("ok", "configuration file of -c").endswith(f"{path}, 2 tools, 2 named stacks")
    path.write_text("debug = load,nonsense\ntool-path = /none\n[stack one]\ncount\n")
    findings = doctor("-c", path, env={"QMPI_TOOL_PATH": TOOLS})
    text = findings.one("wrong", f"{path}, line 1 'debug = load,nonsense'")
    assert "unknown topic 'nonsense'\nhint: use parse, " in text and len(findings.of("wrong")) == 1
    assert findings.one("ok", "configuration file of -c").endswith(f"{path}, 0 tools, 1 named stack")


def test_settings_of_the_user_do_not_replace_on_error_and_tool_path_of_the_site(tmp_path):
    here = Installation(tmp_path)
    (here.site / "site.conf").write_text(f"on-error = stop\ntool-path = {TOOLS}\ndebug = load\n")
    env = {"QMPI_ON_ERROR": "skip", "QMPI_TOOL_PATH": TOOLS, "QMPI_DEBUG": "find"}
    said = here.qmpi("doctor", **env).stdout
    assert re.findall("the file sets (.*)", said) == [
        f"tool-path = {TOOLS}", "on-error = stop", "debug = load (ignored: QMPI_DEBUG is set and takes precedence)"]
    shutil.rmtree(here.site)
    assert f"configuration files of the site: {here.site}/*.conf (this directory does not exist)" in here.qmpi(
        "doctor").stdout


def test_a_missing_configuration_file_is_reported_once():
    findings = doctor(env={"QMPI_CONFIG": "/none/such.conf"})
    findings.one("wrong", "/none/such.conf")


def test_a_configuration_file_that_is_not_text_is_wrong(tmp_path):
    path = tmp_path / "qmpi.conf"
    path.write_bytes(b"count\n\0\n")
    doctor(env={"QMPI_CONFIG": path}).one("wrong", f"{path}: not a text file")


def test_a_configuration_file_whose_tools_are_replaced_is_noted(tmp_path):
    path = tmp_path / "qmpi.conf"
    path.write_text("count\n")
    findings = doctor(env={"QMPI_CONFIG": path, "QMPI_TOOLS": "empty", "QMPI_DISABLE": "count"})
    findings.one("note", "QMPI_DISABLE: no layer matches 'count'")
    findings.one("note", f"QMPI_TOOLS replaces the tools that stand outside a section in {path}")
    findings.one("ok", "layer 1: empty")


# ---- Preloaded libraries -------------------------------------------------------------------------


def preload(*libraries):
    return {"LD_PRELOAD": ":".join(map(str, ([ASAN] if ASAN else []) + list(libraries)))}


def test_a_pmpi_tool_that_is_preloaded_but_not_listed_is_noted():
    lazy = PMPI_TOOLS / "liblazy.so"
    text = doctor("-t", "count", env=preload(lazy)).one("note", "preloaded PMPI tool that is not in the stack")
    assert str(lazy) in text and "hint: list it" in text


@pytest.mark.parametrize("entry", ["lazy", "liblazy.so", str(PMPI_TOOLS / "liblazy.so")])
def test_a_pmpi_tool_that_is_preloaded_and_listed_is_ok(entry):
    findings = doctor("-t", f"count:{entry}", env=preload(PMPI_TOOLS / "liblazy.so"))
    assert [text for text in findings.of("ok") if text.startswith("preloaded: ") and "lazy" in text]
    assert findings.of("wrong") == []
    assert len(findings.of("ok", "stack")) == 2


def test_a_library_that_cannot_be_preloaded_is_wrong():
    text = doctor(env=preload("/none/such.so")).one("wrong", "LD_PRELOAD")
    assert "'/none/such.so'" in text


@pytest.mark.skipif(bool(ASAN), reason="the library is not sanitized")
def test_an_mpi_library_that_is_preloaded_is_noted(tmp_path):
    library(tmp_path)
    text = doctor(env=preload(tmp_path / SONAMES[MPI_NAME])).one("note", "LD_PRELOAD contains an MPI")
    assert str(tmp_path) in text


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer ends a process with two copies of one global")
def test_another_libqmpi_that_is_preloaded_is_wrong():
    with folder_open_to_all() as folder:
        other = folder / LIBQMPI.resolve().name
        text = doctor(env=preload(LIBQMPI, other)).one("wrong", "LD_PRELOAD contains another libqmpi")
    assert str(other) in text


# ---- The stack -----------------------------------------------------------------------------------


def cut(folder):
    path = folder / "cut.so"
    path.write_bytes(tool("beta").read_bytes()[:2000])
    return path


def text_file(folder):
    path = folder / "text.so"
    path.write_text("#!/bin/sh\n")
    return path


WRONG_TOOLS = {
    "missing": (lambda folder: "nonesuch", "no such tool"),
    "missing path": (lambda folder: folder / "none.so", "no such library"),
    "cut": (cut, "the file is truncated"),
    "script": (text_file, "not an ELF file"),
    "empty": (lambda folder: folder.joinpath("none.so").touch() or folder / "none.so", "an empty file"),
    "no tool": (lambda folder: "plain", "is not a tool"),
    "undefined symbol": (lambda folder: "undefined", "nobody_defines_this"),
    "registers nothing": (lambda folder: "silent", "registers no tool"),
    "failing": (lambda folder: "fails", "failed to initialize"),
    "unknown option": (lambda folder: "empty,colour=red", "no option 'colour'"),
    "bad option": (lambda folder: "empty,colour", "key=value"),
    "the MPI library": (lambda folder: SONAMES[MPI_NAME], "is an MPI library"),
}


@pytest.mark.parametrize("case", WRONG_TOOLS)
def test_a_tool_that_cannot_be_used_is_wrong_and_the_others_are_examined(case, tmp_path):
    make, reason = WRONG_TOOLS[case]
    entry = make(tmp_path)
    findings = doctor("-t", f"count:{entry}:empty", "--tool-path", TOOLS)
    text = findings.one("wrong", f"-t, entry 2 '{entry}'")
    assert reason in text
    assert len(findings.of("wrong")) == 1
    names = [re.match(r"layer \d: (\w+)", line)[1] for line in findings.of("ok", "stack")]
    assert names == ["count", "empty"]


def test_every_wrong_tool_is_found_at_once():
    findings = doctor("-t", "one:two,x:three")
    assert len(findings.of("wrong")) == 3


CRASHES = "__attribute__((constructor)) static void f(void) { %s; }\nint MPI_Barrier(int c);\n" \
          "int MPI_Barrier(int c) { return c; }\n"


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer handles the signal")
def test_a_tool_that_crashes_is_found(tmp_path):
    bad = build(tmp_path, "bad.so", CRASHES % "__builtin_trap()", "-shared", "-fPIC")
    findings = doctor("-t", f"count:{bad}:empty")
    assert re.search("crashes when it is loaded: |terminated by SIG", findings.one("wrong", "entry 2"))
    assert len(findings.of("wrong")) == 1


@pytest.mark.skipif(bool(ASAN), reason="the library is not sanitized")
def test_a_tool_that_ends_the_process_is_found(tmp_path):
    bad = build(tmp_path, "bad.so", "#include <unistd.h>\n" + CRASHES % "_exit(7)", "-shared", "-fPIC")
    path = tmp_path / "qmpi.conf"
    path.write_text(f"count\n{bad}\n")
    text = doctor("-c", path).one("wrong", "exit status 7")
    assert text.startswith(f"{path}, line 2 ")


@pytest.mark.skipif(bool(ASAN), reason="the library is not sanitized")
@pytest.mark.parametrize("end, said", [
    ("raise(SIGKILL)", "crashes when it is loaded: Killed"),
    ("alarm(1), pause()", "crashes when it is loaded: Alarm clock")])
def test_a_tool_that_a_signal_ends_is_found(end, said, tmp_path):
    """Uses a tool whose entry in the stack contains backslashes and options."""
    source = "#include <signal.h>\n#include <unistd.h>\n" + CRASHES % end
    bad = build(tmp_path, "bad,one.so", source, "-shared", "-fPIC")
    entry = f"{bad},env.X=a\\:b".replace("bad,one", "bad\\,one")
    findings = doctor("-t", f"count:{entry}:empty")
    assert "hint: remove it from the stack" in findings.one("wrong", said)
    assert len(findings.of("wrong")) == 1


@pytest.mark.skipif(bool(ASAN), reason="the library is not sanitized")
def test_tools_that_crash_only_together_are_found(tmp_path):
    source = "#include <signal.h>\n#include <stdlib.h>\n" + CRASHES
    end = 'if (getenv("%s")) raise(SIGKILL); setenv("%s", "", 1)'
    one = build(tmp_path, "one.so", source % (end % ("OTHER", "ONE")), "-shared", "-fPIC")
    other = build(tmp_path, "other.so", source % (end % ("ONE", "OTHER")), "-shared", "-fPIC")
    findings = doctor("-t", f"count:{one}:{other}")
    text = findings.one("wrong", "although each of its tools can be loaded alone")
    assert text.startswith("-t: the stack crashes when it is loaded: Killed")
    assert "entry 1" not in text and f"without entry 2 '{one}', or without entry 3 '{other}'" in text
    assert len(findings.of("wrong")) == 1


def test_the_output_of_tools_is_not_taken_for_findings():
    findings = doctor("-t", "alpha,functions=Send:beta,functions=Send", "--tool-path", TOOLS,
                      env={"QMPI_DEBUG": "all"})
    assert findings.of("wrong") == []
    assert len(findings.of("ok", "stack")) == 2


# ---- The program ---------------------------------------------------------------------------------


def about_program(path, *arguments, **more):
    return doctor(*arguments, "--", path, **more)


def test_a_missing_program_is_wrong(tmp_path):
    about_program("no-such-program-anywhere").one("wrong", "in PATH")
    about_program(tmp_path / "none").one("wrong", "No such file")
    about_program("").one("wrong", "program '' not found in PATH")


def test_a_folder_and_a_device_are_no_programs(tmp_path):
    about_program(tmp_path).one("wrong", "is a directory")
    about_program("/dev/null").one("wrong", "/dev/null is not a regular file")


def test_a_program_that_is_not_executable_is_wrong(tmp_path):
    path = shutil.copy(PROGRAMS / "calls", tmp_path / "my app")
    path.chmod(0o644)
    assert f"hint: chmod +x '{path}'" in about_program(path).one("wrong", "is not executable")


def test_a_program_that_is_cut_is_wrong(tmp_path):
    path = tmp_path / "app"
    path.write_bytes((PROGRAMS / "calls").read_bytes()[:3000])
    path.chmod(0o755)
    about_program(path).one("wrong", "the file is truncated")


def test_a_program_of_another_machine_is_wrong(tmp_path):
    data = bytearray((PROGRAMS / "calls").read_bytes())
    data[18:20] = (243).to_bytes(2, "little")  # RISC-V
    path = tmp_path / "app"
    path.write_bytes(data)
    path.chmod(0o755)
    about_program(path).one("wrong", "built for another processor")


def test_a_text_is_no_program(tmp_path):
    path = tmp_path / "app"
    path.write_text("hello\n")
    path.chmod(0o755)
    about_program(path).one("wrong", "neither a program")


def test_a_script_is_noted_with_its_interpreter(tmp_path):
    path = tmp_path / "app"
    path.write_text("#! /bin/sh -e\nexec ./other\n")
    path.chmod(0o755)
    findings = about_program(path)
    assert "run by /bin/sh -e: " in findings.one("note", "is a script")
    path.write_text("#!/none/sh -e\n")
    about_program(path).one("wrong", "is a script, run by '/none/sh': No such file or directory")
    assert findings.of("wrong") == []


def test_a_launcher_is_noted():
    findings = doctor("--", MPIEXEC, "-n", "2", "./app")
    assert "hint: to examine the program" in findings.one("note", "is a launcher")


def test_a_static_program_is_wrong():
    about_program(redirect_program("plain_static")).one("wrong", "is statically linked")


def test_a_program_for_another_c_library_is_wrong(tmp_path):
    path = build(tmp_path, "app", "int main(void) { return 0; }\n",
                 "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    about_program(path).one("wrong", "requires the one of the GNU C library")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program another owner")
def test_a_setuid_program_is_wrong():
    with folder_open_to_all(program("calls")) as folder:
        path = folder / "calls"
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
        about_program(path).one("wrong", "is a privileged program")


def test_a_program_without_mpi_is_wrong():
    about_program(redirect_program("plain")).one("wrong", "does not use MPI")


@pytest.mark.skipif(bool(ASAN), reason="programs built with the sanitizer look for functions by name")
def test_a_program_that_loads_the_mpi_library_by_name_is_ok(tmp_path):
    path = build(tmp_path, "app", '#include <dlfcn.h>\nint main(void) '
                 f'{{ return !dlopen("{SONAMES[MPI_NAME]}", RTLD_LAZY); }}\n')
    about_program(path).one("ok", "the program loads the MPI library with dlopen")


def test_a_program_that_may_load_an_mpi_library_is_noted():
    about_program(redirect_program("exchange_by_name")).one("note", "if the MPI library is among them")


@pytest.mark.parametrize("name, part", [
    ("exchange_c", "from C or C++"), ("exchange_cpp", "from C or C++"),
    ("exchange_mpif_h", "mpif.h or the module mpi"), ("exchange_mpi", "mpif.h or the module mpi"),
    ("exchange_f08", "the module mpi_f08")])
def test_the_language_that_calls_mpi_is_reported(name, part):
    findings = about_program(redirect_program(name))
    findings.one("ok", part)
    findings.one("ok", "the program uses the MPI library for which this libqmpi was built")
    assert findings.of("wrong") == []


@pytest.mark.parametrize("name", ["linked_qmpi_first", "linked_mpi_first"])
def test_a_program_that_is_linked_with_libqmpi_is_ok(name):
    about_program(redirect_program(name)).one("ok", "the program is linked with libqmpi")


def test_a_program_that_contains_the_mpi_library_and_libqmpi_is_ok():
    about_program(redirect_program("exchange_static")).one("ok", "contains the MPI library and libqmpi")


@pytest.mark.parametrize("text", ["MPICH Version: %d", "Attempting to use an MPI routine (%d)",
                                  "The %d() function was called before MPI_INIT was invoked."])
def test_a_program_that_contains_the_mpi_library_without_libqmpi_is_wrong(text, tmp_path):
    """The program is stripped, and contains a text of the MPI library."""
    path = build(tmp_path, "app", "#include <dlfcn.h>\n#include <stdio.h>\nint main(void) "
                 f'{{ return printf("{text}\\n", 4) < 0 || dlopen("libmpich.so", RTLD_LAZY); }}\n', "-s")
    about_program(path).one("wrong", "contains a static MPI library")


def test_a_program_that_defines_pmpi_functions_contains_the_mpi_library(tmp_path):
    """The functions are not exported, so only the table of all symbols contains them."""
    path = build(tmp_path, "app", "#include <dlfcn.h>\nint PMPI_Init(void) { return 0; }\nint main(void) "
                 '{ return PMPI_Init() || dlopen("libmpich.so", RTLD_LAZY); }\n')
    about_program(path).one("wrong", "contains a static MPI library")


MPI_LIBRARY = """
int MPI_Init(int *a, char ***b); int MPI_Init(int *a, char ***b) { return a == 0 || b == 0; }
int MPI_Get_library_version(void); int MPI_Get_library_version(void) { return 0; }
int PMPI_Get_library_version(void); int PMPI_Get_library_version(void) { return 0; }
int MPI_Init_thread(int a) { return a; }
void mpi_init_thread_(void) {}
"""
CALLER = "int MPI_Init(int *a, char ***b);\nint main(void) { return MPI_Init(0, 0); }\n"


def library(folder, mpi=MPI_NAME, name=None):
    """Makes a stand-in for an MPI library, and returns its name. Its functions need not work, because
    `qmpi doctor` recognizes the library by its symbols."""
    name = name or SONAMES[mpi]
    mark = "int ompi_mpi_comm_world;\n" if mpi == "openmpi" else "int MPIR_inner;\n"
    build(folder, name, MPI_LIBRARY + mark, "-shared", "-fPIC", f"-Wl,-soname,{name}")
    return name


def linked(folder, *libraries):
    return build(folder, "app", CALLER, "-Wl,--no-as-needed", f"-L{folder}",
                 *(f"-l:{name}" for name in libraries), f"-Wl,-rpath,{folder}")


def test_a_program_of_another_mpi_is_wrong(tmp_path):
    path = linked(tmp_path, library(tmp_path, OTHER_MPI))
    text = about_program(path).one("wrong", "the program uses ")
    assert str(tmp_path / SONAMES[OTHER_MPI]) in text and f"was built for {MPI_NAME}" in text


@pytest.mark.skipif(ABI, reason="the standard ABI has one version")
def test_a_program_of_another_version_of_the_mpi_is_wrong(tmp_path):
    path = linked(tmp_path, library(tmp_path, name="libmpich.so.10"))
    about_program(path).one("wrong", "a different ABI")


def test_a_program_with_two_mpi_libraries_is_wrong(tmp_path):
    path = linked(tmp_path, library(tmp_path), library(tmp_path, OTHER_MPI))
    about_program(path).one("wrong", "two MPI libraries")


def test_a_library_that_is_missing_is_wrong(tmp_path):
    build(tmp_path, "libown.so.1", "int own;\n", "-shared", "-fPIC", "-Wl,-soname,libown.so.1")
    path = linked(tmp_path, library(tmp_path), "libown.so.1")
    (tmp_path / "libown.so.1").unlink()
    about_program(path).one("wrong", "libown.so.1, which the program needs, was not found")


@pytest.mark.parametrize("size, said", [
    (-40000, "libown.so.1, which the program needs: the file is truncated"),  # it still has the dynamic section
    (20, "libown.so.1: file too short"),
    (4000, "the dynamic loader cannot load ")])  # the loader crashes on this file
def test_a_library_that_is_cut_is_wrong(size, said, tmp_path):
    broken = build(tmp_path, "libown.so.1", "char own[100000] = {1};\n", "-shared", "-fPIC",
                "-nostdlib", "-Wl,-soname,libown.so.1")
    path = linked(tmp_path, library(tmp_path), "libown.so.1")
    broken.write_bytes(broken.read_bytes()[:size])
    findings = about_program(path)
    findings.one("wrong", said)
    assert len(findings.of("wrong")) == 1


def test_a_library_without_the_version_that_is_needed_is_wrong(tmp_path):
    def build_version(version):
        (tmp_path / "versions").write_text(version + " { global: own; };\n")
        build(tmp_path, "libown.so.1", "int own(void) { return 1; }\n", "-shared", "-fPIC",
              "-Wl,-soname,libown.so.1", f"-Wl,--version-script={tmp_path / 'versions'}")
    build_version("NEW")
    build(tmp_path, "libother.so.1", "int own(void);\nint other(void) { return own(); }\n",
          "-shared", "-fPIC", f"-L{tmp_path}", "-l:libown.so.1", "-Wl,-soname,libother.so.1",
          f"-Wl,-rpath,{tmp_path}")
    path = linked(tmp_path, library(tmp_path), "libother.so.1")
    assert not about_program(path).of("wrong")
    build_version("OLD")
    findings = about_program(path)
    text = findings.one("wrong", "version `NEW' not found (required by ")
    assert "libown.so.1" in text and "hint: install the required version" in text
    assert len(findings.of("wrong")) == 1


@pytest.mark.skipif(bool(ASAN), reason="the library is not sanitized")
def test_a_pmpi_tool_that_is_linked_and_preloaded_is_noted_once(tmp_path):
    peek = build(tmp_path, "libpeek.so", "int MPI_Barrier(int c);\n"
                 "int MPI_Barrier(int c) { return c; }\n",
                 "-shared", "-fPIC", "-Wl,-soname,libpeek.so")
    path = linked(tmp_path, library(tmp_path), "libpeek.so")
    findings = about_program(path, env=preload(peek))
    assert [text for text in findings.of("note") if "PMPI tool" in text] == [
        findings.one("note", "preloaded PMPI tool that is not in the stack")]


def test_a_program_that_is_linked_with_mpi_and_loads_libraries_is_noted(tmp_path):
    source = CALLER.replace("int main", "#include <dlfcn.h>\nint main").replace(
        "return ", "return !dlopen(\"libnone.so\", RTLD_LAZY) + ")
    path = build(tmp_path, "app", source, f"-L{tmp_path}", f"-l:{library(tmp_path)}",
                 f"-Wl,-rpath,{tmp_path}")
    about_program(path).one("note", "the program also loads libraries with dlopen")


def test_a_program_that_is_linked_with_libqmpi_alone_is_ok(tmp_path):
    path = build(tmp_path, "app", CALLER, LIBQMPI, "-Wl,--allow-shlib-undefined",
                 f"-Wl,-rpath,{LIBQMPI.parent}")
    about_program(path).one("ok", "the program is linked with libqmpi, which loads the MPI library")


def test_a_pmpi_tool_that_the_program_is_linked_with_is_noted(tmp_path):
    build(tmp_path, "libpeek.so", "int MPI_Barrier(int c); int MPI_Barrier(int c) { return c; }\n",
          "-shared", "-fPIC", "-Wl,-soname,libpeek.so")
    path = linked(tmp_path, library(tmp_path), "libpeek.so")
    about_program(path).one("note", "libpeek.so, a PMPI tool that is not in the stack")


@pytest.mark.parametrize("wraps, calls, wrong", [
    ("MPI_Init", "MPI_Init_thread", True), ("MPI_Init", "MPI_Init", False), ("MPI_Init_thread", "MPI_Init", True),
    ("MPI_Init", "mpi_init_thread_", True)])
def test_a_tool_that_does_not_start_in_the_program_is_wrong(wraps, calls, wrong, tmp_path):
    build(tmp_path, "libstarts.so", f"int {wraps}(int c); int {wraps}(int c) {{ return c; }}\n", "-shared", "-fPIC")
    mpi = library(tmp_path)
    path = build(tmp_path, "app", f"int {calls}(int); int main(void) {{ return {calls}(0); }}\n", f"-L{tmp_path}",
                 f"-l:{mpi}", f"-Wl,-rpath,{tmp_path}")
    stack = f"{tmp_path}/libstarts.so"
    other = {"MPI_Init": "MPI_Init_thread", "MPI_Init_thread": "MPI_Init"}[wraps]
    words = f"layer 1: starts does not start in this program, which calls {other}"
    found = doctor("-t", stack, "--", path)
    found.one("note", f"layer 1: starts: starts in {wraps}, but not in {other}")
    assert sum(words in text for text in found.of("wrong", "program")) == wrong


# ---- The command ---------------------------------------------------------------------------------


def test_options_of_the_program_are_not_options_of_doctor():
    doctor("-t", "empty", "--", PROGRAMS / "calls", "-t", "nonesuch", "--help")
    assert qmpi("doctor", "--nonsense").returncode == 2
