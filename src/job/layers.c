/* SPDX-License-Identifier: MIT */
/*
 * See qmpi_job_number_layers in job.h. The stacks are merged, one after the other, into one list
 * that contains each of them as a subsequence: a longest common subsequence of the list and the
 * stack stays, and the other layers of the stack are inserted. The number of a layer is its final
 * position in the list. The longest stack comes first, because the others may be subsequences of
 * it.
 */
#include "job/job.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct member {
    const char *identity;
    struct member *next;
    int number;
};

static int length_of(const char *const *stack)
{
    int length = 0;
    while (stack[length])
        length++;
    return length;
}

/* Returns at [i * (m + 1) + k] the length of the longest common subsequence of the last n - i
 * members of the list and the last m - k layers of the stack. */
static int *common_lengths(const struct member *list, int n, const char *const *stack, int m)
{
    const size_t width = (size_t)m + 1;
    int *lengths = qmpi_allocate((size_t)(n + 1) * width, sizeof *lengths);
    const struct member **members = qmpi_allocate((size_t)n + 1, sizeof *members);
    for (int i = 0; i < n; i++, list = list->next)
        members[i] = list;
    for (int i = n - 1; i >= 0; i--) {
        for (int k = m - 1; k >= 0; k--) {
            const int *here = &lengths[(size_t)i * width + (size_t)k], *below = here + width;
            lengths[(size_t)i * width + (size_t)k] = !strcmp(members[i]->identity, stack[k])
                                                         ? below[1] + 1
                                                     : below[0] > here[1] ? below[0]
                                                                          : here[1];
        }
    }
    free(members);
    return lengths;
}

/* Merges a stack into the list, which has *n members. Sets members[k] to the member for layer k of
 * the stack. */
static void merge_stack(struct member **list, int *n, const char *const *stack,
                        struct member **members)
{
    const int m = length_of(stack), count = *n;
    const size_t width = (size_t)m + 1;
    int *lengths = common_lengths(*list, count, stack, m);
    struct member **place = list;
    for (int i = 0, k = 0; k < m;) {
        const int *here = &lengths[(size_t)i * width + (size_t)k];
        if (i < count && !strcmp((*place)->identity, stack[k]) && here[0] == here[width + 1] + 1) {
            members[k++] = *place;
            place = &(*place)->next;
            i++;
        } else if (i < count && here[width] >= here[1]) {
            place = &(*place)->next;
            i++;
        } else {
            struct member *member = qmpi_allocate(1, sizeof *member);
            *member = (struct member){stack[k], *place, 0};
            *place = member;
            place = &member->next;
            members[k++] = member;
            ++*n;
        }
    }
    free(lengths);
}

int **qmpi_job_number_layers(const char *const *const *stacks, int count)
{
    struct member *list = NULL, ***members = qmpi_allocate((size_t)count, sizeof *members);
    int n = 0, number = 0, longest = 0;
    for (int i = 0; i < count; i++) {
        members[i] = qmpi_allocate((size_t)length_of(stacks[i]), sizeof **members);
        longest = length_of(stacks[i]) > longest ? length_of(stacks[i]) : longest;
    }
    for (int length = longest; length > 0; length--) {
        for (int i = 0; i < count; i++) {
            if (length_of(stacks[i]) == length)
                merge_stack(&list, &n, stacks[i], members[i]);
        }
    }
    for (struct member *member = list; member; member = member->next)
        member->number = number++;
    int **numbers = qmpi_allocate((size_t)count, sizeof *numbers);
    for (int i = 0; i < count; i++) {
        const int length = length_of(stacks[i]);
        numbers[i] = qmpi_allocate((size_t)length, sizeof **numbers);
        for (int k = 0; k < length; k++)
            numbers[i][k] = members[i][k]->number;
        free(members[i]);
    }
    while (list) {
        struct member *next = list->next;
        free(list);
        list = next;
    }
    free(members);
    return numbers;
}
