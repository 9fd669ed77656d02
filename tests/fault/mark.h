/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/syscall.h>

/* Made once when main() begins, by mark.c, and by nobody else: what comes before is the loader's. */
#define MARK_CALL SYS_getppid
