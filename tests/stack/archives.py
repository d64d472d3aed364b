# SPDX-License-Identifier: MIT
"""Reads OTF2 archives with otf2-print and with the Python reader (python3-otf2), as far as these are
installed. Neither may print a warning. After a run with the tool trace, `run_mpi` calls check_archives
for the folder `cwd`, if it is given. Tests that create archives in another way call check_archives
themselves."""
import contextlib
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

HAS_READER = importlib.util.find_spec("otf2") is not None
checked = {}  # the archives that were checked, with their versions
LARGE = 200_000  # from this number of events on, the Python reader would take seconds, so it reads only definitions


@contextlib.contextmanager
def nothing_said():
    """Within this context, output of libotf2 on standard error and Python warnings are errors."""
    with tempfile.TemporaryFile() as said, warnings.catch_warnings():
        warnings.simplefilter("error")
        before = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
        said.seek(0)
        text = said.read().decode(errors="replace")
        assert text == "", text


def check_by_otf2_print(anchor):
    done = subprocess.run(["otf2-print", "-A", "-Werror", anchor], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stderr == b"", (anchor, done.stderr.decode(errors="replace"))
    assert not re.search(rb"(?im)^\W*(warning|error)\b", done.stdout), anchor


def read_archive(anchor):
    """Returns the locations of an archive and its events, [(location, event)]. For an archive with LARGE
    or more events, the second list is empty."""
    return read_version(Path(anchor).resolve(), os.stat(anchor).st_mtime_ns)


@functools.lru_cache(maxsize=1)
def read_version(anchor, _):
    """Like read_archive. The second argument is the time of the last change, so that a changed file is
    read again."""
    import otf2
    with nothing_said(), otf2.reader.open(str(anchor)) as reader:
        locations = list(reader.definitions.locations)
        events = list(reader.events) if sum(it.number_of_events for it in locations) < LARGE else []
    counts = dict.fromkeys(locations, 0)
    for location, _ in events:
        counts[location] += 1
    assert not events or all(count == location.number_of_events for location, count in counts.items())
    return locations, events


def version_of(anchor):
    """Returns the sizes and the times of the last changes of an archive's files, by name."""
    files = [*anchor.parent.glob("traces*"), *anchor.parent.glob("traces/*")]
    return {file: (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


def check_archives(folder):
    """Checks all complete archives in a folder, except those that have not changed since they were checked. Incomplete
    archives have no anchor file."""
    for anchor in sorted(Path(folder).resolve().rglob("traces.otf2")):
        version = version_of(anchor)
        if checked.get(anchor) == version:
            continue
        if shutil.which("otf2-print"):
            check_by_otf2_print(anchor)
        if HAS_READER:
            read_archive(anchor)
        checked[anchor] = version
