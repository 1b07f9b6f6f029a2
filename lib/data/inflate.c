/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.c - gzip and deflate, by the system's zlib.
 *
 * zlib is opened at the first compressed file. Its few functions and types are
 * declared here; they are the same in all releases of zlib 1. */
#include "lib/data/array.h"
#include "lib/data/foreign.h"

#include <pthread.h>
#include <string.h>

#define PIECE ((size_t)1 << 18) /* bytes of output at a time, at first */

/* z_stream of zlib.h. */
struct inflate_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
};

enum { Z_OK = 0, Z_STREAM_END = 1, Z_MEM_ERROR = -4, Z_BUF_ERROR = -5 };
#define GZIP_WINDOW    (15 + 16) /* a gzip header, the largest window */
#define DEFLATE_WINDOW (-15)     /* no header */

static struct {
    bool open;
    int (*init)(struct inflate_stream *, int, const char *, int);
    int (*inflate)(struct inflate_stream *, int);
    int (*reset)(struct inflate_stream *);
    int (*end)(struct inflate_stream *);
} zlib;

static void zlib_open(void)
{
    const struct foreign f[] = {{"inflateInit2_", &zlib.init},
                                {"inflate", &zlib.inflate},
                                {"inflateReset", &zlib.reset},
                                {"inflateEnd", &zlib.end}};
    zlib.open = foreign_open("libz.so.1", f, sizeof(f) / sizeof(f[0]));
}

/* The output so far, which grows. */
struct output {
    unsigned char *data;
    size_t n, room;
};

static bool inflate_make_room(struct output *o)
{
    size_t more = o->room == 0 ? PIECE : o->room * 2;
    unsigned char *p = more < o->room ? NULL : mem_alloc(more);
    if (p == NULL)
        return false;
    if (o->n > 0)
        memcpy(p, o->data, o->n);
    mem_free(o->data);
    o->data = p;
    o->room = more;
    return true;
}

static ssq_status inflate_broken(const struct contents *c, bool gzip,
                                 const char *why)
{
    return error_set(SSQ_ERR_INVALID, "array_read: %s: its %s data %s", c->path,
                     gzip ? "gzip" : "deflate", why);
}

/* Give the next bytes to the stream: its counts have 32 bits. */
static void feed(struct inflate_stream *z, const struct contents *c, size_t *at)
{
    if (z->avail_in > 0 || *at == c->n)
        return;
    size_t n = c->n - *at < (1u << 30) ? c->n - *at : 1u << 30;
    z->next_in = c->data + *at;
    z->avail_in = (unsigned)n;
    *at += n;
}

/* Inflate all members of a gzip file, one after the other; or deflate data,
 * which has one. */
static ssq_status inflate_all(struct inflate_stream *z,
                              const struct contents *c, bool gzip,
                              struct output *o)
{
    size_t at = 0;
    for (;;) {
        feed(z, c, &at);
        if (o->n == o->room && !inflate_make_room(o))
            return error_nomem("array_read", o->room);
        size_t room = o->room - o->n;
        z->next_out = o->data + o->n;
        z->avail_out = (unsigned)(room < (1u << 30) ? room : 1u << 30);
        unsigned before = z->avail_out;
        int code = zlib.inflate(z, 0);
        o->n += before - z->avail_out;
        if (code == Z_STREAM_END) {
            if (z->avail_in == 0 && at == c->n)
                return SSQ_OK;
            if (!gzip || zlib.reset(z) != Z_OK)
                return inflate_broken(c, gzip, "ends before its file");
        } else if (code == Z_BUF_ERROR || code == Z_OK) {
            if (z->avail_in == 0 && at == c->n && z->avail_out > 0)
                return inflate_broken(c, gzip, "ends too early");
        } else if (code == Z_MEM_ERROR) {
            return error_set(SSQ_ERR_NOMEM, "array_read: zlib has no memory");
        } else {
            return inflate_broken(c, gzip,
                                  z->msg == NULL ? "is damaged" : z->msg);
        }
    }
}

static ssq_status inflate_replace(struct contents *c, int window)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct inflate_stream z = {0};
    struct output o = {0};
    pthread_once(&once, zlib_open);
    if (!zlib.open)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "array_read: %s is compressed, and there is no "
                         "libz.so.1: install zlib1g",
                         c->path);
    if (zlib.init(&z, window, "1", (int)sizeof(z)) != Z_OK)
        return error_set(SSQ_ERR_NOMEM, "array_read: zlib cannot start");
    ssq_status st = inflate_all(&z, c, window == GZIP_WINDOW, &o);
    zlib.end(&z);
    if (st != SSQ_OK) {
        mem_free(o.data);
        return st;
    }
    mem_free(c->data);
    c->data = o.data;
    c->n = o.n;
    return SSQ_OK;
}

ssq_status contents_inflate(struct contents *c)
{
    return inflate_replace(c, GZIP_WINDOW);
}

ssq_status contents_inflate_raw(struct contents *c)
{
    return inflate_replace(c, DEFLATE_WINDOW);
}
