# SPDX-License-Identifier: MIT
"""Tests that plain `ninja` builds no tests, that tests are built before they run, and that a new prefix or version does
not cause all files to be compiled again."""
import json
import os
import subprocess
from pathlib import Path

BUILD = Path(os.environ["QMPI_BUILD_ROOT"])


def inputs(target):
    """Returns all files that ninja would build or read for the target."""
    return subprocess.run(["ninja", "-C", BUILD, "-t", "inputs", target], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def test_plain_ninja_builds_no_test():
    built = inputs("all")
    assert "cli/qmpi" in " ".join(built)
    assert [path for path in built if path.startswith(("tests/", "bench/", "examples/"))] == []


def test_the_tests_are_built_before_they_run():
    assert set(inputs("meson-test-prereq")) <= set(inputs("test"))


def test_no_macro_on_a_command_line_contains_the_prefix_or_the_version():
    """Otherwise, a change of either would cause all files to be compiled again."""
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text(encoding="utf-8"))
    prefix = next(option["value"] for option in options if option["name"] == "prefix")
    project = json.loads((BUILD / "meson-info/intro-projectinfo.json").read_text(encoding="utf-8"))
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        definitions = [word for word in entry["command"].split() if word.startswith(("-D", "'-D", '"-D'))]
        assert not any(prefix in word or project["version"] in word for word in definitions), entry["command"]
