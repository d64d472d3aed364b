/* SPDX-License-Identifier: MIT */
/* Names communicators like identities.c, but uses only sessions. Runs on two ranks. */
#include <mpi.h>

#include <stdio.h>

static MPI_Group world;
static int rank;

static void name_it(MPI_Comm comm, const char *name, const char *parent)
{
    char text[MPI_MAX_OBJECT_NAME];
    snprintf(text, sizeof text, "%s<%s=2", name, parent);
    MPI_Comm_set_name(comm, text);
}

static MPI_Comm from_group(MPI_Group group, const char *tag, const char *name)
{
    MPI_Comm comm;
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    name_it(comm, name, "-");
    return comm;
}

static void create_intercommunicators(void)
{
    MPI_Group mine, other;
    MPI_Comm inter, merged;
    MPI_Group_incl(world, 1, &rank, &mine);
    MPI_Group_incl(world, 1, (int[]){1 - rank}, &other);
    for (int i = 0; i < 2; i++) {
        MPI_Intercomm_create_from_groups(mine, 0, other, 0, "inter", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &inter);
        name_it(inter, i ? "inter_again" : "inter", "-");
        MPI_Intercomm_merge(inter, rank, &merged);
        name_it(merged, i ? "merged_again" : "merged", i ? "inter_again" : "inter");
        MPI_Comm_free(&merged);
        MPI_Comm_free(&inter);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&other);
}

int main(void)
{
    MPI_Session session;
    MPI_Group reversed;
    MPI_Comm comms[5];
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_rank(world, &rank);
    MPI_Group_incl(world, 2, (int[]){1, 0}, &reversed);
    comms[0] = from_group(world, "tag", "first");
    comms[1] = from_group(world, "tag", "second");
    comms[2] = from_group(world, "other", "third");
    comms[3] = from_group(reversed, "tag", "reversed");
    MPI_Comm_dup(comms[1], &comms[4]);
    name_it(comms[4], "dup", "second");
    create_intercommunicators();
    for (int i = 0; i < 5; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Group_free(&reversed);
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
    return 0;
}
