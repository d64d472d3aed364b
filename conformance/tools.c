/* SPDX-License-Identifier: MIT */
/*
 * The tools of the suite. They are linked with the programs, and one constructor registers all of
 * them; the list of tools of a run selects those that are layers.
 *
 *   alpha     intercepts the functions that have an interceptor record_X, and records the calls
 *   beta      does the same, except for MPI_Comm_rank
 *   gamma     does the same, but only for MPI_Barrier, MPI_Bcast and MPI_Comm_size
 *   changer   adds 100 to the rank that MPI_Comm_rank returns, and 1000 to the tag of MPI_Send
 *   answerer  answers MPI_Comm_size with 77 and does not call the next layer
 *   twice     calls the next MPI_Comm_rank twice
 *   nested    makes MPI calls in its interceptor of MPI_Barrier
 *   replaced  registers two interceptors for MPI_Barrier, one after the other
 *   cached    asks for the next function once and keeps it
 *   bare      registers neither storage nor functions
 *   pcontrol  records calls of MPI_Pcontrol, and returns what the next layer returns
 *   pc7       returns 7 from MPI_Pcontrol(7), and does not call the next layer
 *   quitter   ends the process in MPI_Abort with status 3
 *   errors    makes wrong calls in its init function
 *   unlisted  is in no list
 */
#include "tools.h"
#include "report.h"
#include <stdatomic.h>
#include <sys/syscall.h>

Init inits[MAX_IDS];
int init_count;
Event events[MAX_EVENTS];
static atomic_int next_event;
int ask_addresses;
char storages[MAX_IDS];
int codes_of_names[8];
int unlisted_inits, second_inits;
int nesting;
int replaced_first, replaced_second;
QMPI_Context kept_context;
int kept_id;
int context_was_kept;
Pcontrol pcontrols[MAX_IDS];

long this_thread(void)
{
    return syscall(SYS_gettid);
}

const Init *init_of(int id)
{
    for (int i = 0; i < init_count; i++)
        if (inits[i].id == id)
            return &inits[i];
    return NULL;
}

int event_count(void)
{
    int count = atomic_load(&next_event);
    return count < MAX_EVENTS ? count : MAX_EVENTS;
}

void forget_events(void)
{
    atomic_store(&next_event, 0);
}

int entered(int id, int fn)
{
    int count = 0;
    for (int i = 0; i < event_count(); i++)
        count += !events[i].leaving && events[i].fn == fn && (!id || events[i].id == id);
    return count;
}

const Event *last_entered(int id, int fn)
{
    const Event *last = NULL;
    for (int i = 0; i < event_count(); i++)
        if (!events[i].leaving && events[i].fn == fn && (!id || events[i].id == id))
            last = &events[i];
    return last;
}

static void enter(QMPI_Context context, int id, int fn, long first, long second)
{
    int index = atomic_fetch_add(&next_event, 1);
    int binding = -1;
    void *storage = NULL, *address = NULL;
    if (index >= MAX_EVENTS)
        return;
    draft_get_storage(context, id, &storage);
    if (ask_addresses) {
        draft_get_calling_address(context, id, &address);
        draft_get_binding(context, &binding);
    }
    events[index] = (Event){.id = id,
                            .fn = fn,
                            .thread = this_thread(),
                            .storage = storage,
                            .address = address,
                            .binding = binding,
                            .first = first,
                            .second = second};
    kept_context = context;
    kept_id = id;
    context_was_kept = 1;
}

static void leave(int id, int fn, int code)
{
    int index = atomic_fetch_add(&next_event, 1);
    if (index < MAX_EVENTS)
        events[index] =
            (Event){.id = id, .fn = fn, .leaving = 1, .thread = this_thread(), .code = code};
}

/* ---- interceptors that record ---------------------------------------------------------------- */

#define REST(...) , __VA_ARGS__
#define FOLLOWING(list) REST list

/* An interceptor of MPI_X with number FN. `first` and `second` are recorded. */
#define RECORDER(X, FN, parameters, arguments, first, second)                                      \
    static int record_##X(SELF FOLLOWING(parameters))                                              \
    {                                                                                              \
        Next next;                                                                                 \
        int id = SELF_ID(), code;                                                                  \
        enter(context, id, FN, (long)(first), (long)(second));                                     \
        if (draft_get_function(id, FN, &next) != MPI_SUCCESS)                                      \
            abort();                                                                               \
        code = NEXT_CALL(next, X)(NEXT_ARGUMENTS(next) FOLLOWING(arguments));                      \
        leave(id, FN, code);                                                                       \
        return code;                                                                               \
    }

RECORDER(Init, MPI_INIT_T, (int *argc, char ***argv), (argc, argv), 0, 0)
RECORDER(Init_thread, MPI_INIT_THREAD_T, (int *argc, char ***argv, int required, int *provided),
         (argc, argv, required, provided), required, 0)
RECORDER(Initialized, MPI_INITIALIZED_T, (int *flag), (flag), 0, 0)
RECORDER(Finalized, MPI_FINALIZED_T, (int *flag), (flag), 0, 0)
RECORDER(Get_version, MPI_GET_VERSION_T, (int *major, int *minor), (major, minor), 0, 0)
RECORDER(Get_library_version, MPI_GET_LIBRARY_VERSION_T, (char *text, int *length), (text, length),
         0, 0)
RECORDER(Barrier, MPI_BARRIER_T, (MPI_Comm comm), (comm), 0, 0)
RECORDER(Bcast, MPI_BCAST_T, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
         (buffer, count, type, root, comm), count, root)
RECORDER(Allreduce, MPI_ALLREDUCE_T,
         (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
         (from, to, count, type, op, comm), count, from == MPI_IN_PLACE)
RECORDER(Send, MPI_SEND_T,
         (const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),
         (buffer, count, type, dest, tag, comm), count, tag)
RECORDER(Recv, MPI_RECV_T,
         (void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Status *status),
         (buffer, count, type, source, tag, comm, status), count, status == MPI_STATUS_IGNORE)
RECORDER(Comm_rank, MPI_COMM_RANK_T, (MPI_Comm comm, int *rank), (comm, rank), 0, 0)
RECORDER(Comm_size, MPI_COMM_SIZE_T, (MPI_Comm comm, int *size), (comm, size), 0, 0)
RECORDER(Comm_free, MPI_COMM_FREE_T, (MPI_Comm * comm), (comm), 0, 0)
RECORDER(Abort, MPI_ABORT_T, (MPI_Comm comm, int status), (comm, status), status, 0)
RECORDER(Type_size, MPI_TYPE_SIZE_T, (MPI_Datatype type, int *size), (type, size), 0, 0)
RECORDER(Wait, MPI_WAIT_T, (MPI_Request * request, MPI_Status *status), (request, status), 0, 0)
RECORDER(Isend, MPI_ISEND_T,
         (const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
          MPI_Request *request),
         (buffer, count, type, dest, tag, comm, request), count, tag)
#if MPI_VERSION >= 4
RECORDER(Session_init, MPI_SESSION_INIT_T,
         (MPI_Info info, MPI_Errhandler handler, MPI_Session *session), (info, handler, session), 0,
         0)
RECORDER(Session_finalize, MPI_SESSION_FINALIZE_T, (MPI_Session * session), (session), 0, 0)
RECORDER(Send_c, MPI_SEND_C_T,
         (const void *buffer, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),
         (buffer, count, type, dest, tag, comm), count, tag)
RECORDER(Info_create, MPI_INFO_CREATE_T, (MPI_Info * info), (info), 0, 0)
#endif
#if DRAFT_NUMBERS_MPI_FILE
RECORDER(File_open, MPI_FILE_OPEN_T,
         (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
         (comm, name, mode, info, file), mode, 0)
#endif
#if DRAFT_NUMBERS_MPI_T
RECORDER(T_init_thread, MPI_T_INIT_THREAD_T, (int required, int *provided), (required, provided),
         required, 0)
#endif

static int record_Finalize(SELF)
{
    Next next = {0};
    int id = SELF_ID(), code;
    enter(context, id, MPI_FINALIZE_T, 0, 0);
    if (draft_get_function(id, MPI_FINALIZE_T, &next) != MPI_SUCCESS)
        abort();
    code = NEXT_CALL(next, Finalize)(NEXT_ARGUMENTS(next));
    leave(id, MPI_FINALIZE_T, code);
    return code;
}

static double record_Wtime(SELF)
{
    Next next = {0};
    int id = SELF_ID();
    double time;
    enter(context, id, MPI_WTIME_T, 0, 0);
    if (draft_get_function(id, MPI_WTIME_T, &next) != MPI_SUCCESS)
        abort();
    time = NEXT_CALL(next, Wtime)(NEXT_ARGUMENTS(next));
    leave(id, MPI_WTIME_T, 0);
    return time;
}

#ifndef MPI_Aint_add /* in Open MPI 4, this is a macro */
static MPI_Aint record_Aint_add(SELF, MPI_Aint base, MPI_Aint displacement)
{
    Next next = {0};
    int id = SELF_ID();
    MPI_Aint sum;
    enter(context, id, MPI_AINT_ADD_T, 0, 0);
    if (draft_get_function(id, MPI_AINT_ADD_T, &next) != MPI_SUCCESS)
        abort();
    sum = NEXT_CALL(next, Aint_add)(NEXT_ARGUMENTS(next), base, displacement);
    leave(id, MPI_AINT_ADD_T, 0);
    return sum;
}
#endif

/* Reads the arguments that the cases pass with levels from 100 on: one integer and one double. */
static int record_Pcontrol(SELF, const int level, ...)
{
    Next next = {0};
    int id = SELF_ID(), code;
    long word = 0;
    double real = 0;
    if (level >= 100) {
        va_list list;
        va_start(list, level);
        word = va_arg(list, long);
        real = va_arg(list, double);
        va_end(list);
    }
    pcontrols[id] = (Pcontrol){level, word, real, pcontrols[id].calls + 1};
    enter(context, id, MPI_PCONTROL_T, level, 0);
    if (draft_get_function(id, MPI_PCONTROL_T, &next) != MPI_SUCCESS)
        abort();
    code = NEXT_CALL(next, Pcontrol)(NEXT_ARGUMENTS(next), level, word, real);
    leave(id, MPI_PCONTROL_T, code);
    return code;
}

static int seven_Pcontrol(SELF, const int level, ...)
{
    (void)context;
    (void)SELF_ID();
    return level == 7 ? 7 : MPI_SUCCESS;
}

/* ---- interceptors that do something else ----------------------------------------------------- */

static int change_Comm_rank(SELF, MPI_Comm comm, int *rank)
{
    Next next = {0};
    int code;
    draft_get_function(SELF_ID(), MPI_COMM_RANK_T, &next);
    code = NEXT_CALL(next, Comm_rank)(NEXT_ARGUMENTS(next), comm, rank);
    *rank += 100;
    return code;
}

static int change_Send(SELF, const void *buffer, int count, MPI_Datatype type, int dest, int tag,
                       MPI_Comm comm)
{
    Next next = {0};
    draft_get_function(SELF_ID(), MPI_SEND_T, &next);
    return NEXT_CALL(next, Send)(NEXT_ARGUMENTS(next), buffer, count, type, dest, tag + 1000, comm);
}

static int answer_Comm_size(SELF, MPI_Comm comm, int *size)
{
    (void)context;
    (void)SELF_ID();
    (void)comm;
    *size = 77;
    return MPI_SUCCESS;
}

static int twice_Comm_rank(SELF, MPI_Comm comm, int *rank)
{
    Next next = {0};
    draft_get_function(SELF_ID(), MPI_COMM_RANK_T, &next);
    NEXT_CALL(next, Comm_rank)(NEXT_ARGUMENTS(next), comm, rank);
    return NEXT_CALL(next, Comm_rank)(NEXT_ARGUMENTS(next), comm, rank);
}

static int nested_Barrier(SELF, MPI_Comm comm)
{
    Next next = {0}, other = {0};
    int id = SELF_ID(), size, how = nesting;
    nesting = NEST_NOT;
    if (how == NEST_NEXT) {
        draft_get_function(id, MPI_COMM_SIZE_T, &other);
        NEXT_CALL(other, Comm_size)(NEXT_ARGUMENTS(other), comm, &size);
    } else if (how == NEST_MPI) {
        MPI_Comm_size(comm, &size);
    } else if (how == NEST_PMPI) {
        PMPI_Comm_size(comm, &size);
    }
    draft_get_function(id, MPI_BARRIER_T, &next);
    return NEXT_CALL(next, Barrier)(NEXT_ARGUMENTS(next), comm);
}

static int first_Barrier(SELF, MPI_Comm comm)
{
    Next next = {0};
    replaced_first++;
    draft_get_function(SELF_ID(), MPI_BARRIER_T, &next);
    return NEXT_CALL(next, Barrier)(NEXT_ARGUMENTS(next), comm);
}

static int second_Barrier(SELF, MPI_Comm comm)
{
    Next next = {0};
    replaced_second++;
    draft_get_function(SELF_ID(), MPI_BARRIER_T, &next);
    return NEXT_CALL(next, Barrier)(NEXT_ARGUMENTS(next), comm);
}

static int cached_Barrier(SELF, MPI_Comm comm)
{
    static Next kept;
    static atomic_int known;
    int id = SELF_ID();
    enter(context, id, MPI_BARRIER_T, 0, 0);
    if (!atomic_load(&known)) {
        draft_get_function(id, MPI_BARRIER_T, &kept);
        atomic_store(&known, 1);
    }
    return NEXT_CALL(kept, Barrier)(NEXT_ARGUMENTS(kept), comm);
}

static int quit_Abort(SELF, MPI_Comm comm, int code)
{
    (void)context;
    (void)SELF_ID();
    (void)comm;
    (void)code;
    _exit(3);
}

/* ---- init ------------------------------------------------------------------------------------ */

#define TAKE(id, fn, interceptor)                                                                  \
    draft_register_tool_function(id, fn, (void (*)(void))(interceptor))

static Init *begin_init(const char *name, int id)
{
    Init *init = &inits[init_count++];
    snprintf(init->name, sizeof init->name, "%s", name);
    init->id = id;
    init->thread = this_thread();
    PMPI_Initialized(&init->mpi_initialized);
    if (id > 0 && id < MAX_IDS)
        init->storage_code = draft_register_tool_storage(id, &storages[id]);
    return init;
}

static void take_all(Init *init, int with_rank)
{
    int id = init->id;
    init->function_code = TAKE(id, MPI_INIT_T, record_Init);
    TAKE(id, MPI_INIT_THREAD_T, record_Init_thread);
    TAKE(id, MPI_FINALIZE_T, record_Finalize);
    TAKE(id, MPI_INITIALIZED_T, record_Initialized);
    TAKE(id, MPI_FINALIZED_T, record_Finalized);
    TAKE(id, MPI_GET_VERSION_T, record_Get_version);
    TAKE(id, MPI_GET_LIBRARY_VERSION_T, record_Get_library_version);
    TAKE(id, MPI_BARRIER_T, record_Barrier);
    TAKE(id, MPI_BCAST_T, record_Bcast);
    TAKE(id, MPI_ALLREDUCE_T, record_Allreduce);
    TAKE(id, MPI_SEND_T, record_Send);
    TAKE(id, MPI_ISEND_T, record_Isend);
    TAKE(id, MPI_RECV_T, record_Recv);
    TAKE(id, MPI_WAIT_T, record_Wait);
    if (with_rank)
        TAKE(id, MPI_COMM_RANK_T, record_Comm_rank);
    TAKE(id, MPI_COMM_SIZE_T, record_Comm_size);
    TAKE(id, MPI_COMM_FREE_T, record_Comm_free);
    TAKE(id, MPI_ABORT_T, record_Abort);
    TAKE(id, MPI_TYPE_SIZE_T, record_Type_size);
    TAKE(id, MPI_WTIME_T, record_Wtime);
#ifndef MPI_Aint_add
    TAKE(id, MPI_AINT_ADD_T, record_Aint_add);
#endif
    TAKE(id, MPI_PCONTROL_T, record_Pcontrol);
#if MPI_VERSION >= 4
    TAKE(id, MPI_SESSION_INIT_T, record_Session_init);
    TAKE(id, MPI_SESSION_FINALIZE_T, record_Session_finalize);
    TAKE(id, MPI_SEND_C_T, record_Send_c);
    TAKE(id, MPI_INFO_CREATE_T, record_Info_create);
#endif
#if DRAFT_NUMBERS_MPI_FILE
    TAKE(id, MPI_FILE_OPEN_T, record_File_open);
#endif
#if DRAFT_NUMBERS_MPI_T
    TAKE(id, MPI_T_INIT_THREAD_T, record_T_init_thread);
#endif
    init->get_code = draft_get_function(id, MPI_BARRIER_T, &init->next_barrier);
}

static void init_alpha(int id)
{
    take_all(begin_init("alpha", id), 1);
}

static void init_beta(int id)
{
    take_all(begin_init("beta", id), 0);
}

static void init_gamma(int id)
{
    begin_init("gamma", id);
    TAKE(id, MPI_BARRIER_T, record_Barrier);
    TAKE(id, MPI_BCAST_T, record_Bcast);
    TAKE(id, MPI_COMM_SIZE_T, record_Comm_size);
}

static void init_changer(int id)
{
    begin_init("changer", id);
    TAKE(id, MPI_COMM_RANK_T, change_Comm_rank);
    TAKE(id, MPI_SEND_T, change_Send);
}

static void init_answerer(int id)
{
    begin_init("answerer", id);
    TAKE(id, MPI_COMM_SIZE_T, answer_Comm_size);
}

static void init_twice(int id)
{
    begin_init("twice", id);
    TAKE(id, MPI_COMM_RANK_T, twice_Comm_rank);
}

static void init_nested(int id)
{
    begin_init("nested", id);
    TAKE(id, MPI_BARRIER_T, nested_Barrier);
}

static void init_replaced(int id)
{
    begin_init("replaced", id);
    TAKE(id, MPI_BARRIER_T, first_Barrier);
    TAKE(id, MPI_BARRIER_T, second_Barrier);
}

static void init_cached(int id)
{
    begin_init("cached", id);
    TAKE(id, MPI_BARRIER_T, cached_Barrier);
}

static void init_bare(int id)
{
    Init *init = &inits[init_count++];
    snprintf(init->name, sizeof init->name, "bare");
    init->id = id;
}

static void init_pcontrol(int id)
{
    begin_init("pcontrol", id);
    TAKE(id, MPI_PCONTROL_T, record_Pcontrol);
}

static void init_pc7(int id)
{
    begin_init("pc7", id);
    TAKE(id, MPI_PCONTROL_T, seven_Pcontrol);
}

static void init_quitter(int id)
{
    begin_init("quitter", id);
    TAKE(id, MPI_ABORT_T, quit_Abort);
}

static void init_unlisted(int id)
{
    (void)id;
    unlisted_inits++;
}

static void init_second(int id)
{
    (void)id;
    second_inits++;
}

/* Wrong calls in `init`; the scenario "errors" lists this tool. */
static void init_errors(int id)
{
    Next next = {0};
    begin_init("errors", id);
#define REFUSED(name, call)                                                                        \
    if (attempt(name)) {                                                                           \
        int code = (call);                                                                         \
        report(name, code != MPI_SUCCESS, "the call succeeds");                                    \
        _exit(0);                                                                                  \
    }
    REFUSED("function.id_negative", TAKE(-1, MPI_BARRIER_T, record_Barrier))
    REFUSED("function.id_zero", TAKE(0, MPI_BARRIER_T, record_Barrier))
    REFUSED("function.id_too_large", TAKE(9999, MPI_BARRIER_T, record_Barrier))
    REFUSED("function.number_negative", TAKE(id, -1, record_Barrier))
    REFUSED("function.number_last", TAKE(id, DRAFT_FUNCTIONS, record_Barrier))
    REFUSED("function.number_too_large", TAKE(id, 1000000, record_Barrier))
    REFUSED("function.null", draft_register_tool_function(id, MPI_BARRIER_T, NULL))
    REFUSED("function.of_another_layer", TAKE(id == 1 ? 2 : 1, MPI_BARRIER_T, record_Barrier))
    REFUSED("storage.id_negative", draft_register_tool_storage(-1, storages))
    REFUSED("storage.id_zero", draft_register_tool_storage(0, storages))
    REFUSED("storage.id_too_large", draft_register_tool_storage(9999, storages))
    REFUSED("next.id_negative", draft_get_function(-1, MPI_BARRIER_T, &next))
    REFUSED("next.id_too_large", draft_get_function(9999, MPI_BARRIER_T, &next))
    REFUSED("next.number_negative", draft_get_function(id, -1, &next))
    REFUSED("next.number_last", draft_get_function(id, DRAFT_FUNCTIONS, &next))
    REFUSED("next.number_too_large", draft_get_function(id, 1000000, &next))
    REFUSED("next.function_null", draft_get_function_null(id, MPI_BARRIER_T, 0, &next))
    REFUSED("next.context_null", draft_get_function_null(id, MPI_BARRIER_T, 1, &next))
    if (attempt("next.outputs_kept")) {
        Next before;
        memset(&next, 0x5a, sizeof next);
        before = next;
        draft_get_function(9999, MPI_BARRIER_T, &next);
        report("next.outputs_kept", !memcmp(&before, &next, sizeof next), "they are changed");
        _exit(0);
    }
    TAKE(id, MPI_BARRIER_T, record_Barrier);
    /* The numbers of functions that this MPI lacks must be accepted, too. */
    if (attempt("function.every_number")) {
        int refused = 0;
        for (int fn = 0; fn < DRAFT_FUNCTIONS; fn++)
            refused += TAKE(id, fn, record_Barrier) != MPI_SUCCESS;
        report("function.every_number", !refused, "%d are refused", refused);
        _exit(0);
    }
}

/* ---- registration ---------------------------------------------------------------------------- */

__attribute__((constructor)) static void register_tools(void)
{
    static const struct {
        const char *name;
        void (*init)(int);
    } tools[] = {
        {"gamma", init_gamma},     {"beta", init_beta},         {"alpha", init_alpha},
        {"changer", init_changer}, {"answerer", init_answerer}, {"twice", init_twice},
        {"nested", init_nested},   {"replaced", init_replaced}, {"cached", init_cached},
        {"bare", init_bare},       {"pcontrol", init_pcontrol}, {"pc7", init_pc7},
        {"quitter", init_quitter}, {"errors", init_errors},
    };
    char name[300];
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        int code;
        snprintf(name, sizeof name, "%s", tools[i].name);
        code = draft_register_tool_name(name, tools[i].init);
        if (i == 2)
            codes_of_names[0] = code;
    }
    codes_of_names[1] = draft_register_tool_name("unlisted", init_unlisted);
    memset(name, 'x', sizeof name); /* This overwrites the names above. An implementation that has
                                       not copied them does not find the tools of its list. */
    name[255] = '\0';
    codes_of_names[2] = draft_register_tool_name(name, init_unlisted);
}

/* The scenario "names" tries calls that may crash, before its first MPI call. */
void try_names(void);
void try_names(void)
{
    REFUSED("name.null", draft_register_tool_name(NULL, init_unlisted))
    REFUSED("name.empty", draft_register_tool_name("", init_unlisted))
    REFUSED("name.init_null", draft_register_tool_name("noinit", NULL))
    if (attempt("name.too_long")) {
        char name[1025];
        memset(name, 'y', sizeof name);
        name[1024] = '\0';
        report("name.too_long", draft_register_tool_name(name, init_unlisted) != MPI_SUCCESS,
               "the call succeeds");
        _exit(0);
    }
    if (attempt("name.taken")) {
        report("name.taken", draft_register_tool_name("alpha", init_second) != MPI_SUCCESS,
               "the call succeeds");
        _exit(0);
    }
    draft_register_tool_name("alpha", init_second);
}
