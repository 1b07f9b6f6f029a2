/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c - fuzz target: batches of arrays, in lockstep on two devices.
 *
 * Both sides must give the same statuses, shapes and bytes. Each epoch must
 * have each row once, or, with drop_last, at most once. A position that is set
 * again must give the same batch again. */

#include <stdlib.h>
#include <string.h>

#include <sesqui/data.h>

#include "tests/fuzz/pair.h"
#include "tests/fuzz/values.h"

enum { ROWS = 24, ROW_ELEMENTS = 12, CALLS = 24, BYTES = 65536 };

/** The state of a program. The first array contains the number of each row. */
struct batches_program {
    ssq_device *device[SIDES];
    ssq_queue *queue[SIDES];
    ssq_array *array[2];
    ssq_batches *batches[SIDES];
    ssq_batches_args args;
    int64_t rows;
    unsigned seen[ROWS]; /* in this epoch */
    bool whole;          /* the epoch was seen from its begin */
};

/** A batch as bytes. */
struct batches_batch {
    ssq_status st;
    int64_t rows;
    size_t bytes;
    int32_t row[ROWS];
    uint8_t contents[BYTES];
};

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        fuzz_fail("%s: %s", what, ssq_status_name(st));
}

static void make_arrays(struct batches_program *p, struct input *in)
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_U8,  SSQ_I32, SSQ_I64,
                                       SSQ_F64, SSQ_F16, SSQ_BF16};
    static uint8_t bytes[ROWS * ROW_ELEMENTS * 8];
    int32_t number[ROWS];
    int64_t shape[3];
    p->rows = input_below(in, ROWS + 1);
    for (int i = 0; i < ROWS; i++)
        number[i] = i;
    must(ssq_array_create(SSQ_I32, 1, &p->rows, number, &p->array[0]), "array");
    shape[0] = input_once(in, 16) ? input_below(in, ROWS + 1) : p->rows;
    shape[1] = input_below(in, 4);
    shape[2] = 1 + input_below(in, 3);
    values_make(bytes, sizeof(bytes), input_byte(in), input_byte(in));
    must(ssq_array_create(dtypes[input_below(in, 7)],
                          1 + (int)input_below(in, 3), shape, bytes,
                          &p->array[1]),
         "array");
}

static void choose_args(struct batches_program *p, struct input *in)
{
    static const ssq_dtype dtypes[] = {(ssq_dtype)0, (ssq_dtype)0, SSQ_F32,
                                       SSQ_F16,      SSQ_BF16,     SSQ_I32,
                                       SSQ_U8,       SSQ_I64};
    static const double numbers[] = {0.0, 0.0, 0.5, -3.0, 1e39, 1e-60};
    p->args = (ssq_batches_args)SSQ_BATCHES_INIT;
    p->args.arrays[0] = p->array[0];
    p->args.arrays[1] = p->array[1];
    p->args.n = input_once(in, 16) ? input_byte(in) : 2;
    p->args.dtypes[1] = dtypes[input_below(in, 8)];
    p->args.scale[1] = numbers[input_below(in, 6)];
    p->args.shift[1] = numbers[input_below(in, 6)];
    p->args.batch = (int64_t)input_below(in, ROWS + 4);
    p->args.shuffle = input_once(in, 2);
    p->args.seed = input_byte(in);
    p->args.drop_last = input_once(in, 3);
    p->args.prefetch = 1 + input_below(in, input_once(in, 16) ? 256 : 4);
}

static bool create(struct batches_program *p)
{
    ssq_status st[SIDES];
    for (unsigned s = 0; s < SIDES; s++) {
        st[s] = ssq_batches_create(p->queue[s], &p->args, &p->batches[s]);
        if ((st[s] == SSQ_OK) != (p->batches[s] != NULL))
            fuzz_fail("batches_create: an object and an error");
    }
    st[0] = pair_same("batches_create", st[0], st[1]);
    fuzz_counts.calls++;
    fuzz_counts.done += st[0] == SSQ_OK;
    fuzz_counts.refused += st[0] != SSQ_OK;
    return st[0] == SSQ_OK;
}

static void read_batch(struct batches_program *p, unsigned side,
                       struct batches_batch *b)
{
    const ssq_tensor *t[SSQ_BATCH_ARRAYS] = {NULL};
    ssq_tensor_desc d = SSQ_TENSOR_DESC_INIT;
    memset(b, 0, sizeof(*b));
    b->st = ssq_batches_next(p->batches[side], t);
    if (b->st != SSQ_OK)
        return;
    b->rows = ssq_tensor_size(t[0], 0);
    if (b->rows < 1 || b->rows > p->args.batch || b->rows > p->rows)
        fuzz_fail("a batch of %lld rows", (long long)b->rows);
    must(ssq_tensor_read(p->queue[side], t[0], b->row, sizeof(b->row), SSQ_I32),
         "read");
    if (p->args.n > 1) {
        must(ssq_tensor_desc_get(t[1], &d), "desc");
        if (d.rank < 1 || d.shape[0] != b->rows)
            fuzz_fail("the second tensor has other rows");
        b->bytes = (size_t)d.elements * cell_bytes(d.dtype);
        must(ssq_tensor_read(p->queue[side], t[1], b->contents, BYTES, d.dtype),
             "read");
    }
    must(ssq_queue_sync(p->queue[side]), "sync");
}

/* The next batch of both sides, which must be the same. */
static const struct batches_batch *next(struct batches_program *p)
{
    static struct batches_batch b[SIDES];
    for (unsigned s = 0; s < SIDES; s++)
        read_batch(p, s, &b[s]);
    (void)pair_same("batches_next", b[0].st, b[1].st);
    if (memcmp(&b[0], &b[1], sizeof(b[0])) != 0)
        fuzz_fail("batches differ");
    return &b[0];
}

/* An epoch has ended: were all rows in it? */
static void end_epoch(struct batches_program *p)
{
    int64_t missing = 0;
    for (int64_t i = 0; i < p->rows; i++)
        missing += p->seen[i] == 0;
    int64_t want = p->args.drop_last ? p->rows % p->args.batch : 0;
    if (p->whole && missing != want)
        fuzz_fail("an epoch without %lld of %lld rows", (long long)missing,
                  (long long)p->rows);
    memset(p->seen, 0, sizeof(p->seen));
    p->whole = true;
}

static void step(struct batches_program *p)
{
    const struct batches_batch *b = next(p);
    if (b->st == SSQ_ERR_NOT_FOUND) {
        end_epoch(p);
        return;
    }
    must(b->st, "batches_next");
    for (int64_t i = 0; i < b->rows; i++) {
        int32_t row = b->row[i];
        if (row < 0 || row >= p->rows || p->seen[row]++ != 0)
            fuzz_fail("row %d is not new in its epoch", row);
    }
}

static ssq_batches_position place(const struct batches_program *p)
{
    ssq_batches_position at[SIDES] = {SSQ_BATCHES_POSITION_INIT,
                                      SSQ_BATCHES_POSITION_INIT};
    for (unsigned s = 0; s < SIDES; s++)
        must(ssq_batches_position_get(p->batches[s], &at[s]), "position_get");
    if (at[0].epoch != at[1].epoch || at[0].row != at[1].row)
        fuzz_fail("positions differ");
    return at[0];
}

/* Go to a position. If it is refused, the position must not change. */
static ssq_status go(struct batches_program *p, const ssq_batches_position *to)
{
    ssq_status st[SIDES];
    ssq_batches_position was = place(p);
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_batches_position_set(p->batches[s], to);
    if (pair_same("position_set", st[0], st[1]) == SSQ_OK) {
        memset(p->seen, 0, sizeof(p->seen));
        p->whole = to->row == 0;
    } else if (place(p).row != was.row || place(p).epoch != was.epoch)
        fuzz_fail("position_set: refused, and yet the position changed");
    return st[0];
}

/* The batch after a position, once more. */
static void repeat(struct batches_program *p)
{
    static struct batches_batch first;
    ssq_batches_position at = place(p);
    first = *next(p);
    must(go(p, &at), "position_set");
    if (memcmp(&first, next(p), sizeof(first)) != 0)
        fuzz_fail("a position has two batches");
    must(go(p, &at), "position_set");
    p->whole = at.row == 0;
}

static void jump(struct batches_program *p, struct input *in)
{
    ssq_batches_position to = SSQ_BATCHES_POSITION_INIT;
    to.epoch = input_once(in, 8) ? input_u64(in) : input_below(in, 4);
    to.row = input_once(in, 8) ? (int64_t)input_u64(in)
                               : p->args.batch * (int64_t)input_below(in, 4);
    (void)go(p, &to);
}

static void run(struct batches_program *p, struct input *in)
{
    must(place(p).row == 0 ? SSQ_OK : SSQ_ERR_INVALID, "the first position");
    int64_t count = ssq_batches_count(p->batches[0]);
    int64_t want =
        (p->rows + (p->args.drop_last ? 0 : p->args.batch - 1)) / p->args.batch;
    if (count != (want > 0 ? want : 1))
        fuzz_fail("%lld batches in an epoch", (long long)count);
    p->whole = true;
    for (int i = 0; i < CALLS && !input_done(in); i++)
        switch (input_below(in, 8)) {
        case 6:
            repeat(p);
            break;
        case 7:
            jump(p, in);
            break;
        default:
            step(p);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct batches_program p;
    struct input in = {data, data + bytes};
    if (fuzz_counts.programs++ == 0 && getenv("SSQ_FUZZ_COUNTS") != NULL)
        atexit(fuzz_counts_print);
    for (unsigned s = 0; s < SIDES; s++) {
        if (p.device[s] == NULL)
            must(ssq_device_open(s == 0 ? "reference" : fuzz_device(), NULL,
                                 &p.device[s]),
                 "open");
        must(ssq_queue_create(p.device[s], NULL, &p.queue[s]), "queue");
    }
    memset(p.seen, 0, sizeof(p.seen));
    make_arrays(&p, &in);
    choose_args(&p, &in);
    bool made = create(&p);
    for (unsigned i = 0; i < 2; i++) /* the batches hold them */
        ssq_array_destroy(&p.array[i]);
    if (made)
        run(&p, &in);
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
        ssq_batches_destroy(&p.batches[s]);
        ssq_queue_destroy(&p.queue[s]);
        must(ssq_device_memory(p.device[s], &info), "memory");
        if (info.buffers != 0)
            fuzz_fail("%llu buffers are left",
                      (unsigned long long)info.buffers);
    }
    return 0;
}
