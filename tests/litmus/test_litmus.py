# SPDX-License-Identifier: MIT
"""Tests the protocols between threads as models. herd7 checks these against arm64's memory model: see README.md."""
import re
import shutil
import subprocess

import models
import pytest

MODELS = models.read_models()
HERD = shutil.which("herd7")

each_model = pytest.mark.parametrize("model", MODELS, ids=[model.path.stem for model in MODELS])
needs_herd = pytest.mark.skipif(not HERD, reason="herd7 is not installed (package herdtools7 of Debian sid)")


def observe(path):
    """Returns "Never", "Sometimes" or "Always": whether the forbidden outcome is possible."""
    ran = subprocess.run([HERD, "-model", "aarch64.cat", path], capture_output=True, text=True, timeout=120)
    found = re.search(r"^Observation \S+ (\w+)", ran.stdout, re.MULTILINE)
    assert found, f"{path}: {ran.stdout}{ran.stderr}"
    return found.group(1)


@each_model
def test_the_code_contains_the_pieces_that_the_model_names(model):
    assert model.code, f"{model.path.name} names no code"
    for file, function, pieces in model.code:
        text = models.find_function(models.SOURCE / file, function)
        assert text, f"{model.path.name}: {file} has no function {function}"
        missing = models.first_missing(text, pieces)
        assert missing is None, f"{model.path.name}: {function} in {file} no longer has, in this order: {missing}"


@each_model
def test_the_model_is_complete(model):
    assert re.fullmatch(rf"AArch64 {model.path.stem}\n.*", model.text, re.DOTALL), "the first line names another file"
    assert "\nForbidden: " in model.text, "no outcome is forbidden"
    assert model.weaker and model.weakened() != model.text, "there is no weaker model"


def test_each_shared_variable_has_a_comment():
    texts = {path: path.read_text() for folder in ("src", "lib", "tools") for suffix in ("c", "h")
             for path in (models.SOURCE / folder).rglob(f"*.{suffix}")}
    without = [f"{path.relative_to(models.SOURCE)}: {name}" for path, text in texts.items()
               for name in sorted(models.shared_variables(text)) if not models.has_comment(text, name)]
    assert not without, "no comment about writers, readers and memory order: " + ", ".join(without)


@needs_herd
@each_model
def test_the_forbidden_outcome_is_impossible(model):
    assert observe(model.path) == "Never"


@needs_herd
@each_model
def test_the_forbidden_outcome_is_possible_in_the_weaker_model(model, tmp_path):
    path = tmp_path / model.path.name
    path.write_text(model.weakened())
    assert observe(path) == "Sometimes"
