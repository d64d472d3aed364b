# SPDX-License-Identifier: MIT
"""Random stacks. An entry says what its layer can stand, so that the plan asks nothing of it that
its kind does not promise."""
from dataclasses import dataclass, field


@dataclass
class Entry:
    kind: str
    text: str = ""        # the entry of QMPI_TOOLS; {n}: the layer's number
    counts: bool = True   # it writes into the ledger
    tells: bool = False   # its output, in RUN/KIND.N, tells how often functions were called
    pmpi: bool = False
    talks: bool = False   # it makes calls of its own by MPI_X, or in its constructor
    signals: bool = True  # its functions may be interrupted by a handler that calls MPI
    jumps: bool = True    # … and left by longjmp
    preloaded: str = ""   # not listed, but preloaded: "front" of libqmpi or "behind" it
    bottom: bool = False  # it makes calls that nobody books: nobody may be below
    keeps: bool = False   # it keeps what it was given for good: below it nothing may be switched


@dataclass
class Variant:
    """What one rank has instead of the plan's stack."""
    numbers: list = field(default_factory=list)  # of the plan's layers, from 1 on
    broken: dict = field(default_factory=dict)   # by place among these: an entry that cannot be used
    absent: bool = False                         # it has no libqmpi


def native(random):
    name = random.choice(["storm_native", "storm_native", "storm_lookup"])
    text = f"{{tools}}/{name}.so,take={random.choice([4, 4, 4, 3, 1])},seed={random.randrange(4)}"
    talks = random.random() < 0.3
    return Entry(name, text + ",talks=1" if talks else text, talks=talks)


def observer(_):
    return Entry("storm_observer", "{tools}/storm_observer.so")


def mpich(_):
    return Entry("storm_mpich", "{tools}/storm_mpich.so", signals=False, jumps=False)


PMPI_TOOLS = ["all", "half", "few", "few", "asks", "keeps", "depends", "shares", "opens_init", "opens_end",
          "fortran"]


def leave_out(names):
    """From now on no stack has PMPI tools of these kinds: to look for one thing beside another."""
    PMPI_TOOLS[:] = [name for name in PMPI_TOOLS if name not in names]


def pmpi(random, name=None):
    name = name or random.choice(PMPI_TOOLS)
    asks = name in ("asks", "keeps")
    return Entry(f"pmpi {name}", f"{{tools}}/storm_{name}.so,env.STORM_LAYER={{n}}", pmpi=True,
                 talks=name in ("all", "asks"),
                 signals=name != "asks", jumps=not asks, keeps=name == "keeps")


BUNDLED = {
    "empty": "empty", "count": "count,output={run}/count.{n}",
    "profile": "profile,format=json,output={run}/profile.{n}",
    "profile deep": "profile,depth=4,format=json,output={run}/profile.{n}",
    "log": "log,output={run}/log.{n}", "log args": "log,args=no,time=none,output={run}/log.{n}",
    "log caller": "log,caller=yes,output={run}/log.{n}", "mpit": "mpit,output={run}/mpit.{n}",
    "delay": "delay,functions=MPI_Barrier,before=1us",
}


# Bundled tools that ask MPI about what the program passes.
ASKING = {
    **BUNDLED,
    "profile sync": "profile,@force=yes,sync=yes,format=json,output={run}/profile.{n}",
    "trace": "trace,output={run}/trace.{n}",
    "trace sites": "trace,sites=yes,output={run}/trace.{n}",
    "log errors": "log,errors=only,output={run}/log.{n}",
    "delay error": "delay,functions=MPI_*,error=MPI_ERR_OTHER,probability=0",
}


def asking(random):
    """What makes entries of one to three of them."""
    def make(name):
        entry = bundled_entry(name, ASKING[name])
        entry.tells = entry.tells and name != "log errors"
        return entry

    names = random.sample(list(ASKING), random.choice([1, 2, 3]))
    return [lambda _, name=name: make(name) for name in names]


# Those whose output tells how often functions were called.
REPORTING = {
    **{name: text for name, text in BUNDLED.items() if name.split()[0] in ("count", "profile", "log")},
    "trace": "trace,output={run}/trace.{n}", "trace own": "trace,format=own,sites=yes,output={run}/trace.{n}",
}


def reporting(random):
    """What makes entries of one or two of them, trace in every other run at least."""
    names = random.sample(list(REPORTING), random.choice([1, 2]))
    if random.random() < 0.5:
        names[0] = random.choice(["trace", "trace own"])
    return [lambda _, name=name: bundled_entry(name, REPORTING[name], True) for name in names]


def bundled(random):
    name = random.choice(list(BUNDLED))
    return bundled_entry(name, BUNDLED[name])


def bundled_entry(name, text, tells=False):
    kind = name.split()[0]
    return Entry(kind, text, counts=False,
                 tells=tells or kind in ("count", "log", "profile"), jumps=kind in ("empty", "count"),
                 bottom=kind == "mpit")


def preloaded(random, entries, linked):
    """A tool that nobody listed: it joins the stack at the top or at the bottom. In front it gets what
    other tools call by MPI_X, too; a preloaded library cannot be behind one that is linked."""
    listed = {entry.kind for entry in entries}
    names = [name for name in ("few", "half") if f"pmpi {name}" not in listed]
    places = [] if any(entry.talks for entry in entries) else ["front"]
    places += [] if linked or any(entry.bottom for entry in entries) else ["behind"]
    if not names or not places:
        return []
    entry = pmpi(random, random.choice(names))
    entry.preloaded = random.choice(places)
    return [entry]


def in_order(entries):
    """The stack as it will be."""
    places = {"front": -1, "": 0, "behind": 2}
    return sorted(entries, key=lambda entry: places[entry.preloaded] or int(entry.bottom))


def random_entry(random, mpi):
    kinds = [native, native, observer, pmpi, pmpi, pmpi, bundled]
    if mpi == "mpich":
        kinds.append(mpich)
    return random.choice(kinds)(random)


def random_stack(random, mpi, wanted=(), linked=False, without=()):
    """1 to 8 layers, among them those of the kinds that are wanted, and no PMPI tools of those named
    in `without`."""
    def draw(make):
        entry = make(random)
        while entry.kind.removeprefix("pmpi ") in without:
            entry = make(random)
        return entry

    entries = [draw(make) for make in wanted]
    count = max(random.choice([1, 2, 2, 3, 3, 4, 5, 6, 8]), len(entries))
    while len(entries) < count:
        if entries and random.random() < 0.2:  # the same again
            entries.append(random.choice(entries))
        else:
            entries.append(draw(lambda random: random_entry(random, mpi)))
    random.shuffle(entries)
    if len(entries) <= 5 and random.random() < 0.3:  # a run of them
        place = random.randrange(len(entries) + 1)
        entries[place:place] = [observer(random) for _ in range(random.randint(2, 8 - len(entries)))]
    if random.random() < 0.1:
        entries += preloaded(random, entries, linked)
    return in_order(entries)
