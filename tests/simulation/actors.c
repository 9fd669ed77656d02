/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The others: who plugs and renames devices, loads and unloads, writes and removes what roced sees to, and makes calls
 * fail. */

#include "calls.h"
#include "simulation.h"

#define RECORDS_OF_WRITE 8
#define RECORDS_OF_DIRECTORY (4 * PORTS * _ATTRIBUTE_MAX)

/* In the midst of a look rather the device that is looked at. */
static ModelDevice *device_any(void) {
        ModelDevice *device = world.devices + random_below(DEVICES);

        if (world.looked_at != NO_NAME && chance(2) && device_by_name(world.looked_at))
                return device_by_name(world.looked_at);
        return device->there ? device : NULL;
}

static ModelPort *port_any(ModelDevice *device, unsigned *ret_port) {
        *ret_port = 1 + random_below(device->n_ports);
        return device->ports + *ret_port - 1;
}

static void appear(void) {
        device_appear(name_free());
}

static void vanish(void) {
        ModelDevice *device = device_any();

        if (device)
                device_vanish(device);
}

/* Another device, and perhaps another kind of one, bears the name a moment later. */
static void register_anew(void) {
        ModelDevice *device = device_any();
        int name;

        if (!device)
                return;
        name = device->name;
        device_vanish(device);
        device_appear(name);
}

static void rename_one(void) {
        ModelDevice *device = device_any();
        int name = name_free();

        if (device && name != NO_NAME)
                device_rename(device, name);
}

static void swap(void) {
        ModelDevice *one = device_any(), *other = device_any();
        int between = name_free(), name, other_name;

        if (!one || !other || one == other || between == NO_NAME)
                return;
        name = one->name;
        other_name = other->name;
        device_rename(one, between);
        device_rename(other, name);
        device_rename(one, other_name);
}

static int value_any(Attribute attribute) {
        static const int tos[] = { 0, 1, 26 << 2, 106, 255 };

        return attribute == ATTRIBUTE_MODE ? (chance(2) ? ROCE_V1 : ROCE_V2) : tos[random_below(ELEMENTSOF(tos))];
}

/* By way of the device's directory, its own or whose it is. */
static void foreign_write(ModelDevice *device, unsigned port, Attribute attribute, int value) {
        ModelPort *at = device->ports + port - 1;

        if (!world.mounted || !device->known || device->name == NAMES - 1 ||
            (attribute == ATTRIBUTE_TOS && !world.tos_file))
                return;
        trace("world  another program writes %i to %s of %s port %u", value, attribute_name(attribute),
              model_names[device->name], port);
        if (attribute == ATTRIBUTE_TOS || at->supported & (value == ROCE_V1 ? SUPPORT_V1 : SUPPORT_V2))
                at->value[attribute] = value;
        value_changed(device->name, port, attribute);
}

static void write_once(void) {
        ModelDevice *device = device_any();
        Attribute attribute = chance(2) ? ATTRIBUTE_MODE : ATTRIBUTE_TOS;
        unsigned port;

        if (!device)
                return;
        (void) port_any(device, &port);
        world_changed(RECORDS_OF_WRITE);
        device->changed = world.serial;
        foreign_write(device, port, attribute, value_any(attribute));
}

static void fight_begin(void) {
        ModelDevice *device = device_any();
        Fight *fight = &world.fight;

        if (!device || fight->on)
                return;
        *fight = (Fight){
                .on = true,
                .instance = device->instance,
                .attribute = chance(2) ? ATTRIBUTE_MODE : ATTRIBUTE_TOS,
                .left = 5 + random_below(30),
        };
        (void) port_any(device, &fight->port);
        fight->value = value_any(fight->attribute);
        world_changed(RECORDS_OF_WRITE * 64);
        item_add(ITEM_FIGHT, world.now_usec);
}

/* It sees to its value as roced does: at once, or nearly. */
void actor_strike(void) {
        ModelDevice *device = device_by_instance(world.fight.instance);

        if (!world.fight.on || !device)
                return;
        device->changed = ++world.serial;
        foreign_write(device, world.fight.port, world.fight.attribute, world.fight.value);
        if (--world.fight.left == 0)
                world.fight.on = false;
}

static void make(void) {
        ModelDevice *device = device_any();

        if (!device || !world.mounted || device->name == NAMES - 1 || !directory_make(device->name, false))
                return;
        trace("world  another program makes the directory of %s", model_names[device->name]);
        world_changed(RECORDS_OF_DIRECTORY);
}

static void remove_directory(void) {
        int name = world.looked_at != NO_NAME && chance(2) ? world.looked_at : (int) random_below(NAMES);

        if (!world.mounted || !world.directories[name].there)
                return;
        trace("world  another program removes the directory of %s", model_names[name]);
        directory_remove(name);
        world_changed(RECORDS_OF_DIRECTORY);
        if (chance(3) && directory_make(name, false))
                trace("world  and makes it anew");
}

static void load(void) {
        if (!world.loaded)
                module_load();
        else if (chance(2) && module_unload() && chance(2))
                module_load();
}

static void mount(void) {
        if (!world.mounted || chance(2))
                configfs_mount(!world.mounted);
}

/* Which the kernel announces to nobody. */
static void links_change(void) {
        ModelDevice *device = device_any();
        unsigned port;
        ModelPort *at;

        if (!device)
                return;
        at = port_any(device, &port);
        at->gids = at->gids == 0 ? at->supported : 0;
        world_changed(RECORDS_OF_WRITE);
        device->changed = world.serial;
}

static void netdev_change(void) {
        ModelDevice *device = device_any();
        unsigned port;

        if (!device)
                return;
        port_any(device, &port)->netdev = chance(3) ? NO_NETDEV : (int) random_below(4);
        trace("world  %s port %u has another netdev", model_names[device->name], port);
        device->changed = world.serial + 1;
        netdev_changed();
}

/* One kind of call fails again and again. */
static void fail(void) {
        static const int errors[] = { EIO, ENOMEM, EROFS, EACCES };

        world.failing = -1;
        world.ignoring = false;
        if (world.rough.fault == 0 || chance(2))
                return;
        if (chance(8)) {
                trace("world  no write has an effect from now on");
                world.ignoring = true;
                return;
        }
        world.failing = (int) random_below(_CALL_MAX);
        world.failing_error = -errors[random_below(ELEMENTSOF(errors))];
        trace("world  each %s fails from now on", call_to_string((Call) world.failing));
}

void actor_act(void) {
        static const struct {
                unsigned weight;
                void (*act)(void);
        } acts[] = {
                { 5, appear },        { 3, vanish }, { 4, register_anew },
                { 3, rename_one },    { 3, swap },   { 12, write_once },
                { 2, fight_begin },   { 3, make },   { 4, remove_directory },
                { 2, load },          { 1, mount },  { 2, links_change },
                { 2, netdev_change }, { 2, fail },
        };
        unsigned sum = 0, at;

        for (size_t i = 0; i < ELEMENTSOF(acts); i++)
                sum += acts[i].weight;
        at = random_below(sum);
        for (size_t i = 0; i < ELEMENTSOF(acts); i++) {
                if (at < acts[i].weight) {
                        acts[i].act();
                        return;
                }
                at -= acts[i].weight;
        }
}
