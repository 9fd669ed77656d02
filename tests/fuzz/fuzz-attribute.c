/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Short texts: values from the kernel, names of devices, states, points in time, and the answers of the kernel's DCB
 * interface. What is taken is what is written back. */

#include "attribute.h"
#include "device.h"
#include "fuzz.h"
#include "plan.h"
#include "rocectl-dcb.h"
#include "rocectl-time.h"

static void check_value(Attribute attribute, const char *text, size_t size) {
        char kernel[ATTRIBUTE_TEXT_MAX], shown[ATTRIBUTE_TEXT_MAX];
        int value = VALUE_NONE, again = VALUE_NONE, r;
        size_t length;

        r = attribute_parse_kernel(attribute, text, size, &value);
        CHECK(r == 0 || r == -EBADMSG);
        if (r < 0) {
                CHECK(value == VALUE_NONE);
                return;
        }
        CHECK(attribute == ATTRIBUTE_MODE ? value == ROCE_V1 || value == ROCE_V2 : value >= 0 && value <= 255);
        CHECK(attribute_format(attribute, value, shown)[0]);

        /* The kernel has one spelling of a mode, but for the newline; of a number we also take leading zeros. */
        length = strlen(attribute_format_kernel(attribute, value, kernel));
        CHECK(attribute_parse_kernel(attribute, kernel, length, &again) == 0 && again == value);
        if (attribute == ATTRIBUTE_MODE)
                CHECK(size - length <= 1 && memcmp(text, kernel, length) == 0);
}

static void check_name(const char *name) {
        size_t length = strlen(name);
        bool valid = length > 0 && length <= DEVICE_NAME_LENGTH_MAX && !strchr(name, '/') && !streq(name, ".") &&
                     !streq(name, "..");

        for (const char *c = name; *c; c++)
                valid = valid && (unsigned char) *c >= 0x20 && *c != 0x7f;
        CHECK(device_name_is_valid(name) == valid);
}

static void check_state(const char *text) {
        int state = state_from_string(text);

        CHECK(state == -EINVAL || (state >= 0 && state < _STATE_MAX));
        if (state >= 0)
                CHECK(streq(state_to_string((State) state), text));
}

/* 2026-01-31 13:00:59 UTC. */
#define NOW_USEC (1769864459ULL * USEC_PER_SEC)

static void check_time(const char *text) {
        uint64_t usec = 4791, again;
        char seconds[32];
        int r;

        r = time_parse(text, NOW_USEC, &usec);
        CHECK(r == 0 || r == -EINVAL);
        if (r < 0) {
                CHECK(usec == 4791);
                return;
        }
        CHECK(time_parse(text, NOW_USEC, &again) == 0 && again == usec);
        snprintf(seconds, sizeof(seconds), "@%llu", (unsigned long long) (usec / USEC_PER_SEC));
        CHECK(time_parse(seconds, NOW_USEC, &again) == 0 && again == usec - usec % USEC_PER_SEC);
}

static void check_dcb(const char *bytes, size_t size) {
        Dcb dcb = {};
        int r = dcb_parse(bytes, size, &dcb);

        CHECK(r <= 0);
        if (r < 0)
                return;
        for (unsigned i = 0; i <= DSCP_MAX; i++) {
                CHECK(dcb.priority[i] >= PRIORITY_NONE && dcb.priority[i] < 8);
                CHECK((dcb_judge(&dcb, i) & ~(DCB_TRUSTS_NO_DSCP | DCB_NO_PRIORITY | DCB_NO_FLOW_CONTROL)) == 0);
        }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        CHECK(setenv("TZ", "Europe/Berlin", 1) == 0);
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(input_done) Input input = input_begin(data, size);

        for (Attribute attribute = 0; attribute < _ATTRIBUTE_MAX; attribute++)
                check_value(attribute, input.bytes, size);
        check_name(input.bytes);
        check_state(input.bytes);
        check_time(input.bytes);
        check_dcb(input.bytes, size);
        return 0;
}
