# SPDX-License-Identifier: MIT
"""Random stacks. An entry describes what its layer can do, so that a plan does not require more of
it."""
from dataclasses import dataclass, field


@dataclass
class Entry:
    kind: str
    text: str = ""        # the entry of QMPI_TOOLS, in which {n} stands for the number of the layer
    counts: bool = True   # it records calls in the ledger
    tells: bool = False   # its output file, RUN/KIND.N, contains the number of calls of each function
    pmpi: bool = False
    talks: bool = False   # it makes calls by MPI_X, or in its constructor
    signals: bool = True  # a signal handler that calls MPI may interrupt its functions
    jumps: bool = True    # its functions may be left by longjmp
    preloaded: str = ""   # "front" or "behind": not listed, but preloaded before or after libqmpi
    bottom: bool = False  # it makes calls that are not recorded, so only layers of this kind may be below it
    keeps: bool = False   # it keeps pointers to the next functions, so nothing below it may be switched


@dataclass
class Variant:
    """The stack of one rank, if it differs from that of the plan."""
    numbers: list = field(default_factory=list)  # the numbers of its layers in the plan
    broken: dict = field(default_factory=dict)   # position in this list -> an entry that cannot be used
    absent: bool = False                         # the rank has no libqmpi


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
    """Excludes these kinds of PMPI tools from all stacks that are created later."""
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


# Entries of bundled tools for the theme `handles`. Many of them query MPI about the arguments of
# calls.
ASKING = {
    **BUNDLED,
    "profile sync": "profile,@force=yes,sync=yes,format=json,output={run}/profile.{n}",
    "trace": "trace,output={run}/trace.{n}",
    "trace sites": "trace,sites=yes,output={run}/trace.{n}",
    "log errors": "log,errors=only,output={run}/log.{n}",
    "delay error": "delay,functions=MPI_*,error=MPI_ERR_OTHER,probability=0",
}


def asking(random):
    """Returns functions that create one to three of the entries in ASKING."""
    def make(name):
        entry = bundled_entry(name, ASKING[name])
        entry.tells = entry.tells and name != "log errors"
        return entry

    names = random.sample(list(ASKING), random.choice([1, 2, 3]))
    return [lambda _, name=name: make(name) for name in names]


# Entries of tools whose output contains the number of calls of each function.
REPORTING = {
    **{name: text for name, text in BUNDLED.items() if name.split()[0] in ("count", "profile", "log")},
    "trace": "trace,output={run}/trace.{n}", "trace own": "trace,format=own,sites=yes,output={run}/trace.{n}",
}


def reporting(random):
    """Returns functions that create one or two of the entries in REPORTING. At least half of the results
    include `trace`."""
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
    """Returns at most one entry of a PMPI tool that is not listed, but preloaded. Before libqmpi, it
    becomes the top layer; no other tool may then make calls by MPI_X, which it would receive, too. After
    libqmpi, it becomes the bottom layer; this is not possible if the program is linked with libqmpi, or
    if another entry requires the bottom (`bottom`)."""
    listed = {entry.kind for entry in entries}
    names = [name for name in ("few", "half") if name in PMPI_TOOLS and f"pmpi {name}" not in listed]
    places = [] if any(entry.talks for entry in entries) else ["front"]
    places += [] if linked or any(entry.bottom for entry in entries) else ["behind"]
    if not names or not places:
        return []
    entry = pmpi(random, random.choice(names))
    entry.preloaded = random.choice(places)
    return [entry]


def in_order(entries):
    """Sorts the entries in the order of the stack."""
    places = {"front": -1, "": 0, "behind": 2}
    return sorted(entries, key=lambda entry: places[entry.preloaded] or int(entry.bottom))


def random_entry(random, mpi):
    kinds = [native, native, observer, pmpi, pmpi, pmpi, bundled]
    if mpi == "mpich":
        kinds.append(mpich)
    return random.choice(kinds)(random)


def random_stack(random, mpi, wanted=(), linked=False, without=()):
    """Returns the entries of at least one layer. The functions in `wanted` create some of them; PMPI
    tools in `without` are excluded."""
    def draw(make):
        entry = make(random)
        while entry.kind.removeprefix("pmpi ") in without:
            entry = make(random)
        return entry

    entries = [draw(make) for make in wanted]
    count = max(random.choice([1, 2, 2, 3, 3, 4, 5, 6, 8]), len(entries))
    while len(entries) < count:
        if entries and random.random() < 0.2:  # repeats an entry
            entries.append(random.choice(entries))
        else:
            entries.append(draw(lambda random: random_entry(random, mpi)))
    random.shuffle(entries)
    if len(entries) <= 5 and random.random() < 0.3:  # adds several adjacent observers
        place = random.randrange(len(entries) + 1)
        entries[place:place] = [observer(random) for _ in range(random.randint(2, 8 - len(entries)))]
    if random.random() < 0.1:
        entries += preloaded(random, entries, linked)
    return in_order(entries)
