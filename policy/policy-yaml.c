/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bytes to nodes, by libyaml's events: the only file that includes yaml.h. Refuses the parts of YAML that
 * policies do not have. Not by libyaml's document API, which takes minutes for 200 kB of '[' and follows
 * aliases. Must not know what a policy means. */

#include <assert.h>
#include <yaml.h>

#include "node.h"
#include "text.h"

/* Of one list at the top, whose entries are given away one by one. */
typedef struct Entries {
        const char *key;
        void (*take)(void *userdata, const Node *entry);
        void *userdata;
        Arena *arena;          /* of the entry that is being read */
        const Node *last_key;  /* at the top; NULL: a key comes next */
        Node *list;            /* while it is open */
        bool stray;            /* it holds what is neither list nor map */
} Entries;

typedef struct Builder {
        Source *source;
        Arena *arena;
        size_t limit; /* bytes to parse */
        Place cut;    /* the place of "limit" if the text is not whole there; line 0: it is whole */
        bool silent;  /* all has been said in an earlier run */
        Node *root;
        Node *open[NODE_DEPTH_MAX];
        Node **tails[NODE_DEPTH_MAX]; /* where the next child of open[i] goes */
        size_t depth;
        unsigned n_documents;
        Entries *entries; /* NULL: all is kept */
} Builder;

static void builder_complain(Builder *builder, Place place, const char *format, ...) PRINTF(3, 4);

static void builder_complain(Builder *builder, Place place, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list arguments;

        if (builder->silent)
                return;

        va_start(arguments, format);
        if (vasprintf(&text, format, arguments) < 0)
                text = NULL;
        va_end(arguments);

        if (text)
                source_complain(builder->source, place, NULL, "%s", text);
        else
                builder->source->error = -ENOMEM;
}

static Place event_place(const yaml_event_t *event) {
        const yaml_mark_t *start = &event->start_mark, *end = &event->end_mark;

        return (Place){
                .line = (unsigned) start->line + 1,
                .column = (unsigned) start->column + 1,
                .length = start->line == end->line ? (unsigned) (end->column - start->column) : 1,
        };
}

/* Keys and values at the top, in turn. */
static void entries_see(Entries *entries, Node *node) {
        const Node *key = entries->last_key;

        entries->last_key = key ? NULL : node;
        if (key && key->kind == NODE_SCALAR && key->text && streq(key->text, entries->key) && node->kind == NODE_LIST)
                entries->list = node;
}

static Arena *builder_arena(const Builder *builder) {
        return builder->entries && builder->entries->list ? builder->entries->arena : builder->arena;
}

static Node *builder_add(Builder *builder, NodeKind kind, const yaml_event_t *event) {
        Node *node = arena_alloc(builder_arena(builder), sizeof(Node));

        if (!node) {
                builder->source->error = -ENOMEM;
                return NULL;
        }

        node->kind = kind;
        node->place = event_place(event);

        if (builder->depth == 0)
                builder->root = node;
        else {
                *builder->tails[builder->depth - 1] = node;
                builder->tails[builder->depth - 1] = &node->next;
        }
        if (builder->entries && builder->depth == 1)
                entries_see(builder->entries, node);
        return node;
}

/* Whether nothing but blanks is between the end of a scalar and the place where the text was cut: then it
 * may have been longer. */
static bool builder_cuts(Builder *builder, const yaml_mark_t *end) {
        size_t offset;

        if (builder->cut.line != end->line + 1)
                return false;

        offset = source_locate(builder->source, (unsigned) end->line + 1, (unsigned) end->column + 1);
        while (offset < builder->limit && strchr(" \t", builder->source->bytes[offset]))
                offset++;
        return offset >= builder->limit;
}

/* Of what YAML has and policies have not; often it was meant as a pattern. */
static void builder_complain_foreign(Builder *builder, const yaml_event_t *event, const char *what) {
        char word[TEXT_SHOWN_MAX];

        (void) source_word(builder->source, event_place(event), word);
        builder_complain(builder, event_place(event),
                         "'%s' is a YAML %s, which a policy does not take; quote it if it is a text: \"%s\"",
                         word, what, word);
}

/* Anchors and tags, on any node. True: the node's own content counts. */
static bool builder_check_properties(Builder *builder, const yaml_event_t *event, const yaml_char_t *anchor,
                                     const yaml_char_t *tag) {
        if (anchor || tag)
                builder_complain_foreign(builder, event, anchor ? "anchor" : "tag");
        return !tag;
}

static void builder_scalar(Builder *builder, const yaml_event_t *event) {
        const char *value = (const char *) event->data.scalar.value;
        size_t size = event->data.scalar.length;
        Node *node;

        node = builder_add(builder, NODE_SCALAR, event);
        if (!node)
                return;

        if (!builder_check_properties(builder, event, event->data.scalar.anchor, event->data.scalar.tag) ||
            (event->data.scalar.anchor && size == 0) || builder_cuts(builder, &event->end_mark))
                node->kind = NODE_BROKEN;
        else if (memchr(value, 0, size)) {
                builder_complain(builder, node->place, "a NUL character is in this text");
                node->kind = NODE_BROKEN;
        }

        node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        node->size = (unsigned) size;
        node->text = arena_copy(builder_arena(builder), value, size);
        if (!node->text)
                builder->source->error = -ENOMEM;
}

/* False: stop here. */
static bool builder_begin(Builder *builder, const yaml_event_t *event) {
        bool list = event->type == YAML_SEQUENCE_START_EVENT;
        Node *node;

        if (builder->depth == NODE_DEPTH_MAX) {
                builder_complain(builder, event_place(event), "nested deeper than %d levels",
                                 NODE_DEPTH_MAX);
                return false;
        }

        node = builder_add(builder, list ? NODE_LIST : NODE_MAP, event);
        if (!node)
                return false;

        if (!(list ? builder_check_properties(builder, event, event->data.sequence_start.anchor,
                                              event->data.sequence_start.tag)
                   : builder_check_properties(builder, event, event->data.mapping_start.anchor,
                                              event->data.mapping_start.tag)))
                node->kind = NODE_BROKEN;

        builder->open[builder->depth] = node;
        builder->tails[builder->depth] = &node->children;
        builder->depth++;
        return true;
}

static bool builder_document(Builder *builder, const yaml_event_t *event) {
        Place place = event_place(event);

        if (builder->n_documents++ > 0) {
                builder_complain(builder, place, "%s", second_document_text);
                return false;
        }

        if (event->data.document_start.version_directive ||
            event->data.document_start.tag_directives.start !=
                            event->data.document_start.tag_directives.end) {
                place.length = 0;
                builder_complain(builder, place, "YAML directives ('%%') are not part of a policy");
        }
        return true;
}

/* After the end of a list or map: it may have been an entry, or their list. */
static void builder_give_entry(Builder *builder) {
        Entries *entries = builder->entries;

        if (builder->depth == 1 && entries->list) {
                entries->stray = entries->stray || entries->list->children;
                entries->list = NULL;
        }
        if (builder->depth != 2 || !entries->list)
                return;

        entries->stray = entries->stray || entries->list->children != builder->open[2];
        entries->take(entries->userdata, builder->open[2]);
        arena_clear(entries->arena);
        entries->list->children = NULL;
        builder->tails[1] = &entries->list->children;
}

/* False: stop here. */
static bool builder_take(Builder *builder, const yaml_event_t *event) {
        switch (event->type) {
        case YAML_DOCUMENT_START_EVENT:
                return builder_document(builder, event);
        case YAML_SCALAR_EVENT:
                builder_scalar(builder, event);
                return true;
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT:
                return builder_begin(builder, event);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                assert(builder->depth > 0);
                builder->depth--;
                if (builder->entries)
                        builder_give_entry(builder);
                return true;
        case YAML_ALIAS_EVENT:
                (void) builder_add(builder, NODE_BROKEN, event);
                builder_complain_foreign(builder, event, "alias");
                return true;
        default:
                return true;
        }
}

static unsigned node_count_children(const Node *node) {
        unsigned n = 0;

        for (const Node *child = node->children; child; child = child->next)
                n++;
        return n;
}

/* The file breaks off: what is open stays incomplete, a key without value gets a broken one. */
static void builder_break_off(Builder *builder, const yaml_event_t *event) {
        for (; builder->depth > 0; builder->depth--) {
                Node *node = builder->open[builder->depth - 1];

                node->cut = true;
                if (node->kind == NODE_MAP && node_count_children(node) % 2 == 1)
                        (void) builder_add(builder, NODE_BROKEN, event);
        }
}

/* The text ends too early: what was closed by its end only is not complete either. */
static void builder_cut_off(Builder *builder) {
        Node *node = builder->root;

        while (node && (node->kind == NODE_LIST || node->kind == NODE_MAP)) {
                node->cut = true;
                node = node->children;
                while (node && node->next)
                        node = node->next;
        }
        if (node && node->plain && node->size == 0)
                node->kind = NODE_BROKEN;
}

/* 0: to the end, or to something that stopped it and was said. 1: to *ret_error. Negative: -ENOMEM. */
static int builder_run(Builder *builder, SyntaxError *ret_error) {
        yaml_parser_t parser;
        yaml_event_t event = {};
        bool more = true;
        int r = 0;

        builder->root = NULL;
        builder->depth = builder->n_documents = 0;

        if (!yaml_parser_initialize(&parser))
                return -ENOMEM;

        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser, (const unsigned char *) builder->source->bytes,
                                     builder->limit);

        while (more && builder->source->error == 0 && !(builder->entries && builder->source->n_errors > 0)) {
                if (!yaml_parser_parse(&parser, &event)) {
                        r = parser.error == YAML_MEMORY_ERROR ? -ENOMEM : 1;
                        break;
                }
                more = event.type != YAML_STREAM_END_EVENT && builder_take(builder, &event);
                yaml_event_delete(&event);
        }

        if (r > 0)
                *ret_error = (SyntaxError){
                        .context = parser.context,
                        .problem = parser.problem ? parser.problem : "it cannot be read",
                        .context_place = { (unsigned) parser.context_mark.line + 1,
                                           (unsigned) parser.context_mark.column + 1, 0 },
                        .place = { (unsigned) parser.problem_mark.line + 1,
                                   (unsigned) parser.problem_mark.column + 1, 0 },
                };
        yaml_parser_delete(&parser);

        if (r >= 0)
                builder_break_off(builder, &(yaml_event_t){});
        if (r >= 0 && builder->cut.line > 0)
                builder_cut_off(builder);
        return builder->source->error < 0 ? builder->source->error : r;
}

static bool node_is_nothing(const Node *node) {
        return !node || (node->kind == NODE_SCALAR && node->plain && node->size == 0);
}

int nodes_parse_entries(Source *source, Arena *arena, const char *key, void (*take)(void *userdata, const Node *entry),
                        void *userdata, Node **ret) {
        _cleanup_(arena_freep) Arena *entry_arena = arena_new();
        Entries entries = {
                .key = key,
                .take = take,
                .userdata = userdata,
                .arena = entry_arena,
        };
        Builder builder = {
                .source = source,
                .arena = arena,
                .entries = &entries,
        };
        SyntaxError error;
        const char *what;
        Place place;
        int r;

        if (!entry_arena)
                return -ENOMEM;
        builder.limit = source_check_encoding(source, &what, &place);
        if (source->error < 0)
                return source->error;
        if (what)
                return 1;

        r = builder_run(&builder, &error);
        if (r != 0)
                return r;
        if (source->n_errors > 0 || entries.stray || node_is_nothing(builder.root))
                return 1;

        *ret = builder.root;
        return 0;
}

int nodes_parse(Source *source, Arena **arena, Node **ret) {
        Builder builder = {
                .source = source,
                .arena = *arena,
        };
        SyntaxError error;
        const char *what;
        Place place;
        int r;

        builder.limit = source_check_encoding(source, &what, &place);
        if (source->error < 0)
                return source->error;
        if (what)
                builder.cut = place;

        r = builder_run(&builder, &error);
        if (r < 0)
                return r;

        if (r > 0 &&
            !(what && source_locate(source, error.place.line, error.place.column) >= builder.limit)) {
                what = NULL;
                /* libyaml looks ahead: once more, up to the error only, so that no line before it goes
                 * unchecked. */
                builder.cut = syntax_complain(source, &error);
                builder.limit = source_locate(source, builder.cut.line, builder.cut.column);
                builder.silent = true;
                arena_free(*arena);
                builder.arena = *arena = arena_new();
                if (!builder.arena)
                        return -ENOMEM;
                r = builder_run(&builder, &error);
                if (r < 0)
                        return r;
        }

        if (what)
                source_complain(source, place, NULL, "%s", what);
        else if (node_is_nothing(builder.root) && source->n_errors == 0)
                source_complain_empty(source);

        *ret = node_is_nothing(builder.root) ? NULL : builder.root;
        return source->error;
}
