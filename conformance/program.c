/* SPDX-License-Identifier: MIT */
/*
 * The application of the suite: `program SCENARIO`. A scenario is one run with one list of tools;
 * run.py contains the lists, and the cases that each scenario tests.
 */
#define _GNU_SOURCE
#include "program.h"
#include "report.h"
#include "tools.h"
#include <dlfcn.h>
#include <pthread.h>

int library_call(void);
void try_names(void);

int program_argc;
char **program_argv;

/* ---- call sites ------------------------------------------------------------------------------ */

SITE(site_init)
{
    MPI_Init(&program_argc, &program_argv);
    __asm__ volatile("");
}

SITE(site_finalize)
{
    MPI_Finalize();
    __asm__ volatile("");
}

SITE(site_a)
{
    MPI_Barrier(MPI_COMM_WORLD);
    __asm__ volatile("");
}

SITE(site_b)
{
    MPI_Barrier(MPI_COMM_WORLD);
    __asm__ volatile("");
}

SITE(site_type)
{
    int size;
    MPI_Type_size(MPI_INT, &size);
    __asm__ volatile("");
}

int program_is_same_object(const void *one, const void *other)
{
    Dl_info a, b;
    return one && other && dladdr(one, &a) && dladdr(other, &b) && a.dli_fbase == b.dli_fbase;
}

int program_passed_in_order(int fn, int layers)
{
    int good = event_count() == 2 * layers;
    for (int i = 0; good && i < layers; i++)
        good = events[i].id == i + 1 && events[i].fn == fn && !events[i].leaving &&
               events[2 * layers - 1 - i].id == i + 1 && events[2 * layers - 1 - i].leaving;
    return good;
}

/* ---- alpha:beta:alpha ------------------------------------------------------------------------ */

static void check_registration(void)
{
    int initialized = 0, other_thread = 0, unstored = 0, untaken = 0, unasked = 0;
    report("name.registered", codes_of_names[0] == MPI_SUCCESS, "code %d", codes_of_names[0]);
    report("name.unlisted", codes_of_names[1] == MPI_SUCCESS, "code %d", codes_of_names[1]);
    report("name.longest", codes_of_names[2] == MPI_SUCCESS, "code %d", codes_of_names[2]);
    report("name.any_order",
           init_of(1) && !strcmp(init_of(1)->name, "alpha") && init_of(2) &&
               !strcmp(init_of(2)->name, "beta"),
           "the order of registration decides");
    report("init.called", init_count > 0, "no call");
    report("init.once_per_entry", init_count == 3, "%d calls for three entries", init_count);
    report("init.not_for_unlisted", !unlisted_inits, "%d calls", unlisted_inits);
    for (int i = 0; i < init_count; i++) {
        initialized += inits[i].mpi_initialized;
        other_thread += inits[i].thread != this_thread();
        unstored += inits[i].storage_code != MPI_SUCCESS;
        untaken += inits[i].function_code != MPI_SUCCESS;
    }
    report("init.before_mpi", init_count && !initialized, "MPI is initialized already");
    report("init.calling_thread", init_count && !other_thread, "another thread");
    report("init.bottom_up", init_count == 3 && inits[0].id == 3 && inits[2].id == 1,
           "the first call is for layer %d", inits[0].id);
    report("storage.in_init", init_count && !unstored, "refused");
    report("function.in_init", init_count && !untaken, "refused");
    report("id.first_is_one", init_of(1) != NULL, "no layer 1");
    report("id.consecutive", init_of(1) && init_of(2) && init_of(3) && !init_of(4), "a gap");
    report("id.list_order",
           init_of(1) && init_of(2) && !strcmp(init_of(1)->name, "alpha") &&
               !strcmp(init_of(2)->name, "beta"),
           "not in the order of the list");
    report("id.twice", init_of(3) && !strcmp(init_of(3)->name, "alpha"),
           "the second entry of a tool has no id");
    report("id.mpi_is_zero", !init_of(0), "a layer has the id 0");
    for (int id = 1; id <= 3; id++) {
        Next now;
        const Init *init = init_of(id);
        if (!init || init->get_code != MPI_SUCCESS ||
            draft_get_function(id, MPI_BARRIER_T, &now) != MPI_SUCCESS ||
            !draft_same(&now, &init->next_barrier))
            unasked++;
    }
    report("next.in_init", !unasked, "%d of 3 layers got another function than later", unasked);
}

static void check_order(void)
{
    int size, value = 1, sum, rank = -1, good;
    forget_events();
    MPI_Barrier(MPI_COMM_WORLD);
    report("order.first_is_nearest_application", events[0].id == 1, "layer %d", events[0].id);
    report("order.last_is_nearest_mpi", events[2].id == 3 && !events[2].leaving, "layer %d",
           events[2].id);
    report("order.returns_in_reverse", events[3].id == 3 && events[3].leaving && events[5].id == 1,
           "layer %d first", events[3].id);
    report("order.once_each", program_passed_in_order(MPI_BARRIER_T, 3), "%d events",
           event_count());
    report("order.same_tool_twice",
           entered(1, MPI_BARRIER_T) == 1 && entered(3, MPI_BARRIER_T) == 1, "not both layers");
    forget_events();
    MPI_Type_size(MPI_INT, &size);
    good = program_passed_in_order(MPI_TYPE_SIZE_T, 3);
    forget_events();
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    good = good && program_passed_in_order(MPI_BCAST_T, 3);
    forget_events();
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    good = good && program_passed_in_order(MPI_ALLREDUCE_T, 3);
    report("order.same_for_all_functions", good, "%d events", event_count());
    forget_events();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    report("function.layer_without_is_skipped",
           entered(1, MPI_COMM_RANK_T) == 1 && !entered(2, MPI_COMM_RANK_T) &&
               entered(3, MPI_COMM_RANK_T) == 1,
           "wrong layers");
    report("next.outputs_pass", rank == 0, "rank %d", rank);
    forget_events();
    {
        char name[MPI_MAX_PROCESSOR_NAME];
        int length;
        MPI_Get_processor_name(name, &length);
        report("function.unregistered", event_count() == 0, "%d events", event_count());
    }
    forget_events();
    MPI_Wtime();
    report("function.returns_double", program_passed_in_order(MPI_WTIME_T, 3), "%d events",
           event_count());
    forget_events();
#ifdef MPI_Aint_add
    report_skip("function.returns_address", "MPI_Aint_add is a macro of this mpi.h");
    report_skip("function.of_mpi_3_1", "MPI_Aint_add is a macro of this mpi.h");
#else
    report("function.returns_address", MPI_Aint_add(40, 2) == 42, "another sum");
    report("function.of_mpi_3_1", program_passed_in_order(MPI_AINT_ADD_T, 3), "%d events",
           event_count());
#endif
}

static void check_storage(void)
{
    int wrong = 0;
    void *storage = NULL;
    char other;
    int code;
    forget_events();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < event_count(); i++)
        wrong += !events[i].leaving && events[i].storage != &storages[events[i].id];
    report("storage.in_interceptor", event_count() && !wrong, "%d wrong", wrong);
    report("storage.each_instance", events[0].storage != events[2].storage, "shared");
    code = draft_get_storage(kept_context, 2, &storage);
    report("storage.of_another_layer", code == MPI_SUCCESS && storage == &storages[2], "code %d",
           code);
#define GET_REFUSED(name, id, output)                                                              \
    if (attempt(name)) {                                                                           \
        report(name, draft_get_storage(kept_context, id, output) != MPI_SUCCESS,                   \
               "the call succeeds");                                                               \
        _exit(0);                                                                                  \
    }
    GET_REFUSED("storage.get_id_negative", -1, &storage)
    GET_REFUSED("storage.get_id_zero", 0, &storage)
    GET_REFUSED("storage.get_id_too_large", 9999, &storage)
    GET_REFUSED("storage.get_null", 1, NULL)
    if (attempt("storage.get_outputs_kept")) {
        storage = &other;
        draft_get_storage(kept_context, 9999, &storage);
        report("storage.get_outputs_kept", storage == &other, "changed");
        _exit(0);
    }
    if (attempt("storage.after_init")) {
        code = draft_register_tool_storage(1, &other);
        draft_get_storage(kept_context, 1, &storage);
        report("storage.after_init", (code == MPI_SUCCESS) == (storage == &other),
               "the code is %d, and the storage %s", code, storage == &other ? "new" : "old");
        _exit(0);
    }
}

static void check_next(void)
{
    QMPI_Context context = kept_context;
    Next one = {0}, other = {0};
    int code, different = 0, kept;
    (void)context;
    report("next.of_function_not_intercepted",
           draft_get_function(2, MPI_COMM_RANK_T, &one) == MPI_SUCCESS, "refused");
    report("next.skips_layers",
           draft_get_function(1, MPI_COMM_RANK_T, &other) == MPI_SUCCESS &&
               draft_same(&one, &other),
           "another function");
    report("next.of_any_function",
           draft_get_function(1, MPI_ALLTOALL_T, &other) == MPI_SUCCESS && other.function,
           "refused");
    code = draft_get_function(3, MPI_BARRIER_T, &one);
    report("next.of_last_layer", code == MPI_SUCCESS && one.function, "code %d", code);
    forget_events();
    NEXT_CALL(one, Barrier)(NEXT_ARGUMENTS(one), MPI_COMM_WORLD);
    report("next.of_last_layer_is_mpi", event_count() == 0, "%d events", event_count());
    for (int i = 0; i < 10; i++) {
        draft_get_function(1, MPI_BARRIER_T, &one);
        draft_get_function(1, MPI_BARRIER_T, &other);
        different += !draft_same(&one, &other);
    }
    report("next.same_each_time", !different, "%d times another", different);
    forget_events();
    NEXT_CALL(one, Barrier)(NEXT_ARGUMENTS(one), MPI_COMM_WORLD);
    report("next.from_any_place",
           !entered(1, MPI_BARRIER_T) && entered(2, MPI_BARRIER_T) && entered(3, MPI_BARRIER_T),
           "wrong layers");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    forget_events();
    code = MPI_Bcast(&kept, -1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Error_class(code, &kept);
    report("next.code_passes", kept == MPI_ERR_COUNT && events[event_count() - 1].code == code,
           "error class %d", kept);
}

static int handler_calls;

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handler_calls++;
}

static void check_handlers(void)
{
    MPI_Errhandler handler;
    void *storage;
    Next next = {0};
    if (attempt("error.handler_not_called")) {
        MPI_Comm_create_errhandler(count_errors, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
        draft_get_function(300, MPI_BARRIER_T, &next);
        draft_get_storage(kept_context, 300, &storage);
        draft_register_tool_name("late", NULL);
        report("error.handler_not_called", !handler_calls, "%d calls", handler_calls);
        _exit(0);
    }
}

static void after_finalize(void)
{
    void *storage = NULL;
    Next next = {0};
    int flag = 0, major, minor;
    if (attempt("life.finalized_after_finalize")) {
        forget_events();
        MPI_Finalized(&flag);
        report("life.finalized_after_finalize", flag && entered(1, MPI_FINALIZED_T) == 1,
               flag ? "not intercepted" : "not finalized");
        _exit(0);
    }
    if (attempt("life.get_version_after_finalize")) {
        forget_events();
        MPI_Get_version(&major, &minor);
        report("life.get_version_after_finalize", entered(1, MPI_GET_VERSION_T) == 1,
               "not intercepted");
        _exit(0);
    }
    if (attempt("storage.after_finalize")) {
        int code = draft_get_storage(kept_context, 1, &storage);
        report("storage.after_finalize", code == MPI_SUCCESS && storage == &storages[1],
               "lost, code %d", code);
        _exit(0);
    }
    if (attempt("next.after_finalize")) {
        QMPI_Context context = kept_context;
        (void)context;
        if (draft_get_function(1, MPI_FINALIZED_T, &next) != MPI_SUCCESS) {
            report("next.after_finalize", 0, "refused");
            _exit(0);
        }
        forget_events();
        NEXT_CALL(next, Finalized)(NEXT_ARGUMENTS(next), &flag);
        report("next.after_finalize", flag && entered(2, MPI_FINALIZED_T) == 1, "another function");
        _exit(0);
    }
}

static void scenario_start(void)
{
    int argc = program_argc;
    char *last = program_argv[argc - 1];
    site_init();
    report("transparent.argv", program_argc == argc && program_argv[argc - 1] == last, "changed");
    report("life.init_intercepted",
           entered(1, MPI_INIT_T) == 1 && entered(2, MPI_INIT_T) == 1 &&
               entered(3, MPI_INIT_T) == 1,
           "%d times", entered(0, MPI_INIT_T));
    check_registration();
    check_order();
    check_storage();
    check_next();
    check_handlers();
    forget_events();
    site_finalize();
    report("life.finalize_intercepted", program_passed_in_order(MPI_FINALIZE_T, 3), "%d events",
           event_count());
    after_finalize();
}

/* ---- calls before MPI_Init: alpha:beta ------------------------------------------------------- */

static void scenario_before(void)
{
    int flag = 1, major, minor, length, provided = -1, level = -2;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    void *storage = NULL;
    Next next = {0};
    report("init.not_before_first_call", init_count == 0, "%d calls", init_count);
    MPI_Initialized(&flag);
    report("init.before_first_call", init_count == 2, "%d calls", init_count);
    report("life.initialized_before_init", !flag && entered(1, MPI_INITIALIZED_T) == 1,
           "not intercepted");
    MPI_Get_version(&major, &minor);
    report("life.get_version_before_init", entered(2, MPI_GET_VERSION_T) == 1, "not intercepted");
    MPI_Get_library_version(text, &length);
    report("life.get_library_version_before_init", entered(1, MPI_GET_LIBRARY_VERSION_T) == 1,
           "not intercepted");
    MPI_Finalized(&flag);
    report("life.finalized_before_init", !flag && entered(1, MPI_FINALIZED_T) == 1,
           "not intercepted");
    report("next.before_mpi_init", draft_get_function(1, MPI_INIT_T, &next) == MPI_SUCCESS,
           "refused");
    if (context_was_kept)
        draft_get_storage(kept_context, 1, &storage);
    report("storage.before_mpi_init", storage == &storages[1], "lost");
#if MPI_VERSION >= 4
    if (attempt("life.info_before_init")) {
        MPI_Info info;
        MPI_Info_create(&info);
        report("life.info_before_init", entered(1, MPI_INFO_CREATE_T) == 1, "not intercepted");
        _exit(0);
    }
#else
    report_skip("life.info_before_init", "not before MPI 4");
#endif
    forget_events();
    MPI_Init_thread(&program_argc, &program_argv, MPI_THREAD_SERIALIZED, &provided);
    report("life.init_thread_intercepted", entered(1, MPI_INIT_THREAD_T) == 1, "not intercepted");
    report("life.init_thread_arguments",
           last_entered(2, MPI_INIT_THREAD_T) &&
               last_entered(2, MPI_INIT_THREAD_T)->first == MPI_THREAD_SERIALIZED,
           "another level");
    PMPI_Query_thread(&level);
    report("life.init_thread_provided", provided == level, "%d, not %d", provided, level);
    report("life.init_not_implied", !entered(0, MPI_INIT_T), "MPI_Init is seen");
    report("init.not_again", init_count == 2, "%d calls", init_count);
    MPI_Finalize();
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void scenario_list(const char *name, int layers)
{
    MPI_Init(&program_argc, &program_argv);
    forget_events();
    MPI_Barrier(MPI_COMM_WORLD);
    report(name, init_count == layers && program_passed_in_order(MPI_BARRIER_T, layers),
           "%d layers, %d events", init_count, event_count());
    MPI_Finalize();
}

static void scenario_missing(void)
{
    MPI_Init(&program_argc, &program_argv);
    fprintf(stderr, "MPI_Init has returned\n");
    MPI_Finalize();
}

static void late_init(int id)
{
    (void)id;
}

static int late_barriers, later_barriers;

static int late_Barrier(SELF, MPI_Comm comm)
{
    Next next = {0};
    late_barriers++;
    draft_get_function(SELF_ID(), MPI_BARRIER_T, &next);
    return NEXT_CALL(next, Barrier)(NEXT_ARGUMENTS(next), comm);
}

static int later_Barrier(SELF, MPI_Comm comm)
{
    Next next = {0};
    later_barriers++;
    draft_get_function(SELF_ID(), MPI_BARRIER_T, &next);
    return NEXT_CALL(next, Barrier)(NEXT_ARGUMENTS(next), comm);
}

static int late_names;

static int late_Get_processor_name(SELF, char *name, int *length)
{
    Next next = {0};
    late_names++;
    draft_get_function(SELF_ID(), MPI_GET_PROCESSOR_NAME_T, &next);
    return NEXT_CALL(next, Get_processor_name)(NEXT_ARGUMENTS(next), name, length);
}

static void register_at_run_time(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    Next next = {0}, before = {0};
    int code;
    draft_get_function(1, MPI_BARRIER_T, &before);
    code = draft_register_tool_function(2, MPI_BARRIER_T, (void (*)(void))late_Barrier);
    MPI_Barrier(MPI_COMM_WORLD);
    report("function.at_run_time", code == MPI_SUCCESS && late_barriers == 1,
           "the code is %d, and the function is%s called", code, late_barriers ? "" : " not");
    draft_get_function(1, MPI_BARRIER_T, &next);
    report("next.after_registration_at_run_time", !draft_same(&before, &next),
           "the same function as before");
    late_barriers = 0;
    code = draft_register_tool_function(2, MPI_BARRIER_T, (void (*)(void))later_Barrier);
    MPI_Barrier(MPI_COMM_WORLD);
    report("function.replaced_at_run_time",
           code == MPI_SUCCESS && !late_barriers && later_barriers == 1,
           "code %d, the first is called %d times, the second %d", code, late_barriers,
           later_barriers);
    code = draft_register_tool_function(1, MPI_GET_PROCESSOR_NAME_T,
                                        (void (*)(void))late_Get_processor_name);
    MPI_Get_processor_name(name, &length);
    report("function.first_at_run_time", code == MPI_SUCCESS && late_names == 1,
           "code %d, %d calls", code, late_names);
}

static void scenario_names(void)
{
    int code;
    try_names();
    MPI_Init(&program_argc, &program_argv);
    report("name.first_is_kept", !second_inits && init_of(1) && !strcmp(init_of(1)->name, "alpha"),
           "the second registration counts");
    code = draft_register_tool_name("late", late_init);
    report("name.after_start", code != MPI_SUCCESS, "the call succeeds");
    register_at_run_time();
    MPI_Finalize();
}

/* ---- twice:changer:alpha:answerer:replaced:cached:bare:nested:alpha -------------------------- */

static void scenario_layers(void)
{
    int rank = -1, size = -1, number = 42, got = 0;
    void *storage = storages;
    MPI_Request request;
    MPI_Status status;
    const Event *send;
    MPI_Init(&program_argc, &program_argv);
    forget_events();
    MPI_Comm_rank(MPI_COMM_SELF, &rank);
    report("next.called_twice", entered(3, MPI_COMM_RANK_T) == 2, "%d times",
           entered(3, MPI_COMM_RANK_T));
    report("next.result_changed", rank == 100, "rank %d", rank);
    MPI_Irecv(&got, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_SELF, &request);
    MPI_Send(&number, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    send = last_entered(3, MPI_SEND_T);
    report("next.arguments_changed", send && send->second == 1005, "tag %ld",
           send ? send->second : -1L);
    report("next.changed_arguments_reach_mpi", status.MPI_TAG == 1005 && got == 42, "tag %d",
           status.MPI_TAG);
    MPI_Comm_size(MPI_COMM_SELF, &size);
    report("next.not_called",
           size == 77 && entered(3, MPI_COMM_SIZE_T) == 1 && !entered(9, MPI_COMM_SIZE_T),
           "size %d", size);
    forget_events();
    MPI_Barrier(MPI_COMM_SELF);
    report("function.second_replaces", !replaced_first && replaced_second == 1,
           "the first is called %d times, the second %d", replaced_first, replaced_second);
    MPI_Barrier(MPI_COMM_SELF);
    report("next.cached", entered(9, MPI_BARRIER_T) == 2, "%d calls", entered(9, MPI_BARRIER_T));
    report("function.none_registered",
           init_of(7) && !strcmp(init_of(7)->name, "bare") && entered(9, MPI_BARRIER_T) == 2,
           "the stack is broken");
    report("storage.none_registered",
           draft_get_storage(kept_context, 7, &storage) == MPI_SUCCESS && !storage, "not NULL");
    forget_events();
    nesting = NEST_NEXT;
    MPI_Barrier(MPI_COMM_SELF);
    report("next.of_another_function",
           !entered(3, MPI_COMM_SIZE_T) && entered(9, MPI_COMM_SIZE_T) == 1, "wrong layers");
    forget_events();
    nesting = NEST_MPI;
    MPI_Barrier(MPI_COMM_SELF);
    report("nested.mpi_enters_at_the_top", entered(3, MPI_COMM_SIZE_T) == 1, "not seen above");
    forget_events();
    nesting = NEST_PMPI;
    MPI_Barrier(MPI_COMM_SELF);
    report("nested.pmpi_is_seen_by_no_layer", !entered(0, MPI_COMM_SIZE_T), "seen by %d layers",
           entered(0, MPI_COMM_SIZE_T));
    forget_events();
    PMPI_Barrier(MPI_COMM_SELF);
    report("pmpi.is_seen_by_no_layer", !entered(0, MPI_BARRIER_T), "seen by %d layers",
           entered(0, MPI_BARRIER_T));
    MPI_Finalize();
}

/* ---- calling addresses: alpha:beta:nested ---------------------------------------------------- */

static const void *address_of(int id, int fn)
{
    const Event *event = last_entered(id, fn);
    return event ? event->address : NULL;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    site_type();
    return MPI_SUCCESS;
}

static void *barrier_in_thread(void *unused)
{
    site_b();
    return unused;
}

static void scenario_address(void)
{
    const void *first, *second;
    void *address = storages;
    MPI_Comm comm;
    pthread_t thread;
    int key, code;
    ask_addresses = 1;
    site_init();
    report("address.of_init", IN_SITE(site_init, address_of(1, MPI_INIT_T)), "%p",
           address_of(1, MPI_INIT_T));
    site_a();
    first = address_of(1, MPI_BARRIER_T);
    report("address.in_program", program_is_same_object(first, __start_in_site_a), "%p", first);
    report("address.in_function", IN_SITE(site_a, first), "%p", first);
    report("binding.c",
           last_entered(1, MPI_BARRIER_T) &&
               last_entered(1, MPI_BARRIER_T)->binding == DRAFT_BINDING_C,
           "not that for C");
    second = address_of(2, MPI_BARRIER_T);
    report("address.same_in_all_layers", first == second, "%p and %p", first, second);
    site_a();
    report("address.same_for_one_place", first && address_of(1, MPI_BARRIER_T) == first,
           "another one");
    site_b();
    second = address_of(1, MPI_BARRIER_T);
    report("address.differs_between_places", first != second && IN_SITE(site_b, second), "%p",
           second);
    library_call();
    first = address_of(1, MPI_TYPE_SIZE_T);
    report("address.in_library", program_is_same_object(first, dlsym(RTLD_DEFAULT, "library_call")),
           "%p", first);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_attr(comm, key, NULL);
    MPI_Comm_free(&comm);
    report("address.in_callback", IN_SITE(site_type, address_of(2, MPI_TYPE_SIZE_T)), "%p",
           address_of(2, MPI_TYPE_SIZE_T));
    nesting = NEST_MPI;
    forget_events();
    site_a();
    first = address_of(1, MPI_COMM_SIZE_T);
    report("address.of_a_tools_call",
           first && program_is_same_object(first, dlsym(RTLD_DEFAULT, "event_count")), "%p", first);
    pthread_create(&thread, NULL, barrier_in_thread, NULL);
    pthread_join(thread, NULL);
    report("address.in_thread", IN_SITE(site_b, address_of(1, MPI_BARRIER_T)), "%p",
           address_of(1, MPI_BARRIER_T));
    if (attempt("address.outside_a_call")) {
        code = draft_get_calling_address(kept_context, 1, &address);
        report("address.outside_a_call", code == MPI_SUCCESS && !address, "code %d, %p", code,
               address);
        _exit(0);
    }
    if (attempt("address.null")) {
        report("address.null", draft_get_calling_address(kept_context, 1, NULL) != MPI_SUCCESS,
               "the call succeeds");
        _exit(0);
    }
    forget_events();
    site_finalize();
    report("address.of_finalize", IN_SITE(site_finalize, address_of(1, MPI_FINALIZE_T)), "%p",
           address_of(1, MPI_FINALIZE_T));
}

/* A PMPI tool is between this program and the layers. */
static void scenario_pmpi(void)
{
    const int *barriers = dlsym(RTLD_DEFAULT, "pmpi_barriers");
    int layer;
    ask_addresses = 1;
    site_init();
    site_a();
    layer = last_entered(0, MPI_BARRIER_T) ? last_entered(0, MPI_BARRIER_T)->id : 0;
    report("pmpi.with_layers", (!barriers || *barriers == 1) && layer, "the layer sees nothing");
    report("address.below_pmpi_tool", IN_SITE(site_a, address_of(layer, MPI_BARRIER_T)), "%p",
           address_of(layer, MPI_BARRIER_T));
    MPI_Finalize();
}

/* ---- two ranks: alpha:beta:gamma ------------------------------------------------------------- */

static void scenario_ranks(void)
{
    int rank, size, ids = 0, low, high, number, count, flag;
    MPI_Status status;
    MPI_Init(&program_argc, &program_argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    report("rank.number", rank < size && size == 2, "%d of %d", rank, size);
    for (int id = 1; id <= 3; id++)
        ids = ids * 256 + (init_of(id) ? init_of(id)->name[0] : 0);
    MPI_Allreduce(&ids, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&ids, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    report("rank.same_ids", low == high && init_of(3), "the ranks differ");
    forget_events();
    number = 7 + rank;
    if (rank == 0) {
        MPI_Send(&number, 1, MPI_INT, 1, 11, MPI_COMM_WORLD);
        report("message.send_intercepted",
               entered(1, MPI_SEND_T) == 1 && entered(2, MPI_SEND_T) == 1 &&
                   !entered(3, MPI_SEND_T),
               "wrong layers");
        MPI_Recv(&number, 1, MPI_INT, 1, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        report("message.status_ignore",
               last_entered(2, MPI_RECV_T) && last_entered(2, MPI_RECV_T)->second,
               "another address");
    } else {
        number = 0;
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        report("message.data", number == 7, "%d", number);
        report("message.status", status.MPI_SOURCE == 0 && status.MPI_TAG == 11 && count == 1,
               "source %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
        report("message.recv_intercepted",
               entered(1, MPI_RECV_T) == 1 && entered(2, MPI_RECV_T) == 1 &&
                   !entered(3, MPI_RECV_T),
               "wrong layers");
        MPI_Send(&number, 1, MPI_INT, 0, 12, MPI_COMM_WORLD);
    }
    number = rank;
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    report("message.in_place", number == 1 && last_entered(2, MPI_ALLREDUCE_T)->second, "sum %d",
           number);
#if MPI_VERSION >= 4
    forget_events();
    if (rank == 0)
        MPI_Send_c(&number, (MPI_Count)1, MPI_INT, 1, 13, MPI_COMM_WORLD);
    else
        MPI_Recv(&number, 1, MPI_INT, 0, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        report("function.large_count", entered(1, MPI_SEND_C_T) == 1 && !entered(0, MPI_SEND_T),
               "not intercepted by itself");
#else
    if (rank == 0)
        report_skip("function.large_count", "not before MPI 4");
#endif
    if (rank == 0) {
        MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &size, &flag);
        report("transparent.attributes", flag, "no MPI_TAG_UB");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    report("life.finalize_on_all_ranks", entered(1, MPI_FINALIZE_T) == 1, "not seen");
}

/* ---- sessions, MPI_T, files: alpha:beta ------------------------------------------------------ */

static void scenario_sessions(void)
{
#if MPI_VERSION >= 4
    MPI_Session session, second;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    report("session.init_called", init_count == 2, "%d calls", init_count);
    report("session.init_intercepted", program_passed_in_order(MPI_SESSION_INIT_T, 2), "%d events",
           event_count());
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
    forget_events();
    MPI_Session_finalize(&session);
    report("session.finalize_intercepted", program_passed_in_order(MPI_SESSION_FINALIZE_T, 2),
           "%d events", event_count());
    forget_events();
    MPI_Session_finalize(&second);
    report("session.second", program_passed_in_order(MPI_SESSION_FINALIZE_T, 2) && init_count == 2,
           "%d events, %d calls of init", event_count(), init_count);
#else
    report_skip("session.init_called", "not before MPI 4");
    report_skip("session.init_intercepted", "not before MPI 4");
    report_skip("session.finalize_intercepted", "not before MPI 4");
    report_skip("session.second", "not before MPI 4");
#endif
}

static void scenario_mpit(void)
{
    int provided, number = -1, same = -2;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    report("mpit.init_called", init_count == 2, "%d calls", init_count);
    MPI_T_cvar_get_num(&number);
    PMPI_T_cvar_get_num(&same);
    report("mpit.works", number > 0 && same > 0, "%d variables", number);
#if DRAFT_NUMBERS_MPI_T
    report("mpit.intercepted", entered(2, MPI_T_INIT_THREAD_T) == 1, "not intercepted");
#else
    report("mpit.intercepted", 0, "no number for MPI_T functions");
#endif
    MPI_Init(&program_argc, &program_argv);
    report("mpit.then_init", entered(2, MPI_INIT_T) == 1 && init_count == 2, "%d calls of init",
           init_count);
#if DRAFT_NUMBERS_MPI_FILE
    if (attempt("function.file")) {
        MPI_File file;
        MPI_File_open(MPI_COMM_SELF, "/nonexistent/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        report("function.file", entered(1, MPI_FILE_OPEN_T) == 1, "not intercepted");
        _exit(0);
    }
#else
    report("function.file", 0, "no number for MPI_File functions");
#endif
    MPI_Finalize();
    MPI_T_finalize();
    report("mpit.after_finalize", 1, "not reached");
}

/* ---- MPI_Pcontrol: pcontrol:pcontrol:pc7 ----------------------------------------------------- */

static void scenario_pcontrol(void)
{
    int code;
    if (attempt("pcontrol.before_mpi_init")) { /* The call is allowed, because the last layer does
                                                  not pass it on to MPI. */
        MPI_Pcontrol(3);
        report("pcontrol.before_mpi_init", pcontrols[1].calls == 1 && pcontrols[2].calls == 1,
               "%d and %d calls", pcontrols[1].calls, pcontrols[2].calls);
        _exit(0);
    }
    MPI_Init(&program_argc, &program_argv);
    MPI_Pcontrol(3);
    report("pcontrol.every_layer", pcontrols[1].calls == 1 && pcontrols[2].calls == 1,
           "%d and %d calls", pcontrols[1].calls, pcontrols[2].calls);
    report("pcontrol.level", pcontrols[1].level == 3 && pcontrols[2].level == 3, "level %d",
           pcontrols[1].level);
    if (attempt("pcontrol.integer")) {
        MPI_Pcontrol(100, 123456789L, 2.5);
        report("pcontrol.integer", pcontrols[1].word == 123456789L, "%ld", pcontrols[1].word);
        report("pcontrol.integer_below", pcontrols[2].word == 123456789L, "%ld", pcontrols[2].word);
        report("pcontrol.real", pcontrols[1].real == 2.5 && pcontrols[2].real == 2.5, "%g",
               pcontrols[1].real);
        _exit(0);
    }
    code = MPI_Pcontrol(7);
    report("pcontrol.return_value", code == 7, "code %d", code);
    MPI_Finalize();
}

/* ---- how runs end ---------------------------------------------------------------------------- */

static void scenario_abort(void)
{
    MPI_Init(&program_argc, &program_argv);
    MPI_Abort(MPI_COMM_WORLD, 5);
    _exit(0);
}

static void scenario_errors(void)
{
    MPI_Init(&program_argc, &program_argv);
    forget_events();
    MPI_Barrier(MPI_COMM_WORLD);
    report("error.stack_is_whole", entered(1, MPI_BARRIER_T) == 1 && entered(2, MPI_BARRIER_T) == 1,
           "%d calls", entered(0, MPI_BARRIER_T));
    MPI_Finalize();
}

static void scenario_none(const char *name)
{
    MPI_Init(&program_argc, &program_argv);
    MPI_Barrier(MPI_COMM_WORLD);
    report(name, !init_count && !event_count(), "%d layers", init_count);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    const char *scenario = argc > 1 ? argv[1] : "";
    program_argc = argc;
    program_argv = argv;
    if (!strcmp(scenario, "start"))
        scenario_start();
    else if (!strcmp(scenario, "before"))
        scenario_before();
    else if (!strcmp(scenario, "names"))
        scenario_names();
    else if (!strcmp(scenario, "errors"))
        scenario_errors();
    else if (!strcmp(scenario, "layers"))
        scenario_layers();
    else if (!strcmp(scenario, "address"))
        scenario_address();
    else if (!strcmp(scenario, "pmpi"))
        scenario_pmpi();
    else if (!strcmp(scenario, "threads"))
        scenario_threads(0);
    else if (!strcmp(scenario, "thread_address"))
        scenario_threads(1);
    else if (!strcmp(scenario, "run_time"))
        scenario_run_time();
    else if (!strcmp(scenario, "first_thread"))
        scenario_first_thread();
    else if (!strcmp(scenario, "ranks"))
        scenario_ranks();
    else if (!strcmp(scenario, "sessions"))
        scenario_sessions();
    else if (!strcmp(scenario, "mpit"))
        scenario_mpit();
    else if (!strcmp(scenario, "pcontrol"))
        scenario_pcontrol();
    else if (!strcmp(scenario, "missing"))
        scenario_missing();
    else if (!strcmp(scenario, "abort") || !strcmp(scenario, "abort_kept"))
        scenario_abort();
    else if (!strcmp(scenario, "no_call"))
        return 9;
    else if (!strcmp(scenario, "unset"))
        scenario_none("list.unset");
    else if (!strcmp(scenario, "empty"))
        scenario_none("list.empty");
    else if (!strcmp(scenario, "adjacent"))
        scenario_list("list.adjacent", 2);
    else if (!strcmp(scenario, "leading"))
        scenario_list("list.leading_separator", 2);
    else if (!strcmp(scenario, "doubled"))
        scenario_list("list.doubled_separator", 2);
    else if (!strcmp(scenario, "trailing"))
        scenario_list("list.trailing_separator", 2);
    else if (!strcmp(scenario, "many"))
        scenario_list("list.many", 64);
    else
        return 2;
    return 0;
}
