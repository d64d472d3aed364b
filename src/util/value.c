/* SPDX-License-Identifier: MIT */
/* See value.h. */
#define _GNU_SOURCE
#include "util/value.h"

#include "util/arch/arithmetic.h"
#include "util/message.h"

#include <errno.h>
#include <fnmatch.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Whole numbers are stored as integers, because a double has a precision of only 53 bits. */
struct number {
    bool is_whole;
    uint64_t whole;
    double real;
};

/* Returns the text after the number and the blanks that follow it, or NULL if there is no
 * number. */
static const char *read_number(const char *text, struct number *number)
{
    char *end, *end_of_whole;
    text = skip_blanks(text);
    text += *text == '+';
    if (!(*text >= '0' && *text <= '9') && *text != '.')
        return NULL;
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    number->real = plain ? strtod_l(text, &end, plain) : strtod(text, &end);
    qmpi_arithmetic_end(&before);
    if (plain)
        freelocale(plain);
    errno = 0;
    number->whole = strtoull(text, &end_of_whole, 10);
    number->is_whole = end_of_whole == end && !errno;
    return end == text ? NULL : skip_blanks(end);
}

/* Reads a number that may be followed by blanks and a sign, but by nothing else. */
static bool read_only_number(const char *text, const char *sign, struct number *number)
{
    const char *rest = read_number(text, number);
    if (rest && *sign && *rest == *sign)
        rest = skip_blanks(rest + 1);
    return rest && !*rest;
}

bool qmpi_value_whole(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    struct number given;
    if (!read_only_number(text, "", &given) || !given.is_whole || given.whole < least ||
        given.whole > most)
        return false;
    *number = given.whole;
    return true;
}

QMPI_COMPUTES static bool is_at_most(const double *number, const double *most)
{
    return *number <= *most;
}

static bool read_real(const char *text, const char *sign, double most, double *number)
{
    struct number given;
    struct qmpi_arithmetic before;
    if (!read_only_number(text, sign, &given))
        return false;
    qmpi_arithmetic_begin(&before);
    const bool fits = is_at_most(&given.real, &most);
    qmpi_arithmetic_end(&before);
    if (fits)
        *number = given.real;
    return fits;
}

bool qmpi_value_real(const char *text, double most, double *number)
{
    return read_real(text, "", most, number);
}

bool qmpi_value_percent(const char *text, double *percent)
{
    return read_real(text, "%", 1e15, percent);
}

bool qmpi_value_whole_percent(const char *text, int *percent)
{
    struct number given;
    if (!read_only_number(text, "%", &given) || !given.is_whole || given.whole < 1 ||
        given.whole > 100)
        return false;
    *percent = (int)given.whole;
    return true;
}

/* ---- Numbers with units ---------------------------------------------------------------------- */

struct unit {
    const char *name; /* "" stands for the unit that is assumed if none is given */
    uint64_t factor;
};

#define NANOSECONDS UINT64_C(1000000000)
static const struct unit times[] = {
    {"", NANOSECONDS},         {"ns", 1},          {"us", 1000},
    {"ms", 1000000},           {"s", NANOSECONDS}, {"min", 60 * NANOSECONDS},
    {"h", 3600 * NANOSECONDS}, {NULL, 0}};

static const struct unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"K", UINT64_C(1) << 10},
    {"KiB", UINT64_C(1) << 10},
    {"KB", 1000},
    {"M", UINT64_C(1) << 20},
    {"MiB", UINT64_C(1) << 20},
    {"MB", 1000000},
    {"G", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30},
    {"GB", 1000000000},
    {"T", UINT64_C(1) << 40},
    {"TiB", UINT64_C(1) << 40},
    {"TB", UINT64_C(1000000000000)},
    {NULL, 0},
};

typedef int compare_parts(const char *one, const char *other, size_t length);

static const struct unit *find_unit(const struct unit *unit, const char *name, size_t length,
                                    compare_parts *compare)
{
    while (unit->name && (strlen(unit->name) != length || compare(unit->name, name, length) != 0))
        unit++;
    return unit->name ? unit : NULL;
}

/* Multiplies a real number. A product that is not 0 is rounded up to at least 1. */
QMPI_COMPUTES static bool scale_real(const double *number, uint64_t factor, uint64_t *product)
{
    const double real = *number * (double)factor;
    if (!(real < 0x1p63))
        return false;
    *product = (uint64_t)(real + 0.5);
    *product += !*product && real > 0;
    return true;
}

static bool scale_number(const struct number *number, uint64_t factor, uint64_t *product)
{
    struct qmpi_arithmetic before;
    if (number->is_whole)
        return !__builtin_mul_overflow(number->whole, factor, product);
    qmpi_arithmetic_begin(&before);
    const bool fits = scale_real(&number->real, factor, product);
    qmpi_arithmetic_end(&before);
    return fits;
}

/* Returns the text after the number, its unit and the blanks that follow, or NULL if there is no
 * valid number with a unit. */
static const char *read_with_unit(const char *text, const struct unit *units,
                                  compare_parts *compare, uint64_t *value)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    struct number number;
    const char *name = read_number(text, &number);
    const size_t length = name ? strspn(name, letters) : 0;
    const struct unit *unit = name ? find_unit(units, name, length, compare) : NULL;
    if (!unit || !scale_number(&number, unit->factor, value))
        return NULL;
    return skip_blanks(name + length);
}

bool qmpi_value_size(const char *text, uint64_t *bytes)
{
    uint64_t value;
    const char *rest = read_with_unit(text, sizes, strncasecmp, &value);
    if (!rest || *rest)
        return false;
    *bytes = value;
    return true;
}

const char *qmpi_value_time_part(const char *text, uint64_t *nanoseconds)
{
    uint64_t value;
    const char *rest = read_with_unit(text, times, strncmp, &value);
    if (!rest || value > INT64_MAX)
        return NULL;
    *nanoseconds = value;
    return rest;
}

bool qmpi_value_time(const char *text, uint64_t *nanoseconds)
{
    uint64_t value;
    const char *rest = qmpi_value_time_part(text, &value);
    if (!rest || *rest)
        return false;
    *nanoseconds = value;
    return true;
}

/* ---- Words ----------------------------------------------------------------------------------- */

bool qmpi_value_boolean(const char *text, bool *yes)
{
    static const char *const words[] = {"no", "yes", "off", "on", "false", "true", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(text, words[i])) {
            *yes = i % 2;
            return true;
        }
    }
    return false;
}

bool qmpi_value_is_yes(const char *text)
{
    bool yes = false;
    return text && qmpi_value_boolean(text, &yes) && yes;
}

/* ---- Sets of numbers ------------------------------------------------------------------------- */

static const char *read_member(const char *text, uint64_t *number)
{
    struct number given;
    const char *rest = read_number(text, &given);
    if (!rest || !given.is_whole)
        return NULL;
    *number = given.whole;
    return rest;
}

static bool ends_item(const char *text)
{
    return !*text || *text == ';' || *text == ',';
}

static const char *read_range(const char *text, struct qmpi_value_range *range)
{
    static const char step[] = "every";
    *range = (struct qmpi_value_range){.first = 0, .last = UINT64_MAX, .step = 1};
    if (!strncmp(text, step, sizeof step - 1)) {
        const char *rest = read_member(text + sizeof step - 1, &range->step);
        return range->step ? rest : NULL;
    }
    const char *rest = read_member(text, &range->first);
    if (!rest || *rest != '-') {
        range->last = range->first;
        return rest;
    }
    rest = skip_blanks(rest + 1);
    if (ends_item(rest))
        return rest; /* the range has no upper limit */
    rest = read_member(rest, &range->last);
    return range->last < range->first ? NULL : rest;
}

/* Items may be empty, but at least one must not be. */
bool qmpi_value_set_read(const char *text, struct qmpi_value_set *set)
{
    const char *rest = text;
    int room = 1;
    for (const char *at = text; *at; at++)
        room += *at == ';' || *at == ',';
    *set = (struct qmpi_value_set){.ranges = qmpi_allocate((size_t)room, sizeof *set->ranges)};
    while (rest && *(rest += strspn(rest, " \t;,")))
        rest =
            (rest = read_range(rest, &set->ranges[set->count++])) && ends_item(rest) ? rest : NULL;
    if (rest && set->count)
        return true;
    free(set->ranges);
    *set = (struct qmpi_value_set){.count = 0};
    return false;
}

/* ---- Lists of functions ---------------------------------------------------------------------- */

/* The groups, in the order of the bits QMPIX_GROUP_…. QMPI_VALUE_GROUPS lists the same words. */
static const struct {
    const char *word; /* in options */
    const char *name; /* in results */
} groups[] = {
    {"point-to-point", "point-to-point"},
    {"completion", "completion"},
    {"collective", "collective"},
    {"one-sided", "one-sided"},
    {"io", "I/O"},
    {"datatype", "datatype"},
    {"communicator", "communicator"},
    {"group", "group"},
    {"topology", "topology"},
    {"environment", "environment"},
    {"info", "info"},
    {"process", "process"},
    {"tool-information", "tool information"},
};
enum { GROUPS = sizeof groups / sizeof *groups };

const char *qmpi_value_group_name(unsigned group)
{
    for (int i = 0; i < GROUPS; i++) {
        if (group == 1U << i)
            return groups[i].name;
    }
    return "";
}

static unsigned group_named(const char *word)
{
    for (int i = 0; i < GROUPS; i++) {
        if (!strcasecmp(groups[i].word, word) || !strcasecmp(groups[i].name, word))
            return 1U << i;
    }
    return 0;
}

/* Returns the next item of a list without the blanks around it, or NULL if there is none. The
 * caller frees it. */
static char *next_item(const char **list)
{
    *list += strspn(*list, "; ");
    const size_t end = strcspn(*list, ";");
    size_t length = end;
    while (length && (*list)[length - 1] == ' ')
        length--;
    char *item = length ? qmpi_copy_part(*list, length) : NULL;
    *list += end;
    return item;
}

/* Adds or removes the functions that an item stands for. Returns whether there are any. */
static bool apply_item(const char *item, bool adds, int count,
                       qmpi_value_function_describer *describe, unsigned char *listed)
{
    const unsigned wanted = group_named(item);
    bool found = false;
    for (int number = 0; number < count; number++) {
        const char *name;
        unsigned group;
        if (!describe(number, &name, &group) ||
            !(wanted ? group == wanted : !fnmatch(item, name, FNM_CASEFOLD)))
            continue;
        found = true;
        listed[number] = adds ? QMPI_VALUE_LISTED : 0;
        if (adds && !strcasecmp(item, name))
            listed[number] |= QMPI_VALUE_NAMED;
    }
    return found;
}

char *qmpi_value_read_functions(const char *list, int count,
                                qmpi_value_function_describer *describe, unsigned char *listed)
{
    char *item;
    const char *first = list + strspn(list, "; ");
    memset(listed, 0, (size_t)count);
    if (!*first)
        return qmpi_copy("");
    if (*first == '!')
        apply_item("*", true, count, describe, listed);
    while ((item = next_item(&list))) {
        const bool removes = *item == '!';
        if (!apply_item(item + removes, !removes, count, describe, listed))
            return item;
        free(item);
    }
    for (int number = 0; number < count; number++) {
        if (listed[number])
            return NULL;
    }
    return qmpi_copy(""); /* the list removes all that it adds */
}

char *qmpi_value_refuse_functions(const char *option, const char *item)
{
    if (!*item)
        return qmpi_message("%s: the list selects no function of this MPI\n"
                            "hint: name some functions, or remove the option to select all",
                            option);
    char *shown = qmpi_message_shorten(item);
    char *problem =
        qmpi_message("%s: '%s' matches no function of this MPI\n"
                     "hint: give names that `qmpi functions` lists, patterns such as MPI_*send, or "
                     "groups such as collective or point-to-point",
                     option, shown);
    free(shown);
    return problem;
}

/* ---- Lists of patterns ----------------------------------------------------------------------- */

bool qmpi_value_matches_patterns(const char *patterns, const char *name, bool fold)
{
    bool found = !patterns;
    while (!found && *patterns) {
        const size_t length = strcspn(patterns, ";");
        char *pattern = qmpi_copy_part(patterns, length);
        found = *pattern && !fnmatch(pattern, name, fold ? FNM_CASEFOLD : 0);
        free(pattern);
        patterns += length + (patterns[length] == ';');
    }
    return found;
}

bool qmpi_value_lists_name(const char *patterns, const char *name)
{
    const size_t wanted = strlen(name);
    while (patterns && *patterns) {
        const size_t length = strcspn(patterns, ";");
        if (length == wanted && !memcmp(patterns, name, length))
            return true;
        patterns += length + (patterns[length] == ';');
    }
    return false;
}

/* ---- Numbers in a thread of the application -------------------------------------------------- */

/* The new locale is a copy of the current one in which only LC_NUMERIC differs, so that messages
 * stay in the language of the application. */
void qmpi_value_begin_numbers(struct qmpi_value_numbers *numbers)
{
    const locale_t copy = duplocale(uselocale((locale_t)0));
    numbers->ours = copy ? newlocale(LC_NUMERIC_MASK, "C", copy) : (locale_t)0;
    if (copy && !numbers->ours)
        freelocale(copy);
    if (numbers->ours)
        numbers->before = uselocale(numbers->ours);
    qmpi_arithmetic_begin(&numbers->arithmetic);
}

void qmpi_value_end_numbers(struct qmpi_value_numbers *numbers)
{
    qmpi_arithmetic_end(&numbers->arithmetic);
    if (!numbers->ours)
        return;
    uselocale(numbers->before);
    freelocale(numbers->ours);
}
