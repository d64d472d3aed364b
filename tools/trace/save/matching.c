/* SPDX-License-Identifier: MIT */
/* See matching.h. At first, processes exchange only the number and the sum of the hashes of the
 * messages between them. If these differ, they exchange the numbers that identify the messages. */
#include "tools/trace/save/matching.h"

#include <limits.h>
#include <stdlib.h>

enum { SENT, RECEIVED, DIRECTIONS };
/* The numbers that this process sends to others, and those that it receives. */
enum { OUT, IN, SIDES };

/* The number of messages to and from one process, and the sum of their hashes. */
struct total {
    uint64_t count[DIRECTIONS], sum[DIRECTIONS];
};

/* Arrays are indexed by rank in the communicator. */
struct matching {
    struct trace_pairs *pairs;
    const struct trace_view *view;
    MPI_Comm comm;
    int size;
    int *ranks;                  /* ranks in MPI_COMM_WORLD */
    struct qmpi_table places;    /* rank in MPI_COMM_WORLD -> index (int) of `ranks` */
    struct total *mine, *theirs; /* totals of the messages with each process, as counted by this
                                    process and by the other one */
    int *counts[SIDES], *starts[SIDES];
    uint64_t *numbers[SIDES];
    bool failed;
};

static bool allocate_matching(struct matching *matching)
{
    const size_t size = (size_t)matching->size;
    bool good = true;
    matching->ranks = calloc(size, sizeof *matching->ranks);
    matching->mine = calloc(size, sizeof *matching->mine);
    matching->theirs = calloc(size, sizeof *matching->theirs);
    for (int i = 0; i < SIDES; i++) {
        matching->counts[i] = calloc(size, sizeof *matching->counts[i]);
        matching->starts[i] = calloc(size, sizeof *matching->starts[i]);
        good = good && matching->counts[i] && matching->starts[i];
    }
    return good && matching->ranks && matching->mine && matching->theirs;
}

static void free_matching(struct matching *matching)
{
    free(matching->ranks);
    free(matching->mine);
    free(matching->theirs);
    for (int i = 0; i < SIDES; i++) {
        free(matching->counts[i]);
        free(matching->starts[i]);
        free(matching->numbers[i]);
    }
    qmpi_table_free(&matching->places);
}

/* Returns whether `is_good` is true in all processes. */
static bool all_agree(const struct matching *matching, bool is_good)
{
    int mine = is_good, all = 0;
    return PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, matching->comm) == MPI_SUCCESS && all;
}

typedef void use_message_end(struct matching *matching, int place, int direction, uint64_t message);

static void add_other(struct matching *matching, uint64_t message)
{
    matching->failed |= !qmpi_table_put(&matching->pairs->others, message);
}

/* Calls `use` for each end of a message whose other end belongs to a process of the communicator.
 * Adds all other messages to the result, because their other ends are not in the trace. */
static void read_messages(struct matching *matching, use_message_end *use)
{
    struct trace_event event;
    uint64_t message;
    if (!matching->view)
        return;
    const struct trace_process *process = matching->view->trace->processes;
    struct trace_view_stream *stream = trace_view_stream_make(matching->view, 0);
    while (stream && trace_view_stream_next(stream, &event, &message)) {
        const bool is_receive = trace_messages_is_receive(&event);
        if (!message || !(is_receive || trace_messages_is_send(&event)))
            continue;
        const int world = trace_event_world_rank(process, event.comm, event.peer);
        const int *place = world >= 0 ? qmpi_table_get(&matching->places, (uint64_t)world) : NULL;
        if (place)
            use(matching, *place, is_receive ? RECEIVED : SENT, message);
        else
            add_other(matching, message);
    }
    matching->failed |= !stream || trace_view_stream_failed(stream);
    trace_view_stream_free(stream);
}

static void count_message(struct matching *matching, int place, int direction, uint64_t message)
{
    matching->mine[place].count[direction]++;
    matching->mine[place].sum[direction] += qmpi_table_mix(message);
}

/* Returns whether both processes have the same messages in one direction. */
static bool is_equal(const struct matching *matching, int place, int direction)
{
    const struct total *mine = &matching->mine[place], *theirs = &matching->theirs[place];
    return mine->count[direction] == theirs->count[!direction] &&
           mine->sum[direction] == theirs->sum[!direction];
}

/* Returns how many numbers of messages in a direction one process sends to the other one. `of` is
 * the total of the first process, which is this one if `is_mine` is set, and `other` that of the
 * second. The first process sends no numbers if the messages are equal, or if the second one has no
 * messages to compare. */
static uint64_t count_numbers(const struct matching *matching, const struct total *of,
                              const struct total *other, int place, int direction, bool is_mine)
{
    const bool same = is_equal(matching, place, is_mine ? direction : !direction);
    return same || !other->count[!direction] ? 0 : of->count[direction];
}

/* Counts the numbers that each process sends to each other process. Returns false if there are too
 * many, or if memory is exhausted. */
static bool plan_exchange(struct matching *matching)
{
    for (int side = OUT; side <= IN; side++) {
        uint64_t all = 0;
        for (int place = 0; place < matching->size; place++) {
            const struct total *mine = &matching->mine[place], *theirs = &matching->theirs[place];
            uint64_t more = 0;
            for (int direction = 0; direction < DIRECTIONS; direction++)
                more += side == IN ? count_numbers(matching, theirs, mine, place, direction, false)
                                   : count_numbers(matching, mine, theirs, place, direction, true);
            if (more > INT_MAX || all + more > INT_MAX)
                return false;
            matching->starts[side][place] = (int)all;
            matching->counts[side][place] = (int)more;
            all += more;
        }
        matching->numbers[side] = calloc(all + 1, sizeof(uint64_t));
        if (!matching->numbers[side])
            return false;
    }
    return true;
}

/* Returns a number that includes the direction, because the sender and the receiver of a message
 * may be the same process. */
static uint64_t number_of(uint64_t message, int direction)
{
    return qmpi_table_mix_two(message, (uint64_t)direction);
}

static void add_number_to_send(struct matching *matching, int place, int direction,
                               uint64_t message)
{
    const struct total *mine = &matching->mine[place], *theirs = &matching->theirs[place];
    if (count_numbers(matching, mine, theirs, place, direction, true))
        matching->numbers[OUT][matching->starts[OUT][place]++] = number_of(message, direction);
}

static int compare_numbers(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static void add_if_unmatched(struct matching *matching, int place, int direction, uint64_t message)
{
    const uint64_t number = number_of(message, !direction);
    if (!is_equal(matching, place, direction) &&
        !bsearch(&number, matching->numbers[IN] + matching->starts[IN][place],
                 (size_t)matching->counts[IN][place], sizeof number, compare_numbers))
        add_other(matching, message);
}

static bool exchange_numbers(struct matching *matching)
{
    if (!all_agree(matching, !matching->failed && plan_exchange(matching)))
        return false;
    read_messages(matching, add_number_to_send);
    for (int place = 0; place < matching->size; place++)
        matching->starts[OUT][place] -= matching->counts[OUT][place];
    if (PMPI_Alltoallv(matching->numbers[OUT], matching->counts[OUT], matching->starts[OUT],
                       MPI_UINT64_T, matching->numbers[IN], matching->counts[IN],
                       matching->starts[IN], MPI_UINT64_T, matching->comm) != MPI_SUCCESS)
        return false;
    for (int place = 0; place < matching->size; place++)
        qsort(matching->numbers[IN] + matching->starts[IN][place],
              (size_t)matching->counts[IN][place], sizeof(uint64_t), compare_numbers);
    read_messages(matching, add_if_unmatched);
    return !matching->failed;
}

static bool compare_messages(struct matching *matching, int rank)
{
    enum { WORDS = sizeof(struct total) / sizeof(uint64_t) };
    bool is_equal_to_all = true;
    if (!all_agree(matching, allocate_matching(matching)) ||
        PMPI_Allgather(&rank, 1, MPI_INT, matching->ranks, 1, MPI_INT, matching->comm) !=
            MPI_SUCCESS)
        return false;
    for (int place = 0; place < matching->size; place++) {
        int *found = matching->ranks[place] < 0
                         ? NULL
                         : qmpi_table_put(&matching->places, (uint64_t)matching->ranks[place]);
        if (found)
            *found = place;
    }
    read_messages(matching, count_message);
    if (PMPI_Alltoall(matching->mine, WORDS, MPI_UINT64_T, matching->theirs, WORDS, MPI_UINT64_T,
                      matching->comm) != MPI_SUCCESS)
        return false;
    for (int place = 0; place < matching->size; place++)
        for (int direction = 0; direction < DIRECTIONS; direction++)
            is_equal_to_all = is_equal_to_all && is_equal(matching, place, direction);
    return all_agree(matching, is_equal_to_all && !matching->failed) || exchange_numbers(matching);
}

bool matching_find_unmatched(struct trace_pairs *pairs, const struct trace_view *view, int rank,
                             MPI_Comm comm)
{
    struct matching matching = {.pairs = pairs, .view = view, .comm = comm};
    *pairs = (struct trace_pairs){0};
    qmpi_table_start(&pairs->others, 1);
    qmpi_table_start(&matching.places, sizeof(int));
    if (PMPI_Comm_size(comm, &matching.size) != MPI_SUCCESS)
        return false;
    const bool good = compare_messages(&matching, rank) && !pairs->others.failed;
    free_matching(&matching);
    return good;
}
