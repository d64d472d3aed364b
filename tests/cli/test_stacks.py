# SPDX-License-Identifier: MIT
"""Tests stacks from several files: the site's, those of QMPI_CONFIG and the user's; named stacks;
QMPI_DISABLE."""
import os
import re
import shutil

import pytest

from cli_support import qmpi, qmpi_messages
from support import ASAN, BUILD, LIBQMPI, TOOLS, folder_open_to_all, program, run_mpi, tool

RUN = ["init", "comm_rank", "finalize"]
ONE = "\n  functions = Comm_rank\n"
FILES_TOOL = BUILD / "tests/pmpi/tools/libfiles.so"


class Installation:
    """Makes a copy of libqmpi in a prefix of its own. `site` is the directory of the site's
    configuration files, and `user` is the user's configuration file."""

    def __init__(self, folder):
        relative = re.search(r'QMPI_SITE_FOLDER "(.+)"', (BUILD / "cli/site_folder.h").read_text())[1]
        self.libdir = folder / "prefix/lib/x"
        self.libdir.mkdir(parents=True)
        self.library = self.libdir / LIBQMPI.resolve().name
        shutil.copy(LIBQMPI.resolve(), self.library)
        for link in LIBQMPI.parent.glob(LIBQMPI.name.partition(".so")[0] + ".so*"):
            if link.is_symlink():
                (self.libdir / link.name).symlink_to(self.library.name)
        for tools in LIBQMPI.parent.glob("qmpi*"):  # the folders of the build's tools
            if tools.is_dir():
                (self.libdir / tools.name).symlink_to(tools)
        self.site = (self.libdir / relative).resolve()
        self.site.mkdir(parents=True)
        self.home = folder / "home"
        self.user = self.home / "qmpi/qmpi.conf"
        self.user.parent.mkdir(parents=True)
        self.folder = folder

    def env(self, **env):
        return {"XDG_CONFIG_HOME": self.home, "QMPI_TOOL_PATH": None, **env}

    def run(self, tools=None, ranks=1, **env):
        return run_mpi("calls", *RUN, ranks=ranks, tools=tools, preload=[self.library], env=self.env(**env))

    def qmpi(self, *arguments, **env):
        return qmpi(*arguments, env={"LD_LIBRARY_PATH": self.libdir, "XDG_CONFIG_HOME": self.home, **env})

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


@pytest.fixture
def here(tmp_path):
    return Installation(tmp_path)


def order(result):
    """Returns the names of the layers in the order in which a call reaches them."""
    return [line.split()[0] for line in result.calls if not line.startswith("app")]


def layers(result):
    return [line.split(": ")[1] for line in result.stdout.splitlines() if line.startswith("layer ")]


def listed(result):
    return re.findall(r"(?m)^  listed in   (.*)$", result.stdout)


# ---- The order of the layers of files ------------------------------------------------------------


def test_the_layers_of_files_surround_each_other(here):
    """From the application down come the layers in [above] of the site, of QMPI_CONFIG and of the user, then
    the list of -t, and then the layers in [below] of the user, of QMPI_CONFIG and of the site."""
    folder = f"tool-path = {TOOLS}\n"
    for name in ("20-b", "10-a"):
        (here.site / f"{name}.conf").write_text(f"{folder}[above]\nalpha\n  name = {name} above\n"
                                                f"[below]\nalpha\n  name = {name} below\n")
    (here.site / "ignored.txt").write_text("nonesuch\n")
    named = [here.write(f"{name}.conf", "[above]\nbeta\n[below]\nbeta\n") for name in ("one", "two")]
    here.user.write_text("[below]\nempty\n[above]\nempty\nempty\n")
    result = here.qmpi("check", "-t", "count", "-c", named[0], "-c", named[1])
    assert result.returncode == 0, result.stderr
    where = [f"{here.site}/10-a.conf, line 3, [above]", f"{here.site}/20-b.conf, line 3, [above]",
             f"{named[0]}, line 2, [above]", f"{named[1]}, line 2, [above]",
             f"{here.user}, line 4, [above]", f"{here.user}, line 5, [above]", "-t, entry 1",
             f"{here.user}, line 2, [below]", f"{named[1]}, line 4, [below]", f"{named[0]}, line 4, [below]",
             f"{here.site}/20-b.conf, line 6, [below]", f"{here.site}/10-a.conf, line 6, [below]"]
    assert listed(result) == where
    assert layers(result)[4:8] == ["empty 0.2.0", "empty 0.2.0", "count 0.2.0", "empty 0.2.0"]


def test_a_sites_tools_and_the_users_profiler_all_work(here, tmp_path):
    """The site has three tools: alpha, count, and one that replaces functions outside MPI, as Darshan does.
    The user adds -t profile."""
    table = tmp_path / "profile.json"
    counts = tmp_path / "counts.json"
    (here.site / "site.conf").write_text(f"[above]\n{tool('alpha')}{ONE}\n[below]\ncount\n"
                                         f"  output = {counts}\n{FILES_TOOL}\n")
    result = here.qmpi("run", "-t", f"profile,format=json,output={table}", "--", program("calls"), *RUN)
    assert result.returncode == 0, result.stderr
    assert "alpha 1 MPI_Comm_rank" in result.calls
    assert table.exists() and '"MPI_Comm_rank"' in counts.read_text()
    assert qmpi_messages(result) == []


def test_the_tools_outside_sections_form_one_list(here):
    """The tools outside sections form one list, in the order of the files."""
    folder = f"tool-path = {TOOLS}\n"
    (here.site / "site.conf").write_text(folder + "alpha" + ONE)
    here.user.write_text("beta" + ONE)
    assert here.run().calls[1:] and order(here.run()) == ["alpha", "beta"]


@pytest.mark.parametrize("tools, name", [("beta,functions=Comm_rank", "beta"), ("", None)])
def test_a_variable_replaces_the_tools_outside_sections_with_one_message(here, tools, name):
    (here.site / "site.conf").write_text(f"tool-path = {TOOLS}\n[above]\nalpha{ONE}")
    here.user.write_text("nonesuch\n")
    result = here.run(tools, ranks=2)
    assert sorted(order(result)) == sorted(["alpha", name] * 2 if name else ["alpha"] * 2)
    assert result.messages == [f"QMPI_TOOLS replaces the tools that stand outside a section in {here.user}"]


def test_several_stacks_of_the_command_are_one_list():
    result = qmpi("check", "-t", "count", "-t", "empty:count")
    assert layers(result) == ["count 0.2.0", "empty 0.2.0", "count 0.2.0"]
    assert listed(result) == ["-t, entry 1", "-t, entry 2", "-t, entry 3"]


def test_a_path_may_hold_colons_and_backslashes(here):
    first, second = here.write("a:b\\c.conf", "[above]\ncount\n"), here.write("d.conf", "[below]\nempty\n")
    assert layers(here.qmpi("check", "-c", first, "-c", second)) == ["count 0.2.0", "empty 0.2.0"]
    escaped = str(first).replace("\\", "\\\\").replace(":", "\\:")
    assert layers(here.qmpi("check", QMPI_CONFIG=f"{second}:{escaped}")) == ["count 0.2.0", "empty 0.2.0"]


def test_an_innermost_setting_wins_but_the_sites_directories_stay(here):
    """The user's file is the innermost one. Its settings count, but the site's tool-path is still searched."""
    (here.site / "site.conf").write_text(f"tool-path = {TOOLS}\ndebug = all\n")
    here.user.write_text("debug = parse\nalpha" + ONE)
    result = here.run()
    assert {line.split(":")[0] for line in result.messages} == {"parse"}
    assert order(result) == ["alpha"]


# ---- on-error ------------------------------------------------------------------------------------


def test_a_missing_tool_of_the_site_does_not_stop_a_run_and_is_reported_once(here):
    (here.site / "site.conf").write_text("[above]\nnonesuch\ncolour = red\n")
    result = here.run(f"{tool('beta')},functions=Comm_rank", ranks=2, QMPI_ON_ERROR="stop")
    assert result.returncode == 0 and order(result) == ["beta", "beta"]
    assert len([line for line in result.messages if "no such tool" in line]) == 1
    assert len([line for line in result.messages if "unknown setting" in line]) == 1


def test_a_tool_that_the_user_misspells_stops_the_run_even_if_the_site_has_on_error_skip(here):
    (here.site / "site.conf").write_text("on-error = skip\n[above]\ncount\n")
    result = here.run("cuont")
    assert result.returncode == 2
    assert "hint: did you mean 'count'? " in result.stderr


def test_a_section_has_an_on_error_of_its_own(here):
    here.user.write_text(f"[above]\non-error = skip\nnonesuch\n[below]\n{tool('alpha')}{ONE}")
    result = here.run()
    assert (result.returncode, order(result)) == (0, ["alpha"])
    assert result.messages[-1] == "  the run continues without this layer (on-error = skip)"
    here.user.write_text("on-error = skip\n[above]\non-error = stop\nnonesuch\n")
    assert here.run().returncode == 2


@pytest.mark.parametrize("text", ["[above]\non-error = stop\nnonesuch\n", "on-error = stop\n[above]\nnonesuch\n"])
def test_a_site_can_demand_its_tools(here, text):
    """The user's settings cannot make a run continue without a tool for which the site sets on-error = stop."""
    (here.site / "site.conf").write_text(text)
    result = here.run(QMPI_ON_ERROR="skip")
    assert result.returncode == 2 and "the run continues" not in result.stderr


def test_a_site_can_demand_that_its_files_are_right(here):
    """The setting on-error holds for its section or, outside sections, for all parts of the file that do not
    set it themselves, including the lines above it."""
    for text, status in (("on-error = stop\nbogus = 1\n", 2), ("bogus = 1\non-error = stop\n", 2),
                         ("on-error = stop\n[abvoe]\n", 2), ("[below]\nbogus = 1\non-error = stop\n", 2),
                         ("on-error = stop\n[below]\non-error = skip\nbogus = 1\n", 0),
                         ("bogus = 1\n[below]\non-error = stop\n", 0), ("bogus = 1\n", 0)):
        (here.site / "10-site.conf").write_text(text)
        (here.site / "20-site.conf").write_text("on-error = stop\n")
        result = here.qmpi("check", "-t", "count", QMPI_ON_ERROR="skip")
        assert result.returncode == status, text
        assert ("  the run continues without this line (on-error = skip)" in result.messages) == (not status), text


def test_an_on_error_of_a_users_section_holds_for_its_lines_too(here):
    here.user.write_text("[above]\non-error = skip\nbogus = 1\n")
    assert here.qmpi("check").messages[-1] == "  the run continues without this line (on-error = skip)"


# ---- QMPI_DISABLE --------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern, left", [
    ("alpha", ["empty 0.2.0", "count 0.2.0"]), ("a*:c?unt", ["empty 0.2.0"]), ("*", []), ("nonesuch", None),
    ("~site~", ["count 0.2.0"]), ("~user~", ["alpha", "empty 0.2.0"]), ("*/alpha.so", ["empty 0.2.0", "count 0.2.0"]),
    ("alpha.so", ["empty 0.2.0", "count 0.2.0"]), ("libempty.so:count.so", ["alpha"]), ("lib*", None)])
def test_qmpi_disable_leaves_out_the_layers_that_match(here, pattern, left):
    """A tool that is listed by its path also has the name of its layer."""
    (here.site / "site.conf").write_text(f"[above]\n{tool('alpha')}\nempty\n")
    result = here.qmpi("check", "-t", "count", QMPI_DISABLE=pattern)
    assert (result.returncode, qmpi_messages(result)) == (0, [])
    everything = ["alpha", "empty 0.2.0", "count 0.2.0"]
    assert layers(result) == (everything if left is None else left)
    assert result.stdout.count("left out by QMPI_DISABLE: ") == 3 - len(layers(result))
    assert (f"QMPI_DISABLE: no layer matches '{pattern}'" in result.stdout) == (left is None)


def test_a_layer_that_the_site_requires_stays_with_a_message(here):
    (here.site / "site.conf").write_text(f"[above]\n{tool('alpha')}\n  @required = yes\n  functions = Comm_rank\n")
    result = here.run("beta", ranks=2, QMPI_DISABLE="*")
    assert order(result) == ["alpha", "alpha"]
    assert result.messages == [f"QMPI_DISABLE does not leave out '{tool('alpha')}': the site requires it "
                               f"({here.site}/site.conf, line 2)"]


def test_only_the_site_can_require_a_layer(here):
    here.user.write_text("[above]\ncount\n  @required = yes\n")
    result = here.run()
    assert result.returncode == 2
    assert "only configuration files of the site can set '@required'" in result.messages[0]
    assert here.run("count,@required=yes", XDG_CONFIG_HOME="/none").returncode == 2


def test_a_layer_that_the_site_requires_cannot_be_replaced_by_a_stack(here):
    """The lines of the site's files mean stacks of the site, whatever stacks the user defines. The user's own lines mean
    those of the user."""
    (here.site / "site.conf").write_text("[stack base]\nempty\n[stack twice]\nbase\nbase\n"
                                         "[below]\ntwice\n  @required = yes\nmpit\n  @required = yes\n")
    here.user.write_text("[stack base]\n[stack mpit]\n[stack twice]\nlog\ncount\n")
    result = here.qmpi("check", "-t", "twice", QMPI_DISABLE="base:log")
    assert (result.returncode, layers(result)) == (0, [f"{name} 0.2.0" for name in ("count", "empty", "empty", "mpit")])


def test_users_can_use_a_stack_of_the_site_with_a_layer_that_the_site_requires(here):
    """Only where a file of the site lists the stack, the layer is required."""
    (here.site / "site.conf").write_text("[stack quick]\ncount\n  @required = yes\n")
    assert layers(here.qmpi("check", "-t", "quick:empty")) == ["count 0.2.0", "empty 0.2.0"]
    assert layers(here.qmpi("check", "-t", "quick:empty", QMPI_DISABLE="count")) == ["empty 0.2.0"]
    result = here.run("quick,@required=yes")
    assert result.returncode == 2
    assert result.messages[0].startswith("QMPI_TOOLS, entry 1 'quick,@required=yes': only configuration files of the ")


# ---- Named stacks --------------------------------------------------------------------------------


def test_the_name_of_a_stack_stands_for_its_tools(here):
    here.user.write_text(f"tool-path = {TOOLS}\n[stack both]\nalpha{ONE}beta{ONE}\n[stack more]\nboth\nalpha{ONE}")
    assert order(here.run("more")) == ["alpha", "beta", "alpha"]
    assert order(here.run("both:more:both")) == ["alpha", "beta"] + ["alpha", "beta", "alpha"] + ["alpha", "beta"]
    assert order(here.run("more", QMPI_DISABLE="both")) == ["alpha"]
    names = [line.split()[0] for line in here.qmpi("list").stdout.splitlines() if ", line " in line]
    assert names == ["both", "more"]


def test_the_innermost_file_defines_the_name_of_a_stack(here):
    (here.site / "site.conf").write_text("[stack io]\nnonesuch\n")
    here.user.write_text("[stack io]\ncount\n")
    result = here.qmpi("check", "-t", "io")
    assert listed(result) == [f"{here.user}, line 2, stack io"]


WRONG = {
    "cycle": ("[stack a]\nb\n[stack b]\nempty\na\n", "a", "a stack contains itself: a → b → a"),
    "itself": ("[stack a]\na\n", "a", "a stack contains itself: a → a"),
    "inner cycle": ("[stack a]\nb\n[stack b]\nc\n[stack c]\nb\n", "a", "a stack contains itself: b → c → b"),
    "option": ("[stack a]\nempty\n", "a,output=x", "'a' is a stack of tools, and takes no option 'output'"),
    "word": ("[stack a]\nempty\n", "a,loud", "'loud' is not of the form key=value"),
    "condition": ("[stack a]\nempty\n", "a,@nonsense=1", "unknown option '@nonsense'"),
    "namesake": ("[stack count]\nempty\n", "count", "line 1 '[stack count]': 'count' is also the name of /"),
    "huge": ("".join(f"[stack s{n}]\n" + f"s{n + 1}\n" * 9 for n in range(12)) + "[stack s12]\nempty\n", "s0",
             "at most 255 layers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_stack_ends_in_one_message(here, case):
    text, tools, said = WRONG[case]
    here.user.write_text(text)
    result = here.run(tools, ranks=2)
    assert result.returncode == 2
    assert said in result.messages[0], result.stderr
    assert result.stderr.count("hint: ") == 1


def test_a_stack_of_the_site_with_the_name_of_a_tool_is_left_out(here):
    (here.site / "site.conf").write_text("[below]\ncount\n[stack count]\nempty\nlog\n")
    result = here.qmpi("check", "-t", "profile")
    assert (result.returncode, layers(result)) == (0, ["profile 0.2.0"])
    assert result.messages[0].startswith(f"{here.site}/site.conf, line 3 '[stack count]': 'count' is also the name of /")
    assert result.messages[2:] == ["  the run continues without this stack (on-error = skip)"]


# ---- Files that are not read, and limits ---------------------------------------------------------


def test_a_privileged_program_reads_no_configuration_file(here):
    if os.geteuid() != 0:
        pytest.skip("only root can give a program another owner")
    if ASAN:
        pytest.skip("in a privileged program, the sanitizer ignores ASAN_OPTIONS, and its leak check fails")
    (here.site / "site.conf").write_text("on-error = stop\nnonesuch\n")
    here.user.write_text("nonesuch\n")
    placeholder = b"/qmpi-test-folder/" + b"." * 64
    with folder_open_to_all(program("secure")) as folder:
        path = folder / "secure"
        path.write_bytes(path.read_bytes().replace(
            placeholder, str(folder).encode().ljust(len(placeholder), b"\0")))
        env = here.env(LD_LIBRARY_PATH=folder)
        plain = run_mpi(path, *RUN, ranks=1, preload=(), env=env, cwd=folder)
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
        secure = run_mpi(path, *RUN, ranks=1, preload=(), env=env, cwd=folder)
    assert plain.returncode == 2 and "no such tool" in plain.stderr
    assert (secure.returncode, secure.messages) == (0, [])


def test_a_directory_of_the_site_that_cannot_be_read_is_named(here):
    here.site.rmdir()
    here.site.write_text("")
    result = here.run(tools="empty")
    assert result.returncode == 0
    assert f"configuration: cannot read the directory '{here.site}' of the site's configuration files: Not a directory" \
        == result.messages[0]
    assert result.messages[1].startswith("  hint: ") and len(result.messages) == 3
    here.site.unlink()
    assert here.run(tools="empty").messages == []


@pytest.mark.parametrize("last", ["", "count\n"])
def test_stacks_without_tools_do_not_multiply(here, last):
    """The first stack uses the last one 2^59 times. If the last one has a tool, a stack in between
    ends in an error because of too many layers."""
    text = "".join(f"[stack s{i}]\ns{i + 1}\ns{i + 1}\n" for i in range(59)) + "[stack s59]\n" + last
    file = here.write("nested.conf", text)
    result = here.qmpi("check", "-t", "s0:empty", "-c", file)
    assert result.returncode == (2 if last else 0)
    if last:
        assert "a stack has at most 255 layers" in result.stderr
    else:
        assert layers(result) == ["empty 0.2.0"]


def test_stacks_contain_each_other_at_most_100_deep(here):
    def nested(count):
        text = "".join(f"[stack s{i}]\ns{i + 1}\n" for i in range(count - 1)) + f"[stack s{count - 1}]\nempty\n"
        return here.qmpi("check", "-t", "s0", "-c", here.write("nested.conf", text))
    assert layers(nested(100)) == ["empty 0.2.0"]
    result = nested(101)
    assert result.returncode == 2 and result.stderr.count("hint: ") == 1
    assert "stacks contain each other more than 100 deep" in result.stderr
    assert nested(999).returncode == 2


@pytest.mark.parametrize("home", ["relative", "/dev/null", ""])
def test_a_home_without_a_file_is_no_error(here, home):
    result = here.run(XDG_CONFIG_HOME=home, HOME="/dev/null/x")
    assert (result.returncode, result.messages) == (0, [])


def test_a_home_that_does_not_answer_does_not_stop_a_job(here, tmp_path):
    """The system cannot tell whether the user has a file. A file that the user lists must be readable."""
    home = tmp_path / "loop"
    home.symlink_to("loop")
    result = here.run("empty", ranks=2, XDG_CONFIG_HOME=home)
    assert result.returncode == 0
    assert result.messages[0] == (f"configuration: cannot read the file '{home}/qmpi/qmpi.conf': "
                                  "Too many levels of symbolic links")
    assert result.messages[1].startswith("  hint: ")
    assert result.messages[2:] == ["  the run continues without it (on-error = skip)"]
    assert here.run("empty", QMPI_CONFIG=home).returncode == 2


def test_a_directory_in_place_of_the_users_file_is_reported(here):
    here.user.mkdir()
    result = here.run()
    assert result.returncode == 2
    assert f"cannot read the file '{here.user}': it is a directory" in result.messages[0]
