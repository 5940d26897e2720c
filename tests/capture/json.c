#include "tests/capture/capture.h"

static void quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void new_line(json *j)
{
    fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
}

static void begin(json *j, const char *key)
{
    if (j->has_sibling)
        fputc(',', j->out);
    if (j->depth > 0)
        new_line(j);
    if (key) {
        quoted(j->out, key);
        fputs(": ", j->out);
    }
    j->has_sibling = true;
}

void json_open(json *j, const char *key, char bracket)
{
    begin(j, key);
    fputc(bracket, j->out);
    j->depth++;
    j->has_sibling = false;
}

void json_close(json *j, char bracket)
{
    j->depth--;
    if (j->has_sibling)
        new_line(j);
    fputc(bracket, j->out);
    j->has_sibling = true;
    if (j->depth == 0)
        fputc('\n', j->out);
}

void json_string(json *j, const char *key, const char *value)
{
    begin(j, key);
    quoted(j->out, value);
}

void json_int(json *j, const char *key, uint64_t value)
{
    if (value >> 53)
        fail("%s: an integer of 2^53 or more does not fit the format", key ? key : "array item");
    begin(j, key);
    fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_bool(json *j, const char *key, bool value)
{
    begin(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_dim3(json *j, const char *key, const uint64_t value[3])
{
    json_open(j, key, '[');
    for (int i = 0; i < 3; i++)
        json_int(j, NULL, value[i]);
    json_close(j, ']');
}

void json_seen(json *j, const char *observer, const char *how)
{
    json_string(j, "observer", observer);
    json_string(j, "how", how);
}
