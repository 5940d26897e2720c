/* An output that is only partly written, drawn small: a launch with too few blocks leaves its end, one with
 * its axes exchanged leaves the right columns of every row. The length of a row is read off the pattern
 * itself. */
#include "gpu/emu/emu_phase.h"

enum { MAP_ROWS = 8, MAP_COLUMNS = 32 };

/* Bytes of a row: from one change from unwritten to written to the next, when every row is like the first; 0
 * when there is no such pattern. */
static uint64_t pitch_of(const uint8_t *states, uint64_t n)
{
    uint64_t first = 0, starts[2], found = 0, last = n;
    if (n && states[0] == EMU_WRITTEN)
        starts[found++] = 0;
    for (uint64_t i = 1; i < n && found < 2; i++)
        if (states[i] == EMU_WRITTEN && states[i - 1] != EMU_WRITTEN)
            starts[found++] = i;
    if (found < 2)
        return 0;
    uint64_t pitch = starts[1] - starts[0];
    first = starts[0];
    if (pitch < 4 || n % pitch)
        return 0;
    while (states[last - 1] != EMU_WRITTEN)
        last--;
    /* Rows begin where the buffer does: whatever comes before the first start belongs to row 0. Rows after
     * the last that is touched say nothing. */
    uint64_t same = 0, rows = (last - 1) / pitch + 1;
    for (uint64_t r = 0; r + 1 < rows; r++) {
        uint64_t at = first + r * pitch;
        same += at + pitch < n && states[at] == EMU_WRITTEN && states[at + pitch] == EMU_WRITTEN &&
                states[at + pitch - 1] != EMU_WRITTEN;
    }
    return 2 * same >= rows - 1 ? pitch : 0;
}

static uint64_t count(const uint8_t *states, uint64_t n)
{
    uint64_t c = 0;
    for (uint64_t i = 0; i < n; i++)
        c += states[i] == EMU_WRITTEN;
    return c;
}

/* '#' all written, '.' none, '+' some: of rows [r0, r1), bytes [c0, c1) of each. */
static char cell(const uint8_t *states, uint64_t pitch, uint64_t r0, uint64_t r1, uint64_t c0, uint64_t c1)
{
    uint64_t have = 0, all = (r1 - r0) * (c1 - c0);
    for (uint64_t r = r0; r < r1; r++)
        have += count(states + r * pitch + c0, c1 - c0);
    return have == all ? '#' : have ? '+' : '.';
}

/* First and last row and column (in bytes) that are written at all. */
typedef struct {
    uint64_t r0, r1, c0, c1;
} extent;

static extent covered(const uint8_t *states, uint64_t pitch, uint64_t rows)
{
    extent x = {.r0 = UINT64_MAX, .c0 = UINT64_MAX};
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < pitch; c++) {
            if (states[r * pitch + c] != EMU_WRITTEN)
                continue;
            x.r0 = r < x.r0 ? r : x.r0;
            x.r1 = r;
            x.c0 = c < x.c0 ? c : x.c0;
            x.c1 = c > x.c1 ? c : x.c1;
        }
    return x;
}

const char *emu_coverage(scratch *sc, const uint8_t *states, uint64_t n)
{
    char map[MAP_ROWS * (MAP_COLUMNS + 1) + 1];
    size_t at = 0;
    uint64_t pitch = pitch_of(states, n);
    bool matrix = pitch && n / pitch > 1;
    if (!count(states, n))
        return "nothing of it is written";
    if (!matrix)
        pitch = n;
    uint64_t rows = n / pitch, map_rows = rows < MAP_ROWS ? rows : MAP_ROWS,
             map_columns = pitch < MAP_COLUMNS ? pitch : MAP_COLUMNS;
    for (uint64_t r = 0; r < map_rows; r++) {
        if (r)
            map[at++] = '/';
        for (uint64_t c = 0; c < map_columns; c++)
            map[at++] = cell(states, pitch, rows * r / map_rows, rows * (r + 1) / map_rows,
                             pitch * c / map_columns, pitch * (c + 1) / map_columns);
    }
    map[at] = '\0';
    extent x = covered(states, pitch, rows);
    if (!matrix)
        return scratch_printf(sc, "covered: bytes %llu to %llu of %llu  [%s]", (unsigned long long)x.c0,
                              (unsigned long long)x.c1, (unsigned long long)n, map);
    return scratch_printf(sc,
                          "covered: rows %llu to %llu of %llu, bytes %llu to %llu of each row's %llu  [%s]",
                          (unsigned long long)x.r0, (unsigned long long)x.r1, (unsigned long long)rows,
                          (unsigned long long)x.c0, (unsigned long long)x.c1, (unsigned long long)pitch, map);
}
