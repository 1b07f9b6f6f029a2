/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c - models of several files: an index and its shards open as one, read
 * and load as one file with the same tensors does, and an index that is wrong
 * is refused with a text that says why. */
#include "tests/tape/tape.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

/* A file's path in the folder; of two texts at a time. */
static const char *in_folder(const char *name)
{
    static char path[2][200];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
    return path[turn];
}

static void put_text(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "wb");
    if (f == NULL)
        tap_bail("cannot write %s", in_folder(name));
    fputs(text, f);
    fclose(f);
}

/* A file with a header and n floats: first, first + 1, .. */
static void put(const char *name, const char *header, float first, size_t n)
{
    FILE *f = fopen(in_folder(name), "wb");
    if (f == NULL)
        tap_bail("cannot write %s", in_folder(name));
    for (int i = 0; i < 8; i++)
        fputc((int)((uint64_t)strlen(header) >> 8 * i & 0xff), f);
    fputs(header, f);
    for (size_t i = 0; i < n; i++) {
        const float x = first + (float)i;
        uint32_t bits;
        memcpy(&bits, &x, sizeof(bits));
        for (int k = 0; k < 4; k++)
            fputc((int)(bits >> 8 * k & 0xff), f);
    }
    fclose(f);
}

#define T(SHAPE, FROM, TO)                                                     \
    "{\"dtype\":\"F32\",\"shape\":" SHAPE ",\"data_offsets\":[" FROM "," TO "]}"
#define ONE "model-00001-of-00002.safetensors"
#define TWO "model-00002-of-00002.safetensors"
#define MAP(MEMBERS)                                                           \
    "{\"metadata\": {\"total_size\": 44},\n \"weight_map\": {" MEMBERS "}}"
#define ALL "\"a\": \"" ONE "\", \"b\": \"" TWO "\", \"c\": \"" ONE "\""

/* a = 0 1, c = 2 .. 7; b = 100 101 102; and u, which no index names. */
static void put_shards(void)
{
    put(ONE,
        "{\"__metadata__\":{\"format\":\"pt\"},\"a\":" T(
            "[2]", "0", "8") ",\"c\":" T("[2,3]", "8", "32") "}",
        0.0f, 8);
    put(TWO,
        "{\"__metadata__\":{\"format\":\"np\",\"two\":\"2\"},\"b\":" T(
            "[3]", "0", "12") ",\"u\":" T("[1]", "12", "16") "}",
        100.0f, 4);
}

static ssq_safetensors *opened(const char *name)
{
    ssq_safetensors *f = NULL;
    NEED(ssq_safetensors_open(in_folder(name), &f));
    return f;
}

/* The members, in their order. */
static void listed(void)
{
    static const char *const names[] = {"a", "c", "b"};
    ssq_safetensors_info info = SSQ_SAFETENSORS_INFO_INIT;
    put_text("model.safetensors.index.json", MAP(ALL));
    ssq_safetensors *f = opened("model.safetensors.index.json");
    bool same = ssq_safetensors_count(f) == 3;
    for (size_t i = 0; i < 3 && same; i++) {
        NEED(ssq_safetensors_get(f, i, &info));
        same = strcmp(info.name, names[i]) == 0;
    }
    tap_ok(same, "three tensors, by their shards and bytes");
    NEED(ssq_safetensors_find(f, "c", &info));
    tap_ok(info.rank == 2 && info.shape[1] == 3 && info.bytes == 24,
           "c is found in its shard");
    (void)core_status(ssq_safetensors_find(f, "u", &info), SSQ_ERR_NOT_FOUND,
                      "index.json has no \"u\" among 3 tensors",
                      "a tensor that the index does not name");
    const char *format = ssq_safetensors_metadata(f, "format");
    const char *two = ssq_safetensors_metadata(f, "two");
    tap_ok(format != NULL && strcmp(format, "pt") == 0 && two != NULL &&
               strcmp(two, "2") == 0 &&
               ssq_safetensors_metadata(f, "three") == NULL,
           "metadata is that of the first shard that has it");
    ssq_safetensors_close(&f);
    f = opened(TWO);
    tap_ok(ssq_safetensors_count(f) == 2 &&
               ssq_safetensors_find(f, "u", &info) == SSQ_OK,
           "a shard opens alone, with all that it has");
    ssq_safetensors_close(&f);
}

static void read_all(const struct tape_rig *r)
{
    static const struct {
        const char *name;
        int rank;
        int64_t shape[2];
        float first;
    } want[] = {
        {"a", 1, {2}, 0.0f}, {"b", 1, {3}, 100.0f}, {"c", 2, {2, 3}, 2.0f}};
    ssq_safetensors *f = opened("model.safetensors.index.json");
    for (size_t k = 0; k < 3; k++) {
        ssq_tensor *t = NULL;
        float x[6];
        NEED(ssq_tensor_create(r->device, SSQ_F32, want[k].rank, want[k].shape,
                               &t));
        NEED(ssq_safetensors_read(r->queue, f, want[k].name, NULL, t));
        const size_t n = (size_t)ssq_tensor_elements(t);
        NEED(ssq_tensor_read(r->queue, t, x, n * sizeof(*x), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        bool same = true;
        for (size_t i = 0; i < n; i++)
            same = same && x[i] == want[k].first + (float)i;
        tap_ok(same, "%s: %s has the values of its shard", r->name,
               want[k].name);
        ssq_tensor_destroy(&t);
    }
    ssq_safetensors_close(&f);
}

/* Parameters take their values from both shards. */
static void load_params(struct tape_rig *r)
{
    float b[3], c[6];
    ssq_tape_begin(r->tape, true);
    (void)ssq_var_param(r->tape, "b", SSQ_PARAM(.rank = 1, .shape = {3}));
    (void)ssq_var_param(r->tape, "c", SSQ_PARAM(.rank = 2, .shape = {2, 3}));
    NEED(ssq_tape_status(r->tape));
    const char *path = in_folder("model.safetensors.index.json");
    (void)core_status(ssq_params_load(r->params, r->queue, path, NULL),
                      SSQ_ERR_INVALID, "index.json has a \"a\"",
                      "%s: a tensor that is no parameter", r->name);
    NEED(ssq_params_load(r->params, r->queue, path,
                         SSQ_PARAMS_FILE(.unused = true)));
    NEED(ssq_params_read(r->params, r->queue, NULL, "b", b, 3));
    NEED(ssq_params_read(r->params, r->queue, NULL, "c", c, 6));
    tap_ok(b[0] == 100.0f && b[2] == 102.0f && c[0] == 2.0f && c[5] == 7.0f,
           "%s: parameters load by the index", r->name);
    (void)core_status(ssq_checkpoint_load(r->queue, path,
                                          SSQ_CHECKPOINT(.params = r->params)),
                      SSQ_ERR_INVALID, "an index of 2 files",
                      "%s: a training does not", r->name);
}

/* ---- what is refused ---- */

static const struct {
    const char *index, *text;
} bad[] = {
    {"{\"metadata\": {}}", "JSON without \"weight_map\""},
    {"{\"weight_map\": []}", "'[', expected '{'"},
    {"{\"weight_map\": {\"a\": 1}}", "'1', expected a string"},
    {"{\"weight_map\": {}, \"weight_map\": {}}", "two \"weight_map\""},
    {"{\"weight_map\": {\"a\": \"" ONE "\"}", "expected ',' or '}'"},
    {"{\"weight_map\": {}} x", "'x', expected spaces to its end"},
    {MAP("\"a\": \"../" ONE "\""), "\"a\" is in \"../model-00001"},
    {MAP("\"a\": \"/etc/passwd\""), "\"/etc/passwd\", which is not the name"},
    {MAP("\"a\": \"..\""), "which is not the name of a file"},
    {MAP("\"a\": \".\""), "which is not the name of a file"},
    {MAP("\"a\": \"\""), "which is not the name of a file"},
    {MAP("\"a\": \"sub/" ONE "\""), "which is not the name of a file"},
    {MAP(ALL ", \"d\": \"model-3.safetensors\""),
     "the shard model-3.safetensors, of 3, is missing"},
    {MAP(ALL ", \"d\": \"" TWO "\""),
     "\"d\" should be in " TWO ", and is in no shard"},
    {MAP("\"a\": \"" TWO "\", \"c\": \"" ONE "\""),
     "\"a\" should be in " TWO ", and is in " ONE},
    {MAP(ALL ", \"a\": \"" TWO "\""), "tensor \"a\" occurs twice"},
    {MAP(ALL ", \"\\u0061\": \"" ONE "\""), "tensor \"a\" occurs twice"},
    {MAP(ALL ", \"x\": \"copy\""), "\"b\" is in " TWO " and in copy"},
    {MAP(ALL ", \"d\": \"other.json\""), "other.json: its header has"},
    {MAP(ALL ", \"d\": \"other.json\""), "it is JSON, not a file of tensors"},
    {MAP(ALL ", \"d\": \"cut\""), "cut: tensor \"d\" ends at byte 12 of 8"},
};

static void refused(void)
{
    put("copy",
        "{\"b\":" T("[3]", "0", "12") ",\"x\":" T("[1]", "12", "16") "}", 0.0f,
        4);
    put_text("other.json", MAP("\"a\": \"" ONE "\""));
    put("cut", "{\"d\":" T("[3]", "0", "12") "}", 0.0f, 2);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ssq_safetensors *f = NULL;
        put_text("bad.json", bad[i].index);
        (void)core_status(ssq_safetensors_open(in_folder("bad.json"), &f),
                          SSQ_ERR_INVALID, bad[i].text, "index %zu", i);
    }
}

/* Odd but allowed: totals of any kind, members of later versions, space
 * before the text, no tensors. */
static void allowed(void)
{
    static const char *const index[] = {
        "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {" ALL "}}",
        "{\"metadata\": {\"total_size\": 4.4e1}, \"weight_map\": {" ALL "}}",
        "{\"metadata\": {\"total_size\": 44.0, \"total_parameters\": 11},"
        " \"weight_map\": {" ALL "}}",
        "{\"metadata\": {\"total_size\": \"44\"}, \"weight_map\": {" ALL "}}",
        "{\"metadata\": null, \"weight_map\": {" ALL "}}",
        "\n{ \"later\": [1, {\"a\": null}], \"weight_map\": {" ALL "}}\n",
    };
    for (size_t i = 0; i < sizeof(index) / sizeof(index[0]); i++) {
        put_text("odd.json", index[i]);
        ssq_safetensors *f = opened("odd.json");
        tap_ok(ssq_safetensors_count(f) == 3, "odd index %zu", i);
        ssq_safetensors_close(&f);
    }
    put_text("odd.json", "{\"weight_map\": {}}");
    ssq_safetensors *f = opened("odd.json");
    tap_ok(ssq_safetensors_count(f) == 0, "an index without tensors");
    ssq_safetensors_close(&f);
}

/* A path without a directory: shards are in the current one. */
static void here(void)
{
    char before[1024];
    ssq_safetensors *f = NULL;
    if (getcwd(before, sizeof(before)) == NULL || chdir(folder) != 0)
        tap_bail("chdir %s", folder);
    (void)core_status(ssq_safetensors_open("model.safetensors.index.json", &f),
                      SSQ_OK, NULL, "an index in the current folder");
    if (chdir(before) != 0)
        tap_bail("chdir %s", before);
    ssq_safetensors_close(&f);
}

static struct {
    size_t most, calls, fail_at, live;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    (void)user;
    if (++heap.calls == heap.fail_at)
        return NULL;
    heap.most = bytes > heap.most ? bytes : heap.most;
    heap.live++;
    return malloc(bytes);
}

static void heap_free(void *user, void *p)
{
    (void)user;
    heap.live--;
    free(p);
}

/* A sparse index takes no more memory than its contents, and each allocation
 * that fails is told, with nothing left. */
static void memory(void)
{
    ssq_allocator a = {sizeof(a), heap_alloc, heap_free, NULL};
    ssq_safetensors *f = NULL;
    size_t fails = 0;
    bool told = true;
    NEED(ssq_allocator_set(&a));
    put_text("bad.json", "{\"weight_map\": {");
    if (truncate(in_folder("bad.json"), 99000000) == 0)
        (void)core_status(ssq_safetensors_open(in_folder("bad.json"), &f),
                          SSQ_ERR_INVALID, "byte 16 of the index is 0",
                          "a sparse index");
    tap_ok(heap.most < 100000 && heap.live == 0, "takes %zu bytes at most",
           heap.most);
    const char *path = in_folder("model.safetensors.index.json");
    for (heap.fail_at = 1;; heap.fail_at++, fails++) {
        heap.calls = 0;
        ssq_status st = ssq_safetensors_open(path, &f);
        if (st == SSQ_OK)
            break;
        told = told && st == SSQ_ERR_NOMEM && heap.live == 0 && f == NULL;
    }
    tap_ok(told && fails > 15, "each of %zu allocations fails once", fails);
    heap.fail_at = 0;
    ssq_safetensors_close(&f);
    tap_ok(heap.live == 0, "and nothing is left");
    NEED(ssq_allocator_set(NULL));
}

int main(void)
{
    snprintf(folder, sizeof(folder), "shards-%ld", (long)getpid());
    if (mkdir(folder, 0700) != 0)
        tap_bail("mkdir %s", folder);
    put_shards();
    listed();
    here();
    refused();
    allowed();
    memory();
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_rig r = rig_open(core_device(i), "float32");
        read_all(&r);
        load_params(&r);
        rig_close(&r);
    }
    static const char *const names[] = {
        ONE,        TWO,         "model.safetensors.index.json",
        "bad.json", "odd.json",  "copy",
        "cut",      "other.json"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(in_folder(names[i]));
    rmdir(folder);
    return tap_done(40);
}
