/* SPDX-License-Identifier: MIT */
/* Cases about categories, and about variables that appear while the program runs. */
#include "conform.h"

enum { MANY = 5000 };

typedef int list_function(int cat_index, int len, int indices[]);

static int counts_of(int category, int *cvars, int *pvars, int *categories)
{
    return T(category_get_info)(category, NULL, NULL, NULL, NULL, cvars, pvars, categories);
}

static bool lists(list_function *list, int category, int count, int wanted)
{
    static int indices[MANY];
    bool found = false;
    SUCCEEDS(list(category, count, indices));
    for (int i = 0; i < count; i++)
        found = found || indices[i] == wanted;
    return found;
}

static void indices_and_names_of_categories_belong_together(void)
{
    int num = 0;
    SUCCEEDS(T(category_get_num)(&num));
    IS(num > 0, true);
    for (int i = 0; i < num; i++) {
        char name[300];
        int length = sizeof name, index = -1;
        if (!EXISTS(T(category_get_info)(i, name, &length, NULL, NULL, NULL, NULL, NULL)))
            continue;
        SUCCEEDS(T(category_get_index)(name, &index));
        IS(index, i);
        SUCCEEDS(T(category_get_info)(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    }
}

static void an_index_or_name_that_no_category_has_is_invalid(void)
{
    int num = 0, index, indices[1];
    SUCCEEDS(T(category_get_num)(&num));
    const int wrong[] = {-1, num, num + 1000};
    for (int i = 0; i < 3; i++) {
        IS(counts_of(wrong[i], NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
        IS(T(category_get_cvars)(wrong[i], 1, indices), MPI_T_ERR_INVALID_INDEX);
        IS(T(category_get_pvars)(wrong[i], 1, indices), MPI_T_ERR_INVALID_INDEX);
        IS(T(category_get_categories)(wrong[i], 1, indices), MPI_T_ERR_INVALID_INDEX);
    }
    IS(T(category_get_index)("no such category", &index), MPI_T_ERR_INVALID_NAME);
}

static void members_of_categories_are_indices_that_exist(void)
{
    static int indices[MANY];
    int num = 0, all[3], counts[3];
    list_function *const functions[] = {T(category_get_cvars), T(category_get_pvars),
                                        T(category_get_categories)};
    SUCCEEDS(T(category_get_num)(&num));
    SUCCEEDS(T(cvar_get_num)(&all[0]));
    SUCCEEDS(T(pvar_get_num)(&all[1]));
    all[2] = num;
    for (int i = 0; i < num; i++) {
        if (!EXISTS(counts_of(i, &counts[0], &counts[1], &counts[2])))
            continue;
        for (int sort = 0; sort < 3; sort++) {
            SUCCEEDS(functions[sort](i, counts[sort], indices));
            for (int j = 0; j < counts[sort]; j++)
                IS(indices[j] >= 0 && indices[j] < all[sort], true);
        }
    }
}

static void a_short_array_is_filled_but_not_exceeded(void)
{
    int num = 0, cvars = 0, indices[2] = {-5, -5};
    SUCCEEDS(T(category_get_num)(&num));
    for (int i = 0; i < num; i++) {
        if (!EXISTS(counts_of(i, &cvars, NULL, NULL)) || cvars < 2)
            continue;
        indices[0] = indices[1] = -5;
        SUCCEEDS(T(category_get_cvars)(i, 1, indices));
        IS(indices[0] >= 0, true);
        IS(indices[1], -5);
        SUCCEEDS(T(category_get_cvars)(i, 0, NULL));
    }
}

static void a_layers_variables_are_in_its_categories(void)
{
    int layer = -1, cvars = 0, pvars = 0, categories = 0, root = -1;
    SUCCEEDS(T(category_get_index)("qmpi", &root));
    char name[100];
    snprintf(name, sizeof name, "qmpi.%s", conform_publisher);
    SUCCEEDS(T(category_get_index)(name, &layer));
    SUCCEEDS(counts_of(root, NULL, NULL, &categories));
    IS(lists(T(category_get_categories), root, categories, layer), true);
    SUCCEEDS(counts_of(layer, &cvars, &pvars, &categories));
    IS(lists(T(category_get_categories), layer, categories, conform_category("group")), true);
    IS(lists(T(category_get_categories), layer, categories, conform_category("inner")), false);
    IS(lists(T(category_get_cvars), layer, cvars, conform_cvar("text")), true);
    IS(lists(T(category_get_cvars), layer, cvars, conform_cvar("enabled")), true);
    IS(lists(T(category_get_cvars), layer, cvars, conform_cvar("limit")), false);
    const int inner = conform_category("inner"), group = conform_category("group");
    SUCCEEDS(counts_of(group, NULL, &pvars, &categories));
    IS(lists(T(category_get_categories), group, categories, inner), true);
    IS(lists(T(category_get_pvars), group, pvars, conform_pvar("calls", MPI_T_PVAR_CLASS_COUNTER)),
       true);
    SUCCEEDS(counts_of(inner, &cvars, &pvars, &categories));
    IS(cvars * 100 + pvars * 10 + categories, 110);
    IS(lists(T(category_get_cvars), inner, cvars, conform_cvar("limit")), true);
}

/* Returns whether the category `sought` is below `category`. A nesting of more than 10 levels
 * counts as a cycle. Looks at no more than 64 subcategories of a category. */
static bool is_subcategory(int category, int sought, int depth)
{
    int count = 0, indices[64];
    if (!EXISTS(counts_of(category, NULL, NULL, &count)))
        return false;
    SUCCEEDS(T(category_get_categories)(category, 64, indices));
    for (int i = 0; i < count && i < 64; i++) {
        if (indices[i] == sought || depth > 10 || is_subcategory(indices[i], sought, depth + 1))
            return true;
    }
    return false;
}

static void categories_have_no_cycles(void)
{
    int num = 0;
    SUCCEEDS(T(category_get_num)(&num));
    for (int i = 0; i < num; i++)
        IS(is_subcategory(i, i, 0), false);
}

static void without_changes_the_update_number_stays(void)
{
    int one = -1, two = -2;
    SUCCEEDS(T(category_changed)(&one));
    SUCCEEDS(T(category_changed)(&two));
    IS(one, two);
}

#if MPI_VERSION >= 4
static void events_of_categories_are_those_of_the_library(void)
{
    int num = 0, of_library = 0;
    SUCCEEDS(T(category_get_num)(&num));
    SUCCEEDS(PMPI_T_category_get_num(&of_library));
    for (int i = 0; i < num; i++) {
        int events = -1, same = -1;
        const int result = T(category_get_num_events)(i, &events);
        if (i < of_library) {
            IS(result, PMPI_T_category_get_num_events(i, &same));
            IS(events, same);
            IS(T(category_get_events)(i, 0, NULL), PMPI_T_category_get_events(i, 0, NULL));
        } else {
            SUCCEEDS(result);
            IS(events, 0);
            SUCCEEDS(T(category_get_events)(i, 0, NULL));
        }
    }
}
#endif

/* ---- Items that are published later ---------------------------------------------------------- */

static void items_that_are_published_later_are_added_at_the_end(void)
{
    static int times;
    int cvars, pvars, categories, stamp, more, index, group = 0;
    char name[32];
    /* Skips names that were published by an earlier run of this case with another client. */
    do {
        snprintf(name, sizeof name, "late.%d", ++times);
    } while (T(category_get_index)(conform_name(name), &index) == MPI_SUCCESS);
    SUCCEEDS(T(cvar_get_num)(&cvars));
    SUCCEEDS(T(pvar_get_num)(&pvars));
    SUCCEEDS(T(category_get_num)(&categories));
    SUCCEEDS(T(category_changed)(&stamp));
    SUCCEEDS(counts_of(conform_category("group"), NULL, &group, NULL));
    conform_write("publish", &times);
    SUCCEEDS(T(category_changed)(&more));
    IS(more > stamp, true);
    SUCCEEDS(T(cvar_get_num)(&more));
    IS(more, cvars + 1);
    IS(conform_cvar(name), cvars);
    SUCCEEDS(T(pvar_get_num)(&more));
    IS(more, pvars + 1);
    IS(conform_pvar(name, MPI_T_PVAR_CLASS_COUNTER), pvars);
    SUCCEEDS(T(category_get_num)(&more));
    IS(more, categories + 1);
    IS(conform_category(name), categories);
    SUCCEEDS(counts_of(conform_category("group"), NULL, &more, NULL));
    IS(more, group + 1);
    indices_and_names_of_categories_belong_together();
}

const struct conform_case conform_categories[] = {
    CASE(indices_and_names_of_categories_belong_together, LIBRARY),
    CASE(an_index_or_name_that_no_category_has_is_invalid, LIBRARY),
    CASE(members_of_categories_are_indices_that_exist, LIBRARY),
    CASE(a_short_array_is_filled_but_not_exceeded, LIBRARY),
    CASE(a_layers_variables_are_in_its_categories, PUBLISHER),
    CASE(categories_have_no_cycles, LIBRARY),
    CASE(without_changes_the_update_number_stays, LIBRARY),
#if MPI_VERSION >= 4
    CASE(events_of_categories_are_those_of_the_library, LIBRARY),
#endif
    CASE(items_that_are_published_later_are_added_at_the_end, PUBLISHER),
    {NULL, NULL, LIBRARY},
};
