/* SPDX-License-Identifier: MIT */
/* See json_elements.h: findings. */
#include "profile/json_elements.h"

/* Adds where the finding is. */
static bool add_place(json_t *object, const struct profile_result *result,
                      const struct profile_callsite *site)
{
    const struct profile_frame *frame = site->frame_count ? site->frames : NULL;
    bool good = json_object_set_new(object, "function", element_string(site->name)) == 0;
    if (frame && frame->file)
        good = json_object_set_new(object, "file", element_string(frame->file)) == 0 && good;
    if (frame && frame->file && frame->line > 0)
        good = json_object_set_new(object, "line", json_integer(frame->line)) == 0 && good;
    return json_object_set_new(object, "callsite", json_integer(site - result->callsites)) == 0 &&
           good;
}

json_t *element_finding(const struct profile_result *result, const struct profile_finding *it)
{
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:i}", "kind", it->kind, "summary",
                  element_string(it->summary), "meaning", element_string(it->meaning), "advice",
                  element_string(it->advice), "seconds", element_real(it->seconds), "share",
                  element_real(it->share), "rank", it->rank);
    bool good = object != NULL;
    if (it->peer >= 0)
        good = good && json_object_set_new(object, "peer", json_integer(it->peer)) == 0;
    return element_finish(object, good && (!it->site || add_place(object, result, it->site)));
}

json_t *element_findings(const struct profile_result *result,
                         const struct profile_findings *findings)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int i = 0; i < findings->count && good; i++)
        good = json_array_append_new(array, element_finding(result, &findings->all[i])) == 0;
    return element_finish(array, good);
}
