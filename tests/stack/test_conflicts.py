# SPDX-License-Identifier: MIT
"""For layers that cannot be used together, there is one message, which names both layers and where
each is listed."""
import re

import pytest

from support import run_mpi

RUN = ["init", "comm_rank", "finalize"]


def run(stack, **kwargs):
    result = run_mpi("calls", *RUN, ranks=1, tools=stack, **kwargs)
    assert not [line for line in result.trace if "WRONG" in line]
    return result


def runs(result):
    return [line for line in result.trace if line.endswith("is initialized")]


# Stack -> the end of the message, which contains the two layers and the reason.
CONFLICTS = {
    "exclusive:exclusive": "layer 1 cannot be used together with 'adds-*', and layer 2 provides 'adds-messages'",
    "tolerant:exclusive": "layer 2 cannot be used together with 'adds-*', and layer 1 provides 'adds-messages'",
    "exclusive:alpha:tolerant": "layer 1 cannot be used together with 'adds-*', and layer 3 provides 'adds-messages'",
    "once:once": "layer 1 cannot be used together with 'once', and layer 2 is the tool once",
    "no_alpha:pmpi_call:alpha": "layer 1 cannot be used together with '[a]lpha', and layer 3 is the tool alpha",
    "alpha:no_alpha": "layer 2 cannot be used together with '[a]lpha', and layer 1 is the tool alpha",
    "pmpi_call:service,conflicts=pmpi_c*": "layer 2 cannot be used together with 'pmpi_c*', and layer 1 is the tool pmpi_call",
    "service,conflicts=pmpi_c*:pmpi_call": "layer 1 cannot be used together with 'pmpi_c*', and layer 2 is the tool pmpi_call",
    "service,conflicts=x+tw?,provides=one+two:service,conflicts=tw?,provides=two":
        "layer 1 cannot be used together with 'tw?', and layer 2 provides 'two'",
    "service,offer=regions@1.0:service,conflicts=reg*":
        "layer 2 cannot be used together with 'reg*', and layer 1 offers the service 'regions'",
    "exclusive:service,provides=adds-barriers":
        "layer 1 cannot be used together with 'adds-*', and layer 2 provides 'adds-barriers'",
}


def split(reason):
    """Returns the numbers of the upper and of the lower layer."""
    return sorted(int(layer) for layer in re.findall(r"layer (\d)", reason))


def tool_of(stack, layer):
    return stack.split(":")[layer - 1].split(",")[0]


@pytest.mark.parametrize("stack", CONFLICTS)
def test_a_conflict_is_one_message_that_names_both_layers_and_their_entries(stack):
    upper, lower = split(CONFLICTS[stack])
    result = run(stack)
    assert result.returncode == 2 and result.stdout == ""
    entry = stack.split(":")[upper - 1]
    assert result.messages == [
        f"QMPI_TOOLS, entry {upper} '{entry}': tool {tool_of(stack, upper)}, layer {upper}, conflicts with tool "
        f"{tool_of(stack, lower)}, layer {lower} (QMPI_TOOLS, entry {lower}): {CONFLICTS[stack]}",
        "  hint: list only one of the two; if you know that they work together, give one of them the option "
        "@force=yes"]
    assert not [line for line in result.calls if not re.match("app init|service|.* is initialized", line)]


@pytest.mark.parametrize("stack", ["exclusive:alpha:exclusive", "pmpi_call:service,conflicts=pmpi_c*:alpha"])
def test_the_upper_layer_is_left_out_if_the_run_is_to_continue(stack):
    result = run(stack, env={"QMPI_ON_ERROR": "skip"})
    assert result.returncode == 0
    assert [line for line in result.messages if "conflicts with" in line] != []
    assert "  the run continues without this layer (QMPI_ON_ERROR=skip)" in result.messages
    # The init function of the upper layer did not run.
    assert runs(result) == ["exclusive 3 is initialized"] * ("exclusive" in stack)
    assert [line for line in result.calls if "Comm_rank" in line and "app" not in line] == [
        f"alpha {2 if 'exclusive' in stack else 3} MPI_Comm_rank"]


@pytest.mark.parametrize("stack", ["exclusive,@force=yes:exclusive", "exclusive:tolerant,@force=yes",
                                   "pmpi_call,@force=yes:service,conflicts=pmpi_c*"])
def test_either_layer_can_be_forced(stack):
    result = run(stack, env={"QMPI_DEBUG": "load"})
    assert result.returncode == 0
    assert [line for line in result.messages if "conflict, but @force=yes is given" in line] != []
    assert run(stack.replace("yes", "no")).returncode == 2


@pytest.mark.parametrize("stack", ["tolerant:tolerant", "exclusive:alpha", "once:alpha", "no_alpha:no_alpha:beta",
                                   "exclusive:service,offer=regions@1.0:service,provides=something", "older:newer:older"])
def test_layers_that_do_not_conflict_run(stack):
    """The tools `older` and `newer` have shorter descriptions, as if they were compiled with earlier
    headers."""
    result = run(stack)
    assert (result.returncode, result.messages) == (0, [])
    assert len(runs(result)) == sum(name in ("tolerant", "exclusive", "once", "no_alpha", "older", "newer")
                                    for name in re.findall(r"(?:^|:)(\w+)", stack))


def test_a_layer_that_was_left_out_conflicts_with_no_other():
    result = run("exclusive:service,provides=adds-messages,fail=yes", env={"QMPI_ON_ERROR": "skip"})
    assert result.returncode == 0 and runs(result) == ["exclusive 1 is initialized"]


def test_layers_that_a_file_lists_are_named_with_their_lines(tmp_path):
    config = tmp_path / "stack.conf"
    config.write_text("[below]\nalpha\n\nexclusive\n    @force = no\n[stack mine]\nexclusive\n")
    result = run("mine", env={"QMPI_CONFIG": config})
    assert result.returncode == 2
    assert f"conflicts with tool exclusive, layer 3 ({config}, line 4, [below])" in result.messages[0]
    assert run("mine,@force=yes", env={"QMPI_CONFIG": config}).returncode == 0


def test_a_tool_that_communicates_must_be_active_on_all_ranks():
    """A condition by rank is refused, even if all ranks of the job satisfy it."""
    stack = "service,communicates=yes,@ranks=0"
    result = run(stack)
    assert result.returncode == 2 and "must be active on all ranks" in result.messages[0]
    assert run(stack + ",@force=yes").returncode == run(stack.replace("communicates", "quiet")).returncode == 0

