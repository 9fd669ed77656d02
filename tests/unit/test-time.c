/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Times as people write them. */

#include "rocectl-time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#include "base.h"

#define SEC USEC_PER_SEC
#define HOUR (3600 * SEC)
#define DAY (24 * HOUR)

/* 2026-01-31 12:34:56.5 UTC */
#define NOW (1769862896 * SEC + 500000)
#define TODAY (1769817600 * SEC)

static void assert_time(const char *text, uint64_t expected) {
        uint64_t usec = 1;

        if (time_parse(text, NOW, &usec) < 0)
                fail_msg("'%s' is not taken", text);
        if (usec != expected)
                fail_msg("'%s' is %llu, not %llu", text, (unsigned long long) usec, (unsigned long long) expected);
}

static void set_zone(const char *zone) {
        setenv("TZ", zone, 1);
        tzset();
}

static void test_words(void **state) {
        set_zone("UTC");
        assert_time("now", NOW);
        assert_time("today", TODAY);
        assert_time("yesterday", TODAY - DAY);
        assert_time("@1769817600", TODAY);
        assert_time("@0", 0);
        assert_time("@1.25", SEC + 250000);
}

static void test_calendar(void **state) {
        set_zone("UTC");
        assert_time("2026-01-31", TODAY);
        assert_time("2026-1-5", TODAY - 26 * DAY);
        assert_time("2026-01-30 13:05", TODAY - DAY + 13 * HOUR + 300 * SEC);
        assert_time("2026-01-31 00:00:07", TODAY + 7 * SEC);
        assert_time("2026-01-31T00:00:07.123Z", TODAY + 7 * SEC + 123000);
        assert_time("2026-01-31 01:00:00.0000019 UTC", TODAY + HOUR + 1);
        assert_time("01:02", TODAY + HOUR + 120 * SEC);
        assert_time("23:59:59.999999", TODAY + DAY - 1);
        assert_time("2024-02-29", 1709164800 * SEC);
        assert_time("2026-01-31 UTC", TODAY);
}

static void test_zone(void **state) {
        set_zone("XYZ-5"); /* five hours ahead */
        assert_time("today", TODAY - 5 * HOUR);
        assert_time("yesterday", TODAY - 29 * HOUR);
        assert_time("2026-01-31", TODAY - 5 * HOUR);
        assert_time("2026-01-31Z", TODAY);
        assert_time("17:34", TODAY + 12 * HOUR + 34 * 60 * SEC);

        /* The day on which the clock goes forward has 23 hours, and 02:30 is none of its times; its midnight is. */
        set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
        assert_time("2026-03-29", 1774738800 * SEC);
        assert_time("2026-03-30", (1774738800 + 23 * 3600) * SEC);
        set_zone("UTC");
}

static void test_ago(void **state) {
        assert_time("-1h", NOW - HOUR);
        assert_time("-1h 30min", NOW - HOUR - HOUR / 2);
        assert_time("-1h30m", NOW - HOUR - HOUR / 2);
        assert_time("1 hour ago", NOW - HOUR);
        assert_time("2 days 3 hours ago", NOW - 2 * DAY - 3 * HOUR);
        assert_time("90s ago", NOW - 90 * SEC);
        assert_time("-2w", NOW - 14 * DAY);
        assert_time("-0s", NOW);
}

static void test_what_is_no_time(void **state) {
        static const char *const texts[] = {
                "",
                " ",
                "noon",
                "Today",
                "tomorrow",
                "-",
                "-1",
                "-1x",
                "-1h ",
                "-1h ago",
                "1h",
                "1 hour",
                "ago",
                "+1h",
                "--1h",
                "1hago2",
                "- 1h",
                "-1  h",
                "-999999999w",
                "-30500569w", /* 2^64 us and 16 hours */
                "-1s 30500569w",
                "-9999999999s",
                "2026",
                "2026-01",
                "2026-13-01",
                "2026-00-01",
                "2026-02-30",
                "2026-01-32",
                "2026-01-00",
                "1969-12-31",
                "02026-01-01",
                "2026-01-31 ",
                "2026-01-31 24:00",
                "2026-01-31 12:60",
                "2026-01-31 12:00:60",
                "2026-01-31 12",
                "2026-01-31 12:",
                "2026-01-31T",
                "2026-01-31 12:00:",
                "2026-01-31 12:00:00.",
                "2026-01-31 12:00x",
                "2026-01-31 12:00 PST",
                "2026-01-31  12:00",
                "12",
                "12:",
                "12:00Z",
                "123:00",
                "@",
                "@-1",
                "@1x",
                "@1.",
                "@9999999999999",
                "\xff",
        };

        set_zone("UTC");
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                uint64_t usec = 4791;

                if (time_parse(texts[i], NOW, &usec) != -EINVAL)
                        fail_msg("'%s' is taken for %llu", texts[i], (unsigned long long) usec);
                assert_int_equal(usec, 4791);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words), cmocka_unit_test(test_calendar),        cmocka_unit_test(test_zone),
                cmocka_unit_test(test_ago),   cmocka_unit_test(test_what_is_no_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
