/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - a training that is cut in two by a file continues with the
 * same bits, on the device that saved it and on every other; a file of
 * something else, a damaged one, a full disk change nothing. */
#define _GNU_SOURCE /* syscall */
#include "lib/checkpoint/digest.h"
#include "tests/tape/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IN   6
#define OUT  3
#define ROWS 8

static char folder[64];

/* A file system that keeps no modes and cannot sync a folder, as CIFS or a
 * bucket through FUSE. */
static bool simple;

SSQ_API int fchmod(int fd, mode_t mode)
{
    errno = EPERM;
    return simple ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

SSQ_API int fsync(int fd)
{
    struct stat s;
    if (simple && fstat(fd, &s) == 0 && S_ISDIR(s.st_mode)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

static const char *file_of(const char *name)
{
    static char path[4][128];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
    return path[next];
}

/* An mlp with states and dropout. */
static ssq_status step(const struct tape_harness *b, ssq_trainer *trainer)
{
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var y = ssq_nn_linear(t, "fc1", ssq_var_input(t, b->x), 16, NULL);
    y = ssq_nn_batch_norm(t, "bn", y, NULL);
    y = ssq_nn_dropout(t, ssq_relu_var(y), 0.25);
    y = ssq_nn_linear(t, "fc2", y, OUT, NULL);
    return ssq_trainer_step(trainer,
                            ssq_mse_var(y, SSQ_MSE(.target = b->target)));
}

struct checkpoint_setup {
    const char *policy, *optimizer;
    ssq_master_kind master;
    bool flat;
};

static ssq_trainer *trainer_of(const struct tape_harness *b,
                               const struct checkpoint_setup *s,
                               uint32_t accumulate, uint64_t seed)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_params_options p = SSQ_PARAMS_OPTIONS_INIT;
    ssq_trainer *t = NULL;
    ssq_group *g = NULL;
    o.lr = 0.01;
    o.master = s->master;
    o.flat_master = s->flat;
    o.clip_norm = 1.0;
    p.seed = seed;
    NEED(ssq_trainer_create(b->queue,
                            SSQ_TRAINER(.policy = s->policy, .params = p,
                                        .optimizer = s->optimizer, .options = o,
                                        .accumulate = accumulate),
                            &t));
    o.weight_decay = 0.0;
    NEED(ssq_trainer_group(t, "*.bias", &o, &g));
    return t;
}

static void steps(const struct tape_harness *b, ssq_trainer *t, int n)
{
    for (int i = 0; i < n; i++)
        NEED(step(b, t));
}

static size_t bytes_of(const char *path, unsigned char **bytes)
{
    FILE *f = fopen(path, "rb");
    long n = 0;
    *bytes = NULL;
    if (f == NULL)
        return 0;
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    rewind(f);
    *bytes = malloc((size_t)n + 1);
    n = (long)fread(*bytes, 1, (size_t)n, f);
    fclose(f);
    return (size_t)n;
}

static bool same_files(const char *a, const char *b)
{
    unsigned char *x, *y;
    size_t n = bytes_of(a, &x), m = bytes_of(b, &y);
    bool same = n > 0 && n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* The headers of files of two devices name these; the bytes of all tensors are
 * after them. */
static bool same_tensors(const char *a, const char *b)
{
    unsigned char *x, *y;
    size_t n = bytes_of(a, &x), m = bytes_of(b, &y), i = 8, j = 8;
    bool same = n > 8 && m > 8;
    for (int k = 0; same && k < 8; k++) {
        i += (size_t)x[k] << 8 * k;
        j += (size_t)y[k] << 8 * k;
    }
    same = same && i < n && j < m && n - i == m - j &&
           memcmp(x + i, y + j, n - i) == 0;
    free(x);
    free(y);
    return same;
}

/* Files in the folder: any that a save leaves beside its file would count. */
static int files(void)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d != NULL)
        closedir(d);
    return n;
}

/* ---- continue ---- */

/* The digest in a file's header, which that of each tensor is in. It is the
 * same for every processor: tests/cross-check compares these lines. */
static void show_digest(const struct tape_harness *b,
                        const struct checkpoint_setup *s, const char *path)
{
    unsigned char *bytes;
    const size_t at = 8 + strlen(HEADER_BEGIN);
    if (bytes_of(path, &bytes) > at + DIGEST_DIGITS)
        tap_diag("%s: %s, %s: digest %.*s", b->name, s->policy, s->optimizer,
                 DIGEST_DIGITS, (char *)bytes + at);
    free(bytes);
}

/* 20 steps against 10, a file and 10: the files behind both are the same bytes,
 * and hold everything that a training has, the loss that is shown too. */
static void resume(const struct tape_harness *b,
                   const struct checkpoint_setup *s, const char *half)
{
    ssq_trainer *whole = trainer_of(b, s, 1, 3);
    ssq_trainer *second = trainer_of(b, s, 1, 4);
    double loss[2] = {0, 1};
    steps(b, whole, 10);
    NEED(ssq_trainer_save(whole, half));
    show_digest(b, s, half);
    steps(b, whole, 10);
    NEED(ssq_trainer_save(whole, file_of("whole")));
    NEED(ssq_trainer_load(second, half));
    NEED(ssq_trainer_save(second, file_of("again")));
    bool same = same_files(half, file_of("again"));
    steps(b, second, 10);
    NEED(ssq_trainer_save(second, file_of("second")));
    NEED(ssq_trainer_loss(whole, &loss[0]));
    NEED(ssq_trainer_loss(second, &loss[1]));
    tap_ok(same && same_files(file_of("whole"), file_of("second")) &&
               loss[0] == loss[1],
           "%s: %s, %s: 20 steps are 10, a file, and 10 in a new trainer",
           b->name, s->policy, s->optimizer);
    /* one that has trained goes back in time */
    NEED(ssq_trainer_load(whole, half));
    steps(b, whole, 10);
    NEED(ssq_trainer_save(whole, file_of("whole")));
    tap_ok(same_files(file_of("whole"), file_of("second")),
           "%s: %s: a trainer that has trained goes back", b->name, s->policy);
    ssq_trainer_destroy(&whole);
    ssq_trainer_destroy(&second);
}

/* The checkpoint of another device. */
static void taken_over(const struct tape_harness *b,
                       const struct checkpoint_setup *s, const char *half)
{
    ssq_trainer *t = trainer_of(b, s, 1, 5);
    NEED(ssq_trainer_load(t, half));
    NEED(ssq_trainer_save(t, file_of("over")));
    tap_ok(same_tensors(half, file_of("over")),
           "%s: %s: what another device has saved is loaded, bit by bit",
           b->name, s->policy);
    steps(b, t, 1);
    ssq_trainer_destroy(&t);
}

/* ---- refused ---- */

/* A load that is refused leaves a trainer with the same bytes. */
static void refused(const struct tape_harness *b, ssq_trainer *t,
                    const char *path, ssq_status want, const char *text,
                    const char *name)
{
    NEED(ssq_trainer_save(t, file_of("before")));
    ssq_status st = ssq_trainer_load(t, path);
    bool has = core_has(ssq_last_error(), text);
    if (st != want || !has)
        tap_diag("%s: %s", ssq_status_name(st), ssq_last_error());
    NEED(ssq_trainer_save(t, file_of("after")));
    bool same = same_files(file_of("before"), file_of("after"));
    steps(b, t, 1);
    tap_ok(st == want && has && same, "refused, nothing changed: %s", name);
}

static void other_trainers(const struct tape_harness *b, const char *half)
{
    const struct {
        struct checkpoint_setup s;
        int steps;
        const char *text, *name;
    } list[] = {
        {{"mixed_bfloat16", "adamw", SSQ_MASTER_F32, false},
         1,
         "the policy is mixed_float16 in the file, and mixed_bfloat16 here",
         "another policy"},
        {{"mixed_float16", "sgd", SSQ_MASTER_F32, false},
         1,
         "the optimizer is adamw in the file, and sgd here",
         "another optimizer"},
        {{"mixed_float16", "sgd", SSQ_MASTER_F32, false},
         0,
         "the optimizer is adamw in the file, and sgd here",
         "another optimizer, new"},
        {{"mixed_float16", "adamw", SSQ_MASTER_NONE, false},
         0,
         "has a \"sesqui/optimizer/",
         "no masters, new"},
        {{"mixed_float16", "adamw", SSQ_MASTER_F32, true},
         0,
         "the optimizer has a \"bn.bias.master\"",
         "flat masters, new"},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        ssq_trainer *t = trainer_of(b, &list[i].s, 1, 1);
        steps(b, t, list[i].steps);
        refused(b, t, half, SSQ_ERR_INVALID, list[i].text, list[i].name);
        ssq_trainer_destroy(&t);
    }
}

static ssq_status other_step(const struct tape_harness *b, ssq_trainer *trainer,
                             const char *name, int64_t width)
{
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var y = ssq_nn_linear(t, name, ssq_var_input(t, b->x), width, NULL);
    return ssq_trainer_step(trainer, ssq_mean_var(ssq_square_var(y), NULL));
}

static void other_models(const struct tape_harness *b,
                         const struct checkpoint_setup *s, const char *half)
{
    static const struct {
        const char *name, *text;
        int64_t width;
    } list[] = {
        {"fc1", "\"fc1.weight\" is [16,6], expected [5,6]", 5},
        {"fc9", "parameter 0 is fc1.weight in the file, and fc9.weight here",
         16},
        {"fc1", "the number of parameters is 8 in the file, and 2 here", 16},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        ssq_trainer *t = trainer_of(b, s, 1, 1);
        NEED(other_step(b, t, list[i].name, list[i].width));
        ssq_status st = ssq_trainer_load(t, half);
        bool has = core_has(ssq_last_error(), list[i].text);
        if (!has)
            tap_diag("%s", ssq_last_error());
        tap_ok(st == SSQ_ERR_INVALID && has &&
                   other_step(b, t, list[i].name, list[i].width) == SSQ_OK,
               "refused: %s", list[i].text);
        ssq_trainer_destroy(&t);
    }
}

static void write_file(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        tap_bail("cannot write %s", path);
}

/* Each byte changed, at intervals: all of the file's are looked at before any
 * is believed. Spaces of the header may become other white space. */
static void damaged(const struct tape_harness *b,
                    const struct checkpoint_setup *s, const char *half)
{
    unsigned char *bytes;
    size_t n = bytes_of(half, &bytes), taken = 0, tried = 0, changed = 0;
    ssq_trainer *t = trainer_of(b, s, 1, 1);
    steps(b, t, 2);
    NEED(ssq_trainer_save(t, file_of("before")));
    for (size_t at = 0; at < n; at += 1 + n / 397, tried++) {
        bytes[at] ^= 0x15;
        write_file(file_of("damaged"), bytes, n);
        bytes[at] ^= 0x15;
        if (ssq_trainer_load(t, file_of("damaged")) == SSQ_OK) {
            taken++;
            tap_diag("byte %zu, '%c'", at, bytes[at]);
        } else if (tried % 50 == 0) {
            NEED(ssq_trainer_save(t, file_of("after")));
            changed += !same_files(file_of("before"), file_of("after"));
        }
    }
    for (size_t cut = 0; cut < n; cut += 1 + n / 101, tried++) {
        write_file(file_of("damaged"), bytes, cut);
        taken += ssq_trainer_load(t, file_of("damaged")) == SSQ_OK;
    }
    NEED(ssq_trainer_save(t, file_of("after")));
    changed += !same_files(file_of("before"), file_of("after"));
    tap_ok(tried > 400 && taken == 0 && changed == 0,
           "%zu damaged files: %zu were taken, %zu changed the trainer", tried,
           taken, changed);
    free(bytes);
    ssq_trainer_destroy(&t);
}

static void wrong_order(const struct tape_harness *b,
                        const struct checkpoint_setup *s, const char *half)
{
    ssq_trainer *t = trainer_of(b, s, 2, 3);
    steps(b, t, 3);
    (void)core_status(ssq_trainer_save(t, file_of("no")), SSQ_ERR_INVALID,
                      "trainer_save|1 of 2 passes",
                      "save within an accumulation");
    (void)core_status(ssq_trainer_load(t, half), SSQ_ERR_INVALID,
                      "trainer_load|1 of 2 passes",
                      "load within an accumulation");
    steps(b, t, 1);
    (void)core_status(ssq_trainer_load(t, file_of("missing")),
                      SSQ_ERR_NOT_FOUND, "trainer_load: |missing",
                      "no such file");
    (void)core_status(ssq_trainer_load(t, folder), SSQ_ERR_INVALID,
                      "not a regular file", "a folder");
    (void)core_status(ssq_trainer_save(t, NULL), SSQ_ERR_INVALID, "path",
                      "no path");
    NEED(ssq_trainer_end(t));
    (void)core_status(ssq_trainer_save(t, file_of("no")), SSQ_ERR_INVALID,
                      "has ended", "save after the end");
    NEED(ssq_checkpoint_save(b->queue, file_of("end"),
                             SSQ_CHECKPOINT(.params = ssq_trainer_params(t))));
    (void)core_status(
        ssq_checkpoint_save(b->queue, file_of("no"), SSQ_CHECKPOINT()),
        SSQ_ERR_INVALID, "all NULL", "a checkpoint of nothing");
    ssq_trainer_destroy(&t);
    t = trainer_of(b, s, 1, 3);
    NEED(ssq_trainer_save(t, file_of("early")));
    steps(b, t, 1);
    refused(b, t, file_of("early"), SSQ_ERR_INVALID,
            "the number of parameters is 0", "of before the first pass");
    ssq_trainer_destroy(&t);
    /* of a load, NOT_FOUND says that the file is missing */
    t = trainer_of(b, s, 1, 3);
    NEED(ssq_trainer_group(t, "*.nothing", NULL, NULL));
    (void)core_status(ssq_trainer_load(t, half), SSQ_ERR_INVALID,
                      "trainer_load: |\"*.nothing\"",
                      "a load into a group of no parameter");
    (void)core_status(step(b, t), SSQ_ERR_NOT_FOUND, "\"*.nothing\"",
                      "and a step with it");
    ssq_trainer_destroy(&t);
}

/* ---- the disk ---- */

static void full_disk(const struct tape_harness *b,
                      const struct checkpoint_setup *s)
{
    ssq_trainer *t = trainer_of(b, s, 1, 3);
    struct rlimit was, less;
    steps(b, t, 1);
    NEED(ssq_trainer_save(t, file_of("disk")));
    NEED(ssq_trainer_save(t, file_of("copy")));
    steps(b, t, 1);
    int n = files(), bad = 0;
    getrlimit(RLIMIT_FSIZE, &was);
    for (rlim_t most = 0; most < 6000; most += 500) {
        less = was;
        less.rlim_cur = most;
        setrlimit(RLIMIT_FSIZE, &less);
        ssq_status st = ssq_trainer_save(t, file_of("disk"));
        setrlimit(RLIMIT_FSIZE, &was);
        bad += st != SSQ_ERR_IO || !core_has(ssq_last_error(), "write");
    }
    tap_ok(bad == 0 && files() == n &&
               same_files(file_of("disk"), file_of("copy")),
           "a file that may not grow: the old one stays, nothing beside it");
    (void)core_status(ssq_trainer_save(t, "/dev/full"), SSQ_ERR_INVALID,
                      "not a regular file", "a device for a file");
    (void)core_status(ssq_trainer_save(t, file_of("none/x")), SSQ_ERR_NOT_FOUND,
                      "none/x", "a folder that is not there");
    /* root writes everywhere, and is someone else for this */
    chmod(folder, 0555);
    uid_t root = geteuid();
    if (root == 0 && seteuid(65534) != 0)
        tap_skip("root cannot be somebody else", "a read-only folder");
    else
        (void)core_status(ssq_trainer_save(t, file_of("disk")), SSQ_ERR_IO,
                          "disk", "a read-only folder");
    if (root == 0 && seteuid(0) != 0)
        tap_bail("root is lost");
    chmod(folder, 0700);
    NEED(symlink("disk", file_of("link")) == 0 ? SSQ_OK : SSQ_ERR_IO);
    chmod(file_of("disk"), 0640);
    NEED(ssq_trainer_save(t, file_of("link")));
    struct stat link, there;
    lstat(file_of("link"), &link);
    stat(file_of("disk"), &there);
    tap_ok(S_ISLNK(link.st_mode) && (there.st_mode & 0777) == 0640 &&
               !same_files(file_of("disk"), file_of("copy")),
           "a link stays, what it leads to is replaced, with its mode");
    ssq_trainer_destroy(&t);
}

static bool is_link(const char *name)
{
    struct stat s;
    return lstat(file_of(name), &s) == 0 && S_ISLNK(s.st_mode);
}

/* ---- files with right digests ---- */

static void put_digest(char *text, const char *key, uint64_t sum)
{
    char digits[DIGEST_DIGITS + 1];
    char *at = strstr(text, key);
    if (at == NULL)
        tap_bail("no %s", key);
    digest_text(sum, digits);
    memcpy(at + strlen(key), digits, DIGEST_DIGITS);
}

/* The file of another name whose tensor "sesqui/params" is of i32, and whose
 * digests say so. */
static void forge(const char *from, const char *to)
{
    static const char key[] = "\"sesqui/params\":{\"dtype\":\"";
    unsigned char *bytes;
    size_t n = bytes_of(from, &bytes);
    uint64_t header = 0;
    struct crc64 crc;
    crc64_begin(&crc);
    for (int i = 7; i >= 0; i--)
        header = header << 8 | bytes[i];
    char *text = (char *)malloc(header + 1);
    memcpy(text, bytes + 8, header);
    text[header] = '\0';
    char *dtype = strstr(text, key);
    if (dtype == NULL || dtype[sizeof(key) - 1] != 'U')
        tap_bail("no %s", key);
    dtype[sizeof(key) - 1] = 'I';
    memcpy(bytes + 8, text, header);
    write_file(to, bytes, n);
    ssq_safetensors *f = NULL;
    NEED(ssq_safetensors_open(to, &f));
    const struct safetensors_entry *e = entry_find(f, "sesqui/params");
    uint64_t sum = crc64_add(&crc, digest_begin(&crc, e), bytes + e->begin,
                             (size_t)e->bytes);
    ssq_safetensors_close(&f);
    put_digest(text, DIGEST_KEY "sesqui/params\":\"", sum);
    memset(text + sizeof(HEADER_BEGIN) - 1, '0', DIGEST_DIGITS);
    put_digest(text, HEADER_BEGIN, crc64_add(&crc, 0, text, header));
    memcpy(bytes + 8, text, header);
    write_file(to, bytes, n);
    free(text);
    free(bytes);
}

/* All is checked before anything is written: nothing has changed, the scaler's
 * state included. */
static void forged(const struct tape_harness *b,
                   const struct checkpoint_setup *s)
{
    ssq_trainer *t = trainer_of(b, s, 1, 1);
    steps(b, t, 1);
    NEED(ssq_trainer_save(t, file_of("early")));
    forge(file_of("early"), file_of("forged"));
    steps(b, t, 3);
    NEED(ssq_trainer_save(t, file_of("before")));
    (void)core_status(ssq_trainer_load(t, file_of("forged")), SSQ_ERR_INVALID,
                      "\"sesqui/params\" is missing, or is not U32 [3]",
                      "right digests, but an odd tensor of the library's");
    NEED(ssq_trainer_save(t, file_of("after")));
    tap_ok(same_files(file_of("before"), file_of("after")),
           "nothing has changed, and the training goes on");
    steps(b, t, 1);
    ssq_trainer_destroy(&t);
}

/* ---- files that claim much ---- */

#define CLAIMED (UINT64_C(3) << 30)

static int load_claim(void *arg)
{
    const struct checkpoint_setup s = {"float32", "adamw", SSQ_MASTER_F32,
                                       false};
    struct rusage before, use;
    (void)arg;
    struct tape_harness b = harness_open("reference", ROWS, IN, OUT);
    ssq_trainer *t = trainer_of(&b, &s, 1, 1);
    getrusage(RUSAGE_SELF, &before); /* a GPU's driver takes hundreds of MiB */
    ssq_status st = ssq_trainer_load(t, file_of("claim"));
    getrusage(RUSAGE_SELF, &use);
    long more = use.ru_maxrss - before.ru_maxrss;
    printf("# %s; %ld MiB more\n", ssq_last_error(), more >> 10);
    return st == SSQ_ERR_INVALID && more < 256 << 10 ? 0 : 1;
}

/* A sparse file of a few KiB, with a parameter of 3 GiB: memory is taken once
 * the digests are right, and these are not. */
static void claims(void)
{
    char text[600];
    unsigned char length[8] = {0};
    int n = snprintf(
        text, sizeof(text),
        HEADER_BEGIN
        "0123456789abcdef\",\"sesqui.version\":\"1\",\"sesqui.policy\":"
        "\"float32\",\"param/w\":\"0\"},\"w\":{\"dtype\":\"F32\","
        "\"shape\":[%llu],\"data_offsets\":[0,%llu]},\"sesqui/params\":{"
        "\"dtype\":\"U32\",\"shape\":[3],\"data_offsets\":[%llu,%llu]}}",
        (unsigned long long)CLAIMED / 4, (unsigned long long)CLAIMED,
        (unsigned long long)CLAIMED, (unsigned long long)CLAIMED + 12);
    length[0] = (unsigned char)(n & 0xff);
    length[1] = (unsigned char)(n >> 8);
    FILE *f = fopen(file_of("claim"), "wb");
    if (f == NULL || fwrite(length, 8, 1, f) != 1 || fputs(text, f) < 0 ||
        fclose(f) != 0 ||
        truncate(file_of("claim"), (off_t)(8 + (uint64_t)n + CLAIMED + 12)))
        tap_bail("cannot write the claim");
    int st = tap_fork(load_claim, NULL, 60);
    tap_ok(tap_exited(st, 0), "a file that claims 3 GiB takes no memory: %s",
           tap_status(st));
}

/* Links to missing files, links in a circle, no name, and a file system
 * that can do less. */
static void odd_paths(const struct tape_harness *b,
                      const struct checkpoint_setup *s)
{
    ssq_trainer *t = trainer_of(b, s, 1, 1);
    char way[PATH_MAX];
    steps(b, t, 1);
    mkdir(file_of("deep"), 0700);
    if (symlink("deep/second", file_of("first")) != 0 ||
        symlink("../new", file_of("deep/second")) != 0 ||
        symlink("round", file_of("round")) != 0 ||
        symlink("missing/x", file_of("astray")) != 0)
        tap_bail("no links");
    tap_ok(ssq_trainer_save(t, file_of("first")) == SSQ_OK &&
               is_link("first") && is_link("deep/second") &&
               access(file_of("new"), F_OK) == 0,
           "two links to what is not there: the file is made");
    tap_ok(ssq_trainer_save(t, file_of("first")) == SSQ_OK &&
               is_link("first") && is_link("deep/second"),
           "and is replaced through them");
    if (realpath(file_of("new"), way) == NULL ||
        symlink(way, file_of("absolute")) != 0)
        tap_bail("no link %s", way);
    tap_ok(ssq_trainer_save(t, file_of("absolute")) == SSQ_OK &&
               is_link("absolute"),
           "through a link of a whole path, too");
    (void)core_status(ssq_trainer_save(t, file_of("round")), SSQ_ERR_IO,
                      "round", "a link to itself");
    (void)core_status(ssq_trainer_save(t, file_of("astray")), SSQ_ERR_NOT_FOUND,
                      "astray", "a link to a folder that is not there");
    simple = true;
    tap_ok(ssq_trainer_save(t, file_of("new")) == SSQ_OK &&
               ssq_trainer_load(t, file_of("new")) == SSQ_OK,
           "no modes, no sync of a folder: saved all the same");
    simple = false;
    (void)core_status(ssq_trainer_save(t, ""), SSQ_ERR_INVALID, "path is empty",
                      "a save without a name");
    (void)core_status(ssq_trainer_load(t, ""), SSQ_ERR_INVALID, "path is empty",
                      "a load without a name");
    ssq_safetensors *file = NULL;
    (void)core_status(ssq_safetensors_open("", &file), SSQ_ERR_INVALID,
                      "path is empty", "a file without a name");
    unlink(file_of("deep/second"));
    rmdir(file_of("deep"));
    ssq_trainer_destroy(&t);
}

int main(void)
{
    static const struct checkpoint_setup list[] = {
        {"mixed_float16", "adamw", SSQ_MASTER_F32, false},
        {"float32", "rmsprop", SSQ_MASTER_F32, false},
        {"mixed_bfloat16", "lamb", SSQ_MASTER_SPLIT, false},
        {"mixed_bfloat16", "sgd", SSQ_MASTER_NONE, false},
        {"mixed_float16", "adagrad", SSQ_MASTER_F32, true},
    };
    const size_t n = sizeof(list) / sizeof(list[0]);
    char path[2][5][128];
    snprintf(folder, sizeof(folder), "checkpoint-%ld", (long)getpid());
    mkdir(folder, 0700);
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        for (size_t k = 0; k < n && (i < 2 || k == 0); k++) {
            snprintf(path[i > 0][k], sizeof(path[0][0]), "%s/%zu-%zu", folder,
                     i, k);
            resume(&b, &list[k], path[i > 0][k]);
            if (i > 0)
                taken_over(&b, &list[k], path[0][k]);
        }
        harness_close(&b);
    }
    struct tape_harness b = harness_open("reference", ROWS, IN, OUT);
    taken_over(&b, &list[0], path[1][0]);
    other_trainers(&b, path[0][0]);
    other_models(&b, &list[0], path[0][0]);
    damaged(&b, &list[0], path[0][0]);
    wrong_order(&b, &list[0], path[0][0]);
    full_disk(&b, &list[0]);
    odd_paths(&b, &list[0]);
    forged(&b, &list[0]);
    claims();
    harness_close(&b);
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            (void)unlink(file_of(e->d_name));
    closedir(d);
    tap_ok(rmdir(folder) == 0, "nothing is left in the folder");
    return tap_done(54);
}
