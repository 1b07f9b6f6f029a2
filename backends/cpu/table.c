/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - the tables of a device. */
#include "backends/cpu/table.h"

#include "kernel_table.h"
#include "kernels/elementwise/unary_args.h"
#include "lib/core/base/error.h"
#include "lib/core/base/object.h"

#include <string.h>

/* Values that a task of making a table has. */
#define MADE_AT_A_TIME 4096u

struct making {
    const struct table_key *key;
    const struct backend_kernel *code;
    void *values;
};

/* One dimension of this many neighbours. */
static uint32_t cpu_table_form_of(uint32_t kind, uint32_t a, uint32_t b,
                                  uint32_t c)
{
    return 1u | a << 4 | b << 7 | c << 10 | kind << 16;
}

void table_exact_map(const struct table_key *key,
                     const struct backend_kernel *code, uint16_t *y,
                     uint16_t *x, uint32_t n)
{
    struct unary_args a = {
        .run = {n, cpu_table_form_of(key->kind, key->x, key->y, 0), {0}},
        .alpha = key->alpha,
        .beta = key->beta,
        .x_steps = {1},
        .y_steps = {1}};
    void *const operand[] = {x, x, y, y};
    code->run(operand, &a, 0, 1);
}

void table_exact_slope(const struct table_key *key,
                       const struct backend_kernel *code, struct floats_at dx,
                       struct floats_at dy, uint32_t dy_step, uint16_t *x,
                       uint32_t n)
{
    struct unary_backward_args a = {
        .run = {n, cpu_table_form_of(key->kind, key->x, dy.is, dx.is), {0}},
        .alpha = key->alpha,
        .beta = key->beta,
        .x_steps = {1},
        .dy_steps = {dy_step},
        .dx_steps = {1}};
    void *const operand[] = {x, x, dy.p, dy.p, dx.p, dx.p};
    code->run(operand, &a, 0, 1);
}

static void make_some(void *context, uint32_t i, uint32_t worker)
{
    const struct making *m = context;
    uint16_t x[MADE_AT_A_TIME];
    size_t from = (size_t)i * MADE_AT_A_TIME;
    (void)worker;
    for (size_t j = 0; j < MADE_AT_A_TIME; j++)
        x[j] = (uint16_t)(from + j);
    if (m->key->kernel == KERNEL_unary) {
        table_exact_map(m->key, m->code, (uint16_t *)m->values + from, x,
                        MADE_AT_A_TIME);
        return;
    }
    /* the result for dy = 1; a slope times it is unchanged */
    float one = 1;
    table_exact_slope(m->key, m->code,
                      (struct floats_at){(float *)m->values + from, SSQ_F32},
                      (struct floats_at){&one, SSQ_F32}, 0, x, MADE_AT_A_TIME);
}

/* By bits: -0 is another alpha than 0. */
static bool same_key(const struct table_key *a, const struct table_key *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Under the lock, as the following functions: the one of that key, for one more
 * holder. */
static struct table *cpu_table_find(struct tables *t,
                                    const struct table_key *key)
{
    for (uint32_t i = 0; i < TABLES; i++) {
        struct table *a = t->kept[i];
        if (a != NULL && same_key(&a->key, key)) {
            a->holders++;
            a->used = ++t->uses;
            return a;
        }
    }
    return NULL;
}

static void cpu_table_let_go(struct table *a)
{
    if (--a->holders > 0)
        return;
    mem_free(a->values);
    mem_free(a);
}

/* In the place of the one that was used longest ago. */
static void cpu_table_keep(struct tables *t, struct table *a)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < TABLES && t->kept[to] != NULL; i++)
        if (t->kept[i] == NULL || t->kept[i]->used < t->kept[to]->used)
            to = i;
    if (t->kept[to] != NULL)
        cpu_table_let_go(t->kept[to]);
    t->kept[to] = a;
    a->holders++;
    a->used = ++t->uses;
}

/* Its only holder is the caller; NULL without memory. */
static struct table *cpu_table_make(const struct table_key *key,
                                    const struct backend_kernel *code,
                                    struct team *team)
{
    size_t each =
        key->kernel == KERNEL_unary ? sizeof(uint16_t) : sizeof(float);
    struct table *a = mem_alloc(sizeof(*a));
    if (a == NULL)
        return NULL;
    a->values = mem_alloc(TABLE_SIZE * each);
    if (a->values == NULL) {
        mem_free(a);
        return NULL;
    }
    a->key = *key;
    a->holders = 1;
    struct making m = {key, code, a->values};
    parallel_for(team, TABLE_SIZE / MADE_AT_A_TIME, make_some, &m);
    return a;
}

struct table *table_take(struct tables *t, const struct table_key *key,
                         const struct backend_kernel *code, struct team *team)
{
    pthread_mutex_lock(&t->lock);
    struct table *a = cpu_table_find(t, key);
    pthread_mutex_unlock(&t->lock);
    if (a != NULL)
        return a;
    struct table *made = cpu_table_make(key, code, team);
    if (made == NULL)
        return NULL;
    pthread_mutex_lock(&t->lock);
    a = cpu_table_find(t, key); /* another op may have made it meanwhile */
    if (a == NULL) {
        a = made;
        cpu_table_keep(t, a);
    } else {
        cpu_table_let_go(made);
    }
    pthread_mutex_unlock(&t->lock);
    return a;
}

void table_return(struct tables *t, struct table *table)
{
    pthread_mutex_lock(&t->lock);
    cpu_table_let_go(table);
    pthread_mutex_unlock(&t->lock);
}

ssq_status tables_init(struct tables *t)
{
    if (pthread_mutex_init(&t->lock, NULL) != 0)
        return error_nomem("cpu", sizeof(t->lock));
    return SSQ_OK;
}

void tables_destroy(struct tables *t)
{
    for (uint32_t i = 0; i < TABLES; i++)
        if (t->kept[i] != NULL)
            cpu_table_let_go(t->kept[i]);
    pthread_mutex_destroy(&t->lock);
}

void tables_hold(struct tables *t)
{
    pthread_mutex_lock(&t->lock);
}

void tables_let_go(struct tables *t)
{
    pthread_mutex_unlock(&t->lock);
}
