/* SPDX-License-Identifier: MIT */
/*
 * Observes all functions, and writes a line to FOLDER/witness.RANK for each call that returns. The
 * line contains the function, the results of the helper functions of <qmpi/observer.h> in `after`,
 * those in `before` (in fields named …_before), and each argument (`a.NAME=VALUE`). The fields
 * `comm` and `ranks` are from `before`, however, and `comm_after` is from `after`. The witness also
 * checks guarantees of the header that hold for all calls; a field `fault` names one that is
 * violated.
 *
 * Options:
 *   folder=FOLDER   required
 *   ranks=yes       also writes the ranks in MPI_COMM_WORLD of the members of the call's
 *                   communicator or, if it is an intercommunicator, of the remote group
 *   few=yes         does not request statuses that the program ignores
 */
#define _GNU_SOURCE
#include "fortran_handles.h"

#include <qmpi/observer.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_REQUESTS 64

struct layer {
    int file;
    int ranks;
};

/* The results of the helper functions for a call, as text. */
struct said {
    char sent[32], received[32], transfers[2048], comm[32], root[32], ranks[256];
    MPI_Count sum_sent, sum_received; /* sums over the transfers */
    int count, first[3];              /* number of transfers, and the peer, world rank and tag of
                                         the first one */
};

static void fault(FILE *line, const char *what)
{
    fprintf(line, " fault=%s", what);
}

static const char *error_text(int error)
{
    static _Thread_local char text[16];
    if (error == MPI_ERR_ARG)
        return "-";
    if (error == MPI_ERR_OTHER)
        return "!other";
    snprintf(text, sizeof text, "!%d", error);
    return text;
}

static void put_hex(char *text, size_t room, const void *object, size_t size)
{
    size_t at = (size_t)snprintf(text, room, "0x");
    for (size_t i = 0; i < size && at + 3 < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%02x", ((const unsigned char *)object)[i]);
}

static const char *rank_text(char *text, size_t room, int rank)
{
    if (rank == MPI_PROC_NULL)
        return "null";
    if (rank == MPI_ANY_SOURCE)
        return "any";
    if (rank == MPI_ROOT)
        return "root";
    if (rank == MPI_UNDEFINED)
        return "-";
    snprintf(text, room, "%d", rank);
    return text;
}

static const char *tag_text(char *text, size_t room, int tag)
{
    if (tag == MPI_ANY_TAG)
        return "any";
    return tag == MPI_UNDEFINED ? "-" : (snprintf(text, room, "%d", tag), text);
}

static void note_transfer(void *data, const QMPIX_Transfer *transfer)
{
    struct said *said = data;
    char peer[16], world[16], tag[16];
    const size_t length = strlen(said->transfers);
    snprintf(said->transfers + length, sizeof said->transfers - length, "%s%c%s/%s/%s/%lld",
             said->count ? "," : "", transfer->sending ? '>' : '<',
             rank_text(peer, sizeof peer, transfer->peer),
             rank_text(world, sizeof world, transfer->world),
             tag_text(tag, sizeof tag, transfer->tag), (long long)transfer->bytes);
    *(transfer->sending ? &said->sum_sent : &said->sum_received) += transfer->bytes;
    if (said->count++ == 0) {
        said->first[0] = transfer->peer;
        said->first[1] = transfer->world;
        said->first[2] = transfer->tag;
    }
}

/* Returns whether QMPIX_Call_get_peer returns the peer of the first transfer, or an error if there
 * is no transfer. */
static int peer_agrees(const QMPIX_Call *call, const struct said *said)
{
    int got[3] = {-77, -77, -77};
    const int error = QMPIX_Call_get_peer(call, &got[0], &got[1], &got[2]);
    if (said->count == 0)
        return error == MPI_ERR_ARG && got[0] == -77 && got[1] == -77 && got[2] == -77;
    return error == MPI_SUCCESS && !memcmp(got, said->first, sizeof got) &&
           QMPIX_Call_get_peer(call, NULL, NULL, NULL) == MPI_SUCCESS;
}

static void note_ranks(MPI_Comm comm, struct said *said)
{
    int inter = 0, size = 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    for (int rank = 0; rank < size; rank++) {
        char text[16];
        int world = -77;
        const size_t at = strlen(said->ranks);
        const int error = QMPIX_Comm_world_rank(comm, rank, &world);
        snprintf(said->ranks + at, sizeof said->ranks - at, "%s%s", rank ? "," : "",
                 error ? error_text(error) : rank_text(text, sizeof text, world));
    }
}

static void ask(const QMPIX_Call *call, struct said *said, FILE *line)
{
    memset(said, 0, sizeof *said);
    MPI_Count sent = -77, received = -77, alone = -77;
    int error = QMPIX_Call_get_bytes(call, &sent, &received);
    if (error) {
        snprintf(said->sent, sizeof said->sent, "%s", error_text(error));
        snprintf(said->received, sizeof said->received, "%s", error_text(error));
        if (sent != -77 || received != -77)
            fault(line, "bytes_set_without_success");
    } else {
        snprintf(said->sent, sizeof said->sent, "%lld", (long long)sent);
        snprintf(said->received, sizeof said->received, "%lld", (long long)received);
        if (QMPIX_Call_get_bytes(call, &alone, NULL) != MPI_SUCCESS || alone != sent ||
            QMPIX_Call_get_bytes(call, NULL, &alone) != MPI_SUCCESS || alone != received)
            fault(line, "bytes_one_at_a_time");
    }
    error = QMPIX_Call_for_each_transfer(call, note_transfer, said);
    if (error)
        snprintf(said->transfers, sizeof said->transfers, "%s", error_text(error));
    else if (!said->count)
        strcpy(said->transfers, "-");
    if (!error && said->count && (said->sum_sent != sent || said->sum_received != received))
        fault(line, "bytes_are_not_those_of_the_transfers");
    if (!error && !peer_agrees(call, said))
        fault(line, "peer_is_not_that_of_the_first_transfer");
    MPI_Comm comm;
    error = QMPIX_Call_get_comm(call, &comm);
    if (error)
        snprintf(said->comm, sizeof said->comm, "%s", error_text(error));
    else
        put_hex(said->comm, sizeof said->comm, &comm, sizeof comm);
    const struct layer *layer = call->observer->data;
    if (!error && layer->ranks && !call->result && comm != MPI_COMM_NULL)
        note_ranks(comm, said);
    int root = -77;
    error = QMPIX_Call_get_root(call, &root);
    if (error) {
        snprintf(said->root, sizeof said->root, "%s", error_text(error));
    } else {
        char text[16];
        snprintf(said->root, sizeof said->root, "%s", rank_text(text, sizeof text, root));
    }
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static void put_value(FILE *line, QMPIX_Kind kind, size_t size, const void *at)
{
    char text[64];
    const QMPIX_Pcontrol_words *words = at;
    switch (kind) {
    case QMPIX_KIND_INT:
        fprintf(line, "%d", *(const int *)at);
        break;
    case QMPIX_KIND_AINT:
        fprintf(line, "%lld", (long long)*(const MPI_Aint *)at);
        break;
    case QMPIX_KIND_COUNT:
        fprintf(line, "%lld", (long long)*(const MPI_Count *)at);
        break;
    case QMPIX_KIND_OFFSET:
        fprintf(line, "%lld", (long long)*(const MPI_Offset *)at);
        break;
    case QMPIX_KIND_FINT:
        fprintf(line, "%lld", (long long)*(const MPI_Fint *)at);
        break;
    case QMPIX_KIND_DOUBLE:
        fprintf(line, "%g", *(const double *)at);
        break;
    case QMPIX_KIND_FUNCTION:
        put_hex(text, sizeof text, at, sizeof(void (*)(void)));
        fputs(text, line);
        break;
    case QMPIX_KIND_PCONTROL_WORDS:
        fprintf(line, "%ld,%ld,%g,%g", words->word[0], words->word[1], words->real[0],
                words->real[1]);
        break;
    default:
        put_hex(text, sizeof text, at, size);
        fputs(text, line);
    }
}

/* Returns whether QMPIX_Call_get_elements refuses to read at an address that is a constant. */
static int constants_lead_nowhere(const QMPIX_Call *call, int index)
{
    const void *const constants[] = {NULL,
                                     MPI_BOTTOM,
                                     MPI_IN_PLACE,
                                     MPI_STATUS_IGNORE,
                                     MPI_STATUSES_IGNORE,
                                     MPI_UNWEIGHTED,
                                     MPI_WEIGHTS_EMPTY,
                                     MPI_ERRCODES_IGNORE,
                                     MPI_ARGV_NULL,
                                     MPI_ARGVS_NULL};
    const void *const address = *(void *const *)call->arguments[index];
    MPI_Status unchanged, value;
    memset(&unchanged, 0x5a, sizeof unchanged);
    value = unchanged;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (address == constants[i])
            return QMPIX_Call_get_elements(call, index, 0, 1, &value) == MPI_ERR_ARG &&
                   !memcmp(&value, &unchanged, sizeof value);
    }
    return 1;
}

static void put_arguments(FILE *line, const QMPIX_Call *call)
{
    for (int i = 0; i < call->function->parameter_count; i++) {
        const QMPIX_Parameter *parameter = &call->function->parameters[i];
        fprintf(line, " a.%s=", parameter->name);
        if (parameter->indirection > 0 && parameter->kind != QMPIX_KIND_FUNCTION)
            fprintf(line, "%p", *(void *const *)call->arguments[i]);
        else
            put_value(line, parameter->kind, parameter->size, call->arguments[i]);
        int index = -77;
        if (QMPIX_Call_find_argument(call, parameter->name, &index) || index != i)
            fault(line, "argument_not_found_by_name");
        if (parameter->indirection > 0 && !constants_lead_nowhere(call, i))
            fault(line, "elements_at_an_address_that_is_a_constant");
    }
    int index = -77;
    if (QMPIX_Call_find_argument(call, "no such name", &index) != MPI_ERR_ARG || index != -77)
        fault(line, "found_an_argument_that_is_none");
}

/* ---- Requests -------------------------------------------------------------------------------- */

typedef int get_requests(const QMPIX_Call *, int, MPI_Request *, int *);

static void put_requests(FILE *line, const char *name, const QMPIX_Call *call, get_requests *get)
{
    MPI_Request requests[MOST_REQUESTS], two[2];
    char text[32];
    int count = -77, again = -77;
    const int error = get(call, MOST_REQUESTS, requests, &count);
    if (error) {
        fprintf(line, " %s=%s", name, error_text(error));
        return;
    }
    fprintf(line, " %s=%s", name, count ? "" : "-");
    for (int i = 0; i < count && i < MOST_REQUESTS; i++) {
        put_hex(text, sizeof text, &requests[i], sizeof requests[i]);
        fprintf(line, "%s%s", i ? "," : "", text);
    }
    memset(two, 0x5a, sizeof two);
    const MPI_Request untouched = two[1];
    if (get(call, 1, two, &again) || again != count || two[1] != untouched ||
        (count && two[0] != requests[0]))
        fault(line, "more_requests_stored_than_there_is_room_for");
}

static int requests_are_for_after(const QMPIX_Call *call)
{
    MPI_Request request;
    int count = -77;
    return QMPIX_Call_get_started(call, 1, &request, &count) == MPI_ERR_OTHER &&
           QMPIX_Call_get_completed(call, 1, &request, &count) == MPI_ERR_OTHER && count == -77;
}

/* ---- The callbacks --------------------------------------------------------------------------- */

struct call {
    struct said said;
    FILE *line;
    char *text;
    size_t length;
};

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct call *saved = calloc(1, sizeof *saved);
    if (!saved || !(saved->line = open_memstream(&saved->text, &saved->length)))
        abort();
    fputs(call->function->name, saved->line);
    if (word->number != 0)
        fault(saved->line, "word_is_not_zero");
    if (call->result)
        fault(saved->line, "result_in_before");
    if (!requests_are_for_after(call))
        fault(saved->line, "requests_in_before");
    const QMPIX_Function *described = NULL;
    if (QMPIX_Function_describe(call->function->number, &described) || described != call->function)
        fault(saved->line, "description_is_another");
    ask(call, &saved->said, saved->line);
    word->pointer = saved;
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct call *saved = word->pointer;
    struct said *was = &saved->said, is;
    FILE *line = saved->line;
    ask(call, &is, line);
    fputs(" result=", line);
    if (call->result)
        put_value(line, call->function->result,
                  call->function->result == QMPIX_KIND_FILE ? sizeof(MPI_File) : sizeof(MPI_Comm),
                  call->result);
    fprintf(line, " sent=%s received=%s transfers=%s comm=%s root=%s", is.sent, is.received,
            is.transfers, was->comm, is.root);
    fprintf(line, " sent_before=%s received_before=%s transfers_before=%s", was->sent,
            was->received, was->transfers);
    fprintf(line, " comm_after=%s root_before=%s ranks=%s", is.comm, was->root,
            was->ranks[0] ? was->ranks : "-");
    put_requests(line, "started", call, QMPIX_Call_get_started);
    put_requests(line, "completed", call, QMPIX_Call_get_completed);
    put_arguments(line, call);
    fputc('\n', line);
    if (fclose(line))
        abort();
    const struct layer *layer = call->observer->data;
    if (write(layer->file, saved->text, saved->length) != (ssize_t)saved->length)
        abort();
    free(saved->text);
    free(saved);
}

static void init(int tool_id)
{
    const char *folder = NULL, *ranks = NULL, *few = NULL;
    const char *rank = getenv(getenv("PMI_RANK") ? "PMI_RANK" : "OMPI_COMM_WORLD_RANK");
    struct layer *layer = calloc(1, sizeof *layer);
    char *path = NULL;
    if (!layer || QMPIX_Tool_get_option(tool_id, "folder", &folder) != MPI_SUCCESS ||
        asprintf(&path, "%s/witness.%s", folder, rank ? rank : "0") < 0) {
        QMPIX_Tool_fail(tool_id, "the witness needs a folder\nhint: witness,folder=FOLDER");
        free(layer);
        return;
    }
    layer->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    layer->ranks = QMPIX_Tool_get_option(tool_id, "ranks", &ranks) == MPI_SUCCESS;
    free(path);
    const int has_no_statuses = QMPIX_Tool_get_option(tool_id, "few", &few) == MPI_SUCCESS;
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = before,
                                     .after = after,
                                     .data = layer,
                                     .flags = QMPIX_OBSERVE_REQUESTS |
                                              (has_no_statuses ? 0U : QMPIX_OBSERVE_STATUSES)};
    QMPI_Register_tool_storage(tool_id, layer);
    if (layer->file < 0 || QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "the witness cannot observe\nhint: look at its folder");
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("witness", init);
}
