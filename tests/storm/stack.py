# SPDX-License-Identifier: MIT
"""Random stacks. An entry says what its layer can stand, so that the plan asks nothing of it that
its kind does not promise."""
from dataclasses import dataclass


@dataclass
class Entry:
    kind: str
    text: str = ""        # the entry of QMPI_TOOLS; {n}: the layer's number
    counts: bool = True   # it writes into the ledger
    hosted: bool = False
    signals: bool = True  # its functions may be interrupted by a handler that calls MPI
    jumps: bool = True    # … and left by longjmp
    keeps: bool = False   # it keeps what it was given for good: below it nothing may be switched


def native(random):
    name = random.choice(["storm_native", "storm_native", "storm_lookup"])
    text = f"{{tools}}/{name}.so,take={random.choice([4, 4, 4, 3, 1])},seed={random.randrange(4)}"
    if random.random() < 0.3:
        text += ",talks=1"
    return Entry(name, text)


def observer(_):
    return Entry("storm_observer", "{tools}/storm_observer.so")


def dialect(_):
    return Entry("storm_dialect", "{tools}/storm_dialect.so", signals=False, jumps=False)


def hosted(random, name=None):
    name = name or random.choice(["all", "half", "few", "few", "asks", "keeps", "depends", "shares",
                                  "opens_init", "opens_end"])
    asks = name in ("asks", "keeps")
    return Entry(f"hosted {name}", f"{{tools}}/storm_{name}.so,env.STORM_LAYER={{n}}", hosted=True,
                 signals=name != "asks", jumps=not asks, keeps=name == "keeps")


def bundled(random):
    name = random.choice(["empty", "count", "count"])
    text = {"empty": "empty", "count": "count,output={run}/count.{n}"}[name]
    return Entry(name, text, counts=False)


def random_entry(random, mpi):
    kinds = [native, native, observer, hosted, hosted, hosted, bundled]
    if mpi == "mpich":
        kinds.append(dialect)
    return random.choice(kinds)(random)


def random_stack(random, mpi, wanted=()):
    """1 to 8 layers, among them those of the kinds that are wanted."""
    entries = [make(random) for make in wanted]
    count = max(random.choice([1, 2, 2, 3, 3, 4, 5, 6, 8]), len(entries))
    while len(entries) < count:
        if entries and random.random() < 0.2:  # the same again
            entries.append(random.choice(entries))
        else:
            entries.append(random_entry(random, mpi))
    random.shuffle(entries)
    return entries
