# SPDX-License-Identifier: MIT
"""The steps of scripts, and the themes of random runs."""
from dataclasses import dataclass
from typing import Callable

import stack


def number(most):
    return lambda random: random.randrange(most)


# Steps that any thread may carry out at any time between `setup` and `cleanup`: (action, functions
# that choose its arguments).
CALM = [
    ("sendrecv", number(64), number(1000)), ("sendrecv_replace", number(64)),
    ("isend_irecv", number(64), number(1000), number(5)),
    ("probe_recv", number(64), number(3)), ("persistent", number(64), number(3)),
    ("to_nobody", number(2)), ("cancel",), ("ask", number(30)),
    ("barrier", number(3)), ("barrier", number(3)), ("bcast", number(8), number(1000)),
    ("reduce", number(8)), ("allreduce", number(3)), ("scan",), ("gather", number(2), number(100)),
    ("scatter", number(100)), ("alltoall", number(2)), ("look_up", number(3), number(5)),
    ("variables", number(4), number(300)),
    ("communicators", number(3)), ("groups",), ("datatypes", number(9), number(1000)), ("infos",),
    ("words", number(300)), ("grids",),
    ("attributes", number(2)), ("errors", number(3)), ("operators", number(1000)),
    ("general_requests", number(2)),
    ("memory", number(9999)), ("buffered", number(1000)), ("windows", number(1000)),
    ("files", number(1000)), ("shell", number(2)), ("fork", number(6), number(3)),
    ("short_threads", number(4)),
]

# Further steps, which only programs in Fortran can carry out.
FORTRAN = [("f_ask", number(30)), ("f_sendrecv", number(1000)), ("f_requests", number(1000)),
           ("f_allreduce",), ("f_allreduce",), ("f_collectives", number(1000)), ("f_objects",)]

# Steps that only the themes below, and the functions of plan.py, add.
SPECIAL = ["f_init", "f_finalize", "f_outside", "init", "setup", "cleanup", "finalize", "outside", "switch", "race_begins", "race_ends",
           "race", "open", "use", "close", "churn", "crowd", "open_list", "use_list", "timer",
           "between", "jump", "raise", "watch", "unwatch", "leave", "session", "finalize_last", "handles_begin", "handle", "handles_end"]
EVENTS = list(dict.fromkeys([step[0] for step in CALM + FORTRAN] + SPECIAL))


@dataclass
class Theme:
    weight: int     # the relative frequency of the theme
    fill: Callable  # adds the steps to a plan
    layers: Callable = lambda random: []   # functions that create layers which the stack must have
    without: Callable = lambda random: []  # the PMPI tools that a run must not use


def undisturbed(random):
    """Returns the tools to be excluded: in most runs, those that load libraries, or that need
    libraries of their own. Errors with these would hide other errors."""
    return ("opens_init", "opens_end", "shares", "depends") if random.random() < 0.7 else ()


def some_threads(plan):
    plan.threads = 2 if plan.ranks > 1 else plan.random.choice([2, 2, 3, 4, 8])


def several_phases(plan):
    for _ in range(plan.random.randint(1, 4)):
        plan.all_threads(plan.calm)
        plan.next_phase()


def calm(plan):
    plan.begin()
    several_phases(plan)
    plan.end()


def ranks(plan):
    """A job of two ranks, which carry out the same script."""
    plan.ranks = 2
    plan.threads = plan.random.choice([1, 1, 2])
    plan.random.choice([calm, switches, plugins, signals, crowd])(plan)


def threads(plan):
    some_threads(plan)
    calm(plan)


def switchable(plan):
    """Returns the numbers of the layers that may be switched. Excluded are the first layer that
    keeps its next functions, all layers below that one, and a tool that is preloaded before libqmpi: dlsym
    finds the functions of this tool even while its layer is off."""
    keepers = [i for i, entry in enumerate(plan.layers, 1) if entry.keeps]
    return [i for i, entry in enumerate(plan.layers, 1)
            if entry.preloaded != "front" and (not keepers or i < keepers[0])]


def switches(plan):
    if plan.random.random() < 0.5:
        some_threads(plan)
    plan.begin()
    for _ in range(plan.random.randint(2, 6)):
        for layer in plan.random.sample(switchable(plan), min(2, len(switchable(plan)))):
            plan.add("switch", layer, plan.random.randrange(2))
        plan.next_phase()
        plan.all_threads(plan.calm)
        plan.next_phase()
    for layer in switchable(plan):
        plan.add("switch", layer, 1)
    plan.end()


def race(plan):
    """Layers are switched while other threads call MPI and load libraries."""
    some_threads(plan)
    if plan.random.random() < 0.5:  # a switch also changes the targets of Fortran calls
        plan.choose_program(["mpi", "f08"])
    plan.begin()
    layers = switchable(plan)
    chosen = sum(1 << layer for layer in layers if plan.random.random() < 0.7)
    for _ in range(plan.random.randint(1, 3)):
        plan.add("race_begins", chosen)
        plan.next_phase()
        plan.add("race", chosen, plan.random.choice([50, 200, 500]), plan.random.randrange(1000),
                 thread=plan.random.randrange(plan.threads))
        for thread in range(plan.threads):
            what = plan.random.randrange(4)
            if what == 0:
                plan.add("ask", plan.random.randrange(1500), thread=thread)
            elif what == 1:
                plan.calm(thread)
            else:
                plan.add("churn", plan.random.choice([0, 1, 2, 16, 24, 25, 26, 27]),
                         plan.random.randint(3, 20), plan.random.randrange(4),
                         plan.random.randrange(4), thread=thread)
        plan.next_phase()
        plan.add("race_ends", chosen)
        plan.next_phase()
        plan.all_threads(plan.calm)
        plan.next_phase()
    plan.end()


def plugins(plan):
    if plan.random.random() < 0.5:
        some_threads(plan)
    plan.begin()
    for _ in range(plan.random.randint(1, 4)):
        for thread in range(plan.threads):
            for _ in range(plan.random.randint(1, 3)):
                place = plan.random.randrange(4)
                plan.add("open", plan.random.randrange(28), place, plan.random.randrange(4),
                         thread=thread)
                plan.add("use", place, plan.random.randint(1, 9), thread=thread)
                if plan.random.random() < 0.5:
                    plan.add("close", place, thread=thread)
            plan.calm(thread)
        plan.next_phase()
    plan.end()


def start(plan):
    """Other threads load libraries while the stack is built."""
    some_threads(plan)
    if plan.program == "storm_behind":
        plan.program = "storm_linked"
    per_thread = 32 // (plan.threads - 1)

    def beside():
        for thread in range(1, plan.threads):
            plan.add("open_list", (thread - 1) * per_thread, per_thread,
                     plan.random.choice([0, 10, 100, 300]), thread=thread)

    plan.begin(beside)
    for thread in range(1, plan.threads):
        plan.add("use_list", (thread - 1) * per_thread, per_thread, plan.random.randint(1, 9))
    plan.next_phase()
    several_phases(plan)
    plan.end()


def signals(plan):
    plan.layers = [entry for entry in plan.layers if entry.signals] or [stack.native(plan.random)]
    if plan.random.random() < 0.3:
        some_threads(plan)
    plan.begin()
    plan.add("watch")
    plan.next_phase()
    for _ in range(plan.random.randint(1, 4)):
        for thread in range(plan.threads):
            plan.add("ask", 9, thread=thread)  # so that functions are bound before there are signals
            what = plan.random.randrange(3)
            if what == 0:
                plan.add("timer", plan.random.choice([10, 20, 100]),
                         plan.random.choice([300, 2000]), plan.random.randrange(3),
                         plan.random.randrange(4), thread=thread)
            elif what == 1:
                plan.add("between", plan.random.randint(1, 8), plan.random.randrange(3),
                         plan.random.randrange(4), thread=thread)
            else:
                plan.add("raise", plan.random.randrange(3), plan.random.randint(1, 20),
                         thread=thread)
            plan.calm(thread, 2)
        plan.next_phase()
    plan.add("unwatch")
    plan.end()


def jumps(plan):
    plan.layers = [entry for entry in plan.layers if entry.jumps] or [stack.native(plan.random)]
    plan.begin()
    for _ in range(plan.random.randint(1, 5)):
        plan.add("ask", 9)
        plan.add("jump", plan.random.randrange(400), plan.random.randint(1, 40),
                 plan.random.randrange(4))
        plan.calm(0)
    plan.end()


def crowd(plan):
    """Many libraries are loaded before libqmpi examines the libraries of the process. They are
    preloaded, or the program opens them."""
    count = plan.random.choice([100, 505, 520, 640, 640])
    if plan.random.random() < 0.6:
        plan.choose_program(["f08", "f08", "mpi"])
    if plan.random.random() < 0.7:
        plan.preload += [f"{{tools}}/crowd/{number}.so" for number in range(count)]
    else:
        plan.add("crowd", 0, count)
        plan.next_phase()
    calm(plan)


def leaving(plan):
    """The process ends early, in one of several ways."""
    if plan.random.random() < 0.4:
        some_threads(plan)
    plan.begin()
    several_phases(plan)
    kind = plan.random.randrange(6)
    status = plan.random.randrange(1, 100)
    plan.add("leave", kind, status)
    plan.status = {3: -9, 4: 5}.get(kind, status)


# How errors are handled. See handles_begin in programs/handles.c.
RETURNED, COUNTED, FATAL = range(3)


def handles(plan):
    """Calls have handles that are null, freed or otherwise wrong. The results must be the same as
    without tools."""
    if plan.fortran:
        plan.program = "storm_c"
    plan.handlers = plan.random.choice([RETURNED, COUNTED, COUNTED, FATAL, FATAL])
    plan.begin()
    plan.add("handles_begin", plan.handlers)
    for _ in range(plan.random.randint(10, 80)):
        plan.add("handle", *(plan.random.randrange(most) for most in (1000, 12, 4, 18)))
    plan.add("handles_end")
    plan.end()


OPEN, COMM, USE, FREE, DISCONNECT, CLOSE = range(6)  # the actions of the step `session`
# When these actions are carried out: before MPI_Init, between MPI_Init and MPI_Finalize, or after MPI_Finalize.
BEFORE, WITHIN, AFTER = range(3)
WAYS_TO_END = [0, 0, 0, 1, 2, 3, 4]                  # arguments of the step `finalize_last`


def session(random, opens, closes):
    """Returns the steps, [(time, action, rounds)], of a session that opens and closes at the given times."""
    def times(count):
        return sorted(random.randint(opens, closes) for _ in range(count))

    if random.random() < 0.25:
        return [(opens, OPEN, 0), (closes, CLOSE, 0)]
    uses = random.randrange(4)
    comm, *used, end = times(uses + 2)
    return [(opens, OPEN, 0), (comm, COMM, 0), *((time, USE, random.randint(1, 4)) for time in used),
            (end, random.choice([FREE, FREE, DISCONNECT]), 0), (closes, CLOSE, 0)]


def some_sessions(random):
    """Returns the steps of one or two sessions, [(time, action, number of the session, rounds)]. All
    steps of the second session are between two steps of the first one, or after it."""
    opens = random.choice([BEFORE, BEFORE, BEFORE, WITHIN])
    closes = random.randint(opens, AFTER)
    result = [(time, what, 0, rounds) for time, what, rounds in session(random, opens, closes)]
    if random.random() < 0.3:
        inside = random.random() < 0.5
        place = random.randint(1, len(result) - 1) if inside else len(result)
        since = result[place - 1][0]
        until = result[place][0] if inside else AFTER
        opens = random.randint(since, until)
        result[place:place] = [(time, what, 1, rounds) for time, what, rounds in
                               session(random, opens, random.randint(opens, until))]
    return result


def is_one_life(steps):
    """Returns whether MPI is initialized only once. This requires that between the first and the last
    step, a session is always open, or the program is between MPI_Init and MPI_Finalize. MPICH 4.0
    cannot be initialized twice."""
    opened = 0
    for time, what, *_ in steps:
        if what == OPEN:
            if time == AFTER and not opened:
                return False
            opened += 1
        elif what == CLOSE:
            opened -= 1
            if time == BEFORE and not opened:
                return False
    return True


def sessions(random):
    steps = some_sessions(random)
    while not is_one_life(steps):
        steps = some_sessions(random)
    return steps


def reported_after(steps):
    """Returns after how many steps the tools have reported, or None if they report in MPI_Finalize.

    Tools report when a certain session ends, if this is after MPI_Finalize. It is the session of the
    first communicator of all processes that was created before MPI_Finalize and while no other
    session was open. The communicator must not have been disconnected before the session ends.
    """
    opened, chosen, reported = [], None, None
    for place, (time, what, number, _) in enumerate(steps):
        if what == OPEN:
            opened.append(number)
        elif what == COMM and chosen is None and len(opened) == 1 and time != AFTER:
            chosen = number
        elif what == DISCONNECT and number == chosen:
            chosen = None
        elif what == CLOSE:
            opened.remove(number)
            if number == chosen:
                chosen = None
                reported = place + 1 if time == AFTER else reported
    return reported


def lives(plan):
    """Sessions may begin before MPI_Init and end after MPI_Finalize. MPI_Finalize and later steps may
    be carried out at the end of the process."""
    random = plan.random
    plan.program = "storm_c"
    plan.ranks = random.choice([1, 2])
    late = random.choice(WAYS_TO_END) if random.random() < 0.6 else None
    if random.random() < 0.4:
        plan.preload.append("{tools}/storm_last.so")
    steps = sessions(random) if random.random() < 0.85 else []
    reported = reported_after(steps)

    def at(time):
        for place, (when, what, number, rounds) in enumerate(steps):
            if when == time:
                untold = time == AFTER and place >= (reported or 0)
                plan.add("session", what, number, rounds, int(untold))
        plan.next_phase()

    at(BEFORE)
    plan.begin(outside=not any(when == BEFORE for when, *_ in steps))
    for _ in range(random.randint(1, 3)):
        plan.calm(0)
    at(WITHIN)
    plan.calm(0, 2)
    plan.end(late)
    plan.next_phase()
    at(AFTER)


DAMAGED, UNKNOWN = "{run}/damaged.so", "no_such_tool"


def variant_of(plan):
    """Returns the stack of a rank: the whole stack, a part of it, or a part of it with a tool that
    cannot be used. Some ranks have no libqmpi."""
    numbers = list(range(1, len(plan.layers) + 1))
    kind = plan.random.choice(["whole", "whole", "part", "part", "absent", "damaged", "unknown"])
    if kind == "absent":
        return stack.Variant(absent=True)
    if kind != "whole":
        numbers = [number for number in numbers if plan.random.random() < 0.6]
    broken = {"damaged": DAMAGED, "unknown": UNKNOWN}.get(kind)
    return stack.Variant(numbers, {plan.random.randint(0, len(numbers)): broken} if broken else {})


def differ(plan):
    """A job whose ranks differ in their stacks, in their errors, or in whether they have libqmpi."""
    plan.ranks = plan.random.choice([2, 2, 2, 4])
    plan.program = "storm_c"
    plan.layers = [entry for entry in plan.layers if not entry.preloaded]
    plan.variants = [variant_of(plan) for _ in range(plan.ranks)]
    if plan.random.random() < 0.2:  # an error of one or more ranks ends the job
        variant = plan.random.choice(plan.variants)
        variant.absent, variant.broken = False, {plan.random.randint(0, len(variant.numbers)): "wrong_tool"}
        plan.fails, plan.status = "wrong_tool", 2
        for variant in plan.variants:
            if not plan.random.randrange(3):
                variant.absent, variant.broken = False, {0: "wrong_tool"}
            elif "wrong_tool" not in variant.broken.values():
                variant.broken = {}
    calm(plan)


THEMES = {
    "calm": Theme(8, calm),
    "threads": Theme(10, threads),
    "switches": Theme(12, switches),
    "race": Theme(14, race, lambda random: [stack.pmpi], undisturbed),
    "plugins": Theme(14, plugins, lambda random: [stack.pmpi]),
    "start": Theme(10, start, lambda random: [stack.pmpi, stack.pmpi]),
    "signals": Theme(14, signals, lambda random: [stack.pmpi]),
    "jumps": Theme(6, jumps),
    "crowd": Theme(9, crowd, without=undisturbed),
    "leaving": Theme(5, leaving),
    "ranks": Theme(3, ranks),
    "lives": Theme(5, lives, stack.reporting, lambda _: ["fortran"]),
    "differ": Theme(6, differ, lambda random: [stack.bundled], lambda _: ["fortran", "opens_init", "opens_end"]),
    "handles": Theme(8, handles, stack.asking),
}
