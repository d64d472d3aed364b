/* SPDX-License-Identifier: MIT */
/*
 * Violates a rule for tools, usually in MPI_Comm_rank; the option `does` selects the rule. `qmpi
 * run --validate` finds each violation: see tests/cli/test_validate.py. Without the option `does`,
 * and with does=declares-all, no rule is violated; nor with does=uses-objects and
 * does=finalizer-uses-objects, if MPI provides MPI_THREAD_MULTIPLE. For does=lacks-variant and
 * does=hoards, there are only notes.
 */
#define _GNU_SOURCE
#include <qmpi/clock.h>
#include <qmpi/mpit.h>
#include <qmpi/observer.h>
#include <qmpi/service.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *does = "";
static QMPI_Context other_context; /* the context of MPI_Comm_size */
static int own_id;

static int is(const char *what)
{
    return !strcmp(does, what);
}

static int my_Comm_size(QMPI_Context c, MPI_Comm comm, int *size)
{
    other_context = c;
    return QMPIX_NEXT(c, Comm_size)(QMPIX_NEXT_CONTEXT(c), comm, size);
}

struct call {
    QMPI_Context context;
    MPI_Comm comm;
    int *rank;
    int result;
};

static void *call_next(void *data)
{
    struct call *call = data;
    call->result = QMPIX_NEXT(call->context, Comm_rank)(QMPIX_NEXT_CONTEXT(call->context),
                                                        call->comm, call->rank);
    return NULL;
}

static int call_in_thread(QMPI_Context c, MPI_Comm comm, int *rank)
{
    struct call call = {c, comm, rank, MPI_SUCCESS};
    pthread_t thread;
    pthread_create(&thread, NULL, call_next, &call);
    pthread_join(thread, NULL);
    return call.result;
}

/* ---- Threads and thread levels --------------------------------------------------------------- */

static void *count_processes(void *data)
{
    PMPI_Comm_size(MPI_COMM_SELF, data);
    return NULL;
}

static void count_in_thread(void)
{
    pthread_t thread;
    int size;
    pthread_create(&thread, NULL, count_processes, &size);
    pthread_join(thread, NULL);
}

static void *sleep_for_ever(void *data)
{
    for (;;)
        pause();
    return data;
}

static int my_Init_thread(QMPI_Context c, int *argc, char ***argv, int required, int *provided)
{
    const int level = is("raises-level")   ? MPI_THREAD_MULTIPLE
                      : is("lowers-level") ? MPI_THREAD_SINGLE
                                           : required;
    const int result =
        QMPIX_NEXT(c, Init_thread)(QMPIX_NEXT_CONTEXT(c), argc, argv, level, provided);
    if (is("changes-provided"))
        *provided = *provided == MPI_THREAD_SINGLE ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
    return result;
}

/* ---- Objects and memory ---------------------------------------------------------------------- */

static int dup_by_next(MPI_Comm comm, MPI_Comm *copy)
{
    void (*function)(void);
    QMPI_Context next;
    if (QMPI_Get_function(own_id, MPI_COMM_DUP_T, &function, &next) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    return ((QMPI_Comm_dup_t *)function)(next, comm, copy);
}

static void leave_objects(void)
{
    static int received;
    MPI_Comm comm;
    MPI_Group group;
    MPI_Request request;
    if (is("leaves-comm"))
        PMPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (is("leaves-comm-below"))
        dup_by_next(MPI_COMM_SELF, &comm);
    if (is("leaves-created"))
        QMPIX_Tool_create_comm(own_id, &comm);
    if (is("leaves-group"))
        PMPI_Comm_group(MPI_COMM_SELF, &group);
    if (is("leaves-request"))
        PMPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
}

/* This is allowed with MPI_THREAD_MULTIPLE: nothing is left over. */
static void use_objects(void)
{
    int sent[2] = {1, 2}, received[2];
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Request requests[4], persistent;
    MPI_Status statuses[4];
    if (QMPIX_Tool_create_comm(own_id, &comm) == MPI_SUCCESS)
        PMPI_Comm_free(&comm);
    dup_by_next(MPI_COMM_SELF, &comm);
    PMPI_Comm_group(comm, &group);
    PMPI_Type_contiguous(1, MPI_INT, &type);
    PMPI_Type_commit(&type);
    for (int i = 0; i < 2; i++) {
        PMPI_Irecv(&received[i], 1, type, 0, i, comm, &requests[i]);
        PMPI_Isend(&sent[i], 1, type, 0, i, comm, &requests[2 + i]);
    }
    PMPI_Waitall(4, requests, statuses);
    PMPI_Send_init(sent, 1, type, MPI_PROC_NULL, 0, comm, &persistent);
    PMPI_Start(&persistent);
    PMPI_Wait(&persistent, MPI_STATUS_IGNORE);
    PMPI_Request_free(&persistent);
    PMPI_Type_free(&type);
    PMPI_Group_free(&group);
    PMPI_Comm_free(&comm);
    count_in_thread();
}

static void hoard(void)
{
    static struct block {
        struct block *next;
        char bytes[1000 - sizeof(void *)];
    } * blocks;
    struct block *block = malloc(sizeof *block);
    if (!block)
        abort();
    block->next = blocks;
    blocks = block;
}

static void write_storage(QMPI_Context c)
{
    void *storage;
    if (QMPI_Context_get_storage(c, 1, &storage) == MPI_SUCCESS && storage)
        ((int *)storage)[1]++;
}

/* ---- Standard output ------------------------------------------------------------------------- */

/* Compilers call these functions for _FORTIFY_SOURCE. */
int __printf_chk(int flag, const char *format, ...);
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int __dprintf_chk(int descriptor, int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list list);
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list list);
int __vdprintf_chk(int descriptor, int flag, const char *format, va_list list);

__attribute__((format(printf, 2, 3))) static void print_list(int way, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    switch (way) {
    case 0:
        vprintf(format, list);
        break;
    case 1:
        vfprintf(stdout, format, list);
        break;
    case 2:
        vdprintf(STDOUT_FILENO, format, list);
        break;
    case 3:
        __vprintf_chk(1, format, list);
        break;
    case 4:
        __vfprintf_chk(stdout, 1, format, list);
        break;
    default:
        __vdprintf_chk(STDOUT_FILENO, 1, format, list);
    }
    va_end(list);
}

/* Writes to the standard output by 23 functions. They are called by pointers if compilers could
 * inline them or replace them with others. */
static void print_in_all_ways(void)
{
    static int (*const volatile put[])(int character, FILE *stream) = {fputc, putc, fputc_unlocked,
                                                                       putc_unlocked};
    static int (*const volatile put_out[])(int character) = {putchar, putchar_unlocked};
    static int (*const volatile put_text[])(const char *text, FILE *stream) = {fputs,
                                                                               fputs_unlocked};
    static size_t (*const volatile put_data[])(const void *data, size_t size, size_t count,
                                               FILE *stream) = {fwrite, fwrite_unlocked};
    const struct iovec part = {.iov_base = "\n", .iov_len = 1};
    for (int i = 0; i < 4; i++)
        put[i]('\n', stdout);
    for (int i = 0; i < 2; i++) {
        put_out[i]('\n');
        put_text[i]("\n", stdout);
        put_data[i]("\n", 1, 1, stdout);
    }
    for (int i = 0; i < 6; i++)
        print_list(i, "%d\n", i);
    printf("%d\n", own_id);
    dprintf(STDOUT_FILENO, "%d\n", own_id);
    __printf_chk(1, "%d\n", own_id);
    __fprintf_chk(stdout, 1, "%d\n", own_id);
    __dprintf_chk(STDOUT_FILENO, 1, "%d\n", own_id);
    if (write(STDOUT_FILENO, "\n", 1) < 0 || writev(STDOUT_FILENO, &part, 1) < 0)
        abort();
}

static int my_Sendrecv(QMPI_Context c, const void *sent, int send_count, MPI_Datatype send_type,
                       int destination, int send_tag, void *received, int receive_count,
                       MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
                       MPI_Status *status)
{
    const int result = QMPIX_NEXT(c, Sendrecv)(QMPIX_NEXT_CONTEXT(c), sent, send_count, send_type,
                                               destination, send_tag, received, receive_count,
                                               receive_type, source, receive_tag, comm, status);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_TAG = 4711;
    return result;
}

static int my_Init(QMPI_Context c, int *argc, char ***argv)
{
    return QMPIX_NEXT(c, Init)(QMPIX_NEXT_CONTEXT(c), argc, argv);
}

static int call_size(MPI_Comm comm, int *size)
{
    void (*function)(void);
    QMPI_Context next;
    if (QMPI_Get_function(own_id, MPI_COMM_SIZE_T, &function, &next) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    return ((QMPI_Comm_size_t *)function)(next, comm, size);
}

static int my_Comm_rank(QMPI_Context c, MPI_Comm comm, int *rank)
{
    QMPI_Comm_rank_t *const next = QMPIX_NEXT(c, Comm_rank);
    const QMPI_Context below = QMPIX_NEXT_CONTEXT(c);
    int mine = 0, result;
    if (is("drops")) {
        *rank = 0;
        return MPI_SUCCESS;
    }
    if (is("uses-pmpi"))
        return PMPI_Comm_rank(comm, rank);
    if (is("waits-for-all"))
        PMPI_Barrier(comm);
    if (is("repeats")) {
        next(below, comm, rank);
        return next(below, comm, rank);
    }
    if (is("uses-thread"))
        return call_in_thread(c, comm, rank);
    if (is("calls-other"))
        return call_size(comm, rank);
    if (is("passes-own"))
        return next(c, comm, rank);
    if (is("passes-other"))
        return next(other_context->next, comm, rank);
    if (is("passes-null"))
        return next(NULL, comm, rank);
    if (is("passes-number"))
        return next((QMPI_Context)(uintptr_t)4711, comm, rank);
    if (is("passes-lower"))
        return next(below->next, comm, rank);
    if (is("changes-argument"))
        return next(below, MPI_COMM_SELF, rank);
    if (is("changes-result")) {
        next(below, comm, rank);
        return MPI_ERR_OTHER;
    }
    if (is("keeps-output")) {
        *rank = -1;
        return next(below, comm, &mine);
    }
    if (is("changes-output")) {
        result = next(below, comm, rank);
        *rank += 1;
        return result;
    }
    if (is("calls-mpi")) {
        MPI_Comm_size(comm, &mine);
        return next(below, comm, rank);
    }
    if (is("prints"))
        puts("rank");
    if (is("prints-to-stream"))
        fprintf(stdout, "rank %p\n", (void *)rank);
    if (is("prints-in-all-ways"))
        print_in_all_ways();
    if (is("recurs"))
        return MPI_Comm_rank(comm, rank);
    leave_objects();
    if (is("uses-objects"))
        use_objects();
    if (is("calls-in-thread"))
        count_in_thread();
    if (is("hoards"))
        hoard();
    if (is("writes-storage"))
        write_storage(c);
    result = next(below, comm, &mine); /* a variable of its own is allowed */
    *rank = mine;
    return result;
}

static int my_Finalize(QMPI_Context c)
{
    void (*function)(void);
    QMPI_Context next;
    int flag, size;
    const int result = QMPIX_NEXT(c, Finalize)(QMPIX_NEXT_CONTEXT(c));
    PMPI_Finalized(&flag);
    if (is("outlives-mpi-by-pmpi")) {
        char name[MPI_MAX_PROCESSOR_NAME];
        PMPI_Get_processor_name(name, &size);
    }
    if (is("outlives-mpi") &&
        QMPI_Get_function(own_id, MPI_GET_PROCESSOR_NAME_T, &function, &next) == MPI_SUCCESS) {
        char name[MPI_MAX_PROCESSOR_NAME];
        ((QMPI_Get_processor_name_t *)function)(next, name, &size);
    }
    return result;
}

QMPIX_PCONTROL_READER static int my_Pcontrol(QMPI_Context c, const int level, ...)
{
    /* The variable arguments are lost. */
    return QMPIX_NEXT(c, Pcontrol)(QMPIX_NEXT_CONTEXT(c), level);
}

/* Makes each call by which a layer registers something, 15 in all, with a wrong argument. */
static void register_badly(int tool_id)
{
    const QMPIX_Observer observer = {.size = 0};
    QMPIX_Register_tool_observer(tool_id, &observer);
    QMPI_Register_tool_function(tool_id, (enum QMPI_Functions_enum) - 1, NULL);
    QMPI_Register_tool_storage(0, &own_id);
    QMPIX_Tool_declare(tool_id, ~0u, NULL, NULL);
    QMPIX_Tool_keep_function(tool_id, (enum QMPI_Functions_enum) - 1);
    QMPIX_Register_finalizer(tool_id, NULL);
    QMPIX_Register_stack_changed(tool_id, NULL);
    QMPIX_Clock_request_offsets(0);
    QMPIX_Service_offer(tool_id, "wrong", -1, &own_id);
    QMPIX_Service_watch(tool_id, "wrong", 1, NULL, NULL);
    QMPIX_Register_publisher(tool_id, NULL);
    QMPIX_Pvar_create(tool_id, NULL, NULL);
    QMPIX_Cvar_create(tool_id, NULL, NULL);
    QMPIX_Category_create(tool_id, NULL, NULL);
    QMPIX_Enum_create(tool_id, NULL, NULL);
}

/* Breaks the rule whose name follows `finalizer-` in the option `does`. */
static void finalize(int tool_id, uint64_t ticks)
{
    static int received; /* also by the request that is left */
    MPI_Comm comm;
    MPI_Request request;
    pthread_t thread;
    (void)ticks;
    if (is("finalizer-calls-mpi"))
        MPI_Comm_size(MPI_COMM_SELF, &received);
    if (is("finalizer-prints"))
        puts("finalizer");
    if (is("finalizer-leaves-created"))
        QMPIX_Tool_create_comm(tool_id, &comm);
    if (is("finalizer-leaves-request"))
        PMPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    if (is("finalizer-leaves-thread"))
        pthread_create(&thread, NULL, sleep_for_ever, NULL);
    if (is("finalizer-uses-objects"))
        use_objects();
}

static void init(int tool_id)
{
    QMPIX_Tool_get_option(tool_id, "does", &does);
    own_id = tool_id;
    if (is("exits"))
        exit(7);
    if (is("registers-badly"))
        register_badly(tool_id);
    QMPIX_REGISTER(tool_id, Comm_size, my_Comm_size);
    QMPIX_REGISTER(tool_id, Comm_rank, my_Comm_rank);
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
    if (!strncmp(does, "finalizer-", strlen("finalizer-")))
        QMPIX_Register_finalizer(tool_id, finalize);
    if (is("leaves-thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, sleep_for_ever, NULL);
    }
    if (is("raises-level") || is("lowers-level") || is("changes-provided")) {
        QMPIX_REGISTER(tool_id, Init, my_Init);
        QMPIX_REGISTER(tool_id, Init_thread, my_Init_thread);
    }
    if (is("changes-status"))
        QMPIX_REGISTER(tool_id, Sendrecv, my_Sendrecv);
    if (is("lacks-variant"))
        QMPIX_REGISTER(tool_id, Init, my_Init); /* but not MPI_Init_thread */
    if (is("loses-words"))
        QMPIX_REGISTER(tool_id, Pcontrol, my_Pcontrol);
    if (is("declares-all")) {
        const char *const names[] = {"changes-calls", "changes-arguments", "changes-results", NULL};
        QMPIX_Tool_declare(tool_id, 0, names, NULL);
        does = "drops";
    }
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("wrong", init);
}
