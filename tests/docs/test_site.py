# SPDX-License-Identifier: MIT
"""Tests what an administrator does, in a separate installation: the samples of packaging/site, and the shell commands
of docs/site."""
import json
import os
import re
import shutil
import subprocess

import pytest
from support import ASAN, BUILD, SOURCE, YIELDING, clean_environment, run_command

pytestmark = pytest.mark.skipif(bool(ASAN), reason="programs and tools that are built outside are not sanitized")

SAMPLES = SOURCE / "packaging" / "site"
PAGE = SOURCE / "docs" / "site" / "README.md"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    stage = tmp_path_factory.mktemp("stage")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", stage], check=True, capture_output=True)
    moved = tmp_path_factory.mktemp("opt") / "qmpi"
    shutil.move(next(path.parent for path in stage.rglob("bin") if (path / "qmpi").exists()), moved)
    return moved


# ---- Module files

LUA = """
function help() end
function whatis() end
function pathJoin(...) return table.concat({...}, "/") end
function prepend_path(name, value) print("prepend " .. name .. " " .. value) end
function append_path(name, value) print("append " .. name .. " " .. value) end
dofile(arg[1])
"""
TCL = """
proc module-whatis {text} {}
proc prepend-path {name value} {puts "prepend $name $value"}
proc append-path {name value} {puts "append $name $value"}
source [lindex $argv 0]
"""
INTERPRETERS = {"lua": (LUA, ["lua", "lua5.4", "lua5.3"]), "tcl": (TCL, ["tclsh"])}


def changes(kind, prefix, folder):
    """Executes a module file without a module system. Returns its changes of variables as [how, name, value]."""
    text, names = INTERPRETERS[kind]
    interpreter = next(filter(None, map(shutil.which, names)), None)
    if not interpreter:
        pytest.skip(f"none of {', '.join(names)} is installed")
    (folder / "system").write_text(text)
    result = run_command([interpreter, folder / "system", SAMPLES / f"qmpi.{kind}"],
                         {**clean_environment(), "QMPI_PREFIX": str(prefix)})
    assert result.returncode == 0 and result.stderr == ""
    return [line.split(" ", 2) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("kind", INTERPRETERS)
def test_the_paths_in_a_module_file_exist(kind, prefix, tmp_path):
    done = changes(kind, prefix, tmp_path)
    assert [(how, name) for how, name, _ in done] == [
        ("prepend", "PATH"), ("prepend", "MANPATH"), ("append", "MANPATH"), ("prepend", "PKG_CONFIG_PATH"),
        ("prepend", "CMAKE_PREFIX_PATH"), ("prepend", "LD_PRELOAD")]
    paths = {name: value for how, name, value in done if how == "prepend"}
    assert all(os.path.exists(path) for name, path in paths.items() if name != "MANPATH"), paths
    assert os.path.exists(os.path.join(paths["PATH"], "qmpi"))
    assert os.path.exists(os.path.join(paths["PKG_CONFIG_PATH"], "qmpi.pc"))


def test_the_lua_and_tcl_modules_make_the_same_changes(prefix, tmp_path):
    assert changes("lua", prefix, tmp_path) == changes("tcl", prefix, tmp_path)


# ---- Tools for every job

def prolog(prefix, **variables):
    """Runs the sample of a task prolog. Returns the variables that it tells Slurm to set."""
    result = run_command([SAMPLES / "task-prolog"], {**clean_environment(), "QMPI_PREFIX": str(prefix), **variables})
    assert result.returncode == 0 and result.stderr == ""
    return dict(re.findall(r"(?m)^export (\w+)=(.*)$", result.stdout))


def test_the_prolog_preloads_the_library_once(prefix, tmp_path):
    library = prolog(prefix)["LD_PRELOAD"]
    assert library.startswith(str(prefix)) and os.path.exists(library)
    assert prolog(prefix, LD_PRELOAD=str(YIELDING))["LD_PRELOAD"] == f"{library}:{YIELDING}"
    assert prolog(prefix, LD_PRELOAD=f"{YIELDING}:{library}") == {}
    assert prolog(tmp_path / "missing") == {}


def run_job(prefix, folder, **variables):
    shutil.copy(BUILD / "examples" / "heat", folder / "app")
    return run_command(["mpiexec.mpich", "-n", "2", "./app"], {**clean_environment(), **variables}, cwd=folder)


@pytest.fixture
def site(prefix):
    """Yields the directory of the site's configuration files, and removes these files after the test."""
    folder = prefix / "etc" / "qmpi"
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    for file in folder.glob("*.conf"):
        file.unlink()


def test_the_samples_together_record_each_job(prefix, site, tmp_path):
    (tmp_path / "records").mkdir()
    text = (SAMPLES / "10-site.conf").read_text()
    assert "directory = /var/log/qmpi" in text
    (site / "10-site.conf").write_text(text.replace("/var/log/qmpi", str(tmp_path / "records")))
    plain = run_job(prefix, tmp_path)
    result = run_job(prefix, tmp_path, **prolog(prefix, LD_PRELOAD=str(YIELDING)))
    assert (result.returncode, result.stderr) == (plain.returncode, plain.stderr) == (0, "")
    record, = (json.loads(path.read_text()) for path in (tmp_path / "records").iterdir())
    assert (record["program"], record["ranks"], record["state"], record["exit"]) == ("app", 2, "exited", 0)
    users = run_job(prefix, tmp_path, **prolog(prefix, LD_PRELOAD=str(YIELDING)), QMPI_TOOLS="count")
    assert "count (layer 1)" in users.stderr and len(list((tmp_path / "records").iterdir())) == 2


def test_the_page_begins_with_the_number_of_builds():
    text = PAGE.read_text()
    assert re.match(r"# .*\n\n(?:.+\n)+\n## How many builds\n\n(?:.+\n)+\n\| MPIs of the site \| versions \| compilers \| builds \|\n", text)


def test_the_shell_commands_of_the_page_set_up_a_stack_for_every_job(prefix, site, tmp_path):
    """Runs the shell commands of the page except those that build qmpi. The prefix is that of this installation, and
    tmp_path takes the place of /dev/shm."""
    text = PAGE.read_text()
    blocks = [re.sub(r"(?m)^   ", "", block) for block in re.findall(r"(?ms)^ *```sh\n(.*?)^ *```", text)]
    blocks = [block for block in blocks if "meson" not in block]  # leaves out those that build qmpi
    config = re.search(r"(?ms)the file `10-site.conf`:\n\n *```\n(.*?)^ *```", text)[1]
    assert len(blocks) == 4 and "[below]" in config
    (site / "10-site.conf").write_text(re.sub(r"(?m)^   ", "", config).replace("/dev/shm", str(tmp_path)))
    shutil.copy(BUILD / "examples" / "heat", tmp_path / "app")
    script = "".join(blocks).replace("/opt/qmpi", str(prefix)).replace("/dev/shm", str(tmp_path))
    result = run_command(["bash", "-e", "-c", f"{script}\nqmpi list >list"],
                         {**clean_environment(), "LD_PRELOAD": str(YIELDING)}, cwd=tmp_path)
    assert result.returncode == 0 and result.stderr == ""
    assert '"schema": "qmpi-count/1"' in result.stdout
    assert "jobs" in (tmp_path / "list").read_text()


# ---- Containers

@pytest.fixture
def image(tmp_path):
    """Makes a directory that ch-run accepts as an image. The test mounts the host's /usr in it."""
    folder = tmp_path / "image"
    for name in ("usr", "etc", "proc", "sys", "dev", "tmp", "home", "mnt", "var", "run", "root"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (folder / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (folder / "etc" / name).touch()
    shutil.copytree("/etc/alternatives", folder / "etc" / "alternatives", symlinks=True)
    shutil.copy("/etc/ld.so.cache", folder / "etc")
    return folder


@pytest.mark.skipif(not shutil.which("ch-run"), reason="ch-run (Charliecloud) is not installed")
def test_a_program_in_a_container_runs_under_qmpi_of_the_host(prefix, image, tmp_path):
    """Runs the command of docs/run/containers.md with the launcher of the host."""
    page = (SOURCE / "docs" / "run" / "containers.md").read_text()
    command = re.search(r"(?m)^mpiexec.* ch-run .*qmpi run .*$", page)[0]
    shutil.copy(BUILD / "examples" / "heat", tmp_path / "app")
    command = command.replace("-b $HOME/qmpi:/mnt", f"-b /usr:/usr -b {prefix}:/mnt")
    result = run_command(["bash", "-c", command], {**clean_environment(), "USER": "root"}, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert len(json.loads((tmp_path / "run.json").read_text())["processes"]) == 2
