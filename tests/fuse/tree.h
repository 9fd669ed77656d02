/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The directories and files that are there. Nodes that are gone live on until the kernel forgets them. */

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "model.h"

typedef enum Kind {
        KIND_ROOT,
        KIND_EMPTY_SLOT,
        KIND_CONFIG,
        KIND_RDMA_CM,
        KIND_DEVICE,
        KIND_PORTS,
        KIND_PORT,
        KIND_ATTRIBUTE,
} Kind;

typedef struct Node {
        struct Node *parent, *children, *sibling;
        uint64_t n_lookup;
        ino_t ino;                      /* never used twice */
        Kind kind;
        char name[MODEL_NAME_MAX + 1];
        unsigned port;
        Attribute attribute;
        mode_t mode;
        uid_t uid;
        gid_t gid;
        struct timespec atime, mtime, ctime;
        bool dead;
        bool emptied;                   /* a device's directory within rmdir: its files have gone, its name has not */
} Node;

Node *node_new(Node *parent, Kind kind, const char *name, unsigned port);
Node *node_child(Node *n, const char *name);
const char *node_device(const Node *n);
struct stat node_stat(const Node *n);

/* Takes a directory out of the tree, with all below it. */
void node_kill(Node *n);
void node_forget(Node *n, uint64_t n_lookup);

int device_directory_make(Node *rdma_cm, const Device *d, Node **ret);
