/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_call.c - where every call begins and ends: counts, faults on demand,
 * refusals, and what the environment says. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER,
                    .moved = PTHREAD_COND_INITIALIZER,
                    .race = PTHREAD_MUTEX_INITIALIZER};

enum {
#define X(NAME, ARGS) CALL_##NAME,
    FAKE_CALLS(X)
#undef X
        CALLS
};

static const char *const calls[] = {
#define X(NAME, ARGS) #NAME,
    FAKE_CALLS(X)
#undef X
};

/* Of each call, and of all: how many; which fails, counted from now. */
static struct {
    unsigned long n, fails;
    CUresult result;
} counted[CALLS + 1];

/* The hook that is asked at each call. */
static struct {
    CUresult (*fn)(const char *call);
    bool breaks;
} watch;

static _Thread_local bool in_callback;
static _Thread_local const char *current_call = "";

static unsigned long setting(const char *name, unsigned long other)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? strtoul(text, NULL, 0) : other;
}

static void read_environment(void)
{
    const char *cc = getenv("FAKECUDA_CAPABILITY");
    unsigned long n = setting("FAKECUDA_DEVICES", 1);
    int last = 80;

    fake.read = true;
    fake.devices = n > FAKE_DEVICES ? FAKE_DEVICES : (int)n;
    fake.driver = (int)setting("FAKECUDA_DRIVER", 13000);
    fake.memory_bytes = setting("FAKECUDA_MEMORY", 1ul << 31);
    fake.race_mode = setting("FAKECUDA_RACE", 0) != 0;
    fake.no_pools = setting("FAKECUDA_POOLS", 1) == 0;
    fake.ptx = (int)setting("FAKECUDA_PTX", 0);
    fake.quiet = setting("FAKECUDA_QUIET", 0) != 0;
    fake.most_groups = (unsigned)setting("FAKECUDA_GROUPS", 0);
    for (int i = 0; i < FAKE_DEVICES; i++) {
        char *end = NULL;

        if (cc != NULL && *cc != '\0') {
            last = (int)strtol(cc, &end, 10);
            cc = *end == ',' ? end + 1 : end;
        }
        fake.capability[i] = last;
        fake.pool[i].object.kind = POOL;
        fake.pool[i].device = i;
    }
}

static unsigned index_of(const char *call)
{
    unsigned i = 0;

    while (i < CALLS && strcmp(calls[i], call) != 0)
        i++;
    return i; /* CALLS: any */
}

/* The fault that was ordered for this call, or CUDA_SUCCESS. */
static CUresult ordered(unsigned i)
{
    counted[i].n++;
    if (counted[i].fails > 0 && --counted[i].fails == 0)
        return counted[i].result;
    return CUDA_SUCCESS;
}

/* The fault that the watcher asks for. */
static CUresult watched(const char *call)
{
    CUresult e = watch.fn == NULL ? CUDA_SUCCESS : watch.fn(call);
    if (e != CUDA_SUCCESS && watch.breaks)
        for (int i = 0; i < FAKE_DEVICES; i++)
            if (fake.primary[i] != NULL)
                fake_error(fake.primary[i], e, "the device was broken");
    return e;
}

CUresult fake_refuse(CUresult result, const char *format, ...)
{
    va_list args;
    int n = snprintf(fake.text, sizeof(fake.text), "%s: ", current_call);

    va_start(args, format);
    vsnprintf(fake.text + n, sizeof(fake.text) - (size_t)n, format, args);
    va_end(args);
    fake.refused++;
    if (!fake.quiet)
        fprintf(stderr, "fakecuda: %s\n", fake.text);
    return result;
}

void fake_in_callback(bool in)
{
    in_callback = in;
}

static CUresult ready(enum need need)
{
    CUcontext ctx;

    if (in_callback && need != NOTHING)
        return fake_refuse(CUDA_ERROR_NOT_PERMITTED,
                           "a callback of a stream may not call the driver");
    if (need != NOTHING && !fake.initialized)
        return fake_refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit comes first");
    if (need != CURRENT)
        return CUDA_SUCCESS;
    ctx = fake_current();
    if (ctx == NULL)
        return fake_refuse(CUDA_ERROR_INVALID_CONTEXT,
                           "no context is current in this thread");
    if (ctx->object.dead)
        return fake_refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED,
                           "the current context was destroyed");
    return ctx->error;
}

CUresult fake_enter(const char *call, enum need need)
{
    CUresult one, any;

    pthread_mutex_lock(&fake.lock);
    if (!fake.read)
        read_environment();
    current_call = call;
    one = ordered(index_of(call));
    any = ordered(CALLS);
    if (one == CUDA_SUCCESS)
        one = any;
    if (one == CUDA_SUCCESS)
        one = watched(call);
    if (one == CUDA_SUCCESS)
        one = ready(need);
    if (one != CUDA_SUCCESS)
        pthread_mutex_unlock(&fake.lock);
    return one;
}

CUresult fake_leave(CUresult result)
{
    pthread_mutex_unlock(&fake.lock);
    return result;
}

void fakecuda_fail(const char *call, unsigned long nth, CUresult result)
{
    unsigned i = index_of(call);

    pthread_mutex_lock(&fake.lock);
    counted[i].fails = nth;
    counted[i].result = result;
    pthread_mutex_unlock(&fake.lock);
}

void fakecuda_watch(CUresult (*fn)(const char *call), bool breaks)
{
    pthread_mutex_lock(&fake.lock);
    watch.fn = fn;
    watch.breaks = breaks;
    pthread_mutex_unlock(&fake.lock);
}

unsigned long fakecuda_calls(const char *call)
{
    unsigned long n;

    pthread_mutex_lock(&fake.lock);
    n = counted[index_of(call)].n;
    pthread_mutex_unlock(&fake.lock);
    return n;
}

unsigned long fakecuda_refused(char *text, size_t bytes)
{
    unsigned long n;

    pthread_mutex_lock(&fake.lock);
    n = fake.refused;
    if (text != NULL)
        snprintf(text, bytes, "%s", fake.text);
    pthread_mutex_unlock(&fake.lock);
    return n;
}

unsigned long fakecuda_live(void)
{
    unsigned long n = 0;

    pthread_mutex_lock(&fake.lock);
    for (const struct cuda_object *o = fake.objects; o != NULL; o = o->next)
        n += !o->dead && o->kind != NODE && o->kind != FUNCTION;
    for (const struct memory *m = fake.memory; m != NULL; m = m->next)
        n++;
    pthread_mutex_unlock(&fake.lock);
    return n;
}

void fakecuda_counts(uint64_t *launches, uint64_t *retired)
{
    pthread_mutex_lock(&fake.lock);
    *launches = fake.launches;
    *retired = fake.retired;
    pthread_mutex_unlock(&fake.lock);
}

static const struct {
    CUresult number;
    const char *name;
} results[] = {
#define X(NAME, VALUE) {VALUE, "CUDA_" #NAME},
    FAKE_RESULTS(X)
#undef X
};

static const char *result_name(CUresult error)
{
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        if (results[i].number == error)
            return results[i].name;
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    *text = result_name(error);
    return *text == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    return cuGetErrorName(error, text);
}

/* A name without the version of its ABI is the newest that we have. */
static void *address(const char *symbol)
{
    static const struct {
        const char *name;
        void (*fn)(void);
    } all[] = {
#define X(NAME, ARGS) {#NAME, (void (*)(void))NAME},
        FAKE_CALLS(X)
#undef X
    };
    size_t n = strlen(symbol);

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strncmp(all[i].name, symbol, n) == 0 &&
            (all[i].name[n] == '\0' || strcmp(all[i].name + n, "_v2") == 0)) {
            void *p;

            memcpy(&p, &all[i].fn, sizeof(p));
            return p;
        }
    return NULL;
}

static bool hidden(const char *symbol)
{
    const char *list = getenv("FAKECUDA_HIDE");
    size_t n = strlen(symbol);

    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ",");

        if (len == n && strncmp(list, symbol, n) == 0)
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version,
                             uint64_t flags, int *status)
{
    CUresult e = fake_enter("cuGetProcAddress_v2", NOTHING);

    if (e != CUDA_SUCCESS)
        return e;
    if (symbol == NULL || fn == NULL || flags > 2)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    *fn = version > fake.driver || hidden(symbol) ? NULL : address(symbol);
    if (status != NULL)
        *status = *fn != NULL ? 0 : version > fake.driver ? 2 : 1;
    return fake_leave(*fn == NULL ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS);
}
