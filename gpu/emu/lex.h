/* Tokens of PTX text: names, dotted words, numbers, strings, single characters. Comments and blanks vanish.
 */
#ifndef EMU_LEX_H
#define EMU_LEX_H

#include "artifacts/base/err.h"
#include "artifacts/base/span.h"
#include <stdbool.h>

typedef enum {
    LEX_END,
    LEX_NAME,   /* foo, %r1, $L__BB0_2, _ */
    LEX_DOT,    /* .global, .L2::128B: text without the first dot */
    LEX_INT,    /* bits */
    LEX_FLOAT,  /* value; bits and width 32 for 0f…, 64 for 0d… and decimals */
    LEX_STRING, /* text without quotes */
    LEX_PUNCT,  /* ch */
} lex_kind;

typedef struct {
    lex_kind kind;
    char ch;
    uint8_t width;
    bool blank_before; /* blanks or a comment stood before it */
    span text;         /* in the source */
    uint64_t bits;
    double value;
    uint32_t line, column; /* from 1 */
} lex_token;

typedef struct {
    span text;
    size_t at;
    uint32_t line;
    size_t line_start;
    const char *file;
    lex_token tok; /* the current one */
} lexer;

/* Begin, with the first token current. */
RP_MUST rp_code lex_start(rp_err *e, lexer *lx, const char *file, span text);
/* Make the next token current. */
RP_MUST rp_code lex_next(rp_err *e, lexer *lx);
/* RP_INVALID at the current token. */
rp_code lex_error(rp_err *e, const lexer *lx, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool lex_is(const lexer *lx, char ch);
bool lex_is_dot(const lexer *lx, const char *word);
bool lex_is_name(const lexer *lx, const char *word);
/* Take the character or fail. */
RP_MUST rp_code lex_expect(rp_err *e, lexer *lx, char ch);
bool span_is(span s, const char *word);

#endif
