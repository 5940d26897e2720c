/* The machine code as the driver loaded it: every module announced since before the first CUDA call. */
#include "artifacts/base/ck.h"
#include "gpu/cuda/profiler.h"
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>

enum { MAX_CUBINS = 4096 };

typedef struct {
    uint8_t *p;
    size_t n;
} blob;

static struct {
    pthread_mutex_t lock;
    blob v[MAX_CUBINS];
    size_t n;
    bool lost;
    CUpti_SubscriberHandle subscriber;
} got = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void CUPTIAPI on_resource(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)user;
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_MODULE_LOADED || !data)
        return;
    const CUpti_ModuleResourceData *m = ((const CUpti_ResourceData *)data)->resourceDescriptor;
    if (!m || !m->pCubin || !m->cubinSize)
        return;
    /* The bytes are lent for the length of this call. */
    pthread_mutex_lock(&got.lock);
    uint8_t *copy = got.n < MAX_CUBINS ? malloc(m->cubinSize) : NULL;
    if (copy) {
        memcpy(copy, m->pCubin, m->cubinSize);
        got.v[got.n++] = (blob){copy, m->cubinSize};
    } else {
        got.lost = true;
    }
    pthread_mutex_unlock(&got.lock);
}

rp_code cubins_begin(rp_err *profile)
{
    if (profiler_load(profile) ||
        profiler_ok(profile, prof.subscribe(&got.subscriber, on_resource, NULL), "cuptiSubscribe") ||
        profiler_ok(profile,
                    prof.enable_callback(1, got.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                         CUPTI_CBID_RESOURCE_MODULE_LOADED),
                    "cuptiEnableCallback MODULE_LOADED"))
        return profile->code;
    return RP_OK;
}

/* A cubin is an ELF file with a section ".text.NAME" for each kernel: whether `kernel` is among them. */
static bool has_kernel(const blob *b, const char *kernel)
{
    static const char prefix[] = ".text.";
    Elf64_Ehdr h;
    Elf64_Shdr names, s;
    size_t n = strlen(kernel) + 1;
    if (b->n < sizeof h || memcmp(b->p, ELFMAG, SELFMAG) || b->p[EI_CLASS] != ELFCLASS64)
        return false;
    memcpy(&h, b->p, sizeof h);
    uint64_t table = (uint64_t)h.e_shnum * sizeof s;
    if (h.e_shentsize != sizeof s || h.e_shstrndx >= h.e_shnum || !ck_inside(h.e_shoff, table, b->n))
        return false;
    memcpy(&names, b->p + h.e_shoff + h.e_shstrndx * sizeof names, sizeof names);
    if (!ck_inside(names.sh_offset, names.sh_size, b->n))
        return false;
    for (uint64_t i = 0; i < h.e_shnum; i++) {
        memcpy(&s, b->p + h.e_shoff + i * sizeof s, sizeof s);
        if (!ck_inside(s.sh_name, sizeof prefix - 1 + n, names.sh_size))
            continue;
        const uint8_t *name = b->p + names.sh_offset + s.sh_name;
        if (!memcmp(name, prefix, sizeof prefix - 1) && !memcmp(name + sizeof prefix - 1, kernel, n))
            return true;
    }
    return false;
}

/* Names of the graph's kernels that the cubin holds, each once. */
static const char *kernels_of(const phase *p, const blob *b)
{
    const char *list = "";
    for (uint64_t i = 0; i < p->r->n_graph && list; i++) {
        const result_node *n = &p->r->graph[i];
        bool seen = n->kind != RESULT_NODE_KERNEL;
        for (uint64_t k = 0; k < i; k++)
            seen =
                seen || (p->r->graph[k].kind == RESULT_NODE_KERNEL && !strcmp(p->r->graph[k].name, n->name));
        if (!seen && has_kernel(b, n->name))
            list = *list ? scratch_printf(p->sc, "%s, %s", list, n->name) : n->name;
    }
    return list;
}

rp_code cubins_collect(rp_err *e, rp_err *profile, phase *p, span *bytes)
{
    uint64_t total = 0;
    *bytes = span_of("", 0);
    if (profile->code)
        return RP_OK;
    pthread_mutex_lock(&got.lock);
    if (!got.n)
        err_set(profile, RP_WORKER, "CUPTI: expected the modules that were loaded, found none");
    if (got.lost)
        err_set(profile, RP_WORKER, "CUPTI: expected at most %d modules and memory for them", MAX_CUBINS);
    for (size_t i = 0; i < got.n; i++)
        total += got.v[i].n;
    uint8_t *all = scratch_alloc(p->sc, total);
    p->r->cubins = scratch_array(p->sc, got.n, sizeof *p->r->cubins);
    if (all && p->r->cubins) {
        size_t at = 0;
        for (size_t i = 0; i < got.n; i++) {
            const blob *b = &got.v[i];
            result_cubin *c = &p->r->cubins[p->r->n_cubins++];
            memcpy(all + at, b->p, b->n);
            c->sha256 = digest_of(span_of(b->p, b->n));
            c->bytes = b->n;
            c->output_offset_bytes = p->jb->output_bytes + at;
            c->kernels = kernels_of(p, b);
            at += b->n;
        }
        *bytes = span_of(all, at);
    } else {
        err_nomem(e);
    }
    pthread_mutex_unlock(&got.lock);
    return e->code;
}
