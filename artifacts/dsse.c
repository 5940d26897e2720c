#include "artifacts/dsse.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include "artifacts/base/jsonw.h"
#include <stdio.h>

/* --- Base64. --- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const char *dsse_base64(scratch *sc, span s)
{
    char *out = s.n / 3 < SIZE_MAX / 4 - 2 ? scratch_alloc(sc, (s.n + 2) / 3 * 4 + 1) : NULL, *p = out;
    for (size_t i = 0; out && i < s.n; i += 3) {
        size_t n = s.n - i < 3 ? s.n - i : 3;
        unsigned v =
            (unsigned)s.p[i] << 16 | (n > 1 ? (unsigned)s.p[i + 1] << 8 : 0) | (n > 2 ? s.p[i + 2] : 0);
        *p++ = letters[v >> 18];
        *p++ = letters[v >> 12 & 63];
        *p++ = n > 1 ? letters[v >> 6 & 63] : '=';
        *p++ = n > 2 ? letters[v & 63] : '=';
    }
    return out;
}

/* Value of a letter, noting which alphabet it tells of; 64 for none. */
static unsigned letter(char c, bool *standard, bool *url)
{
    const char *at;
    *standard |= c == '+' || c == '/';
    *url |= c == '-' || c == '_';
    if (c == '-' || c == '_')
        return c == '-' ? 62 : 63;
    at = c ? strchr(letters, c) : NULL;
    return at ? (unsigned)(at - letters) : 64;
}

bool dsse_base64_read(span *out, scratch *sc, const char *text)
{
    size_t n = strlen(text), pad = n && text[n - 1] == '=' ? (n > 1 && text[n - 2] == '=' ? 2 : 1) : 0;
    bool standard = false, url = false;
    *out = span_of(NULL, 0);
    if (n % 4)
        return false;
    uint8_t *bytes = scratch_alloc(sc, n / 4 * 3), *p = bytes;
    if (!bytes)
        return true;
    for (size_t i = 0; i < n; i += 4) {
        unsigned v = 0;
        size_t skip = i + 4 == n ? pad : 0;
        for (size_t k = 0; k < 4; k++) {
            unsigned d = k < 4 - skip ? letter(text[i + k], &standard, &url) : 0;
            if (d > 63)
                return false;
            v = v << 6 | d;
        }
        if (v & (skip == 2 ? 0xffffu : skip == 1 ? 0xffu : 0u))
            return false;
        *p++ = (uint8_t)(v >> 16);
        if (skip < 2)
            *p++ = (uint8_t)(v >> 8);
        if (skip < 1)
            *p++ = (uint8_t)v;
    }
    *out = span_of(bytes, (size_t)(p - bytes));
    return !(standard && url);
}

/* --- Envelopes. --- */

rp_code dsse_pae(rp_err *e, span *out, scratch *sc, const char *payload_type, span payload)
{
    char head[64], middle[32];
    size_t type = strlen(payload_type);
    size_t h = (size_t)snprintf(head, sizeof head, "DSSEv1 %zu ", type);
    size_t m = (size_t)snprintf(middle, sizeof middle, " %zu ", payload.n);
    uint64_t total;
    uint8_t *p;
    if (!ck_add_u64(h + m, type, &total) || !ck_add_u64(total, payload.n, &total) ||
        !(p = scratch_alloc(sc, total)))
        return err_nomem(e);
    *out = span_of(p, total);
    memcpy(p, head, h);
    memcpy(p + h, payload_type, type);
    memcpy(p + h + type, middle, m);
    if (payload.n)
        memcpy(p + h + type + m, payload.p, payload.n);
    return RP_OK;
}

static rp_code base64_member(rp_err *e, span *out, scratch *sc, js_node *obj, const char *key)
{
    const char *text;
    if (js_str(e, &text, obj, key))
        return e->code;
    if (!dsse_base64_read(out, sc, text))
        return js_fail(e, js_find(obj, key), FIND_TRUST_ENVELOPE,
                       "expected padded base64 of one alphabet, found something else");
    return out->p ? RP_OK : err_nomem(e);
}

static rp_code read_all(rp_err *e, dsse *out, scratch *sc, const char *file, span text)
{
    js_node *root, *a;
    size_t n = 0;
    dsse d = {0};
    if (text.n > DSSE_MAX_BYTES)
        return err_invalid(e, FIND_TRUST_ENVELOPE, file, NULL, "expected at most %d bytes, found %zu",
                           DSSE_MAX_BYTES, text.n);
    if (js_parse(e, &root, sc, file, text) || js_as_obj(e, root) ||
        js_str(e, &d.payload_type, root, "payloadType") ||
        base64_member(e, &d.payload, sc, root, "payload") || js_arr(e, &a, &n, root, "signatures"))
        return e->code;
    if (n < 1 || n > DSSE_MAX_SIGNATURES)
        return js_fail(e, a, FIND_TRUST_ENVELOPE, "expected 1 to %d signatures, found %zu",
                       DSSE_MAX_SIGNATURES, n);
    d.v = scratch_array(sc, n, sizeof *d.v);
    if (!d.v)
        return err_nomem(e);
    for (d.n = 0; d.n < n; d.n++) {
        js_node *o = js_at(a, d.n), *id;
        if (js_as_obj(e, o) || base64_member(e, &d.v[d.n].bytes, sc, o, "sig"))
            return e->code;
        d.v[d.n].key_id = "";
        if ((id = js_find(o, "keyid")) && js_as_str(e, &d.v[d.n].key_id, id))
            return e->code;
    }
    *out = d;
    return RP_OK;
}

rp_code dsse_read(rp_err *e, dsse *out, scratch *sc, const char *file, span text)
{
    bool mine = !e->code;
    /* An envelope that is not JSON, or not of this shape, is a broken envelope. */
    if (read_all(e, out, sc, file, text) == RP_INVALID && mine)
        e->id = FIND_TRUST_ENVELOPE;
    return e->code;
}

static rp_code add_signature(rp_err *e, jw *j, scratch *sc, const char *key_id, span bytes)
{
    const char *text = dsse_base64(sc, bytes);
    if (!text)
        return err_nomem(e);
    jw_obj(j, NULL);
    if (*key_id)
        jw_str(j, "keyid", key_id);
    jw_str(j, "sig", text);
    jw_end(j);
    return RP_OK;
}

static rp_code sign_all(rp_err *e, jw *j, scratch *sc, span message, sign_key *const *keys, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++) {
        uint8_t sig[SIGN_MAX_BYTES];
        char id[DIGEST_HEX];
        size_t n;
        digest_hex(sign_key_id(keys[i]), id);
        if (sign_make(e, sig, &n, keys[i], message) || add_signature(e, j, sc, id, span_of(sig, n)))
            return e->code;
    }
    return RP_OK;
}

rp_code dsse_write(rp_err *e, span *out, scratch *sc, const char *payload_type, span payload,
                   sign_key *const *keys, size_t n_keys, const dsse *more)
{
    span message, text;
    const char *body = dsse_base64(sc, payload);
    if (!body)
        return err_nomem(e);
    if (dsse_pae(e, &message, sc, payload_type, payload))
        return e->code;
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "payload", body);
    jw_str(j, "payloadType", payload_type);
    jw_arr(j, "signatures");
    for (size_t i = 0; more && i < more->n && !e->code; i++)
        (void)!add_signature(e, j, sc, more->v[i].key_id, more->v[i].bytes);
    if (!e->code)
        (void)!sign_all(e, j, sc, message, keys, n_keys);
    jw_end(j);
    jw_end(j);
    if (!e->code && !jw_finish(e, &text, j)) {
        const char *copy = scratch_strndup(sc, (const char *)text.p, text.n);
        if (copy)
            *out = span_of(copy, text.n);
        else
            err_nomem(e);
    }
    jw_free(j);
    return e->code;
}

static bool seen_before(sign_key *const *keys, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (digest_equal(sign_key_id(keys[k]), sign_key_id(keys[i])))
            return true;
    return false;
}

rp_code dsse_count(rp_err *e, size_t *signed_by, size_t *distinct, const dsse *d, sign_key *const *keys,
                   size_t n_keys)
{
    span message;
    scratch *sc = scratch_new(0);
    *signed_by = *distinct = 0;
    if (!sc)
        return err_nomem(e);
    if (!dsse_pae(e, &message, sc, d->payload_type, d->payload))
        for (size_t i = 0; i < n_keys; i++) {
            bool found = false;
            if (seen_before(keys, i))
                continue;
            for (size_t k = 0; k < d->n && !found; k++)
                found = sign_check(keys[i], message, d->v[k].bytes);
            *distinct += 1;
            *signed_by += found;
        }
    scratch_free(sc);
    return e->code;
}
