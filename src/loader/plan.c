/* SPDX-License-Identifier: MIT */
/* See plan.h. */
#define _GNU_SOURCE
#include "loader/plan.h"

#include "loader/find.h"
#include "loader/report.h"
#include "process/process.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* A resident tool becomes one layer; listed again it is loaded from a copy. */
static void plan_preloaded(struct qmpi_plan *plan, struct qmpi_preloaded_tool *preloaded)
{
    plan->kind = QMPI_KIND_PMPI;
    plan->path = qmpi_copy(preloaded->path);
    if (!preloaded->taken)
        plan->preloaded = preloaded;
    preloaded->taken = true;
}

/* The same name leads to the same file, and that is looked at once. `earlier` had no problem. */
static bool plan_again(struct qmpi_plan *plan, const struct qmpi_plan *earlier, int count)
{
    for (int i = 0; i < count; i++) {
        if (!earlier[i].path || strcmp(earlier[i].entry->name, plan->entry->name) != 0)
            continue;
        plan->path = qmpi_copy(earlier[i].path);
        plan->kind = earlier[i].kind;
        return true;
    }
    return false;
}

/* A named stack must not hide a tool. Returns whether it does, and says so. */
static bool refuse_stack(const struct qmpi_entry *entry)
{
    if (!entry->stack)
        return false;
    char *path = qmpi_find_namesake(entry->stack, qmpi_installed_folder());
    if (!path && !qmpi_registration_find(entry->stack))
        return false;
    qmpi_problem_print_heading(
        entry, qmpi_message("'%s' is also the name of %s\n"
                            "hint: rename the stack, or remove it and list the tools themselves",
                            entry->stack, path ? path : "a registered tool"));
    free(path);
    return true;
}

/* Plans the next one after the `count` of `listed`. */
static char *plan_entry(struct qmpi_plan *listed, int count, const struct qmpi_entry *entry)
{
    struct qmpi_plan *plan = &listed[count];
    char *problem = NULL;
    *plan = (struct qmpi_plan){.entry = entry, .kind = QMPI_KIND_NATIVE};
    if (entry->problem)
        return qmpi_copy(entry->problem);
    plan->tool = qmpi_registration_find(entry->name);
    if (plan->tool || plan_again(plan, listed, count))
        return NULL;
    struct qmpi_preloaded_tool *preloaded = qmpi_preloaded_by_name(entry->name);
    if (!preloaded) {
        char *registered = qmpi_registration_list();
        plan->path = qmpi_find_library(entry, qmpi_installed_folder(), registered, &problem);
        free(registered);
        if (plan->path)
            problem = qmpi_kind_read(plan->path, qmpi_base_soname(), &plan->kind);
        preloaded = problem ? NULL : qmpi_preloaded_by_file(plan->path);
    }
    if (preloaded) {
        free(plan->path);
        plan_preloaded(plan, preloaded);
    }
    return problem;
}

/* Stands for a tool that is not listed where an entry is asked for. */
static const struct qmpi_entry *make_entry(const struct qmpi_preloaded_tool *preloaded)
{
    struct qmpi_entry *entry = qmpi_allocate(1, sizeof *entry);
    entry->text = qmpi_copy(preloaded->path);
    entry->name = qmpi_copy(preloaded->name);
    return entry;
}

static int adopt(struct qmpi_plan *plans, bool in_front)
{
    int count = 0;
    for (int i = 0; i < qmpi_preloaded_count(); i++) {
        struct qmpi_preloaded_tool *preloaded = qmpi_preloaded_get(i);
        if (preloaded->taken || preloaded->in_front != in_front)
            continue;
        plans[count].entry = make_entry(preloaded);
        plan_preloaded(&plans[count++], preloaded);
    }
    return count;
}

/* The program's calls reach a tool in front of us before the layers above it. */
static char *check_place(const struct qmpi_plan *plans, int index)
{
    const struct qmpi_preloaded_tool *preloaded = plans[index].preloaded;
    if (!preloaded || !preloaded->in_front || index == 0 ||
        (plans[index - 1].preloaded && plans[index - 1].preloaded->in_front))
        return NULL;
    return qmpi_message(
        "%s is loaded before libqmpi, so the program's calls would bypass the layers above "
        "it\nhint: put libqmpi first in LD_PRELOAD, or list this tool first",
        preloaded->path);
}

static int check_places(struct qmpi_plan *plans, int count)
{
    int saved = 0;
    for (int i = 0; i < count; i++) {
        plans[saved] = plans[i];
        char *problem = check_place(plans, saved);
        if (problem)
            qmpi_problem_report_entry(plans[i].entry, problem);
        else
            saved++;
    }
    return saved;
}

struct qmpi_plan *qmpi_plan_make(const struct qmpi_tool_list *list, int *count)
{
    qmpi_preloaded_find();
    const int tool_count = qmpi_preloaded_count();
    struct qmpi_plan *listed = qmpi_allocate((size_t)list->count, sizeof *listed);
    int listed_count = 0;
    bool refused = false; /* the named stack of the entry */
    for (int i = 0; i < list->count; i++) {
        if (!i || list->entries[i].stack != list->entries[i - 1].stack)
            refused = refuse_stack(&list->entries[i]);
        if (refused)
            continue;
        char *problem = plan_entry(listed, listed_count, &list->entries[i]);
        if (problem) {
            free(listed[listed_count].path);
            listed[listed_count].path = NULL;
            qmpi_problem_print_entry(&list->entries[i], problem);
        } else {
            listed_count++;
        }
    }
    qmpi_problem_stop();
    struct qmpi_plan *plans = qmpi_allocate((size_t)(listed_count + tool_count), sizeof *plans);
    *count = adopt(plans, true);
    memcpy(plans + *count, listed, (size_t)listed_count * sizeof *plans);
    *count += listed_count;
    *count += adopt(plans + *count, false);
    *count = check_places(plans, *count);
    free(listed);
    return plans;
}
