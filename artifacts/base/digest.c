/* The low-level functions: they take no memory, so that a digest cannot fail, and looking an algorithm up
 * costs nothing. OpenSSL 3 calls them deprecated, and keeps them. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "artifacts/base/digest.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <unistd.h>

struct digest_ctx {
    SHA256_CTX sha;
};

digest_ctx *digest_ctx_new(void)
{
    return calloc(1, sizeof(digest_ctx));
}

void digest_ctx_free(digest_ctx *c)
{
    free(c);
}

/* They fail only on misuse; going on would hand out a digest that means nothing. */
static void must(int ok)
{
    if (ok != 1)
        abort();
}

void digest_begin(digest_ctx *c)
{
    must(SHA256_Init(&c->sha));
}

void digest_add(digest_ctx *c, span s)
{
    if (s.n)
        must(SHA256_Update(&c->sha, s.p, s.n));
}

digest digest_end(digest_ctx *c)
{
    digest d;
    must(SHA256_Final(d.b, &c->sha));
    return d;
}

digest digest_of(span s)
{
    digest_ctx c;
    digest_begin(&c);
    digest_add(&c, s);
    return digest_end(&c);
}

rp_code digest_file(rp_err *e, digest *out, uint64_t *bytes, const char *path)
{
    enum { CHUNK = 1 << 18 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, path, "open");
    digest_ctx *c = digest_ctx_new();
    unsigned char *buf = malloc(CHUNK);
    uint64_t total = 0;
    if (!c || !buf) {
        err_nomem(e);
        goto out;
    }
    digest_begin(c);
    for (;;) {
        ssize_t n = read(fd, buf, CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            err_errno(e, path, "read");
        if (n <= 0)
            break;
        digest_add(c, span_of(buf, (size_t)n));
        total += (uint64_t)n;
    }
    *out = digest_end(c);
    *bytes = total;
out:
    free(buf);
    digest_ctx_free(c);
    close(fd);
    return e->code;
}

bool digest_equal(digest a, digest b)
{
    return memcmp(a.b, b.b, DIGEST_BYTES) == 0;
}

void digest_hex(digest d, char out[DIGEST_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < DIGEST_BYTES; i++) {
        out[2 * i] = digits[d.b[i] >> 4];
        out[2 * i + 1] = digits[d.b[i] & 15];
    }
    out[2 * DIGEST_BYTES] = 0;
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool digest_parse(const char *hex, digest *out)
{
    digest d;
    for (int i = 0; i < DIGEST_BYTES; i++) {
        int hi = nibble(hex[2 * i]);
        int lo = hi < 0 ? -1 : nibble(hex[2 * i + 1]);
        if (lo < 0)
            return false;
        d.b[i] = (uint8_t)(hi << 4 | lo);
    }
    if (hex[2 * DIGEST_BYTES])
        return false;
    *out = d;
    return true;
}

bool digest_parse_root(const char *text, digest *out)
{
    static const char prefix[] = "sha256:";
    return !strncmp(text, prefix, sizeof prefix - 1) && digest_parse(text + sizeof prefix - 1, out);
}

const char *digest_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}
