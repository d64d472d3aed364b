# SPDX-License-Identifier: MIT
"""The measurements as text, from the structure that collect() in run makes. --json writes the same structure."""

COLUMNS = {"0": "no tool", "1": "1", "2": "2", "4": "4", "8": "8", "100": "100"}

# The load per CPU above which other programs disturb the measurements, if only because they share a
# core.
BUSY = 0.4


def number(value: float, digits: int, sign: str = "") -> str:
    text = f"{value:{sign}.{digits}f}"
    return text.removesuffix(".0") if "." in text and digits == 1 else text


def absolute(cell: dict) -> str:
    parts = []
    if "instructions" in cell:
        parts.append(f"{cell['instructions']:.0f}")
    if "ns" in cell:
        parts.append(f"{cell['ns']:.2f}")
    return " / ".join(parts)


def over_raw(cell: dict) -> str:
    parts = []
    if "instructions_over_raw" in cell:
        parts.append(number(cell["instructions_over_raw"], 1, "+"))
    if "ns_over_raw" in cell:
        parts.append(f"{cell['ns_over_raw']:+.2f}")
        parts.append(f"x{cell['ns_ratio']:.2f}")
    return " / ".join(parts)


def further(cell: dict) -> str:
    parts = []
    if "instructions" in cell:
        parts.append(number(cell["instructions"], 1, "+"))
    if "ns" in cell:
        parts.append(f"{cell['ns']:+.2f}")
    return " / ".join(parts)


def table(title: str, result: dict, cell_text) -> list[str]:
    columns = [key for key in COLUMNS if any(key in row["cells"] for row in result["rows"])]
    lines = [["", *(COLUMNS[key] for key in columns), "each further"]]
    for row in result["rows"]:
        cells = [cell_text(row["cells"][key]) if key in row["cells"] else "" for key in columns]
        lines.append([row["title"], *cells,
                      further(row["each_further"]) if row["each_further"] else ""])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["", title, ""]
    for i, line in enumerate(lines):
        text.append("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |")
        if i == 0:
            text.append("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return text


def targets(result: dict) -> list[str]:
    width = max(len(target["name"]) for target in result["targets"])
    lines = ["", "Targets", ""]
    for target in result["targets"]:
        verdict = "met" if target["met"] else "MISSED"
        wanted = f"{target['relation']} {target['target']:g} {target['unit']}"
        lines.append(f"  {target['name']:{width}} {target['measured']:9.2f}   {wanted:24} "
                     f"{verdict}")
    return lines


def start_up(result: dict) -> list[str]:
    kinds = result["figures"]
    lines = ["", "First MPI call (MPI_Initialized)"
             + (": instructions more than without libqmpi" if "instructions" in kinds else "")
             + ("; microseconds: median (smallest to largest), and the difference from another line"
                if "ns" in kinds else ""), ""]
    for entry in result["start_up"]:
        parts = [f"  {entry['name']:24}"]
        if "instructions" in entry:
            parts.append(f"{entry['instructions']:10,}")
        if "us" in entry:
            spread = f"({entry['smallest']:.1f} to {entry['largest']:.1f})"
            parts.append(f"{entry['us']:8.1f} {spread:20}")
        if "us_each" in entry:
            parts.append(f"{entry['us_each']:+8.1f} {entry['each']}")
        lines.append(" ".join(parts).rstrip())
    return lines


def dlsym(result: dict) -> list[str]:
    kinds = result["figures"]
    lines = ["", f"One dlsym without libqmpi, and what it costs more with libqmpi ({' / '.join(kinds)})",
             ""]
    for entry in result["dlsym"]:
        plain = further({kind: entry[kind] for kind in kinds}).replace("+", "")
        more = further({kind: entry[f"{kind}_more"] for kind in kinds})
        lines.append(f"  {entry['name']:30} {plain:18} {more}")
    return lines


def bundled(result: dict) -> list[str]:
    kinds = result["figures"]
    lines = ["", f"A call of MPI_Iprobe under a bundled tool, over `empty` ({' / '.join(kinds)})", ""]
    return lines + [f"  {entry['name']:30} {further({kind: entry[kind] for kind in kinds})}"
                    for entry in result["bundled"]]


def conversions(result: dict) -> list[str]:
    kinds = result["figures"]
    lines = ["", "What an observer that is compiled for the standard ABI asks for, in a program of this MPI "
             f"({' / '.join(kinds)})", ""]
    return lines + [f"  {entry['name']:38} {further({kind: entry[kind] for kind in kinds})}"
                    for entry in result["conversions"]]


def round_trips(result: dict) -> list[str]:
    lines = ["", "A round trip of 8 bytes between two ranks, and what it costs more than without "
             "libqmpi (ns)", ""]
    return lines + [f"  {entry['name']:30} {entry['ns']:8.1f} {entry['ns_more']:+8.1f}"
                    for entry in result["round_trips"]]


def text(result: dict) -> str:
    lines = [f"{result['function']}, {result['mpi']}",
             f"build: {result['build']}; {result['cpu']}"]
    if "ns" in result["figures"]:
        busy = "; too busy: times are too high" if result["load"] > BUSY * result["cpus"] else ""
        lines.append(f"load at the start: {result['load']:.2f} on {result['cpus']} CPUs{busy}")
    kinds = " / ".join(result["figures"])
    factor = " / ratio in time" if "ns" in result["figures"] else ""
    lines += table(f"Per call ({kinds})", result, absolute)
    lines += table(f"Over raw MPI ({kinds}{factor})", result, over_raw)
    if "noise" in result:
        lines += ["", f"Noise of the count: {result['noise']:.3f} instructions at most; of those of "
                  f"profile: {result['noise_in_time']:.3f}"]
    if result["calling_address"]:
        lines += ["", "One QMPI_Context_get_calling_address: "
                  f"{further(result['calling_address'])} ({kinds})"]
    if result["dlsym"]:
        lines += dlsym(result)
    if result["bundled"]:
        lines += bundled(result)
    if result["conversions"]:
        lines += conversions(result)
    if result["places"]:
        lines += ["", "Under `profile`, a call that follows another call site than the last call of its own site did, "
                  f"compared with a call that follows the same one: {further(result['places'])} instructions"]
    if result["round_trips"]:
        lines += round_trips(result)
    if result["start_up"]:
        lines += start_up(result)
    if result["clocks"]:
        lines += ["", "One reading of the clock: " +
                  ", ".join(f"{name} {cost:.1f} ns" for name, cost in result["clocks"].items())]
    return "\n".join(lines + targets(result)) + "\n"
