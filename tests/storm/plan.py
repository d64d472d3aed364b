# SPDX-License-Identifier: MIT
"""The plan of a run: its script, its stack, and the expected results. A plan depends only on its
seed, the MPI implementation, the allowed themes and the excluded PMPI tools."""
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
        self.handlers = None     # how errors are handled, in a run that is compared with one without tools
        self.variants = None     # the stack of each rank, if they differ
        self.fails = ""          # the entry that stops the job, if any
        self.preload = []        # further libraries for LD_PRELOAD, after libqmpi
        self.program = "storm_c"
        self.choose_program(["c"] * 8 + ["mpi", "mpi", "f08", "f08", "linked", "behind"])
        names = list(themes)
        self.theme = self.random.choices(names, [THEMES[name].weight for name in names])[0]
        chosen = THEMES[self.theme]
        self.layers = stack.random_stack(self.random, mpi, chosen.layers(self.random), self.linked,
                                         [*chosen.without(self.random), *self.absent])
        chosen.fill(self)

    # ---- For themes and steps

    @property
    def fortran(self):
        return self.program in ("storm_mpi", "storm_f08")

    @property
    def absent(self):
        """The PMPI tools and programs that do not exist for this MPI: those in Fortran for the standard ABI."""
        return ["fortran", "mpi", "f08"] if self.mpi == "abi" else []

    def choose_program(self, names):
        """Chooses one of these programs. If it does not exist for this MPI, the program stays the
        same."""
        name = self.random.choice(names)
        if name not in self.absent:
            self.program = f"storm_{name}"

    def of_the_language(self, action):
        """Returns the name of an action in the language of the program or, in some cases, in C."""
        return f"f_{action}" if self.fortran and self.random.random() < 0.8 else action

    def add(self, action, *numbers, thread=0):
        # In storm_behind, dlsym with RTLD_DEFAULT or RTLD_NEXT finds MPI functions in the MPI library, so
        # that layers do not see calls of these. Other look-ups and plugins are used instead.
        if self.program == "storm_behind":
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
        """Adds MPI_Init and the creation of communicators. `beside` adds steps that other threads
        carry out during MPI_Init; `outside` says whether calls may be made before MPI_Init."""
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
        """Adds MPI_Finalize, and possibly calls after it. `late` is the argument of the action
        finalize_last, which defers these steps to the end of the process; if it is None, they are
        not deferred."""
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

    # ---- For the run and the judge

    @property
    def linked(self):
        """Whether the program is linked with libqmpi, so that it need not be preloaded."""
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
        """Returns (tool_id, number in the plan, entry) for each layer of a rank."""
        if self.variants is None:
            return [(number, number, entry) for number, entry in enumerate(self.layers, 1)]
        return [(tool_id, number, self.layers[number - 1])
                for tool_id, number in enumerate(self.variants[rank].numbers, 1)]

    def tools_of(self, rank, **places):
        """Returns QMPI_TOOLS for a rank with a stack of its own. The options of the storm's tools
        contain the number of the layer in this rank. The options of a bundled tool contain the number
        of the layer in the plan: libqmpi takes layers of several ranks for the same one only if they
        have equal options."""
        texts = [entry.text.format(n=tool_id if entry.counts else number, **places)
                 for tool_id, number, entry in self.stack_of(rank)]
        for place, text in sorted(self.variants[rank].broken.items(), reverse=True):
            texts.insert(place, text.format(**places))
        return ":".join(texts)
