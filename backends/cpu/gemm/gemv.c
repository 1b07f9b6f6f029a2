/* SPDX-License-Identifier: Apache-2.0 */
/* gemv.c - GEMM with a vector, or a few.
 *
 * One factor has many lines, which lie along k and are read once, from memory:
 * packing them would cost more than multiplying. The other has few lines, which
 * stay in a cache. They are packed one line after the other, unless they
 * already have this order.
 *
 *     for each strip of 32 of the many                      (all threads)
 *         for each tile: some of the many, up to four of the few
 *             their sums, from the first k to the last
 *         write the strip's sums to d */
#include "backends/cpu/gemm/gemv.h"

#include "backends/cpu/gemm/gemm_batch.h"
#include "lib/core/module/backend.h"
#include "lib/core/base/size.h"

/* Most of the few: if k is as short as SHORT_K, adding the lanes of so many
 * sums takes a fifth of the time. */
#define MOST    24
#define SHORT_K 256
/* With fewer of them k may be shorter, in proportion, down to: */
#define LEAST_K 32
/* Packing one of the few costs as much as multiplying this many lines by it.
 * There must be at least as many. */
#define LEAST_MANY 64
/* Lines of a strip. */
#define STRIP GEMM_LINES
/* Bytes of the many that are worth a thread. */
#define BYTES_WORTH_A_THREAD (INT64_C(64) << 10)
/* Tasks of a thread. */
#define TASKS_OF_THREAD 4

struct gemv_run {
    const struct gemm_job *job;
    bool down; /* the many are rows of a, else columns of b */
    int64_t many, few;
    int64_t strips, each; /* of a matrix; of a task */
    int64_t tasks;        /* of a matrix */
    bool packed;          /* the few are, by each task */
    size_t apart, words;  /* from one packed line to the next; of a thread */
    float *memory;
};

/* The factors of a task's matrix. */
struct gemv_part {
    const struct gemv_run *run;
    struct gemm_source many, few;
    struct gemm_result result;
    const char *one;
    int64_t one_step;
};

static bool is_word(const struct gemm_job *job, ssq_dtype dtype)
{
    return dtype == (job->kernels->pair == 2 ? SSQ_BF16 : SSQ_F32);
}

/* Return whether the factors have the right order, with many lines of one. */
static bool lies(const struct gemm_job *job, const struct gemm_source *many,
                 const struct gemm_source *few, int64_t n)
{
    bool packed = !is_word(job, few->dtype) || few->step != 1;
    return many->step == 1 && (!packed || n >= LEAST_MANY);
}

/* Tasks are numbered in 32 bits. */
static bool gemv_is_counted(const struct gemm_job *job, int64_t many)
{
    return job->batch <= UINT32_MAX / size_most(1, size_div_up(many, STRIP));
}

bool gemv_takes(const struct gemm_job *job, bool *down)
{
    *down = job->n <= job->m && lies(job, &job->a, &job->b, job->m);
    bool across = job->m <= job->n && lies(job, &job->b, &job->a, job->n);
    int64_t few = *down ? job->n : job->m;
    return (*down || across) && few <= MOST && job->k >= LEAST_K &&
           job->k * MOST >= few * SHORT_K &&
           gemv_is_counted(job, *down ? job->m : job->n);
}

static int64_t gemv_bytes_of(ssq_dtype dtype)
{
    return dtype == SSQ_F32 ? 4 : 2;
}

/* Pack the few for one task, if necessary. */
static void find_few(struct gemv_part *p, uint32_t worker)
{
    const struct gemv_run *run = p->run;
    const struct gemm_job *job = run->job;
    p->one = p->few.data;
    p->one_step = p->few.line * gemv_bytes_of(p->few.dtype);
    if (!run->packed)
        return;
    float *to = run->memory + worker * run->words;
    struct gemm_panels panels = {to, 1, run->apart};
    job->kernels->pack(&p->few, 0, run->few, 0, (uint32_t)job->k, &panels);
    p->one = (const char *)to;
    p->one_step = (int64_t)(run->apart * sizeof(float));
}

/* Compute the sums of strip s in the order of d, then write d. */
static void strip(const struct gemv_part *p, int64_t s)
{
    const struct gemv_run *run = p->run;
    const struct gemm_kernels *kernels = run->job->kernels;
    _Alignas(64) float sums[STRIP * STRIP];
    int64_t from = s * STRIP;
    uint32_t lines = (uint32_t)size_least(STRIP, run->many - from);
    uint32_t few = (uint32_t)run->few;
    struct gemv_tile t = {.row_step =
                              p->many.line * gemv_bytes_of(p->many.dtype),
                          .rows_are = gemm_rows_of(p->many.dtype),
                          .one_step = p->one_step,
                          .k = run->job->k,
                          .sums_row = run->down ? few : 1,
                          .sums_one = run->down ? 1 : STRIP};
    const char *row = (const char *)p->many.data + from * t.row_step;
    uint32_t most;
    for (uint32_t j = 0; j < few; j += t.few) {
        t.few = few - j < GEMV_SHORT ? few - j : GEMV_SHORT;
        t.one = p->one + j * t.one_step;
        most = kernels->gemv_rows[t.few];
        for (uint32_t i = 0; i < lines; i += t.rows) {
            t.rows = lines - i < most ? lines - i : most;
            t.row = row + i * t.row_step;
            t.sums = sums + i * t.sums_row + j * t.sums_one;
            kernels->gemv(&t);
        }
    }
    if (run->down)
        kernels->finish(&p->result, sums, few, lines, few, from, 0);
    else
        kernels->finish(&p->result, sums, STRIP, few, lines, 0, from);
}

static void gemv_task(void *context, uint32_t index, uint32_t worker)
{
    const struct gemv_run *run = context;
    struct gemm_source a, b;
    struct gemv_part p = {.run = run};
    gemm_matrix(run->job, index / run->tasks, &a, &b, &p.result);
    p.many = run->down ? a : b;
    p.few = run->down ? b : a;
    find_few(&p, worker);
    int64_t s = index % run->tasks * run->each;
    int64_t end = size_least(run->strips, s + run->each);
    for (; s < end; s++)
        strip(&p, s);
}

/* Tasks have adjacent strips: several tasks for each thread, none tiny. */
static void gemv_choose_tasks(struct gemv_run *run, uint32_t threads)
{
    const struct gemm_job *job = run->job;
    const struct gemm_source *many = run->down ? &job->a : &job->b;
    int64_t bytes = STRIP * job->k * gemv_bytes_of(many->dtype);
    int64_t least = size_div_up(BYTES_WORTH_A_THREAD, bytes);
    int64_t wanted =
        size_div_up((int64_t)threads * TASKS_OF_THREAD, job->batch);
    run->strips = size_div_up(run->many, STRIP);
    run->each = size_most(least, size_div_up(run->strips, wanted));
    run->tasks = size_div_up(run->strips, run->each);
}

ssq_status gemv_run(const struct gemm_job *job, struct team *team,
                    struct scratch *scratch)
{
    struct gemv_run run = {.job = job};
    gemv_takes(job, &run.down);
    run.many = run.down ? job->m : job->n;
    run.few = run.down ? job->n : job->m;
    const struct gemm_source *few = run.down ? &job->b : &job->a;
    run.packed = !is_word(job, few->dtype) || few->step != 1;
    gemv_choose_tasks(&run, team_size(team));
    run.apart = (size_t)job->k + GEMM_SLACK;
    run.words = run.packed ? run.apart * (size_t)run.few + GEMM_SLACK : 0;
    struct backend_mem *memory;
    ssq_status st = scratch_take(
        scratch, run.words * team_size(team) * sizeof(float), &memory);
    if (st != SSQ_OK)
        return st;
    run.memory = memory->host;
    parallel_for(team, (uint32_t)(job->batch * run.tasks), gemv_task, &run);
    scratch_return(scratch, memory);
    return SSQ_OK;
}
