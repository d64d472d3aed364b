#include "program.h"
const struct storm_action storm_object_actions[] = {{0}};
const struct storm_action storm_callback_actions[] = {{0}};
const struct storm_action storm_memory_actions[] = {{0}};
const struct storm_action storm_process_actions[] = {{0}};
