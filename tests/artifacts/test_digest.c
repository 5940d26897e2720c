#include "artifacts/base/digest.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>

/* FIPS 180-4 examples and NIST CAVS byte vectors (SHA256ShortMsg, lengths 0, 8, 16, 24 and 440 bits). */
static const struct {
    const char *message;
    size_t n;
    const char *hex;
} vectors[] = {
    {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"\xd3", 1, "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
    {"\x11\xaf", 2, "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98"},
    {"\xb4\x19\x0e", 3, "dff2e73091f6c05e528896c4c831b9448653dc2ff043528f6769437bc7b975c2"},
    {"abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrs"
     "tnopqrstu",
     112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

Test(digest, nist_vectors)
{
    digest_ctx *c = digest_ctx_new();
    cr_assert_not_null(c);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char hex[DIGEST_HEX];
        span s = span_of(vectors[i].message, vectors[i].n);
        digest_hex(digest_of(s), hex);
        cr_expect_str_eq(hex, vectors[i].hex);
        /* Byte by byte, in one context after another. */
        digest_begin(c);
        for (size_t k = 0; k < s.n; k++)
            digest_add(c, span_of(s.p + k, 1));
        cr_expect(digest_equal(digest_end(c), digest_of(s)), "vector %zu", i);
    }
    digest_ctx_free(c);
    digest_ctx_free(NULL);
}

Test(digest, a_million_letters)
{
    digest_ctx *c = digest_ctx_new();
    char block[1000], hex[DIGEST_HEX];
    memset(block, 'a', sizeof block);
    digest_begin(c);
    for (int i = 0; i < 1000; i++)
        digest_add(c, span_of(block, sizeof block));
    digest_hex(digest_end(c), hex);
    cr_expect_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    digest_ctx_free(c);
}

Test(digest, files)
{
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    rp_err e = {0};
    digest d;
    uint64_t bytes;
    span big = span_of(scratch_alloc(sc, 700001), 700001);
    const char *path = t_write(sc, dir, "big", big);
    cr_assert_eq(digest_file(&e, &d, &bytes, path), RP_OK);
    cr_expect(bytes == big.n && digest_equal(d, digest_of(big)));
    path = t_write(sc, dir, "empty", span_str(""));
    cr_assert_eq(digest_file(&e, &d, &bytes, path), RP_OK);
    cr_expect(bytes == 0 && digest_equal(d, digest_of(span_of(NULL, 0))));
    cr_expect_eq(digest_file(&e, &d, &bytes, dir), RP_IO);
    e = (rp_err){0};
    const char *none = scratch_printf(sc, "%s/none", dir);
    cr_expect_eq(digest_file(&e, &d, &bytes, none), RP_IO);
    cr_expect_str_eq(e.file, none);
    t_remove(dir);
    scratch_free(sc);
}

Test(digest, text_form)
{
    const char *good = vectors[4].hex;
    char s[80];
    digest d, want = digest_of(span_str("abc"));
    cr_expect(digest_parse(good, &d) && digest_equal(d, want));
    memset(&d, 0, sizeof d);
    const digest untouched = d;
    snprintf(s, sizeof s, "%.63s", good);
    cr_expect_not(digest_parse(s, &d), "a digit too few");
    snprintf(s, sizeof s, "%s0", good);
    cr_expect_not(digest_parse(s, &d), "a digit too many");
    snprintf(s, sizeof s, "%s", good);
    s[0] = (char)toupper(s[0]);
    cr_expect_not(digest_parse(s, &d), "upper case");
    s[0] = 'g';
    cr_expect_not(digest_parse(s, &d), "no digit");
    snprintf(s, sizeof s, " %.63s", good);
    cr_expect_not(digest_parse(s, &d) || digest_parse("", &d));
    cr_expect(digest_equal(d, untouched));

    snprintf(s, sizeof s, "sha256:%s", good);
    cr_expect(digest_parse_root(s, &d) && digest_equal(d, want));
    cr_expect_not(digest_parse_root(good, &d));
    snprintf(s, sizeof s, "SHA256:%s", good);
    cr_expect_not(digest_parse_root(s, &d));
    cr_expect_not(digest_parse_root("sha256:", &d));
}

Test(digest, equal_means_all_bytes)
{
    digest a = digest_of(span_str("abc"));
    for (int i = 0; i < DIGEST_BYTES; i++) {
        digest b = a;
        b.b[i] ^= 1;
        cr_expect_not(digest_equal(a, b), "byte %d", i);
    }
}
