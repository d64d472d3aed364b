/* SPDX-License-Identifier: MIT */
/*
 * A tool that only offers a service to other tools: it tells them the current region of the program
 * (regions.h). Regions belong to the whole process, and may nest and overlap. Only one thread at a
 * time may open or close regions, but any thread may ask for them. docs/write/services.md explains
 * how other tools use the service.
 */
#include "regions.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 64, LENGTH = 64 };

struct layer {
    char names[REGIONS_MAX][LENGTH];
    int count;       /* the regions have the numbers 1 … count */
    int open[DEPTH]; /* regions, the innermost one last */
    int depth;
    _Atomic int current;
};
static struct layer layers[256];

/*
 * Copies the name of a region. Returns 0 if there is no valid name. C cannot tell how many
 * arguments were passed to MPI_Pcontrol, so the address may be invalid. Therefore, the kernel reads
 * the name: write() fails if an address cannot be read.
 */
static int copy_name(const char *from, char *name)
{
    int ends[2], length = 0;
    if (pipe(ends))
        return 0;
    while (length < LENGTH && write(ends[1], from + length, 1) == 1 &&
           read(ends[0], name + length, 1) == 1 && name[length] >= ' ' && name[length] <= '~')
        length++;
    const int good = length && length < LENGTH && !name[length];
    close(ends[0]);
    close(ends[1]);
    return good;
}

/* Returns the number of a region, which is added if it is new; 0 if there are too many. */
static int find(struct layer *layer, const char *name)
{
    for (int region = 1; region <= layer->count; region++) {
        if (!strcmp(layer->names[region], name))
            return region;
    }
    if (layer->count + 1 == REGIONS_MAX)
        return 0;
    strcpy(layer->names[++layer->count], name);
    return layer->count;
}

static void open_region(struct layer *layer, int region)
{
    if (region && layer->depth < DEPTH)
        layer->open[layer->depth++] = region;
}

static void close_region(struct layer *layer, int region)
{
    int i = layer->depth - 1;
    while (i >= 0 && layer->open[i] != region)
        i--;
    if (i < 0)
        return; /* it is not open */
    layer->depth--;
    memmove(&layer->open[i], &layer->open[i + 1], (size_t)(layer->depth - i) * sizeof(int));
}

QMPIX_PCONTROL_READER static int my_Pcontrol(QMPI_Context c, const int level, ...)
{
    QMPIX_Pcontrol_words words;
    char name[LENGTH];
    int tool_id = 0;
    QMPIX_PCONTROL_READ(words, level);
    QMPIX_Context_get_tool_id(c, &tool_id);
    struct layer *layer = &layers[tool_id];
    if ((level == 1 || level == -1) && copy_name((const char *)words.word[0], name)) {
        if (level == 1)
            open_region(layer, find(layer, name));
        else
            close_region(layer, find(layer, name));
        layer->current = layer->depth ? layer->open[layer->depth - 1] : 0;
    }
    return QMPIX_NEXT(c, Pcontrol)(QMPIX_NEXT_CONTEXT(c), level, QMPIX_PCONTROL_PASS(words));
}

static int current(int offering_id)
{
    return layers[offering_id].current;
}

static const char *name(int offering_id, int region)
{
    return region ? layers[offering_id].names[region] : "(no region)";
}

static void init(int tool_id)
{
    static const regions_table table = {.current = current, .name = name};
    QMPIX_REGISTER(tool_id, Pcontrol, my_Pcontrol);
    QMPIX_Tool_keep_function(tool_id, MPI_PCONTROL_T); /* even while the layer is off */
    regions_offer(tool_id, &table);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {.size = sizeof info,
                                         .description = "tells other tools the regions of the "
                                                        "program"};
    QMPI_Register_tool_name("regions", init);
    QMPIX_Register_tool_info("regions", &info);
}
