# SPDX-License-Identifier: MIT
"""Runs the commands of many documents unchanged and in order, against an installed qmpi. Also checks links and
tables."""
import fnmatch
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import document
import pytest
from archives import check_archives
from support import ASAN, BUILD, LIBQMPI, SOURCE, YIELDING, clean_environment, run_command

pytestmark = pytest.mark.skipif(bool(ASAN), reason="programs and tools that are built outside are not sanitized")

# The commands that cannot be run in a test, with the reasons.
NOT_RUN = {r"\./check\b": "./check runs this test",
           r"meson setup build-site ": "build-site is a link to this build, which Meson since 1.3 would configure anew"}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    stage = tmp_path_factory.mktemp("stage")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", stage], check=True,
                   capture_output=True)
    prefix = next(path.parent for path in stage.rglob("bin") if (path / "qmpi").exists())
    # The static library is added, because readers of pages that need it have configured the build with -Dstatic=true.
    shutil.copy(BUILD / "src" / f"{LIBQMPI.stem}.a", next(prefix.rglob(LIBQMPI.name)).parent)
    return prefix


@pytest.fixture
def reader(prefix, tmp_path):
    """Returns the environment of somebody who has installed qmpi. The home folder is tmp_path. In this environment,
    waiting ranks yield their processors."""
    package = next(prefix.rglob("qmpi.pc")).parent
    environment = clean_environment()
    return {**environment, "QMPI": str(SOURCE), "PATH": f"{prefix / 'bin'}:{environment['PATH']}",
            "LD_PRELOAD": str(YIELDING), "PKG_CONFIG_PATH": str(package), "HOME": str(tmp_path), "DESTDIR": str(tmp_path / "root")}


def run_steps(steps, folder, environment, timeout=300):
    """Runs the steps, and yields each step with commands and its output. Exported variables and the current folder stay
    the same from one block of commands to the next."""
    state = folder / ".state"
    state.write_text("")
    for step in steps:
        if step.kind == "file":
            (folder / step.name).write_text(step.text)
            continue
        commands = [line for line in step.text.splitlines()
                    if not any(re.match(pattern, line.strip()) for pattern in NOT_RUN)]
        script = f". {shlex.quote(str(state))}; exec 2>&1; set -e\n" + "\n".join(commands) + \
            f"\nset +e; {{ export -p; echo cd \"'$PWD'\"; }} > {shlex.quote(str(state))}\n"
        result = run_command(["bash", "-c", script], environment, timeout=timeout, cwd=folder)
        assert result.returncode == 0, f"line {step.line}: {step.text}"
        yield step, result.stdout


def check_output(step, output):
    """Checks that the output has the lines that the document shows. They may come in any order, because they are of
    several processes, and of stdout and stderr."""
    lines = document.comparable(output)
    for line in document.comparable(step.output):
        if line == "...":
            continue
        pattern = ".*".join(re.escape(part) for part in line.split("..."))
        found = next((have for have in lines if re.fullmatch(pattern, have)), None)
        assert found is not None, f"line {step.line}: no line like '{line}' in the output"
        lines.remove(found)
    if not any(line == "..." for line in document.comparable(step.output)):
        assert not lines, f"line {step.line}: the document does not show {lines}"


def test_manual_pages_are_installed_where_man_finds_them(prefix):
    if not shutil.which("go-md2man"):
        pytest.skip("no manual pages: the converter go-md2man is missing")
    found = {path.name for path in (prefix / "share" / "man").rglob("*") if path.is_file()}
    assert {"qmpi.1", "qmpi-run.1", "qmpi-profile.7", "qmpi.h.3", "QMPI_Get_function.3"} <= found


@pytest.mark.parametrize("page, least", [("tutorial", 5), ("services", 2), ("from-pmpi", 1)])
def test_a_page_works_as_it_is_written(page, least, reader, tmp_path):
    steps = document.read(SOURCE / "docs" / "write" / f"{page}.md")
    shown = 0
    for step, output in run_steps(steps, tmp_path, reader):
        if step.output:
            check_output(step, output)
            shown += 1
    assert shown >= least


def test_the_code_on_services_is_that_of_the_examples():
    """The last part of the page, about conflicts, is left out, because no example has it."""
    page = (SOURCE / "docs" / "write" / "services.md").read_text()
    examples = "".join(path.read_text() for path in (SOURCE / "examples").glob("region*"))
    parts = re.findall(r"(?ms)^```cc?\n(.*?)^```", page)
    assert len(parts) == 6
    assert [part for part in parts[:-1] if part not in examples] == []


def a_clone(folder):
    """Makes the source tree that a reader has after building. It consists of links, so that nothing is built twice."""
    for path in SOURCE.iterdir():
        if not path.name.startswith((".", "build")):
            (folder / path.name).symlink_to(path)
    (folder / "build").symlink_to(BUILD)


@pytest.mark.skipif(not list(Path("/usr/lib").glob("*/scalapack/mpich-tests/xdlu")),
                    reason="Debian's scalapack-mpi-test, whose program ./quickstart runs, is missing")
def test_every_command_of_the_readme_runs(reader, tmp_path):
    a_clone(tmp_path)
    shutil.copy(BUILD / "examples" / "heat", tmp_path / "app")
    steps = document.read(SOURCE / "README.md")
    commands = "".join(step.text for step in steps)
    assert "./quickstart" in commands and "qmpi run" in commands
    for _ in run_steps(steps, tmp_path, reader, timeout=900):
        pass


def test_every_command_of_the_examples_readme_builds_its_example(reader, tmp_path):
    for source in (SOURCE / "examples").glob("*.[ch]"):
        shutil.copy(source, tmp_path)
    for _ in run_steps(document.read(SOURCE / "examples" / "README.md"), tmp_path, reader):
        pass
    assert (tmp_path / "who.so").exists()


# Every command of these pages runs, except those in NOT_RUN. The commands find a program ./app, its source app.c,
# and the build under the names that the pages give it.
@pytest.mark.parametrize("page", [
    "docs/run/README.md", "docs/run/programs.md", "docs/run/trace.md", "docs/site/README.md", "docs/write/README.md",
    "docs/write/mpich-qmpi.md", "docs/write/mpi_t.md", "docs/write/observers.md", *(f"tools/{tool}/README.md" for tool in ("count", "empty", "profile"))])
def test_every_command_of_a_page_runs(page, reader, tmp_path):
    a_clone(tmp_path)
    (tmp_path / "build-site").symlink_to(BUILD)
    shutil.copy(BUILD / "examples" / "heat", tmp_path / "app")
    shutil.copy(SOURCE / "examples" / "heat.c", tmp_path / "app.c")
    for _ in run_steps(document.read(SOURCE / page), tmp_path, reader):
        pass
    check_archives(tmp_path)


def test_messages_that_troubleshooting_md_quotes_are_in_the_sources():
    text = "".join(path.read_text() for root in ("src", "cli") for path in (SOURCE / root).rglob("*.c"))
    text = re.sub(r'"\s*\n\s*"', "", text).replace("terminated by %s", "terminated by SIGSEGV")
    page = (SOURCE / "docs" / "run" / "troubleshooting.md").read_text()
    quoted = re.findall(r'"([^"]+)"', re.sub(r"`[^`]*`", "", page))
    assert len(quoted) >= 8
    others = ("undefined symbol", "ASan runtime does not come first in initial library list")  # not of qmpi
    for message in quoted:
        assert all(part.strip() in text or part.strip() in others
                   for part in message.split("…")), message


def pages():
    found = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", SOURCE / "examples" / "README.md",
             SOURCE / "bench" / "README.md", SOURCE / "conformance" / "README.md", *(SOURCE / "docs").rglob("*.md"),
             *(SOURCE / "tools").glob("*/README.md"), *(SOURCE / "tests").glob("*/README.md")]
    return sorted(str(path.relative_to(SOURCE)) for path in found)


def dead_links(page):
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
    return [target for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
            if not re.match(r"[a-z]+:", target) and not os.path.exists(page.parent / target)]


@pytest.mark.parametrize("page", pages())
def test_the_targets_of_links_exist(page):
    assert dead_links(SOURCE / page) == []


def test_the_targets_of_links_in_installed_documents_exist(prefix):
    """Installed documents must not link to files that are not installed, such as libqmpi's own sources and tests."""
    folder = prefix / "share" / "doc" / "qmpi"
    found = list(folder.rglob("*.md"))
    assert len(found) > 20
    assert {str(page.relative_to(folder)): dead for page in found if (dead := dead_links(page))} == {}


def test_every_page_of_docs_is_linked_from_the_index_of_its_directory():
    for page in (SOURCE / "docs").glob("*/*.md"):
        if page.name != "README.md" and page.parent.name != "man":
            assert f"]({page.name})" in (page.parent / "README.md").read_text(), page
    for index in (SOURCE / "docs").glob("*/README.md"):
        assert f"](docs/{index.parent.name}/README.md)" in (SOURCE / "README.md").read_text(), index


def test_paths_in_contributing_exist():
    """Checks the paths between backquotes. NAME in a path stands for the name of a file that the reader adds."""
    text = (SOURCE / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:src|lib|tools|cli|include|tests|docs|examples|bench|conformance)/[\w/.-]+)`", text)
    assert len(paths) > 20
    for path in paths:
        assert "NAME" in path or (SOURCE / path).exists(), path


def test_identifiers_in_contributing_exist():
    """Checks the identifiers with an underscore between backquotes: they are somewhere in the sources, or name a test
    by its folder and its file, as tool_trace does."""
    names = set(re.findall(r"`([A-Za-z]\w*_\w*)`", (SOURCE / "CONTRIBUTING.md").read_text()))
    files = [path for folder in ("src", "lib", "tools", "cli", "include", "tests", "bench")
             for path in (SOURCE / folder).rglob("*") if path.suffix in (".c", ".h", ".py", ".js", ".S", ".inc", ".build")]
    tests = {path.stem for path in files}
    text = "\n".join(path.read_text(errors="replace") for path in files)
    assert len(names) > 100
    assert {name for name in names if "NAME" not in name and name not in text
            and f"test_{name.partition('_')[2]}" not in tests} == set()


def conformance_table(name):
    """Returns the lines of a file of conformance/, as lists of fields."""
    lines = (SOURCE / "conformance" / name).read_text().splitlines()
    return [line.split(" | ") for line in lines if line and line[0] != "#"]


def test_the_page_on_the_draft_has_a_proposal_and_cases_in_each_row():
    """Checks that the last column names cases that exist, and that a row names each case for which the draft is
    silent."""
    questions = (SOURCE / "docs/write/draft.md").read_text().split("## The calls")[1].split("## Differences")[0]
    rows = [line.strip("| ").split(" | ") for line in questions.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[-1] != "cases"]
    cases = conformance_table("cases.txt")
    names = [case[0] for case in cases]
    named = []
    for row in rows:
        assert len(row) == 6 and all(row), row[0]
        patterns = re.findall(r"`([a-z_0-9*]+\.[a-z_*]+)`", row[-1])
        assert patterns and re.sub("`[^`]*`", "", row[-1]).strip(", ") == "", row[0]
        assert all(fnmatch.filter(names, pattern) for pattern in patterns), row[0]
        named += patterns
    assert len(rows) > 40
    silent = [name for name, _, source, _ in cases if source == "open"]
    assert [name for name in silent if not any(fnmatch.fnmatch(name, pattern) for pattern in named)] == []


def test_the_page_on_the_draft_has_the_reasons_and_the_sums_of_the_conformance_cases():
    text = (SOURCE / "docs/write/draft.md").read_text().split("## Differences")[1]
    names = [case[0] for case in conformance_table("cases.txt")]
    reasons = conformance_table("differences.txt")
    assert all(fnmatch.filter(names, pattern) for pattern, _ in reasons)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    assert [row[0].strip("`") for row in rows] == [name for name in names if f"| `{name}` |" in text]
    for name, *_, reason in rows:
        assert reason == next(why for pattern, why in reasons if fnmatch.fnmatch(name.strip("`"), pattern)), name
    sums = [len(names) - sum(row[column] != "pass" for row in rows) for column in (1, 2, 3)]
    told = re.findall(r"(\d+)(?: hold)? for\s`(?:qmpi|qmpi-mpich|mpich)`", text)
    assert [int(number) for number in told] == sums
    assert sums[0] == len(names)
    assert (SOURCE / "conformance/README.md").read_text().split("\n\n")[1].startswith(f"{len(names)} small cases")
