#ifndef FANFARE_CZLIB_H
#define FANFARE_CZLIB_H

#include <zlib.h>

/* The init calls are macros that pass the version and the size of z_stream. */
static inline int shim_deflateInit2(z_stream *stream, int level, int windowBits, int memoryLevel) {
    return deflateInit2(stream, level, Z_DEFLATED, windowBits, memoryLevel, Z_DEFAULT_STRATEGY);
}

static inline int shim_inflateInit2(z_stream *stream, int windowBits) {
    return inflateInit2(stream, windowBits);
}

#endif
