/* SPDX-License-Identifier: MIT */
/*
 * Tests that an observer sees arguments of many kinds as the program passes them, by value and by
 * pointer, and also results that are not error codes. Runs on one rank.
 */
#include "expect.h"

#include <stdio.h>

#define POINTER(p) ((const void *)(p))

static void sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
}

static void values(void)
{
    static int out[4], in[4];
    MPI_Request request;
    MPI_Status status;
    int counts[] = {1}, places[] = {0};
    expect_on(MPI_COMM_SELF);
    DO(Irecv, (in, 4, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_SELF, &request),
       says("@ received=16 transfers=<0/0/any/16 started=%s a.buf=%p a.count=4 a.datatype=%s "
            "a.source=0 a.tag=%d a.comm=%s a.request=%p",
            REQUEST(request), POINTER(in), DATATYPE(MPI_INT), MPI_ANY_TAG, COMM(MPI_COMM_SELF),
            POINTER(&request)));
    DO(Send_c, (out, 3, MPI_INT, 0, 77, MPI_COMM_SELF),
       says("@ sent=12 transfers=>0/0/77/12 a.buf=%p a.count=3 a.dest=0 a.tag=77", POINTER(out)));
    const MPI_Request saved = request;
    DO(Wait, (&request, &status),
       says("completed=%s a.request=%p a.status=%p", REQUEST(saved), POINTER(&request),
            POINTER(&status)));
    DO(Allgatherv, (out, 1, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_SELF),
       says("@ sent=4 received=4 a.sendbuf=%p a.sendcount=1 a.recvbuf=%p a.recvcounts=%p "
            "a.displs=%p",
            POINTER(out), POINTER(in), POINTER(counts), POINTER(places)));
    DO(Allreduce, (MPI_IN_PLACE, in, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF),
       says("@ sent=8 received=8 a.sendbuf=%p a.op=%s", POINTER(MPI_IN_PLACE),
            expect_hex(&(MPI_Op){MPI_SUM}, sizeof(MPI_Op))));
}

static void other_kinds(const char *folder)
{
    MPI_File file;
    MPI_Op op;
    MPI_Info info;
    MPI_Datatype type;
    char name[1024];
    MPI_User_function *function = sum;
    DO(Op_create, (function, 1, &op),
       says("a.user_fn=%s a.commute=1", expect_hex(&function, sizeof function)));
    DO(Op_free, (&op), says("a.op=%p", POINTER(&op)));
    DO(Info_create, (&info), "");
    DO(Info_set, (info, "key", "value"), says("a.info=%s", expect_hex(&info, sizeof info)));
    snprintf(name, sizeof name, "%s/data", folder);
    DO(File_open, (MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
       says("@ a.filename=%p a.amode=%d", POINTER(name), MPI_MODE_CREATE | MPI_MODE_RDWR));
    DO(File_seek, (file, 123456789012LL, MPI_SEEK_SET),
       says("a.fh=%s a.offset=123456789012 a.whence=%d", expect_hex(&file, sizeof file),
            MPI_SEEK_SET));
    DO(File_close, (&file), "");
    DO(Info_free, (&info), "");
    DO(Type_create_resized, (MPI_INT, -8, 5000000000, &type),
       says("a.oldtype=%s a.lb=-8 a.extent=5000000000", DATATYPE(MPI_INT)));
    DO(Type_free, (&type), "");
#if MPI_VERSION >= 4
    DO(Type_contiguous_c, (6000000000, MPI_INT, &type), "a.count=6000000000");
    DO(Type_free, (&type), "");
#endif
}

/* Arrays of weights may be addresses that are constants, and lead to no elements. */
static void weights(void)
{
    const int neighbor = 0;
    MPI_Comm comm;
    DO(Dist_graph_create_adjacent,
       (MPI_COMM_SELF, 1, &neighbor, MPI_UNWEIGHTED, 1, &neighbor, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
        &comm),
       says("@ a.sources=%p a.sourceweights=%p", POINTER(&neighbor), POINTER(MPI_UNWEIGHTED)));
    DO(Comm_free, (&comm), "comm=*");
    DO(Dist_graph_create_adjacent,
       (MPI_COMM_SELF, 0, &neighbor, MPI_WEIGHTS_EMPTY, 0, &neighbor, MPI_WEIGHTS_EMPTY,
        MPI_INFO_NULL, 0, &comm),
       says("@ a.destweights=%p", POINTER(MPI_WEIGHTS_EMPTY)));
    DO(Comm_free, (&comm), "comm=*");
}

static void results(void)
{
    const double time = MPI_Wtime();
    expect_call("MPI_Wtime", MPI_SUCCESS, says("result=%g", time));
#ifndef MPI_Aint_add /* in Open MPI, this is a macro that no layer sees */
    const MPI_Aint address = MPI_Aint_add(40, 2);
    expect_call("MPI_Aint_add", MPI_SUCCESS, says("result=%ld a.base=40 a.disp=2", (long)address));
#endif
    /* Calls that fail. */
    int size;
    const int error = MPI_Comm_size(MPI_COMM_NULL, &size);
    EXPECT_TRUE(error != MPI_SUCCESS);
    expect_call("MPI_Comm_size", MPI_SUCCESS,
                says("comm=%s result=%d", COMM(MPI_COMM_NULL), error));
    const int refused = MPI_Send(&size, 1, MPI_INT, 5, 0, MPI_COMM_SELF);
    EXPECT_TRUE(refused != MPI_SUCCESS);
    expect_call("MPI_Send", MPI_SUCCESS, says("comm=* result=%d sent=* transfers=*", refused));
    /* This is not MPI_Allgather, which would crash Open MPI 4.1.4. */
    const int bad = MPI_Alltoall(&size, 1, MPI_INT, &size, 1, MPI_INT, MPI_COMM_NULL);
    EXPECT_TRUE(bad != MPI_SUCCESS);
    expect_call("MPI_Alltoall", MPI_SUCCESS, says("comm=* result=%d sent=* received=*", bad));
    const int negative = MPI_Send(&size, -3, MPI_INT, 0, 0, MPI_COMM_SELF);
    EXPECT_TRUE(negative != MPI_SUCCESS);
    expect_call(
        "MPI_Send", MPI_SUCCESS,
        says("comm=* result=%d sent_before=- received_before=- transfers_before=-", negative));
    const int few = MPI_Bcast(&size, -3, MPI_INT, 0, MPI_COMM_SELF);
    EXPECT_TRUE(few != MPI_SUCCESS);
    expect_call("MPI_Bcast", MPI_SUCCESS,
                says("comm=* root=0 result=%d sent_before=- received_before=-", few));
    const int type = MPI_Send(&size, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF);
    EXPECT_TRUE(type != MPI_SUCCESS);
    expect_call("MPI_Send", MPI_SUCCESS,
                says("comm=* result=%d sent=* received=* transfers=*", type));
}

int main(int argc, char **argv)
{
    int rank, size;
    expect_init(argc, argv, &rank, &size);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    values();
    other_kinds(argv[1]);
    weights();
    results();
    expect_finalize();
    return 0;
}
