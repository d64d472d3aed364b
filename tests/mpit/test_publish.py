# SPDX-License-Identifier: MIT
"""The names of items that layers publish, and the refusal of invalid items."""
import re

import pytest

from mpit_support import run_mpit
from support import BUNDLED_TOOLS, OPEN_MPI


def names(stack, **how):
    result = run_mpit("names", tools=stack, **how)
    assert result.returncode == 0
    first, again = (re.findall(r"^(\w+) (\d+) (.*)$", part, re.M)
                    for part in result.stdout.split("again\n"))
    if OPEN_MPI:
        check_stability(first, again)
    else:
        assert first == again
    return result, [(kind, name) for kind, _, name in again]


def check_stability(first, again):
    """In Open MPI, MPI_Init adds and removes variables of the library. The added ones must come last,
    and the others must keep their indices."""
    alone = run_mpit("names", preload=())
    library = set(re.findall(r"^\w+ \d+ (.*)$", alone.stdout, re.M))
    assert {name for _, _, name in set(first) - set(again)} <= library
    numbers = {kind: max(int(index) for each, index, _ in first if each == kind)
               for kind in ("pvar", "category", "cvar")}
    for kind, index, name in set(again) - set(first):
        assert name in library and int(index) > numbers[kind]


def of_kind(listed, kind):
    return [name for each, name in listed if each == kind and name.startswith("qmpi")]


def test_layers_have_categories_and_switches_under_their_labels():
    _, listed = names("empty:publisher:now:empty:publisher")
    labels = ["empty", "publisher", "now", "empty#2", "publisher#2"]
    categories = of_kind(listed, "category")
    assert set(categories) >= {"qmpi", *(f"qmpi.{label}" for label in labels)}
    assert len(categories) == len(set(categories))
    switches = [name for name in of_kind(listed, "cvar") if name.endswith(".enabled")]
    assert set(switches) == {f"qmpi.{label}.enabled" for label in labels}


def test_the_category_of_a_layer_has_the_same_description_in_every_stack():
    """Descriptions must be equal in all processes of a job, although the stacks of the processes may differ."""
    described = [set(re.findall(r"(?m)^described (qmpi\.now: .*)$", names(stack)[0].stdout))
                 for stack in ("now", "empty:publisher:now")]
    assert described == [{"qmpi.now: Variables of the tool now"}] * 2


def test_the_same_variables_of_two_layers_have_two_names():
    _, listed = names("publisher:publisher")
    pvars = of_kind(listed, "pvar")
    first = {name for name in pvars if name.startswith("qmpi.publisher.")}
    second = {name.replace("#2", "") for name in pvars if name.startswith("qmpi.publisher#2.")}
    assert len(pvars) == len(set(pvars))
    # The lower layer is initialized first, so it gets the name without a prefix. The upper layer
    # gets the long name.
    assert first - second == {"qmpi.publisher.publisher_bound"}
    assert second - first == set()
    assert ("pvar", "publisher_bound") in listed


@pytest.mark.parametrize("stack", ["misfit", "misfit:empty:publisher"])
def test_invalid_items_are_refused_and_threads_may_publish(stack):
    result, listed = names(stack)
    assert [line for line in result.trace if "misfit" in line] == []
    many = [name for name in of_kind(listed, "pvar") if ".many." in name]
    assert len(many) == len(set(many)) == 800


def test_items_of_a_layer_that_is_left_out_are_removed():
    result, listed = names("misfit,fail=1:publisher", env={"QMPI_ON_ERROR": "skip"})
    assert len(result.messages) > 0
    assert [name for _, name in listed if "misfit" in name] == []
    assert "qmpi.publisher.calls" in of_kind(listed, "pvar")
    assert [line for line in result.trace if "is called" in line] == []


def test_no_callback_of_a_layer_that_is_left_out_is_called():
    result = run_mpit("switch", "init", "off=2", "on=2", "finalize", tools="misfit,fail=1:publisher",
                      env={"QMPI_ON_ERROR": "skip"}, preload=())
    assert result.returncode == 0
    assert [line for line in result.trace if "is called" in line] == []


def test_qmpi_stack_does_not_name_layers_that_were_left_out():
    _, listed = names("empty:misfit,fail=1:publisher", env={"QMPI_ON_ERROR": "skip"})
    assert ("stack", "empty:publisher") in listed


def test_a_category_whose_name_is_taken_gets_the_next_number():
    _, listed = names("dot.ted:dot")
    assert {"qmpi.dot", "qmpi.dot.ted", "qmpi.dot.ted#2"} <= set(of_kind(listed, "category"))
    assert "qmpi.dot.ted.enabled" in of_kind(listed, "cvar")


def test_control_variables_of_bundled_tools_return_the_value_written(tmp_path):
    """The value must be read back even if each write triggers an action, as with qmpi.trace.save."""
    tools = "trace,output=t:count,output=c:profile,output=p:log,output=l:delay,before=1us:mpit,output=m:empty"
    result = run_mpit("read_back", tools=tools, cwd=tmp_path, env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert result.returncode == 0
    written = [line.removeprefix("written: ") for line in result.stdout.splitlines()]
    assert set(written) == {"qmpi.trace.save", *(f"qmpi.{name}.enabled" for name in (
        "trace", "count", "profile", "log", "delay", "mpit", "empty"))}
