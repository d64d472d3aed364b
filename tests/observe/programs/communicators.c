/* SPDX-License-Identifier: MIT */
/*
 * Creates communicators in many ways on three ranks, to test the ranks of their members in
 * MPI_COMM_WORLD. The witness, which has the option ranks=yes, asks for these ranks in each call
 * with a communicator. Communicators are freed by calls that the witness observes and by calls that
 * it does not observe, so that their handles are reused for communicators with other members, or
 * with the same members in another order.
 */
#include "expect.h"

static int rank;
static int number;

/* Sends a message on `comm` from this process to itself. `ranks` is the field for the members of
 * `comm`. */
static void message(MPI_Comm comm, const char *ranks)
{
    int me;
    PMPI_Comm_rank(comm, &me);
    expect_on(comm);
    DO(Sendrecv_replace, (&number, 1, MPI_INT, me, 1, me, 1, comm, MPI_STATUS_IGNORE),
       says("@ sent=4 received=4 transfers=>%d/%d/1/4,<%d/%d/1/4 %s", me, rank, me, rank, ranks));
}

static void let_go(MPI_Comm *comm, int how)
{
    const MPI_Comm was = *comm;
    if (how == 0)
        DO(Comm_free, (comm), says("comm=%s comm_after=*", COMM(was)));
    else if (how == 1)
        DO(Comm_disconnect, (comm), says("comm=%s comm_after=*", COMM(was)));
    else
        PMPI_Comm_free(comm);
}

static void split(void)
{
    static const char *const orders[] = {"ranks=0,1,2", "ranks=2,1,0", "ranks=1,2,0"};
    for (int i = 0; i < 9; i++) {
        MPI_Comm comm;
        const int keys[3][3] = {{0, 1, 2}, {2, 1, 0}, {2, 0, 1}};
        if (i < 6)
            DO(Comm_split, (MPI_COMM_WORLD, 0, keys[i % 3][rank], &comm), "@world ranks=0,1,2");
        else
            PMPI_Comm_split(MPI_COMM_WORLD, 0, keys[i % 3][rank], &comm);
        message(comm, orders[i % 3]);
        /* Combines each way to free the communicator with each order of ranks. */
        let_go(&comm, i / 3);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm;
        /* A different rank is left out in each round. */
        const int left_out = rank == i;
        DO(Comm_split, (MPI_COMM_WORLD, left_out ? MPI_UNDEFINED : 1, -rank, &comm), "@world");
        if (left_out)
            continue;
        message(comm, i == 0 ? "ranks=2,1" : i == 1 ? "ranks=2,0" : "ranks=1,0");
        let_go(&comm, i == 1 ? 2 : 0);
    }
}

static void made_otherwise(void)
{
    MPI_Comm comm, other, shared;
    MPI_Group world, group;
    MPI_Request request;
    int size;
    DO(Comm_dup, (MPI_COMM_WORLD, &comm), "@world ranks=0,1,2");
    message(comm, "ranks=0,1,2");
    DO(Comm_idup, (comm, &other, &request), says("@ started=%s", REQUEST(request)));
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    message(other, "ranks=0,1,2");
    let_go(&other, 0);
    let_go(&comm, 0);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_incl(world, 2, (int[]){2, 0}, &group);
    DO(Comm_create, (MPI_COMM_WORLD, group, &comm), "@world");
    if (rank != 1) {
        message(comm, "ranks=2,0");
        DO(Comm_create_group, (comm, group, 4, &other), "@");
        message(other, "ranks=2,0");
        let_go(&other, 0);
        let_go(&comm, 0);
    }
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    DO(Comm_split_type, (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &shared),
       "@world");
    PMPI_Comm_size(shared, &size);
    if (size < 3) { /* in MPICH 5.0.2, which puts each process in a communicator of its own */
        let_go(&shared, 0);
        DO(Comm_split, (MPI_COMM_WORLD, 0, -rank, &shared), "@world");
    }
    message(shared, "ranks=2,1,0");
    DO(Cart_create, (shared, 2, ((int[]){3, 1}), ((int[]){0, 0}), 0, &comm),
       says("comm=%s", COMM(shared)));
    message(comm, "ranks=2,1,0");
    DO(Cart_sub, (comm, ((int[]){0, 1}), &other), "@");
    message(other, rank == 0 ? "ranks=0" : rank == 1 ? "ranks=1" : "ranks=2");
    let_go(&other, 0);
    let_go(&comm, 0);
    let_go(&shared, 0);
}

/* Makes local calls. QMPIX_Call_get_comm returns a communicator only for those that query one. */
static void questions(void)
{
    int value, flag;
    void *attribute;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Group group;
    DO(Comm_size, (MPI_COMM_WORLD, &value), "@world ranks=0,1,2");
    DO(Comm_rank, (MPI_COMM_SELF, &value), says("@self ranks=%d", rank));
    DO(Comm_get_name, (MPI_COMM_WORLD, name, &value), "@world");
    DO(Comm_get_attr, (MPI_COMM_WORLD, MPI_TAG_UB, &attribute, &flag), "@world");
    DO(Comm_test_inter, (MPI_COMM_WORLD, &flag), "@world");
    DO(Comm_group, (MPI_COMM_WORLD, &group), "@world");
    DO(Topo_test, (MPI_COMM_WORLD, &value), "@world");
    DO(Group_size, (group, &value), "");
    DO(Group_free, (&group), "");
    DO(Type_size, (MPI_INT, &value), "");
    DO(Get_version, (&value, &flag), "");
}

int main(int argc, char **argv)
{
    int size;
    expect_init(argc, argv, &rank, &size);
    EXPECT_TRUE(size == 3);
    message(MPI_COMM_WORLD, "ranks=0,1,2");
    split();
    made_otherwise();
    message(MPI_COMM_SELF, says("ranks=%d", rank));
    questions();
    expect_finalize();
    return 0;
}
