#include "artifacts/frames.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "artifacts/zs.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEADER_MAX = 18, /* magic, descriptor, window, dictionary id, content size */
    BLOCK_HEADER = 3,
    PIECE_BYTES = 256 << 10, /* of a single frame's stream */
    INPUT_BYTES = 128 << 10,
    WALK_BYTES = 4096,
    WINDOW_SEVERAL = 8 << 20, /* what RFC 8878 asks every decoder to support */
    THREADS_MAX = 8,
};
static const uint8_t magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

typedef struct {
    uint64_t at, bytes;           /* in the file */
    uint64_t content_at, content; /* content is UINT64_MAX where it is not stated */
    uint64_t window;
    bool has_checksum, cut; /* cut: the file ends inside it */
} frame;

/* A decoder with room for one compressed frame: one a thread. */
struct frames_decoder {
    zs_dec *z;
    uint8_t *packed;
};
typedef frames_decoder decoder;

typedef enum { SLOT_FREE, SLOT_TAKEN, SLOT_READY } slot_state;

typedef struct {
    uint8_t *content;
    slot_state state;
    rp_err err;
} slot;

typedef struct {
    struct frames *f;
    decoder d;
    pthread_t thread;
} worker;

struct frames {
    int fd;
    char *name;
    uint64_t file_bytes;
    frame *v;
    size_t n, cap;
    size_t max_content, max_bytes; /* of the frames that decode at once */
    rp_err fault;

    /* Bytes around the last place that the walk looked at. */
    uint8_t walk[WALK_BYTES];
    uint64_t walk_at;
    size_t walk_n;

    decoder d;
    uint8_t *cache; /* content of frame `cached` */
    size_t cached;  /* n: none */

    /* The single frame as a stream. */
    uint8_t *input, *piece;
    size_t in_pos, in_n;
    uint64_t in_at, out_at;
    bool streaming, ended;

    /* A pass: threads decode ahead into the slots, frame i into slot i % n_slots. */
    uint64_t pass_at;
    worker *workers;
    slot *slots;
    size_t n_workers, n_slots;
    size_t take, give; /* the next frame a thread takes, and the next one handed out */
    bool stop, lent;
    pthread_mutex_t lock;
    pthread_cond_t change;
};

/* --- The table. --- */

static rp_code fault_at(rp_err *e, finding_id id, uint64_t at, const char *expected, const char *found)
{
    char where[32];
    snprintf(where, sizeof where, "byte %llu", (unsigned long long)at);
    return err_invalid(e, id, NULL, where, "expected %s, found %s", expected, found);
}

/* n bytes at `at` (n at most HEADER_MAX), or fewer at the end of the file. */
static rp_code look(rp_err *e, frames *f, uint64_t at, size_t n, const uint8_t **p, size_t *got)
{
    uint64_t left = at < f->file_bytes ? f->file_bytes - at : 0;
    *got = left < n ? (size_t)left : n;
    if (at < f->walk_at || !ck_inside(at - f->walk_at, *got, f->walk_n)) {
        size_t fill = left < WALK_BYTES ? (size_t)left : WALK_BYTES;
        if (file_pread(e, f->fd, f->name, f->walk, fill, at))
            return e->code;
        f->walk_at = at;
        f->walk_n = fill;
    }
    *p = f->walk + (at - f->walk_at);
    return RP_OK;
}

static uint64_t little(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (; n > 0; n--)
        v = v << 8 | p[n - 1];
    return v;
}

/* The frame header at fr->at: fills window, content and has_checksum. */
static rp_code read_header(rp_err *e, frames *f, frame *fr, size_t *header_bytes)
{
    const uint8_t *p;
    size_t got;
    if (look(e, f, fr->at, HEADER_MAX, &p, &got))
        return e->code;
    if (got < 4 && !memcmp(p, magic, got))
        return fault_at(e, FIND_CONTAINER_TRUNCATED, f->file_bytes, "a whole frame", "the end of the file");
    if (got < 4 || memcmp(p, magic, 4)) {
        char found[64];
        if (got >= 4 && (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18)
            return fault_at(e, FIND_CONTAINER_SKIPPABLE, fr->at, "a zstd frame", "a skippable frame");
        int n = snprintf(found, sizeof found, "%llu bytes:", (unsigned long long)(f->file_bytes - fr->at));
        for (size_t i = 0; i < got && i < 4; i++)
            n += snprintf(found + n, sizeof found - (size_t)n, " %02x", p[i]);
        return fault_at(e, f->n ? FIND_CONTAINER_TRAILING : FIND_CONTAINER_ZSTD, fr->at,
                        f->n ? "the end of the file" : "a zstd frame, 28 b5 2f fd", found);
    }
    static const size_t dictionary[] = {0, 1, 2, 4}, size[] = {0, 2, 4, 8};
    uint8_t d = got > 4 ? p[4] : 0;
    bool single = d >> 5 & 1;
    size_t window_n = single ? 0 : 1, size_n = d >> 6 ? size[d >> 6] : single;
    size_t n = 5 + window_n + dictionary[d & 3] + size_n;
    if (got < n)
        return fault_at(e, FIND_CONTAINER_TRUNCATED, f->file_bytes, "a whole frame", "the end of the file");
    if (d & 3)
        return fault_at(e, FIND_CONTAINER_DICTIONARY, fr->at, "a frame without dictionary",
                        "a dictionary's id");
    if (d & 8)
        return fault_at(e, FIND_CONTAINER_ZSTD, fr->at, "the reserved bit to be 0", "1");
    fr->has_checksum = d >> 2 & 1;
    fr->content = size_n ? little(p + n - size_n, size_n) + (size_n == 2 ? 256 : 0) : UINT64_MAX;
    if (single)
        fr->window = fr->content;
    else {
        uint64_t base = UINT64_C(1) << (10 + (p[5] >> 3));
        fr->window = base + base / 8 * (p[5] & 7);
    }
    *header_bytes = n;
    return RP_OK;
}

/* Header and block headers of the frame at fr->at, to its end. */
static rp_code walk_frame(rp_err *e, frames *f, frame *fr)
{
    size_t header = 0;
    if (read_header(e, f, fr, &header))
        return e->code;
    if (fr->window > UINT64_C(1) << ZS_WINDOW_LOG_MAX)
        return fault_at(e, FIND_CONTAINER_WINDOW, fr->at, "a window of at most 128 MiB", "a larger one");
    uint64_t at = fr->at + header;
    for (bool last = false; !last;) {
        const uint8_t *p;
        size_t got;
        if (look(e, f, at, BLOCK_HEADER, &p, &got))
            return e->code;
        uint64_t b = got == BLOCK_HEADER ? little(p, BLOCK_HEADER) : 0;
        unsigned type = b >> 1 & 3;
        uint64_t n = type == 1 ? 1 : b >> 3;
        if (type == 3)
            return fault_at(e, FIND_CONTAINER_ZSTD, at, "a block", "the reserved type");
        last = b & 1;
        if (got < BLOCK_HEADER ||
            !ck_inside(at, BLOCK_HEADER + n + (last && fr->has_checksum ? 4 : 0), f->file_bytes)) {
            fr->cut = true;
            fr->bytes = f->file_bytes - fr->at;
            return fault_at(e, FIND_CONTAINER_TRUNCATED, f->file_bytes, "a whole frame",
                            "the end of the file");
        }
        at += BLOCK_HEADER + n;
    }
    fr->bytes = at + (fr->has_checksum ? 4 : 0) - fr->at;
    return RP_OK;
}

/* Whether the frame can be decoded at once, into memory bounded beforehand. */
static bool is_whole(const frame *fr)
{
    return !fr->cut && fr->content <= FRAMES_CONTENT_MAX && fr->bytes <= zs_bound(FRAMES_CONTENT_MAX);
}

/* What one of several frames may not be, or NULL. */
static const char *unfit(const frame *fr)
{
    if (fr->content == UINT64_MAX)
        return "a frame without content size";
    if (!fr->has_checksum)
        return "a frame without checksum";
    if (!fr->content)
        return "an empty frame";
    if (fr->content > FRAMES_CONTENT_MAX)
        return "a frame of more than 4 MiB";
    if (fr->bytes > zs_bound(FRAMES_CONTENT_MAX))
        return "a frame longer than compression makes it";
    return fr->window > WINDOW_SEVERAL ? "a window of more than 8 MiB" : NULL;
}

static finding_id unfit_id(const frame *fr)
{
    frame other = *fr;
    other.window = 0;
    return unfit(&other) ? FIND_CONTAINER_FRAME : FIND_CONTAINER_WINDOW;
}

static rp_code push(rp_err *e, frames *f, frame fr)
{
    if (f->n == FRAMES_MAX)
        return fault_at(e, FIND_CONTAINER_ZSTD, fr.at, "at most 1048576 frames", "more");
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 16;
        frame *v = realloc(f->v, cap * sizeof *v);
        if (!v)
            return err_nomem(e);
        f->v = v;
        f->cap = cap;
    }
    if (is_whole(&fr)) {
        f->max_content = fr.content > f->max_content ? (size_t)fr.content : f->max_content;
        f->max_bytes = fr.bytes > f->max_bytes ? (size_t)fr.bytes : f->max_bytes;
    }
    f->v[f->n++] = fr;
    return RP_OK;
}

static rp_code build_table(rp_err *e, frames *f)
{
    static const char several[] = "several frames to state 1 byte to 4 MiB of content and to have checksums";
    for (uint64_t at = 0, content_at = 0; at < f->file_bytes || !f->n;) {
        frame fr = {.at = at, .content_at = content_at};
        if (walk_frame(e, f, &fr)) {
            rp_err ignored = {0};
            if (e->code == RP_INVALID && fr.cut && !f->n && push(&ignored, f, fr))
                return e->code = ignored.code;
            return e->code;
        }
        if (f->n == 1 && unfit(&f->v[0]))
            return fault_at(e, unfit_id(&f->v[0]), 0, several, unfit(&f->v[0]));
        if (f->n && unfit(&fr))
            return fault_at(e, unfit_id(&fr), at, several, unfit(&fr));
        if (push(e, f, fr))
            return e->code;
        at += fr.bytes;
        content_at += is_whole(&fr) ? fr.content : 0; /* not used where it is not */
    }
    return RP_OK;
}

rp_code frames_open(rp_err *e, frames **out, int fd, const char *name, uint64_t file_bytes)
{
    frames *f = calloc(1, sizeof *f);
    if (!f)
        return err_nomem(e);
    f->fd = fd;
    f->file_bytes = file_bytes;
    f->name = strdup(name);
    f->d.z = zs_dec_new();
    f->cached = SIZE_MAX;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->change, NULL);
    if (!f->name || !f->d.z)
        err_nomem(e);
    else if (build_table(e, f) == RP_INVALID && f->n) {
        f->fault = *e;
        *e = (rp_err){0};
    }
    if (e->code)
        frames_free(f);
    else
        *out = f;
    return e->code;
}

void frames_free(frames *f)
{
    if (!f)
        return;
    frames_pass_end(f);
    pthread_cond_destroy(&f->change);
    pthread_mutex_destroy(&f->lock);
    zs_dec_free(f->d.z);
    free(f->d.packed);
    free(f->cache);
    free(f->input);
    free(f->piece);
    free(f->v);
    free(f->name);
    free(f);
}

uint64_t frames_count(const frames *f)
{
    return f->n;
}

bool frames_content(const frames *f, uint64_t *bytes)
{
    const frame *last = &f->v[f->n - 1];
    return last->content != UINT64_MAX && ck_add_u64(last->content_at, last->content, bytes);
}

rp_code frames_fault(rp_err *e, const frames *f)
{
    if (!e->code)
        *e = f->fault;
    return e->code;
}

/* --- Decoding one frame at once. --- */

static bool need(uint8_t **buf, size_t n)
{
    if (!*buf)
        *buf = malloc(n);
    return *buf;
}

static rp_code damaged(rp_err *e, const frames *f, const frame *fr, const char *why)
{
    char where[32];
    if (why == zs_no_memory)
        return err_nomem(e);
    snprintf(where, sizeof where, "byte %llu", (unsigned long long)fr->at);
    return err_invalid(e, strstr(why, "checksum") ? FIND_CONTAINER_CHECKSUM : FIND_CONTAINER_ZSTD, NULL,
                       where, "frame %zu does not decode: %s", (size_t)(fr - f->v), why);
}

/* All content of a whole frame into out. Several threads may do this, each with its own decoder. */
static rp_code decode(rp_err *e, const frames *f, decoder *d, const frame *fr, void *out)
{
    if (!need(&d->packed, f->max_bytes))
        return err_nomem(e);
    if (file_pread(e, f->fd, f->name, d->packed, (size_t)fr->bytes, fr->at))
        return e->code;
    const char *why = zs_dec_frame(d->z, out, (size_t)fr->content, span_of(d->packed, (size_t)fr->bytes));
    return why ? damaged(e, f, fr, why) : RP_OK;
}

static rp_code decode_cached(rp_err *e, frames *f, size_t i)
{
    if (f->cached == i)
        return RP_OK;
    if (!need(&f->cache, f->max_content))
        return err_nomem(e);
    f->cached = SIZE_MAX;
    if (decode(e, f, &f->d, &f->v[i], f->cache))
        return e->code;
    f->cached = i;
    return RP_OK;
}

bool frames_independent(const frames *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (!is_whole(&f->v[i]) || !f->v[i].content)
            return false;
    return !f->fault.code;
}

void frames_place(const frames *f, size_t i, uint64_t *at, size_t *bytes)
{
    *at = f->v[i].content_at;
    *bytes = (size_t)f->v[i].content;
}

void frames_largest(const frames *f, size_t *content, size_t *packed)
{
    *content = f->max_content;
    *packed = f->max_bytes;
}

frames_decoder *frames_decoder_new(void)
{
    frames_decoder *d = calloc(1, sizeof *d);
    if (d && !(d->z = zs_dec_new())) {
        free(d);
        d = NULL;
    }
    return d;
}

void frames_decoder_free(frames_decoder *d)
{
    if (!d)
        return;
    zs_dec_free(d->z);
    free(d->packed);
    free(d);
}

rp_code frames_decode(rp_err *e, frames *f, frames_decoder *d, size_t i, void *out)
{
    return decode(e, f, d ? d : &f->d, &f->v[i], out);
}

rp_code frames_lend(rp_err *e, frames *f, size_t i, span *content)
{
    if (decode_cached(e, f, i))
        return e->code;
    *content = span_of(f->cache, (size_t)f->v[i].content);
    return RP_OK;
}

/* --- The single frame as a stream. --- */

/* Up to n more bytes; none only at the end of the frame. */
static rp_code stream_step(rp_err *e, frames *f, void *out, size_t n, size_t *got)
{
    const frame *fr = &f->v[0];
    *got = 0;
    while (!*got && !f->ended) {
        uint64_t left = fr->at + fr->bytes - f->in_at;
        if (f->in_pos == f->in_n && left) {
            size_t fill = left < INPUT_BYTES ? (size_t)left : INPUT_BYTES;
            if (file_pread(e, f->fd, f->name, f->input, fill, f->in_at))
                return e->code;
            f->in_pos = 0;
            f->in_n = fill;
            f->in_at += fill;
        }
        size_t used;
        const char *why = zs_dec_step(f->d.z, out, n, got, span_of(f->input + f->in_pos, f->in_n - f->in_pos),
                                      &used, &f->ended);
        f->in_pos += used;
        f->out_at += *got;
        bool dry = f->in_pos == f->in_n && f->in_at == fr->at + fr->bytes;
        if (!why && f->ended && !dry)
            why = "it ends before its last block";
        if (!why && !f->ended && !*got && !used && dry) {
            f->streaming = false;
            if (fr->cut)
                return fault_at(e, FIND_CONTAINER_TRUNCATED, f->file_bytes, "the rest of the frame",
                                "the end of the file");
            why = "it goes on beyond its last block";
        }
        if (why) {
            f->streaming = false;
            return damaged(e, f, fr, why);
        }
    }
    return RP_OK;
}

static rp_code stream_seek(rp_err *e, frames *f, uint64_t at)
{
    if (!need(&f->input, INPUT_BYTES) || !need(&f->piece, PIECE_BYTES))
        return err_nomem(e);
    if (!f->streaming || f->out_at > at) {
        zs_dec_begin(f->d.z);
        f->in_pos = f->in_n = 0;
        f->in_at = f->v[0].at;
        f->out_at = 0;
        f->ended = false;
        f->streaming = true;
    }
    while (f->out_at < at && !f->ended) {
        uint64_t skip = at - f->out_at;
        size_t got;
        if (stream_step(e, f, f->piece, skip < PIECE_BYTES ? (size_t)skip : PIECE_BYTES, &got))
            return e->code;
    }
    return RP_OK;
}

/* --- By offset. --- */

/* The last frame that begins at or before `at`. */
static size_t frame_of(const frames *f, uint64_t at)
{
    size_t lo = 0, hi = f->n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (f->v[mid].content_at <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Up to n bytes from `at`, of one frame. */
static rp_code read_some(rp_err *e, frames *f, uint64_t at, uint8_t *out, size_t n, size_t *got)
{
    size_t i = frame_of(f, at);
    const frame *fr = &f->v[i];
    *got = 0;
    if (!is_whole(fr)) {
        if (stream_seek(e, f, at) || f->out_at < at)
            return e->code;
        return stream_step(e, f, out, n, got);
    }
    uint64_t skip = at - fr->content_at;
    if (skip >= fr->content)
        return RP_OK;
    uint64_t left = fr->content - skip;
    size_t take = left < n ? (size_t)left : n;
    if (take == fr->content && f->cached != i) {
        if (decode(e, f, &f->d, fr, out))
            return e->code;
    } else {
        if (decode_cached(e, f, i))
            return e->code;
        memcpy(out, f->cache + skip, take);
    }
    *got = take;
    return RP_OK;
}

rp_code frames_read(rp_err *e, frames *f, uint64_t at, void *out, size_t n, size_t *got)
{
    uint8_t *p = out;
    *got = 0;
    while (*got < n) {
        size_t some;
        uint64_t from;
        if (!ck_add_u64(at, *got, &from) || read_some(e, f, from, p + *got, n - *got, &some) || !some)
            break;
        *got += some;
    }
    return e->code;
}

/* --- In order, decoded ahead. --- */

static void *work(void *arg)
{
    worker *w = arg;
    frames *f = w->f;
    pthread_mutex_lock(&f->lock);
    while (!f->stop && f->take < f->n) {
        slot *s = &f->slots[f->take % f->n_slots];
        if (s->state != SLOT_FREE) {
            pthread_cond_wait(&f->change, &f->lock);
            continue;
        }
        const frame *fr = &f->v[f->take++];
        s->state = SLOT_TAKEN;
        pthread_mutex_unlock(&f->lock);
        decode(&s->err, f, &w->d, fr, s->content);
        pthread_mutex_lock(&f->lock);
        s->state = SLOT_READY;
        pthread_cond_broadcast(&f->change);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* As many threads as there are processors and memory; none where one frame is all. */
static void start_threads(frames *f)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t want = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (size_t)cpus;
    if (f->n < 2)
        return;
    f->n_slots = want + 2;
    f->workers = calloc(want, sizeof *f->workers);
    f->slots = calloc(f->n_slots, sizeof *f->slots);
    for (size_t i = 0; f->slots && i < f->n_slots; i++)
        if (!need(&f->slots[i].content, f->max_content))
            return;
    while (f->workers && f->slots && f->n_workers < want) {
        worker *w = &f->workers[f->n_workers];
        w->f = f;
        w->d.z = zs_dec_new();
        if (!w->d.z || pthread_create(&w->thread, NULL, work, w)) {
            zs_dec_free(w->d.z);
            return;
        }
        f->n_workers++;
    }
}

rp_code frames_pass_begin(rp_err *e, frames *f)
{
    if (!is_whole(&f->v[0]) && !need(&f->piece, PIECE_BYTES))
        return err_nomem(e);
    f->pass_at = 0;
    f->take = f->give = 0;
    f->stop = f->lent = false;
    start_threads(f);
    return RP_OK;
}

static rp_code next_slot(rp_err *e, frames *f, span *piece)
{
    pthread_mutex_lock(&f->lock);
    if (f->lent) {
        f->slots[f->give++ % f->n_slots].state = SLOT_FREE;
        f->lent = false;
        pthread_cond_broadcast(&f->change);
    }
    if (f->give < f->n) {
        slot *s = &f->slots[f->give % f->n_slots];
        while (s->state != SLOT_READY)
            pthread_cond_wait(&f->change, &f->lock);
        if (s->err.code)
            *e = s->err;
        else
            *piece = span_of(s->content, (size_t)f->v[f->give].content);
        f->lent = !e->code;
    }
    pthread_mutex_unlock(&f->lock);
    return e->code;
}

rp_code frames_pass_next(rp_err *e, frames *f, span *piece)
{
    *piece = span_of(NULL, 0);
    if (f->n_workers)
        return next_slot(e, f, piece);
    size_t i = frame_of(f, f->pass_at);
    if (is_whole(&f->v[i])) {
        if (f->pass_at >= f->v[i].content_at + f->v[i].content)
            return RP_OK;
        if (decode_cached(e, f, i))
            return e->code;
        *piece = span_of(f->cache, (size_t)f->v[i].content);
    } else {
        size_t got;
        if (frames_read(e, f, f->pass_at, f->piece, PIECE_BYTES, &got) && !got)
            return e->code;
        *piece = span_of(f->piece, got);
        *e = (rp_err){0}; /* it comes again at the next call */
    }
    f->pass_at += piece->n;
    return RP_OK;
}

void frames_pass_end(frames *f)
{
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < f->n_workers; i++) {
        pthread_join(f->workers[i].thread, NULL);
        zs_dec_free(f->workers[i].d.z);
        free(f->workers[i].d.packed);
    }
    for (size_t i = 0; f->slots && i < f->n_slots; i++)
        free(f->slots[i].content);
    free(f->slots);
    free(f->workers);
    f->slots = NULL;
    f->workers = NULL;
    f->n_workers = f->n_slots = 0;
}
