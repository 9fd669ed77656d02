/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Closes the window between a device's appearance and its policy being in force: udevd announces a device after the programs of its rules
 * have run, and one of them (settle-helper.c, from 90-roced.rules) asks here over a socket, and waits until the device has been judged.
 *
 * The request is one SOCK_SEQPACKET message: a line with the action of udev's event, then a line "NAME INSTANCE" for each device, where
 * the instance is the inode of its sysfs directory; or SETTLE_ALL. The answer is that the connection is closed. */

#define SETTLE_PATH "/run/roced/settle"
#define SETTLE_ALL "*\n"

/* As long as udevd may be held up. */
#define SETTLE_TIMEOUT_MSEC 500

#define SETTLE_LINE_MAX 96 /* a name, a blank, 20 digits, newline, NUL */
#define SETTLE_MESSAGE_MAX 6144 /* 64 lines */

typedef struct Service Service;

/* Without the socket the window stays open, and that is said. */
void settle_open(Service *service);

/* Lets those go whose devices have been judged. */
void settle_answer(Service *service);

void settle_close(Service *service);
