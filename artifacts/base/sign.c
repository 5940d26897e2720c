#include "artifacts/base/sign.h"
#include "artifacts/base/file.h"
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>

struct sign_key {
    EVP_PKEY *key;
    bool ed25519;
    digest id;
};

/* Keys are read without asking anybody: a key with a password is refused. */
static int no_password(char *buf, int size, int rwflag, void *ctx)
{
    (void)buf;
    (void)size;
    (void)rwflag;
    (void)ctx;
    return -1;
}

static bool known_kind(EVP_PKEY *k, bool *ed25519)
{
    char group[32] = "";
    size_t n = 0;
    *ed25519 = EVP_PKEY_is_a(k, "ED25519");
    if (*ed25519)
        return true;
    return EVP_PKEY_is_a(k, "EC") && EVP_PKEY_get_group_name(k, group, sizeof group, &n) == 1 &&
           !strcmp(group, "prime256v1");
}

static rp_code key_id(rp_err *e, sign_key *k)
{
    unsigned char *der = NULL;
    int n = i2d_PUBKEY(k->key, &der);
    if (n <= 0)
        return err_nomem(e);
    k->id = digest_of(span_of(der, (size_t)n));
    OPENSSL_free(der);
    return RP_OK;
}

static rp_code wrong(rp_err *e, const char *path, const char *expected)
{
    err_set(e, RP_USAGE, "expected %s (PEM, no password, Ed25519 or ECDSA P-256), found something else",
            expected);
    return err_file(e, path);
}

static rp_code read_key(rp_err *e, sign_key **out, const char *path, bool private)
{
    span text;
    scratch *sc = scratch_new(0);
    sign_key *k = calloc(1, sizeof *k);
    BIO *bio = NULL;
    if (!sc || !k) {
        err_nomem(e);
        goto out;
    }
    if (file_read(e, &text, sc, path, SIGN_KEY_MAX_BYTES))
        goto out;
    bio = BIO_new_mem_buf(text.p, (int)text.n);
    if (!bio) {
        err_nomem(e);
        goto out;
    }
    k->key = private ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL)
                     : PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
    if (!k->key || !known_kind(k->key, &k->ed25519))
        wrong(e, path, private ? "a private key" : "a public key");
    else
        (void)!key_id(e, k);
out:
    BIO_free(bio);
    scratch_free(sc);
    if (e->code)
        sign_key_free(k);
    else
        *out = k;
    return e->code;
}

rp_code sign_key_private(rp_err *e, sign_key **out, const char *path)
{
    return read_key(e, out, path, true);
}

rp_code sign_key_public(rp_err *e, sign_key **out, const char *path)
{
    return read_key(e, out, path, false);
}

void sign_key_free(sign_key *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->key);
    free(k);
}

digest sign_key_id(const sign_key *k)
{
    return k->id;
}

const char *sign_key_kind(const sign_key *k)
{
    return k->ed25519 ? "ed25519" : "ecdsa-p256";
}

rp_code sign_make(rp_err *e, uint8_t *out, size_t *n, const sign_key *k, span message)
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    *n = SIGN_MAX_BYTES;
    if (!c || EVP_DigestSignInit_ex(c, NULL, k->ed25519 ? NULL : "SHA256", NULL, NULL, k->key, NULL) != 1 ||
        EVP_DigestSign(c, out, n, message.p, message.n) != 1)
        err_set(e, RP_NOMEM, "cannot sign with this key");
    EVP_MD_CTX_free(c);
    return e->code;
}

bool sign_check(const sign_key *k, span message, span signature)
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    bool ok = c &&
              EVP_DigestVerifyInit_ex(c, NULL, k->ed25519 ? NULL : "SHA256", NULL, NULL, k->key, NULL) == 1 &&
              EVP_DigestVerify(c, signature.p, signature.n, message.p, message.n) == 1;
    EVP_MD_CTX_free(c);
    return ok;
}
