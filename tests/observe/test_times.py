# SPDX-License-Identifier: MIT
"""Adjacent observers share the times at which a call begins and ends. The duration between the two times
does not include the work of the observers themselves."""
import re

import pytest

from observe_support import HAS_COUNTER, run_observed

# How long callbacks and interceptors sleep: much longer than MPI_Barrier takes with one process.
LONG = 200  # in milliseconds
IN_NANOSECONDS = LONG * 1_000_000

CALLS = 3


def run_timed(*layers, calls=CALLS, clock="monotonic"):
    """Calls MPI_Barrier under these layers. Returns {tool_id: (before, after)}: lists of what the
    callbacks `before` and `after` of the layer printed for each call."""
    result = run_observed("switch", "init", *["barrier"] * calls, "finalize", ranks=1,
                          tools=":".join(layers), env={"QMPI_CLOCK": clock})
    assert (result.returncode, result.messages) == (0, [])
    seen = {}
    for line in result.trace:
        found = re.fullmatch(r"(before|after) (\d+) (.*)", line)
        if found:
            lists = seen.setdefault(int(found[2]), ([], []))
            lists[found[1] == "after"].append(fields(found[3]))
    return seen


def fields(text):
    """Parses `name VALUE name VALUE`. The field `entry` has two values: an error class and a time."""
    words = re.findall(r"[a-z]+ -?\d+(?: -?\d+)?", text)
    return {word.split()[0]: [int(number) for number in word.split()[1:]] for word in words}


def times(after):
    """Returns the durations of the calls, in ticks."""
    return [line["end"][0] - line["begin"][0] for line in after]


def shortest(after):
    """Returns the duration of the shortest call. On a busy machine, some calls take longer."""
    return min(times(after))


def test_only_observers_that_request_the_time_get_it_after_the_call():
    seen = run_timed("timed,time=yes", "timed", "timed,entry=yes")
    asks, asks_not, entry = seen[1], seen[2], seen[3]
    assert all(line["time"][0] != 0 and line["address"] == [0] for line in asks[0])
    assert all(line["time"] == [0] and line["end"] >= line["begin"] > [0] for line in asks[1])
    for lines in (*asks_not, *entry):
        assert all(line["time"][0] == asks[0][0]["time"][0] for line in lines)
    assert all(line["address"] == asks[0][0]["time"] for line in asks_not[0] + entry[0])
    assert all(line["entry"][0] == 0 for line in entry[0] + entry[1])
    assert all(line["entry"][0] != 0 for line in asks[0] + asks_not[0] + asks[1])


@pytest.mark.parametrize("height", [1, 2, 3, 10])
def test_adjacent_observers_share_the_readings(height):
    seen = run_timed(*["timed,time=yes,entry=yes"] * height)
    assert len(seen) == height
    earlier = 0
    for call in range(CALLS):
        lines = [seen[layer][1][call] for layer in seen]
        assert all((line["begin"], line["end"], line["entry"]) ==
                   (lines[0]["begin"], lines[0]["end"], lines[0]["entry"]) for line in lines)
        assert earlier < lines[0]["entry"][1] <= lines[0]["begin"][0] <= lines[0]["end"][0]
        earlier = lines[0]["end"][0]


def test_between_the_callbacks_the_begin_time_is_stored_at_a_fixed_distance_from_the_record():
    for layers in (["timed,time=yes"], ["timed,time=yes"] * 3):
        for before, after in run_timed(*layers).values():
            assert {line["begin"][0] for line in before} == {0}
            assert all(line["same"] == [1] for line in after)
            assert len({line["distance"][0] for line in before}) == 1


@pytest.mark.parametrize("clock", ["monotonic", "tsc"])
def test_readings_go_forward(clock):
    if clock == "tsc" and not HAS_COUNTER:
        pytest.skip("the machine has no cycle counter of constant rate")
    after = run_timed("timed,time=yes", calls=20, clock=clock)[1][1]
    readings = [line[name][0] for line in after for name in ("begin", "end")]
    assert readings == sorted(readings) and readings[0] > 0


def test_the_time_excludes_the_work_of_observers():
    """The time excludes the callbacks of all layers of the run, including those of the layer itself."""
    seen = run_timed("timed,time=yes", f"timed,time=yes,sleep={LONG}", "timed,time=yes")
    for _, after in seen.values():
        assert shortest(after) < IN_NANOSECONDS
    assert shortest(run_timed(f"timed,time=yes,sleep={LONG}")[1][1]) < IN_NANOSECONDS


def test_the_time_includes_the_layers_below_the_run():
    for lower in (f"timed,intercept={LONG}", f"timed,acts=yes,sleep={LONG}",
                  f"empty:timed,time=yes,sleep={LONG}"):
        seen = run_timed("timed,time=yes", "timed,time=yes", lower)
        for layer in (1, 2):
            assert shortest(seen[layer][1]) >= IN_NANOSECONDS, lower


def test_the_time_includes_an_interceptor_of_the_layer_itself():
    seen = run_timed("timed,time=yes", f"timed,time=yes,intercept={LONG}", "timed,time=yes")
    assert shortest(seen[1][1]) >= IN_NANOSECONDS and shortest(seen[2][1]) >= IN_NANOSECONDS
    assert shortest(seen[3][1]) < IN_NANOSECONDS


def test_a_call_from_a_callback_has_times_of_its_own():
    seen = run_timed("timed,time=yes,nested=yes", f"timed,time=yes,sleep={LONG}", calls=2)
    upper, lower = seen[1][1], seen[2][1]
    assert len(upper) == 2 and len(lower) == 4
    for call, line in enumerate(upper):
        nested, outer = lower[2 * call], lower[2 * call + 1]
        assert nested["end"] < line["begin"] == outer["begin"]
        assert line["end"] == outer["end"]


def test_layers_share_readings_again_after_one_was_switched_off_and_on():
    result = run_observed("switch", "init", "barrier", "off=1", "barrier", "on=1", "barrier", "finalize",
                          ranks=1, tools="timed,time=yes:timed,time=yes", env={"QMPI_CLOCK": "monotonic"})
    assert (result.returncode, result.messages) == (0, [])
    lines = [line.split() for line in result.trace if line.startswith("after ")]
    assert [line[1] for line in lines] == ["2", "1", "2", "2", "1"]
    begins = [line[line.index("begin") + 1] for line in lines]
    assert begins[0] == begins[1] and begins[3] == begins[4] and len(set(begins)) == 3
