/* Signing a bundle's root: an envelope over a statement whose one subject is manifest.json. */
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "artifacts/statement.h"
#include "artifacts/store.h"
#include "replay/cli.h"
#include "replay/options.h"
#include <stdio.h>

typedef struct {
    const char *bundle, *out, *add; /* add: an envelope whose signatures are kept */
    shared_options shared;
    bool json;
} options;

static rp_code read_earlier(rp_err *e, dsse *out, scratch *sc, const char *path, span body)
{
    span text;
    if (file_read(e, &text, sc, path, DSSE_MAX_BYTES) || dsse_read(e, out, sc, path, text))
        return e->code;
    if (strcmp(out->payload_type, STATEMENT_PAYLOAD_TYPE) || out->payload.n != body.n ||
        memcmp(out->payload.p, body.p, body.n)) {
        err_set(e, RP_USAGE, "expected an envelope over this bundle's statement, found another payload");
        return err_file(e, path);
    }
    return RP_OK;
}

static rp_code make(rp_err *e, scratch *sc, const options *o, const manifest *m)
{
    span body, envelope;
    dsse earlier;
    jw *j = jw_new(JW_COMPACT);
    statement_of_bundle(j, m->name, m->root);
    if (!jw_finish(e, &body, j) && (!o->add || !read_earlier(e, &earlier, sc, o->add, body)) &&
        !dsse_write(e, &envelope, sc, STATEMENT_PAYLOAD_TYPE, body, o->shared.keys.v, o->shared.keys.n,
                    o->add ? &earlier : NULL))
        (void)!file_write(e, o->out, envelope);
    jw_free(j);
    return e->code;
}

static void say(scratch *sc, const options *o, const manifest *m)
{
    char hex[DIGEST_HEX], id[DIGEST_HEX];
    digest_hex(m->root, hex);
    if (o->json) {
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-signed/0");
        cli_tool_json(j);
        jw_str(j, "bundle", o->bundle);
        jw_str(j, "name", m->name);
        jw_fmt(j, "root", "sha256:%s", hex);
        jw_str(j, "envelope", o->out);
        jw_arr(j, "keys");
        for (size_t i = 0; i < o->shared.keys.n; i++) {
            jw_obj(j, NULL);
            jw_str(j, "kind", sign_key_kind(o->shared.keys.v[i]));
            jw_digest(j, "id", sign_key_id(o->shared.keys.v[i]));
            jw_end(j);
        }
        jw_end(j);
        jw_end(j);
        (void)cli_print_json(j, EXIT_PASSED);
        return;
    }
    printf("%s: root sha256:%s\n", text_safe(sc, m->name), hex);
    for (size_t i = 0; i < o->shared.keys.n; i++) {
        digest_hex(sign_key_id(o->shared.keys.v[i]), id);
        printf("signed by %s key %s\n", sign_key_kind(o->shared.keys.v[i]), id);
    }
    printf("%s\n", text_safe(sc, o->out));
}

/* What is not whole is not signed. */
static int sign(rp_err *e, scratch *sc, options *o)
{
    store *st = NULL;
    report *r = report_new(sc);
    int code = EXIT_PASSED;
    if (!r)
        err_nomem(e);
    else if (!keys_read(e, &o->shared.keys, true) && !store_open(e, &st, o->bundle) &&
             !store_check(e, st, &r->fs)) {
        if (r->fs.n || r->fs.nomem) {
            fputs("replay sign: the bundle is not whole, and was not signed\n", stderr);
            report_print_findings(r, stderr);
            code = EXIT_REJECTED;
        } else if (!make(e, sc, o, store_manifest(st))) {
            say(sc, o, store_manifest(st));
        }
    }
    store_free(st);
    return code;
}

int cmd_sign(int argc, char **argv)
{
    static const struct option longs[] = {OPTIONS_KEY,
                                          OPTIONS_LIMITS,
                                          {"add", required_argument, NULL, 'a'},
                                          {"json", no_argument, NULL, 'j'},
                                          {0}};
    options o = {0};
    rp_err e = {0};
    int c, code, at = 0;
    while ((c = getopt_long(argc, argv, "o:", longs, &at)) != -1) {
        if (c == 'o')
            o.out = optarg;
        else if (c == 'a')
            o.add = optarg;
        else if (c == 'j')
            o.json = true;
        else if (c == '?')
            return cli_bad_option("sign", argv);
        else if ((code = options_take("sign", &o.shared, c, longs[at].name)))
            return code;
    }
    if (argc - optind != 1 || !o.out || !o.shared.keys.n_paths)
        return cli_usage("sign", "expected one bundle, --key PEM and -o ENVELOPE");
    o.bundle = argv[optind];
    scratch *sc = scratch_new(0);
    code = sc ? sign(&e, sc, &o) : (err_nomem(&e), EXIT_UNREADABLE);
    if (e.code)
        code = cli_error("sign", &e, o.json);
    keys_clear(&o.shared.keys);
    scratch_free(sc);
    return code ? code : cli_finish(code);
}
