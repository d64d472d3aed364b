# SPDX-License-Identifier: MIT
"""Tests qmpi new: it writes a complete project, which builds and runs outside our tree against an
installation, and it refuses bad names and folders."""
import json
import os
import shlex
import shutil
import subprocess

import pytest

from cli_support import MPI_NAME, PACKAGE, compiler, qmpi
from support import ASAN, BUILD, MPIEXEC, PROGRAMS, SOURCE, clean_environment, run_command

KINDS = {"c": [], "observer": ["--observer"], "cxx": ["--cxx"], "cxx-observer": ["--observer", "--cxx"]}
FILES = {".gitignore", "README.md", "meson.build", "smoke.c", "smoke.sh"}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Makes an installation and moves it, as users may do."""
    stage = tmp_path_factory.mktemp("stage")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", stage], check=True,
                   capture_output=True)
    moved = tmp_path_factory.mktemp("moved") / "qmpi"
    shutil.move(next(path.parent for path in stage.rglob("bin") if (path / PACKAGE).exists()), moved)
    return moved


def meson(folder, *arguments, **variables):
    environment = {**clean_environment(), "PATH": os.environ["PATH"], **variables}
    environment.pop("DESTDIR", None)
    result = run_command(["meson", *arguments], environment, timeout=300, cwd=folder)
    assert result.returncode == 0
    return result


def build(folder, prefix, *options):
    """Builds a project against the qmpi in `prefix`, with warnings as errors."""
    pkg_config = next(prefix.rglob(f"pkgconfig/{PACKAGE}.pc")).parent
    meson(folder, "setup", "build", f"--pkg-config-path={pkg_config}", "-Dwerror=true", *options)
    meson(folder, "compile", "-C", "build")


outside = pytest.mark.skipif(bool(ASAN), reason="a tool that is built outside is not sanitized")


# ---- The files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_new_writes_a_whole_project(kind, tmp_path):
    result = qmpi("new", *KINDS[kind], "mine", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    source = "mine.cpp" if "cxx" in kind else "mine.c"
    folder = tmp_path / "mine"
    assert {path.name for path in folder.iterdir()} == FILES | {source, "mine.json"}
    assert os.access(folder / "smoke.sh", os.X_OK)
    for path in folder.iterdir():
        text = path.read_text()
        assert "@NAME@" not in text and "@SOURCE@" not in text and "@LANGUAGES@" not in text
    code = (folder / source).read_text()
    manifest = json.loads((folder / "mine.json").read_text())
    assert '"mine"' in code and manifest["name"] == "mine"
    # the tool registers the texts of its manifest
    for text in (manifest["description"], *manifest["options"][0].values()):
        assert f'"{text}"' in code
    for line in ("cd mine", "meson setup build", "meson test -C build", "-t mine -- build/smoke"):
        assert line in result.stdout


@outside
@pytest.mark.parametrize("kind", KINDS)
def test_a_project_builds_and_passes_its_test_outside_our_tree(kind, prefix, tmp_path):
    if "cxx" in kind:
        compiler("c++")
    command = [prefix / "bin" / PACKAGE, "new", *KINDS[kind], "mine"]
    written = run_command(command, clean_environment(), cwd=tmp_path)
    setup = shlex.split(next(line for line in written.stdout.splitlines() if "meson setup" in line))
    assert f"--pkg-config-path={next(prefix.rglob('pkgconfig/' + PACKAGE + '.pc')).parent}" in setup
    meson(tmp_path / "mine", *setup[1:], "-Dwerror=true")
    meson(tmp_path / "mine", "test", "-C", "build")
    run = written.stdout.splitlines()[-1]
    result = run_command(["sh", "-c", run], {**clean_environment(), "PATH": os.environ["PATH"]},
                         cwd=tmp_path / "mine")
    assert result.returncode == 0 and "mine (layer 1): 6 messages, 96 bytes" in result.stderr, run
    result = run_command(
        [MPIEXEC, "-n", "2", prefix / "bin" / PACKAGE, "run", "--tool-path", tmp_path / "mine/build",
         "-t", "count:mine:empty", "--", PROGRAMS / "calls", "init", "barrier", "finalize"],
        clean_environment())
    assert result.returncode == 0
    assert result.stderr.count("mine (layer 2): ") == 1


def test_the_build_of_a_project_gives_a_hint_if_it_finds_no_qmpi(tmp_path):
    qmpi("new", "mine", cwd=tmp_path)
    nowhere = {name: str(tmp_path) for name in ("PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR")}
    result = run_command(["meson", "setup", "build"],
                         {**clean_environment(), "PATH": os.environ["PATH"], **nowhere}, timeout=300,
                         cwd=tmp_path / "mine")
    assert result.returncode == 1
    assert "hint: meson setup build --pkg-config-path=" in result.stdout


@pytest.fixture(scope="module")
def project(prefix, tmp_path_factory):
    """Builds a tool against its own copy of the installation, in which the tool can be installed."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(prefix, folder / "prefix", symlinks=True)
    qmpi("new", "mine", cwd=folder)
    build(folder / "mine", folder / "prefix")
    return folder / "mine"


@outside
def test_an_option_that_is_no_number_is_refused(project):
    for value in ("many", "", "-1", "1k"):
        result = qmpi("check", "-t", f"./build/mine.so,min-bytes={value}", cwd=project)
        assert result.returncode == 2
        assert "min-bytes is not a valid number" in result.stderr


@outside
def test_the_tool_of_a_project_is_installed_among_the_tools_of_qmpi(project):
    meson(project, "install", "-C", "build")
    listed = run_command([project.parent / "prefix/bin" / PACKAGE, "list"], clean_environment()).stdout
    assert "mine         counts the messages sent by MPI_Send and MPI_Isend" in listed
    assert "min-bytes=0" in listed


@outside
def test_the_test_of_a_project_fails_if_the_tool_is_wrong(project):
    source = project / "mine.c"
    right = source.read_text()
    source.write_text(right.replace("layer->messages++;", "layer->messages += 2;"))
    result = run_command(["meson", "test", "-C", "build"],
                         {**clean_environment(), "PATH": os.environ["PATH"]}, cwd=project)
    source.write_text(right)
    assert result.returncode == 1


@outside
def test_a_project_can_be_built_against_the_build_folder_of_qmpi(tmp_path):
    written = qmpi("new", "--observer", "mine", cwd=tmp_path)
    setup = next(line for line in written.stdout.splitlines() if "meson setup" in line)
    assert str(BUILD) in setup
    meson(tmp_path / "mine", *shlex.split(setup)[1:])
    meson(tmp_path / "mine", "test", "-C", "build")


# ---- The project in subprojects/volume -----------------------------------------------------------


mpich_only = pytest.mark.skipif(MPI_NAME != "mpich", reason="the project in subprojects is made by MPICH's qmpi")


@mpich_only
def test_the_tool_in_subprojects_equals_the_output_of_the_command(tmp_path):
    """Checks that the project in our tree is the current output of `qmpi new`. Whoever changes a template
    must therefore also change this project, in which the change can be read as users see it."""
    qmpi("new", "volume", cwd=tmp_path)
    ours, written = SOURCE / "subprojects/volume", tmp_path / "volume"
    names = {path.name for path in ours.iterdir() if not path.name.startswith("build")}
    assert names == {path.name for path in written.iterdir()}
    for path in written.iterdir():
        assert (ours / path.name).read_text() == path.read_text(), path.name


@mpich_only
@outside
def test_the_tool_in_subprojects_builds_and_runs_outside_our_tree(prefix, tmp_path):
    folder = tmp_path / "elsewhere"
    shutil.copytree(SOURCE / "subprojects/volume", folder,
                    ignore=shutil.ignore_patterns("build*"))
    build(folder, prefix)
    meson(folder, "test", "-C", "build")


# ---- Names and places ----------------------------------------------------------------------------


def test_a_path_names_the_folder_and_its_last_part_the_tool(tmp_path):
    (tmp_path / "tools").mkdir()
    assert qmpi("new", "tools/my-own_2/", cwd=tmp_path).returncode == 0
    assert (tmp_path / "tools/my-own_2/my-own_2.c").exists()
    assert qmpi("new", tmp_path / "whole", cwd="/").returncode == 0
    assert (tmp_path / "whole/whole.c").exists()


@pytest.mark.parametrize("folder", ["it's a folder", "-e"])
def test_the_commands_that_are_printed_can_be_copied_to_a_shell(folder, tmp_path):
    (tmp_path / folder).mkdir()
    written = qmpi("new", "--", f"{folder}/mine", cwd=tmp_path).stdout
    enter = next(line for line in written.splitlines() if line.startswith("  cd "))
    result = run_command(["sh", "-c", f"{enter} && ls"], clean_environment(), cwd=tmp_path)
    assert "mine.c" in result.stdout.split()


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "mine").mkdir()
    assert qmpi("new", "mine", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("name, reason", [
    ("2fast", "not a valid tool name"), ("a b", "not a valid tool name"), ("a:b", "not a valid tool name"),
    ("-x", None), ("", "not a valid tool name"), (".", "not a valid tool name"), ("é", "not a valid tool name"),
    ("n" * 65, "not a valid tool name"), ("x/..", "not a valid tool name"),
    ("test", "reserved by the build system"), ("smoke", "reserved by the build system"), ("meson-x", "reserved by the build system"),
    ("count", "a tool of this name is already installed"), ("none/such/place", "No such file")])
def test_a_name_that_cannot_be_used_is_refused(name, reason, tmp_path):
    result = qmpi("new", name, cwd=tmp_path)
    assert result.returncode == 2
    if reason:
        assert reason in result.messages[0]
        assert result.messages[1].startswith("hint: ")
    assert list(tmp_path.iterdir()) == []


def test_existing_files_are_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("keep")
    (tmp_path / "file").write_text("keep")
    for name in ("mine", "file"):
        result = qmpi("new", name, cwd=tmp_path)
        assert result.returncode == 2
        assert "already exists" in result.messages[0]
    assert (tmp_path / "mine/notes").read_text() == (tmp_path / "file").read_text() == "keep"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]


def test_a_place_where_no_directory_can_be_made_is_not_said_to_exist(tmp_path):
    (tmp_path / "file").write_text("keep")
    result = qmpi("new", "file/mine", cwd=tmp_path)
    assert result.messages == ["qmpi new 'file/mine': Not a directory",
                               "hint: give a name in an existing directory that you can write to"]
    (tmp_path / "mine").symlink_to("none")
    assert qmpi("new", "mine", cwd=tmp_path).messages[0] == (
        "qmpi new 'mine': it already exists and is not an empty directory")
    assert qmpi("new", "/").messages[0] == "qmpi new '/': not a valid tool name"


def test_anything_but_one_name_is_an_error_of_use(tmp_path):
    for arguments in ([], ["one", "two"], ["--nonsense", "one"]):
        result = qmpi("new", *arguments, cwd=tmp_path)
        assert result.returncode == 2
        assert "--help" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_file_system_is_reported(tmp_path):
    """Mounts a small file system in a namespace that exists only for this run."""
    mount = f"mount -t tmpfs -o size=8k tmpfs {tmp_path} && cd {tmp_path} && exec \"$@\""
    wrapper = ["unshare", "-m", "sh", "-c", mount, "sh"]
    if os.geteuid() != 0 or subprocess.run([*wrapper, "true"], capture_output=True).returncode:
        pytest.skip("no permission to mount")
    result = qmpi("new", "mine", launcher=wrapper)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("qmpi: qmpi new 'mine/") and "No space left" in result.stderr
    assert "hint: free disk space and remove the incomplete directory" in result.stderr
