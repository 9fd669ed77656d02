/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* See tree.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

static ino_t last_ino;

Node *node_new(Node *parent, Kind kind, const char *name, unsigned port) {
        Node *n = calloc(1, sizeof(*n));

        if (!n)
                abort();

        n->kind = kind;
        n->ino = ++last_ino;
        n->port = port;
        n->mode = kind == KIND_ATTRIBUTE || kind == KIND_EMPTY_SLOT ? S_IFREG | 0644 : S_IFDIR | 0755;
        snprintf(n->name, sizeof(n->name), "%s", name);
        clock_gettime(CLOCK_REALTIME, &n->ctime);
        n->atime = n->mtime = n->ctime;
        n->parent = parent;

        /* An attribute's inode is made at each look, as in configfs: a watch on it sees nothing. */
        if (parent && kind != KIND_ATTRIBUTE) {
                Node **last;

                for (last = &parent->children; *last; last = &(*last)->sibling)
                        ;
                *last = n;
        }

        return n;
}

static void node_free_unused(Node *n) {
        if (n->n_lookup == 0 && (n->dead || n->kind == KIND_ATTRIBUTE))
                free(n);
}

void node_kill(Node *n) {
        if (n->parent)
                for (Node **p = &n->parent->children; *p; p = &(*p)->sibling)
                        if (*p == n) {
                                *p = n->sibling;
                                break;
                        }

        while (n->children)
                node_kill(n->children);

        n->dead = true;
        node_free_unused(n);
}

Node *node_child(Node *n, const char *name) {
        for (Node *c = n->children; c; c = c->sibling)
                if (strcmp(c->name, name) == 0)
                        return c;

        return NULL;
}

const char *node_device(const Node *n) {
        for (; n; n = n->parent)
                if (n->kind == KIND_DEVICE)
                        return n->name;

        return "-";
}

struct stat node_stat(const Node *n) {
        return (struct stat) {
                .st_ino = n->ino,
                .st_mode = n->mode,
                .st_nlink = S_ISDIR(n->mode) ? 2 : 1,
                .st_uid = n->uid,
                .st_gid = n->gid,
                .st_size = S_ISDIR(n->mode) ? 0 : 4096,
                .st_atim = n->atime,
                .st_mtim = n->mtime,
                .st_ctim = n->ctime,
        };
}

void node_forget(Node *n, uint64_t n_lookup) {
        n->n_lookup -= n_lookup;
        node_free_unused(n);
}

int device_directory_make(Node *rdma_cm, const Device *d, Node **ret) {
        Node *n, *ports;

        if (!rdma_cm || !d || d->no_cm)
                return -ENODEV;
        if (node_child(rdma_cm, d->name))
                return -EEXIST;

        n = node_new(rdma_cm, KIND_DEVICE, d->name, 0);
        ports = node_new(n, KIND_PORTS, "ports", 0);
        for (unsigned p = 1; p <= d->n_ports; p++) {
                char number[16];

                snprintf(number, sizeof(number), "%u", p);
                node_new(ports, KIND_PORT, number, p);
        }

        *ret = n;
        return 0;
}
