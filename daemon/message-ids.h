/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The MESSAGE_ID of each journal record; systemd/roced.catalog explains each. An ID is never used for anything else again. */

#include <systemd/sd-id128.h>

/* a value was written and read back */
#define MESSAGE_CHANGED_ID SD_ID128_MAKE(0c,a9,eb,41,55,63,47,1f,90,c2,2a,43,84,a3,4c,ba)

/* a value could not be written, read or verified */
#define MESSAGE_FAILED_ID SD_ID128_MAKE(b0,99,e3,75,08,84,41,ab,95,72,0f,86,76,77,a3,53)

/* a value differs and is left so: report only, or backing off */
#define MESSAGE_DRIFTED_ID SD_ID128_MAKE(df,bf,b6,e0,5b,a4,44,17,87,a7,fa,20,1b,8e,f2,b4)

/* the port or the kernel cannot do what is wanted */
#define MESSAGE_UNSUPPORTED_ID SD_ID128_MAKE(2d,c6,25,cc,46,ff,46,4b,93,c1,17,c3,da,65,32,4e)

/* a port cannot be judged or written yet */
#define MESSAGE_PENDING_ID SD_ID128_MAKE(33,b5,93,6d,73,96,47,39,bd,6e,33,05,94,dc,93,5f)

/* a port's attribute is right again without a write */
#define MESSAGE_COMPLIANT_ID SD_ID128_MAKE(4e,bc,6e,0b,2a,7f,4e,df,8b,33,cb,7a,48,59,e3,0a)

/* a device has gone, its directory is removed */
#define MESSAGE_DEVICE_GONE_ID SD_ID128_MAKE(8a,1e,39,fb,86,70,48,1f,a0,d7,0b,fc,9b,ae,57,4b)

/* a device as a whole cannot be read or tidied up */
#define MESSAGE_DEVICE_FAILED_ID SD_ID128_MAKE(5c,92,ed,cd,60,03,44,01,8b,23,a2,2b,d9,df,99,cc)

/* a device bears a name that no path can hold */
#define MESSAGE_DEVICE_NAME_ID SD_ID128_MAKE(56,f1,73,d0,6b,8d,4d,40,b6,6d,51,f5,1d,6d,ea,62)

/* a kernel access has not returned */
#define MESSAGE_BLOCKED_ID SD_ID128_MAKE(8b,d1,06,cf,b0,04,44,08,8a,eb,34,1b,d7,8c,00,6e)

/* it has returned */
#define MESSAGE_UNBLOCKED_ID SD_ID128_MAKE(f1,bd,61,72,d3,f6,4e,10,b9,aa,b0,fc,06,af,d7,10)

/* the first whole pass is done */
#define MESSAGE_STARTED_ID SD_ID128_MAKE(6a,b1,a3,9a,77,61,4a,ca,ae,17,47,40,db,70,2a,2b)

/* the daemon ends */
#define MESSAGE_STOPPED_ID SD_ID128_MAKE(b6,2e,5e,68,b0,d0,40,4c,8d,aa,4e,63,99,f6,9e,69)

/* the daemon cannot go on */
#define MESSAGE_FATAL_ID SD_ID128_MAKE(09,d6,66,64,7c,e7,42,8c,84,12,c4,6a,e2,46,5e,db)

/* a policy is in force */
#define MESSAGE_POLICY_LOADED_ID SD_ID128_MAKE(b6,90,b5,4e,4f,93,4c,fb,b5,c4,eb,ae,78,d6,b3,2f)

/* a policy was refused */
#define MESSAGE_POLICY_INVALID_ID SD_ID128_MAKE(34,04,21,d0,a1,b1,41,da,95,1e,21,d8,46,f2,93,13)

/* a policy loads, and something in it looks wrong */
#define MESSAGE_POLICY_WARNING_ID SD_ID128_MAKE(93,6b,28,aa,80,72,49,7b,95,21,d1,59,98,66,d7,c2)

/* there is no policy */
#define MESSAGE_POLICY_NONE_ID SD_ID128_MAKE(d8,e8,4f,e6,8e,67,48,e1,84,7c,5c,b1,f4,49,11,37)

/* events were lost, everything is looked at anew */
#define MESSAGE_EVENTS_LOST_ID SD_ID128_MAKE(b8,fe,f5,fc,a4,f5,43,05,8e,46,d8,86,13,66,00,15)

/* drift cannot be watched for, the resync comes more often */
#define MESSAGE_WATCH_FAILED_ID SD_ID128_MAKE(39,e7,21,91,88,ca,47,28,92,f2,9d,4a,b3,9f,58,42)

/* directories could not be removed at stop */
#define MESSAGE_DIRECTORIES_LEFT_ID SD_ID128_MAKE(9c,b7,fb,8a,ae,8c,42,c8,b1,78,4d,e6,70,ef,88,b1)

/* something that roced listens to is not there */
#define MESSAGE_UNAVAILABLE_ID SD_ID128_MAKE(d2,55,81,04,b7,4f,44,b0,84,69,46,5c,fb,3a,33,45)

/* a burst of writes is over */
#define MESSAGE_MANY_CHANGES_ID SD_ID128_MAKE(56,02,5a,a4,ab,dd,4e,50,8c,e1,e0,23,95,0e,91,7c)
