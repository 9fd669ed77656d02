/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A model of what roced lives in: the kernel's RDMA devices, rdma_cm's directories in configfs, udevd, and time. It
 * answers as the real one does (the comments in lib/ and daemon/ cite the kernel), fails when told to, and notes what
 * roced does to it. One world at a time. */

#include "attribute.h"
#include "device.h"

#define NAMES 7 /* the last one is no valid name */
#define DEVICES 5
#define PORTS 3
#define FDS 16
#define ITEMS 160
#define NO_NAME (-1)
#define NO_NETDEV (-1)

#define MSEC USEC_PER_MSEC
#define SEC USEC_PER_SEC

typedef struct ModelPort {
        bool roce;
        LinkLayer link_layer;
        unsigned supported; /* set of Support: what a write of the mode takes */
        unsigned gids;      /* what its GIDs show of that */
        int netdev;
        bool netdev_settled;
        int value[_ATTRIBUTE_MAX];
} ModelPort;

typedef struct ModelDevice {
        bool there;
        int name;
        uint64_t instance;
        bool known;       /* rdma_cm knows it, and so it has values */
        bool never_known; /* it has no connection manager */
        bool settled;     /* udevd is done with it and its name */
        bool rnic;
        unsigned driver;
        unsigned n_ports;
        ModelPort ports[PORTS];
        uint64_t changed; /* serial of the last change of it, or of its values by others than roced */
} ModelDevice;

/* One per name. */
typedef struct ModelDirectory {
        bool there;
        bool ours;       /* roced made it, and not in place of another's */
        bool unrecorded; /* that could not be written down, and so the next roced does not know of it */
        bool disputed;   /* made by another when roced's record said that it was about to make one */
        uint64_t inode;
        int64_t made_ns;
        uint64_t made; /* serial */
        unsigned n_ports;
        int watches[PORTS]; /* -1: none */
} ModelDirectory;

/* What stands in /run of a directory that roced makes: survives a crash. */
typedef struct ModelRecord {
        bool there, broken;
        uint64_t inode; /* 0: intent only */
        int64_t changed_ns;
} ModelRecord;

typedef struct ModelFd {
        bool open;
        int name; /* NO_NAME: rdma_cm itself */
        uint64_t inode;
} ModelFd;

typedef enum ItemType {
        ITEM_UDEV_ADD, /* udevd gets to a kernel event; these are taken in order */
        ITEM_UDEV_MOVE,
        ITEM_UDEV_REMOVE,
        ITEM_KNOWN, /* rdma_cm learns of a device */
        ITEM_NETDEV_SETTLED,
        ITEM_FIGHT, /* a writer that does not give up */
        ITEM_EVENT, /* from here on: news for roced; this one is an "infiniband" uevent */
        ITEM_NET,
        ITEM_MODULE,
        ITEM_MOUNT,
        ITEM_LOST, /* ENOBUFS, or an overflow of inotify's queue */
        ITEM_INOTIFY,
        ITEM_ANNOUNCED, /* by udev's rule */
} ItemType;

typedef struct Item {
        ItemType type;
        uint64_t due_usec, serial;
        int name, old; /* old: NO_NAME, or that of a move */
        uint64_t instance;
        bool move;
        int watch;
        unsigned attributes; /* set of 1 << Attribute */
} Item;

/* How rough a schedule is: one in so many; 0: never. */
typedef struct Rough {
        unsigned fault, midst, turn, block, memory;
        unsigned lose, repeat, reorder;
        unsigned record; /* faults of the ownership record only */
} Rough;

typedef struct Fight {
        bool on;
        uint64_t instance;
        unsigned port;
        Attribute attribute;
        int value;
        unsigned left;    /* how often it will strike yet */
        unsigned repairs; /* by roced, since a time after which nothing else has happened */
        uint64_t since_usec, undisturbed;
} Fight;

typedef struct World {
        uint64_t seed, random;
        uint64_t now_usec, serial;
        Rough rough;
        bool calm;   /* nothing fails and nobody else acts any more */
        bool acting; /* somebody acts: not once more within */
        bool dead;   /* roced has been killed: what it still calls has no effect */
        bool verbose;

        bool mounted, loaded, tos_file, udevd;
        ModelDevice devices[DEVICES];
        ModelDirectory directories[NAMES];
        ModelRecord records[NAMES];
        ModelRecord kept[NAMES];      /* that could not be written, and go with roced */
        uint64_t database[NAMES];     /* udevd's entries by name: a stamp, 0: none */
        uint64_t leftovers[NAMES];    /* the stamps of those that roced has seen to be no device's */
        uint64_t name_changes[NAMES]; /* how often the name has changed hands */
        ModelFd fds[FDS];
        Item items[ITEMS];
        unsigned n_items;
        Fight fight;
        int call;          /* the Call under way */
        int failing;       /* a Call that goes on failing; negative: none */
        int failing_error; /* -errno */
        bool ignoring;     /* writes are taken, and have no effect */
        int looked_at;     /* name of the device that roced looks at; NO_NAME: of none */

        uint64_t last_instance, last_inode, last_stamp;
        int last_watch;
        uint64_t udev_free_usec; /* when udevd is done with what it has */

        uint64_t n_faults, n_calls, n_lost, n_writes;
        uint64_t changed; /* serial of the last change of any kind, or fault */
        uint64_t budget;  /* records that what has happened so far may call for */
} World;

extern World world;
extern const char *const model_names[NAMES];

/* random.c */
uint64_t random_next(void);
unsigned random_below(unsigned n);
bool chance(unsigned one_in); /* 0: never */

/* trace.c: with -v */
void trace_line(const char *format, ...) PRINTF(1, 2);
#define trace(...)                               \
        do {                                     \
                if (world.verbose)               \
                        trace_line(__VA_ARGS__); \
        } while (0)

/* An invariant does not hold: tells the seed, and ends the process. */
_Noreturn void violated(const char *format, ...) PRINTF(1, 2);

/* world.c: the world by itself. */
void world_begin(uint64_t seed, bool verbose);
void world_changed(unsigned records); /* something happened that so many records may be told of */
ModelDevice *device_by_name(int name);
ModelDevice *device_by_instance(uint64_t instance);
int name_find(const char *name);        /* NO_NAME: of the model's none */
const ModelRecord *record_of(int name); /* as roced knows it */
int name_free(void);                    /* one that no device bears, NO_NAME: there is none */
unsigned ports_count(void);

Item *item_add(ItemType type, uint64_t due_usec);
/* The next that is due by then, taken out; of those for roced or of the others. */
bool item_take(bool for_roced, uint64_t now_usec, Item *ret);
uint64_t items_due(bool for_roced);
void items_drop_for_roced(void);
void item_happen(const Item *item);

void device_appear(int name);
void device_vanish(ModelDevice *device);
void device_rename(ModelDevice *device, int name);
void device_learn(ModelDevice *device);
bool directory_make(int name, bool ours);
void directory_remove(int name);
void value_changed(int name, unsigned port, Attribute attribute);
void netdev_changed(void);
void module_load(void);
bool module_unload(void);
void configfs_mount(bool mounted);
