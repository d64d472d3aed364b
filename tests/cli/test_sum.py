# SPDX-License-Identifier: MIT
"""Tests ./check: its last line must be the sum in all cases, and include every failure. ./check runs
with stubs of its commands. The stub of meson writes the log that a test has prepared."""
import json
import os
import shutil
import subprocess
import sys

import pytest

from support import SOURCE

STUBS = {
    "dpkg-query": "printf '%s install ok installed\\n' \"$@\"",
    "apt-cache": ":",
    "git": "echo some.c",
    "python3": f"exec '{sys.executable}' -S \"$@\"",
    "clang-format": "exit ${FORMAT_STATUS:-0}",
    "codespell": "exit ${SPELLING_STATUS:-0}",
    "ninja": 'case " $BROKEN " in *" $2 "*) echo "it does not compile"; exit 1 ;; esac',
    "meson": """
case "$1" in
setup) mkdir -p "$2/meson-logs" "$2/meson-info" "$2/tests"; : >"$2/build.ninja"
    printf '#!/bin/sh\nexec "$@"\n' >"$2/tests/pytest_server"
    echo '[]' | tee "$2/meson-info/intro-tests.json" >"$2/meson-info/intro-targets.json" ;;
test)
    case " $* " in
    *" --list "*) cat listed ;;
    *) [ -z "${SIGNAL:-}" ] || kill -$SIGNAL $PPID
       cp log "$3/meson-logs/testlog.json" 2>/dev/null
       exit ${TEST_STATUS:-0} ;;
    esac ;;
esac""",
}

# A stub of tests/roots/root, the script that makes root directories of other releases of Debian. ROOT_STATUS
# decides whether it makes one. Commands other than make and run are printed.
ROOT = """#!/bin/sh
case "$1" in
make) [ "$ROOT_STATUS" = 0 ] || echo "qmpi: no root of Debian $2: because" ; exit ${ROOT_STATUS:-77} ;;
run) shift 2; exec "$@" ;;
*) echo "root $1 $2" ;;
esac
"""


def tap(name, *points, result="OK", announced=None):
    text = "\n".join([f"1..{announced or len(points)}", *points, ""])
    return {"name": f"qmpi:part / {name}", "stdout": text, "result": result}


def plain(name, result):
    return {"name": f"qmpi:part / {name}", "stdout": "some output\n", "result": result}


def check(folder, *parts, log=(), listed=None, **env):
    """Runs ./check with the further variables `env`. `log` are the tests in Meson's log; with None, Meson writes no
    log. `listed` are the names of the tests that Meson lists, by default those in `log`. Returns the exit status, the
    lines `not passed: …`, and the last line."""
    (folder / "tests").mkdir()
    shutil.copy(SOURCE / "check", folder)
    for name in ("sum.py", "table.py", "targets.py", "cases.py"):
        shutil.copy(SOURCE / "tests" / name, folder / "tests")
    (folder / "tests" / "roots").mkdir()
    (folder / "tests" / "roots" / "root").write_text(ROOT)
    (folder / "tests" / "roots" / "root").chmod(0o755)
    for name, text in STUBS.items():
        path = folder / "stubs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    if log is not None:
        (folder / "log").write_text("".join(json.dumps(test) + "\n" for test in log))
    names = [test["name"] for test in log or ()] if listed is None else listed
    (folder / "listed").write_text("The Meson build system\n" + "".join(f"{name}\n" for name in names))
    # A shell cannot catch a signal that was ignored when it began, such as SIGHUP under nohup.
    done = subprocess.run(["env", "--default-signal", "./check", *parts], cwd=folder,
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PATH": f"{folder}/stubs:{os.environ['PATH']}", **env})
    print(done.stdout, done.stderr)
    lines = done.stdout.splitlines()
    return done.returncode, [line for line in lines if line.startswith("not passed: ")], lines[-1]


GOOD = [tap("a", "ok 1 - one", "ok 2 - two # SKIP no compiler"), plain("b", "OK")]


def test_passed_and_skipped_cases_are_counted(tmp_path):
    assert check(tmp_path, "mpich", "sanitizers", log=GOOD) == (0, [], "6 passed, 0 failed, 2 skipped")


@pytest.mark.parametrize("test, line, sums", [
    (tap("x", "ok 1 - one", "not ok 2 - two", result="FAIL"), "x: two", "5 passed, 1 failed"),
    (tap("x", "ok 1 - one", announced=9, result="ERROR"), "x: ERROR after 1 results", "5 passed, 1 failed"),
    (tap("x", result="TIMEOUT"), "x: TIMEOUT after 0 results", "4 passed, 1 failed"),
    (plain("x", "FAIL"), "x: FAIL after 0 results", "4 passed, 1 failed"),
    ({"name": "qmpi:part / x", "result": "TIMEOUT"}, "x: TIMEOUT after 0 results", "4 passed, 1 failed"),
])
def test_a_suite_that_ends_badly_is_a_failure(test, line, sums, tmp_path):
    status, bad, last = check(tmp_path, "mpich", log=[*GOOD, test], TEST_STATUS="1")
    assert (status, last) == (1, f"{sums}, 1 skipped")
    assert bad == [f"not passed: build-mpich: qmpi:part / {line}"]


def test_the_comments_of_a_failed_point_are_printed_with_it(tmp_path, capsys):
    test = tap("x", "not ok 1 - one", "# because", "#  of two", "ok 2 - two", "# fine", result="FAIL", announced=2)
    _, bad, last = check(tmp_path, "mpich", log=[test], TEST_STATUS="1")
    lines = capsys.readouterr().out.splitlines()
    place = lines.index(bad[0])
    assert bad == ["not passed: build-mpich: qmpi:part / x: one"]
    assert lines[place:place + 4] == [*bad, "    # because", "    #  of two", last]


def test_a_suite_that_did_not_run_is_a_failure(tmp_path):
    status, bad, last = check(tmp_path, "mpich", log=GOOD[:1], listed=[test["name"] for test in GOOD])
    assert (status, last) == (1, "3 passed, 1 failed, 1 skipped")
    assert bad == ["not passed: build-mpich: qmpi:part / b: did not run in build-mpich"]


def test_a_meson_that_leaves_no_log_is_a_failure(tmp_path):
    status, bad, last = check(tmp_path, "mpich", log=None, listed=["qmpi:part / a"], TEST_STATUS="1")
    assert (status, last, len(bad)) == (1, "2 passed, 1 failed", 1)


def test_the_log_of_an_earlier_run_is_not_counted(tmp_path):
    logs = tmp_path / "build-mpich" / "meson-logs"
    logs.mkdir(parents=True)
    (logs / "testlog.json").write_text(json.dumps(tap("a", "ok 1 - old")) + "\n")
    status, _, last = check(tmp_path, "mpich", log=None, listed=["qmpi:part / a"])
    assert (status, last) == (1, "2 passed, 1 failed")


@pytest.mark.parametrize("broken, sums", [
    ("build-mpich", "6 passed, 1 failed, 2 skipped"), ("build-sanitizers", "6 passed, 1 failed, 2 skipped"),
    ("build-mpich build-openmpi build-sanitizers", "2 passed, 3 failed")])
def test_a_part_that_cannot_be_built_is_a_failure_and_the_others_run(broken, sums, tmp_path):
    status, bad, last = check(tmp_path, "mpich", "openmpi", "sanitizers", log=GOOD, BROKEN=broken)
    assert (status, last) == (1, sums)
    assert [f"not passed: {folder} cannot be built" for folder in broken.split()] == bad


@pytest.mark.parametrize("variable, name", [("FORMAT_STATUS", "format"), ("SPELLING_STATUS", "spelling")])
def test_a_wrong_format_or_spelling_is_a_failure(variable, name, tmp_path):
    status, bad, last = check(tmp_path, "mpich", log=GOOD, **{variable: "123"})
    assert (status, bad, last) == (1, [f"not passed: {name}"], "3 passed, 1 failed, 1 skipped")


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM"])
def test_the_sum_is_printed_even_after_an_interrupt(name, tmp_path):
    status, bad, last = check(tmp_path, "mpich", log=GOOD, SIGNAL=name)
    assert (status, last) == (1, "4 passed, 1 failed, 1 skipped")
    assert bad == [f"not passed: ended by SIG{name}"]


@pytest.mark.parametrize("name", ["qmpi:part / a", "part - qmpi:a", "part+other - qmpi:a"])
def test_the_names_of_tests_in_older_and_newer_releases_of_meson_are_recognized(name, tmp_path):
    """Newer releases of Meson write the suites first."""
    log = [{"name": name, "stdout": "1..1\nok 1 - one\n", "result": "OK"}]
    assert check(tmp_path, "mpich", log=log) == (0, [], "3 passed, 0 failed")


# ---- Other releases ------------------------------------------------------------------------------


def test_a_root_that_was_asked_for_and_cannot_be_made_is_a_failure(tmp_path):
    assert check(tmp_path, "sid-mpich", log=GOOD) == (
        1, ["not passed: build-sid-mpich cannot be built"], "2 passed, 1 failed")


def test_a_part_in_a_root_counts_and_has_a_table(tmp_path, capsys):
    assert check(tmp_path, "sid-mpich", log=GOOD, ROOT_STATUS="0") == (0, [], "4 passed, 0 failed, 1 skipped")
    output = capsys.readouterr().out
    assert "root passed sid\n" in output
    assert "| suite | sid-mpich |\n|---|---|\n| part | 2 / 0 / 1 |\n| all | 2 / 0 / 1 |\n" in output


def test_after_a_failure_in_a_root_the_script_root_is_called_with_failed(tmp_path, capsys):
    test = tap("x", "not ok 1 - one", result="FAIL")
    status, _, last = check(tmp_path, "sid-mpich", "sid-openmpi", log=[*GOOD, test], ROOT_STATUS="0", TEST_STATUS="1")
    assert (status, last) == (1, "6 passed, 2 failed, 2 skipped")
    assert "root failed sid\n" in capsys.readouterr().out


def test_one_build_for_the_standard_abi_counts_with_each_of_two_libraries(tmp_path, capsys):
    assert check(tmp_path, "sid-abi", log=GOOD, ROOT_STATUS="0") == (0, [], "6 passed, 0 failed, 2 skipped")
    assert "| suite | ABI on MPICH | ABI on Open MPI |\n|---|---|---|\n| part | 2 / 0 / 1 | 2 / 0 / 1 |\n" in (
        capsys.readouterr().out)
    assert not (tmp_path / "build-sid-abi-mpich" / "build.ninja").exists()


def test_the_log_of_an_earlier_run_with_one_library_is_not_counted(tmp_path):
    logs = tmp_path / "build-sid-abi-mpich" / "meson-logs"
    logs.mkdir(parents=True)
    (logs / "testlog.json").write_text(json.dumps(tap("x", "ok 1 - one")) + "\n")
    status, bad, _ = check(tmp_path, "sid-abi-mpich", log=None, listed=["qmpi:part / x"], ROOT_STATUS="0")
    assert status == 1 and "did not run" in "".join(bad)


def test_check_without_arguments_has_a_part_in_a_root(tmp_path, capsys):
    assert check(tmp_path, log=GOOD, ROOT_STATUS="0") == (0, [], "10 passed, 0 failed, 4 skipped")
    assert "root passed sid\n" in capsys.readouterr().out


def test_if_no_root_can_be_made_its_cases_are_skipped_with_the_reason(tmp_path, capsys):
    assert check(tmp_path, log=GOOD) == (0, [], "8 passed, 0 failed, 6 skipped")
    assert "\nskipped: sid-mpich-quick: qmpi: no root of Debian sid: because\n" in capsys.readouterr().out


def test_a_part_in_a_root_that_is_named_is_not_skipped(tmp_path):
    """A part in a root is only skipped if it was not asked for by its name."""
    status, bad, last = check(tmp_path, "sid-mpich-quick", log=GOOD)
    assert (status, bad, last) == (1, ["not passed: build-sid-mpich-quick cannot be built"], "2 passed, 1 failed")
