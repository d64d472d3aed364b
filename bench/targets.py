# SPDX-License-Identifier: MIT
"""Compares the measurements, which collect() in run has made, with the targets."""
import measure
import setups

# How many more instructions two readings take by clock_gettime than by the cycle counter. They are added to the targets
# of tools that read the clock if libqmpi cannot use the counter.
TWO_READINGS = 0 if measure.has_cycle_counter() else 50


def target(name: str, measured: float, wanted: float, unit: str, relation: str = "at most") -> dict:
    met = measured < wanted if relation == "under" else measured <= wanted + 0.01
    return {"name": name, "measured": measured, "target": wanted, "unit": unit,
            "relation": relation, "met": met}


def over_wrappers(rows: dict) -> list[tuple[str, float, float]]:
    """
    Returns names, measured values and targets for PMPI tools, which are compared with the same libraries without qmpi.
    Tools that call PMPI_X cannot be chained without qmpi. k of them are compared with k times the cost of one.
    """
    def cells(key):
        return {int(k): cell["instructions_over_raw"] for k, cell in rows[key]["cells"].items()}

    chain, wrapper = cells(setups.CHAIN), cells(setups.WRAPPER)[1]
    pmpi_chain, pmpi = cells(setups.PMPI_CHAIN), cells(setups.PMPI)
    return [
        ("PMPI tools, over the same chained by RTLD_NEXT",
         max(pmpi_chain[k] - chain[k] for k in pmpi_chain), 1),
        ("PMPI tools, over as many times one wrapper",
         max(pmpi[k] - k * wrapper for k in pmpi), 1),
        ("each further PMPI tool over a QMPI layer",
         rows[setups.OVER_NATIVE]["each_further"]["instructions"], wrapper),
        ("each further PMPI tool under a QMPI layer",
         rows[setups.UNDER_NATIVE]["each_further"]["instructions"], wrapper),
    ]


def over_pass(rows: dict) -> float:
    """Returns how many instructions an observer takes more than a QMPI layer that passes calls on: the maximum over the
    heights of the stack."""
    observed, passed = rows[setups.OBSERVER]["cells"], rows[setups.NEXT]["cells"]
    return max((observed[k]["instructions_over_raw"] - passed[k]["instructions_over_raw"]) / int(k)
               for k in observed)


def within_run(row: dict) -> float:
    """Returns the cost of each further one of several adjacent observers: the slope between two and the highest
    number of them."""
    cells = {int(k): cell["instructions_over_raw"] for k, cell in row["cells"].items() if int(k) > 1}
    return (cells[max(cells)] - cells[min(cells)]) / (max(cells) - min(cells))


def in_instructions(result: dict) -> list[dict]:
    rows = {row["key"]: row for row in result["rows"]}
    unit = "instructions"

    def over_raw(key, k):
        return rows[key]["cells"][k]["instructions_over_raw"]

    wanted = [
        ("no layer, over raw", over_raw(setups.NO_LAYER, "0"), 1),
        ("1 layer that does not intercept it, over raw", over_raw(setups.ELSEWHERE, "1"), 1),
        ("100 layers that do not intercept it, over raw", over_raw(setups.ELSEWHERE, "100"), 1),
        ("8 layers that are switched off, over raw", over_raw(setups.OFF, "8"), 1),
        ("8 layers that conditions leave out, over raw", over_raw(setups.CONDITIONS, "8"), 1),
        ("first layer, caller recorded, over raw", over_raw(setups.NEXT, "1"), 24),
        ("each further layer, QMPIX_NEXT", rows[setups.NEXT]["each_further"][unit], 3),
        ("each further layer, looking up on each call", rows[setups.LOOK_UP]["each_further"][unit],
         20),
        ("an observer with empty callbacks, over raw", over_raw(setups.OBSERVER, "1"), 50),
        ("observer with empty callbacks, over a layer that passes on", over_pass(rows), 40),
        ("each further adjacent observer", within_run(rows[setups.OBSERVER]), 18),
        ("the same, without `before`", within_run(rows[setups.AFTER_ONLY]), 11),
        ("profile, over `empty`", rows[setups.PROFILE]["each_further"][unit], 235 + TWO_READINGS),
        ("profile,depth=4, over `empty`", rows[setups.PROFILE_DEPTH]["each_further"][unit], 555 + TWO_READINGS),
        ("trace, over `empty`", rows[setups.TRACE]["each_further"][unit], 170 + TWO_READINGS),
        *over_wrappers(rows),
        ("calling address", result["calling_address"][unit], 45),
    ]
    if setups.MPICH in rows:
        wanted += [
            ("first layer of MPICH's variant, over raw", over_raw(setups.MPICH, "1"), 29),
            ("each further layer of MPICH's variant", rows[setups.MPICH]["each_further"][unit],
             8),
            # These layers may cost 5 instructions more than QMPI layers, of which the first costs 23, each further
            # one 2, and the first two together 25.
            ("the same, a tool that is listed once", over_raw(setups.MPICH_ONCE, "1"), 28),
            ("the same, each further", rows[setups.MPICH_ONCE]["each_further"][unit], 7),
            ("a QMPI layer and one of MPICH's variant, over raw",
             over_raw(setups.MPICH_MIXED, "2"), 30),
            ("a layer of MPICH's variant and a QMPI layer, over raw",
             over_raw(setups.MPICH_OVER, "2"), 30)]
    noises = [("noise of the count", result["noise"], measure.NOISE_LIMIT),
              ("noise of the counts of profile", result["noise_in_time"], measure.NOISE_LIMIT_IN_TIME)]
    return ([target(*entry, unit) for entry in wanted] +
            [target(*entry, unit, "under") for entry in noises])


def in_readings(result: dict) -> list[dict]:
    """Targets that depend on the cost of a clock reading, which differs between machines."""
    reading = min(result["clocks"].values())
    rows = {row["key"]: row for row in result["rows"]}
    found = [target(f"{name}, over `empty`, 2 readings and {more} ns",
                    rows[key]["each_further"]["ns"], 2 * reading + more, "ns")
             for name, key, more in (("profile", setups.PROFILE, 10),
                                     ("profile,depth=4", setups.PROFILE_DEPTH, 44),
                                     ("trace", setups.TRACE, 18))]
    for entry in result["round_trips"]:
        name = f"round trip, {entry['name']}"
        if entry["target"]:
            found.append(target(
                f"{name}, {entry['readings']} readings and {entry['target']} ns", entry["ns_more"],
                entry["readings"] * reading + entry["target"], "ns"))
        if entry["times_target"]:
            found.append(target(f"{name}, over the line before it", entry["times"],
                                entry["times_target"], "times"))
    return found


def of(result: dict) -> list[dict]:
    found = in_instructions(result) if "instructions" in result["figures"] else []
    found += [target(f"first MPI call, {entry['name']}", entry["instructions"],
                     entry["instructions_target"], "instructions")
              for entry in result["start_up"] if entry.get("instructions_target")]
    found += [target(f"start-up, {entry['name']}, {entry['each']}", entry["us_each"],
                     entry["target"], "microseconds", "under")
              for entry in result["start_up"] if entry.get("target")]
    found += [target(f"asked for {entry['name']}", entry["instructions"], entry["instructions_target"],
                     "instructions")
              for entry in result["conversions"] if entry.get("instructions_target")]
    if result["places"]:
        found.append(target("profile, after another call site than the last time, over `profile`",
                            result["places"]["instructions"], 12, "instructions"))
    if "ns" in result["figures"]:
        found += [target(f"asked for {entry['name']}, converted", entry["ns"], entry["target"], "ns")
                  for entry in result["conversions"] if entry["target"]]
        found.append(target("calling address", result["calling_address"]["ns"], 5, "ns", "under"))
        found += [target(f"dlsym, {entry['name']}, more than without libqmpi", entry["ns_more"],
                         entry["target"], "ns", "under")
                  for entry in result["dlsym"] if entry["target"]]
        found += [target(f"MPI_Iprobe, {entry['name']}, over `empty`", entry["ns"], entry["target"], "ns")
                  for entry in result["bundled"] if entry["target"]]
        found += in_readings(result)
    return found
