# SPDX-License-Identifier: MIT
"""Tests manifests: the installed ones, the warnings of the commands, and the errors in invalid
ones. Most tools here are copies of one library that wraps one MPI function; no program needs MPI."""
import itertools
import json
import re
import shutil
import subprocess

import jsonschema
import pytest

from cli_support import OTHER_MPI, compiler, qmpi
from support import MPI_NAME, SOURCE
from test_stacks import Installation

SCHEMA = json.loads((SOURCE / "docs/run/qmpi-manifest-1.schema.json").read_text())
OTHERS = sorted((SOURCE / "manifests").glob("*.json"))
BUNDLED = {path.stem: json.loads(path.read_text()) for path in sorted((SOURCE / "tools").glob("*/*.json"))}
HEAD = {"schema": "qmpi-manifest/1", "description": "does nothing"}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Builds a PMPI tool that also replaces a function which no library here has. Its constructor prints
    a line."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "tool.c").write_text(
        "#include <stdio.h>\nint PMPI_Comm_rank(long comm, int *rank);\nint MPI_Comm_rank(long comm, int *rank)\n"
        '{\n    return PMPI_Comm_rank(comm, rank);\n}\nvoid H5Dread(void);\nvoid H5Dread(void) {}\n'
        '__attribute__((constructor)) static void begin(void)\n{\n    fputs("trace: loaded\\n", stderr);\n}\n')
    path = folder / "libtool.so"
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", path, folder / "tool.c"], check=True)
    return path


@pytest.fixture
def tool(library, tmp_path):
    """Returns a function that makes the tool NAME with a manifest of these members, or, if no members are given,
    without a manifest."""
    def make(name, members=None, **more):
        path = tmp_path / f"lib{name}.so"
        shutil.copy(library, path)
        if members is not None or more:
            (tmp_path / f"{name}.json").write_text(json.dumps({**HEAD, **(members or {}), **more}))
        return path
    return make


def warnings(*stack, command="run", env=None):
    """Returns the warnings of a command about a stack as [(place, problem, hint)]. `qmpi run` gets a
    program without MPI."""
    program = ["--", "true"] if command == "run" else []
    result = qmpi(command, "-t", ":".join(map(str, stack)), *program, env=env)
    assert result.returncode == 0, result.stderr
    lines = result.messages
    assert len(lines) % 2 == 0, lines
    found = []
    for first, second in zip(lines[::2], lines[1::2]):
        hint = re.fullmatch(r"  hint: (.*) \(manifest: (/.*\.json)\)", second)
        assert hint, second
        found.append((*first.split(": ", 1), hint[1]))
    return found


# ---- The manifests that are installed ------------------------------------------------------------


@pytest.mark.parametrize("path", OTHERS + sorted((SOURCE / "tools").glob("*/*.json")), ids=lambda path: path.stem)
def test_a_manifest_that_is_installed_fits_the_schema(path):
    manifest = json.loads(path.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(manifest)
    assert manifest["name"] == path.stem  # the file is named after the tool
    assert not re.search("[^ -~…]", path.read_text().replace("\n", ""))


def test_the_names_of_the_manifests_are_unique():
    names = [path.stem.lower() for path in OTHERS] + list(BUNDLED)
    assert len(names) == len(set(names))
    assert len(OTHERS) >= 8
    assert set(BUNDLED) == {path.parent.name for path in (SOURCE / "tools").glob("*/README.md")}


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_a_manifest_of_another_projects_tool_says_how_each_fact_was_checked(path):
    manifest = json.loads(path.read_text())
    checked = set(manifest) - {"schema", "name", "description", "place_reason", "checked"}
    assert checked == set(manifest["checked"]["how"])


def test_the_bundled_tools_register_the_texts_of_their_manifests():
    needed = {"delay": "before=0ns", "jobs": "directory=/"}  # these tools do not work without an option
    stack = ":".join(",".join(filter(None, (name, needed.get(name)))) for name in BUNDLED)
    result = qmpi("check", "-t", stack)
    assert (result.returncode, result.stderr) == (0, "")
    layers = dict(re.findall(r"(?ms)^layer \d+: (\S+) [^\n]*\n(.*?)(?=^layer|\Z)", result.stdout))
    assert set(layers) == set(BUNDLED)
    for name, text in layers.items():
        manifest = BUNDLED[name]
        assert f"  does        {manifest['description']}\n" in text
        options = re.findall(r"(?m)^  option      (.*)$", text)
        wanted = [option["name"] + ("=" + option["default"] if "default" in option else "") +
                  f"  ({option['help']})" for option in manifest.get("options", [])]
        given = needed.get(name)
        if given:
            options = [option.replace(given, given.split("=")[0]) for option in options]
        assert options == wanted


def test_list_prints_the_texts_of_the_manifests_and_loads_no_tool(tool):
    path = tool("mine", description="is mine", options=[{"name": "a", "default": "1", "help": "first"}],
                environment=[{"name": "MINE", "help": "second"}])
    tool("bare")
    tool("broken", place="top")
    result = qmpi("list", "--tool-path", path.parent)
    assert result.returncode == 0 and "trace" not in result.stderr
    assert f"mine         is mine\n             {path}\n               a=1  first\n" \
        "               env.MINE  second\n" in result.stdout
    assert f"{path.parent}/libbare.so\n  a PMPI tool\n" in result.stdout
    assert f"{path.parent}/libbroken.so\n  invalid manifest: {path.parent}/broken.json: place: expected " in result.stdout
    for name, manifest in BUNDLED.items():
        assert re.search(rf"(?m)^{name} +{re.escape(manifest['description'])}$", result.stdout)


# ---- Warnings ------------------------------------------------------------------------------------


def test_a_tool_in_the_wrong_place_is_a_warning_with_the_right_order(tool):
    top = tool("top", place="application", place_reason="it walks the stack")
    other = tool("other", place="application")
    low = tool("low", place="mpi")
    plain = tool("plain")
    assert warnings("count", top, plain) == [
        (f"-t, entry 2 '{top}'", "belongs near the application, above count (entry 1): it walks the stack",
         f"the right order is {top}:count:{plain}")]
    assert warnings(low, f"count,output={top}.txt") == [
        (f"-t, entry 1 '{low}'", "belongs near MPI, below count (entry 2)",
         f"the right order is count,output={top}.txt:{low}")]
    assert len(warnings(plain, low, top)) == 2
    for right in ((top, other, "count", low), (other, top, plain), (low,), (top, top, "count")):
        assert warnings(*right) == []


def test_the_right_order_contains_only_tools_of_the_same_list(tool, tmp_path):
    """A user cannot exchange layers of a site's file with those of -t."""
    here, top = Installation(tmp_path / "here"), tool("top", place="application")
    path = here.site / "site.conf"
    for section in ("above", "below"):
        path.write_text(f"[{section}]\ncount\n")
        result = here.qmpi("check", "-t", f"count:{top}")
        assert any(line.startswith(f"  hint: the right order is {top}:count (manifest: ") for line in result.messages)
    path.write_text("[above]\nempty\n")
    result = here.qmpi("check", "-t", top)
    assert result.messages[1].startswith(
        f"  hint: change where one of the two is listed; empty is listed in {path}, line 2, [above] (manifest: ")


def test_check_and_doctor_warn_about_the_order_too(tool):
    top = tool("top", place="application", environment=[{"name": "TOP", "default": "1", "help": "it"}], notes=["A note."])
    assert len(warnings("empty", top, command="check")) == 1
    checked = qmpi("check", "-t", f"{top}:empty")
    assert (checked.returncode, checked.messages) == (0, [])
    for line in ("does        does nothing", "place       near the application", "variable    env.TOP=1  (it)",
                 "note        A note.", f"manifest    {top.parent}/top.json"):
        assert f"  {line}\n" in checked.stdout
    looked = qmpi("doctor", "-t", f"empty:{top}")
    assert looked.returncode == 0 and f"  note   -t, entry 2 '{top}': belongs near the application" in looked.stdout
    assert "belongs near" not in qmpi("doctor", "-t", f"{top}:empty").stdout


def test_a_combination_that_a_manifest_excludes_is_one_warning(tool):
    foe = tool("foe", conflicts=[{"tool": "o*her", "reason": "both write"}])
    other = tool("other", conflicts=[{"tool": "foe"}])  # both manifests have the conflict
    shy = tool("shy", conflicts=[{"tool": "plain", "when": "preloaded"}])
    plain = tool("plain")
    assert warnings(other, foe) == [
        (f"-t, entry 1 '{other}'", "conflicts with foe (entry 2)", "remove one of the two layers")]
    assert warnings(foe, "count", other) == [
        (f"-t, entry 1 '{foe}'", "conflicts with other (entry 3): both write", "remove one of the two layers")]
    assert warnings(f"{plain},@preload=yes", shy) == [
        (f"-t, entry 2 '{shy}'", "conflicts with plain (entry 1), if one of them is preloaded",
         "give both layers the option @preload=no, or remove one of them")]
    for right in ((foe, foe), (foe, plain, "count"), (plain, shy), (f"{plain},@preload=no", shy)):
        assert warnings(*right) == []


@pytest.mark.parametrize("position, stacks", [("above", ["other:one"]), ("below", ["one:other"]),
                                              ("any", ["one:other", "other:one"])])
def test_a_conflict_may_depend_on_the_order(position, stacks, tool):
    paths = {"one": tool("one", conflicts=[{"tool": "other", "position": position}]), "other": tool("other")}
    for order in ("one:other", "other:one"):
        found = warnings(*(paths[name] for name in order.split(":")))
        assert len(found) == (order in stacks)
        assert all("conflicts with other" in text for _, text, _ in found)
        assert all(("opposite order" in hint) == (position != "any") for _, _, hint in found)


def test_a_conflict_that_is_forced_is_no_warning(tool):
    foe, other = tool("foe", conflicts=[{"tool": "other"}]), tool("other")
    for stack in ((f"{foe},@force=yes", other), (foe, f"{other},@force=yes")):
        assert warnings(*stack) == []


def test_two_layers_that_write_one_file_are_a_warning(tool):
    fixed = tool("fixed", output={"files": ["fixed.txt"], "shared": True, "option": "env.FIXED"})
    ours = tool("ours", output={"shared": True, "option": "output"})
    never = tool("never", output={"shared": True})
    assert warnings(fixed, "count", fixed) == [
        (f"-t, entry 3 '{fixed}'", "writes the same files as fixed (entry 1): fixed.txt",
         "give each layer of this tool a different env.FIXED")]
    assert len(warnings(f"{fixed},env.FIXED=a-%t", f"{fixed},env.FIXED=a-%t")) == 1
    assert warnings(ours, ours) == [(f"-t, entry 2 '{ours}'", "writes the same files as ours (entry 1)",
                                     "give each layer of this tool a different output, or one with %t")]
    assert [warning[2] for warning in warnings(never, never)] == ["use this tool only once in a stack"]
    for right in ((fixed, never, ours), (fixed, f"{fixed},env.FIXED=a"),
                  (f"{fixed},env.FIXED=b", f"{fixed},env.FIXED=a"), (f"{ours},output=%t", f"{ours},output=%t")):
        assert warnings(*right) == []


def test_a_missing_requirement_of_a_tool_is_a_warning(tool):
    needs = tool("needs", needs={"tools": ["help*"], "environment": ["NEEDED"]})
    helper = tool("helper")
    assert warnings(needs) == [
        (f"-t, entry 1 '{needs}'", "needs the tool 'help*', which is not in the stack", "add 'help*' to the stack"),
        (f"-t, entry 1 '{needs}'", "needs the environment variable NEEDED, which is not set",
         "set NEEDED, or give the layer the option env.NEEDED=VALUE")]
    assert len(warnings(needs, helper)) == 1 and len(warnings(needs, env={"NEEDED": ""})) == 1
    assert warnings(helper, needs, env={"NEEDED": "1"}) == []
    assert warnings(f"{needs},env.NEEDED=1", helper) == []


def test_a_library_for_another_mpi_is_a_warning(tool):
    built = tool("built", mpi=[OTHER_MPI])
    assert warnings(built) == [(f"-t, entry 1 '{built}'", f"built for {OTHER_MPI}, but this run uses {MPI_NAME}",
                                f"use a build of this tool for {MPI_NAME}")]
    for right in (tool("ours", mpi=[MPI_NAME]), tool("both", mpi=["mpich", "openmpi", "abi"]),
                  tool("converted", kind="qmpi", mpi=["abi"]), tool("unknown")):
        assert warnings(right) == []


def test_a_tool_is_preloaded_as_its_manifest_says(tool):
    replaces = tool("replaces", replaces=["H5Dread", "H5Dwrite"])
    for option, wanted in (("", True), (",@preload=no", False)):
        result = qmpi("run", "-t", f"count:{replaces}{option}", "--", "sh", "-c", "echo $LD_PRELOAD")
        assert (str(replaces) in result.stdout) == wanted
    again = warnings(replaces, replaces)
    assert [(where, hint) for where, _, hint in again] == [
        (f"-t, entry 2 '{replaces}'", "remove this layer, or give it the option @preload=no if MPI calls suffice")]
    assert "also replaces functions outside MPI (H5Dread, H5Dwrite), but does not see" in again[0][1]
    assert warnings(replaces, f"{replaces},@preload=no") == warnings(replaces) == []


def test_check_says_why_a_tool_is_preloaded(tool):
    replaces = tool("replaces", replaces=["H5Dread", "H5Dwrite"])
    assert "  preloaded   it also replaces functions outside MPI: H5Dread and 1 more\n" in qmpi("check", "-t", replaces).stdout


def test_one_process_of_a_job_warns(tool):
    top = tool("top", place="application")
    for rank, count in (("0", 1), ("1", 0)):
        variables = {"PMI_RANK": rank, "OMPI_COMM_WORLD_RANK": rank}
        assert len(warnings("count", top, env=variables)) == count


def test_a_tool_that_communicates_is_refused_if_it_is_on_some_ranks_only(tool):
    talks, some = tool("talks", communicates=True), tool("some", communicates=["sync=yes"])
    for entry in (f"{talks},@ranks=0", f"{some},sync=yes,@ranks=0", f"{talks},@nodes=n1"):
        result = qmpi("run", "-t", f"count:{entry}", "--", "echo", "ran")
        assert (result.returncode, result.stdout) == (2, "")
        assert len(result.messages) == 2 and "must be on all ranks" in result.messages[0]
        skipped = qmpi("run", "--on-error=skip", "-t", f"count:{entry}", "--", "sh", "-c", "echo $QMPI_DISABLE")
        assert skipped.returncode == 0 and skipped.stdout.strip() == entry.split(",")[0]
    for entry in (f"{talks}", f"{some},sync=no,@ranks=0", f"{some},sync=yes"):
        assert warnings(entry) == []


def test_a_tool_that_is_refused_because_of_its_condition_is_not_preloaded(tool):
    """QMPI_DISABLE leaves out all layers of a name, and the message says so."""
    talks = tool("talks", communicates=True)
    refused = f"{talks},@preload=yes,@ranks=0"
    for stack, words in ((f"count:{refused}", "without this layer"),
                         (f"{refused}:count:{talks},@preload=yes", "without the layers of this name"),
                         (f"{talks},@preload=yes:{refused}", "without the layers of this name"),
                         (f"talks,@preload=yes,@ranks=0:{talks},@preload=yes", "without the layers of this name")):
        result = qmpi("run", "--on-error=skip", "-t", stack, "--", "sh", "-c", "echo $QMPI_DISABLE $LD_PRELOAD",
                      env={"QMPI_TOOL_PATH": talks.parent})
        disabled, preloaded = result.stdout.split()
        assert result.returncode == 0 and str(talks) not in preloaded
        assert disabled == ("talks" if stack.startswith("talks") else str(talks))
        assert sum(words in line for line in result.messages) == 1, result.messages


# ---- Places of manifests -------------------------------------------------------------------------


def test_the_manifest_beside_a_library_precedes_that_of_the_site_and_the_installed_one(tmp_path, library):
    here = Installation(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").mkdir()
    real, linked = tmp_path / "real/libmpiP.so.3", tmp_path / "linked/libmpiP.so"
    shutil.copy(library, real)
    linked.symlink_to(real)
    (here.site / "manifests").mkdir()
    places = [tmp_path / "linked/mpiP.json", tmp_path / "real/mpiP.json", here.site / "manifests/mpiP.json"]
    for number, path in enumerate(places):
        path.write_text(json.dumps({**HEAD, "description": f"place {number}"}))

    def described():
        return re.search(r"(?m)^mpiP +(.*)$", here.qmpi("list", "--tool-path", tmp_path / "linked").stdout)[1]

    for number, path in enumerate(places):
        assert described() == f"place {number}"
        path.unlink()
    assert described() == json.loads((SOURCE / "manifests/mpiP.json").read_text())["description"]


def test_tools_whose_libraries_have_one_name_are_told_apart_by_their_symbols(tmp_path):
    """Extrae and IBM's mpitrace both have a library libmpitrace.so; the installed manifests tell them apart."""
    for symbol, name in (("Extrae_init", "extrae"), ("mpitrace_summary_start", "mpitrace"), ("another", None)):
        folder = tmp_path / symbol
        folder.mkdir()
        (folder / "tool.c").write_text(f"int {symbol};\nint MPI_Barrier(long c) {{ return c != 0; }}\n")
        for library in ("libmpitrace.so", "libmpitracef.so"):
            subprocess.run([compiler(), "-w", "-shared", "-fPIC", "-o", folder / library, folder / "tool.c"], check=True)
            listed = qmpi("list", "--tool-path", folder).stdout
            expected = None if name == "mpitrace" and library == "libmpitracef.so" else name
            if expected:
                description = json.loads((SOURCE / f"manifests/{name}.json").read_text())["description"]
                stem = library.removeprefix("lib").removesuffix(".so")
                other = "" if name == stem else f"{name}: "
                assert re.search(rf"(?m)^{stem} +{other}{re.escape(description)}\n +{folder}/{library}$", listed)
            else:
                assert f"{folder}/{library}\n  a PMPI tool\n" in listed


def test_a_manifest_of_the_site_may_name_its_libraries(tmp_path, library):
    here = Installation(tmp_path)
    (tmp_path / "tools").mkdir()
    for name in ("first", "second", "third"):
        shutil.copy(library, tmp_path / f"tools/lib{name}.so")
    (here.site / "manifests").mkdir()
    for name, members in (("a", {"libraries": ["[fs]*"], "defines": ["H5Dread", "MPI_Comm_rank"]}),
                          ("b", {"libraries": ["*"], "defines": ["H5Dread", "MPI_Send"]}),
                          ("c", {"libraries": ["third"]}), ("first", {"defines": ["MPI_Send"]}), ("second", {}),
                          ("wrong", {"libraries": ["*"], "place": "top"})):
        (here.site / f"manifests/{name}.json").write_text(json.dumps({**HEAD, "description": f"is {name}", **members}))
    listed = here.qmpi("list", "--tool-path", tmp_path / "tools").stdout
    assert re.findall(r"(?m)^(\w+) +(.*)\n +/.*/lib(\w+)\.so$", listed) == [
        ("first", "a: is a", "first"), ("second", "is second", "second"), ("third", "c: is c", "third")]


# ---- Invalid manifests ---------------------------------------------------------------------------

INVALID = {
    '[ "qmpi-manifest/1"': "line 1, column ", '{"a": "qmpi-manifest/1"}': "schema: expected qmpi-manifest/1, found nothing",
    '{"schema": "qmpi-manifest/2"}': "schema: expected qmpi-manifest/1, found 'qmpi-manifest/2'",
    '["qmpi-manifest/1"]': "schema: expected qmpi-manifest/1, found nothing",
    '{"schema": "qmpi-manifest/1", "schema": 1}': "line 1, column ",
    '{"schema": "qmpi-manifest/1"}': "description: expected a string of one line, found nothing",
    '{"schema": "qmpi-manifest/1", "description": ""}': "description: expected a string of one line, found ''",
}
for member, value, words in (
        ("name", 1, "expected a string of one line, found a number"), ("name", "a\nb", "found 'a\\nb'"),
        ("kind", "qmpj", "expected one of qmpi, pmpi, mpich, found 'qmpj'"), ("kind", True, "found true"),
        ("kind", "", "expected one of qmpi, pmpi, mpich, found ''"),
        ("place", "top", "expected one of application, mpi, any, found 'top'"),
        ("mpi", "mpich", "expected an array of at most 10000 elements, found 'mpich'"),
        ("mpi", ["lam"], "expected an array of mpich, openmpi, abi, found an array of 1 elements"),
        ("options", [{"help": "x"}], "options[0].name: expected a string of one line, found nothing"),
        ("options", ["x"], "options[0]: expected an object, found 'x'"),
        ("environment", [{"name": "A"}, {"name": None}], "environment[1].name: expected a string of one line, found null"),
        ("needs", [], "expected an object, found an array of 0 elements"),
        ("needs", {"tools": [[]]}, "needs.tools[0]: expected a string of one line"),
        ("conflicts", [{"tool": "a", "when": "never"}], "conflicts[0].when: expected one of always, preloaded, found 'never'"),
        ("conflicts", [{"tool": "a", "position": "left"}],
         "conflicts[0].position: expected one of any, above, below, found 'left'"),
        ("libraries", "x", "expected an array of at most 10000 elements, found 'x'"),
        ("defines", [1], "defines[0]: expected a string of one line, found a number"),
        ("replaces", ["x"] * 10001, "expected an array of at most 10000 elements, found an array of 10001"),
        ("communicates", "yes", "expected true, false or an array of options, found 'yes'"),
        ("communicates", ["sync"], "expected options of the form KEY=VALUE"),
        ("output", {"shared": "yes"}, "output.shared: expected true or false, found 'yes'"),
        ("walks_stack", 1.5, "expected true or false, found a number"), ("notes", {}, "found an object")):
    INVALID[json.dumps({**HEAD, member: value})] = words


def test_an_invalid_manifest_leads_to_one_message_and_the_run_goes_on(tool, tmp_path):
    paths = []
    for number, text in enumerate(INVALID):
        paths.append(tool(f"t{number}"))
        (tmp_path / f"t{number}.json").write_text(text)
    result = qmpi("run", "-t", ":".join(map(str, [*paths, paths[0]])), "--", "echo", "ran")
    assert (result.returncode, result.stdout) == (0, "ran\n")
    messages = result.messages
    assert len(messages) == 3 * len(INVALID)
    for number, words in enumerate(INVALID.values()):
        first, hint, rest = messages[3 * number:3 * number + 3]
        assert (first[:len(f"{tmp_path}/t{number}.json: ")], words in first) == (f"{tmp_path}/t{number}.json: ", True), first
        assert hint.startswith("  hint: correct this manifest") and rest == "  this manifest is not used"


def test_an_unreadable_manifest_leads_to_one_message_and_other_json_files_to_none(tool, tmp_path):
    folder, large, other, results = tool("folder"), tool("large"), tool("other"), tool("results")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "large.json").write_text(json.dumps({**HEAD, "notes": ["x" * 10_000_000]}))
    (tmp_path / "other.json").write_text('{"schema": "qmpi-count/1"}')
    (tmp_path / "results.json").write_text("[" * 10_000_000)
    result = qmpi("run", "-t", f"{folder}:{large}:{other}:{results}", "--", "echo", "ran")
    assert (result.returncode, result.stdout) == (0, "ran\n")
    assert [line.split(": ", 1)[1] for line in result.messages if not line.startswith(" ")] == [
        "this manifest cannot be read: it is not a regular file",
        "this manifest cannot be read: it is larger than 1 MiB"]


def test_incomplete_manifests_are_read_without_a_fault(tool, tmp_path):
    """Tests also that control characters in a manifest do not reach the terminal."""
    text = json.dumps({**HEAD, "description": "\x1b[31m\x07", "conflicts": [{"tool": "*", "reason": "\x1b"}]})
    paths = [tool(f"p{length}") for length in range(0, len(text) + 1, 7)] + [tool("whole")]
    for path, length in zip(paths, itertools.chain(range(0, len(text) + 1, 7), [len(text)])):
        (tmp_path / f"{path.stem[3:]}.json").write_text(text[:length])
    result = qmpi("run", "-t", ":".join(map(str, paths)), "--", "true")
    assert result.returncode == 0 and "\x1b" not in result.stderr
    assert "\x1b" not in qmpi("list", "--tool-path", tmp_path).stdout
