/* Marks a function in which unsigned arithmetic wraps around on purpose, for clang's sanitizer of it. */
#ifndef EMU_WRAP_H
#define EMU_WRAP_H

#ifdef __clang__
#define WRAPS __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define WRAPS
#endif

#endif
