/* SPDX-License-Identifier: MIT */
/* See options.h. */
#include "options.h"

#include "mpit_manifest.h"
#include "toolkit/toolkit.h"

#include <string.h>

const QMPIX_Tool_option options_known[] = TOOL_OPTIONS;

static bool read_files(struct layer *layer)
{
    const int tool_id = layer->tool_id;
    if (!tool_option_file(tool_id, "output", &layer->output) ||
        !tool_option_file(tool_id, "csv", &layer->csv))
        return false;
    if (layer->output && layer->csv && !strcmp(layer->output, layer->csv)) {
        QMPIX_Tool_fail(tool_id,
                        "output= and csv= name the same file\nhint: give them different names");
        return false;
    }
    const bool is_stdout = layer->output && !strcmp(layer->output, "-");
    return !(!is_stdout && tool_option_file_is_taken(tool_id, "output", layer->output)) &&
           !tool_option_file_is_taken(tool_id, "csv", layer->csv);
}

bool options_read(struct layer *layer)
{
    static const char *const moments[] = {"init", "finalize", "never", NULL};
    static const char *const formats[] = {"table", "json", NULL};
    const int tool_id = layer->tool_id;
    int at = 0, format = 0;
    if (!tool_option_word(tool_id, "at", moments, "give init, finalize or never", &at) ||
        !tool_option_word(tool_id, "format", formats, "give table or json", &format) ||
        !read_files(layer))
        return false;
    layer->at = (enum moment)at;
    layer->json = format == 1;
    QMPIX_Tool_get_option(tool_id, "show", &layer->patterns);
    QMPIX_Tool_get_option(tool_id, "pvars", &layer->globs);
    if (layer->globs && !layer->csv) {
        QMPIX_Tool_fail(tool_id, "pvars= selects variables for a CSV file, but no file is named\n"
                                 "hint: name a file with csv=FILE");
        return false;
    }
    return true;
}
