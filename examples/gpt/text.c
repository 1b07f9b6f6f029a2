/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - texts as tokens: a token for each byte value that occurs. */
#include "examples/gpt/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes that grow. */
struct bytes {
    uint8_t *at;
    size_t n, room;
};

static bool add_file(const char *path, struct bytes *b)
{
    FILE *f = fopen(path, "rb");
    size_t got = 1;
    while (f != NULL && got > 0) {
        if (b->room - b->n < 65536) {
            size_t room = 2 * b->room + 65536;
            uint8_t *p = realloc(b->at, room);
            if (p == NULL)
                break;
            b->at = p;
            b->room = room;
        }
        got = fread(b->at + b->n, 1, 65536, f);
        b->n += got;
    }
    bool bad = f == NULL || got > 0 || ferror(f) != 0;
    if (bad)
        perror(path);
    if (f != NULL)
        fclose(f);
    return !bad;
}

/* Files alone: no folders, and no second name of a file. */
static bool is_file(const char *folder, const char *name, char *path,
                    size_t bytes)
{
    struct stat s;
    int n = snprintf(path, bytes, "%s/%s", folder, name);
    return n > 0 && (size_t)n < bytes && lstat(path, &s) == 0 &&
           S_ISREG(s.st_mode);
}

static bool add_folder(const char *folder, struct bytes *b)
{
    struct dirent **names = NULL;
    char path[1024];
    int n = scandir(folder, &names, NULL, alphasort);
    bool good = n >= 0;
    if (!good)
        perror(folder);
    for (int i = 0; i < n; i++) {
        good =
            good && (!is_file(folder, names[i]->d_name, path, sizeof(path)) ||
                     add_file(path, b));
        free(names[i]);
    }
    free(names);
    return good;
}

/* Tokens in the order of the bytes. */
static bool number(const struct bytes *b, struct text *text)
{
    bool seen[256] = {false};
    for (size_t i = 0; i < b->n; i++)
        seen[b->at[i]] = true;
    for (int c = 0; c < 256; c++) {
        text->of_byte[c] = seen[c] ? text->kinds : -1;
        if (seen[c])
            text->to_byte[text->kinds++] = (uint8_t)c;
    }
    text->n = b->n;
    text->token = malloc(b->n * sizeof(*text->token));
    if (text->token == NULL) {
        perror("tokens");
        return false;
    }
    for (size_t i = 0; i < b->n; i++)
        text->token[i] = text->of_byte[b->at[i]];
    return true;
}

bool text_read(const char *path, struct text *text)
{
    struct bytes b = {0};
    struct stat s;
    memset(text, 0, sizeof(*text));
    bool good = stat(path, &s) == 0;
    if (!good)
        perror(path);
    good = good &&
           (S_ISDIR(s.st_mode) ? add_folder(path, &b) : add_file(path, &b));
    if (good && b.n == 0) {
        fprintf(stderr, "%s: there is no text\n", path);
        good = false;
    }
    good = good && number(&b, text);
    free(b.at);
    return good;
}

void text_free(struct text *text)
{
    free(text->token);
    memset(text, 0, sizeof(*text));
}
