/* Faults of manifest.json, of the other JSON files, and of fixture data: one byte sequence each, with every
 * digest put right. */
#include "tests/hostile/hostile.h"
#include <stdio.h>

/* The bundle whose manifest is this text, whatever it says. */
static span with_manifest(maker *m, span text)
{
    return framed(m, t_stream(m->sc, text, m->g->tree.v, m->g->tree.n));
}

static void edit(maker *m, const char *from, const char *to, finding_id id, const char *where,
                 const char *what)
{
    give(m, with_manifest(m, t_replaced(m->sc, m->g->text, from, to)), id, "manifest.json", where, "%s",
         what);
}

/* --- Texts that are not JSON by our rules, whatever the document: {…} becomes one of these. --- */

static const struct {
    finding_id id;
    const char *insert; /* behind the first '{' */
    size_t n;
    const char *what;
    hostile_case answers; /* CASE_NONE: that of the finding */
} texts[] = {
    {FIND_JSON_SYNTAX, "\"a\":NaN,", 8, "NaN", CASE_B13},
    {FIND_JSON_SYNTAX, "\"a\":Infinity,", 13, "Infinity", CASE_B13},
    {FIND_JSON_SYNTAX, "\"a\":-Infinity,", 14, "-Infinity", CASE_B13},
    {FIND_JSON_SYNTAX, "\"a\":01,", 7, "a leading zero", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":1.,", 7, "a number that ends in a point", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":.5,", 7, "a number that begins with a point", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":+1,", 7, "a plus sign", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":0x10,", 9, "a hexadecimal number", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":1e,", 7, "an exponent without digits", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\n\",", 8, "a newline in a string", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\x01\",", 8, "a control character in a string", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\\u0000\",", 13, "an escaped NUL", CASE_B11},
    {FIND_JSON_SYNTAX, "\"k\\u0000hidden\":1,", 18, "an escaped NUL in a key", CASE_B11},
    {FIND_JSON_SYNTAX, "\"a\":\"\0\",", 8, "a NUL in a string", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\\ud800\",", 13, "a lone high surrogate", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\\udc00\",", 13, "a lone low surrogate", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\\ud800\\ud800\",", 19, "two high surrogates", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\\x41\",", 11, "an unknown escape", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\xff\xfe\",", 9, "bytes that are not UTF-8", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\xc0\xaf\",", 9, "an overlong slash", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\xed\xa0\x80\",", 10, "a surrogate in UTF-8", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":\"\xf4\x90\x80\x80\",", 11, "a code point above U+10FFFF", CASE_NONE},
    {FIND_JSON_SYNTAX, "'a':1,", 6, "single quotes", CASE_NONE},
    {FIND_JSON_SYNTAX, "a:1,", 4, "a bare key", CASE_NONE},
    {FIND_JSON_SYNTAX, "/* */", 5, "a comment", CASE_NONE},
    {FIND_JSON_SYNTAX, "// x\n", 5, "a line comment", CASE_NONE},
    {FIND_JSON_SYNTAX, ",", 1, "a comma too many", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":[1,],", 9, "a comma at the end of an array", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\":True,", 9, "True", CASE_NONE},
    {FIND_JSON_SYNTAX, "\"a\" 1,", 6, "no colon", CASE_NONE},
    {FIND_JSON_NUMBER, "\"annotations\":{\"x\":1e400},", 26, "a number beyond all, where nobody reads it",
     CASE_NONE},
    {FIND_JSON_DUPLICATE_KEY, "\"n\":1,\"n\":2,\"N\":3,", 18, "a key twice", CASE_NONE},
    {FIND_JSON_DUPLICATE_KEY, "\"\\u006e\":1,\"n\":2,", 17, "a key twice, once escaped", CASE_NONE},
    {FIND_JSON_DUPLICATE_KEY, "\"format\":\"x\",", 13, "the format twice", CASE_NONE},
    {FIND_JSON_UNKNOWN_KEY, "\"surplus\":1,", 12, "an unknown key", CASE_NONE},
    {FIND_JSON_UNKNOWN_KEY, "\"Format\":1,", 11, "a known key in other case", CASE_NONE},
};

static const struct {
    const char *before, *behind, *what;
} around[] = {{"\xef\xbb\xbf", "", "a byte order mark"}, {"\xff\xfe", "", "a byte order mark of UTF-16"},
              {"", "gobbledy", "text behind the value"}, {"", "{}", "a second value"},
              {"", "]", "a bracket behind the value"},   {"[", "", "a bracket before the value"},
              {"\f", "", "a form feed before the value"}};

static span inserted(maker *m, span text, const char *s, size_t n)
{
    const uint8_t *brace = memchr(text.p, '{', text.n);
    return t_splice(m->sc, text, (size_t)(brace - text.p) + 1, 0, span_of(s, n));
}

static span wrapped(maker *m, span text, const char *before, const char *behind)
{
    span s = t_splice(m->sc, text, text.n, 0, span_str(behind));
    return t_splice(m->sc, s, 0, 0, span_str(before));
}

static span nested(maker *m, span text, unsigned depth)
{
    char *s = scratch_alloc(m->sc, 2 * depth + 16);
    size_t n = (size_t)snprintf(s, 16, "\"a\":");
    memset(s + n, '[', depth);
    memset(s + n + depth, ']', depth);
    s[n + 2 * depth] = ',';
    return inserted(m, text, s, n + 2 * depth + 1);
}

/* With a document's text in hand, every fault of JSON that a text can have. */
static void faults_of_json(maker *m, const char *path, span text, span (*put)(maker *, const char *, span))
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        m->answers = texts[i].answers;
        give(m, put(m, path, inserted(m, text, texts[i].insert, texts[i].n)), texts[i].id, path, NULL,
             "%s in %s", texts[i].what, path);
        m->answers = CASE_NONE;
    }
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        give(m, put(m, path, wrapped(m, text, around[i].before, around[i].behind)), FIND_JSON_SYNTAX, path,
             "byte *", "%s in %s", around[i].what, path);
    give(m, put(m, path, nested(m, text, 65)), FIND_JSON_DEPTH, path, "byte *", "65 brackets in %s", path);
    give(m, put(m, path, nested(m, text, 100000)), FIND_JSON_DEPTH, path, "byte *", "100,000 brackets in %s",
         path);
    give(m, put(m, path, span_of(text.p, text.n / 2)), FIND_JSON_SYNTAX, path, "byte *", "half of %s", path);
    give(m, put(m, path, span_of(NULL, 0)), FIND_JSON_SYNTAX, path, "byte 0", "an empty %s", path);
    give(m, put(m, path, span_str("[]")), FIND_JSON_TYPE, path, "", "an array as %s", path);
    give(m, put(m, path, span_str("{}")), FIND_JSON_MISSING_KEY, path, "", "an empty object as %s", path);
}

/* --- manifest.json. --- */

static span put_manifest(maker *m, const char *path, span text)
{
    (void)path;
    return with_manifest(m, text);
}

static const char *first_path(maker *m)
{
    return m->g->tree.v[0].path;
}

static void paths(maker *m)
{
    static const char *const bad[] = {
        "/etc/passwd", "../x", "a/../b", "./a",       "a/./b",   "a//b",     "a/",      "",
        "a\\\\b",      "a b",  "a\\tb",  "a\\u202eb", "\\u00e9", "C:x",      "a*",      "~root",
        "..",          ".",    "a/..",   "-/../x",    "a\\nb",   "a\\u007f", "evid%2e", "caf\\u0065\\u0301"};
    const char *quoted = scratch_printf(m->sc, "\"path\": \"%s\"", first_path(m));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        edit(m, quoted, scratch_printf(m->sc, "\"path\": \"%s\"", bad[i]), FIND_MANIFEST_PATH, "/files/0",
             scratch_printf(m->sc, "the path \"%s\"", bad[i]));
    edit(m, quoted, scratch_printf(m->sc, "\"path\": \"evidence/%0100d\"", 0), FIND_MANIFEST_PATH, "/files/0",
         "a path of 109 bytes");
    edit(m, quoted, "\"path\": \"manifest.json\"", FIND_MANIFEST_PATH, "/files/0", "manifest.json listed");
    edit(m, quoted, "\"path\": \"README.md\"", FIND_MANIFEST_PATH, "/files/0",
         "a place that a bundle does not have");
    edit(m, quoted, "\"path\": \"zzz\"", FIND_MANIFEST_PATH, "/files/0",
         "another place that a bundle does not have");
    edit(m, quoted, "\"path\": 7", FIND_JSON_TYPE, "/files/0/path", "a number as a path");
}

static void entries(maker *m)
{
    const t_file *f = &m->g->tree.v[0];
    const char *bytes = scratch_printf(m->sc, "\"bytes\": %zu,", f->bytes.n);
    char hex[DIGEST_HEX];
    digest_hex(digest_of(f->bytes), hex);
    static const struct {
        finding_id id;
        const char *to, *where;
    } sizes[] = {{FIND_JSON_NUMBER, "-1", "/files/0/bytes"},
                 {FIND_JSON_NUMBER, "1.0", "/files/0/bytes"},
                 {FIND_JSON_NUMBER, "1e3", "/files/0/bytes"},
                 {FIND_JSON_NUMBER, "-0", "/files/0/bytes"},
                 {FIND_JSON_NUMBER, "9007199254740992", "/files/0/bytes"},
                 {FIND_JSON_NUMBER, "1e400", "/files/0/bytes"},
                 {FIND_JSON_NUMBER, "18446744073709551616", "/files/0/bytes"},
                 {FIND_JSON_TYPE, "\"7\"", "/files/0/bytes"},
                 {FIND_JSON_TYPE, "null", "/files/0/bytes"},
                 {FIND_JSON_TYPE, "true", "/files/0/bytes"},
                 {FIND_MANIFEST_LIMIT, "8589934592", "/files/0"},
                 {FIND_MANIFEST_LIMIT, "9007199254740991", "/files/0"},
                 {FIND_FILE_SIZE, "1", ""}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        span text =
            t_replaced(m->sc, m->g->text, bytes, scratch_printf(m->sc, "\"bytes\": %s,", sizes[i].to));
        give(m, with_manifest(m, text), sizes[i].id,
             sizes[i].id == FIND_FILE_SIZE ? f->path : "manifest.json", sizes[i].where, "%s bytes",
             sizes[i].to);
    }
    static const char *const digests[] = {
        "",
        "00",
        "0",
        "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad0",
        "ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++)
        edit(m, hex, digests[i], FIND_JSON_VALUE, "/files/0/sha256",
             scratch_printf(m->sc, "the digest \"%s\"", digests[i]));
    give(m,
         with_manifest(m, t_replaced(m->sc, m->g->text, hex,
                                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")),
         FIND_FILE_DIGEST, f->path, "", "another digest");
    static const char *const roles[] = {"code", "", "Capture", "manifest"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        edit(m, "\"role\": \"capture\"", scratch_printf(m->sc, "\"role\": \"%s\"", roles[i]), FIND_JSON_VALUE,
             "/files/0/role", scratch_printf(m->sc, "the role \"%s\"", roles[i]));
    edit(m, "\"role\": \"capture\"", "\"role\": \"plan\"", FIND_MANIFEST_INVALID, "/files/0",
         "the role of another place");
    edit(m, "\"role\": \"capture\"", "\"role\": \"capture\", \"mode\": 420", FIND_JSON_UNKNOWN_KEY,
         "/files/0/mode", "a mode");
    edit(m, "\"role\": \"capture\"", "\"role\": \"capture\", \"link\": \"/etc\"", FIND_JSON_UNKNOWN_KEY,
         "/files/0/link", "a link");
}

/* Two entries more that do not fit in one tree, or not behind each other. */
static void trees(maker *m)
{
    static const struct {
        finding_id id;
        const char *a, *b, *what;
    } pairs[] = {
        {FIND_MANIFEST_CASE, "evidence/A", "evidence/a", "names that differ by case"},
        {FIND_MANIFEST_CASE, "evidence/A/x", "evidence/a/y", "folders that differ by case"},
        {FIND_MANIFEST_CASE, "evidence/README", "evidence/Readme", "names in another case"},
        {FIND_MANIFEST_PATH, "evidence/a", "evidence/a/b", "a file that is a folder"},
        {FIND_MANIFEST_DUPLICATE, "evidence/a", "evidence/a", "a path twice"},
        {FIND_MANIFEST_ORDER, "evidence/b", "evidence/a", "paths not sorted"},
        {FIND_MANIFEST_ORDER, "evidence/a", "evidence/B", "paths sorted without regard to case"},
    };
    char hex[DIGEST_HEX];
    digest_hex(digest_of(span_of(NULL, 0)), hex);
    size_t at = 0;
    while (at < m->g->tree.n && strcmp(m->g->tree.v[at].path, "evidence/") < 0)
        at++;
    const char *next = scratch_printf(m->sc, "    {\n      \"path\": \"%s\"", m->g->tree.v[at].path);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *two = scratch_printf(
            m->sc,
            "    {\"path\": \"%s\", \"bytes\": 0, \"sha256\": \"%s\", \"role\": \"evidence\"},\n"
            "    {\"path\": \"%s\", \"bytes\": 0, \"sha256\": \"%s\", \"role\": \"evidence\"},\n%s",
            pairs[i].a, hex, pairs[i].b, hex, next);
        edit(m, next, two, pairs[i].id, NULL, pairs[i].what);
    }
    static const struct {
        finding_id id;
        const char *omitted, *where;
    } omissions[] = {
        {FIND_JSON_MISSING_KEY, "{\"path\": \"x\"}", "/omitted/0"},
        {FIND_JSON_MISSING_KEY, "{\"reason\": \"x\"}", "/omitted/0"},
        {FIND_MANIFEST_INVALID, "{\"path\": \"x\", \"reason\": \"\"}", "/omitted/0"},
        {FIND_MANIFEST_INVALID, "{\"path\": \"contract.json\", \"reason\": \"r\"}", "/omitted/0"},
        {FIND_MANIFEST_PATH, "{\"path\": \"manifest.json\", \"reason\": \"r\"}", "/omitted/0"},
        {FIND_MANIFEST_PATH, "{\"path\": \"../x\", \"reason\": \"r\"}", "/omitted/0"},
        {FIND_MANIFEST_ORDER, "{\"path\": \"b\", \"reason\": \"r\"}, {\"path\": \"a\", \"reason\": \"r\"}",
         "/omitted/1"},
        {FIND_MANIFEST_DUPLICATE,
         "{\"path\": \"a\", \"reason\": \"r\"}, {\"path\": \"a\", \"reason\": \"r\"}", "/omitted/1"},
        {FIND_JSON_TYPE, "{\"path\": \"a\", \"reason\": 1}", "/omitted/0/reason"},
        {FIND_JSON_TYPE, "3", "/omitted/0"},
        {FIND_JSON_UNKNOWN_KEY, "{\"path\": \"a\", \"reason\": \"r\", \"url\": \"http\"}", "/omitted/0/url"},
        {FIND_JSON_NUMBER, "{\"path\": \"a\", \"reason\": \"r\", \"bytes\": -5}", "/omitted/0/bytes"},
        {FIND_JSON_VALUE, "{\"path\": \"a\", \"reason\": \"r\", \"sha256\": \"x\"}", "/omitted/0/sha256"},
    };
    for (size_t i = 0; i < sizeof omissions / sizeof *omissions; i++)
        edit(m, "\"omitted\": []", scratch_printf(m->sc, "\"omitted\": [%s]", omissions[i].omitted),
             omissions[i].id, omissions[i].where, scratch_printf(m->sc, "omitted: %s", omissions[i].omitted));
}

/* The manifest says fewer or more files than there are. */
static void closed_world(maker *m)
{
    for (size_t i = 1; i <= m->g->tree.n; i += 3) {
        t_tree t = m->g->tree;
        span text;
        t.sc = m->sc;
        const char *path = entry_path(m->g, i);
        t_drop(&t, path);
        t_manifest(m->sc, t.name, t.v, t.n, &text);
        give(m, with_manifest(m, text), FIND_FILE_EXTRA, path, "stream byte *",
             "a file that the manifest does not list");
    }
    for (size_t i = 1; i <= m->g->tree.n; i += 3) {
        t_tree t = m->g->tree;
        t.sc = m->sc;
        const char *path = entry_path(m->g, i);
        t_drop(&t, path);
        give(m, framed(m, t_stream(m->sc, m->g->text, t.v, t.n)), FIND_FILE_MISSING, path, "",
             "a listed file that is not there");
    }
}

void hostile_manifests(maker *m)
{
    faults_of_json(m, "manifest.json", m->g->text, put_manifest);
    static const char *const keys[] = {"\"format\"", "\"name\"", "\"files\"", "\"omitted\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        edit(m, keys[i], scratch_printf(m->sc, "\"x%s", keys[i] + 1), FIND_JSON_MISSING_KEY, "",
             scratch_printf(m->sc, "without %s", keys[i]));
    static const char *const formats[] = {"replay-bundle/2", "replay-bundle/10", "Replay-bundle/1",
                                          "replay-bundle/1 ", ""};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        edit(m, "replay-bundle/1", formats[i], FIND_JSON_VALUE, "/format",
             scratch_printf(m->sc, "the format \"%s\"", formats[i]));
    const char *name = scratch_printf(m->sc, "\"name\": \"%s\"", m->g->tree.name);
    static const char *const names[] = {"",        ".hidden", "-rf", "a/b", "a b", "\\u001b[31m",
                                        "\\u202e", "..",      "_x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        edit(m, name, scratch_printf(m->sc, "\"name\": \"%s\"", names[i]), FIND_MANIFEST_INVALID, "/name",
             scratch_printf(m->sc, "the name \"%s\"", names[i]));
    edit(m, name, scratch_printf(m->sc, "\"name\": \"%065d\"", 0), FIND_MANIFEST_INVALID, "/name",
         "a name of 65 bytes");
    paths(m);
    entries(m);
    trees(m);
    closed_world(m);
}

/* --- The other documents: digests of the capture and the manifest are those of the broken text. --- */

static span with_document(maker *m, const char *path, span bytes)
{
    t_tree t = m->g->tree;
    span text;
    t.sc = m->sc;
    t_put(&t, path, bytes);
    if (strcmp(path, "capture.json"))
        t_add_capture(&t);
    t_manifest(m->sc, t.name, t.v, t.n, &text);
    return framed(m, t_stream(m->sc, text, t.v, t.n));
}

void hostile_documents(maker *m)
{
    static const char *const files[] = {"plan/plan.json",      "plan/arena.json", "plan/resolved_calls.json",
                                        "capture.json",        "reference.json",  "contract.json",
                                        "fixtures/random.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!t_has_file(&m->g->tree, files[i]))
            continue;
        scratch *sc = m->sc;
        m->sc = scratch_new(0);
        faults_of_json(m, files[i], t_bytes(&m->g->tree, files[i]), with_document);
        scratch_free(m->sc);
        m->sc = sc;
    }
}

/* --- Fixture data: safetensors files that other readers have been misled by. --- */

static span tensors(maker *m, const char *header, size_t data)
{
    uint8_t *p = scratch_alloc(m->sc, 8 + strlen(header) + data);
    for (unsigned i = 0; i < 8; i++)
        p[i] = (uint8_t)((uint64_t)strlen(header) >> 8 * i);
    memcpy(p + 8, header, strlen(header));
    return span_of(p, 8 + strlen(header) + data);
}

static void fixture(maker *m, span bytes, const char *what)
{
    const char *path = NULL;
    for (size_t i = 0; i < m->g->tree.n && !path; i++)
        if (manifest_role_of(m->g->tree.v[i].path) == ROLE_FIXTURE)
            path = m->g->tree.v[i].path;
    expected x = {.id = FIND_FIXTURE_FORMAT,
                  .answers = case_of(FIND_FIXTURE_FORMAT),
                  .what = what,
                  .file = path,
                  .full = true};
    m->out(m->ctx, &x, with_document(m, path, bytes));
}

#define T(name, type, shape, from, to)                                                                       \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" from "," to "]}"

void hostile_fixtures(maker *m)
{
    static const struct {
        const char *header;
        size_t data;
        const char *what;
    } cases[] = {
        {"{" T("x", "F32", "2", "0", "8") "," T("y", "F32", "2", "4", "12") "}", 12, "tensors that overlap"},
        {"{" T("x", "F32", "2", "0", "8") "," T("y", "F32", "2", "0", "8") "}", 8,
         "two tensors of the same bytes"},
        {"{" T("x", "F32", "1", "0", "4") "," T("y", "F32", "1", "8", "12") "}", 12, "bytes between tensors"},
        {"{" T("x", "F32", "1", "4", "8") "}", 8, "bytes before the first tensor"},
        {"{" T("x", "F32", "1", "0", "4") "}", 8, "bytes behind the last tensor"},
        {"{" T("x", "F32", "1", "0", "4") "}", 2, "a tensor that reaches beyond the file"},
        {"{" T("x", "F32", "1000,1000", "0", "4") "}", 4, "a shape larger than its bytes"},
        {"{" T("x", "F32", "4294967296,4294967296", "0", "4") "}", 4, "a shape whose size overflows"},
        {"{" T("x", "F32", "1", "8", "4") "}", 8, "an end before the begin"},
        {"{" T("x", "F32", "1", "-4", "0") "}", 4, "a negative offset"},
        {"{" T("x", "F8_E9", "4", "0", "4") "}", 4, "an unknown type"},
        {"{" T("x", "f32", "1", "0", "4") "}", 4, "a type in small letters"},
        {"{" T("x", "F32", "0", "0", "0") "}", 0, "an empty tensor"},
        {"{" T("x", "F32", "1,1,1,1,1", "0", "4") "}", 4, "five axes"},
        {"{" T("x", "F32", "1", "0", "4") "," T("x", "F32", "1", "4", "8") "}", 8, "a tensor twice"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}}", 4, "an unknown key"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "no offsets"},
        {"{\"__metadata__\":{\"a\":1}," T("x", "F32", "1", "0", "4") "}", 4, "metadata that is no text"},
        {"[]", 4, "an array as the header"},
        {" {" T("x", "F32", "1", "0", "4") "}", 4, "a space before the header"},
        {"{" T("x", "F32", "1", "0", "4") "}\n", 4, "a newline behind the header"},
        {"{" T("x", "F32", "1", "0", "4") "}{}", 4, "two headers"},
        {"", 0, "an empty header"},
        {"{", 0, "half a header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fixture(m, tensors(m, cases[i].header, cases[i].data), cases[i].what);
    fixture(m, span_of("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10), "a header of 2^63 bytes");
    fixture(m, span_of("\0\0\0\0", 4), "four bytes");
    fixture(m, span_of(NULL, 0), "no bytes");
}
