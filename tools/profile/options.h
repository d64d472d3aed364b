/* SPDX-License-Identifier: MIT */
/* The options of a layer of profile, checked. */
#ifndef QMPI_TOOL_PROFILE_OPTIONS_H
#define QMPI_TOOL_PROFILE_OPTIONS_H

#include "profile/profile.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>

enum { PROFILE_DEPTH_MAX = 32 };

struct options {
    const char *output; /* pattern of the file's name; NULL: the table goes to stderr */
    enum profile_format format;
    profile_html_writer *write_page; /* where the format is HTML */
    int top;                         /* at most so many rows in each table; 0: all */
    int depth;                       /* frames of a call site, at most */
    bool sync;                       /* a barrier before collectives */
    bool path;                       /* logical clocks go with the messages */
    bool every_rank;                 /* what is listed by rank is listed for every rank */
    int checkpoint;                  /* seconds; 0: none */
    struct profile_thresholds thresholds;
};

/* All that profile knows, for QMPIX_Tool_info. */
extern const QMPIX_Tool_option profile_options[];

/* Reads the options of layer `tool_id`. False: one is bad; the layer has failed with a message. */
bool profile_options_read(int tool_id, struct options *options);

#endif
