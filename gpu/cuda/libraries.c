#include "gpu/cuda/libraries.h"
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <link.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdlib.h>

enum { MAX_LIBRARIES = 64 };

typedef struct {
    const char *soname, *path;
} loaded;

typedef struct {
    scratch *sc;
    loaded v[MAX_LIBRARIES];
    size_t n;
} loaded_list;

static const char *const ours[] = {"libcuda.",  "libcudart.", "libcublasLt.", "libnvrtc",
                                   "libcupti.", "libnvidia-", "libnvJitLink."};

/* DT_SONAME of a mapped object, NULL without one. glibc keeps the string table's address relocated; others
 * keep the offset. */
static const char *soname_of(const struct dl_phdr_info *info)
{
    const char *strings = NULL;
    uint64_t name = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; d->d_tag != DT_NULL; d++) {
            if (d->d_tag == DT_STRTAB)
                strings = (const char *)(d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr + d->d_un.d_ptr
                                                                         : d->d_un.d_ptr);
            else if (d->d_tag == DT_SONAME)
                name = d->d_un.d_val;
        }
    }
    return strings && name ? strings + name : NULL;
}

static int on_object(struct dl_phdr_info *info, size_t size, void *user)
{
    loaded_list *l = user;
    (void)size;
    if (!info->dlpi_name || info->dlpi_name[0] != '/')
        return 0;
    const char *soname = soname_of(info);
    for (size_t i = 0; soname && i < sizeof ours / sizeof *ours && l->n < MAX_LIBRARIES; i++) {
        if (strncmp(soname, ours[i], strlen(ours[i])))
            continue;
        loaded *x = &l->v[l->n];
        x->soname = scratch_strdup(l->sc, soname);
        x->path = scratch_strdup(l->sc, info->dlpi_name);
        if (x->soname && x->path)
            l->n++;
        break;
    }
    return 0;
}

static int by_soname(const void *a, const void *b)
{
    return strcmp(((const loaded *)a)->soname, ((const loaded *)b)->soname);
}

static const char *none_if_null(const char *s)
{
    return s ? s : "";
}

const char *libraries_cudart_version(scratch *sc)
{
    int v = 0;
    if (cudaRuntimeGetVersion(&v) != cudaSuccess)
        return "";
    return none_if_null(scratch_printf(sc, "%d.%d", v / 1000, v % 1000 / 10));
}

const char *libraries_cublaslt_version(scratch *sc)
{
    size_t v = cublasLtGetVersion();
    return none_if_null(scratch_printf(sc, "%zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100));
}

const char *libraries_nvrtc_version(scratch *sc)
{
    int major, minor;
    if (nvrtcVersion(&major, &minor) != NVRTC_SUCCESS)
        return "";
    return none_if_null(scratch_printf(sc, "%d.%d", major, minor));
}

const char *libraries_path(scratch *sc, const char *soname_prefix)
{
    loaded_list l = {.sc = sc};
    dl_iterate_phdr(on_object, &l);
    for (size_t i = 0; i < l.n; i++)
        if (!strncmp(l.v[i].soname, soname_prefix, strlen(soname_prefix)))
            return l.v[i].path;
    return NULL;
}

static const char *version_of(scratch *sc, const char *soname, const char *driver, const char *cupti)
{
    if (!strncmp(soname, "libcudart.", 10))
        return libraries_cudart_version(sc);
    if (!strncmp(soname, "libcublasLt.", 12))
        return libraries_cublaslt_version(sc);
    if (!strncmp(soname, "libnvrtc.", 9))
        return libraries_nvrtc_version(sc);
    if (!strncmp(soname, "libcupti.", 9))
        return cupti;
    /* The driver's own libraries carry its version. */
    if (!strncmp(soname, "libcuda.", 8) || !strncmp(soname, "libnvidia-", 10))
        return driver;
    return "";
}

static void hash(result_library *x, const char *path)
{
    rp_err unread = {0};
    if (digest_file(&unread, &x->sha256, &x->bytes, path)) {
        x->sha256 = digest_of(span_of("", 0));
        x->bytes = 0;
    }
}

/* What the thread hashes; read again only after it was joined. */
static struct {
    loaded_list list;
    result_library hashed[MAX_LIBRARIES];
    pthread_t thread;
    bool running;
} ahead;

static void *hash_all(void *unused)
{
    for (size_t i = 0; i < ahead.list.n; i++)
        hash(&ahead.hashed[i], ahead.list.v[i].path);
    return unused;
}

void libraries_hash_ahead(scratch *sc)
{
    ahead.list = (loaded_list){.sc = sc};
    dl_iterate_phdr(on_object, &ahead.list);
    ahead.running = !pthread_create(&ahead.thread, NULL, hash_all, NULL);
    if (!ahead.running)
        ahead.list.n = 0;
}

void libraries_hash_wait(void)
{
    if (ahead.running)
        pthread_join(ahead.thread, NULL);
    ahead.running = false;
}

static void hash_once(result_library *x, const char *path)
{
    for (size_t i = 0; i < ahead.list.n; i++)
        if (!strcmp(ahead.list.v[i].path, path)) {
            x->sha256 = ahead.hashed[i].sha256;
            x->bytes = ahead.hashed[i].bytes;
            return;
        }
    hash(x, path);
}

rp_code libraries_list(rp_err *e, result *r, scratch *sc, const char *driver, const char *cupti)
{
    loaded_list l = {.sc = sc};
    libraries_hash_wait();
    dl_iterate_phdr(on_object, &l);
    qsort(l.v, l.n, sizeof *l.v, by_soname);
    if (!(r->libraries = scratch_array(sc, l.n, sizeof *r->libraries)))
        return err_nomem(e);
    for (size_t i = 0; i < l.n; i++) {
        result_library *x = &r->libraries[r->n_libraries++];
        x->soname = l.v[i].soname;
        x->version = version_of(sc, l.v[i].soname, driver, cupti);
        hash_once(x, l.v[i].path);
    }
    return RP_OK;
}
