# SPDX-License-Identifier: MIT
"""Tests builds for several MPIs in one prefix: `qmpi run` uses the build for the program's MPI."""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli_support import MPI_NAME, OTHER_MPI, SONAMES, compiler
from mpi_commands import OTHER_BUILD, mpi_command
from mpi_in_use import EMULATED
from support import (ABI, ASAN, BUILD, IMPLEMENTATION, LIBQMPI, OPEN_MPI, OPEN_MPI_SETTINGS, PROGRAMS, QMPI, clean_environment,
                     run_command)

pytestmark = pytest.mark.skipif(bool(ASAN), reason="the other build would have to be sanitized too")

SUFFIXES = {"mpich": "", "openmpi": "-openmpi", "abi": "-abi"}
# Symbols that only the libraries of one MPI define.
MARKS = {"mpich": "int MPIR_inner;\n", "openmpi": "int ompi_mpi_comm_world;\n",
         "abi": "int PMPI_Abi_get_version(void) { return 0; }\n"}

PRINT = """
#include <stdio.h>
#include <stdlib.h>
#ifdef MPI
extern int MPI_Initialized(int *);
int MPI_Wanted(void) { return MPI_Initialized(0); }
#endif
int main(void) { printf("%s\\n%s\\n", getenv("LD_PRELOAD"), getenv("QMPI_TOOLS")); return 0; }
"""
LIBRARY = """
int MPI_Initialized(int *flag) { return flag != 0; }
int MPI_Get_library_version(void) { return 0; }
int PMPI_Get_library_version(void) { return 0; }
"""


def install(build, folder):
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", folder / "stage"],
                   check=True, capture_output=True)
    prefix = next(path.parent for path in (folder / "stage").rglob("bin") if path.is_dir())
    # The builds have symbolic links of the same names, which copytree does not replace.
    subprocess.run(["cp", "-a", f"{prefix}/.", folder / "prefix"], check=True)
    shutil.rmtree(folder / "stage")
    return folder / "prefix"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Makes a prefix with this build, and with a library without functions of MPI in place of the other build."""
    folder = tmp_path_factory.mktemp("side")
    prefix = install(BUILD, folder)
    libdir = next(prefix.rglob(LIBQMPI.name)).parent
    (folder / "none.c").write_text("int QMPIX_Get_function, QMPIX_Function_name; /* only libqmpi defines these */\n")
    other = libdir / f"libqmpi{SUFFIXES[OTHER_MPI]}.so.0"
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", other, folder / "none.c"], check=True)
    return prefix


def program(folder, mpi=None, soname=None, mark=""):
    """Builds a program that prints LD_PRELOAD and QMPI_TOOLS. If `mpi` is given, the program needs a stand-in
    for the library of that MPI, with the name `soname` and the symbols of `mark`. A library with the standard
    ABI is not recognized by its name alone, so its stand-in always gets a mark."""
    (folder / "program.c").write_text(PRINT)
    flags = []
    if mpi:
        soname = soname or SONAMES[mpi]
        mark = mark or (MARKS["abi"] if mpi == "abi" else "")
        (folder / "library.c").write_text(LIBRARY + mark)
        subprocess.run([compiler(), "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o",
                        folder / soname, folder / "library.c"], check=True)
        flags = ["-DMPI", "-Wl,--no-as-needed", f"-L{folder}", f"-l:{soname}", f"-Wl,-rpath,{folder}"]
    subprocess.run([compiler(), "-o", folder / "program", folder / "program.c", *flags], check=True)
    return folder / "program"


def preloaded(prefix, *arguments, **more):
    """Returns the name of the libqmpi that `qmpi run` preloads, and the result of the command."""
    result = run_command([prefix / "bin" / QMPI.name, "run", "-t", "", *arguments],
                         clean_environment(), **more)
    assert result.returncode == 0, result.stderr
    return Path(result.stdout.splitlines()[0]).name.partition(".so")[0], result


THIS, OTHER = f"libqmpi{SUFFIXES[MPI_NAME]}", f"libqmpi{SUFFIXES[OTHER_MPI]}"


def build_for(mpi):
    """Returns the name of the libqmpi that a program of `mpi` gets. The prefix has builds for two of the three
    MPIs; programs of the third get this build."""
    return OTHER if mpi == OTHER_MPI else THIS


def test_doctor_names_the_other_build_and_finds_no_fault_with_its_launcher(prefix, tmp_path):
    """If this build is for the standard ABI, the launcher may be of an MPI without a build in the prefix. It is then
    noted."""
    launcher = "mpich" if IMPLEMENTATION == "openmpi" else "openmpi"
    (tmp_path / f"mpiexec.{launcher}").write_text("#!/bin/sh\n")
    (tmp_path / f"mpiexec.{launcher}").chmod(0o755)
    (tmp_path / "mpiexec").symlink_to(f"mpiexec.{launcher}")
    output = run_command([prefix / "bin" / QMPI.name, "doctor"], {**clean_environment(), "PATH": str(tmp_path)}).stdout
    assert f"  ok     libqmpi for {OTHER_MPI}: {prefix}" in output
    mark = "ok" if launcher == OTHER_MPI else "note"
    assert re.search(rf"^  {mark} +mpiexec belongs to ", output, re.M)


def test_a_program_of_this_mpi_gets_this_build(prefix, tmp_path):
    assert preloaded(prefix, program(tmp_path, MPI_NAME))[0] == THIS


def test_a_program_of_the_other_mpi_gets_the_other_build(prefix, tmp_path):
    assert preloaded(prefix, program(tmp_path, OTHER_MPI))[0] == OTHER


@pytest.mark.skipif(ABI, reason="this is the build for the standard ABI")
def test_the_build_for_the_standard_abi_keeps_its_file_for_pkg_config(prefix, tmp_path):
    file = next(prefix.rglob("pkgconfig/qmpi-abi.pc"))
    libdir = file.parents[1].relative_to(prefix)
    assert "-lqmpi-abi" not in file.read_text()
    options = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", BUILD], check=True,
                                        capture_output=True, text=True).stdout)
    folder = next(option["value"] for option in options if option["name"] == "prefix")
    stage = tmp_path / "stage"
    saved = stage / folder.lstrip("/") / libdir / "qmpi-abi/qmpi-abi.pc"
    saved.parent.mkdir(parents=True)
    saved.write_text("that of the build with -Dmpi=abi\n")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", stage], check=True,
                   capture_output=True)
    assert (saved.parents[1] / "pkgconfig/qmpi-abi.pc").read_text() == saved.read_text()


@pytest.mark.parametrize("mpi, mark", MARKS.items())
def test_the_symbols_of_a_library_tell_its_mpi_if_two_mpis_use_its_name(prefix, mpi, mark, tmp_path):
    """Libraries of two MPIs may have the same soname. The symbols tell to which MPI such a library belongs."""
    name = preloaded(prefix, program(tmp_path, mpi, "libmpi.so.12", mark))[0]
    assert name == build_for(mpi)


def test_the_doctor_knows_the_other_build(prefix, tmp_path):
    other_program = program(tmp_path, OTHER_MPI, mark=MARKS[OTHER_MPI])
    result = run_command([prefix / "bin" / QMPI.name, "doctor", "--", other_program], clean_environment())
    assert f"{OTHER}.so.0 and the tools installed with it" in result.stdout


def test_a_program_without_mpi_gets_this_build_and_runs(prefix, tmp_path):
    name, result = preloaded(prefix, program(tmp_path))
    assert (name, result.stderr) == (THIS, "")


def test_a_script_gets_this_build_or_the_one_of_the_option_mpi(prefix, tmp_path):
    script = tmp_path / "script"
    script.write_text('#!/bin/sh\necho "$LD_PRELOAD"\n')
    script.chmod(0o755)
    assert preloaded(prefix, script)[0] == THIS
    assert preloaded(prefix, f"--mpi={OTHER_MPI}", script)[0] == OTHER
    assert preloaded(prefix, f"--mpi={MPI_NAME}", script)[0] == THIS


def stand_in(folder, name):
    """Makes a launcher that starts nothing, and prints LD_PRELOAD."""
    path = folder / name
    path.write_text('#!/bin/sh\necho "$LD_PRELOAD"\n')
    path.chmod(0o755)
    return path


def test_a_launcher_gets_the_build_of_the_program_among_its_arguments(prefix, tmp_path):
    srun, app = stand_in(tmp_path, "srun"), program(tmp_path, OTHER_MPI, mark=MARKS[OTHER_MPI])
    assert preloaded(prefix, srun, "--mpi=pmix", "-n", "2", app, "input")[0] == OTHER
    assert preloaded(prefix, srun, "-n", "2", "sh", "-c", "true")[0] == THIS
    # The program counts for more than the name of the launcher.
    assert preloaded(prefix, stand_in(tmp_path, f"mpiexec.{IMPLEMENTATION}"), "-n", "2", app)[0] == OTHER
    # A program that is no launcher may have any arguments.
    assert preloaded(prefix, stand_in(tmp_path, "script"), app)[0] == THIS


# The variables by which a launcher shows its MPI to a process.
LAUNCHED = {"mpich": {"PMI_RANK": "0", "PMI_SIZE": "1", "MPI_LOCALNRANKS": "1"},
            "openmpi": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}}
# The standard ABI has no launcher of its own, so its programs are launched as those of Open MPI are.
LAUNCHED["abi"] = LAUNCHED["openmpi"]


def launched(prefix, mpis, *arguments):
    env = clean_environment()
    for mpi in mpis:
        env.update(LAUNCHED[mpi])
    result = run_command([prefix / "bin" / QMPI.name, "run", "-t", "", *arguments], env)
    assert result.returncode == 0, result.stderr
    return Path(result.stdout.splitlines()[0]).name.partition(".so")[0]


def test_a_program_that_does_not_show_its_mpi_gets_the_build_of_its_launcher(prefix, tmp_path):
    """A program that does not show its MPI gets the build for the MPI of the launcher that has started it."""
    script = tmp_path / "script"
    script.write_text('#!/bin/sh\necho "$LD_PRELOAD"\n')
    script.chmod(0o755)
    for path in (script, program(tmp_path)):
        assert launched(prefix, [MPI_NAME], path) == THIS
        assert launched(prefix, [OTHER_MPI], path) == OTHER
        # with two launchers, nothing shows which one is nearer
        assert launched(prefix, [MPI_NAME, OTHER_MPI], path) == THIS
        assert launched(prefix, [OTHER_MPI], f"--mpi={MPI_NAME}", path) == THIS


def test_a_program_that_shows_its_mpi_gets_its_build_under_any_launcher(prefix, tmp_path):
    """A program that needs an MPI library gets the build for this MPI, whatever the launcher is."""
    assert launched(prefix, [OTHER_MPI], program(tmp_path, MPI_NAME)) == THIS
    assert launched(prefix, [MPI_NAME], program(tmp_path, OTHER_MPI)) == OTHER


# ---- libqmpi-any.so, a library that can be preloaded into all programs

def any_of(prefix):
    return next(prefix.rglob("libqmpi-any.so"))


def run_under_any(prefix, *command, preload="{any}", timeout=None, **variables):
    env = {**clean_environment(), **variables, "LD_PRELOAD": preload.format(any=any_of(prefix))}
    return run_command(command, env, **({"timeout": timeout} if timeout else {}))


def libraries(result):
    """Returns the names in LD_PRELOAD, without versions."""
    return [Path(path).name.partition(".so")[0] for path in result.stdout.splitlines()[0].split(":")]


needs_own_file = pytest.mark.skipif(EMULATED, reason="the library does not execute the program again: in an emulator, stat says "
                                                     "that /proc/self/exe is the emulator")


@needs_own_file
@pytest.mark.parametrize("mpi", [MPI_NAME, OTHER_MPI])
def test_libqmpi_any_gives_each_program_the_build_for_its_mpi(prefix, mpi, tmp_path):
    result = run_under_any(prefix, program(tmp_path, mpi, mark=MARKS[mpi]), QMPI_TOOLS="")
    assert libraries(result) == [build_for(mpi), "libqmpi-any"]
    assert result.returncode == 0 and result.stderr == ""


@needs_own_file
def test_libqmpi_any_corrects_the_choice_of_the_calling_program(prefix, tmp_path):
    """Under the launcher of one MPI, runs a script that runs programs of both MPIs."""
    script = tmp_path / "script"
    paths = []
    for mpi in MPI_NAME, OTHER_MPI:
        (tmp_path / mpi).mkdir()
        paths.append(program(tmp_path / mpi, mpi, mark=MARKS[mpi]))
    script.write_text('#!/bin/sh\necho "$LD_PRELOAD"\n' + "".join(f"{path}\n" for path in paths))
    script.chmod(0o755)
    result = run_under_any(prefix, script, **LAUNCHED[OTHER_MPI])
    shown = result.stdout.splitlines()
    assert [Path(shown[place].split(":")[0]).name.partition(".so")[0] for place in (0, 1, 3)] == [OTHER, THIS, OTHER]
    assert all(line.endswith(f":{any_of(prefix)}") for line in (shown[0], shown[1], shown[3]))


@needs_own_file
def test_libqmpi_any_keeps_the_order_of_the_other_preloaded_libraries(prefix, tmp_path):
    for name in "one", "two":
        (tmp_path / "none.c").write_text("int nothing;\n")
        subprocess.run([compiler(), "-shared", "-fPIC", "-o", tmp_path / f"{name}.so", tmp_path / "none.c"], check=True)
    value = f"{tmp_path}/one.so {{any}}:{tmp_path}/two.so"
    result = run_under_any(prefix, program(tmp_path, MPI_NAME, mark=MARKS[MPI_NAME]), preload=value)
    assert libraries(result) == [THIS, "one", "libqmpi-any", "two"]


def test_a_program_without_mpi_and_launcher_is_left_alone(prefix, tmp_path):
    assert libraries(run_under_any(prefix, program(tmp_path))) == ["libqmpi-any"]


SHOW = """
#include <stdio.h>
#include <unistd.h>
extern int MPI_Initialized(int *);
int main(int argc, char **argv)
{
    char name[64] = "";
    FILE *file = fopen("/proc/self/comm", "r");
    if (argc > 9)
        MPI_Initialized(0); /* never called; makes the program need the library */
    printf("%d %d %s", (int)getpid(), argc, fgets(name, sizeof name, file));
    for (int i = 0; i < argc; i++)
        printf("<%s>\\n", argv[i]);
    return 7;
}
"""


def test_a_program_that_is_executed_again_keeps_its_process_arguments_name_and_status(prefix, tmp_path):
    program(tmp_path, MPI_NAME, mark=MARKS[MPI_NAME])
    (tmp_path / "show.c").write_text(SHOW)
    subprocess.run([compiler(), "-o", tmp_path / "show", tmp_path / "show.c", f"-L{tmp_path}",
                    f"-l:{SONAMES[MPI_NAME]}", f"-Wl,-rpath,{tmp_path}"], check=True)
    script = 'cd "$2"; echo $$; export LD_PRELOAD="$1"; exec -a "a name" ./show "" "two words"'
    result = run_command(["bash", "-c", script, "bash", any_of(prefix), tmp_path], clean_environment())
    process, *lines = result.stdout.splitlines()
    assert lines == [f"{process} 3 show", "<a name>", "<>", "<two words>"]
    assert (result.returncode, result.stderr) == (7, "")


def test_libqmpi_any_reports_a_missing_build_only_if_tools_are_wanted(prefix, tmp_path):
    """If the build for the MPI of the program is missing, there is a message only if tools are wanted."""
    folder = tmp_path / "alone"
    (folder / "any").mkdir(parents=True)
    shutil.copy(any_of(prefix), folder / "any")
    run = program(tmp_path, MPI_NAME, mark=MARKS[MPI_NAME])
    env = {**clean_environment(), "LD_PRELOAD": str(folder / "any" / "libqmpi-any.so")}
    silent, asked = run_command([run], env), run_command([run], {**env, "QMPI_TOOLS": "count"})
    assert libraries(silent) == libraries(asked) == ["libqmpi-any"]
    assert silent.stderr == ""
    assert f"there is no {THIS}.so.0 in {folder}/, so the program runs without tools" in asked.stderr


@needs_own_file
def test_a_shell_that_defines_functions_of_the_environment_starts(prefix, tmp_path):
    """bash defines setenv and other functions of the C library itself. Its name stays that of the script."""
    script = tmp_path / "script"
    script.write_text('#!/bin/bash\necho "$LD_PRELOAD"; cat /proc/$$/comm; env | grep QMPI_ANY\n')
    script.chmod(0o755)
    result = run_under_any(prefix, script, **LAUNCHED[MPI_NAME], timeout=20)
    assert libraries(result) == [THIS, "libqmpi-any"]
    assert result.stdout.splitlines()[1:] == ["script"]


@needs_own_file
def test_a_program_with_address_sanitizer_starts_under_libqmpi_any(prefix, tmp_path):
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    built = subprocess.run([compiler(), "-fsanitize=address", "-o", tmp_path / "empty", tmp_path / "empty.c"],
                           capture_output=True)
    if built.returncode:
        pytest.skip("the compiler has no AddressSanitizer")
    for launcher in {}, LAUNCHED[MPI_NAME]:
        result = run_under_any(prefix, tmp_path / "empty", ASAN_OPTIONS="detect_leaks=0", **launcher)
        assert (result.returncode, result.stderr) == (0, "")


def small_prefix(prefix, folder):
    """Makes an installation that has only the libraries that are preloaded."""
    (folder / "any").mkdir(parents=True)
    shutil.copy(any_of(prefix), folder / "any")
    shutil.copy(any_of(prefix).parents[1] / f"{THIS}.so.0", folder)
    return folder


@needs_own_file
def test_libqmpi_any_preloads_by_a_path_that_the_loader_accepts(prefix, tmp_path):
    """The path to which a symbolic link leads may have a space, at which the loader would split it."""
    folder = small_prefix(prefix, tmp_path / "two words")
    (tmp_path / "link").symlink_to(folder)
    run = program(tmp_path, MPI_NAME, mark=MARKS[MPI_NAME])
    result = run_under_any(prefix, run, preload=f"{tmp_path}/link/any/libqmpi-any.so", timeout=20)
    assert libraries(result) == [THIS, "libqmpi-any"] and result.stderr == ""
    # by this name, the loader accepts libqmpi-any, but there is none by which it accepts libqmpi
    result = run_under_any(prefix, run, preload="libqmpi-any.so", LD_LIBRARY_PATH=str(folder / "any"),
                           QMPI_TOOLS="count", timeout=20)
    assert libraries(result) == ["libqmpi-any"]
    assert f"{folder}/{THIS}.so.0 cannot be preloaded" in result.stderr and "a space" in result.stderr


@needs_own_file
def test_libqmpi_any_keeps_a_libqmpi_of_another_installation(prefix, tmp_path):
    """A libqmpi for the program's MPI is not joined by another one, whatever its installation is."""
    folder = small_prefix(prefix, tmp_path / "other")
    run = program(tmp_path, MPI_NAME, mark=MARKS[MPI_NAME])
    for value in f"{folder}/{THIS}.so.0:{{any}}", f"{{any}}:{folder}/{THIS}.so.0":
        result = run_under_any(prefix, run, preload=value)
        assert result.stdout.splitlines()[0] == value.format(any=any_of(prefix))
    result = run_under_any(prefix, run, preload=f"{{any}}:{folder}/any/libqmpi-any.so")
    assert sorted(libraries(result)) == sorted([THIS, "libqmpi-any", "libqmpi-any"])


@needs_own_file
def test_the_command_of_another_installation_has_its_own_libqmpi_and_tools(prefix, tmp_path):
    """A user's installation works where a site preloads qmpi."""
    subprocess.run(["cp", "-a", prefix, tmp_path / "user"], check=True)
    command, libdir = tmp_path / "user/bin" / QMPI.name, any_of(tmp_path / "user").parents[1]
    tools = libdir / f"qmpi{SUFFIXES[MPI_NAME]}"
    shutil.copy(tools / "empty.so", tools / "mine.so")
    run, site = program(tmp_path), any_of(prefix).parents[1] / f"{THIS}.so.0"
    for value in "{any}", f"{site}:{{any}}", str(site):
        result = run_under_any(prefix, command, "check", "-t", "mine", preload=value, **LAUNCHED[MPI_NAME])
        assert result.returncode == 0 and f"{tools}/mine.so" in result.stdout
        result = run_under_any(prefix, command, "run", "-t", "mine", run, preload=value)
        assert result.stdout.splitlines()[0] == str((libdir / f"{THIS}.so.0").resolve())
    result = run_under_any(prefix, command, "doctor", "-t", "mine", preload=f"{site}:{{any}}")
    assert re.search(rf"^  wrong +LD_PRELOAD contains another libqmpi: {site.resolve()}$", result.stdout, re.M)
    assert re.search(rf"^  note +LD_PRELOAD contains a libqmpi-any of another .*: {any_of(prefix)}$", result.stdout, re.M)


@needs_own_file
def test_the_doctor_accepts_what_libqmpi_any_has_preloaded(prefix, tmp_path):
    """The shell of a job has the libqmpi for the launcher's MPI, which the command inherits."""
    run = program(tmp_path, MPI_NAME, mark=MARKS[MPI_NAME])
    command = f"'{prefix}/bin/{QMPI.name}' doctor -- '{run}'; true"
    result = run_under_any(prefix, "sh", "-c", command, **LAUNCHED[OTHER_MPI])
    assert re.search(rf"^  ok +preloaded: .*/{OTHER}\.so\.0, one of those among which libqmpi-any", result.stdout, re.M)
    assert "another libqmpi" not in result.stdout and "linked with libqmpi" not in result.stdout


MEMORY = """
import os, sys
file = os.memfd_create("program")
os.write(file, open(sys.argv[1], "rb").read())
os.environ["LD_PRELOAD"] = sys.argv[2]
os.execve(file, ["program"], os.environ)
"""


@needs_own_file
def test_a_program_without_a_path_is_executed_again(prefix, tmp_path):
    run = program(tmp_path, MPI_NAME, mark=MARKS[MPI_NAME])
    result = run_command([sys.executable, "-c", MEMORY, run, any_of(prefix)], clean_environment())
    assert libraries(result) == [THIS, "libqmpi-any"]


# As libraries do that lead programs to other files, and keep themselves preloaded.
KEEPER = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int execve(const char *path, char *const arguments[], char *const given[])
{
    static char entry[4096] = "LD_PRELOAD=";
    char *changed[1024];
    int i = 0;
    strcat(entry, getenv("LD_PRELOAD"));
    for (; given[i]; i++)
        changed[i] = strncmp(given[i], "LD_PRELOAD=", 11) ? given[i] : entry;
    changed[i] = NULL;
    return (int)syscall(SYS_execve, path, arguments, changed);
}
"""


@needs_own_file
def test_a_program_is_executed_again_at_most_once(prefix, tmp_path):
    """Another preloaded library may undo the change of LD_PRELOAD."""
    (tmp_path / "keeper.c").write_text(KEEPER)
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", tmp_path / "keeper.so", tmp_path / "keeper.c"], check=True)
    value = f"{{any}}:{tmp_path}/keeper.so"
    result = run_under_any(prefix, program(tmp_path, MPI_NAME, mark=MARKS[MPI_NAME]), preload=value, timeout=20)
    assert libraries(result) == ["libqmpi-any", "keeper"]


@pytest.mark.skipif(ABI, reason="the program is compiled for another MPI")
@needs_own_file
def test_tools_work_under_libqmpi_any(prefix):
    launcher = mpi_command("mpiexec", MPI_NAME, BUILD)
    if not launcher:
        pytest.skip(f"no launcher of {MPI_NAME} is installed")
    result = run_command([launcher, "-n", "2", "env", f"LD_PRELOAD={any_of(prefix)}", "QMPI_TOOLS=count",
                          PROGRAMS / "calls", "init", "finalize"], {**clean_environment(), **OPEN_MPI_SETTINGS})
    assert result.returncode == 0 and "count (layer 1): MPI calls of 2 ranks" in result.stderr


# ---- Real launchers

@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_a_real_launcher_shows_its_mpi(prefix, mpi):
    launcher = mpi_command("mpiexec", mpi, BUILD)
    if not launcher:
        pytest.skip(f"no launcher of {mpi} is installed")
    result = run_command([launcher, "-n", "1", prefix / "bin" / QMPI.name, "run", "-t", "", "--", "sh",
                          "-c", "echo $LD_PRELOAD"], {**clean_environment(), **OPEN_MPI_SETTINGS})
    assert Path(result.stdout.strip()).name.startswith(f"{build_for(mpi)}.so")


@pytest.mark.parametrize("mpi, file", [("mpich", "mpiexec.hydra"), ("openmpi", "orterun")])
def test_a_launcher_gets_the_build_for_its_mpi(prefix, mpi, file, tmp_path):
    (tmp_path / file).write_text('#!/bin/sh\necho "$LD_PRELOAD"\n')
    (tmp_path / file).chmod(0o755)
    (tmp_path / "mpiexec").symlink_to(file)
    assert preloaded(prefix, tmp_path / "mpiexec")[0] == build_for(mpi)


def test_the_option_mpi_wins_over_the_library_of_the_program(prefix, tmp_path):
    """The option --mpi counts for more than the MPI library that the program needs."""
    path = program(tmp_path, OTHER_MPI)
    assert preloaded(prefix, f"--mpi={MPI_NAME}", path)[0] == THIS


def test_a_missing_build_of_the_option_mpi_is_reported(tmp_path):
    result = run_command([QMPI, "run", f"--mpi={OTHER_MPI}", "true"], clean_environment())
    assert result.returncode == 2
    assert f"--mpi={OTHER_MPI}: {OTHER}.so.0 not found in" in result.stderr
    assert f"meson setup -Dmpi={OTHER_MPI}" in result.stderr


def test_an_unknown_mpi_is_an_error():
    for command in (["run", "--mpi=other", "true"], ["check", "--mpi=other"]):
        result = run_command([QMPI, *command], clean_environment())
        assert result.returncode == 2
        assert "--mpi must be mpich, openmpi or abi, not 'other'" in result.stderr


def test_check_has_the_option_mpi_too(prefix):
    command = [prefix / "bin" / QMPI.name, "check", "-t", "count"]
    result = run_command([*command, f"--mpi={MPI_NAME}"], clean_environment())
    assert result.returncode == 0 and "layer 1: count" in result.stdout
    result = run_command([*command, f"--mpi={OTHER_MPI}"], clean_environment())
    assert (result.returncode, result.stdout) == (2, "")
    assert f"--mpi={OTHER_MPI}: no qmpi command for this MPI is installed" in result.stderr
    result = run_command([QMPI, "check", f"--mpi={OTHER_MPI}", "-t", "count"], clean_environment())
    assert result.returncode == 2 and f"{OTHER}.so.0 not found in" in result.stderr


def test_a_program_of_another_mpi_without_its_build_stops_with_one_message(tmp_path):
    """If only one build is installed, libqmpi itself reports the problem, at the first MPI call."""
    (tmp_path / "call.c").write_text(
        "extern int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n")
    for name, mark, words in (
            (SONAMES[OTHER_MPI], {"openmpi": "int ompi_mpi_comm_world;\n",
                                  "mpich": "int MPIR_Dup_fn;\n"}[OTHER_MPI], f"--mpi={OTHER_MPI}"),
            ("libothermpi.so.1", "", "neither MPICH nor Open MPI")):
        (tmp_path / "mpi.c").write_text(
            LIBRARY + mark + "int PMPI_Init(int *a, char ***b) { return !a && b; }\n"
            "int MPI_Init(int *a, char ***b) { return PMPI_Init(a, b); }\n")
        subprocess.run([compiler(), "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o",
                        tmp_path / name, tmp_path / "mpi.c"], check=True)
        subprocess.run([compiler(), "-o", tmp_path / "call", tmp_path / "call.c", f"-L{tmp_path}",
                        f"-l:{name}", f"-Wl,-rpath,{tmp_path}"], check=True)
        result = run_command([QMPI, "run", "-t", "empty", tmp_path / "call"], clean_environment())
        assert result.returncode == 2
        assert words in result.stderr and "hint: " in result.stderr
        if name == SONAMES[OTHER_MPI]:
            assert f"  hint: use `qmpi run --mpi={OTHER_MPI}`" in result.stderr
        result = run_command([QMPI, "run", "-t", "empty", "--on-error=skip", tmp_path / "call"],
                             clean_environment())
        assert result.returncode == 0 and words in result.stderr
        # The on-error of a file holds for the tools in this file, and the message names the file.
        config = tmp_path / "qmpi.conf"
        for on_error, status in (("skip", 0), ("stop", 2)):
            config.write_text(f"[below]\non-error = {on_error}\nempty\n")
            result = run_command([QMPI, "run", "-c", config, tmp_path / "call"], clean_environment())
            assert result.returncode == status
            assert result.stderr.startswith(f"qmpi: {config}: ") and words in result.stderr


@pytest.mark.skipif(not OTHER_BUILD, reason="QMPI_OTHER_BUILD names no build for the other MPI")
def test_both_builds_in_one_prefix_run_programs_of_both(tmp_path):
    install(OTHER_BUILD, tmp_path)
    prefix = install(BUILD, tmp_path)
    env = {**clean_environment(), **OPEN_MPI_SETTINGS, "OMPI_MCA_ess_singleton_isolated": "1"}
    other_calls = Path(OTHER_BUILD) / "tests/stack/programs/calls"
    for command in ("qmpi", "qmpi-openmpi"):
        for calls, mpi in ((PROGRAMS / "calls", MPI_NAME), (other_calls, OTHER_MPI)):
            result = run_command([prefix / "bin" / command, "run", "-t", "count", calls, "init",
                                  "barrier", "finalize"], env)
            assert result.returncode == 0
            assert "count (layer 1): MPI calls of 1 rank" in result.stderr
            library = "Open MPI" if mpi == "openmpi" else "MPICH"
            shown = run_command([prefix / "bin" / command, "run", "-t", "profile", calls, "init",
                                 "barrier", "finalize"], env)
            assert library in shown.stderr
        for mpi, folder in (("mpich", "/qmpi/"), ("openmpi", "/qmpi-openmpi/")):
            for option, launcher in ((f"--mpi={mpi}", {}), ("-tempty:count", LAUNCHED[mpi])):
                checked = run_command([prefix / "bin" / command, "check", "-t", "empty:count", option],
                                      {**env, **launcher})
                assert checked.returncode == 0 and checked.stdout.startswith("layer 1: empty")
                assert f"{folder}empty.so" in checked.stdout and "/qmpi-abi/count.so" in checked.stdout
    for tool, folders in (("empty", {"qmpi", "qmpi-openmpi"}), ("count", {"qmpi-abi"})):
        assert {path.parent.name for path in prefix.rglob(f"{tool}.so")} == folders


@pytest.mark.skipif(not OTHER_BUILD, reason="QMPI_OTHER_BUILD names no build for the other MPI")
def test_a_tool_of_the_other_mpi_is_refused_with_one_message(tmp_path):
    tool = Path(OTHER_BUILD) / "tools/empty.so"
    env = {**clean_environment(), **(OPEN_MPI_SETTINGS if OPEN_MPI else {}),
           "OMPI_MCA_ess_singleton_isolated": "1"}
    result = run_command([QMPI, "run", "-t", tool, PROGRAMS / "calls", "init", "finalize"], env)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"{tool} was built for another MPI: it needs {OTHER}.so.0" in result.stderr
    assert result.stderr.count("qmpi: -t, entry 1 ") == 1


@pytest.mark.skipif(not OTHER_BUILD, reason="QMPI_OTHER_BUILD names no build for the other MPI")
def test_a_preloaded_libqmpi_of_the_other_mpi_does_no_harm(tmp_path):
    """Some sites set LD_PRELOAD for all users."""
    install(OTHER_BUILD, tmp_path)
    prefix = install(BUILD, tmp_path)
    env = {**clean_environment(), **OPEN_MPI_SETTINGS, "OMPI_MCA_ess_singleton_isolated": "1",
           "QMPI_TOOLS": "count:profile,output=/dev/null"}
    this, other = (next(prefix.rglob(f"{name}.so")) for name in (THIS, OTHER))
    calls = PROGRAMS / "calls"
    counted = "count (layer 1): MPI calls of 1 rank"
    for preload in (other, f"{other} {this}", f"{this}:{other}", f"{other.name}:{this}"):
        env["LD_PRELOAD"] = str(preload)
        env["LD_LIBRARY_PATH"] = str(this.parent)
        for command in ("qmpi", "qmpi-openmpi"):
            path = prefix / "bin" / command
            result = run_command([path, "run", calls, "init", "barrier", "finalize"], env, timeout=60)
            assert (result.returncode, counted in result.stderr) == (0, True), result.stderr
            result = run_command([path, "check", f"--mpi={MPI_NAME}"], env, timeout=60)
            assert (result.returncode, "layer 2: profile" in result.stdout) == (0, True)
    env |= {"LD_PRELOAD": f"{this}:{other}", "QMPI_TOOLS": "count"}
    result = run_command([calls, "init", "barrier", "finalize"], env, timeout=60)
    assert (result.returncode, counted in result.stderr) == (0, True), result.stderr
    for preload in (other, f"{other}:{this}"):
        env["LD_PRELOAD"] = str(preload)
        stops = run_command([calls, "init", "barrier", "finalize"], env, timeout=60)
        assert stops.returncode == 2 and "but this libqmpi was built for" in stops.stderr
        runs_on = run_command([calls, "init", "barrier", "finalize"], {**env, "QMPI_ON_ERROR": "skip"}, timeout=60)
        assert runs_on.returncode == 0 and "the run continues without tools" in runs_on.stderr
    assert f"LD_PRELOAD also contains {this}" in runs_on.stderr
