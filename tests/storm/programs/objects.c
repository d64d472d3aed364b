/* SPDX-License-Identifier: MIT */
/* Steps that create, use and free objects (communicators, grids, groups, datatypes, infos), and the
 * step `words` with calls that need no object. */
#include "program.h"

static void communicators(struct storm_thread *thread, const long *a)
{
    MPI_Comm other, part;
    int rank = -1, result = -1, length = 0;
    char name[MPI_MAX_OBJECT_NAME] = "";
    OK(Comm_dup, (thread->comm, &other));
    OK(Comm_compare, (thread->comm, other, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(Comm_set_name, (other, "storm"));
    OK(Comm_get_name, (other, name, &length));
    CHECK(length == 5 && !strcmp(name, "storm"));
    OK(Comm_split, (other, (int)(a[0] % 3), storm_rank, &part));
    OK(Comm_rank, (part, &rank));
    CHECK(rank == storm_rank);
    OK(Comm_free, (&part));
    OK(Comm_free, (&other));
}

static void groups(struct storm_thread *thread, const long *a)
{
    MPI_Group all, mine, both;
    MPI_Comm comm;
    int size = -1, ranks[1] = {storm_rank}, there = -1;
    (void)a;
    OK(Comm_group, (thread->comm, &all));
    OK(Group_incl, (all, 1, ranks, &mine));
    OK(Group_size, (mine, &size));
    CHECK(size == 1);
    OK(Group_translate_ranks, (all, 1, ranks, mine, &there));
    CHECK(there == 0);
    OK(Group_union, (mine, all, &both));
    OK(Group_size, (both, &size));
    CHECK(size == storm_size);
    OK(Comm_create_group, (thread->comm, mine, 5, &comm));
    OK(Comm_free, (&comm));
    OK(Group_free, (&both));
    OK(Group_free, (&mine));
    OK(Group_free, (&all));
}

static void datatypes(struct storm_thread *thread, const long *a)
{
    const int count = 1 + (int)(a[0] % 9);
    int size = -1, in[64], out[64] = {0}, room = -1, place = 0;
    MPI_Datatype row, column;
    MPI_Aint low, extent;
    char packed[1024];
    (void)thread;
    for (int i = 0; i < 64; i++)
        in[i] = (int)a[1] + i;
    OK(Type_contiguous, (count, MPI_INT, &row));
    OK(Type_commit, (&row));
    OK(Type_size, (row, &size));
    CHECK(size == count * (int)sizeof(int));
    OK(Type_vector, (3, 1, 4, MPI_INT, &column));
    OK(Type_commit, (&column));
    OK(Type_get_extent, (column, &low, &extent));
    CHECK(low == 0 && extent == 9 * (MPI_Aint)sizeof(int));
    OK(Pack_size, (1, column, MPI_COMM_SELF, &room));
    CHECK(room >= 3 * (int)sizeof(int));
    OK(Pack, (in, 1, column, packed, (int)sizeof packed, &place, MPI_COMM_SELF));
    room = place;
    place = 0;
    OK(Unpack, (packed, room, &place, out, 1, column, MPI_COMM_SELF));
    CHECK(out[0] == in[0] && out[4] == in[4] && out[8] == in[8] && out[1] == 0);
    OK(Type_free, (&column));
    OK(Type_free, (&row));
    CHECK(row == MPI_DATATYPE_NULL);
}

static void infos(struct storm_thread *thread, const long *a)
{
    MPI_Info info, copy;
    char value[32] = "", key[MPI_MAX_INFO_KEY + 1] = "";
    int flag = 0, number = 0;
    (void)thread;
    (void)a;
    OK(Info_create, (&info));
    OK(Info_set, (info, "weather", "storm"));
    OK(Info_dup, (info, &copy));
    OK(Info_get, (copy, "weather", 31, value, &flag));
    CHECK(flag && !strcmp(value, "storm"));
    OK(Info_get_nkeys, (copy, &number));
    CHECK(number == 1);
    OK(Info_get_nthkey, (copy, 0, key));
    CHECK(!strcmp(key, "weather"));
    OK(Info_delete, (copy, "weather"));
    OK(Info_free, (&copy));
    OK(Info_free, (&info));
}

static void words(struct storm_thread *thread, const long *a)
{
    char text[MPI_MAX_ERROR_STRING] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = -1, class = -1;
    MPI_Aint here = 0, there = 0;
    (void)thread;
    OK(Error_string, (MPI_ERR_TAG, text, &length));
    CHECK(length == (int)strlen(text) && length > 0);
    OK(Error_class, (MPI_ERR_RANK, &class));
    CHECK(class == MPI_ERR_RANK);
    OK(Get_library_version, (library, &length));
    CHECK(length > 0);
    OK(Get_address, (text, &here));
    OK(Get_address, (text + a[0] % 100, &there));
    CHECK(there - here == a[0] % 100);
    CHECK(M(Wtick, ()) > 0);
    (void)M(Pcontrol, (1));
}

static void grids(struct storm_thread *thread, const long *a)
{
    MPI_Comm grid;
    int shape[2] = {storm_size, 1}, around[2] = {1, 0}, at[2] = {-1, -1}, from = -1, to = -1;
    (void)a;
    OK(Cart_create, (thread->comm, 2, shape, around, 0, &grid));
    OK(Cart_coords, (grid, storm_rank, 2, at));
    CHECK(at[0] == storm_rank && at[1] == 0);
    OK(Cart_shift, (grid, 0, 1, &from, &to));
    CHECK(to == (storm_rank + 1) % storm_size);
    OK(Cartdim_get, (grid, &at[0]));
    CHECK(at[0] == 2);
    OK(Comm_free, (&grid));
}

const struct storm_action storm_object_actions[] = {{"communicators", communicators},
                                                    {"groups", groups},
                                                    {"datatypes", datatypes},
                                                    {"infos", infos},
                                                    {"words", words},
                                                    {"grids", grids},
                                                    {0}};
