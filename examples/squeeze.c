/* SPDX-License-Identifier: MIT */
/*
 * A tool that changes arguments: it compresses what MPI_Bcast sends (zlib). This is simple for
 * broadcasts, because all processes take part in them, know their size, and have the same layer. (A
 * message between two processes may be received by a wildcard, probed for, or waited for, and a
 * layer would have to change all these calls.)
 *
 * The root packs its data, whatever their type, and compresses them. It announces both lengths in a
 * short broadcast, and then broadcasts the compressed data. Layers above see the application's
 * call, and layers below see these two calls. Small broadcasts, those of 1 GiB and more, and those
 * on intercommunicators pass unchanged. All processes of the job must run this layer, with the same
 * options.
 */
#include <qmpi/qmpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* The bytes that this process broadcast as the root; one for each layer. */
static _Atomic long long given[256], sent[256];
static int threshold[256];

struct broadcast {
    QMPI_Context context;
    int tool_id;
    int large; /* the call is MPI_Bcast_c, which can match MPI_Bcast of another process */
    void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    int root;
    MPI_Comm comm;
    long long size; /* bytes */
};

/* Broadcasts something by the next layer's function. */
static int pass_on(const struct broadcast *b, void *buffer, MPI_Count count, MPI_Datatype datatype)
{
    QMPI_Context c = b->context;
#if MPI_VERSION >= 4
    if (b->large)
        return QMPIX_NEXT(c, Bcast_c)(QMPIX_NEXT_CONTEXT(c), buffer, count, datatype, b->root,
                                      b->comm);
#endif
    return QMPIX_NEXT(c, Bcast)(QMPIX_NEXT_CONTEXT(c), buffer, (int)count, datatype, b->root,
                                b->comm);
}

/* The message of the root that precedes the data. */
struct announcement {
    long long packed;     /* bytes */
    long long compressed; /* 0 if the data would not shrink; they then follow unchanged */
};

static int fail(const struct broadcast *b)
{
    PMPI_Comm_call_errhandler(b->comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

/*
 * MPI_Pack and MPI_Unpack of some MPI libraries do not accept MPI_BOTTOM. This function replaces it
 * by another address, and the datatype by one that is displaced by the negative of this address.
 * Returns whether the caller must free the datatype.
 */
static int leave_bottom(struct broadcast *b)
{
    static char anchor;
    const int count = (int)b->count;
    MPI_Aint displacement;
    if (b->buffer != MPI_BOTTOM)
        return 0;
    PMPI_Get_address(&anchor, &displacement);
    displacement = -displacement;
    PMPI_Type_create_hindexed(1, &count, &displacement, b->datatype, &b->datatype);
    PMPI_Type_commit(&b->datatype);
    b->buffer = &anchor;
    b->count = 1;
    return 1;
}

/* Returns the root's data in compressed form, or NULL if it would not be shorter or memory is
 * exhausted. */
static unsigned char *compress_data(struct broadcast b, struct announcement *say)
{
    int room = 0, packed = 0;
    const int moved = leave_bottom(&b);
    PMPI_Pack_size((int)b.count, b.datatype, b.comm, &room);
    uLongf length = compressBound((uLong)room);
    unsigned char *plain = malloc((size_t)room), *shorter = malloc(length);
    if (!plain || !shorter ||
        PMPI_Pack(b.buffer, (int)b.count, b.datatype, plain, room, &packed, b.comm) ||
        compress2(shorter, &length, plain, (uLong)packed, Z_BEST_SPEED) != Z_OK ||
        length >= (uLong)packed) {
        free(shorter);
        shorter = NULL;
    }
    if (moved)
        PMPI_Type_free(&b.datatype);
    free(plain);
    say->packed = packed;
    say->compressed = shorter ? (long long)length : 0;
    return shorter;
}

static int restore_data(struct broadcast b, const struct announcement *said,
                        const unsigned char *shorter)
{
    int position = 0, result = MPI_ERR_NO_MEM;
    const int moved = leave_bottom(&b);
    uLongf length = (uLongf)said->packed;
    unsigned char *plain = malloc(length);
    if (plain && uncompress(plain, &length, shorter, (uLong)said->compressed) == Z_OK)
        result =
            PMPI_Unpack(plain, (int)length, &position, b.buffer, (int)b.count, b.datatype, b.comm);
    if (moved)
        PMPI_Type_free(&b.datatype);
    free(plain);
    return result;
}

static int squeeze(const struct broadcast *b)
{
    struct announcement say = {0, 0};
    int rank = 0, result;
    PMPI_Comm_rank(b->comm, &rank);
    unsigned char *shorter = rank == b->root ? compress_data(*b, &say) : NULL;
    if ((result = pass_on(b, &say, sizeof say, MPI_BYTE)) == MPI_SUCCESS) {
        if (!say.compressed) {
            result = pass_on(b, b->buffer, b->count, b->datatype);
        } else if (!shorter && !(shorter = malloc((size_t)say.compressed))) {
            result = fail(b);
        } else {
            result = pass_on(b, shorter, say.compressed, MPI_BYTE);
            if (result == MPI_SUCCESS && rank != b->root &&
                restore_data(*b, &say, shorter) != MPI_SUCCESS)
                result = fail(b);
        }
    }
    if (rank == b->root) {
        given[b->tool_id] += (long long)b->size;
        sent[b->tool_id] += (long long)sizeof say + (say.compressed ? say.compressed : b->size);
    }
    free(shorter);
    return result;
}

/* Returns whether to compress. All processes must decide alike. They do, because the size is the
 * same in all of them. */
static int worth_it(struct broadcast *b)
{
    int inter = 1, size = 0;
    if (b->count <= 0 || b->datatype == MPI_DATATYPE_NULL || b->comm == MPI_COMM_NULL)
        return 0; /* nothing to do, or an error that MPI will detect */
    if (PMPI_Comm_test_inter(b->comm, &inter) || inter || PMPI_Type_size(b->datatype, &size) ||
        size <= 0)
        return 0;
    b->size = (long long)size * b->count;
    return b->size >= threshold[b->tool_id] && b->size < 1 << 30;
}

static int my_Bcast(QMPI_Context c, void *buffer, int count, MPI_Datatype datatype, int root,
                    MPI_Comm comm)
{
    struct broadcast b = {c, 0, 0, buffer, count, datatype, root, comm, 0};
    QMPIX_Context_get_tool_id(c, &b.tool_id);
    return worth_it(&b) ? squeeze(&b) : pass_on(&b, buffer, count, datatype);
}

#if MPI_VERSION >= 4
static int my_Bcast_c(QMPI_Context c, void *buffer, MPI_Count count, MPI_Datatype datatype,
                      int root, MPI_Comm comm)
{
    struct broadcast b = {c, 0, 1, buffer, count, datatype, root, comm, 0};
    QMPIX_Context_get_tool_id(c, &b.tool_id);
    return worth_it(&b) ? squeeze(&b) : pass_on(&b, buffer, count, datatype);
}
#endif

static int my_Finalize(QMPI_Context c)
{
    int tool_id = 0;
    QMPIX_Context_get_tool_id(c, &tool_id);
    if (given[tool_id])
        fprintf(stderr, "squeeze (layer %d): %lld bytes to broadcast, %lld sent\n", tool_id,
                (long long)given[tool_id], (long long)sent[tool_id]);
    return QMPIX_NEXT(c, Finalize)(QMPIX_NEXT_CONTEXT(c));
}

static void init(int tool_id)
{
    const char *text = NULL;
    char *end = NULL;
    QMPIX_Tool_get_option(tool_id, "from", &text);
    const long from = strtol(text, &end, 10);
    if (end == text || *end || from < 1 || from > 1 << 30)
        QMPIX_Tool_fail(tool_id, "from= is not a valid number of bytes\n"
                                 "hint: give a number from 1 to 1073741824");
    threshold[tool_id] = (int)from;
    QMPIX_REGISTER(tool_id, Bcast, my_Bcast);
#if MPI_VERSION >= 4
    QMPIX_REGISTER(tool_id, Bcast_c, my_Bcast_c);
#endif
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = {
        {"from", "4096", "compress broadcasts of at least this many bytes"}, {0}};
    static const char *const provides[] = {"changes-calls", NULL};
    static const QMPIX_Tool_info info = {.size = sizeof info,
                                         .description = "compresses broadcasts",
                                         .options = options,
                                         .flags = QMPIX_TOOL_COMMUNICATES,
                                         .provides = provides};
    QMPI_Register_tool_name("squeeze", init);
    QMPIX_Register_tool_info("squeeze", &info);
}
