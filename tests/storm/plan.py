# SPDX-License-Identifier: MIT
"""Plans: what one run does. A plan depends only on its seed; README.md describes how to extend
it."""
from random import Random

import stack
from steps import CALM, FORTRAN, THEMES


class Plan:
    def __init__(self, seed, mpi="mpich", themes=THEMES):
        self.seed, self.mpi = seed, mpi
        self.random = Random(seed)
        self.lines = []          # (phase, thread, action, numbers…)
        self.phase = 0
        self.ranks = 1
        self.threads = 1
        self.status = 0          # the expected status of the process
        self.finalizes = False
        self.handlers = None     # kinds of error handlers, in a run that is compared with one without tools
        self.variants = None     # of the stack, by rank; None: all ranks have the same stack
        self.fails = ""          # the entry that stops the job; "": none
        self.preload = []        # further libraries for LD_PRELOAD, after libqmpi
        self.program = "storm_c"
        self.choose_program(["c"] * 8 + ["mpi", "mpi", "f08", "f08", "linked", "behind"])
        names = list(themes)
        self.theme = self.random.choices(names, [THEMES[name].weight for name in names])[0]
        chosen = THEMES[self.theme]
        self.layers = stack.random_stack(self.random, mpi, chosen.layers(self.random), self.linked,
                                         [*chosen.without(self.random), *self.absent])
        chosen.fill(self)

    # ---- what themes and steps use

    @property
    def fortran(self):
        return self.program in ("storm_mpi", "storm_f08")

    @property
    def absent(self):
        """Returns what is missing for the standard ABI: PMPI tools and programs in Fortran."""
        return ["fortran", "mpi", "f08"] if self.mpi == "abi" else []

    def choose_program(self, names):
        """Returns one of these names, or the one that was chosen before."""
        name = self.random.choice(names)
        if name not in self.absent:
            self.program = f"storm_{name}"

    def of_the_language(self, action):
        """Returns the name of a step in the program's language, or sometimes in C."""
        return f"f_{action}" if self.fortran and self.random.random() < 0.8 else action

    def add(self, action, *numbers, thread=0):
        if self.program == "storm_behind":  # names are looked up in the MPI library there
            if action == "look_up":
                numbers = (1, numbers[1])
            elif action in ("open", "churn") and 16 <= numbers[0] < 20:
                numbers = (numbers[0] - 16, *numbers[1:])
        self.lines.append((self.phase, thread, action, *numbers))

    def next_phase(self):
        self.phase += 1

    def calm(self, thread, count=None):
        """Adds some ordinary steps of one thread."""
        for _ in range(count or self.random.randint(1, 6)):
            fortran = self.fortran and self.random.random() < 0.6
            action, *numbers = self.random.choice(FORTRAN if fortran else CALM)
            self.add(action, *(number(self.random) for number in numbers), thread=thread)

    def all_threads(self, step):
        for thread in range(self.threads):
            step(thread)

    def begin(self, beside=None, outside=True):
        """Adds MPI_Init and the communicators. `beside`: what other threads do meanwhile;
        `outside`: whether calls may be made before."""
        if outside and self.random.random() < 0.3:
            self.all_threads(lambda thread: self.add(self.of_the_language("outside"), 0, self.random.randint(1, 3),
                                                     thread=thread))
            self.next_phase()
        if self.threads > 1:
            self.add(self.of_the_language("init"), 1, 3)
        else:
            self.add(self.of_the_language("init"), self.random.randrange(2), self.random.randrange(4))
        if beside:
            beside()
        self.next_phase()
        self.add("setup")
        self.next_phase()

    def end(self, late=None):
        """Adds MPI_Finalize, and possibly calls after it. `late`: how these are deferred to the end
        of the process."""
        self.next_phase()
        self.finalizes = True
        self.add("cleanup")
        if late is not None:
            self.add("finalize_last", late)
            self.next_phase()
        self.add(self.of_the_language("finalize"))
        if self.random.random() < 0.3:
            self.next_phase()
            threads = range(self.threads if late is None else 1)
            for thread in threads:
                self.add("outside", 2, 1, thread=thread)

    # ---- what the run and the judge use

    @property
    def linked(self):
        """Returns whether libqmpi is linked, so that it need not be preloaded."""
        return self.program in ("storm_linked", "storm_behind")

    @property
    def step_count(self):
        return len(self.lines)

    def script(self, events, handlers):
        lines = [f"threads {self.threads}"]
        lines += [" ".join(map(str, (phase, thread, events.index(action), action,
                                     *([handlers] if action == "handles_begin" else numbers))))
                  for phase, thread, action, *numbers in self.lines]
        return "\n".join(lines) + "\n"

    def tools(self, **places):
        return ":".join(entry.text.format(n=number, **places)
                        for number, entry in enumerate(self.layers, 1) if not entry.preloaded)

    def stack_of(self, rank):
        """Returns (tool_id, number in the plan, entry) of the layers that a rank has."""
        if self.variants is None:
            return [(number, number, entry) for number, entry in enumerate(self.layers, 1)]
        return [(tool_id, number, self.layers[number - 1])
                for tool_id, number in enumerate(self.variants[rank].numbers, 1)]

    def tools_of(self, rank, **places):
        """Returns QMPI_TOOLS for a rank with a variant. The storm's tools identify their layer by
        its number in that rank, while a bundled tool with the same options is the same layer in all
        ranks."""
        texts = [entry.text.format(n=tool_id if entry.counts else number, **places)
                 for tool_id, number, entry in self.stack_of(rank)]
        for place, text in sorted(self.variants[rank].broken.items(), reverse=True):
            texts.insert(place, text.format(**places))
        return ":".join(texts)
