# SPDX-License-Identifier: MIT
"""Tests that an installation works after a move to another prefix, and that tools outside our tree can be built
against it."""
import json
import os
import re
import shutil
import subprocess

import pytest
from archives import HAS_READER, check_archives
from support import (ASAN, BUILD, LIBQMPI, MPICC, MPI_NAME, PROGRAMS, QMPI, SOURCE, clean_environment,
                     needs_helper, run_command, run_job, wait_until)

PACKAGE = LIBQMPI.stem.removeprefix("lib")  # qmpi, qmpi-openmpi

TOOL = r"""
#include <qmpi/qmpi.h>
#include <stdio.h>

static int barrier(QMPI_Context c, MPI_Comm comm)
{
    fprintf(stderr, "outside saw MPI_Barrier\n");
    return QMPIX_NEXT(c, Barrier)(QMPIX_NEXT_CONTEXT(c), comm);
}

static void init(int tool_id)
{
    QMPIX_REGISTER(tool_id, Barrier, barrier);
}

__attribute__((constructor)) static void announce(void)
{
    QMPI_Register_tool_name("outside", init);
}
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Installs into a staging folder, and moves the result, because nothing may depend on the configured
    prefix."""
    stage = tmp_path_factory.mktemp("stage")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", stage], check=True,
                   capture_output=True)
    moved = tmp_path_factory.mktemp("moved") / "qmpi"
    prefix = next(path.parent for path in stage.rglob("bin") if (path / QMPI.name).exists())
    shutil.move(prefix, moved)
    return moved


def environment(**variables):
    return {**clean_environment(), **{key: str(value) for key, value in variables.items()},
            **({"LD_PRELOAD": ASAN} if ASAN else {})}


def test_the_command_finds_the_library_and_the_tools_of_its_prefix(prefix):
    result = run_command([prefix / "bin" / QMPI.name, "check", "-t", "count:empty"], environment())
    assert result.returncode == 0
    assert f"{prefix}/lib" in result.stdout


def test_the_command_finds_the_manifests_of_its_tools_and_of_other_projects(prefix):
    result = run_command([prefix / "bin" / QMPI.name, "list"], environment())
    assert result.returncode == 0 and "without a manifest" not in result.stdout
    described = json.loads((SOURCE / "tools/count/count.json").read_text())["description"]
    assert f"count        {described}\n" in result.stdout
    folder = next(prefix.rglob(f"{PACKAGE}/empty.so")).parent / "manifests"
    assert {path.name for path in folder.iterdir()} == {path.name for path in (SOURCE / "manifests").iterdir()}


def test_a_program_runs_under_the_installed_library(prefix):
    result = run_command([prefix / "bin" / QMPI.name, "run", "-t", "count", PROGRAMS / "calls", "init",
                          "barrier", "finalize"],
                         environment())
    assert result.returncode == 0
    assert "count (layer 1)" in result.stderr


def test_installed_tools_find_the_modules_and_programs_that_they_use(prefix, tmp_path):
    """The tools of this test serve all MPI libraries. They and what they use are therefore in the folder qmpi-abi."""
    result = run_command([prefix / "bin" / QMPI.name, "run", "-t", "trace:profile,format=html,output=page.html",
                          PROGRAMS / "calls", "init", "barrier", "finalize"], environment(), cwd=tmp_path)
    assert result.returncode == 0 and result.messages == []
    assert (tmp_path / "page.html").exists()
    check_archives(tmp_path)
    assert (tmp_path / "qmpi-trace" / "traces.otf2").exists() or not HAS_READER


@pytest.mark.skipif(bool(ASAN), reason="a tool that is built outside is not sanitized")
def test_a_tool_is_built_with_pkg_config_and_runs(prefix, tmp_path):
    (tmp_path / "outside.c").write_text(TOOL)
    folder = next(prefix.rglob(f"pkgconfig/{PACKAGE}.pc")).parent
    env = environment(PKG_CONFIG_PATH=folder)
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", PACKAGE], env=env, check=True,
        capture_output=True, text=True).stdout.split()
    subprocess.run([MPICC, "-shared", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o",
                    tmp_path / "outside.so", tmp_path / "outside.c", *flags], check=True, env=env)
    result = run_command([prefix / "bin" / QMPI.name, "run", "-t", "outside", "--tool-path", tmp_path,
                          PROGRAMS / "calls", "init",
                          "barrier", "finalize"], env)
    assert "outside saw MPI_Barrier" in result.stderr


def test_the_installed_headers_stand_in_one_folder_per_mpi(prefix):
    headers = {os.path.relpath(path, prefix / "include") for path in prefix.rglob("*.h")}
    assert {"qmpi/qmpi.h", "qmpi/wrappers.h", f"qmpi/{MPI_NAME}/functions.h",
            f"qmpi/{MPI_NAME}/wrappers.h"} <= headers


def test_documents_examples_and_schema_are_installed_and_their_links_hold(prefix):
    documents = prefix / "share" / "doc" / "qmpi"
    for name in ("README.md", "examples/heat.c", "docs/run/qmpi-profile-2.schema.json",
                 "docs/run/qmpi-comparison-1.schema.json", "docs/run/qmpi-manifest-1.schema.json",
                 "tools/profile/README.md"):
        assert (documents / name).is_file(), name
    assert not [path for path in documents.rglob("*") if path.name in ("meson.build", "pages.py")]
    for page in documents.rglob("*.md"):
        text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            # Links to the sources work only for readers of the source tree.
            missing = os.path.normpath(page.parent / target)
            if not re.match(r"[a-z]+:", target) and not os.path.exists(missing):
                assert os.path.relpath(missing, documents).split("/")[0] in ("src", "lib", "tests", "include"), target


def test_a_build_without_tests_builds_no_tests_examples_or_benchmarks(tmp_path):
    setup = run_command(["meson", "setup", tmp_path / "build", SOURCE, f"-Dmpi={MPI_NAME}", "-Dtests=false"],
                        {**clean_environment(), "PATH": os.environ["PATH"]}, timeout=300)
    assert setup.returncode == 0
    targets = json.loads(run_command(["meson", "introspect", "--targets", tmp_path / "build"],
                                     clean_environment()).stdout)
    assert any(target["name"] == "profile" and target["installed"] for target in targets)
    folders = {os.path.relpath(target["defined_in"], SOURCE).split("/")[0] for target in targets}
    assert not folders & {"tests", "examples", "bench"}


def installed_files(build):
    return set(json.loads(run_command(["meson", "introspect", "--installed", build], clean_environment()).stdout).values())


@pytest.mark.skipif(MPI_NAME == "abi", reason="this build is for the standard ABI, like the other one of this test")
def test_a_build_with_shared_false_installs_no_file_of_another_build(tmp_path):
    """Uninstalling one of the two builds would otherwise remove files of the other."""
    setup = run_command(["meson", "setup", tmp_path / "build", SOURCE, "-Dmpi=abi", "-Dtests=false", "-Dshared=false",
                         "-Dstatic=true"],
                        {**clean_environment(), "PATH": os.environ["PATH"]}, timeout=300)
    assert setup.returncode == 0
    other, this = installed_files(tmp_path / "build"), installed_files(BUILD)
    assert any(path.endswith("bin/qmpi-abi") for path in other) and any(path.endswith("profile.so") for path in this)
    # Both builds install a file of this name, and src/abi_pkgconfig.py decides which of the two stays.
    assert {path for path in other & this if not path.endswith("/qmpi-abi.pc")} == set()
    assert any(path.endswith("/libqmpi-abi.a") for path in other)
    assert build_options()["static"] or not any(path.endswith(".a") for path in this)


def build_options():
    options = run_command(["meson", "introspect", "--buildoptions", BUILD], clean_environment()).stdout
    return {option["name"]: option["value"] for option in json.loads(options)}


def segment_alignment(library):
    """Returns the alignment of a library's segments: the largest size that pages may have on its processor."""
    listed = run_command(["readelf", "-lW", library], clean_environment()).stdout
    return max(int(line.split()[-1], 16) for line in listed.splitlines() if line.split()[:1] == ["LOAD"])


def test_an_installation_takes_about_8_mb(prefix):
    """Adds up the sizes of the files. A build with optimization 3 is 3 % larger than others, so its limit is higher. The
    gap between two segments of a library may be as large as their alignment."""
    options = build_options()
    if not options["strip"] or options["static"] or options["optimization"] not in ("2", "3", "s") or \
            options["b_sanitize"] != "none" or options["b_coverage"]:
        pytest.skip("the build is not configured as one for users")
    sizes = {path: path.stat().st_size for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()}
    libraries = [path for path in sizes if path.read_bytes()[:4] == b"\x7fELF"]
    limit = (7_990_000 if options["optimization"] == "3" else 7_740_000) + len(libraries) * segment_alignment(LIBQMPI)
    assert len(sizes) > 100 and sum(sizes.values()) <= limit, \
        sorted((size, str(path.relative_to(prefix))) for path, size in sizes.items())[-20:]


def test_installed_libraries_and_commands_have_no_debug_information(prefix):
    """The installation strips its files unless the build has -Dstrip=false."""
    if not build_options()["strip"]:
        pytest.skip("the build keeps debug information")
    files = [path for path in prefix.rglob("*")
             if path.is_file() and path.read_bytes()[:4] in (b"!<ar", b"\x7fELF")]
    assert len(files) > 8
    for path in files:
        assert ".debug_info" not in subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout


def test_files_that_do_not_depend_on_the_mpi_library_are_installed_once(prefix):
    """One prefix may contain the builds for three MPI libraries."""
    shared = next(path for path in prefix.rglob("qmpi-abi") if (path / "count.so").exists())
    for name in ("qmpi-helper", "qmpi-html.module", "qmpi-otf2.module"):
        assert [path.parent for path in prefix.rglob(name)] == [shared]


@pytest.mark.skipif(MPI_NAME == "abi", reason="the test compiles a tool with an MPI's compiler command")
@needs_helper
def test_the_installed_library_finds_the_program_that_removes_copies(prefix, tmp_path):
    """This program, qmpi-helper, is not in the directory of the library's own tools. It must remove the copies of tools
    here, because the process of `qmpi check` ends without removing them."""
    tool = tmp_path / "libpmpi.so"
    (tmp_path / "pmpi.c").write_text("#include <mpi.h>\nint MPI_Barrier(MPI_Comm c) { return PMPI_Barrier(c); }\n")
    subprocess.run([MPICC, "-shared", "-fPIC", "-o", tool, tmp_path / "pmpi.c"], check=True)
    result = run_command([prefix / "bin" / QMPI.name, "check", "-t", f"{tool}:{tool}"],
                         environment(QMPI_DEBUG="load", TMPDIR=tmp_path))
    assert result.returncode == 0, result.stderr
    assert "is copied to" in result.stderr and "cannot start" not in result.stderr
    assert wait_until(lambda: not list(tmp_path.glob("qmpi-*")))


def test_libqmpi_does_not_need_glibc_2_35(prefix):
    """libqmpi looks for _dl_find_object of glibc 2.35 at run time, so it does not need this version."""
    library = next(prefix.rglob(f"{LIBQMPI.name}"))
    needed = subprocess.run(["readelf", "-VW", library], check=True, capture_output=True, text=True).stdout
    assert "GLIBC_2.35" not in needed


def test_bash_completes_commands_options_and_stacks(prefix, tmp_path):
    script = next(prefix.rglob("bash-completion/completions/qmpi"))
    assert (script.parent / "qmpi-openmpi").resolve() == script
    cases = {
        "qmpi ": "run list check doctor new functions report trace vars",
        "qmpi re": "report",
        "qmpi run --on": "--on-error=",
        "qmpi run --on-error=": "stop skip",
        "qmpi run --on-error sk": "skip",
        "qmpi report --sort ": "time calls bytes name",
        "qmpi report --html -f cs": "csv",
        "qmpi trace me": "merge",
        "qmpi trace --to csv merge me": "",
        "qmpi run -t cou": "count",
        "qmpi run -t count:emp": "empty",
        "qmpi run --tools=count:emp": "empty",
        "qmpi run -t empty:count,": "count,output=",
        f"qmpi run -t count -- {SOURCE}/LICEN": f"{SOURCE}/LICENSE",
    }
    for line, expected in cases.items():
        words = ["" if part.isspace() else part for part in re.findall(r"[:=]+|[^:=\s]+|\s+$", line)]
        code = f"""source {script}; compopt() {{ :; }}
            COMP_LINE=$1 COMP_POINT=${{#1}}; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _qmpi {prefix / "bin" / QMPI.name}; echo "${{COMPREPLY[@]}}" """
        result = run_command(["bash", "-c", code, "bash", line, *words], environment(), cwd=tmp_path)
        assert result.stdout == expected + "\n", line


# Types the line $3 and a tab into zsh, and prints the completed line. $1 is the directory of completions, and $2 that
# of the command.
ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=($1 \$fpath); PATH=$2:\$PATH; autoload -U compinit; compinit -D; bindkey '^I' complete-word
    setopt no_list_beep; stty cols 200; print RE''ADY"
while zpty -r z line && [[ $line != *READY* ]]; do :; done
zpty -w -n z "$3"$'\t'
zpty -w z $'\C-a'"print -r -- 'GOT"$'\C-e'"'"
while [[ $out != *$'\n'GOT* ]] && zpty -r z line; do out+=$line; done
print -r -- ${${out##*$'\n'GOT}%%$'\r'*}
"""


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
@pytest.mark.skipif(bool(ASAN), reason="zsh would run with the sanitizer, too")
@pytest.mark.parametrize("line, expected", [
    ("rep", "report"), ("run --on-err", "run --on-error="), ("run --on-error=sk", "run --on-error=skip"),
    ("run --on-error sk", "run --on-error skip"), ("report -s ca", "report -s calls"), ("trace me", "trace merge"),
    ("run -t cou", "run -t count"), ("run -t count:emp", "run -t count:empty"),
    ("run -t empty:count,out", "run -t empty:count,output="),
])
def test_zsh_completes_commands_options_and_stacks(prefix, line, expected, tmp_path):
    result = run_command(["zsh", "-f", "-c", ZSH, "zsh", prefix / "share" / "zsh" / "site-functions", prefix / "bin",
                          f"{QMPI.name} {line}"], environment(TERM="xterm"), cwd=tmp_path)
    assert result.stdout == f"{QMPI.name} {expected}\n"


CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(outside C)
find_package(PACKAGE REQUIRED)
add_library(outside MODULE outside.c)
target_link_libraries(outside PRIVATE PACKAGE::PACKAGE)
set_target_properties(outside PROPERTIES PREFIX "")
"""


@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")
@pytest.mark.skipif(bool(ASAN), reason="programs and tools that are built outside are not sanitized")
def test_cmake_finds_the_package(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.replace("PACKAGE", PACKAGE))
    (tmp_path / "outside.c").write_text(TOOL)
    for command in (["-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", "."], ["--build", "build"]):
        result = run_command(["cmake", *command], environment(), cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    result = run_job([prefix / "bin" / QMPI.name, "run", "-t", f"{tmp_path}/build/outside.so", "--", PROGRAMS / "calls",
                      "init", "barrier", "finalize"], environment(), ranks=2)
    assert result.stderr.count("outside saw MPI_Barrier") == 2


@pytest.mark.parametrize("page, name, report", [
    ("docs/write/README.md", "barriers", "layer 1: 2 barriers"),
    ("docs/write/observers.md", "slowest", "slowest: MPI_Barrier, "),
])
def test_the_tool_in_the_documents_is_the_example_and_works(page, name, report):
    code = re.search(r"```c\n(.*?)```", (SOURCE / page).read_text(), re.S).group(1)
    example = (SOURCE / f"examples/{name}.c").read_text()
    assert example.endswith(code)
    # run_job does not read the output through the launcher: the launcher of Open MPI 5 may deliver pieces of standard
    # error as standard output.
    result = run_job([QMPI, "run", "-t", f"{BUILD / 'examples'}/{name}.so:count", "--", PROGRAMS / "calls", "init",
                      "barrier", "barrier", "finalize"], environment(), ranks=2)
    assert result.stderr.count(report) == 2
