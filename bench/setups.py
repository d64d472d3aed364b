# SPDX-License-Identifier: MIT
"""What is measured: the rows of the table, and the environment that makes each cell of them."""
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

HEIGHTS = (1, 2, 4, 8)

RAW = "raw"
NO_LAYER = "no layer"
NEXT = "next"
LOOK_UP = "look up"
ELSEWHERE = "elsewhere"


@dataclass
class Row:
    """One line of the table; `cells` maps the number of tools to an environment."""

    key: str
    title: str
    cells: dict[int, dict[str, str]] = field(default_factory=dict)


class Build:
    """A build folder: where the programs and the libraries are."""

    def __init__(self, folder: str):
        self.folder = Path(folder).resolve()
        self.bench = self.folder / "bench"
        self.loop = self.bench / "loop"
        self.first_call = self.bench / "first_call"
        libraries = [path for path in (self.folder / "src").glob("libqmpi*.so") if path.exists()]
        if not libraries or not self.loop.exists():
            raise SystemExit(f"bench/run: {self.folder} is no finished build of qmpi\n"
                             "mend: meson setup build && meson compile -C build")
        self.library = libraries[0]

    def options(self) -> str:
        """The build options that matter for the figures."""
        listed = json.loads((self.folder / "meson-info" / "intro-buildoptions.json").read_text())
        values = {option["name"]: option["value"] for option in listed}
        return f"{values['buildtype']}, -O{values['optimization']}, {values['mpi']}"

    def with_tools(self, tools: str) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "QMPI_TOOLS": tools,
            "QMPI_TOOL_PATH": str(self.bench),
        }

    def with_preloads(self, names: list[str]) -> dict[str, str]:
        return {"LD_PRELOAD": ":".join(str(self.bench / f"{name}.so") for name in names)}

    def with_stack(self, name: str, height: int) -> dict[str, str]:
        """`height` different libraries, name1 … nameN."""
        return self.with_tools(":".join(numbered(name, height)))


def numbered(name: str, count: int) -> list[str]:
    return [f"{name}{number}" for number in range(1, count + 1)]


def clean_environment(extra: dict[str, str]) -> dict[str, str]:
    """This process's environment without what would change a measurement."""
    dropped = ("QMPI_", "LD_", "PMI_", "PMI2_", "PMIX_", "HYDRA_", "MPIR_", "MPICH_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, **extra}


def rows(build: Build) -> list[Row]:
    """The table, from the top; raw MPI first."""
    return [
        Row(RAW, "raw MPI", {0: {}}),
        Row("wrapper", "one PMPI wrapper", {1: build.with_preloads(["pmpi_wrapper"])}),
        Row("chain", "PMPI wrappers chained by RTLD_NEXT",
            {k: build.with_preloads(numbered("pmpi_chain", k)) for k in HEIGHTS}),
        Row(NO_LAYER, "qmpi, QMPI_TOOLS empty", {0: build.with_tools("")}),
        Row(ELSEWHERE, "qmpi, layers that do not intercept it",
            {k: build.with_tools(":".join(["elsewhere1"] * k)) for k in (1, 100)}),
        Row(NEXT, "qmpi, layers with QMPIX_NEXT",
            {k: build.with_stack("pass", k) for k in HEIGHTS}),
        Row(LOOK_UP, "qmpi, layers that look up on each call",
            {k: build.with_stack("look_up", k) for k in HEIGHTS}),
    ]


def checked_rows(build: Build) -> list[Row]:
    """As many of them as the targets in instructions need."""
    checked = [row for row in rows(build) if row.key in (RAW, NO_LAYER, ELSEWHERE, NEXT, LOOK_UP)]
    for row in checked:
        row.cells = {k: row.cells[k] for k in row.cells if k in (0, 1, 8, 100)}
    return checked


def asking(build: Build) -> dict[int, dict[str, str]]:
    """One layer that asks for the calling address so many times in each call."""
    return {1: build.with_tools("ask_once1"), 9: build.with_tools("ask_nine1")}


def start_ups(build: Build) -> dict[str, dict[str, str]]:
    """Environments of which the first MPI call is timed; the first one is without libqmpi."""
    return {
        "no libqmpi": {},
        "no layer": build.with_tools(""),
        "1 layer": build.with_tools("empty"),
        "8 layers of one tool": build.with_tools(":".join(["empty"] * 8)),
        "8 layers of 8 tools": build.with_stack("pass", 8),
    }
