/* SPDX-License-Identifier: MIT */
/*
 * Prints `signature NAME HASH COUNT PACKED HASH COUNT PACKED` for each datatype that the program
 * names by MPI_Type_set_name. The first three values are those of one element, the others those of
 * three elements. Also computes the signatures of datatypes whose extent the program queries.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

#include <inttypes.h>

#define CHECK(what, result, expected)                                                              \
    do {                                                                                           \
        const int result_of_check = (result);                                                      \
        if (result_of_check != (expected))                                                         \
            trace("signature: %s gives %d", what, result_of_check);                                \
    } while (0)

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    QMPIX_Signature one, three = {.count = 0};
    (void)word;
    if (call->function->number == MPI_FINALIZE_T) {
        CHECK("a type after MPI_Finalize", QMPIX_Datatype_get_signature(MPI_INT, &one),
              MPI_ERR_OTHER);
        return;
    }
    const MPI_Datatype type = *(const MPI_Datatype *)call->arguments[0];
    CHECK("a type", QMPIX_Datatype_get_signature(type, &one), MPI_SUCCESS);
    if (call->function->number != MPI_TYPE_SET_NAME_T)
        return;
    CHECK("appending", QMPIX_Signature_append(&three, &one, 3), MPI_SUCCESS);
    trace("signature %s %" PRIx64 " %lld %d %" PRIx64 " %lld %d",
          *(const char *const *)call->arguments[1], one.hash, (long long)one.count, one.packed,
          three.hash, (long long)three.count, three.packed);
}

static void note_misuse(void)
{
    const MPI_Count most = (MPI_Count)(((uint64_t)1 << 63) - 1);
    QMPIX_Signature signature = {5, 1, 0}, many = {7, most / 2, 0}, twice = {5, 1, 0};
    CHECK("a type before MPI_Init", QMPIX_Datatype_get_signature(MPI_INT, &signature),
          MPI_ERR_OTHER);
    CHECK("no type", QMPIX_Datatype_get_signature(MPI_DATATYPE_NULL, &signature), MPI_ERR_ARG);
    CHECK("no place", QMPIX_Datatype_get_signature(MPI_INT, NULL), MPI_ERR_ARG);
    CHECK("a negative count", QMPIX_Signature_append(&signature, &signature, -1), MPI_ERR_ARG);
    CHECK("a NULL", QMPIX_Signature_append(&signature, NULL, 1), MPI_ERR_ARG);
    CHECK("too many", QMPIX_Signature_append(&signature, &many, 3), MPI_ERR_ARG);
    CHECK("no copies", QMPIX_Signature_append(&signature, &many, 0), MPI_SUCCESS);
    if (signature.hash != 5 || signature.count != 1 || signature.packed)
        trace("signature: a refused or empty call changed the signature");
    CHECK("itself", QMPIX_Signature_append(&signature, &signature, 1), MPI_SUCCESS);
    const QMPIX_Signature other = {5, 1, 0};
    CHECK("another", QMPIX_Signature_append(&twice, &other, 1), MPI_SUCCESS);
    if (signature.hash != twice.hash || signature.count != 2)
        trace("signature: a sequence cannot be appended to itself");
}

static void init(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {MPI_TYPE_SET_NAME_T, MPI_TYPE_GET_EXTENT_T,
                                                         MPI_FINALIZE_T};
    const QMPIX_Observer observer = {
        .size = sizeof observer, .after = after, .functions = functions, .function_count = 3};
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "no observer\nhint: none");
    note_misuse();
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("signature", init);
}
