/* SPDX-License-Identifier: MIT */
/*
 * Reads the script and carries it out. The first line is `threads N`, and each further line is
 *     PHASE THREAD EVENT ACTION [NUMBER…]
 * In each phase, a thread carries out its steps in the order of the lines. EVENT is the number of
 * the step's counter in the ledger.
 */
#include "program.h"

#include <pthread.h>
#include <sys/syscall.h>

struct numbered_step {
    struct storm_step step;
    int event;
};

struct storm_ledger *storm;
struct storm_thread storm_threads[STORM_THREADS];
int storm_thread_count = 1, storm_rank, storm_size = 1, storm_level, storm_verbose;

static struct numbered_step *steps;
static int step_count, phase_count, phase_now;
static int phases_of_run; /* the number of phases that threads carry out; the later ones are carried
                             out when the process ends */
static pthread_barrier_t phase_end;

struct storm_caller *storm_caller(void)
{
    static _Thread_local struct storm_caller caller = {__ehdr_start, _end, 0};
    return &caller;
}

static const struct storm_action *find_action(const char *name)
{
    static const struct storm_action *const tables[] = {
        storm_message_actions,   storm_collective_actions, storm_object_actions,
        storm_callback_actions,  storm_memory_actions,     storm_information_actions,
        storm_lifecycle_actions, storm_switch_actions,     storm_plugin_actions,
        storm_signal_actions,    storm_process_actions,    storm_handle_actions,
        storm_fortran_actions};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct storm_action *row = tables[i]; row->name; row++)
            if (!strcmp(row->name, name))
                return row;
    fprintf(stderr, "storm: no action is called %s\n", name);
    exit(99);
}

static void read_line(const char *line)
{
    char name[64];
    int used = 0;
    struct numbered_step *new = NULL;
    struct storm_step read = {0};
    int event = 0;
    if (sscanf(line, "%d %d %d %63s%n", &read.phase, &read.thread, &event, name, &used) != 4)
        return;
    for (int i = 0, more = 0; i < STORM_ARGUMENTS; i++, used += more)
        if (sscanf(line + used, "%ld%n", &read.a[i], &more) != 1)
            break;
    read.action = find_action(name);
    new = realloc(steps, (size_t)(step_count + 1) * sizeof *steps);
    if (!new)
        abort();
    steps = new;
    steps[step_count++] = (struct numbered_step){read, event};
    if (read.phase >= phase_count)
        phase_count = read.phase + 1;
}

static void read_script(const char *path)
{
    char line[512];
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file || !fgets(line, sizeof line, file) ||
        sscanf(line, "threads %d", &storm_thread_count) != 1) {
        fprintf(stderr, "storm: STORM_SCRIPT names no script\n");
        exit(99);
    }
    while (fgets(line, sizeof line, file))
        read_line(line);
    fclose(file);
}

static void run_phase(struct storm_thread *thread, int phase)
{
    for (int i = 0; i < step_count; i++) {
        const struct storm_step *step = &steps[i].step;
        if (step->phase != phase || step->thread != thread->number)
            continue;
        if (storm_verbose)
            dprintf(2, "storm: phase %d thread %d %s %ld %ld %ld %ld\n", phase, thread->number,
                    step->action->name, step->a[0], step->a[1], step->a[2], step->a[3]);
        storm_add(&storm->events[steps[i].event], 1);
        step->action->run(thread, step->a);
        storm_add(&storm->steps, 1);
    }
}

static void *run_thread(void *argument)
{
    struct storm_thread *thread = argument;
    for (int phase = 0; phase < phases_of_run; phase++) {
        if (thread->number == 0)
            phase_now = phase;
        run_phase(thread, phase);
        if (storm_thread_count > 1)
            pthread_barrier_wait(&phase_end);
    }
    return NULL;
}

void storm_leave_rest(void)
{
    phases_of_run = phase_now + 1;
}

void storm_run_rest(void)
{
    for (int phase = phases_of_run; phase < phase_count; phase++)
        run_phase(&storm_threads[0], phase);
}

static void run_threads(void)
{
    pthread_t ids[STORM_THREADS];
    pthread_attr_t small;
    pthread_barrier_init(&phase_end, NULL, (unsigned)storm_thread_count);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int i = 1; i < storm_thread_count; i++)
        if (pthread_create(&ids[i], &small, run_thread, &storm_threads[i]) != 0)
            abort();
    run_thread(&storm_threads[0]);
    for (int i = 1; i < storm_thread_count; i++)
        pthread_join(ids[i], NULL);
}

int storm_run(void)
{
    storm_verbose = getenv("STORM_VERBOSE") != NULL;
    storm = storm_open_ledger();
    storm->caller = storm_caller;
    read_script(getenv("STORM_SCRIPT"));
    for (int i = 0; i < STORM_THREADS; i++)
        storm_threads[i].number = i;
    phases_of_run = phase_count;
    run_threads();
    __atomic_store_n(&storm->ended, 1, __ATOMIC_RELEASE);
    return 0;
}
