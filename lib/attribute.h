/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The two per-port attributes that RDMA_CM keeps in configfs, and their three spellings: the kernel's text,
 * the number used in here, and the text that people read and write. Pure: no input or output.
 *
 * Kernel side: drivers/infiniband/core/cma_configfs.c (default_roce_mode since 4.5, default_roce_tos since 4.11)
 * and ib_cache_gid_parse_type_str() in drivers/infiniband/core/cache.c, which takes exactly the two mode strings
 * below with at most one newline after. */

#include <stddef.h>

typedef enum Attribute {
        ATTRIBUTE_MODE, /* value: a RoceMode */
        ATTRIBUTE_TOS,  /* value: the IP type-of-service byte, DSCP << 2 | ECN, 0 to 255 */
        _ATTRIBUTE_MAX,
} Attribute;

typedef enum RoceMode {
        ROCE_V1 = 1,
        ROCE_V2 = 2,
} RoceMode;

/* Where a value may be absent ("leave alone", "not known") it is this, never 0. */
#define VALUE_NONE (-1)

/* Longest value text with its newline and NUL. */
#define ATTRIBUTE_TEXT_MAX 32

/* "mode", "tos": the name in journal fields, JSON and policy. */
const char *attribute_name(Attribute attribute);

/* The file name below ports/<n>/. */
const char *attribute_file(Attribute attribute);

/* Kernel text of a value, without newline; written into "buffer" and returned. The value must be in range. */
const char *attribute_format_kernel(Attribute attribute, int value, char buffer[static ATTRIBUTE_TEXT_MAX]);

/* Text read from the kernel, of "size" bytes, one newline at the end allowed. -EBADMSG: not a value of this attribute
 * (a port that has vanished reads garbage such as "234" as mode or an empty text). */
int attribute_parse_kernel(Attribute attribute, const char *text, size_t size, int *ret_value);

/* Text for people: "v1", "v2", or the TOS in decimal; "-" for VALUE_NONE. */
const char *attribute_format(Attribute attribute, int value, char buffer[static ATTRIBUTE_TEXT_MAX]);
