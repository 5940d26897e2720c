#include "tests/capture/capture.h"

#include <dirent.h>
#include <errno.h>
#include <link.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static FILE *open_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail("%s: %s", path, strerror(errno));
    return f;
}

char *read_text(const char *path, size_t *bytes)
{
    FILE *f = open_file(path);
    struct stat st;
    if (fstat(fileno(f), &st) != 0)
        fail("%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        fail("%s: not a regular file", path);
    size_t size = (size_t)st.st_size;
    char *text = must_alloc(size + 1, 1);
    if (fread(text, 1, size, f) != size || fgetc(f) != EOF || ferror(f))
        fail("%s: could not be read whole", path);
    fclose(f);
    *bytes = size;
    return text;
}

static EVP_MD_CTX *sha256_begin(void)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (!ctx || EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1)
        fail("SHA-256 is not available");
    return ctx;
}

static void sha256_end(EVP_MD_CTX *ctx, char hex[HEX_DIGEST])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    if (EVP_DigestFinal_ex(ctx, digest, &bytes) != 1 || bytes != 32)
        fail("SHA-256 failed");
    for (unsigned i = 0; i < bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    EVP_MD_CTX_free(ctx);
}

static void sha256_more(EVP_MD_CTX *ctx, const void *data, size_t bytes)
{
    if (EVP_DigestUpdate(ctx, data, bytes) != 1)
        fail("SHA-256 failed");
}

void sha256_bytes(const void *data, size_t bytes, char hex[HEX_DIGEST])
{
    EVP_MD_CTX *ctx = sha256_begin();
    sha256_more(ctx, data, bytes);
    sha256_end(ctx, hex);
}

/* By pieces: cuBLASLt's library is half a gigabyte. */
void sha256_file(const char *path, char hex[HEX_DIGEST])
{
    enum { PIECE = 1 << 20 };
    FILE *f = open_file(path);
    char *piece = must_alloc(PIECE, 1);
    EVP_MD_CTX *ctx = sha256_begin();
    size_t got;
    while ((got = fread(piece, 1, PIECE, f)) > 0)
        sha256_more(ctx, piece, got);
    if (ferror(f))
        fail("%s: %s", path, strerror(errno));
    sha256_end(ctx, hex);
    free(piece);
    fclose(f);
}

static char *joined(const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0)
        fail("out of memory");
    return path;
}

static void add_file(file_list *out, char *relative, const char *path)
{
    listed_file *grown = realloc(out->items, (out->count + 1) * sizeof *grown);
    if (!grown)
        fail("out of memory");
    out->items = grown;
    listed_file *item = &grown[out->count++];
    item->path = relative;
    sha256_file(path, item->sha256);
}

static void list_below(const char *root, const char *relative_folder, file_list *out)
{
    char *folder = joined(root, relative_folder);
    DIR *dir = opendir(folder);
    if (!dir)
        fail("%s: %s", folder, strerror(errno));
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *relative = joined(relative_folder, entry->d_name);
        char *path = joined(root, relative);
        struct stat st;
        if (lstat(path, &st) != 0)
            fail("%s: %s", path, strerror(errno));
        if (S_ISDIR(st.st_mode)) {
            list_below(root, relative, out);
            free(relative);
        } else if (!S_ISREG(st.st_mode)) {
            fail("%s: neither a regular file nor a folder", path);
        } else if (strcmp(relative, "capture.json") == 0) {
            free(relative); /* the record cannot hold its own digest */
        } else {
            add_file(out, relative, path);
        }
        free(path);
    }
    if (errno)
        fail("%s: %s", folder, strerror(errno));
    closedir(dir);
    free(folder);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const listed_file *)a)->path, ((const listed_file *)b)->path);
}

void list_files(const char *folder, file_list *out)
{
    *out = (file_list){0};
    list_below(folder, "", out);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_path);
}

static int match_library(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const prefixes[LIBRARIES] = {"libcudart.so", "libcublasLt.so", "libnvrtc.so",
                                                    "libcupti.so"};
    (void)size;
    loaded_library *out = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *base = slash ? slash + 1 : info->dlpi_name;
    for (int i = 0; i < LIBRARIES; i++) {
        if (strncmp(base, prefixes[i], strlen(prefixes[i])) != 0)
            continue;
        snprintf(out[i].soname, sizeof out[i].soname, "%s", base);
        sha256_file(info->dlpi_name, out[i].sha256);
    }
    return 0;
}

/* The loader names a library by the path it opened, whose last part is the soname that the program asked for.
 */
void find_libraries(loaded_library out[LIBRARIES])
{
    memset(out, 0, LIBRARIES * sizeof *out);
    dl_iterate_phdr(match_library, out);
    for (int i = 0; i < LIBRARIES; i++)
        if (!out[i].soname[0])
            fail("one of cudart, cublasLt, nvrtc and cupti is not loaded as a shared library");
}
