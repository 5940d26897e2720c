/* Text for people: everything that comes from a bundle passes text_safe before a terminal shows it. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* s with C0, C1, DEL, bidirectional controls, line separators and bytes that are not UTF-8 written as \xNN or
 * \u{NNNN}; lent by sc ("" when out of memory). Newline and tab are escaped as well. */
const char *text_safe(scratch *sc, const char *s);
/* The same, keeping newlines and tabs, of a whole text to a stream. */
void text_print_safe(FILE *f, span s);
/* 37748992 -> "37,748,992"; lent by sc. */
const char *text_count(scratch *sc, uint64_t v);
/* Picoseconds as microseconds with two decimals: "18.21 us". */
const char *text_us(scratch *sc, uint64_t ps);

/* Whether colour may be used on this stream: a terminal, and no NO_COLOR. */
bool text_colour(FILE *f);
/* Columns of the terminal, 100 when it is not one. */
unsigned text_columns(FILE *f);

/* A table: cells are added row by row, printed with aligned columns. Cells are escaped when printed. */
typedef struct text_table text_table;
/* `right` holds a character a column: 'r' aligns right, anything else left; its length is the number of
 * columns. */
text_table *text_table_new(scratch *sc, const char *right);
void text_cell(text_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A rule below the header row is drawn after the first row. */
void text_table_print(const text_table *t, FILE *f, const char *indent);

#endif
