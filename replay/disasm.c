#include "replay/disasm.h"
#include "artifacts/base/file.h"
#include "artifacts/base/proc.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEADLINE_MS = 60000, MAX_MNEMONICS = 1024, MAX_NAME = 64 };
static const uint64_t max_text = 256ULL << 20;

static const char *in_folder(scratch *sc, const char *dir)
{
    static const char *const tools[] = {"cuobjdump", "nvdisasm"};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        const char *path = file_join(sc, dir, tools[i]);
        if (path && !access(path, X_OK))
            return path;
    }
    return NULL;
}

const char *disasm_find(scratch *sc)
{
    const char *home = getenv("CUDA_HOME"), *path = getenv("PATH"), *found = NULL;
    if (home && *home)
        found = in_folder(sc, scratch_printf(sc, "%s/bin", home));
    found = found ? found : in_folder(sc, "/usr/local/cuda/bin");
    for (const char *p = path ? path : ""; !found && *p;) {
        size_t n = strcspn(p, ":");
        const char *dir = scratch_strndup(sc, p, n);
        if (n && dir)
            found = in_folder(sc, dir);
        p += n + (p[n] == ':');
    }
    return found;
}

/* --- Counting. A line of code reads `/`*0010*`/ [@P0] MNEMONIC operands ;`. --- */

typedef struct {
    char name[MAX_NAME];
    uint64_t count;
} mnemonic;

typedef struct {
    mnemonic v[MAX_MNEMONICS];
    size_t n;
    uint64_t instructions;
} tally;

static void add(tally *t, const char *s, size_t n)
{
    size_t i = 0;
    t->instructions++;
    n = n < MAX_NAME ? n : MAX_NAME - 1;
    while (i < t->n && (strncmp(t->v[i].name, s, n) || t->v[i].name[n]))
        i++;
    if (i == t->n) {
        if (t->n == MAX_MNEMONICS)
            return;
        memcpy(t->v[t->n].name, s, n);
        t->v[t->n++].name[n] = 0;
    }
    t->v[i].count++;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const mnemonic *)a)->name, ((const mnemonic *)b)->name);
}

static bool is_matrix(const char *name)
{
    return strstr(name, "MMA") && strncmp(name, "HFMA2", 5);
}

/* Whether the comma-separated list has the name. */
static bool listed(const char *list, const char *name)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == strlen(name) && !memcmp(list, name, n))
            return true;
    }
    return false;
}

typedef struct {
    uint64_t functions, instructions;
} others;

static void flush(jw *j, tally *t, const char *function, const char **matrix, scratch *sc,
                  const char *launched, others *rest)
{
    if (!t->instructions)
        return;
    if (!listed(launched, function)) {
        rest->functions++;
        rest->instructions += t->instructions;
        *t = (tally){0};
        return;
    }
    qsort(t->v, t->n, sizeof *t->v, by_name);
    jw_obj(j, NULL);
    jw_str(j, "name", function);
    jw_u64(j, "instructions", t->instructions);
    jw_arr(j, "mnemonics");
    for (size_t i = 0; i < t->n; i++) {
        jw_obj(j, NULL);
        jw_str(j, "mnemonic", t->v[i].name);
        jw_u64(j, "count", t->v[i].count);
        jw_end(j);
        if (is_matrix(t->v[i].name)) {
            const char *s = scratch_printf(sc, "%s%s%s x%llu", *matrix, **matrix ? ", " : "", t->v[i].name,
                                           (unsigned long long)t->v[i].count);
            *matrix = s ? s : *matrix;
        }
    }
    jw_end(j);
    jw_end(j);
    *t = (tally){0};
}

/* Behind the address comment that a line of code begins with, or NULL: four hexadecimal digits, more above 64
 * KiB. The second line of a 16-byte instruction begins with its encoding, `/`* 0x…`. */
static const char *behind_address(const char *p)
{
    if (strncmp(p, "/*", 2))
        return NULL;
    size_t n = strspn(p + 2, "0123456789abcdef");
    return n >= 4 && !strncmp(p + 2 + n, "*/", 2) ? p + n + 4 : NULL;
}

/* `Function : NAME` of cuobjdump; `.text.NAME:` of nvdisasm. */
static const char *function_of(scratch *sc, const char *line, size_t n)
{
    static const char dump[] = "Function : ", text[] = ".text.";
    const char *s = scratch_strndup(sc, line, n);
    const char *at = s ? strstr(s, dump) : NULL;
    if (at)
        return at + sizeof dump - 1;
    if (s && !strncmp(s, text, sizeof text - 1) && n && s[n - 1] == ':')
        return scratch_strndup(sc, s + sizeof text - 1, n - sizeof text);
    return NULL;
}

void disasm_count(jw *j, const char **matrix, scratch *sc, const char *text, const char *launched)
{
    tally *t = calloc(1, sizeof *t);
    others rest = {0};
    const char *function = "";
    *matrix = "";
    jw_arr(j, "functions");
    while (t && *text) {
        size_t n = strcspn(text, "\n");
        const char *name = function_of(sc, text, n), *p = text + strspn(text, " \t");
        if (name) {
            flush(j, t, function, matrix, sc, launched, &rest);
            function = name;
        } else if ((p = behind_address(p))) {
            p += strspn(p, " \t");
            if (*p == '@')
                p += strcspn(p, " \t\n");
            p += strspn(p, " \t");
            size_t len = strcspn(p, " \t;\n");
            if (len && p[0] >= 'A' && p[0] <= 'Z')
                add(t, p, len);
        }
        text += n + (text[n] == '\n');
    }
    if (t)
        flush(j, t, function, matrix, sc, launched, &rest);
    jw_end(j);
    jw_u64(j, "other_functions", rest.functions);
    jw_u64(j, "other_instructions", rest.instructions);
    free(t);
}

rp_code disasm_cubin(rp_err *e, jw *j, const char **matrix, scratch *sc, const char *tool, span cubin,
                     const char *launched)
{
    char path[] = "/tmp/replay-cubin-XXXXXX.cubin";
    const char *base = strrchr(tool, '/') + 1;
    bool dump = !strcmp(base, "cuobjdump");
    const char *const argv[] = {tool, dump ? "-sass" : "-c", path, NULL},
                      *const env[] = {"PATH=/usr/local/cuda/bin:/usr/bin:/bin", NULL};
    proc_end end;
    span text;
    int fd = mkstemps(path, 6), out = file_temp(e);
    if (fd < 0)
        err_errno(e, path, "create");
    *matrix = "";
    if (!e->code && !file_write_fd(e, fd, path, cubin)) {
        proc_spec spec = {.path = tool,
                          .argv = argv,
                          .env = env,
                          .stdout_fd = out,
                          .deadline_ms = DEADLINE_MS,
                          .max_stderr = 4096};
        if (!proc_run(e, &end, sc, &spec) && (end.exit_code || end.signal || end.timed_out))
            err_set(e, RP_UNAVAILABLE, "%s failed: %.*s", base, (int)strcspn(end.err_text, "\n"),
                    end.err_text);
        if (!e->code && !file_read_fd(e, &text, sc, out, base, max_text)) {
            const char *s = scratch_strndup(sc, (const char *)text.p, text.n);
            jw_str(j, "tool", base);
            if (s)
                disasm_count(j, matrix, sc, s, launched);
            else
                err_nomem(e);
        }
    }
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    if (out >= 0)
        close(out);
    return e->code;
}
