# SPDX-License-Identifier: MIT
"""Services that layers offer to each other: which service a layer finds at which time, and which
layers are notified of a switch.

The function of a service answers with ten times the tool_id of the layer that offers it, plus a digit
for the tool, plus 5 if the service is the second (or fourth, …) that the layer offers."""
import pytest

from support import ASAN, BUILD, BUNDLED_TOOLS, needs_ptrace, run_mpi, tool

needs_cpp = pytest.mark.skipif(not tool("service_typed").exists(), reason="no C++ compiler")


def run(stack, *steps, **kwargs):
    result = run_mpi("switch", "init", *steps, "finalize", ranks=1, preload=(), tools=stack, **kwargs)
    assert result.returncode == 0
    assert not [line for line in result.trace if "WRONG" in line]
    return result


def notes(result, layer, what):
    """Returns the notes of a layer that begin with `what`, without these words."""
    mark = f"service {layer} {what} "
    return [line[len(mark):] for line in result.trace if line.startswith(mark)]


def test_the_nearest_layer_below_is_found_before_the_nearest_above():
    """When a layer is initialized, the layers above it have not offered anything yet."""
    offers = "service,offer=a@1.0,find=a@1.0"
    result = run(f"{offers}:alpha,functions=Barrier:{offers}:pmpi_call:{offers}:service,find=a@1.0", "rank", "barrier")
    found = {1: 31, 3: 51, 5: 31, 6: 51}
    for layer, answer in found.items():
        there = f"layer {answer // 10} answers {answer}"
        assert notes(result, layer, "finds") == [
            f"a@1.0 in init: {there if layer < 5 else 'MPI_ERR_NAME'}", f"a@1.0 later: {there}",
            f"a@1.0 in a thread: {there}"]


def test_a_version_fits_if_the_major_number_is_the_same_and_the_minor_number_not_lower():
    """A layer with an unsuitable version does not hide suitable layers further away. A layer cannot
    offer the same major number twice."""
    asked = ["a@1.0", "a@1.2", "a@1.3", "a@1.4", "a@2.0", "a@3.0", "b@1.0", "a@0.0"]
    result = run(f"service,find={'+'.join(asked)}:service,offer=a@1.2+a@2.65535+a@1.3:service,offer=a@1.3", "rank")
    there = {"a@1.0": 21, "a@1.2": 21, "a@1.3": 31, "a@2.0": 26, "b@1.0": "MPI_ERR_NAME"}
    for when in ("in init", "later"):
        wrong = "MPI_ERR_UNSUPPORTED_OPERATION"
        assert [line for line in notes(result, 1, "finds") if when in line] == [
            f"{name} {when}: " + (f"layer {there[name] // 10} answers {there[name]}"
                                  if isinstance(there.get(name), int) else there.get(name, wrong))
            for name in asked]
    assert notes(result, 2, "offers") == ["a@1.3: MPI_ERR_ARG"]
    assert notes(result, 2, "has") == ["a@1.2", "a@2.65535"]


def test_layers_that_are_off_are_passed_over():
    stack = "service,offer=a@1.0:service,find=a@1.0:service,offer=a@1.0:service,offer=a@2.0"
    result = run(stack, "rank", "off=3", "rank", "off=1", "rank", "off=2", "on=3", "on=2", "rank", "on=1", "rank")
    assert notes(result, 2, "finds")[1:] == [
        f"a@1.0 later: {what}" for what in ("layer 3 answers 31", "layer 1 answers 11", "MPI_ERR_OTHER",
                                            "layer 3 answers 31", "layer 3 answers 31")]


def test_a_layer_is_told_of_the_service_that_it_finds_and_of_each_change():
    """The callbacks of QMPIX_Service_watch are called before those of QMPIX_Register_stack_changed, from
    the top layer down, and also for layers that are off."""
    stack = "service,watch=a@1.0:keeper:service,offer=a@1.0:service,watch=a@1.0+b@1.0:service,offer=a@1.1"
    result = run(stack, "rank", "off=5", "off=1", "on=5", "off=3", "off=5", "on=5", "on=1")
    calls = [line for line in result.calls if "told" in line or "watches" in line or line.startswith("app")]
    keeper = "keeper 2 is told"
    assert [line for line in calls if "Comm_rank" not in line] == [
        "app init",
        "service 4 is told: layer 5 answers 51", "service 4 watches a: good", "service 4 watches b: good",
        "service 1 is told: layer 3 answers 31", "service 1 watches a: good",
        "app rank",
        "app off=5", "service 4 is told: layer 3 answers 31", keeper,
        "app off=1", keeper,
        "app on=5", "service 4 is told: layer 5 answers 51", keeper,
        "app off=3", "service 1 is told: layer 5 answers 51", keeper,
        "app off=5", "service 1 is told: layer 0 answers 0", "service 4 is told: layer 0 answers 0", keeper,
        "app on=5", "service 1 is told: layer 5 answers 51", "service 4 is told: layer 5 answers 51", keeper,
        "app on=1", keeper,
        "app finalize"]


def test_a_layer_is_told_of_a_service_above_before_the_first_call_is_carried_out():
    result = run("service,offer=a@1.0:alpha:service,watch=a@1.0", "rank")
    calls = [line for line in result.calls if "has" not in line]
    assert calls[:4] == ["app init", "service 3 watches a: good", "service 3 is told: layer 1 answers 11",
                         "alpha 2 MPI_Init_thread"]


def test_a_service_can_be_watched_after_init_but_not_twice():
    result = run("service,rewatch=a@1.0:service,offer=a@1.0", "rank", "rank", "off=2")
    assert [line for line in result.calls if line.startswith("service 1")] == [
        "service 1 is told: layer 2 answers 21", "service 1 watches a: good", "service 1 watches a: MPI_ERR_ARG",
        "service 1 is told: layer 0 answers 0"]


def test_a_callback_may_switch_layers_and_is_called_again_when_it_has_returned():
    result = run("service,watch=a@1.0,switches=3:service,offer=a@1.0:service,offer=a@1.0", "off=2", "on=2")
    # In init, layer 2 is reported, but the callback cannot switch layer 3 off yet.
    assert notes(result, 1, "is")[:] == ["told: layer 2 answers 21", "told: layer 3 answers 31",
                                         "told: layer 0 answers 0", "told: layer 2 answers 21"]


@pytest.mark.parametrize("stack", [
    "service,offer=a@1.0:service,watch=a@1.0,quiet=yes:service,offer=a@1.0:service,watch=a@1.0,quiet=yes:alpha"])
def test_the_last_notification_of_a_layer_is_right_even_if_two_threads_switch(stack):
    result = run(stack, "both=20000")
    assert [line for line in result.trace if "was told" in line] == [
        f"service {layer} was told of layer as it is" for layer in (2, 4)]


def test_a_forked_child_is_told_too_if_another_thread_of_the_parent_was_in_the_callback():
    result = run("service,rewatch=a@1.0,forks=2:service,offer=a@1.0", "rank", "off=2")
    told = notes(result, 1, "is")
    assert told == ["told: layer 2 answers 21", "forked", "told: layer 0 answers 0", "told: layer 0 answers 0"]


def test_a_service_of_a_layer_that_is_left_out_is_not_found():
    result = run("service,find=a@1.0,watch=a@1.0:service,offer=a@1.0,watch=b@1.0,fail=yes:service,find=a@1.0,offer=b@1.0",
                 "rank", "off=3", "on=3", env={"QMPI_ON_ERROR": "skip"})
    assert set(notes(result, 1, "finds")) == {"a@1.0 in init: MPI_ERR_NAME", "a@1.0 later: MPI_ERR_NAME"}
    assert notes(result, 1, "is") == []
    assert notes(result, 2, "is") == ["told: layer 3 answers 31"]  # only in its init


def test_misuse_gives_error_classes():
    result = run("alpha:service,misuse=yes", "rank")
    assert result.trace.count("service 2 has misused") == 2


@needs_cpp
def test_the_functions_of_a_declared_service_work_in_cpp_and_with_tools_in_c():
    result = run("service_typed:service,offer=typed@3.7,find=typed@3.0:service_typed", "rank")
    assert [line for line in result.trace if line.startswith("typed")] == [
        "typed 3 finds in init: nothing", "typed 1 finds in init: layer 2 answers 21",
        "typed 1 finds later: layer 2 answers 21", "typed 3 finds later: layer 2 answers 21"]
    assert notes(result, 2, "finds") == [f"typed@3.0 {when}: layer 3 answers 34" for when in ("in init", "later")]


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer's instructions would be counted")
@needs_ptrace
def test_services_add_no_instructions_to_mpi_calls():
    def instructions(stack, *steps):
        result = run(stack, *steps, "count=10", wrapper=[BUILD / "tests/count_steps"])
        return int(result.stdout)

    for between in ("", f":{BUNDLED_TOOLS}/empty.so", ":pmpi_quiet"):
        with_services = f"service,offer=a@1.0,watch=b@1.0{between}:service,offer=b@1.0,watch=a@1.0"
        count = instructions(f"service{between}:service")
        assert instructions(with_services) == instructions(with_services, "off=1", "on=1") == count
