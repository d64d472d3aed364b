/* SPDX-License-Identifier: MIT */
/* Makes the linker take the functions of zstd.map from a static libzstd. */
#include <zstd.h>

typedef void function(void);

extern function *const qmpi_zstd_functions[];
function *const qmpi_zstd_functions[] = {
    (function *)ZSTD_compressBound, (function *)ZSTD_compressCCtx, (function *)ZSTD_createCCtx,
    (function *)ZSTD_decompress,    (function *)ZSTD_freeCCtx,     (function *)ZSTD_isError,
};
