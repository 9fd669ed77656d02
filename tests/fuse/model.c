/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* See model.h. The answers follow drivers/infiniband/core/cma_configfs.c and lib/kstrtox.c. */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static const char *const attribute_names[_ATTRIBUTE_MAX] = {
        [ATTRIBUTE_MODE] = "default_roce_mode",
        [ATTRIBUTE_TOS]  = "default_roce_tos",
};

const char *attribute_name(Attribute a) {
        return attribute_names[a];
}

int attribute_from_name(const char *name) {
        for (int a = 0; a < _ATTRIBUTE_MAX; a++)
                if (strcmp(attribute_names[a], name) == 0)
                        return a;

        return -ENOENT;
}

Device *model_find(Model *m, const char *name) {
        for (Device *d = m->devices; d; d = d->next)
                if (strcmp(d->name, name) == 0)
                        return d;

        return NULL;
}

static void device_reset(Device *d, bool prefer_v1) {
        for (unsigned p = 1; p <= d->n_ports; p++) {
                unsigned c = d->capabilities[p];
                bool v1 = prefer_v1 ? c & CAPABILITY_V1 : !(c & CAPABILITY_V2);

                d->mode[p] = v1 ? CAPABILITY_V1 : CAPABILITY_V2;
                d->tos[p] = 0;
        }
}

static int capabilities_from_name(const char *name) {
        static const struct {
                const char *name;
                int capabilities;
        } table[] = {
                { "v1",    CAPABILITY_V1                 },
                { "v2",    CAPABILITY_V2                 },
                { "v1v2",  CAPABILITY_V1 | CAPABILITY_V2 },
                { "ib",    CAPABILITY_V1                 },
                { "iwarp", CAPABILITY_V1                 },
                { "raw",   CAPABILITY_V1                 },
        };

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
                if (strcmp(table[i].name, name) == 0)
                        return table[i].capabilities;

        return -EINVAL;
}

int model_add(Model *m, const char *name, char *ports) {
        Device *d, **last;
        char *word, *state;
        bool no_cm = false;

        if (strlen(name) > MODEL_NAME_MAX)
                return -ENAMETOOLONG;
        if (model_find(m, name))
                return -EEXIST;

        d = calloc(1, sizeof(*d));
        if (!d)
                return -ENOMEM;
        strcpy(d->name, name);

        for (word = strtok_r(ports, ",", &state); word; word = strtok_r(NULL, ",", &state)) {
                int c;

                if (strcmp(word, "nocm") == 0) {
                        no_cm = true;
                        continue;
                }

                c = capabilities_from_name(word);
                if (c < 0 || d->n_ports >= MODEL_PORTS_MAX) {
                        free(d);
                        return -EINVAL;
                }
                d->capabilities[++d->n_ports] = c;
        }

        d->no_cm = no_cm;
        device_reset(d, m->prefer_v1);

        for (last = &m->devices; *last; last = &(*last)->next)
                ;
        *last = d;

        return 0;
}

int model_remove(Model *m, const char *name) {
        for (Device **p = &m->devices; *p; p = &(*p)->next)
                if (strcmp((*p)->name, name) == 0) {
                        Device *d = *p;

                        *p = d->next;
                        free(d);
                        return 0;
                }

        return -ENODEV;
}

int model_rename(Model *m, const char *from, const char *to) {
        Device *d = model_find(m, from);

        if (!d)
                return -ENODEV;
        if (strlen(to) > MODEL_NAME_MAX)
                return -ENAMETOOLONG;
        if (model_find(m, to))
                return -EEXIST;

        strcpy(d->name, to);
        return 0;
}

void model_reset(Model *m) {
        for (Device *d = m->devices; d; d = d->next)
                device_reset(d, m->prefer_v1);
}

int device_show(const Device *d, unsigned port, Attribute a, char *ret, size_t size) {
        if (port < 1 || port > d->n_ports) {
                /* A port that the device no longer has: the kernel does not check the number for the TOS. */
                if (a == ATTRIBUTE_MODE)
                        return -EINVAL;
                return snprintf(ret, size, "234\n");
        }

        if (a == ATTRIBUTE_MODE)
                return snprintf(ret, size, "%s\n",
                                d->mode[port] == CAPABILITY_V1 ? "IB/RoCE v1" : "RoCE v2");

        return snprintf(ret, size, "%u\n", d->tos[port]);
}

static unsigned digit_value(char c) {
        if (isdigit((unsigned char) c))
                return c - '0';
        if (isxdigit((unsigned char) c))
                return tolower((unsigned char) c) - 'a' + 10;
        return 99;
}

static int tos_parse(const char *s, unsigned *ret) {
        unsigned long long value = 0;
        bool overflow = false;
        unsigned base = 10, n = 0;

        if (*s == '+')
                s++;
        if (*s == '0') {
                base = 8;
                if (tolower((unsigned char) s[1]) == 'x' && isxdigit((unsigned char) s[2])) {
                        base = 16;
                        s += 2;
                }
        }

        for (; digit_value(*s) < base; s++, n++) {
                value = value * base + digit_value(*s);
                overflow = overflow || value > 255;
                if (overflow)
                        value = 256;
        }

        if (n == 0)
                return -EINVAL;
        if (*s == '\n')
                s++;
        if (*s)
                return -EINVAL;
        if (overflow)
                return -ERANGE;

        *ret = value;
        return 0;
}

static int mode_parse(const char *s, Capability *ret) {
        size_t l = strlen(s);

        if (l > 0 && s[l - 1] == '\n')
                l--;

        if (l == strlen("IB/RoCE v1") && strncmp(s, "IB/RoCE v1", l) == 0)
                *ret = CAPABILITY_V1;
        else if (l == strlen("RoCE v2") && strncmp(s, "RoCE v2", l) == 0)
                *ret = CAPABILITY_V2;
        else
                return -EINVAL;

        return 0;
}

int device_store(Device *d, unsigned port, Attribute a, const char *text) {
        Capability mode;
        unsigned tos;
        int r;

        r = a == ATTRIBUTE_MODE ? mode_parse(text, &mode) : tos_parse(text, &tos);
        if (r < 0)
                return r;
        if (port < 1 || port > d->n_ports)
                return -EINVAL;

        if (a == ATTRIBUTE_MODE) {
                if (!(d->capabilities[port] & mode))
                        return -EINVAL;
                d->mode[port] = mode;
        } else
                d->tos[port] = tos;

        return 0;
}
