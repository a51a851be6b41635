/* Reads sound stretches of a trace's event list into columns: what analyze/ingest does in Python, without Python objects.
 *
 * It reads strict JSON only and gives up (UNSOUND) at anything unusual: the Python reader then takes the same text, with
 * all its repairs, so that what this file accepts is the only thing that has to be right here.
 *
 * Bounds: `text` is a Python bytes object, so text[size] is a readable NUL. NUL continues no token, hence no loop below
 * runs past it; the one read of several bytes at a time is guarded by `end`. Everything that is written is checked
 * against the capacity given.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define UNSOUND (-1)
#define TABLE_FULL (-2)
#define ROWS_FULL (-3)
#define ABSENT (-1)
#define DEEPEST 64
#define MOST_KEYS 64
#define BUCKETS 64
/* 2^43 microseconds: durations beyond are read by other rules in Python */
#define LONGEST_US 8796093022208LL
/* 9.2e15 microseconds are the last whose nanoseconds fit 64 bits */
#define LATEST_US 9200000000000000LL

typedef const uint8_t *cursor;

/* Distinct byte strings of one text, numbered as they come. */
typedef struct {
    int32_t *slots;    /* mask + 1 of them, -1 where empty */
    int64_t mask;
    int64_t *offset;   /* of the first occurrence, by number */
    int64_t *length;
    uint64_t *hash;
    int64_t capacity;
    int64_t count;
} Interned;

typedef struct {
    int32_t *phase, *category, *name, *process, *thread;
    int64_t *start_ns, *dur_ns, *id, *begin, *event_length, *arguments, *arguments_length;
    uint8_t *has; /* bits: 1 start, 2 duration, 4 id */
} Columns;

enum { HAS_START = 1, HAS_DURATION = 2, HAS_ID = 4 };

static const uint8_t SPACE[256] = {[' '] = 1, ['\t'] = 1, ['\n'] = 1, ['\r'] = 1};

static inline cursor skip_space(cursor at) {
    while (SPACE[*at]) at++;
    return at;
}

static inline int is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }

static inline int is_hex(uint8_t byte) { return is_digit(byte) || (uint8_t)((byte | 32) - 'a') < 6; }

/* Whether one of eight bytes is a quote, a backslash or below 0x20. */
static inline uint64_t special(uint64_t word) {
    const uint64_t ones = 0x0101010101010101ULL, highs = 0x8080808080808080ULL;
    uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
    return (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word)) & highs;
}

/* Behind the closing quote of the string that begins at `at`; NULL where it is not sound. */
static cursor skip_string(cursor at, cursor end, int *escaped) {
    at++;
    for (;;) {
        while (end - at >= 8) {
            uint64_t word;
            memcpy(&word, at, 8);
            if (special(word)) break;
            at += 8;
        }
        while (*at >= 0x20 && *at != '"' && *at != '\\') at++;
        if (*at == '"') return at + 1;
        if (*at != '\\') return NULL;
        *escaped = 1;
        at++;
        switch (*at) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
            at++;
            break;
        case 'u':
            for (int digit = 1; digit <= 4; digit++)
                if (!is_hex(at[digit])) return NULL;
            /* halves of surrogate pairs are for the Python reader to judge */
            if ((at[1] | 32) == 'd' && at[2] >= '8') return NULL;
            at += 5;
            break;
        default:
            return NULL;
        }
    }
}

static cursor skip_number(cursor at, int *is_whole) {
    *is_whole = 1;
    if (*at == '-') at++;
    if (*at == '0') at++;
    else if (is_digit(*at)) while (is_digit(*at)) at++;
    else return NULL;
    if (*at == '.') {
        *is_whole = 0;
        if (!is_digit(*++at)) return NULL;
        while (is_digit(*at)) at++;
    }
    if (*at == 'e' || *at == 'E') {
        *is_whole = 0;
        at++;
        if (*at == '+' || *at == '-') at++;
        if (!is_digit(*at)) return NULL;
        while (is_digit(*at)) at++;
    }
    return at;
}

static cursor skip_word(cursor at) {
    /* each comparison stops at the first byte that differs, so never behind the NUL */
    const char *words[] = {"null", "true", "false"};
    for (int index = 0; index < 3; index++) {
        const char *word = words[index];
        cursor here = at;
        while (*word && *here == (uint8_t)*word) here++, word++;
        if (!*word) return here;
    }
    return NULL;
}

/* Behind the value that begins at `at`; NULL where it is no sound JSON or nested too deeply. */
static cursor skip_value(cursor at, cursor end) {
    uint64_t objects = 0; /* one bit a level: object or array */
    int depth = 0, escaped = 0, is_whole;
    for (;;) {
        /* a value begins at `at` */
        switch (*at) {
        case '"':
            at = skip_string(at, end, &escaped);
            break;
        case '{': case '[': {
            int object = *at == '{';
            if (depth == DEEPEST) return NULL;
            depth++;
            objects = objects << 1 | (uint64_t)object;
            at = skip_space(at + 1);
            if (*at == (object ? '}' : ']')) break; /* closed below */
            if (object) goto key;
            continue;
        }
        case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
            at = skip_number(at, &is_whole);
            break;
        default:
            at = skip_word(at);
        }
        if (at == NULL) return NULL;
        /* a value has ended, or an empty container is about to close */
        for (;;) {
            if (depth == 0) return at;
            at = skip_space(at);
            if (*at == ',') {
                at = skip_space(at + 1);
                if (objects & 1) goto key;
                break;
            }
            if (*at != ((objects & 1) ? '}' : ']')) return NULL;
            at++;
            depth--;
            objects >>= 1;
        }
        continue;
    key:
        if (*at != '"' || (at = skip_string(at, end, &escaped)) == NULL) return NULL;
        at = skip_space(at);
        if (*at != ':') return NULL;
        at = skip_space(at + 1);
    }
}

static inline uint64_t mix(uint64_t value) {
    value ^= value >> 32;
    value *= 0xd6e8feb86659fd93ULL;
    value ^= value >> 32;
    return value;
}

static uint64_t hash_of(cursor at, int64_t length) {
    uint64_t hash = (uint64_t)length * 0x9e3779b97f4a7c15ULL;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix(hash ^ word) * 0x9e3779b97f4a7c15ULL;
        at += 8;
        length -= 8;
    }
    uint64_t rest = 0;
    memcpy(&rest, at, (size_t)length);
    return mix(hash ^ rest);
}

/* Number of the byte string, which may be new; TABLE_FULL where there is no room for it. */
static int32_t intern(Interned *known, cursor text, cursor at, int64_t length) {
    uint64_t hash = hash_of(at, length);
    int64_t slot = (int64_t)(hash & (uint64_t)known->mask);
    for (;; slot = (slot + 1) & known->mask) {
        int32_t code = known->slots[slot];
        if (code < 0) break;
        if (known->hash[code] == hash && known->length[code] == length && !memcmp(text + known->offset[code], at, (size_t)length))
            return code;
    }
    if (known->count == known->capacity) return TABLE_FULL;
    int32_t code = (int32_t)known->count++;
    known->slots[slot] = code;
    known->offset[code] = at - text;
    known->length[code] = length;
    known->hash[code] = hash;
    return code;
}

/* Nanoseconds of a decimal number of microseconds without exponent, ties to even; 0 where it is none or too large.
 * `exact` is cleared where digits behind the third one were rounded away. */
static int decimal_ns(cursor at, cursor end, int64_t *result, int *exact) {
    int negative = *at == '-', places = 0;
    int64_t value = 0;
    at += negative;
    for (; at < end && is_digit(*at); at++) {
        if (value > LATEST_US / 10) return 0;
        value = value * 10 + (*at - '0');
    }
    if (value > LATEST_US) return 0;
    if (at < end && *at == '.') {
        at++;
        for (; at < end && is_digit(*at) && places < 3; at++, places++) value = value * 10 + (*at - '0');
    }
    for (; places < 3; places++) value *= 10;
    if (at < end && is_digit(*at)) {
        int first = *at - '0', more = 0;
        for (at++; at < end && is_digit(*at); at++) more |= *at != '0';
        if (first || more) *exact = 0;
        if (first > 5 || (first == 5 && (more || (value & 1)))) value++;
    }
    if (at != end) return 0;
    *result = negative ? -value : value;
    return 1;
}

/* Whole number whose text is what Python would print for it, of at most 18 digits. */
static int whole_number(cursor at, cursor end, int64_t *result) {
    int negative = *at == '-';
    int64_t value = 0;
    if (end - at - negative > 18 || (negative && at[1] == '0')) return 0;
    for (at += negative; at < end; at++) value = value * 10 + (*at - '0');
    *result = negative ? -value : value;
    return 1;
}

/* Reads a string, or a whole number where allowed, as a number of `known`; `after` is set behind it. Negative: why not. */
static int32_t label(Interned *known, cursor text, cursor at, cursor end, int numbers, cursor *after) {
    int escaped = 0, is_whole;
    if (*at == '"') {
        if ((*after = skip_string(at, end, &escaped)) == NULL) return UNSOUND;
        return intern(known, text, at + 1, *after - at - 2);
    }
    if (!numbers) return UNSOUND;
    int64_t value;
    if ((*after = skip_number(at, &is_whole)) == NULL || !is_whole || !whole_number(at, *after, &value)) return UNSOUND;
    return intern(known, text, at, *after - at);
}

#define KEY(length, word) (size == (length) && !memcmp(key, word, length))

/* One event into row `row`; the cursor behind it, or NULL with the reason in `why`. */
static cursor event(cursor text, cursor at, cursor end, const Columns *out, int64_t row, Interned *known, int *why) {
    int escaped = 0, is_whole, exact;
    int32_t code;
    cursor after;
    *why = UNSOUND;
    out->phase[row] = out->category[row] = out->name[row] = out->process[row] = out->thread[row] = ABSENT;
    out->start_ns[row] = out->dur_ns[row] = out->id[row] = 0;
    out->arguments[row] = ABSENT;
    out->arguments_length[row] = 0;
    out->has[row] = 0;
    if (*at != '{') return NULL;
    at = skip_space(at + 1);
    for (;;) {
        if (*at != '"') return NULL;
        cursor key = at + 1;
        if ((at = skip_string(at, end, &escaped)) == NULL || escaped) return NULL;
        int64_t size = at - key - 1;
        at = skip_space(at);
        if (*at != ':') return NULL;
        at = skip_space(at + 1);
        int32_t *labels = NULL;
        int numbers = 0;
        if (KEY(2, "ph")) labels = out->phase;
        else if (KEY(3, "cat")) labels = out->category;
        else if (KEY(4, "name")) labels = out->name;
        else if (KEY(3, "pid")) labels = out->process, numbers = 1;
        else if (KEY(3, "tid")) labels = out->thread, numbers = 1;
        if (labels != NULL) {
            code = label(known, text, at, end, numbers, &after);
            if (code < 0) {
                *why = code;
                return NULL;
            }
            labels[row] = code;
        } else if (KEY(2, "ts")) {
            exact = 1;
            if ((after = skip_number(at, &is_whole)) == NULL || !decimal_ns(at, after, &out->start_ns[row], &exact)) return NULL;
            out->has[row] |= HAS_START;
        } else if (KEY(3, "dur")) {
            exact = 1;
            if ((after = skip_number(at, &is_whole)) == NULL || !decimal_ns(at, after, &out->dur_ns[row], &exact)) return NULL;
            if (!exact || llabs(out->dur_ns[row]) >= LONGEST_US * 1000) return NULL;
            out->has[row] |= HAS_DURATION;
        } else if (KEY(2, "id")) {
            if ((after = skip_number(at, &is_whole)) == NULL || !is_whole || !whole_number(at, after, &out->id[row])) return NULL;
            out->has[row] |= HAS_ID;
        } else {
            if ((after = skip_value(at, end)) == NULL) return NULL;
            if (KEY(4, "args")) {
                out->arguments[row] = at - text;
                out->arguments_length[row] = after - at;
            }
        }
        at = skip_space(after);
        if (*at == '}') break;
        if (*at != ',') return NULL;
        at = skip_space(at + 1);
    }
    return out->phase[row] == ABSENT ? NULL : at + 1;
}

/* The text's events into columns of `capacity` rows; how many there are, or UNSOUND, TABLE_FULL or ROWS_FULL.
 * `closed` is set behind the bracket that closes the list, or to -1 where the text ends first. */
int64_t stepscope_events(
    const uint8_t *text, int64_t size, int64_t capacity, int64_t *closed,
    int32_t *phase, int32_t *category, int32_t *name, int32_t *process, int32_t *thread,
    int64_t *start_ns, int64_t *dur_ns, int64_t *id, int64_t *begin, int64_t *event_length,
    int64_t *arguments, int64_t *arguments_length, uint8_t *has,
    int32_t *slots, int64_t mask, int64_t *offset, int64_t *length, uint64_t *hash, int64_t most, int64_t *distinct
) {
    Columns out = {
        phase, category, name, process, thread, start_ns, dur_ns, id, begin, event_length, arguments, arguments_length, has
    };
    Interned known = {slots, mask, offset, length, hash, most, 0};
    cursor at = text, end = text + size;
    int64_t count = 0;
    int why = UNSOUND;
    *closed = -1;
    while (SPACE[*at] || *at == ',') at++;
    while (at < end) {
        if (count == capacity) return ROWS_FULL;
        begin[count] = at - text;
        if ((at = event(text, at, end, &out, count, &known, &why)) == NULL) return why;
        event_length[count] = at - text - begin[count];
        count++;
        at = skip_space(at);
        if (*at == ']') {
            *closed = at + 1 - text;
            break;
        }
        if (at == end) break;
        if (*at != ',') return UNSOUND;
        at = skip_space(at + 1);
        if (*at == ',') {
            /* several commas may only stand behind the last event */
            while (SPACE[*at] || *at == ',') at++;
            if (at != end) return UNSOUND;
        }
    }
    *distinct = known.count;
    return count;
}

enum { NOTHING_GIVEN = 0, VALUE_GIVEN = 1, NULL_GIVEN = 2 };
enum { WHOLE = 0, FLOATING = 1, TEXT = 2, JSON = 3 };

typedef struct {
    int64_t count;
    const uint8_t *key[MOST_KEYS];
    int64_t length[MOST_KEYS];
    int8_t next[MOST_KEYS];
    int8_t first[BUCKETS];
} Keys;

static inline int bucket(cursor key, int64_t length) {
    return length ? (key[0] * 7 + key[length - 1] * 3 + (int)length) & (BUCKETS - 1) : 0;
}

static int find(const Keys *keys, cursor key, int64_t length) {
    for (int index = keys->first[bucket(key, length)]; index >= 0; index = keys->next[index])
        if (keys->length[index] == length && !memcmp(keys->key[index], key, (size_t)length)) return index;
    return -1;
}

/* One argument's value into `slot`; what it must be by its kind, else not read here. */
static int64_t value(cursor text, cursor at, cursor after, uint8_t kind, Interned *known, int64_t *slot, uint8_t *valid) {
    int is_whole;
    if (kind == JSON) {
        int32_t code = intern(known, text, at, after - at);
        if (code < 0) return code;
        *slot = code;
    } else if (*at == 'n') {
        *valid = NULL_GIVEN;
        return 0;
    } else if (kind == TEXT) {
        if (*at != '"') return UNSOUND;
        int32_t code = intern(known, text, at + 1, after - at - 2);
        if (code < 0) return code;
        *slot = code;
    } else {
        if (*at != '-' && !is_digit(*at)) return UNSOUND;
        skip_number(at, &is_whole);
        if (kind == WHOLE) {
            if (!is_whole || !whole_number(at, after, slot)) return UNSOUND;
        } else {
            /* the number ends within the text, which ends in NUL */
            char *stop;
            double number = strtod((const char *)at, &stop);
            if ((cursor)stop != after || !isfinite(number)) return UNSOUND;
            memcpy(slot, &number, sizeof number);
        }
    }
    *valid = VALUE_GIVEN;
    return 0;
}

/* Arguments of `rows` events, `values[key * rows + row]`; 0, or UNSOUND or TABLE_FULL. */
int64_t stepscope_arguments(
    const uint8_t *text, int64_t size, int64_t rows, const int64_t *begins, const int64_t *lengths,
    int64_t key_count, const uint8_t *key_text, const int64_t *key_lengths, const uint8_t *kinds,
    int64_t *values, uint8_t *valid,
    int32_t *slots, int64_t mask, int64_t *offset, int64_t *length, uint64_t *hash, int64_t most, int64_t *distinct
) {
    Interned known = {slots, mask, offset, length, hash, most, 0};
    Keys keys;
    cursor end = text + size;
    if (key_count > MOST_KEYS) return UNSOUND;
    keys.count = key_count;
    memset(keys.first, -1, sizeof keys.first);
    for (int64_t index = 0; index < key_count; index++) {
        keys.key[index] = key_text;
        keys.length[index] = key_lengths[index];
        int chain = bucket(key_text, key_lengths[index]);
        keys.next[index] = keys.first[chain];
        keys.first[chain] = (int8_t)index;
        key_text += key_lengths[index];
    }
    for (int64_t row = 0; row < rows; row++) {
        if (begins[row] < 0) continue;
        cursor at = text + begins[row], behind = at + lengths[row];
        if (*at == 'n') continue;
        if (*at != '{') return UNSOUND;
        at = skip_space(at + 1);
        while (*at != '}') {
            int escaped = 0;
            cursor key = at + 1;
            if (*at != '"' || (at = skip_string(at, end, &escaped)) == NULL || escaped) return UNSOUND;
            int index = find(&keys, key, at - key - 1);
            at = skip_space(at);
            if (*at != ':') return UNSOUND;
            at = skip_space(at + 1);
            cursor after = skip_value(at, end);
            if (after == NULL || after >= behind) return UNSOUND;
            if (index >= 0) {
                int64_t cell = index * rows + row;
                int64_t failed = value(text, at, after, kinds[index], &known, values + cell, valid + cell);
                if (failed) return failed;
            }
            at = skip_space(after);
            if (*at == ',') at = skip_space(at + 1);
            else if (*at != '}') return UNSOUND;
        }
    }
    *distinct = known.count;
    return 0;
}
