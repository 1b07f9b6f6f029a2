/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_state.h - the objects of the stand-in, all behind one lock.
 *
 * Streams are threads; each takes its work in order, without the lock while a
 * kernel or a copy runs. The end of any of them is signalled by one condition.
 * Objects that are destroyed stay where they are, marked, so that a handle
 * that is used afterwards is found out; they are small. */
#ifndef TESTS_FAKECUDA_DRIVER_CUDA_STATE_H
#define TESTS_FAKECUDA_DRIVER_CUDA_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "tests/fakecuda/driver/fakecuda.h"
#include "tests/fakecuda/ptx/ptx.h"

#define FAKE_DEVICES 8
#define FAKE_CURRENT 32 /* contexts that a thread pushes, at most */
#define FAKE_ITEMS   1024
#define FAKE_SHARED  49152 /* bytes of a group */

enum kind {
    CONTEXT = 0x43750001,
    STREAM,
    EVENT,
    MODULE,
    FUNCTION,
    GRAPH,
    NODE,
    EXEC,
    POOL,
    EXTERNAL,
    SEMAPHORE
};

/* The first member of every handle's object. */
struct cuda_object {
    enum kind kind;
    bool dead;
    CUcontext ctx; /* NULL: a graph, which has none */
    struct cuda_object *next;
};

/* A place in a stream: the work with this number is done, or is not. */
struct point {
    CUstream stream; /* NULL: always done */
    uint64_t number;
};

struct memory {
    struct memory *next;
    uint64_t base, bytes;
    bool host;   /* pinned: the host may touch it, and so may a device */
    bool mapped; /* of a file: another API's */
    CUexternalMemory external;       /* it was mapped from this */
    struct CUmemPoolHandle_st *pool; /* NULL: of no pool */
    CUcontext ctx;
    struct point ready; /* of cuMemAllocAsync */
    bool freeing;       /* cuMemFreeAsync was called */
    unsigned users;     /* works that are in progress and name it */
    struct ptx_shadow *shadow;
};

struct CUctx_st {
    struct cuda_object object;
    CUdevice device;
    CUresult error; /* sticky */
    struct CUstream_st *legacy;
};

enum work_kind { KERNEL, COMPUTE, COPY, FILL, CALLBACK, RECORD, WAIT, FREE };

/* The work of a stream, and of a graph's node. */
struct cuda_work {
    struct cuda_work *next;
    enum work_kind kind;
    CUstream stream;
    uint64_t number; /* in its stream */
    struct point *after;
    size_t nafter;
    /* KERNEL */
    CUfunction function;
    unsigned groups, items;
    unsigned char *param;
    size_t param_bytes;
    struct ssq_standin_range *binding;
    size_t nbindings;
    bool bound; /* bindings were handed over, be they none */
    /* COPY, FILL; staged: from, the host's memory as it was */
    uint64_t to, from, bytes;
    unsigned char *staged;
    unsigned char value;
    /* CALLBACK, COMPUTE: with param */
    CUhostFn fn;
    void *data;
    CUevent event;         /* RECORD */
    struct memory *memory; /* FREE */
    /* the memory that it uses, held while it is in progress */
    struct memory **held;
    size_t nheld;
};

struct CUstream_st {
    struct cuda_object object;
    unsigned flags;
    pthread_t thread;
    bool running; /* the thread was started */
    struct cuda_work *first, *last;
    uint64_t submitted, done;
    /* capture */
    struct CUgraph_st *capture;
    bool origin;   /* cuStreamBeginCapture was of this one */
    uint64_t tail; /* works that it had captured */
    bool joined;   /* the origin waits for all of them */
};

struct CUevent_st {
    struct cuda_object object;
    unsigned flags;
    struct point at; /* stream NULL: never recorded */
    struct timespec time;
    struct CUgraph_st *capture; /* recorded in that capture */
    struct CUstream_st *captured_by;
    uint64_t tail;
};

struct CUmod_st {
    struct cuda_object object;
    struct ptx_module *ptx;
    unsigned users; /* launches in progress */
    uint32_t sum;   /* of the text, as by cksum */
    size_t bytes;
    struct CUfunc_st *functions;
};

struct CUfunc_st {
    struct cuda_object object;
    struct CUfunc_st *next;
    CUmodule module;
    struct ptx_entry *entry;
    const char *name;
    uint64_t launches, retired;
};

struct CUgraphNode_st {
    struct cuda_object object;
};

struct CUgraph_st {
    struct cuda_object object;
    struct cuda_work *first,
        *last; /* in an order that respects what they await */
    size_t n;
    bool capturing, invalid;
    int mode;
    pthread_t owner;
};

struct CUgraphExec_st {
    struct cuda_object object;
    struct cuda_work *first;
};

/* Freed memory of a pool stays with it, up to the threshold. */
struct CUmemPoolHandle_st {
    struct cuda_object object;
    CUdevice device;
    uint64_t threshold, live, kept; /* bytes */
};

/* Memory of another API, as a file. */
struct CUextMemory_st {
    struct cuda_object object;
    int fd;
    uint64_t size, offset; /* of its bytes in the file */
};

/* A timeline semaphore: the number at the begin of a file that its holders
 * map. */
struct CUextSemaphore_st {
    struct cuda_object object;
    _Atomic uint64_t *value;
};

struct fake {
    pthread_mutex_t lock;
    pthread_cond_t moved; /* some stream came further, or has work */
    pthread_mutex_t race; /* one launch or copy at a time, in race mode */
    bool read, initialized;
    int devices, driver, capability[FAKE_DEVICES];
    size_t memory_bytes;
    bool race_mode, no_pools, quiet;
    int ptx; /* newest version, 60 is 6.0; 0: as of the driver */
    unsigned most_groups;
    CUcontext primary[FAKE_DEVICES];
    unsigned refs[FAKE_DEVICES];
    uint64_t used[FAKE_DEVICES];
    struct CUmemPoolHandle_st pool[FAKE_DEVICES];
    struct cuda_object *objects;
    struct memory *memory;
    unsigned long refused;
    char text[1024];
    uint64_t launches, retired;
};

extern struct fake fake;

/* The checks before any other of a call. */
enum need {
    NOTHING,     /* not even cuInit */
    INITIALIZED, /* cuInit */
    CURRENT,     /* a context that is current and has not failed */
};

/* Every call begins and ends with these; the lock is held between. enter's
 * result other than CUDA_SUCCESS is the call's: then nothing is held. */
CUresult fake_enter(const char *call, enum need need);
CUresult fake_leave(CUresult result);
/* Says loudly what is wrong; returns result. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
CUresult
fake_refuse(CUresult result, const char *format, ...);
/* This thread runs a callback of a stream, which may not call the driver. */
void fake_in_callback(bool in);

/* The context of this thread. */
CUcontext fake_current(void);
void fake_error(CUcontext ctx, CUresult result, const char *text);
void fake_context_end(CUcontext ctx);

/* A new object, linked; NULL: no memory. */
void *fake_object(enum kind kind, size_t bytes);
/* Is it one of these, and alive, in the current context? Else says which. */
CUresult fake_check(const void *handle, enum kind kind, const char *what);

/* The stream of a handle, which may be NULL: the context's own. */
CUresult fake_stream(CUstream handle, CUstream *s);
bool fake_done(const struct point *p);
/* Wait, with the lock released meanwhile; the context's error. */
CUresult fake_wait(CUcontext ctx, struct point p);
CUresult fake_wait_all(CUcontext ctx);
void fake_stream_end(CUstream s);
struct cuda_work *fake_work(enum work_kind kind);
void fake_work_free(struct cuda_work *w);
struct cuda_work *fake_work_copy(const struct cuda_work *w);
/* Hand over to the stream, or to the graph that it is captured into. Frees w
 * where it fails. */
CUresult fake_submit(CUstream s, struct cuda_work *w);
/* Run in a stream's thread: the lock is held, and released meanwhile. */
CUresult fake_run(CUcontext ctx, struct cuda_work *w, char *why, size_t bytes);

/* The allocation that holds these bytes and is not freed, or NULL. */
struct memory *fake_memory(uint64_t p, uint64_t bytes);
CUresult fake_hold(struct cuda_work *w, CUstream s);
void fake_memory_end(struct memory *m);
/* Memory of a file, in the current context; NULL: it cannot be mapped. */
struct memory *fake_memory_map(int fd, uint64_t offset, uint64_t bytes);
void fake_module_end(CUmodule m);
CUresult fake_kernel(struct cuda_work **w, const CUDA_KERNEL_NODE_PARAMS *p);

/* No capture forbids calls that could disturb it. */
CUresult fake_unsafe(const char *call);
CUresult fake_capture(CUstream s, struct cuda_work *w);
/* May work go to this stream, if it is a context's own? */
CUresult fake_implicit(CUstream s);

#endif
