#include "artifacts/dsse.h"
#include "tests/support.h"
#include <criterion/criterion.h>

/* Known keys, so that nothing here is a secret: Ed25519 is RFC 8032's TEST 2, P-256 was made for this file.
 */
static const char ed_private[] = "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7";
static const char ed_public[] = "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
static const char p256_private[] = "MHcCAQEEIDGbEEVHkoKC+LMf9AkZO/+SHAeWTlpcCcWkAbQwImuuoAoGCCqGSM49"
                                   "AwEHoUQDQgAEEOEi3kT4IrqR30P9j+uozwMBWo3uz8Unrou8FP64w3njogAO+zBB"
                                   "iKWoKZBCG0gMowsIEZnIX3bMKX2/gdXPBw==";
static const char p256_public[] = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEOEi3kT4IrqR30P9j+uozwMBWo3u"
                                  "z8Unrou8FP64w3njogAO+zBBiKWoKZBCG0gMowsIEZnIX3bMKX2/gdXPBw==";
static const char p384_public[] = "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE0cr1UEARwVRi3Y9G1R93YAempYpkw/0o"
                                  "vnsbTbrLOckGdgH/+ia3rooQEDwKn501RECR9/LP3B9TT1ErrLNKkX3bhe4fP3iY"
                                  "/nmrckG5YELi7UqSt3Uv1C+8gj5QLHcq";

typedef struct {
    scratch *sc;
    const char *dir;
    sign_key *ed, *p256, *ed_pub, *p256_pub;
} base;

static const char *pem(base *b, const char *name, const char *label, const char *der)
{
    const char *text = scratch_printf(b->sc, "-----BEGIN %s-----\n", label);
    for (size_t i = 0; i < strlen(der); i += 64)
        text = scratch_printf(b->sc, "%s%.64s\n", text, der + i);
    return t_write(b->sc, b->dir, name, span_str(scratch_printf(b->sc, "%s-----END %s-----\n", text, label)));
}

static base start(void)
{
    rp_err e = {0};
    base b = {.sc = scratch_new(0)};
    b.dir = t_dir(b.sc);
    cr_assert(!sign_key_private(&e, &b.ed, pem(&b, "ed.pem", "PRIVATE KEY", ed_private)), "%s", e.msg);
    cr_assert(!sign_key_public(&e, &b.ed_pub, pem(&b, "ed.pub", "PUBLIC KEY", ed_public)), "%s", e.msg);
    cr_assert(!sign_key_private(&e, &b.p256, pem(&b, "p256.pem", "EC PRIVATE KEY", p256_private)), "%s",
              e.msg);
    cr_assert(!sign_key_public(&e, &b.p256_pub, pem(&b, "p256.pub", "PUBLIC KEY", p256_public)), "%s", e.msg);
    return b;
}

static void stop(base *b)
{
    sign_key_free(b->ed);
    sign_key_free(b->ed_pub);
    sign_key_free(b->p256);
    sign_key_free(b->p256_pub);
    t_remove(b->dir);
    scratch_free(b->sc);
}

/* --- Keys. --- */

Test(sign, known_answer)
{
    static const uint8_t expected[] = {
        0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f, 0x64, 0x25, 0x40,
        0xa2, 0xb2, 0x7b, 0x54, 0x16, 0x50, 0x3f, 0x8f, 0xb3, 0x76, 0x22, 0x23, 0xeb, 0xdb, 0x69, 0xda,
        0x08, 0x5a, 0xc1, 0xe4, 0x3e, 0x15, 0x99, 0x6e, 0x45, 0x8f, 0x36, 0x13, 0xd0, 0xf1, 0x1d, 0x8c,
        0x38, 0x7b, 0x2e, 0xae, 0xb4, 0x30, 0x2a, 0xee, 0xb0, 0x0d, 0x29, 0x16, 0x12, 0xbb, 0x0c, 0x00};
    base b = start();
    rp_err e = {0};
    uint8_t sig[SIGN_MAX_BYTES];
    size_t n;
    cr_assert(!sign_make(&e, sig, &n, b.ed, span_str("\x72")), "%s", e.msg);
    cr_expect(t_equal(span_of(sig, n), span_of(expected, sizeof expected)));
    stop(&b);
}

Test(sign, each_kind)
{
    base b = start();
    sign_key *private[] = {b.ed, b.p256}, *public[] = {b.ed_pub, b.p256_pub};
    for (int i = 0; i < 2; i++) {
        rp_err e = {0};
        uint8_t sig[SIGN_MAX_BYTES];
        size_t n;
        cr_expect(digest_equal(sign_key_id(private[i]), sign_key_id(public[i])),
                  "the id is the public key's");
        cr_assert(!sign_make(&e, sig, &n, private[i], span_str("message")), "%s", e.msg);
        cr_expect(sign_check(public[i], span_str("message"), span_of(sig, n)));
        cr_expect(!sign_check(public[i], span_str("massage"), span_of(sig, n)));
        cr_expect(!sign_check(public[1 - i], span_str("message"), span_of(sig, n)));
        cr_expect(!sign_check(public[i], span_str("message"), span_of(sig, n - 1)));
        cr_expect(!sign_check(public[i], span_str("message"), span_of(sig, 0)));
        for (size_t k = 0; k < 8 * n; k++) {
            sig[k / 8] ^= (uint8_t)(1u << k % 8);
            cr_expect(!sign_check(public[i], span_str("message"), span_of(sig, n)), "%s: bit %zu",
                      sign_key_kind(public[i]), k);
            sig[k / 8] ^= (uint8_t)(1u << k % 8);
        }
    }
    cr_expect_str_eq(sign_key_kind(b.ed), "ed25519");
    cr_expect_str_eq(sign_key_kind(b.p256), "ecdsa-p256");
    stop(&b);
}

Test(sign, refuses_other_files)
{
    base b = start();
    sign_key *k;
    const char *const files[] = {
        pem(&b, "p384.pub", "PUBLIC KEY", p384_public),
        file_join(b.sc, b.dir, "ed.pem"), /* private where a public key is asked for */
        pem(&b, "cut.pub", "PUBLIC KEY", "MCowBQYDK2VwAyEA"),
        t_write(b.sc, b.dir, "text.pub", span_str("hello")),
        t_write(b.sc, b.dir, "empty.pub", span_of(NULL, 0)),
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        rp_err e = {0};
        cr_expect_eq(sign_key_public(&e, &k, files[i]), RP_USAGE, "%s", files[i]);
        cr_expect_str_eq(e.file, files[i]);
    }
    rp_err e = {0};
    cr_expect_eq(sign_key_private(&e, &k, file_join(b.sc, b.dir, "ed.pub")), RP_USAGE);
    e = (rp_err){0};
    cr_expect_eq(sign_key_public(&e, &k, "/nonexistent/key"), RP_IO);
    if (t_has("openssl") &&
        !t_shell(b.dir,
                 "openssl genpkey -algorithm ed25519 -aes256 -pass pass:x -out locked.pem 2>/dev/null")) {
        e = (rp_err){0};
        cr_expect_eq(sign_key_private(&e, &k, file_join(b.sc, b.dir, "locked.pem")), RP_USAGE,
                     "asks nobody for a password");
    }
    stop(&b);
}

/* --- Base64, and the encoding that is signed. --- */

Test(dsse, base64)
{
    scratch *sc = scratch_new(0);
    static const struct {
        const char *plain, *text;
    } rfc4648[] = {{"", ""},
                   {"f", "Zg=="},
                   {"fo", "Zm8="},
                   {"foo", "Zm9v"},
                   {"foob", "Zm9vYg=="},
                   {"fooba", "Zm9vYmE="},
                   {"foobar", "Zm9vYmFy"}};
    span got;
    for (size_t i = 0; i < sizeof rfc4648 / sizeof *rfc4648; i++) {
        cr_expect_str_eq(dsse_base64(sc, span_str(rfc4648[i].plain)), rfc4648[i].text);
        cr_expect(dsse_base64_read(&got, sc, rfc4648[i].text) && t_equal(got, span_str(rfc4648[i].plain)));
    }
    uint8_t all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    char *text = scratch_strdup(sc, dsse_base64(sc, span_of(all, 256)));
    cr_expect(dsse_base64_read(&got, sc, text) && t_equal(got, span_of(all, 256)));
    for (char *p = text; *p; p++)
        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
    cr_expect(dsse_base64_read(&got, sc, text) && t_equal(got, span_of(all, 256)), "the other alphabet");
    static const char *const refused[] = {"Z",     "Zg",   "Zg=",        "Zh==", "Zm9=", "Zg==Zg==",
                                          "Z===",  "====", "Zm9v\n",     "Zm 9", "+_+_", "-/aa",
                                          "Zm9v=", "Zm!v", "\303\251aa", "=Zg="};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cr_expect(!dsse_base64_read(&got, sc, refused[i]), "%s", refused[i]);
    scratch_free(sc);
}

Test(dsse, pae)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    span got;
    cr_assert(!dsse_pae(&e, &got, sc, "http://example.com/HelloWorld", span_str("hello world")));
    cr_expect(t_equal(got, span_str("DSSEv1 29 http://example.com/HelloWorld 11 hello world")),
              "the protocol's own example");
    cr_assert(!dsse_pae(&e, &got, sc, "", span_of(NULL, 0)));
    cr_expect(t_equal(got, span_str("DSSEv1 0  0 ")));
    scratch_free(sc);
}

/* --- Envelopes. --- */

static void count(base *b, span envelope, sign_key *const *keys, size_t n, size_t want, size_t want_distinct,
                  const char *what)
{
    rp_err e = {0};
    dsse d;
    size_t signed_by, distinct;
    cr_assert(!dsse_read(&e, &d, b->sc, "e.json", envelope), "%s: %s", what, e.msg);
    cr_assert(!dsse_count(&e, &signed_by, &distinct, &d, keys, n));
    cr_expect_eq(signed_by, want, "%s: %zu signed", what, signed_by);
    cr_expect_eq(distinct, want_distinct, "%s: %zu distinct", what, distinct);
}

Test(dsse, threshold_counts_public_keys)
{
    base b = start();
    rp_err e = {0};
    span one, two, twice;
    dsse d;
    sign_key *again;
    sign_key *const ed[] = {b.ed}, *const p256[] = {b.p256}, *const both[] = {b.ed, b.ed};
    cr_assert(!sign_key_public(&e, &again, file_join(b.sc, b.dir, "ed.pub")));
    cr_assert(!dsse_write(&e, &one, b.sc, "t", span_str("body"), ed, 1, NULL));
    cr_assert(!dsse_read(&e, &d, b.sc, "e.json", one));
    cr_expect(d.n == 1 && t_equal(d.payload, span_str("body")));
    cr_expect_str_eq(d.payload_type, "t");
    cr_assert(!dsse_write(&e, &two, b.sc, "t", span_str("body"), p256, 1, &d));
    cr_assert(!dsse_write(&e, &twice, b.sc, "t", span_str("body"), both, 2, NULL));
    sign_key *const asked[] = {b.ed_pub, b.p256_pub, again};
    count(&b, one, asked, 3, 1, 2, "one of two");
    count(&b, two, asked, 3, 2, 2, "two of two");
    count(&b, twice, asked, 3, 1, 2, "one key twice");
    count(&b, two, asked + 1, 1, 1, 1, "the other alone");
    sign_key_free(again);
    stop(&b);
}

Test(dsse, key_ids_decide_nothing)
{
    base b = start();
    rp_err e = {0};
    span one;
    sign_key *const ed[] = {b.ed}, *const asked[] = {b.ed_pub};
    char id[DIGEST_HEX];
    digest_hex(sign_key_id(b.ed), id);
    cr_assert(!dsse_write(&e, &one, b.sc, "t", span_str("body"), ed, 1, NULL));
    span other = t_replaced(b.sc, one, id, "somebody else");
    count(&b, other, asked, 1, 1, 1, "another key id");
    count(&b, t_replaced(b.sc, one, scratch_printf(b.sc, "\"keyid\": \"%s\",", id), ""), asked, 1, 1, 1,
          "no key id");
    count(&b, t_replaced(b.sc, one, "\"payloadType\": \"t\"", "\"payloadType\": \"u\""), asked, 1, 0, 1,
          "another type");
    count(&b, t_replaced(b.sc, one, "Ym9keQ==", "Ym9keg=="), asked, 1, 0, 1, "another payload");
    count(&b, t_replaced(b.sc, one, "\"payloadType\"", "\"note\": 1, \"payloadType\""), asked, 1, 1, 1,
          "an unknown key is ignored");
    stop(&b);
}

Test(dsse, refuses)
{
    static const struct {
        const char *text, *where;
    } cases[] = {
        {"", NULL},
        {"[]", ""},
        {"{\"payload\":\"\",\"payloadType\":\"t\"}", ""},
        {"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[]}", "/signatures"},
        {"{\"payload\":\"Zg\",\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"\"}]}", "/payload"},
        {"{\"payload\":\"\",\"payloadType\":1,\"signatures\":[{\"sig\":\"\"}]}", "/payloadType"},
        {"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"+_==\"}]}", "/signatures/0/sig"},
        {"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[{\"keyid\":\"k\"}]}", "/signatures/0"},
        {"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"\",\"keyid\":null}]}",
         "/signatures/0/keyid"},
        {"{\"payload\":\"\",\"payload\":\"Zg==\",\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"\"}]}",
         NULL},
        {"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"\"}]} x", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch *sc = scratch_new(0);
        rp_err e = {0};
        dsse d;
        cr_expect_eq(dsse_read(&e, &d, sc, "e.json", span_str(cases[i].text)), RP_INVALID, "%s",
                     cases[i].text);
        cr_expect_eq(e.id, FIND_TRUST_ENVELOPE, "%s: %s", cases[i].text, finding_name(e.id));
        cr_expect_str_eq(e.file, "e.json");
        if (cases[i].where)
            cr_expect_str_eq(e.where, cases[i].where, "%s", cases[i].text);
        scratch_free(sc);
    }
}

Test(dsse, out_of_memory)
{
    base b = start();
    rp_err e = {0};
    span one;
    dsse d;
    sign_key *const ed[] = {b.ed};
    cr_assert(!dsse_write(&e, &one, b.sc, "t", span_str("body"), ed, 1, NULL));
    bool answered = false;
    for (size_t limit = 64; !answered; limit += 16) {
        scratch *sc = scratch_new(limit);
        e = (rp_err){0};
        answered = sc && !dsse_read(&e, &d, sc, "e.json", one);
        cr_expect(answered || !sc || e.code == RP_NOMEM, "%zu bytes: %s", limit, e.msg);
        scratch_free(sc);
    }
    stop(&b);
}
