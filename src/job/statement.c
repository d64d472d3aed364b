/* SPDX-License-Identifier: MIT */
/* The statement of this process, and functions that read statements. See statement.h. */
#include "job/statement.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* In identities, names and messages, each of `separators` is replaced by ESCAPE and the
 * corresponding one of `letters`. */
enum { ESCAPE = '\2' };
static const char separators[] = {'\n', QMPI_STATES_NAME, ESCAPE, '\0'}, letters[] = "lne";

struct stated_layer {
    const char *identity, *name;
};

static struct stated_layer *layers; /* [tool_id] */
static size_t layer_room;
static int layer_count; /* elements, also those without an identity */
static char *problems;  /* lines, ready for a statement */
static bool stops;      /* this process cannot run */

void qmpi_statement_set_layer(int tool_id, const char *identity, const char *name)
{
    if (!QMPI_MEMORY_RESERVE(layers, layer_room, (size_t)tool_id + 1))
        qmpi_memory_exhausted();
    if (layer_count <= tool_id)
        layer_count = tool_id + 1;
    layers[tool_id] = (struct stated_layer){identity, name};
}

static char *escape_separators(const char *text)
{
    char *line = qmpi_allocate(2 * strlen(text) + 1, 1), *to = line;
    for (; *text; text++) {
        const char *found = strchr(separators, *text);
        if (found)
            *to++ = ESCAPE;
        *to++ = found ? letters[found - separators] : *text;
    }
    return line;
}

void qmpi_statement_add_problem(const char *text)
{
    char *line = escape_separators(text);
    char *more = qmpi_format("%s%c%s\n", problems ? problems : "", QMPI_STATES_PROBLEM, line);
    free(line);
    free(problems);
    problems = more;
}

void qmpi_statement_set_stop(void)
{
    stops = true;
}

char *qmpi_statement_of_process(void)
{
    char *text = qmpi_format("%s%s", problems ? problems : "", stops ? "S\n" : "");
    for (int i = 0; i < layer_count && !stops; i++) {
        if (!layers[i].identity)
            continue;
        char *identity = escape_separators(layers[i].identity);
        char *name = escape_separators(layers[i].name ? layers[i].name : "");
        char *more =
            qmpi_format("%s%c%s%c%s\n", text, QMPI_STATES_LAYER, identity, QMPI_STATES_NAME, name);
        free(identity);
        free(name);
        free(text);
        text = more;
    }
    return text;
}

int qmpi_statement_layers(void)
{
    return layer_count;
}

bool qmpi_statement_has_layer(int tool_id)
{
    return layers[tool_id].identity != NULL;
}

bool qmpi_statement_has_problem(const char *line)
{
    const char *text = problems ? problems : "";
    bool has = false;
    for (char *own; !has && (own = qmpi_statement_next_line(&text, QMPI_STATES_PROBLEM));) {
        has = !strcmp(own, line);
        free(own);
    }
    return has;
}

/* ---- Reading --------------------------------------------------------------------------------- */

char *qmpi_statement_next_line(const char **text, char kind)
{
    while (**text) {
        const char *line = *text;
        const size_t length = strcspn(line, "\n");
        *text += length + (line[length] == '\n');
        if (*line == kind)
            return qmpi_copy_part(line + 1, length - 1);
    }
    return NULL;
}

void qmpi_statement_restore(char *text)
{
    char *to = text;
    for (; *text; text++) {
        const char *found = *text == ESCAPE && text[1] ? strchr(letters, text[1]) : NULL;
        *to++ = found ? separators[found - letters] : *text;
        text += found != NULL;
    }
    *to = '\0';
}
