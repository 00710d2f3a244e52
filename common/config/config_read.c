/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_read.h"

#include <float.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <yaml.h>

#include "common/config/config_error.h"
#include "common/read_file.h"
#include "common/read_number.h"
#include "common/visible.h"

#define LOG_SUBSYSTEM "config"
#include "common/log.h"

/* No configuration nests deeper; libyaml takes time that grows with the square of it. */
#define MAX_DEPTH 64

#define TEXT_MAX 4096

/* The most bytes of a file; keeps a hostile file from eating the memory. */
#define MAX_FILE_BYTES (4 * 1024 * 1024)

struct walk {
	yaml_document_t *document;
	const char *path;
	GHashTable *given; /* paths of keys, or NULL */
	GError **error;
};

static bool read_section(const struct walk *walk, yaml_node_t *node, const struct config_section *section,
			 const char *path, void *data);

static bool G_GNUC_PRINTF(3, 4) refuse(const struct walk *walk, const yaml_node_t *node,
				       const char *format, ...)
{
	g_autofree char *message = NULL;
	va_list arguments;

	va_start(arguments, format);
	message = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(walk->error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s:%zu:%zu: %s", walk->path,
		    node->start_mark.line + 1, node->start_mark.column + 1, message);
	return false;
}

static const char *scalar(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

/* A 0 before digits makes an octal number of them for some readers of YAML. */
static bool is_padded(const char *text)
{
	text += *text == '-';
	return text[0] == '0' && g_ascii_isdigit(text[1]);
}

static bool is_unsigned(const char *text, uint32_t size)
{
	guint64 max = size >= 8 ? G_MAXUINT64 : (G_GUINT64_CONSTANT(1) << (size * 8)) - 1;

	uint64_t value;

	return !is_padded(text) && read_number_unsigned(text, 0, max, &value);
}

static bool is_double(const char *text)
{
	double value;

	return !is_padded(text) && read_number(text, -DBL_MAX, DBL_MAX, &value);
}

/* Whether a number, already understood as one, is 0. */
static bool is_zero(const char *text)
{
	double value;

	return read_number(text, 0, 0, &value);
}

static bool find_word(const char *const *words, const char *text, uint32_t *ret_index)
{
	for (*ret_index = 0; words[*ret_index]; (*ret_index)++)
		if (strcmp(words[*ret_index], text) == 0)
			return true;
	return false;
}

/* One of the words of the row; the error lists them. */
static bool check_word(const struct walk *walk, const yaml_node_t *node, const struct config_key *key,
		       const char *path)
{
	g_autofree char *known = g_strjoinv(", ", (char **)key->words);
	uint32_t index;

	return find_word(key->words, scalar(node), &index) ||
	       refuse(walk, node, "%s: '%s' is not one of %s", path, scalar(node), known);
}

/* Lines may be several. */
static bool is_visible(const char *text)
{
	g_autofree char *shown = visible_lines(text);

	/* YAML takes U+FFFE and U+FFFF as escapes only, and they are written as they are. */
	return strcmp(shown, text) == 0 && !strstr(text, "\xef\xbf\xbe") && !strstr(text, "\xef\xbf\xbf");
}

/* `kind`: of the key, or of each entry of its list. */
static bool check_scalar(const struct walk *walk, const yaml_node_t *node, const struct config_key *key,
			 enum config_kind kind, const char *path)
{
	if (node->type != YAML_SCALAR_NODE)
		return refuse(walk, node, "%s: takes one value, not a list or mapping", path);
	if (kind == CONFIG_KIND_UINT && !is_unsigned(scalar(node), (uint32_t)key->size))
		return refuse(walk, node,
			      "%s: '%s' is not a whole number in range; write digits only, the unit is "
			      "in the key's name",
			      path, scalar(node));
	if (kind == CONFIG_KIND_NUMBER && !is_double(scalar(node)))
		return refuse(walk, node,
			      "%s: '%s' is not a number; write digits only, the unit is in the "
			      "key's name",
			      path, scalar(node));
	if (kind == CONFIG_KIND_FLAG && strcmp(scalar(node), "true") != 0 && strcmp(scalar(node), "false") != 0)
		return refuse(walk, node, "%s: '%s' is neither true nor false", path, scalar(node));
	if (kind == CONFIG_KIND_TEXT && !is_visible(scalar(node)))
		return refuse(walk, node, "%s: '%s' has a character that is not shown and changes how it reads", path,
			      scalar(node));
	if (kind == CONFIG_KIND_TEXT && strlen(scalar(node)) > TEXT_MAX)
		return refuse(walk, node, "%s: longer than %d characters", path, TEXT_MAX);
	if (kind <= CONFIG_KIND_NUMBER && key->zero == CONFIG_ZERO_IS_REFUSED && is_zero(scalar(node)))
		return refuse(walk, node, "%s: 0 makes no sense; give more, or leave it out for the default", path);
	return kind != CONFIG_KIND_WORD || check_word(walk, node, key, path);
}

/* Puts a value that check_scalar() has passed into its field or entry. */
static void store_scalar(const yaml_node_t *node, const struct config_key *key, enum config_kind kind, void *place)
{
	uint64_t whole = 0;
	uint32_t index = 0;
	double number = 0;

	if (kind == CONFIG_KIND_TEXT) {
		g_free(*(char **)place);
		*(char **)place = g_strdup(scalar(node));
		return;
	}
	if (kind == CONFIG_KIND_NUMBER) {
		read_number(scalar(node), -DBL_MAX, DBL_MAX, &number);
		memcpy(place, &number, sizeof(number));
		return;
	}
	if (kind == CONFIG_KIND_WORD && find_word(key->words, scalar(node), &index))
		whole = index;
	else if (kind == CONFIG_KIND_FLAG)
		whole = strcmp(scalar(node), "true") == 0;
	else
		read_number_unsigned(scalar(node), 0, G_MAXUINT64, &whole);
	memcpy(place, &whole, key->size);
}

/* Whether a number, already understood as one, stands for an absent key. */
static bool means_absent(const yaml_node_t *node, const struct config_key *key)
{
	return key->kind <= CONFIG_KIND_NUMBER && key->zero == CONFIG_ZERO_IS_ABSENT && is_zero(scalar(node));
}

static bool refuse_key(const struct walk *walk, const yaml_node_t *node, const struct config_section *section)
{
	g_autoptr(GString) known = g_string_new(NULL);

	if (section->gone && node->type == YAML_SCALAR_NODE && strcmp(scalar(node), section->gone) == 0)
		return refuse(walk, node, "key '%s' is gone: %s", section->gone, section->advice);
	for (const struct config_key *key = section->keys; key->name; key++)
		g_string_append_printf(known, "%s%s", known->len ? ", " : "", key->name);
	return refuse(walk, node, "unknown key '%s'; known here: %s",
		      node->type == YAML_SCALAR_NODE ? scalar(node) : "?", known->str);
}

static bool read_list(const struct walk *walk, yaml_node_t *node, const struct config_key *key, const char *path,
		      void *data)
{
	yaml_node_item_t *start = node->data.sequence.items.start;
	uint32_t *count = (uint32_t *)((char *)data + key->count_offset);
	char *entries;
	size_t items;

	if (node->type != YAML_SEQUENCE_NODE)
		return refuse(walk, node, "%s: takes a list", path);
	items = (size_t)(node->data.sequence.items.top - start);
	if (items < key->least)
		return refuse(walk, node, "%s: empty; give at least %u", path, key->least);
	entries = g_malloc0_n(items, key->size);
	*(void **)((char *)data + key->offset) = entries;
	for (size_t i = 0; i < items; i++) {
		yaml_node_t *item = yaml_document_get_node(walk->document, start[i]);
		g_autofree char *below = g_strdup_printf("%s[%zu]", path, i);

		*count = (uint32_t)i + 1;
		if (key->entry == CONFIG_KIND_SECTION) {
			if (!read_section(walk, item, key->section, below, entries + i * key->size))
				return false;
		} else if (check_scalar(walk, item, key, key->entry, below)) {
			store_scalar(item, key, key->entry, entries + i * key->size);
		} else {
			return false;
		}
	}
	return true;
}

static bool read_value(const struct walk *walk, yaml_node_t *node, const struct config_key *key, const char *path,
		       void *data)
{
	void *place = (char *)data + key->offset;

	if (key->kind == CONFIG_KIND_LIST)
		return read_list(walk, node, key, path, data);
	if (key->kind == CONFIG_KIND_SECTION && node->type != YAML_MAPPING_NODE)
		return refuse(walk, node, "%s: takes a mapping of keys", path);
	if (key->kind == CONFIG_KIND_SECTION && !key->section)
		return true;
	if (key->kind == CONFIG_KIND_SECTION)
		return read_section(walk, node, key->section, path,
				    *(void **)place = g_malloc0(key->section->size));
	if (!check_scalar(walk, node, key, key->kind, path))
		return false;
	if (!means_absent(node, key))
		store_scalar(node, key, key->kind, place);
	return true;
}

static bool check_complete(const struct walk *walk, const yaml_node_t *node, const struct config_section *section,
			   GHashTable *seen)
{
	for (const struct config_key *key = section->keys; key->name; key++)
		if (key->needed && !g_hash_table_contains(seen, key->name))
			return refuse(walk, node, "missing required mapping field: %s", key->name);
	return true;
}

/* `data`: zeros; what is read or has a default is in it afterwards, also where it fails. */
static bool read_section(const struct walk *walk, yaml_node_t *node, const struct config_section *section,
			 const char *path, void *data)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	config_section_fill(section, data);
	if (node->type != YAML_MAPPING_NODE)
		return refuse(walk, node, "%s: takes a mapping of keys", path);
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		yaml_node_t *name = yaml_document_get_node(walk->document, pair->key);
		yaml_node_t *value = yaml_document_get_node(walk->document, pair->value);
		const struct config_key *key =
			name->type == YAML_SCALAR_NODE ? config_key_find(section, scalar(name)) : NULL;
		g_autofree char *below = NULL;

		if (!key)
			return refuse_key(walk, name, section);
		if (!g_hash_table_add(seen, (gpointer)key->name))
			return refuse(walk, name, "mapping field already seen: %s", key->name);
		if (g_strcmp0(key->former, scalar(name)) == 0)
			log_warning("%s:%zu:%zu: key '%s' is now '%s'; rename it, the next version refuses it",
				    walk->path, name->start_mark.line + 1, name->start_mark.column + 1, key->former,
				    key->name);
		below = *path ? g_strdup_printf("%s.%s", path, key->name) : g_strdup(key->name);
		if (!read_value(walk, value, key, below, data))
			return false;
		if (walk->given)
			g_hash_table_add(walk->given, g_steal_pointer(&below));
	}
	return check_complete(walk, node, section, seen);
}

static bool refuse_text(const yaml_parser_t *parser, const char *path, GError **error)
{
	g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s:%zu:%zu: not YAML: %s", path,
		    parser->problem_mark.line + 1, parser->problem_mark.column + 1,
		    parser->problem ? parser->problem : "cannot be read");
	return false;
}

static bool read_document(yaml_document_t *document, const char *path, const struct config_section *section,
			  GHashTable *given, void *data, GError **error)
{
	const struct walk walk = { document, path, given, error };
	yaml_node_t *root = yaml_document_get_root_node(document);

	if (root && root->type != YAML_MAPPING_NODE)
		return refuse(&walk, root, "the file takes a mapping of keys, as in `name: x`");
	if (root)
		return read_section(&walk, root, section, "", data);
	g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s: holds no YAML document", path);
	return false;
}

/* A second document in the file would not be read. */
static bool check_end(yaml_parser_t *parser, const char *path, GError **error)
{
	yaml_document_t document;
	yaml_node_t *root;

	if (!yaml_parser_load(parser, &document))
		return refuse_text(parser, path, error);
	root = yaml_document_get_root_node(&document);
	if (root)
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX,
			    "%s:%zu:%zu: a second YAML document begins here; a file holds one",
			    path, root->start_mark.line + 1, root->start_mark.column + 1);
	yaml_document_delete(&document);
	return !root;
}

/* What YAML has beside plain values: named once and used again, or of a kind that the file names. */
static const char *find_extra(const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL;
	const yaml_char_t *tag = NULL;

	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end
			       ? "a %TAG directive"
			       : NULL;
	case YAML_ALIAS_EVENT:
		return "an alias (*)";
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		break;
	default:
		return NULL;
	}
	return anchor ? "an anchor (&)" : tag ? "a tag (!)" : NULL;
}

/* Texts would end there. */
static bool has_zero(const yaml_event_t *event)
{
	return event->type == YAML_SCALAR_EVENT &&
	       memchr(event->data.scalar.value, '\0', event->data.scalar.length) != NULL;
}

/* How much deeper an event takes what follows it: 1, 0 or -1. */
static int descent(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return 1;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return -1;
	default:
		return 0;
	}
}

/* `depth` is that of what follows the event. */
static bool check_event(const yaml_event_t *event, int depth, const char *path, GError **error)
{
	const char *extra = find_extra(event);

	if (!extra && !has_zero(event) && depth <= MAX_DEPTH)
		return true;
	g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s:%zu:%zu: %s%s", path, event->start_mark.line + 1,
		    event->start_mark.column + 1,
		    extra ?: depth > MAX_DEPTH ? "nested too deeply; no key takes that"
					       : "a character of code 0; leave it out",
		    extra ? "; a file has no anchors, aliases or tags: write the value itself" : "");
	return false;
}

/*
 * Whether the text has nothing beside plain values, and no more than MAX_DEPTH within each other: libyaml's documents
 * would take anchors and tags without a word.
 */
static bool check_plain(const char *text, size_t length, const char *path, GError **error)
{
	yaml_parser_t parser;
	yaml_event_t event;
	bool good = true;
	bool ended = false;
	int depth = 0;

	if (!yaml_parser_initialize(&parser))
		g_error("out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (good && !ended) {
		if (!yaml_parser_parse(&parser, &event)) {
			good = refuse_text(&parser, path, error);
			break;
		}
		depth += descent(&event);
		good = check_event(&event, depth, path, error);
		ended = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return good;
}

static bool read_text(const char *text, size_t length, const char *path, const struct config_section *section,
		      GHashTable *given, void *data, GError **error)
{
	yaml_parser_t parser;
	yaml_document_t document;
	bool good;

	if (!check_plain(text, length, path, error))
		return false;
	if (!yaml_parser_initialize(&parser))
		g_error("out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	if (yaml_parser_load(&parser, &document)) {
		good = check_end(&parser, path, error) && read_document(&document, path, section, given, data, error);
		yaml_document_delete(&document);
	} else {
		good = refuse_text(&parser, path, error);
	}
	yaml_parser_delete(&parser);
	return good;
}

void *config_read(const char *path, const struct config_section *section, GHashTable *given, GError **error)
{
	g_autoptr(GError) reason = NULL;
	gsize length = 0;
	g_autofree char *text = read_file(path, MAX_FILE_BYTES, &length, &reason);
	void *data;

	if (!text) {
		g_set_error_literal(error, CONFIG_ERROR, CONFIG_ERROR_READ, reason->message);
		return NULL;
	}
	if (length == 0) {
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_READ,
			    "%s: is empty; a configuration is YAML text of at most 4 MiB", path);
		return NULL;
	}
	data = g_malloc0(section->size);
	if (read_text(text, length, path, section, given, data, error))
		return data;
	config_section_free(section, data);
	return NULL;
}
