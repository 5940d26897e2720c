#include "artifacts/base/err.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put(char *dst, size_t n, const char *src)
{
    snprintf(dst, n, "%s", src ? src : "");
}

rp_code err_set(rp_err *e, rp_code code, const char *fmt, ...)
{
    if (e->code)
        return e->code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    return e->code = code;
}

rp_code err_invalid(rp_err *e, finding_id id, const char *file, const char *where, const char *fmt, ...)
{
    if (e->code)
        return e->code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    put(e->file, sizeof e->file, file);
    put(e->where, sizeof e->where, where);
    e->id = id;
    return e->code = RP_INVALID;
}

rp_code err_errno(rp_err *e, const char *file, const char *what)
{
    if (e->code)
        return e->code;
    put(e->file, sizeof e->file, file);
    return err_set(e, RP_IO, "cannot %s: %s", what, strerror(errno));
}

rp_code err_nomem(rp_err *e)
{
    return err_set(e, RP_NOMEM, "out of memory");
}

rp_code err_file(rp_err *e, const char *file)
{
    if (e->code && !e->file[0])
        put(e->file, sizeof e->file, file);
    return e->code;
}

void err_text(const rp_err *e, char *out, size_t out_bytes)
{
    snprintf(out, out_bytes, "%s%s%s%s%s", e->file, e->file[0] ? ": " : "", e->where, e->where[0] ? ": " : "",
             e->msg);
}

bool err_to_finding(rp_err *e, findings *fs)
{
    if (e->code != RP_INVALID)
        return false;
    findings_add(fs, e->id, e->file, e->where, NULL, NULL, "%s", e->msg);
    *e = (rp_err){0};
    return true;
}
