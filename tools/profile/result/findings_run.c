/* SPDX-License-Identifier: MIT */
/*
 * See finder.h: the rules about the run as a whole. They look for a rank that works alone at the
 * start, for a long MPI_Init, for ranks that reach MPI_Finalize late, for slow nodes and for ranks
 * without a processor. finder_rule_rest says where the time of an inefficient run goes if no other
 * rule explains it.
 */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include "tools/profile/result/efficiency.h"
#include "tools/profile/result/profile_result.h"
#include "tools/profile/result/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- One rank works at the start, and all others wait ---------------------------------------- */

/* A series of windows (of time) in which one rank works and all others wait. */
struct phase {
    int rank;
    size_t first, end;
    double seconds; /* the time for which all others wait */
};

enum { NONE = -1, GAP_MOST = 2 };

/* Returns the rank that works in a window while all others wait. Returns NONE if there is no such
 * rank, or if a rank was not profiled. */
static int find_worker(const struct profile_windows *windows, size_t number)
{
    int worker = NONE;
    for (size_t i = 0; i < windows->rank_count; i++) {
        const struct profile_window_rank *rank = &windows->ranks[i];
        const struct profile_window it = profile_window_get(windows, rank, number);
        const bool works = it.mpi <= 0.5 * it.profiled;
        if (!(it.profiled > 0) || (!works && it.mpi < 0.8 * it.profiled) ||
            (works && worker != NONE))
            return NONE;
        worker = works ? rank->rank : worker;
    }
    return worker;
}

/* Returns for how long all ranks except the worker wait in a window while the worker does not. */
static double find_window_wait(const struct profile_windows *windows, size_t number, int worker)
{
    double least = windows->width, its = 0;
    for (size_t i = 0; i < windows->rank_count; i++) {
        const struct profile_window it = profile_window_get(windows, &windows->ranks[i], number);
        if (windows->ranks[i].rank == worker)
            its = it.mpi;
        else
            least = fmin(least, it.mpi);
    }
    return fmax(least - its, 0);
}

/* Finds the first phase that begins with the window `from` or later. Short interruptions are part
 * of a phase. Returns false if there is none. */
static bool find_phase(const struct profile_windows *windows, size_t from, struct phase *phase)
{
    const size_t count = profile_windows_count(windows);
    *phase = (struct phase){.rank = NONE};
    for (size_t i = from; i < count; i++) {
        const int worker = find_worker(windows, i);
        if (phase->rank == NONE && worker != NONE) {
            phase->rank = worker;
            phase->first = i;
        }
        if (phase->rank != NONE && worker == phase->rank)
            phase->end = i + 1;
        else if (phase->rank != NONE && i - phase->end >= GAP_MOST)
            break;
    }
    if (phase->rank == NONE)
        return false;
    const size_t first = phase->first > from ? phase->first - 1 : phase->first;
    for (size_t i = first; i <= phase->end && i < count; i++)
        phase->seconds += find_window_wait(windows, i, phase->rank);
    return true;
}

/* The phase is a start only if it begins with the run, the others work later, and no similar phase
 * follows. If one follows, the rank works alone again and again. */
static bool is_at_start(const struct finder *finder, const struct phase *phase)
{
    const struct profile_windows *windows = &finder->result->windows;
    const size_t count = profile_windows_count(windows);
    double useful = 0, profiled = 0;
    struct phase later = *phase;
    if ((double)phase->first * windows->width > fmax(0.05 * finder->elapsed, 2 * windows->width))
        return false;
    while (find_phase(windows, later.end, &later)) {
        if (later.rank == phase->rank && later.seconds > 0.5 * phase->seconds)
            return false;
    }
    for (size_t i = 0; i < windows->rank_count; i++) {
        for (size_t number = phase->end; number < count; number++) {
            const struct profile_window it =
                profile_window_get(windows, &windows->ranks[i], number);
            if (windows->ranks[i].rank != phase->rank) {
                useful += it.profiled - it.mpi;
                profiled += it.profiled;
            }
        }
    }
    return useful > 0.1 * profiled && useful > 0.1 * phase->seconds;
}

/* Returns the longest time that a rank other than the worker spends at a call site. */
static double find_longest_time(const struct finder *finder, const struct profile_callsite *site,
                                int worker)
{
    struct finder_ranks ranks;
    double most = 0;
    finder_ranks_of_site(finder, site, &ranks);
    for (int i = 0; i < ranks.count; i++) {
        if (ranks.all[i].rank != worker)
            most = finder_total(&ranks.all[i]);
    }
    return fmax(most, ranks.mean.time);
}

/* Returns the call site where the others wait for most of the phase in a single call, or NULL if
 * there is none. Ranks that wait in many calls wait for each step of the work instead. MPI_Init is
 * left out, because it is called before the windows begin. */
static const struct profile_callsite *find_startup_site(const struct finder *finder,
                                                        const struct phase *phase)
{
    const struct profile_callsite *found = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        const double longest = fmax(site->calls.longest, site->calls.wait.max);
        const double apart = fabs(longest - phase->seconds);
        if (strncmp(site->name, "MPI_Init", strlen("MPI_Init")) != 0 && apart < least &&
            longest > 0.5 * phase->seconds &&
            find_longest_time(finder, site, phase->rank) >= 0.5 * phase->seconds) {
            found = site;
            least = apart;
        }
    }
    return found;
}

static void describe_startup(const struct finder *finder, struct profile_finding *finding)
{
    const bool is_pair = finder->result->ranks == 2;
    finder_summarize(finding, "Rank %d works alone at first, %s; others wait at \1", finding->rank,
                     finder_amount(finder, finding->seconds));
    snprintf(finding->meaning, sizeof finding->meaning,
             "After MPI_Init, %s in %s until rank %d has done its work. Later, %s as well.",
             is_pair ? "the other rank waits" : "all other ranks wait", finding->site->name,
             finding->rank, is_pair ? "it computes" : "they compute");
    finding->advice = "Distribute the work at the start: let each rank read or compute the part "
                      "that it needs, with collective MPI-IO if it is read from a file.";
}

void finder_rule_startup(struct finder *finder)
{
    const struct profile_result *result = finder->result;
    struct phase phase;
    finder->startup = (struct finder_startup){.rank = NONE};
    if (result->ranks < 2 || result->windows.rank_count != (size_t)result->ranks ||
        !find_phase(&result->windows, 0, &phase) || phase.seconds < finder->least ||
        !is_at_start(finder, &phase))
        return;
    const struct profile_callsite *site = find_startup_site(finder, &phase);
    struct profile_finding *finding =
        site ? finder_add(finder, FINDING_SERIAL_STARTUP, phase.seconds, phase.rank, site) : NULL;
    if (!finding)
        return;
    finder->startup = (struct finder_startup){site, phase.rank, phase.seconds};
    describe_startup(finder, finding);
}

/* ---- The ends of the run --------------------------------------------------------------------- */

static void examine_start(struct finder *finder, const char *name)
{
    const struct profile_function *function = finder_function(finder, name);
    const double least_start = 1;
    if (!function)
        return;
    const struct profile_spread *time = &function->calls.time;
    const double part = finder->init_part * (finder->elapsed + time->max);
    if (time->max < fmax(part, least_start))
        return;
    struct profile_finding *finding = finder_add(finder, FINDING_STARTUP, time->max, time->max_rank,
                                                 finder_longest(finder, name));
    if (!finding)
        return;
    finding->share = time->max / (finder->elapsed + time->max);
    finder_summarize(finding, "Rank %d spends %s (%.0f %%) in %s at \1", time->max_rank,
                     units_time(time->max), 100 * finding->share, name);
    snprintf(finding->meaning, sizeof finding->meaning,
             "MPI takes a long time to start: %s on average over the ranks, at least %s.",
             units_time(time->mean), units_time(time->min));
    finding->advice = "If the ranks differ, processes are started late or load from a slow file "
                      "system. If not, ask for fewer processes, or see the launcher's options.";
}

/* Finds when the ranks end. The time for which a rank was not profiled counts, too. */
static struct profile_spread find_ends(const struct finder *finder)
{
    const struct profile_result *result = finder->result;
    struct profile_spread ends = result->application;
    double off = 0, least = INFINITY;
    int first = ends.min_rank;
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *it = &result->processes[i];
        const double its_off = profile_efficiency_off(result, it);
        off += its_off;
        if (it->application + its_off < least) {
            least = it->application + its_off;
            first = it->rank;
        }
    }
    if (off > 0) {
        ends.min = least;
        ends.min_rank = first;
        ends.mean += off / (double)result->process_count;
    }
    return ends;
}

static void add_late_finish(struct finder *finder, double seconds)
{
    const struct profile_spread ends = find_ends(finder), *time = &ends;
    struct profile_finding *finding = finder_add(finder, FINDING_SHUTDOWN, seconds, time->max_rank,
                                                 finder_longest(finder, "MPI_Finalize"));
    if (!finding)
        return;
    finder_blame(finder, finding, time->max_rank);
    finder_summarize(finding, "Rank %d reaches MPI_Finalize at \1 %s late", time->max_rank,
                     finder_amount(finder, seconds));
    snprintf(finding->meaning, sizeof finding->meaning,
             "Rank %d reaches it first, and waits there until the last rank does.", time->min_rank);
    finding->advice = "Distribute the work at the end of the run more evenly.";
}

static void examine_finish(struct finder *finder)
{
    const struct profile_spread ends = find_ends(finder), *time = &ends;
    const double wait = time->max - time->min, least_finish = 1;
    if (finder->result->ranks > 1 && !finder->result->termination &&
        wait >= fmax(finder->init_part * finder->elapsed, least_finish))
        add_late_finish(finder, wait);
}

void finder_rule_ends(struct finder *finder)
{
    examine_start(finder, "MPI_Init");
    examine_start(finder, "MPI_Init_thread");
    examine_finish(finder);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Finds the shortest and the longest time outside MPI among the ranks of a node or, with `others`,
 * of all other nodes. */
static void find_node_work(const struct profile_result *result, const char *host, bool others,
                           double *least, double *most, int *ranks)
{
    *ranks = 0;
    *least = *most = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *it = &result->processes[i];
        if ((strcmp(it->host, host) != 0) != others)
            continue;
        *least = !*ranks || it->useful < *least ? it->useful : *least;
        *most = !*ranks || it->useful > *most ? it->useful : *most;
        ++*ranks;
    }
}

/* A node is slow if all of its ranks, at least two, compute for about equally long, and for much
 * longer than any rank of another node. If a rank was not profiled for some time, the nodes cannot
 * be compared. */
void finder_rule_nodes(struct finder *finder)
{
    const struct profile_result *result = finder->result;
    const struct profile_process *slow = NULL;
    for (size_t i = 0; i < result->process_count; i++) {
        if (finder_off(finder, result->processes[i].rank) > 0)
            return;
        if (!slow || result->processes[i].useful > slow->useful)
            slow = &result->processes[i];
    }
    double least, most, others_least, others_most;
    int ranks, others;
    if (!slow)
        return;
    find_node_work(result, slow->host, false, &least, &most, &ranks);
    find_node_work(result, slow->host, true, &others_least, &others_most, &others);
    if (ranks < 2 || !others || least - others_most < finder->least ||
        most - least > 0.5 * (least - others_most))
        return;
    struct profile_finding *finding =
        finder_add(finder, FINDING_SLOW_NODE, least - others_most, slow->rank, NULL);
    if (!finding)
        return;
    finder_summarize(finding, "Rank %d computes %s longer than ranks of other nodes", slow->rank,
                     finder_amount(finder, finding->seconds));
    snprintf(finding->meaning, sizeof finding->meaning,
             "So do all %d ranks of its node, %.100s: the node is slow, or has more work.", ranks,
             slow->host);
    finding->advice = "Compare the clock rate, the load and the memory of this node with those of "
                      "the others, and run without it; or give its ranks less work.";
}

/* ---- Ranks without a processor --------------------------------------------------------------- */

enum { PROCESSORS_MOST = 4096, WORD_BITS = 64 };

/* A set of processors. */
struct processors {
    uint64_t words[PROCESSORS_MOST / WORD_BITS];
};

/* Reads a list such as "0-3,8". Returns false if it is not known, was cut off, or contains a number
 * of PROCESSORS_MOST or more. */
static bool read_processors(const char *list, struct processors *set)
{
    *set = (struct processors){{0}};
    if (!list || !*list)
        return false;
    while (*list) {
        char *end;
        const long first = strtol(list, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (end == list || first < 0 || last < first || last >= PROCESSORS_MOST)
            return false;
        for (long i = first; i <= last; i++)
            set->words[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
        list = *end == ',' ? end + 1 : end;
    }
    return true;
}

static int count_processors(const struct processors *set)
{
    int count = 0;
    for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++)
        count += __builtin_popcountll(set->words[i]);
    return count;
}

/* Adds the processors of `more`. Returns whether this changed the set. */
static bool unite_processors(struct processors *set, const struct processors *more)
{
    bool changes = false;
    for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++) {
        changes = changes || more->words[i] & ~set->words[i];
        set->words[i] |= more->words[i];
    }
    return changes;
}

static bool overlap(const struct processors *set, const struct processors *other)
{
    for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++) {
        if (set->words[i] & other->words[i])
            return true;
    }
    return false;
}

static bool includes(const struct processors *set, const struct processors *other)
{
    struct processors both = *set;
    return !unite_processors(&both, other);
}

/* A set of processors, and the number of ranks of a node that may use only these. */
struct binding {
    struct processors set;
    int ranks;
    int processors; /* 0: not known */
};

static void count_ranks(const struct profile_result *result, const char *host,
                        struct binding *binding)
{
    struct processors set;
    binding->ranks = 0;
    binding->processors = count_processors(&binding->set);
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *it = &result->processes[i];
        binding->ranks += !strcmp(it->host, host) && read_processors(it->processors, &set) &&
                          includes(&binding->set, &set);
    }
}

/* Adds the processors of the ranks on the host that may use a processor of the set, until the set
 * no longer grows. */
static void add_sharing(const struct profile_result *result, const char *host,
                        struct binding *binding)
{
    bool changes = true;
    while (changes) {
        changes = false;
        for (size_t i = 0; i < result->process_count; i++) {
            const struct profile_process *it = &result->processes[i];
            struct processors set;
            if (!strcmp(it->host, host) && read_processors(it->processors, &set) &&
                overlap(&binding->set, &set))
                changes = unite_processors(&binding->set, &set) || changes;
        }
    }
}

/* Finds ranks that may share too few processors. At first, these are the ranks that may use only
 * processors that `process` may use. If there are enough processors for them, all ranks are added
 * whose processors overlap with those of a rank that was found. */
static struct binding find_binding(const struct profile_result *result,
                                   const struct profile_process *process)
{
    struct binding binding = {.ranks = 0};
    if (!read_processors(process->processors, &binding.set))
        return binding;
    count_ranks(result, process->host, &binding);
    if (binding.ranks <= binding.processors) {
        add_sharing(result, process->host, &binding);
        count_ranks(result, process->host, &binding);
    }
    return binding;
}

static bool has_processor(const struct processors *set, int number)
{
    return number < PROCESSORS_MOST && set->words[number / WORD_BITS] >> number % WORD_BITS & 1;
}

/* Writes a list such as "0-3,8". */
static void list_processors(const struct processors *set, char *text, size_t size)
{
    enum { ROOM = 24 }; /* the length of one range and of the mark that the list was cut */
    size_t length = 0;
    *text = '\0';
    for (int first = 0; first < PROCESSORS_MOST; first++) {
        int last = first;
        if (!has_processor(set, first))
            continue;
        if (length + ROOM > size) {
            snprintf(text + length, size - length, ",...");
            return;
        }
        while (has_processor(set, last + 1))
            last++;
        length += (size_t)snprintf(text + length, size - length, "%s%d", length ? "," : "", first);
        if (last > first)
            length += (size_t)snprintf(text + length, size - length, "-%d", last);
        first = last;
    }
}

static void describe_processors(const struct finder *finder, struct profile_finding *finding,
                                const struct profile_process *process)
{
    const struct binding it = find_binding(finder->result, process);
    finder_summarize(finding, "Rank %d waits %s for a processor", process->rank,
                     finder_amount(finder, finding->seconds));
    if (it.processors && it.ranks > it.processors) {
        char list[64], set[96];
        list_processors(&it.set, list, sizeof list);
        if (it.processors == 1)
            snprintf(set, sizeof set, "processor %s", list);
        else
            snprintf(set, sizeof set, "the %d processors %s", it.processors, list);
        snprintf(finding->meaning, sizeof finding->meaning,
                 "%d ranks on node %.80s may only use %s, and take turns.", it.ranks, process->host,
                 set);
        finding->advice = "Start fewer ranks on this node, or give each rank a processor of its "
                          "own: see the options for binding of the launcher and of the batch "
                          "system.";
        return;
    }
    const size_t length = (size_t)snprintf(
        finding->meaning, sizeof finding->meaning,
        "It could run, but other %sprograms or threads on node %.80s had the processors.",
        finder_count_missing(finder->result) ? "ranks, " : "", process->host);
    if (process->preemptions > 0)
        snprintf(finding->meaning + length, sizeof finding->meaning - length,
                 " The kernel took the processor away %llu time%s.",
                 (unsigned long long)process->preemptions, process->preemptions == 1 ? "" : "s");
    finding->advice = "Check what else runs on this node, and whether the ranks start more threads "
                      "than they have processors (OMP_NUM_THREADS).";
}

/* Names the rank that waited longest for a processor. */
void finder_rule_processors(struct finder *finder)
{
    const struct profile_result *result = finder->result;
    const struct profile_process *most = NULL;
    for (size_t i = 0; i < result->process_count; i++) {
        if (!most || result->processes[i].queued > most->queued)
            most = &result->processes[i];
    }
    if (!most || most->queued < finder->least)
        return;
    struct profile_finding *finding =
        finder_add(finder, FINDING_NO_PROCESSOR, most->queued, most->rank, NULL);
    if (finding)
        describe_processors(finder, finding, most);
}

/* ---- Time that no other rule explains -------------------------------------------------------- */

/* The time of the ranks in the calls of one function or call site. */
struct share {
    const char *name;
    const struct profile_callsite *site; /* NULL: the result has no call sites */
    const struct profile_calls *calls;
    double time;
};

static int compare_shares(const void *a, const void *b)
{
    const struct share *mine = a, *its = b;
    return (mine->time < its->time) - (mine->time > its->time);
}

/* MPI_Init ends before the run begins, and therefore counts as 0. */
static struct share make_share(const struct finder *finder, const char *name,
                               const struct profile_callsite *site,
                               const struct profile_calls *calls)
{
    const bool is_before = !strncmp(name, "MPI_Init", strlen("MPI_Init"));
    const double time = (calls->time.sum + calls->wait.sum) / finder->threads;
    return (struct share){name, site, calls, is_before ? 0 : time};
}

/* Returns the shares of call sites or, if the result has none, of functions, longest time first.
 * The caller frees the array. Returns NULL if memory is exhausted. */
static struct share *list_shares(struct finder *finder, size_t *count)
{
    const struct profile_result *result = finder->result;
    const size_t sites = result->callsite_count;
    *count = sites ? sites : result->function_count;
    struct share *shares = calloc(*count + 1, sizeof *shares);
    finder->good = finder->good && shares;
    for (size_t i = 0; shares && i < *count; i++)
        shares[i] = sites ? make_share(finder, result->callsites[i].name, &result->callsites[i],
                                       &result->callsites[i].calls)
                          : make_share(finder, result->functions[i].name, NULL,
                                       &result->functions[i].calls);
    if (shares && *count > 1)
        qsort(shares, *count, sizeof *shares, compare_shares);
    return shares;
}

static void describe_shares(const struct finder *finder, struct profile_finding *finding,
                            const struct share *shares, size_t count,
                            const struct profile_efficiency *efficiency)
{
    enum { MOST = 4 };
    const double ranks = (double)finder->result->process_count;
    finder_summarize(finding,
                     finding->site ? "Ranks spend %s in MPI, most in %s at \1"
                                   : "Ranks spend %s in MPI, most in %s",
                     finder_amount(finder, finding->seconds), shares->name);
    size_t length = (size_t)snprintf(finding->meaning, sizeof finding->meaning,
                                     "On average, a rank spends %s outside MPI, and in MPI: ",
                                     finder_amount(finder, efficiency->mean));
    for (size_t i = 0; i < count && i < MOST; i++) {
        char part[160], place[96] = "";
        if (shares[i].time < 0.01 * finder->elapsed * ranks && i)
            break;
        if (shares[i].site)
            finder_describe_place(shares[i].site, place, sizeof place);
        snprintf(part, sizeof part, "%s%s%s%s %s", i ? ", " : "", shares[i].name,
                 *place ? " at " : "", place, finder_amount(finder, shares[i].time / ranks));
        if (length + strlen(part) + 2 > sizeof finding->meaning)
            break;
        length += (size_t)snprintf(finding->meaning + length, sizeof finding->meaning - length,
                                   "%s", part);
    }
    snprintf(finding->meaning + length, sizeof finding->meaning - length, ".");
    finding->advice = "The profile does not tell whether these calls wait for other ranks or take "
                      "as long as their data need. See the tables of call sites and of ranks; "
                      "sync=yes tells waiting before collectives from the time that they take.";
}

/* Returns the time in MPI that the other findings explain. Findings about MPI_Init do not count,
 * because it is not part of the run. Neither do those about missing processors, because a rank may
 * lack a processor inside or outside MPI. */
static double sum_explained(const struct finder *finder)
{
    double seconds = 0;
    for (int i = 0; i < finder->count; i++) {
        if (!profile_finding_is(&finder->found[i], FINDING_OUTSIDE_MPI))
            seconds += finder->found[i].seconds;
    }
    return seconds;
}

/* Returns the mean time between the end of a rank and the end of the last rank. */
static double mean_time_ended(const struct finder *finder)
{
    const struct profile_spread ends = find_ends(finder);
    return ends.max - ends.mean;
}

/* Adds a finding for a run in which most time is lost because ranks end before the last one. */
static void add_early_end(struct finder *finder)
{
    const struct profile_result *result = finder->result;
    const struct profile_spread ends = find_ends(finder), *time = &ends;
    if (!result->termination) {
        add_late_finish(finder, time->max - time->min);
        return;
    }
    struct profile_finding *finding =
        finder_add(finder, FINDING_SHUTDOWN, time->max - time->min, time->min_rank, NULL);
    if (!finding)
        return;
    finder_summarize(finding, "The data of rank %d ends %s before that of rank %d", time->min_rank,
                     finder_amount(finder, finding->seconds), time->max_rank);
    snprintf(finding->meaning, sizeof finding->meaning,
             "Processes that ended without MPI_Finalize, or were still running, saved their data "
             "at different times.");
    finding->advice = "Check why the first process ended.";
}

void finder_rule_rest(struct finder *finder)
{
    const struct profile_result *result = finder->result;
    struct profile_efficiency efficiency;
    if (result->is_filtered || !profile_efficiency_find(result, NULL, &efficiency) ||
        efficiency.parallel >= PROFILE_EFFICIENCY_GOOD)
        return;
    const double lost = efficiency.elapsed - efficiency.mean, ended = mean_time_ended(finder);
    if (sum_explained(finder) >= 0.5 * lost || lost < finder->least)
        return;
    if (ended > 0.5 * lost) {
        add_early_end(finder);
        return;
    }
    size_t count;
    struct share *shares = list_shares(finder, &count);
    if (shares && count && shares->time > 0) {
        struct profile_finding *finding = finder_add(finder, FINDING_TIME_IN_MPI, lost - ended,
                                                     shares->calls->time.max_rank, shares->site);
        if (finding)
            describe_shares(finder, finding, shares, count, &efficiency);
    }
    free(shares);
}
