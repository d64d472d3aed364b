/* SPDX-License-Identifier: MIT */
/*
 * Creates communicators in many ways, and names them for the tool `identity`. The name is
 * NAME<PARENT=PROCESSES: NAME is different for each communicator and the same on all members,
 * PARENT is the NAME of the communicator from which it was created, or `-` if it has no parent, and
 * PROCESSES is the number of processes, or `?` if the identity cannot be known. The arguments are
 * the steps to be carried out.
 */
#include <mpi.h>
#include <pthread.h>
#include <qmpi/qmpi.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void name_it(MPI_Comm comm, const char *name, const char *parent, int processes)
{
    char text[128];
    if (comm == MPI_COMM_NULL)
        return;
    if (processes)
        snprintf(text, sizeof text, "%s<%s=%d", name, parent, processes);
    else
        snprintf(text, sizeof text, "%s<%s=?", name, parent);
    MPI_Comm_set_name(comm, text);
}

static void drop(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

static MPI_Comm halves(int reversed)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, reversed ? -rank : rank, &half);
    return half;
}

static int half_size(int odd)
{
    return (size + !odd) / 2;
}

/* ---- From one parent ------------------------------------------------------------------------- */

static void create_copies(void)
{
    MPI_Comm first, second, third, with_info;
    MPI_Request requests[2];
    name_it(MPI_COMM_WORLD, "world", "-", size);
    char label[32];
    snprintf(label, sizeof label, "self%d", rank);
    name_it(MPI_COMM_SELF, label, "-", 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    name_it(first, "dup", "world", size);
    MPI_Comm_dup_with_info(first, MPI_INFO_NULL, &with_info);
    name_it(with_info, "dup_with_info", "dup", size);
    MPI_Comm_idup(MPI_COMM_WORLD, &second, &requests[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &third, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    name_it(second, "idup", "world", size);
    name_it(third, "idup_again", "world", size);
    drop(second);
    drop(first);
    drop(third);
    drop(with_info);
    MPI_Comm_dup(MPI_COMM_SELF, &first);
    snprintf(label, sizeof label, "dup_self%d", rank);
    char parent[32];
    snprintf(parent, sizeof parent, "self%d", rank);
    name_it(first, label, parent, 1);
    drop(first);
#ifdef MPI_SESSION_NULL
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &first, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    name_it(first, "idup_with_info", "world", size);
    drop(first);
#endif
}

static void create_parts(void)
{
    MPI_Comm part, again, part_of_part, created;
    MPI_Group world, group;
    char label[32];
    int members;
    part = halves(0);
    name_it(part, rank % 2 ? "odd" : "even", "world", half_size(rank % 2));
    MPI_Comm_split(part, 0, 0, &part_of_part);
    name_it(part_of_part, rank % 2 ? "part_of_odd" : "part_of_even", rank % 2 ? "odd" : "even",
            half_size(rank % 2));
    again = halves(0);
    name_it(again, rank % 2 ? "odd_again" : "even_again", "world", half_size(rank % 2));
    drop(part);
    drop(part_of_part);
    part = halves(1);
    name_it(part, rank % 2 ? "odd_reversed" : "even_reversed", "world", half_size(rank % 2));
    drop(part);
    drop(again);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? 0 : MPI_UNDEFINED, 0, &part);
    name_it(part, "without_first", "world", size - 1);
    drop(part);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    PMPI_Comm_size(part, &members);
    snprintf(label, sizeof label, "shared%d", rank);
    /* In MPICH 5.0.2, each process shares memory only with itself. */
    name_it(part, members == size ? "shared" : label, "world", members);
    drop(part);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, (int[]){size - 1}, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &created);
    name_it(created, "last", "world", 1);
    drop(created);
    MPI_Group_free(&group);
    MPI_Group_excl(world, 1, (int[]){rank ? 0 : 1}, &group);
    if (rank == 0) {
        MPI_Group_free(&group);
        MPI_Group_incl(world, 1, (int[]){0}, &group);
    }
    MPI_Comm_create(MPI_COMM_WORLD, group, &created);
    name_it(created, rank ? "others" : "first", "world", rank ? size - 1 : 1);
    drop(created);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void create_topologies(void)
{
    const int one = 1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    int degrees[8], edges[16];
    char name[64];
    MPI_Comm grid, row, graph;
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, size / 2}, (int[]){0, 0}, 1, &grid);
    name_it(grid, "grid", "world", size / 2 * 2);
    if (grid != MPI_COMM_NULL) {
        int mine, place[2];
        MPI_Comm_rank(grid, &mine);
        MPI_Cart_coords(grid, mine, 2, place);
        MPI_Cart_sub(grid, (int[]){0, 1}, &row);
        snprintf(name, sizeof name, "row%d", place[0]);
        name_it(row, name, "grid", size / 2);
        drop(row);
    }
    drop(grid);
    for (int i = 0; i < size; i++) {
        degrees[i] = 2 * (i + 1);
        edges[2 * i] = (i + 1) % size;
        edges[2 * i + 1] = (i + size - 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, degrees, edges, 0, &graph);
    name_it(graph, "graph", "world", size);
    drop(graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    name_it(graph, "dist_graph_adjacent", "world", size);
    drop(graph);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                          &graph);
    name_it(graph, "dist_graph", "world", size);
    drop(graph);
}

/* ---- By calls of the members only ------------------------------------------------------------ */

/* Creates communicators of rank 0 and one other process. Their number is different for each other
 * process, so that the processes make different numbers of calls. */
static void create_pairs(MPI_Comm parent, const char *parent_name)
{
    MPI_Group all, pair;
    MPI_Comm comm;
    char name[64];
    MPI_Comm_group(parent, &all);
    for (int other = 1; other < size; other++) {
        for (int i = 0; i < 2 * other + 1 && (rank == 0 || rank == other); i++) {
            MPI_Group_incl(all, 2, (int[]){0, other}, &pair);
            MPI_Comm_create_group(parent, pair, i % 2, &comm);
            snprintf(name, sizeof name, "pair_%s_%d_%d", parent_name, other, i);
            name_it(comm, name, parent_name, 2);
            drop(comm);
            MPI_Group_free(&pair);
        }
    }
    MPI_Group_free(&all);
}

static void create_groups(void)
{
    MPI_Comm parent;
    create_pairs(MPI_COMM_WORLD, "world");
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    name_it(parent, "of_pairs", "world", size);
    create_pairs(parent, "of_pairs");
    drop(parent);
}

static void create_intercommunicators(void)
{
    const int odd = rank % 2;
    MPI_Comm half = halves(0), inter, other, part;
    name_it(half, odd ? "odd_side" : "even_side", "world", half_size(odd));
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !odd, 5, &inter);
    name_it(inter, "inter", "-", size);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !odd, 5, &other);
    name_it(other, "inter_again", "-", size);
    drop(other);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !odd, 6, &other);
    name_it(other, "inter_other_tag", "-", size);
    drop(other);
    MPI_Intercomm_merge(inter, odd, &other);
    name_it(other, "merged", "inter", size);
    drop(other);
    MPI_Comm_dup(inter, &other);
    name_it(other, "dup_inter", "inter", size);
    drop(half);
    drop(inter);
    /* With four processes, the first process of each side forms a communicator with the second
     * process of the other side. */
    MPI_Comm_split(other, size == 4 ? (rank == 0 || rank == 3) : 0, 0, &part);
    name_it(part,
            size != 4                  ? "part_of_inter"
            : (rank == 0 || rank == 3) ? "part_of_inter_1"
                                       : "part_of_inter_0",
            "dup_inter", size == 4 ? 2 : size);
    drop(part);
    drop(other);
}

/* ---- Special cases --------------------------------------------------------------------------- */

/* Reuses one handle many times, and then several handles that were freed in different orders. */
static void use_handles_again(void)
{
    enum { COUNT = 5 };
    MPI_Comm comms[COUNT];
    char name[64];
    for (int i = 0; i < 20; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
        snprintf(name, sizeof name, "again%d", i);
        name_it(comms[0], name, "world", size);
        drop(comms[0]);
    }
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < COUNT; i++) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
            snprintf(name, sizeof name, "many%d_%d", turn, i);
            name_it(comms[i], name, "world", size);
        }
        for (int i = 0; i < COUNT; i++)
            drop(comms[(i * 3 + (rank ? turn : 0)) % COUNT]);
    }
}

static void fail(void)
{
    MPI_Comm comm;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0 && MPI_Comm_dup(MPI_COMM_WORLD, NULL) == MPI_SUCCESS)
        printf("MPI_Comm_dup without a place for the handle succeeded\n");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    name_it(comm, "after_failure", "world", size);
    drop(comm);
}

/* A communicator whose creation the layers do not see has no identity, nor have communicators that
 * are created from it. */
static void create_unseen(void)
{
    MPI_Comm unseen, child, next;
    PMPI_Comm_dup(MPI_COMM_WORLD, &unseen);
    name_it(unseen, "unseen", "world", 0);
    MPI_Comm_split(unseen, 0, 0, &child);
    name_it(child, "from_unseen", "unseen", 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &next);
    name_it(next, "after_unseen", "world", size);
    drop(child);
    drop(unseen);
    drop(next);
}

/* Only rank 0 switches the layer off and on. */
static void switch_layer(void)
{
    MPI_Comm first, second;
    if (rank == 0)
        QMPIX_Tool_set_enabled(1, 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    if (rank == 0)
        QMPIX_Tool_set_enabled(1, 1);
    MPI_Comm_dup(first, &second);
    name_it(first, "while_off", "world", size);
    name_it(second, "while_on", "while_off", size);
    drop(first);
    drop(second);
}

static void grow(void)
{
    enum { COUNT = 4000 };
    MPI_Comm comm;
    struct mallinfo2 begin = mallinfo2();
    for (int i = 0; i < COUNT + 100; i++) {
        if (i == 100)
            begin = mallinfo2();
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
    }
    const struct mallinfo2 end = mallinfo2();
    printf("growth: %ld\n", ((long)end.uordblks - (long)begin.uordblks) / COUNT);
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, TURNS = 10 };

struct work {
    int number;
    MPI_Comm parent;
};

static void *create_in_thread(void *data)
{
    const struct work *work = data;
    MPI_Group group;
    MPI_Comm comm;
    char name[64], parent[16];
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    snprintf(parent, sizeof parent, "parent%d", work->number);
    for (int i = 0; i < TURNS; i++) {
        MPI_Comm_split(work->parent, 0, 0, &comm);
        snprintf(name, sizeof name, "thread%d_%d", work->number, i);
        name_it(comm, name, parent, size);
        drop(comm);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, work->number, &comm);
        snprintf(name, sizeof name, "group%d_%d", work->number, i);
        name_it(comm, name, "world", size);
        drop(comm);
    }
    MPI_Group_free(&group);
    return NULL;
}

static void create_in_threads(void)
{
    pthread_t threads[THREADS];
    struct work work[THREADS];
    for (int i = 0; i < THREADS; i++) {
        char name[64];
        work[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &work[i].parent);
        snprintf(name, sizeof name, "parent%d", i);
        name_it(work[i].parent, name, "world", size);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, create_in_thread, &work[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        drop(work[i].parent);
    }
}

/* ---- Beyond the world ------------------------------------------------------------------------ */

/* These communicators have no identity: `inter` and `merged` have processes of two worlds, and
 * `mine`, whose processes all belong to one world, was created from `merged`. */
static void meet_other_world(MPI_Comm inter, int is_child)
{
    MPI_Comm merged, mine;
    name_it(inter, "spawned", "-", 0);
    MPI_Intercomm_merge(inter, is_child, &merged);
    name_it(merged, "merged_with_spawned", "spawned", 0);
    MPI_Comm_split(merged, is_child, 0, &mine);
    name_it(mine, "one_world", "merged_with_spawned", 0);
    drop(mine);
    drop(merged);
    MPI_Comm_disconnect(&inter);
}

/* The children form a world of their own, in which they create the same communicators as a separate
 * job would. */
static void spawn(char **argv)
{
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_spawn(argv[0], (char *[]){"copies", "child", NULL}, size, MPI_INFO_NULL, 0,
                   MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    if (inter != MPI_COMM_NULL)
        meet_other_world(inter, 0);
    else if (rank == 0)
        printf("cannot spawn\n");
}

static void be_spawned(void)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    meet_other_world(parent, 1);
}

static const struct {
    const char *name;
    void (*function)(void);
} parts[] = {{"copies", create_copies},
             {"parts", create_parts},
             {"topologies", create_topologies},
             {"groups", create_groups},
             {"intercommunicators", create_intercommunicators},
             {"again", use_handles_again},
             {"fail", fail},
             {"unseen", create_unseen},
             {"switch", switch_layer},
             {"grow", grow},
             {"threads", create_in_threads},
             {"child", be_spawned}};

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc; i++) {
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            if (!strcmp(argv[i], parts[k].name))
                parts[k].function();
        }
        if (!strcmp(argv[i], "spawn"))
            spawn(argv);
    }
    MPI_Finalize();
    return 0;
}
