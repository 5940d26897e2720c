#include "artifacts/zs.h"
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct zs_enc {
    ZSTD_CCtx *ctx;
};

struct zs_dec {
    ZSTD_DCtx *ctx;
};

size_t zs_bound(size_t n)
{
    return ZSTD_compressBound(n);
}

zs_enc *zs_enc_new(int level)
{
    zs_enc *z = calloc(1, sizeof *z);
    if (!z)
        return NULL;
    z->ctx = ZSTD_createCCtx();
    if (!z->ctx || ZSTD_isError(ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_checksumFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_contentSizeFlag, 1))) {
        zs_enc_free(z);
        return NULL;
    }
    return z;
}

void zs_enc_free(zs_enc *z)
{
    if (!z)
        return;
    ZSTD_freeCCtx(z->ctx);
    free(z);
}

rp_code zs_enc_frame(rp_err *e, size_t *out_bytes, zs_enc *z, void *out, span in)
{
    size_t n = ZSTD_compress2(z->ctx, out, zs_bound(in.n), in.p, in.n);
    if (ZSTD_isError(n))
        return err_set(e, RP_NOMEM, "cannot compress: %s", ZSTD_getErrorName(n));
    *out_bytes = n;
    return RP_OK;
}

zs_dec *zs_dec_new(void)
{
    zs_dec *z = calloc(1, sizeof *z);
    if (!z)
        return NULL;
    z->ctx = ZSTD_createDCtx();
    if (!z->ctx || ZSTD_isError(ZSTD_DCtx_setParameter(z->ctx, ZSTD_d_windowLogMax, ZS_WINDOW_LOG_MAX))) {
        zs_dec_free(z);
        return NULL;
    }
    return z;
}

void zs_dec_free(zs_dec *z)
{
    if (!z)
        return;
    ZSTD_freeDCtx(z->ctx);
    free(z);
}

const char zs_no_memory[] = "out of memory";

static const char *why(size_t code)
{
    return ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation ? zs_no_memory : ZSTD_getErrorName(code);
}

const char *zs_dec_frame(zs_dec *z, void *out, size_t n, span frame)
{
    size_t got = ZSTD_decompressDCtx(z->ctx, out, n, frame.p, frame.n);
    if (ZSTD_isError(got))
        return why(got);
    return got == n ? NULL : "the content is not as long as the frame states";
}

void zs_dec_begin(zs_dec *z)
{
    (void)ZSTD_DCtx_reset(z->ctx, ZSTD_reset_session_only); /* never fails */
}

const char *zs_dec_step(zs_dec *z, void *out, size_t out_cap, size_t *out_bytes, span in, size_t *in_bytes,
                        bool *end)
{
    ZSTD_outBuffer o = {.dst = out, .size = out_cap};
    ZSTD_inBuffer i = {.src = in.p, .size = in.n};
    size_t left = ZSTD_decompressStream(z->ctx, &o, &i);
    *out_bytes = o.pos;
    *in_bytes = i.pos;
    *end = left == 0;
    return ZSTD_isError(left) ? why(left) : NULL;
}

const char *zs_library(void)
{
    return ZSTD_versionString();
}
