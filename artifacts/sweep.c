#include "artifacts/sweep.h"
#include "artifacts/tar.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_MAX = 8, SLOTS_MAX = 64, CHAINS_MAX = 2 * SLOTS_MAX + 2 };

/* A decoded frame that is waited for or being read. */
typedef struct {
    uint8_t *content;
    size_t frame; /* SIZE_MAX: free */
    unsigned users;
    bool ready;
} slot;

/* A file that spans frames, from when its first piece was seen to its end. */
typedef struct {
    size_t entry, next; /* next: the frame of the next piece */
    digest_ctx *digests;
    bool used, busy;
} chain;

typedef struct {
    frames *f;
    const sweep_entry *v;
    size_t n, n_frames;
    uint64_t stream_bytes;
    size_t next_frame, n_slots, open_chains;
    slot slots[SLOTS_MAX];
    chain chains[CHAINS_MAX];
    bool unsound;
    pthread_mutex_t lock;
    pthread_cond_t change;
} sweep;

typedef struct {
    sweep *s;
    frames_decoder *decoder; /* NULL: that of the frames */
    digest_ctx *digests;
    pthread_t thread;
} worker;

/* --- One decoded frame, without the others. --- */

/* A frame's content and where it lies. */
typedef struct {
    const uint8_t *p;
    uint64_t at, end;
} window;

/* The part of [from, to) that lies in the window. */
static span part(const window *w, uint64_t from, uint64_t to)
{
    uint64_t a = from > w->at ? from : w->at, b = to < w->end ? to : w->end;
    return a < b ? span_of(w->p + (a - w->at), (size_t)(b - a)) : span_of(NULL, 0);
}

static bool zero(span s)
{
    return !s.n || (!s.p[0] && !memcmp(s.p, s.p + 1, s.n - 1));
}

static bool header_fits(const window *w, const sweep_entry *v)
{
    uint8_t want[TAR_BLOCK];
    span have = part(w, v->at, v->at + TAR_BLOCK);
    if (!have.n)
        return true;
    tar_header(want, v->path, v->bytes);
    return !memcmp(have.p, want + (v->at > w->at ? 0 : w->at - v->at), have.n);
}

/* Whether the file's bytes lie in more than one frame. */
static bool spans(const window *w, const sweep_entry *v)
{
    uint64_t from = v->at + TAR_BLOCK, to = from + v->bytes;
    return part(w, from, to).n < v->bytes;
}

static bool content_fits(const window *w, const sweep_entry *v, digest_ctx *c)
{
    uint64_t from = v->at + TAR_BLOCK;
    digest_begin(c);
    if (v->bytes)
        digest_add(c, part(w, from, from + v->bytes));
    return digest_equal(digest_end(c), v->sha256);
}

/* The first entry that reaches beyond `at`, or n. */
static size_t entry_of(const sweep *s, uint64_t at)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->v[mid].at + tar_entry_bytes(s->v[mid].bytes) > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* All of the frame but the pieces of files that span frames; those entries, two at most, are told. */
static bool frame_fits(const sweep *s, const window *w, digest_ctx *c, size_t spanning[2],
                       unsigned *n_spanning)
{
    *n_spanning = 0;
    for (size_t i = entry_of(s, w->at); i < s->n && s->v[i].at < w->end; i++) {
        const sweep_entry *v = &s->v[i];
        uint64_t data = v->at + TAR_BLOCK, pad = data + v->bytes;
        if (!header_fits(w, v) || !zero(part(w, pad, pad + tar_padding(v->bytes))))
            return false;
        if (!v->bytes ? data >= w->at && data < w->end : part(w, data, pad).n > 0) {
            if (!spans(w, v)) {
                if (!content_fits(w, v, c))
                    return false;
            } else {
                spanning[(*n_spanning)++] = i;
            }
        }
    }
    return zero(part(w, s->stream_bytes - TAR_END_BYTES, s->stream_bytes));
}

static window window_of(const sweep *s, size_t frame, const uint8_t *content)
{
    uint64_t at;
    size_t bytes;
    frames_place(s->f, frame, &at, &bytes);
    return (window){.p = content, .at = at, .end = at + bytes};
}

/* --- Together. The lock is held where nothing else is said. --- */

static slot *ready_slot(sweep *s, size_t frame)
{
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i].frame == frame && s->slots[i].ready)
            return &s->slots[i];
    return NULL;
}

static slot *free_slot(sweep *s)
{
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i].frame == SIZE_MAX)
            return &s->slots[i];
    return NULL;
}

static void leave(slot *l)
{
    if (!l->users) {
        l->frame = SIZE_MAX;
        l->ready = false;
    }
}

/* The frame in which the file's bytes begin: no frame is empty, so bisection finds it. */
static size_t frame_at(const sweep *s, uint64_t at)
{
    size_t lo = 0, hi = s->n_frames;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (window_of(s, mid, NULL).at <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static chain *chain_of(sweep *s, size_t entry)
{
    chain *unused = NULL;
    for (size_t i = 0; i < CHAINS_MAX; i++) {
        if (s->chains[i].used && s->chains[i].entry == entry)
            return &s->chains[i];
        if (!s->chains[i].used && !unused)
            unused = &s->chains[i];
    }
    if (!unused)
        return NULL;
    if (!unused->digests && !(unused->digests = digest_ctx_new()))
        return NULL;
    digest_begin(unused->digests);
    unused->used = true;
    unused->busy = false;
    unused->entry = entry;
    unused->next = frame_at(s, s->v[entry].at + TAR_BLOCK);
    s->open_chains++;
    return unused;
}

/* Takes the lock off while decoding. */
static void decode_next(worker *w, slot *l)
{
    sweep *s = w->s;
    rp_err e = {0};
    size_t frame = s->next_frame++, spanning[2];
    unsigned n = 0;
    l->frame = frame;
    l->ready = false;
    pthread_mutex_unlock(&s->lock);
    bool ok = !frames_decode(&e, s->f, w->decoder, frame, l->content);
    if (ok) {
        window at = window_of(s, frame, l->content);
        ok = frame_fits(s, &at, w->digests, spanning, &n);
    }
    pthread_mutex_lock(&s->lock);
    l->users = n;
    l->ready = true;
    for (unsigned i = 0; ok && i < n; i++)
        ok = chain_of(s, spanning[i]) != NULL;
    s->unsound |= !ok;
    leave(l);
    pthread_cond_broadcast(&s->change);
}

static chain *next_chain(sweep *s, slot **l)
{
    for (size_t i = 0; i < CHAINS_MAX && s->open_chains; i++)
        if (s->chains[i].used && !s->chains[i].busy && (*l = ready_slot(s, s->chains[i].next)))
            return &s->chains[i];
    return NULL;
}

/* Takes the lock off while digesting. */
static void digest_next(sweep *s, chain *c, slot *l)
{
    const sweep_entry *v = &s->v[c->entry];
    uint64_t from = v->at + TAR_BLOCK, to = from + v->bytes;
    window w = window_of(s, c->next, l->content);
    c->busy = true;
    pthread_mutex_unlock(&s->lock);
    digest_add(c->digests, part(&w, from, to));
    bool last = w.end >= to, ok = !last || digest_equal(digest_end(c->digests), v->sha256);
    pthread_mutex_lock(&s->lock);
    c->busy = false;
    c->next++;
    s->unsound |= !ok;
    if (last) {
        c->used = false;
        s->open_chains--;
    }
    l->users--;
    leave(l);
    pthread_cond_broadcast(&s->change);
}

static bool decoding(const sweep *s)
{
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i].frame != SIZE_MAX)
            return true;
    return false;
}

static void *work(void *arg)
{
    worker *w = arg;
    sweep *s = w->s;
    pthread_mutex_lock(&s->lock);
    while (!s->unsound && (s->next_frame < s->n_frames || decoding(s))) {
        slot *l;
        chain *c = next_chain(s, &l);
        if (c)
            digest_next(s, c, l);
        else if (s->next_frame < s->n_frames && (l = free_slot(s)))
            decode_next(w, l);
        else
            pthread_cond_wait(&s->change, &s->lock);
    }
    pthread_cond_broadcast(&s->change);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* As many slots as the memory allows; every thread can hold one and one is left over. */
static bool make_slots(sweep *s, size_t threads)
{
    size_t content, packed, room;
    frames_largest(s->f, &content, &packed);
    room = (size_t)SWEEP_BYTES > threads * packed ? (size_t)SWEEP_BYTES - threads * packed : 0;
    room /= content;
    s->n_slots = room > SLOTS_MAX ? SLOTS_MAX : room < threads + 1 ? threads + 1 : room;
    if (s->n_slots > s->n_frames + 1)
        s->n_slots = s->n_frames + 1;
    for (size_t i = 0; i < s->n_slots; i++) {
        s->slots[i].frame = SIZE_MAX;
        if (!(s->slots[i].content = malloc(content)))
            return false;
    }
    return true;
}

static void run(sweep *s, size_t threads)
{
    worker w[THREADS_MAX] = {0};
    size_t have = 0;
    for (; have < threads; have++) {
        w[have].s = s;
        w[have].digests = digest_ctx_new();
        w[have].decoder = have ? frames_decoder_new() : NULL;
        if (!w[have].digests || (have && !w[have].decoder) ||
            (have && pthread_create(&w[have].thread, NULL, work, &w[have])))
            break;
    }
    if (have)
        work(&w[0]);
    else
        s->unsound = true;
    for (size_t i = 1; i < have; i++)
        pthread_join(w[i].thread, NULL);
    for (size_t i = 0; i < threads; i++) {
        digest_ctx_free(w[i].digests);
        frames_decoder_free(w[i].decoder);
    }
}

/* All in one frame: nothing to share out. */
static bool one_frame(sweep *s)
{
    rp_err e = {0};
    span content;
    size_t spanning[2];
    unsigned n;
    digest_ctx *c = digest_ctx_new();
    bool ok = c && !frames_lend(&e, s->f, 0, &content);
    if (ok) {
        window w = window_of(s, 0, content.p);
        ok = frame_fits(s, &w, c, spanning, &n) && !n;
    }
    digest_ctx_free(c);
    return ok;
}

bool sweep_is_sound(frames *f, const sweep_entry *v, size_t n, uint64_t stream_bytes)
{
    uint64_t content;
    if (!frames_independent(f) || !frames_content(f, &content) || content != stream_bytes)
        return false;
    sweep *s = calloc(1, sizeof *s);
    if (!s)
        return false;
    s->f = f;
    s->v = v;
    s->n = n;
    s->n_frames = (size_t)frames_count(f);
    s->stream_bytes = stream_bytes;
    bool ok;
    if (s->n_frames == 1) {
        ok = one_frame(s);
    } else {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        size_t threads = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (size_t)cpus;
        pthread_mutex_init(&s->lock, NULL);
        pthread_cond_init(&s->change, NULL);
        if (make_slots(s, threads))
            run(s, threads);
        else
            s->unsound = true;
        ok = !s->unsound && !s->open_chains;
        pthread_cond_destroy(&s->change);
        pthread_mutex_destroy(&s->lock);
    }
    for (size_t i = 0; i < s->n_slots; i++)
        free(s->slots[i].content);
    for (size_t i = 0; i < CHAINS_MAX; i++)
        digest_ctx_free(s->chains[i].digests);
    free(s);
    return ok;
}
