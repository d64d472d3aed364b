/* SPDX-License-Identifier: MIT */
/* See job.h. */
#define _GNU_SOURCE
#include "job/job.h"

#include "job/arrivals.h"
#include "job/presence.h"
#include "job/statement.h"
#include "process/process.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static qmpi_function *real_init, *real_init_thread, *real_finalize;

/* In seconds. After this time, a message names the processes for which a layer waits. The exchange
 * of statements waits a multiple of it for a process that possibly does not take part. */
static double patience;

/* Whether the launcher has started no other process, or there is no launcher that is known. Then no
 * other process is waited for. */
static bool is_alone;

/* A layer of this process, and the processes that have it. */
struct job_layer {
    int *ranks; /* in MPI_COMM_WORLD or mpi://WORLD; NULL: no such layer here */
    int count;
    int number;                    /* from qmpi_job_number_layers */
    struct qmpi_arrivals arrivals; /* with their ranks in job_comm; set in MPI_Init */
};

static struct job_layer *layers; /* [tool_id]; set once */
static int layer_count; /* 0: not known yet. Stored with release order after `layers`, under the
                           lock; a thread that has loaded it with acquire order may read `layers` */
QMPI_LOCK(layers_lock);

/* ---- Statements ------------------------------------------------------------------------------ */

struct job {
    int rank, size;
    struct qmpi_statements statements;
};

static bool has_line(const struct qmpi_statement *statement, char kind)
{
    const char *text = statement->text;
    char *line = qmpi_statement_next_line(&text, kind);
    free(line);
    return line != NULL;
}

/* ---- Problems -------------------------------------------------------------------------------- */

/* Returns a statement for each problem, with the ranks that have it. */
static struct qmpi_statements collect_problems(const struct qmpi_statements *statements)
{
    struct qmpi_statements all = {0};
    for (int i = 0; i < statements->count; i++) {
        const struct qmpi_statement *from = &statements->all[i];
        const char *text = from->text;
        for (char *line; (line = qmpi_statement_next_line(&text, QMPI_STATES_PROBLEM));) {
            struct qmpi_statement *problem = qmpi_allocate(1, sizeof *problem);
            *problem = *from;
            problem->text = line;
            problem->ranges = qmpi_allocate((size_t)from->range_count, sizeof *problem->ranges);
            memcpy(problem->ranges, from->ranges,
                   (size_t)from->range_count * sizeof *problem->ranges);
            struct qmpi_statements one = {problem, 1};
            qmpi_statements_merge(&all, &one);
        }
    }
    return all;
}

/* The lowest rank that has a problem prints it, unless the process with launcher rank 0 has the
 * same problem, since that process has already printed it. Except with unknown launchers, that
 * process is rank 0 of MPI_COMM_WORLD. */
static void print_problems(const struct job *job)
{
    struct qmpi_statements all = collect_problems(&job->statements);
    for (int i = 0; i < all.count; i++) {
        const struct qmpi_statement *problem = &all.all[i];
        if (problem->ranges[0].first != job->rank || qmpi_launcher_reports() ||
            (qmpi_statement_is_of(problem, 0) && job->rank) ||
            !qmpi_statement_has_problem(problem->text))
            continue;
        char *ranks = qmpi_statement_describe_ranks(problem->ranges, problem->range_count);
        qmpi_statement_restore(problem->text);
        if (problem->ranges[0].last == job->rank && problem->range_count == 1)
            qmpi_printf("%s on %s: %-s", ranks, problem->host, problem->text);
        else
            qmpi_printf("%s (rank %d is on %s): %-s", ranks, job->rank, problem->host,
                        problem->text);
        free(ranks);
    }
    qmpi_statements_free(&all);
}

static void sleep_for(double seconds)
{
    struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&rest, NULL);
}

/*
 * Ends the job if a process cannot run. If no process can run, each one exits after MPI_Finalize,
 * so that the launcher prints no message. Otherwise, the first of the processes that cannot run
 * aborts the job; the others wait, and abort the job only if it still exists after ten seconds.
 */
static void stop_if_any_stops(const struct job *job)
{
    int stopping = 0, first = -1;
    for (int i = 0; i < job->statements.count; i++) {
        const struct qmpi_statement *statement = &job->statements.all[i];
        const bool cannot_run = has_line(statement, QMPI_STATES_STOP);
        for (int k = 0; k < statement->range_count; k++) {
            if (cannot_run)
                stopping += statement->ranges[k].last - statement->ranges[k].first + 1;
        }
        if (cannot_run && first < 0)
            first = statement->ranges[0].first;
    }
    if (!stopping)
        return;
    if (stopping == job->size) {
        QMPI_PMPI(Finalize, FINALIZE)();
        _exit(2);
    }
    if (job->rank != first)
        sleep_for(10);
    sleep_for(0.3); /* on abort, a launcher may drop output that it has not read yet */
    QMPI_PMPI(Abort, ABORT)(MPI_COMM_WORLD, 2);
    _exit(2);
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* Returns the stack of each statement, as a NULL-terminated list of the identities of its
 * layers. */
static char ***collect_stacks(const struct qmpi_statements *statements)
{
    char ***stacks = qmpi_allocate((size_t)statements->count, sizeof *stacks);
    for (int i = 0; i < statements->count; i++) {
        const char *text = statements->all[i].text;
        int length = 0;
        stacks[i] = qmpi_memory_grow(NULL, 0, sizeof **stacks);
        stacks[i][0] = NULL;
        for (char *line; (line = qmpi_statement_next_line(&text, QMPI_STATES_LAYER));) {
            line[strcspn(line, (char[]){QMPI_STATES_NAME, 0})] = '\0';
            stacks[i][length++] = line;
            stacks[i] = qmpi_memory_grow(stacks[i], length, sizeof **stacks);
            stacks[i][length] = NULL;
        }
    }
    return stacks;
}

static void free_stacks(char ***stacks, int count)
{
    for (int i = 0; i < count; i++) {
        for (char **identity = stacks[i]; *identity; identity++)
            free(*identity);
        free(stacks[i]);
    }
    free(stacks);
}

static int stack_length(char *const *stack)
{
    int length = 0;
    while (stack[length])
        length++;
    return length;
}

/* Sets the ranks of a layer: those of all statements that contain a layer with the same number. */
static void set_ranks_of_layer(struct job_layer *layer, const struct job *job,
                               char *const *const *stacks, int *const *numbers)
{
    layer->ranks = qmpi_allocate((size_t)job->size, sizeof *layer->ranks);
    bool *has = qmpi_allocate((size_t)job->size, sizeof *has);
    for (int i = 0; i < job->statements.count; i++) {
        const struct qmpi_statement *statement = &job->statements.all[i];
        bool found = false;
        for (int k = 0; k < stack_length(stacks[i]) && !found; k++)
            found = numbers[i][k] == layer->number;
        for (int k = 0; k < statement->range_count && found; k++) {
            for (int rank = statement->ranges[k].first; rank <= statement->ranges[k].last; rank++)
                has[rank] = true;
        }
    }
    for (int rank = 0; rank < job->size; rank++) {
        if (has[rank])
            layer->ranks[layer->count++] = rank;
    }
    free(has);
}

static void make_layers(const struct job *job)
{
    char ***stacks = collect_stacks(&job->statements);
    const int count = qmpi_statement_layers();
    layers = qmpi_allocate((size_t)count, sizeof *layers);
    int **numbers =
        qmpi_job_number_layers((const char *const *const *)stacks, job->statements.count);
    for (int i = 0; i < job->statements.count; i++) {
        if (!qmpi_statement_is_of(&job->statements.all[i], job->rank))
            continue;
        for (int tool_id = 0, k = 0; tool_id < count; tool_id++) {
            if (!qmpi_statement_has_layer(tool_id))
                continue;
            layers[tool_id].number = numbers[i][k++];
            set_ranks_of_layer(&layers[tool_id], job, (char *const *const *)stacks, numbers);
        }
    }
    for (int i = 0; i < job->statements.count; i++)
        free(numbers[i]);
    free(numbers);
    free_stacks(stacks, job->statements.count);
    __atomic_store_n(&layer_count, count, __ATOMIC_RELEASE);
}

/* Sets the layers if they are not known yet, and returns whether it has done so: processes exchange
 * statements in MPI_Init, and whenever they create a communicator of all processes from a
 * session. */
static bool set_layers(const struct job *job)
{
    pthread_mutex_lock(&layers_lock);
    const bool is_first = layer_count == 0;
    if (is_first)
        make_layers(job);
    pthread_mutex_unlock(&layers_lock);
    return is_first;
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* Returns the options in an identity, behind its name, as `,key=value` for each; the caller frees
 * them. describe_to_job in startup/startup.c writes identities. */
static char *list_options(const char *identity)
{
    char *options = qmpi_copy("");
    /* Only the value, whose length is given, may contain any character. */
    for (const char *at = identity; *at == ',';) {
        char *key;
        const size_t length = strtoul(at + 1, &key, 10);
        const char *value = strchr(key, '=');
        if (*key++ != ':' || !value || strlen(++value) < length)
            break;
        char *option = qmpi_copy_part(key, (size_t)(value - key) + length);
        char *more = qmpi_message("%-s,%s", options, option);
        free(option);
        free(options);
        options = more;
        at = value + length;
    }
    return options;
}

/* Returns the names of the layers of a statement, if `with_options` is true followed by their
 * options, separated by colons; the caller frees them. */
static char *list_layers(const struct qmpi_statement *statement, bool with_options)
{
    const char *text = statement->text;
    char *list = qmpi_copy("");
    for (char *line; (line = qmpi_statement_next_line(&text, QMPI_STATES_LAYER));) {
        char *name = strchr(line, QMPI_STATES_NAME);
        *name++ = '\0';
        qmpi_statement_restore(name);
        qmpi_statement_restore(line);
        char *options = with_options ? list_options(line + strlen(name)) : qmpi_copy("");
        char *more = *name ? qmpi_message("%-s%s%s%-s", list, *list ? ":" : "", name, options)
                           : qmpi_copy(list);
        free(options);
        free(list);
        list = more;
        free(line);
    }
    return list;
}

static void add_stack(struct qmpi_statements *all, char *text,
                      const struct qmpi_statement_range *ranges, int count)
{
    struct qmpi_statement *statement = qmpi_allocate(1, sizeof *statement);
    statement->text = text;
    statement->ranges = qmpi_allocate((size_t)count, sizeof *ranges);
    memcpy(statement->ranges, ranges, (size_t)count * sizeof *ranges);
    statement->range_count = count;
    struct qmpi_statements one = {statement, 1};
    qmpi_statements_merge(all, &one);
}

/* Returns statements that consist of list_layers only. One more stands for the ranks that have made
 * no statement. */
static struct qmpi_statements collect_layer_lists(const struct job *job, bool with_options)
{
    struct qmpi_statements all = {0};
    struct qmpi_statement_range *absent = qmpi_allocate((size_t)job->size, sizeof *absent);
    bool *present = qmpi_allocate((size_t)job->size, sizeof *present);
    int count = 0;
    for (int i = 0; i < job->statements.count; i++) {
        const struct qmpi_statement *statement = &job->statements.all[i];
        add_stack(&all, list_layers(statement, with_options), statement->ranges,
                  statement->range_count);
        for (int k = 0; k < statement->range_count; k++) {
            const struct qmpi_statement_range range = statement->ranges[k];
            memset(present + range.first, true, (size_t)(range.last - range.first + 1));
        }
    }
    for (int rank = 0; rank < job->size; rank++) {
        if (!present[rank])
            qmpi_statement_add_rank(absent, &count, rank);
    }
    if (count)
        add_stack(&all, qmpi_copy("no libqmpi, or no tools"), absent, count);
    free(present);
    free(absent);
    return all;
}

/* Prints what each of the ranks has, unless all have the same. If each rank has options of its own,
 * such as the name of a file, the list ends after some lines. */
static void print_lists(const struct qmpi_statements *all, bool have_options)
{
    enum { MOST = 16 };
    char *text = qmpi_format(
        "the processes of this job have different tools%s, and each tool covers only the processes "
        "that have it%s",
        have_options ? " or options of tools" : "", have_options ? " with the same options" : "");
    for (int i = 0; i < all->count && i < MOST; i++) {
        const struct qmpi_statement *one = &all->all[i];
        char *ranks = qmpi_statement_describe_ranks(one->ranges, one->range_count);
        char *more = qmpi_format("%s\n  %s: %s", text, ranks, *one->text ? one->text : "no tools");
        free(ranks);
        free(text);
        text = more;
    }
    if (all->count > MOST) {
        char *more = qmpi_format("%s\n  and %d others", text, all->count - MOST);
        free(text);
        text = more;
    }
    if (all->count > 1)
        qmpi_printf("%-s\n  hint: if this is not intended, give all programs of the job the same "
                    "tools%s, and make sure that they are the same files on all nodes",
                    text, have_options ? " with the same options" : "");
    free(text);
}

static void print_differences(const struct job *job)
{
    const struct qmpi_statements *statements = &job->statements;
    if (statements->all[0].ranges[0].first != job->rank)
        return;
    if (statements->count == 1 && statements->all[0].range_count == 1 &&
        statements->all[0].ranges[0].last == job->size - 1 && job->rank == 0)
        return; /* a shortcut for large jobs: all statements are equal */
    struct qmpi_statements all = collect_layer_lists(job, true),
                           names = collect_layer_lists(job, false);
    const bool have_options = all.count > names.count;
    if (have_options)
        qmpi_statements_free(&names);
    else
        qmpi_statements_free(&all);
    print_lists(have_options ? &all : &names, have_options);
    qmpi_statements_free(have_options ? &all : &names);
}

/* ---- Communicators --------------------------------------------------------------------------- */

static MPI_Comm job_comm; /* of all processes that take part; valid while `members` is not NULL */
static int *members;      /* their ranks in MPI_COMM_WORLD */
static int member_count;

static int create_comm_of_group(MPI_Comm comm, const int *ranks, int count, int tag,
                                MPI_Comm *created)
{
    MPI_Group all, group;
    int result = QMPI_PMPI(Comm_group, COMM_GROUP)(comm, &all);
    if (result != MPI_SUCCESS)
        return result;
    result = QMPI_PMPI(Group_incl, GROUP_INCL)(all, count, ranks, &group);
    QMPI_PMPI(Group_free, GROUP_FREE)(&all);
    if (result != MPI_SUCCESS)
        return result;
    result = QMPI_PMPI(Comm_create_group, COMM_CREATE_GROUP)(comm, group, tag, created);
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    return result;
}

/* Creates a communicator of some processes of `comm`, collective over them only. Errors are
 * returned and invoke no error handler. */
static int create_comm_of_ranks(MPI_Comm comm, const int *ranks, int count, int tag,
                                MPI_Comm *created)
{
    struct qmpi_quiet_errors world, self;
    qmpi_quiet_errors_begin(&world, MPI_COMM_WORLD);
    qmpi_quiet_errors_begin(&self, MPI_COMM_SELF);
    const int result = create_comm_of_group(comm, ranks, count, tag, created);
    qmpi_quiet_errors_end(&self);
    qmpi_quiet_errors_end(&world);
    return result;
}

/* Creates a communicator of all processes of MPI_COMM_WORLD. Errors are returned and invoke no
 * error handler. */
static int create_comm_of_world(int rank, MPI_Comm *created)
{
    struct qmpi_quiet_errors world;
    qmpi_quiet_errors_begin(&world, MPI_COMM_WORLD);
    const int result = QMPI_PMPI(Comm_split, COMM_SPLIT)(MPI_COMM_WORLD, 0, rank, created);
    qmpi_quiet_errors_end(&world);
    return result;
}

static int compare_ints(const void *one, const void *other)
{
    const int a = *(const int *)one, b = *(const int *)other;
    return (a > b) - (a < b);
}

/* Sets the ranks in job_comm of the processes that have a layer. */
static void set_places(struct job_layer *layer)
{
    int *places = qmpi_allocate((size_t)layer->count, sizeof *places);
    for (int i = 0; i < layer->count; i++) {
        const int *found =
            bsearch(&layer->ranks[i], members, (size_t)member_count, sizeof *members, compare_ints);
        places[i] = found ? (int)(found - members) : 0;
    }
    layer->arrivals.places = places;
    layer->arrivals.count = layer->count;
    qmpi_arrivals_prepare(&layer->arrivals, layer->number % QMPI_JOB_TAG);
}

/* Creates the communicator for messages of layers. On MPI_COMM_WORLD, the program could receive
 * these messages. */
static void create_job_comm(const struct job *job)
{
    int result;
    members = qmpi_allocate((size_t)job->size, sizeof *members);
    for (int rank = 0; rank < job->size; rank++) {
        bool is_present = false;
        for (int i = 0; i < job->statements.count && !is_present; i++)
            is_present = qmpi_statement_is_of(&job->statements.all[i], rank);
        if (is_present)
            members[member_count++] = rank;
    }
    for (int tool_id = 0; tool_id < layer_count; tool_id++) {
        if (layers[tool_id].ranks)
            set_places(&layers[tool_id]);
    }
    if (member_count == job->size)
        result = create_comm_of_world(job->rank, &job_comm);
    else
        result =
            create_comm_of_ranks(MPI_COMM_WORLD, members, member_count, QMPI_JOB_TAG, &job_comm);
    if (result == MPI_SUCCESS) {
        QMPI_PMPI(Comm_set_errhandler, COMM_SET_ERRHANDLER)(job_comm, MPI_ERRORS_RETURN);
        qmpi_arrivals_start(job_comm, members, member_count);
        return;
    }
    free(members);
    members = NULL;
}

static bool keeps_comm;

void qmpi_job_keep_comm(void)
{
    keeps_comm = true;
}

void qmpi_job_free_comm(void)
{
    if (members) {
        qmpi_arrivals_stop();
        QMPI_PMPI(Comm_free, COMM_FREE)(&job_comm);
        free(members);
        members = NULL;
    }
}

static int finalize_job(void)
{
    if (!keeps_comm)
        qmpi_job_free_comm();
    return ((__typeof__(&MPI_Finalize))real_finalize)();
}

struct missing_processes {
    const struct job_layer *layer;
    int tool_id;
};

static void print_missing_processes(void *data)
{
    const struct missing_processes *missing = data;
    const struct job_layer *layer = missing->layer;
    const int tool_id = missing->tool_id;
    struct qmpi_statement_range *ranges = qmpi_allocate((size_t)layer->count, sizeof *ranges);
    const char *name = NULL;
    int count = 0;
    for (int i = 1; i < layer->count; i++) {
        if (layer->arrivals.requests[i] != MPI_REQUEST_NULL)
            qmpi_statement_add_rank(ranges, &count, layer->ranks[i]);
    }
    char *ranks = qmpi_statement_describe_ranks(ranges, count);
    QMPIX_Tool_get_name(tool_id, &name);
    qmpi_printf(
        "%s (layer %d): rank %d has been waiting for %s for %g s\n"
        "  hint: it continues when they make the same MPI call, usually MPI_Finalize; find out "
        "what keeps them from it",
        name ? name : "clock", tool_id, layer->ranks[0], ranks, patience);
    free(ranks);
    free(ranges);
}

int qmpi_job_await(int tool_id)
{
    int count;
    if (!members || !qmpi_job_ranks(tool_id, &count))
        return MPI_SUCCESS;
    struct missing_processes missing = {&layers[tool_id], tool_id};
    return qmpi_arrivals_await(&layers[tool_id].arrivals, patience, print_missing_processes,
                               &missing);
}

const int *qmpi_job_ranks(int tool_id, int *count)
{
    if (tool_id < 0 || tool_id >= __atomic_load_n(&layer_count, __ATOMIC_ACQUIRE) ||
        !layers[tool_id].ranks)
        return NULL;
    *count = layers[tool_id].count;
    return layers[tool_id].ranks;
}

/* Whether MPI calls are possible; at other times, most of them would terminate the process. */
static bool is_mpi_active(void)
{
    int initialized = 0, finalized = 0;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    return initialized && !finalized;
}

/* If the processes with the layer are not known, for example because the program has initialized
 * MPI without libqmpi, the communicator contains all processes. */
int qmpi_job_create_comm(int tool_id, MPI_Comm *comm)
{
    int rank, count, result;
    if (!is_mpi_active() || QMPI_PMPI(Comm_rank, COMM_RANK)(MPI_COMM_WORLD, &rank) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    if (!members || !qmpi_job_ranks(tool_id, &count)) {
        result = create_comm_of_world(rank, comm);
    } else {
        const struct qmpi_arrivals *all = &layers[tool_id].arrivals;
        result = qmpi_job_await(tool_id);
        if (result == MPI_ERR_RANK)
            return result;
        if (result == MPI_SUCCESS)
            result = count == member_count
                         ? QMPI_PMPI(Comm_dup, COMM_DUP)(job_comm, comm)
                         : create_comm_of_ranks(job_comm, all->places, count, all->tag, comm);
    }
    if (result == MPI_SUCCESS)
        QMPI_PMPI(Comm_set_errhandler, COMM_SET_ERRHANDLER)(*comm, MPI_ERRORS_RETURN);
    return result == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* ---- MPI_Init -------------------------------------------------------------------------------- */

static int exchange_statements(int result)
{
    struct job job;
    if (result != MPI_SUCCESS ||
        QMPI_PMPI(Comm_rank, COMM_RANK)(MPI_COMM_WORLD, &job.rank) != MPI_SUCCESS ||
        QMPI_PMPI(Comm_size, COMM_SIZE)(MPI_COMM_WORLD, &job.size) != MPI_SUCCESS)
        return result;
    if (is_alone && job.size > 1)
        return result; /* the launcher is not known */
    char *text = qmpi_statement_of_process();
    struct qmpi_quiet_errors world;
    qmpi_quiet_errors_begin(&world, MPI_COMM_WORLD);
    qmpi_statements_exchange(text, job.rank, job.size, patience, MPI_COMM_WORLD, NULL,
                             &job.statements);
    qmpi_quiet_errors_end(&world);
    free(text);
    print_problems(&job);
    stop_if_any_stops(&job);
    const bool is_first = set_layers(&job);
    if (!is_alone)
        create_job_comm(&job);
    if (is_first)
        print_differences(&job);
    qmpi_statements_free(&job.statements);
    return result;
}

static void announce(void)
{
    if (!is_alone)
        qmpi_presence_announce();
}

static int init_job(int *argc, char ***argv)
{
    announce();
    return exchange_statements(((__typeof__(&MPI_Init))real_init)(argc, argv));
}

static int init_thread_job(int *argc, char ***argv, int required, int *provided)
{
    announce();
    return exchange_statements(
        ((__typeof__(&MPI_Init_thread))real_init_thread)(argc, argv, required, provided));
}

/* ---- Sessions -------------------------------------------------------------------------------- */

#ifdef MPI_SESSION_NULL
static qmpi_function *real_session_init, *real_session_finalize, *real_create_from_group;

QMPI_LOCK(sessions_lock);
static MPI_Session *sessions; /* those that are open */
static size_t session_room, session_count;

/* If a session is opened before MPI_Init, the session initializes the MPI library, so this process
 * must announce itself before it opens the session. */
static int init_session_job(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    announce();
    const int result = ((__typeof__(&MPI_Session_init))real_session_init)(info, handler, session);
    pthread_mutex_lock(&sessions_lock);
    if (result == MPI_SUCCESS && QMPI_MEMORY_RESERVE(sessions, session_room, session_count + 1))
        sessions[session_count++] = *session;
    pthread_mutex_unlock(&sessions_lock);
    return result;
}

static int finalize_session_job(MPI_Session *session)
{
    pthread_mutex_lock(&sessions_lock);
    for (size_t i = 0; session && i < session_count; i++) {
        if (sessions[i] == *session)
            sessions[i--] = sessions[--session_count];
    }
    pthread_mutex_unlock(&sessions_lock);
    return ((__typeof__(&MPI_Session_finalize))real_session_finalize)(session);
}

/* If `group` contains all processes of mpi://WORLD, sets *rank to the rank of this process there,
 * and *places to the ranks of all processes in `group`, and returns their number. Otherwise returns
 * 0. The caller sets *places to NULL before the call, and frees it afterwards in both cases. */
static int place_processes(MPI_Session session, MPI_Group group, int *rank, int **places)
{
    MPI_Group world;
    int size = 0, group_size = 0;
    bool good = QMPI_PMPI(Group_from_session_pset, GROUP_FROM_SESSION_PSET)(session, "mpi://WORLD",
                                                                            &world) == MPI_SUCCESS;
    if (!good)
        return 0;
    good = QMPI_PMPI(Group_size, GROUP_SIZE)(world, &size) == MPI_SUCCESS &&
           QMPI_PMPI(Group_size, GROUP_SIZE)(group, &group_size) == MPI_SUCCESS &&
           size == group_size && QMPI_PMPI(Group_rank, GROUP_RANK)(world, rank) == MPI_SUCCESS;
    if (good) {
        int *all = qmpi_allocate((size_t)size, sizeof *all);
        *places = qmpi_allocate((size_t)size, sizeof **places);
        for (int i = 0; i < size; i++)
            all[i] = i;
        good = QMPI_PMPI(Group_translate_ranks, GROUP_TRANSLATE_RANKS)(world, size, all, group,
                                                                       *places) == MPI_SUCCESS;
        for (int i = 0; i < size; i++)
            good = good && (*places)[i] != MPI_UNDEFINED;
        free(all);
    }
    QMPI_PMPI(Group_free, GROUP_FREE)(&world);
    return good ? size : 0;
}

/* If the communicator contains all processes, exchanges the statements and sets the layers, as
 * exchange_statements does in MPI_Init. Problems are handled only in MPI_Init, because a process
 * with a problem that ends the job opens no session. */
static void exchange_in_session(MPI_Comm comm)
{
    struct job job = {0};
    int *places = NULL;
    MPI_Group group;
    if (QMPI_PMPI(Comm_group, COMM_GROUP)(comm, &group) != MPI_SUCCESS)
        return;
    pthread_mutex_lock(&sessions_lock);
    for (size_t i = session_count; i > 0 && !job.size; i--) {
        free(places);
        places = NULL;
        job.size = place_processes(sessions[i - 1], group, &job.rank, &places);
    }
    pthread_mutex_unlock(&sessions_lock);
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    if (is_alone ? job.size == 1 : job.size > 0) {
        struct qmpi_quiet_errors quiet;
        char *text = qmpi_statement_of_process();
        qmpi_quiet_errors_begin(&quiet, comm);
        qmpi_statements_exchange(text, job.rank, job.size, patience, comm, places, &job.statements);
        qmpi_quiet_errors_end(&quiet);
        free(text);
        if (set_layers(&job))
            print_differences(&job);
        qmpi_statements_free(&job.statements);
    }
    free(places);
}

static int create_from_group_job(MPI_Group group, const char *tag, MPI_Info info,
                                 MPI_Errhandler handler, MPI_Comm *comm)
{
    const int result = ((__typeof__(&MPI_Comm_create_from_group))real_create_from_group)(
        group, tag, info, handler, comm);
    if (result == MPI_SUCCESS && *comm != MPI_COMM_NULL)
        exchange_in_session(*comm);
    return result;
}
#endif

void qmpi_job_watch(qmpi_function **targets, bool has_others, double seconds)
{
    is_alone = !has_others;
    patience = seconds;
    real_init = targets[MPI_INIT_T];
    real_init_thread = targets[MPI_INIT_THREAD_T];
    real_finalize = targets[MPI_FINALIZE_T];
    targets[MPI_FINALIZE_T] = (qmpi_function *)finalize_job;
    targets[MPI_INIT_T] = (qmpi_function *)init_job;
    targets[MPI_INIT_THREAD_T] = (qmpi_function *)init_thread_job;
#ifdef MPI_SESSION_NULL
    real_session_init = targets[MPI_SESSION_INIT_T];
    targets[MPI_SESSION_INIT_T] = (qmpi_function *)init_session_job;
#endif
}

void qmpi_job_watch_sessions(qmpi_function **targets)
{
#ifdef MPI_SESSION_NULL
    real_session_finalize = targets[MPI_SESSION_FINALIZE_T];
    targets[MPI_SESSION_FINALIZE_T] = (qmpi_function *)finalize_session_job;
    real_create_from_group = targets[MPI_COMM_CREATE_FROM_GROUP_T];
    targets[MPI_COMM_CREATE_FROM_GROUP_T] = (qmpi_function *)create_from_group_job;
#else
    (void)targets;
#endif
}

/* ---- Public calls ---------------------------------------------------------------------------- */

int QMPIX_Tool_get_ranks(int tool_id, const int **ranks, int *count)
{
    if (tool_id < 1 || tool_id > QMPIX_stack.layers || !ranks || !count)
        return MPI_ERR_ARG;
    const int *found = qmpi_job_ranks(tool_id, count);
    if (!found)
        return MPI_ERR_OTHER;
    *ranks = found;
    return MPI_SUCCESS;
}

int QMPIX_Tool_create_comm(int tool_id, MPI_Comm *comm)
{
    MPI_Comm created;
    if (tool_id < 1 || tool_id > QMPIX_stack.layers || !comm)
        return MPI_ERR_ARG;
    const int result = qmpi_job_create_comm(tool_id, &created);
    if (result == MPI_SUCCESS)
        *comm = created;
    return result;
}
