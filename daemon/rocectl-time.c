/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads times from left to right; what is left over at the end is an error. */

#include "rocectl-time.h"

#include <ctype.h>
#include <time.h>

#include "base.h"

#define YEAR_MIN 1970
#define YEAR_MAX 9999

/* A number of so many digits at most; moves on behind it. */
static bool take_number(const char **p, unsigned digits_max, uint64_t *ret) {
        uint64_t value = 0;
        unsigned n = 0;

        for (; n < digits_max && isdigit((unsigned char) **p); n++)
                value = value * 10 + (uint64_t) (*(*p)++ - '0');
        if (n == 0 || isdigit((unsigned char) **p))
                return false;
        *ret = value;
        return true;
}

static bool take(const char **p, char c) {
        if (**p != c)
                return false;
        (*p)++;
        return true;
}

/* ".25" is 250000; nothing is 0. Digits beyond the sixth count for nothing. */
static bool take_fraction(const char **p, uint64_t *ret_usec) {
        uint64_t usec = 0, scale = USEC_PER_SEC / 10;

        if (take(p, '.')) {
                if (!isdigit((unsigned char) **p))
                        return false;
                for (; isdigit((unsigned char) **p); scale /= 10)
                        usec += scale * (uint64_t) (*(*p)++ - '0');
        }
        *ret_usec = usec;
        return true;
}

/* "13:00", "13:00:59", "13:00:59.5" */
static bool take_clock(const char **p, struct tm *tm, uint64_t *ret_usec) {
        uint64_t hour, minute, second = 0;

        if (!take_number(p, 2, &hour) || !take(p, ':') || !take_number(p, 2, &minute))
                return false;
        *ret_usec = 0;
        if (take(p, ':') && (!take_number(p, 2, &second) || !take_fraction(p, ret_usec)))
                return false;
        if (hour > 23 || minute > 59 || second > 59)
                return false;
        tm->tm_hour = (int) hour;
        tm->tm_min = (int) minute;
        tm->tm_sec = (int) second;
        return true;
}

static bool take_date(const char **p, struct tm *tm) {
        uint64_t year, month, day;

        if (!take_number(p, 4, &year) || !take(p, '-') || !take_number(p, 2, &month) || !take(p, '-') ||
            !take_number(p, 2, &day) || year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 || day < 1 ||
            day > 31)
                return false;
        tm->tm_year = (int) year - 1900;
        tm->tm_mon = (int) month - 1;
        tm->tm_mday = (int) day;
        return true;
}

/* Local unless "utc". A day that does not exist comes back as another one. */
static int tm_to_usec(const struct tm *tm, bool utc, uint64_t *ret_usec) {
        struct tm normal = *tm;
        time_t seconds;

        normal.tm_isdst = -1;
        seconds = utc ? timegm(&normal) : mktime(&normal);
        if (seconds < 0 || normal.tm_mday != tm->tm_mday || normal.tm_mon != tm->tm_mon)
                return -EINVAL;
        *ret_usec = (uint64_t) seconds * USEC_PER_SEC;
        return 0;
}

static struct tm tm_of_day(uint64_t now_usec) {
        time_t seconds = (time_t) (now_usec / USEC_PER_SEC);
        struct tm tm = {};

        (void) localtime_r(&seconds, &tm);
        tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
        return tm;
}

static int day_parse(uint64_t now_usec, int days, uint64_t *ret_usec) {
        struct tm tm = tm_of_day(now_usec);
        time_t seconds;

        tm.tm_mday += days;
        tm.tm_isdst = -1;
        seconds = mktime(&tm);
        if (seconds < 0)
                return -EINVAL;
        *ret_usec = (uint64_t) seconds * USEC_PER_SEC;
        return 0;
}

/* "2026-01-31 13:00:59", "2026-01-31T13:00:59.5Z", "13:00" */
static int calendar_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec) {
        struct tm tm = tm_of_day(now_usec);
        uint64_t fraction_usec = 0, usec;
        const char *p = text;
        bool utc;
        int r;

        if (take_date(&p, &tm)) {
                tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
                if ((*p == ' ' && isdigit((unsigned char) p[1])) || *p == 'T') {
                        p++;
                        if (!take_clock(&p, &tm, &fraction_usec))
                                return -EINVAL;
                }
                utc = streq(p, "Z") || streq(p, " UTC");
                if (*p && !utc)
                        return -EINVAL;
        } else {
                p = text;
                utc = false;
                if (!take_clock(&p, &tm, &fraction_usec) || *p)
                        return -EINVAL;
        }

        r = tm_to_usec(&tm, utc, &usec);
        if (r < 0)
                return r;
        *ret_usec = usec + fraction_usec;
        return 0;
}

static bool take_unit(const char **p, uint64_t *ret_usec) {
        static const struct {
                const char *names[5];
                uint64_t seconds;
        } units[] = {
                { { "s", "sec", "second", "seconds" }, 1 },  { { "m", "min", "minute", "minutes" }, 60 },
                { { "h", "hr", "hour", "hours" }, 3600 },    { { "d", "day", "days" }, 86400 },
                { { "w", "week", "weeks" }, 604800 },
        };
        size_t length = 0;

        while (isalpha((unsigned char) (*p)[length]))
                length++;
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                for (const char *const *name = units[i].names; *name; name++)
                        if (strlen(*name) == length && strncmp(*name, *p, length) == 0) {
                                *p += length;
                                *ret_usec = units[i].seconds * USEC_PER_SEC;
                                return true;
                        }
        return false;
}

/* "-1h 30min", "2 days ago" */
static int ago_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec) {
        bool minus = text[0] == '-';
        const char *p = text + minus;
        uint64_t number, unit_usec, sum_usec = 0;

        for (;;) {
                if (!take_number(&p, 9, &number))
                        return -EINVAL;
                (void) take(&p, ' ');
                if (!take_unit(&p, &unit_usec))
                        return -EINVAL;
                /* Not before 1970; nor does the product run over. */
                if (number > (now_usec - sum_usec) / unit_usec)
                        return -EINVAL;
                sum_usec += number * unit_usec;
                if (!*p && minus)
                        break;
                (void) take(&p, ' ');
                if (streq(p, "ago") && !minus)
                        break;
        }
        *ret_usec = now_usec - sum_usec;
        return 0;
}

static int epoch_parse(const char *text, uint64_t *ret_usec) {
        const char *p = text;
        uint64_t seconds, usec;

        if (!take_number(&p, 12, &seconds) || !take_fraction(&p, &usec) || *p)
                return -EINVAL;
        *ret_usec = seconds * USEC_PER_SEC + usec;
        return 0;
}

int time_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec) {
        if (streq(text, "now")) {
                *ret_usec = now_usec;
                return 0;
        }
        if (streq(text, "today"))
                return day_parse(now_usec, 0, ret_usec);
        if (streq(text, "yesterday"))
                return day_parse(now_usec, -1, ret_usec);
        if (text[0] == '@')
                return epoch_parse(text + 1, ret_usec);
        if (ago_parse(text, now_usec, ret_usec) >= 0)
                return 0;
        return calendar_parse(text, now_usec, ret_usec);
}
