/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "base.h"
#include "rocectl-dcb.h"

#define TRUST_TABLE 11

static struct nl_msg *answer_new(int type) {
        struct dcbmsg head = { .cmd = DCB_CMD_IEEE_GET };
        struct nl_msg *message = nlmsg_alloc_simple(type, 0);

        assert_non_null(message);
        assert_int_equal(nlmsg_append(message, &head, sizeof(head), NLMSG_ALIGNTO), 0);
        assert_int_equal(nla_put_string(message, DCB_ATTR_IFNAME, "n0"), 0);
        return message;
}

static int answer_parse(struct nl_msg *message, Dcb *ret) {
        struct nlmsghdr *header = nlmsg_hdr(message);
        int r = dcb_parse(header, header->nlmsg_len, ret);

        nlmsg_free(message);
        return r;
}

static void put_application(struct nl_msg *message, int selector, int protocol, int priority) {
        struct dcb_app application = { .selector = (uint8_t) selector,
                                       .protocol = (uint16_t) protocol,
                                       .priority = (uint8_t) priority };

        assert_int_equal(nla_put(message, DCB_ATTR_IEEE_APP, sizeof(application), &application), 0);
}

static void test_nothing(void **state) {
        Dcb dcb;

        assert_int_equal(answer_parse(answer_new(RTM_GETDCB), &dcb), 0);
        assert_false(dcb.has_pfc || dcb.has_trust);
        assert_int_equal(dcb.priority[26], PRIORITY_NONE);
        assert_int_equal(dcb.priority[DSCP_MAX], PRIORITY_NONE);
}

static void test_all(void **state) {
        struct nl_msg *message = answer_new(RTM_GETDCB);
        struct nlattr *ieee = nla_nest_start(message, DCB_ATTR_IEEE), *table;
        struct ieee_pfc pfc = { .pfc_cap = 8, .pfc_en = 1 << 3 };
        Dcb dcb;

        assert_int_equal(nla_put(message, DCB_ATTR_IEEE_PFC, sizeof(pfc), &pfc), 0);
        table = nla_nest_start(message, DCB_ATTR_IEEE_APP_TABLE);
        put_application(message, IEEE_8021QAZ_APP_SEL_DSCP, 26, 3);
        put_application(message, IEEE_8021QAZ_APP_SEL_DSCP, 26, 1);
        put_application(message, IEEE_8021QAZ_APP_SEL_DSCP, 63, 0);
        put_application(message, IEEE_8021QAZ_APP_SEL_ETHERTYPE, 24, 5);
        put_application(message, IEEE_8021QAZ_APP_SEL_DSCP, 64, 5);
        put_application(message, IEEE_8021QAZ_APP_SEL_DSCP, 26, 8);
        put_application(message, IEEE_8021QAZ_APP_SEL_DSCP, 46, 255);
        assert_int_equal(nla_put_u8(message, DCB_ATTR_IEEE_APP, 1), 0);
        nla_nest_end(message, table);
        table = nla_nest_start(message, TRUST_TABLE);
        assert_int_equal(nla_put_u8(message, 1, IEEE_8021QAZ_APP_SEL_ETHERTYPE), 0);
        assert_int_equal(nla_put_u8(message, 1, IEEE_8021QAZ_APP_SEL_DSCP), 0);
        nla_nest_end(message, table);
        nla_nest_end(message, ieee);

        assert_int_equal(answer_parse(message, &dcb), 0);
        assert_true(dcb.has_pfc && dcb.has_trust && dcb.trusts_dscp);
        assert_int_equal(dcb.pfc, 1 << 3);
        assert_int_equal(dcb.priority[26], 3);
        assert_int_equal(dcb.priority[63], 0);
        assert_int_equal(dcb.priority[24], PRIORITY_NONE);
        assert_int_equal(dcb.priority[46], PRIORITY_NONE);
}

static void test_trust_of_other_things(void **state) {
        struct nl_msg *message = answer_new(RTM_GETDCB);
        struct nlattr *ieee = nla_nest_start(message, DCB_ATTR_IEEE),
                      *table = nla_nest_start(message, TRUST_TABLE);
        unsigned char short_pfc = 8;
        Dcb dcb;

        assert_int_equal(nla_put_u8(message, 1, IEEE_8021QAZ_APP_SEL_ETHERTYPE), 0);
        nla_nest_end(message, table);
        assert_int_equal(nla_put(message, DCB_ATTR_IEEE_PFC, 1, &short_pfc), 0);
        nla_nest_end(message, ieee);
        assert_int_equal(answer_parse(message, &dcb), 0);
        assert_true(dcb.has_trust);
        assert_false(dcb.trusts_dscp || dcb.has_pfc);
}

static void test_refused(void **state) {
        struct nlmsgerr refusal = { .error = -EOPNOTSUPP };
        struct nl_msg *message = nlmsg_alloc_simple(NLMSG_ERROR, 0);
        Dcb dcb;

        assert_int_equal(nlmsg_append(message, &refusal, sizeof(refusal), NLMSG_ALIGNTO), 0);
        assert_int_equal(answer_parse(message, &dcb), -EOPNOTSUPP);
        assert_int_equal(answer_parse(answer_new(RTM_NEWLINK), &dcb), -EBADMSG);
        assert_int_equal(answer_parse(nlmsg_alloc_simple(NLMSG_ERROR, 0), &dcb), -EBADMSG);
        assert_int_equal(answer_parse(nlmsg_alloc_simple(RTM_GETDCB, 0), &dcb), -EBADMSG);
}

/* Cut anywhere it is refused or gives what is there, and nothing beyond its end is read: each copy is as
 * large as it says. */
static void test_truncated(void **state) {
        struct nl_msg *message = answer_new(RTM_GETDCB);
        struct nlattr *ieee = nla_nest_start(message, DCB_ATTR_IEEE),
                      *table = nla_nest_start(message, DCB_ATTR_IEEE_APP_TABLE);
        struct nlmsghdr *header;

        put_application(message, IEEE_8021QAZ_APP_SEL_DSCP, 26, 3);
        nla_nest_end(message, table);
        nla_nest_end(message, ieee);
        header = nlmsg_hdr(message);
        for (uint32_t size = 0; size < header->nlmsg_len; size++) {
                _cleanup_free_ char *copy = malloc(MAX_OF(size, 1U));
                Dcb dcb = {};

                memcpy(copy, header, size);
                assert_int_equal(dcb_parse(copy, size, &dcb), -EBADMSG);
                if (size < sizeof(*header))
                        continue;
                ((struct nlmsghdr *) (void *) copy)->nlmsg_len = size;
                (void) dcb_parse(copy, size, &dcb);
        }
        nlmsg_free(message);
}

static void test_judge(void **state) {
        Dcb dcb = { .has_pfc = true, .pfc = 1 << 3, .has_trust = true, .trusts_dscp = true };

        for (size_t i = 0; i <= DSCP_MAX; i++)
                dcb.priority[i] = PRIORITY_NONE;
        dcb.priority[26] = 3;
        dcb.priority[DSCP_MAX] = 2;
        dcb.priority[8] = 0;
        assert_int_equal(dcb_judge(&dcb, 26), 0);
        assert_int_equal(dcb_judge(&dcb, DSCP_MAX), DCB_NO_FLOW_CONTROL);
        assert_int_equal(dcb_judge(&dcb, 8), DCB_NO_FLOW_CONTROL);
        assert_int_equal(dcb_judge(&dcb, 27), DCB_NO_PRIORITY);
        dcb.trusts_dscp = false;
        assert_int_equal(dcb_judge(&dcb, 27), DCB_TRUSTS_NO_DSCP | DCB_NO_PRIORITY);
        assert_int_equal(dcb_judge(&dcb, 26), DCB_TRUSTS_NO_DSCP);
        /* What the kernel does not tell is not held against it. */
        dcb.has_trust = dcb.has_pfc = false;
        assert_int_equal(dcb_judge(&dcb, DSCP_MAX), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_judge),   cmocka_unit_test(test_nothing),
                cmocka_unit_test(test_all),     cmocka_unit_test(test_trust_of_other_things),
                cmocka_unit_test(test_refused), cmocka_unit_test(test_truncated),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
