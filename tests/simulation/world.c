/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Devices, directories and the module, and what they tell of themselves. */

#include "world.h"

World world;

const char *const model_names[NAMES] = { "mlx5_0", "mlx5_1", "rocep1s0f0", "rocep1s0f1", "rxe0", "bnxt_re0", ".." };

/* What one change may call for: each attribute enters a state, and leaves it. */
#define RECORDS_OF_PORT (4 * _ATTRIBUTE_MAX)
#define RECORDS_OF_DEVICE (PORTS * RECORDS_OF_PORT + 4)

/* Events are not lost for ever. */
#define LOST_MAX 12

static void rough_choose(void) {
        static const unsigned odds[] = { 0, 0, 300, 60, 12 };
        Rough *rough = &world.rough;

        /* Some schedules are plain, most have one kind of trouble or two. */
        for (unsigned *one = (unsigned *) rough; one < (unsigned *) (rough + 1); one++)
                *one = chance(2) ? 0 : odds[random_below(ELEMENTSOF(odds))];
        rough->turn = chance(4) ? 0 : 8;
        rough->block *= 4;
        rough->lose = rough->lose > 0 ? rough->lose / 4 : 0;
}

void world_begin(uint64_t seed, bool verbose) {
        world = (World){
                .seed = seed,
                .random = seed,
                .verbose = verbose,
                .now_usec = 100 * SEC,
                .last_instance = 1000,
                .last_inode = 50000,
                .failing = -1,
                .looked_at = NO_NAME,
        };
        for (int name = 0; name < NAMES; name++)
                for (unsigned port = 0; port < PORTS; port++)
                        world.directories[name].watches[port] = -1;
        (void) random_next();
        rough_choose();
        world.mounted = !chance(20);
        world.loaded = !chance(8);
        world.tos_file = !chance(12);
        world.udevd = !chance(10);
        for (unsigned n = random_below(DEVICES + 1); n > 0; n--)
                device_appear(name_free());
}

void world_changed(unsigned records) {
        world.changed = ++world.serial;
        world.budget += records;
}

ModelDevice *device_by_name(int name) {
        for (ModelDevice *device = world.devices; device < world.devices + DEVICES; device++)
                if (device->there && device->name == name)
                        return device;
        return NULL;
}

ModelDevice *device_by_instance(uint64_t instance) {
        for (ModelDevice *device = world.devices; device < world.devices + DEVICES; device++)
                if (device->there && device->instance == instance)
                        return device;
        return NULL;
}

int name_find(const char *name) {
        for (int i = 0; i < NAMES; i++)
                if (streq(model_names[i], name))
                        return i;
        return NO_NAME;
}

const ModelRecord *record_of(int name) {
        return world.kept[name].there ? world.kept + name : world.records + name;
}

int name_free(void) {
        int first = (int) random_below(NAMES);

        for (int i = 0; i < NAMES; i++) {
                int name = (first + i) % NAMES;

                /* One that nobody can serve is rare. */
                if (!device_by_name(name) && (name < NAMES - 1 || chance(8)))
                        return name;
        }
        return NO_NAME;
}

unsigned ports_count(void) {
        unsigned n = 0;

        for (const ModelDevice *device = world.devices; device < world.devices + DEVICES; device++)
                n += device->there ? device->n_ports : 0;
        return n;
}

static unsigned records_of_all(void) {
        return ports_count() * RECORDS_OF_PORT + 4 * NAMES;
}

/* What udevd or the kernel tells roced: may be lost with or without notice, told twice, or out of order. */
static Item *event_add(ItemType type) {
        uint64_t due_usec = world.now_usec + 20;

        if (!world.calm && world.n_lost < LOST_MAX && chance(world.rough.lose)) {
                trace("world  an event is lost");
                world.n_lost++;
                return chance(2) ? item_add(ITEM_LOST, due_usec) : NULL;
        }
        if (!world.calm && chance(world.rough.reorder))
                due_usec += random_below(2 * SEC);
        return item_add(type, due_usec);
}

static void event_send(int name, int old, bool move) {
        do {
                Item *event = event_add(ITEM_EVENT);

                if (event) {
                        event->name = name;
                        event->old = old;
                        event->move = move;
                }
        } while (!world.calm && chance(world.rough.repeat));
}

static void udev_queue(ItemType type, int name, int old, uint64_t instance) {
        Item *item;

        if (!world.udevd)
                return;
        world.udev_free_usec = MAX_OF(world.udev_free_usec, world.now_usec) + 1 +
                               random_below(chance(20)  ? 15 * SEC
                                            : chance(2) ? 60
                                                        : 400 * MSEC);
        item = item_add(type, world.udev_free_usec);
        item->name = name;
        item->old = old;
        item->instance = instance;
}

static void port_appear(ModelDevice *device, ModelPort *port, unsigned kind) {
        static const unsigned support[] = { SUPPORT_V1 | SUPPORT_V2, SUPPORT_V1 | SUPPORT_V2, SUPPORT_V2, SUPPORT_V1 };
        bool infiniband = kind == 4 || (kind == 5 && chance(2));

        *port = (ModelPort){
                .link_layer = infiniband ? LINK_LAYER_INFINIBAND : LINK_LAYER_ETHERNET,
                .roce = !infiniband && !device->rnic,
                .supported = infiniband || device->rnic ? SUPPORT_V1 : support[kind % ELEMENTSOF(support)],
                .netdev = infiniband || chance(4) ? NO_NETDEV : (int) random_below(4),
                .netdev_settled = chance(2) || !world.udevd,
        };
        port->gids = chance(4) ? 0 : port->supported;
}

void device_learn(ModelDevice *device) {
        if (device->never_known || device->known || !world.loaded)
                return;
        device->known = true;
        device->changed = world.serial + 1;
        for (ModelPort *port = device->ports; port < device->ports + device->n_ports; port++) {
                port->value[ATTRIBUTE_MODE] = port->supported & SUPPORT_V2 ? ROCE_V2 : ROCE_V1;
                port->value[ATTRIBUTE_TOS] = 0;
        }
        world_changed(RECORDS_OF_DEVICE);
}

/* Tells the device's netdevs settled, sooner or later. */
static void netdevs_settle_later(const ModelDevice *device) {
        for (const ModelPort *port = device->ports; port < device->ports + device->n_ports; port++)
                if (!port->netdev_settled) {
                        item_add(ITEM_NETDEV_SETTLED, world.now_usec + random_below(2 * SEC))->instance =
                                        device->instance;
                        return;
                }
}

void device_appear(int name) {
        ModelDevice *device = NULL;
        unsigned kind = random_below(7);

        for (unsigned i = 0; i < DEVICES; i++)
                if (!world.devices[i].there)
                        device = world.devices + i;
        if (!device || name == NO_NAME)
                return;

        *device = (ModelDevice){
                .there = true,
                .name = name,
                .instance = ++world.last_instance,
                .never_known = chance(24),
                .settled = !world.udevd,
                .rnic = kind == 6 && chance(2),
                .driver = random_below(3),
                .n_ports = 1 + random_below(PORTS),
        };
        for (unsigned i = 0; i < device->n_ports; i++)
                port_appear(device, device->ports + i, kind);
        trace("world  %s appears, instance %llu, %u ports of kind %u%s", model_names[name],
              (unsigned long long) device->instance, device->n_ports, kind, device->rnic ? ", iWARP" : "");

        world.name_changes[name]++;
        world_changed(RECORDS_OF_DEVICE);
        device->changed = world.serial;
        udev_queue(ITEM_UDEV_ADD, name, NO_NAME, device->instance);
        netdevs_settle_later(device);
        if (chance(5)) /* kernels before 5.2 */
                item_add(ITEM_KNOWN, world.now_usec + random_below(5 * SEC))->instance = device->instance;
        else
                device_learn(device);
}

void device_vanish(ModelDevice *device) {
        trace("world  %s vanishes", model_names[device->name]);
        device->there = false;
        world.name_changes[device->name]++;
        world_changed(RECORDS_OF_DEVICE);
        udev_queue(ITEM_UDEV_REMOVE, device->name, NO_NAME, device->instance);
}

void device_rename(ModelDevice *device, int name) {
        int old = device->name;

        trace("world  %s becomes %s", model_names[old], model_names[name]);
        device->name = name;
        device->settled = !world.udevd;
        world.name_changes[old]++;
        world.name_changes[name]++;
        world_changed(2 * RECORDS_OF_DEVICE);
        device->changed = world.serial;
        udev_queue(ITEM_UDEV_MOVE, name, old, device->instance);
}

/* Somebody has written there, or it is gone: inotify tells, in order. */
static void watch_tell(ModelDirectory *directory, unsigned port, unsigned attributes) {
        Item *item;

        if (directory->watches[port - 1] < 0)
                return;
        /* The queue is full, which is always told. It is large. */
        if (!world.calm && world.n_lost < LOST_MAX && chance(world.rough.lose)) {
                items_drop_for_roced();
                world.n_lost++;
                item_add(ITEM_LOST, world.now_usec + 50);
                return;
        }
        item = item_add(ITEM_INOTIFY, world.now_usec + 50);
        item->watch = directory->watches[port - 1];
        item->attributes = attributes;
}

void value_changed(int name, unsigned port, Attribute attribute) {
        if (world.directories[name].there && port <= world.directories[name].n_ports)
                watch_tell(world.directories + name, port, 1U << attribute);
}

static bool is_intent(const ModelRecord *record) {
        return record->there && record->inode == 0;
}

bool directory_make(int name, bool ours) {
        ModelDirectory *directory = world.directories + name;
        const ModelDevice *device = device_by_name(name);

        if (directory->there || !device || !device->known)
                return false;
        *directory = (ModelDirectory){
                .there = true,
                .ours = ours,
                .inode = ++world.last_inode,
                .made_ns = (int64_t) world.now_usec * 1000,
                .made = ++world.serial,
                .n_ports = device->n_ports,
        };
        for (unsigned port = 0; port < PORTS; port++)
                directory->watches[port] = -1;
        directory->disputed = !ours && (is_intent(world.records + name) || is_intent(world.kept + name));
        return true;
}

void directory_remove(int name) {
        ModelDirectory *directory = world.directories + name;

        for (unsigned port = 1; port <= PORTS; port++) {
                watch_tell(directory, port, (1U << _ATTRIBUTE_MAX) - 1);
                directory->watches[port - 1] = -1;
        }
        directory->there = false;
        world.serial++;
}

void netdev_changed(void) {
        world_changed(records_of_all());
        (void) event_add(ITEM_NET);
}

void module_load(void) {
        trace("world  rdma_cm is loaded");
        world.loaded = true;
        world_changed(records_of_all());
        for (ModelDevice *device = world.devices; device < world.devices + DEVICES; device++)
                if (device->there)
                        device_learn(device);
        (void) event_add(ITEM_MODULE);
}

/* Whoever does so removes the directories first; what is open pins it. */
bool module_unload(void) {
        for (const ModelFd *fd = world.fds; fd < world.fds + FDS; fd++)
                if (fd->open)
                        return false;

        trace("world  rdma_cm is unloaded");
        for (int name = 0; name < NAMES; name++)
                if (world.directories[name].there)
                        directory_remove(name);
        for (ModelDevice *device = world.devices; device < world.devices + DEVICES; device++)
                device->known = false;
        world.loaded = false;
        world_changed(records_of_all());
        (void) event_add(ITEM_MODULE);
        return true;
}

void configfs_mount(bool mounted) {
        trace("world  configfs is %smounted", mounted ? "" : "un");
        for (int name = 0; name < NAMES && !mounted; name++)
                for (unsigned port = 0; port < PORTS; port++)
                        world.directories[name].watches[port] = -1;
        world.mounted = mounted;
        world_changed(records_of_all());
        item_add(ITEM_MOUNT, world.now_usec + 200);
}

/* udevd has got to a kernel event: it may rename, writes its entry, and tells. The entry of the name at birth stays
 * behind. */
static void udev_happen(const Item *item) {
        ModelDevice *device = device_by_instance(item->instance);
        int name = device ? name_free() : NO_NAME;
        Item *announced;

        if (item->type == ITEM_UDEV_ADD && device && device->name == item->name && name != NO_NAME && chance(4))
                device_rename(device, name);
        if (item->type == ITEM_UDEV_REMOVE)
                world.database[item->name] = 0;
        else if (device) {
                world.database[item->name] = ++world.last_stamp;
                device->settled = device->name == item->name;
        }

        if (device && item->type != ITEM_UDEV_REMOVE && chance(2)) {
                announced = item_add(ITEM_ANNOUNCED, world.now_usec);
                announced->name = device->name;
                announced->instance = device->instance;
                announced->move = item->type == ITEM_UDEV_MOVE;
        }
        event_send(item->name, item->old, item->type == ITEM_UDEV_MOVE);
}

void item_happen(const Item *item) {
        ModelDevice *device = device_by_instance(item->instance);

        switch (item->type) {
        case ITEM_UDEV_ADD:
        case ITEM_UDEV_MOVE:
        case ITEM_UDEV_REMOVE:
                world_changed(RECORDS_OF_DEVICE);
                udev_happen(item);
                break;
        case ITEM_KNOWN:
                if (device) {
                        trace("world  rdma_cm learns of %s", model_names[device->name]);
                        device_learn(device);
                }
                break;
        case ITEM_NETDEV_SETTLED:
                if (!device)
                        break;
                trace("world  the netdevs of %s are settled", model_names[device->name]);
                for (ModelPort *port = device->ports; port < device->ports + device->n_ports; port++)
                        port->netdev_settled = true;
                world_changed(RECORDS_OF_DEVICE);
                (void) event_add(ITEM_NET);
                break;
        default:
                break;
        }
}
