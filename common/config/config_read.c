/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_read.h"

#include <float.h>
#include <stdarg.h>
#include <string.h>
#include <yaml.h>

#include "common/read_file.h"
#include "common/read_number.h"
#include "common/visible.h"

#define LOG_SUBSYSTEM "config"
#include "common/log.h"

/* No configuration nests deeper; libyaml takes time that grows with the square of it. */
#define MAX_DEPTH 64

#define TEXT_MAX 4096

struct walk {
	yaml_document_t *document;
	const char *path;
	GHashTable *given; /* paths of keys, or NULL */
	GError **error;
};

static bool read_section(const struct walk *walk, yaml_node_t *node,
			 const struct config_section *section, const char *path, void *data);

static bool G_GNUC_PRINTF(3, 4)
	refuse(const struct walk *walk, yaml_mark_t where, const char *format, ...)
{
	g_autofree char *message = NULL;
	va_list arguments;

	va_start(arguments, format);
	message = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(walk->error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s:%zu:%zu: %s", walk->path,
		    where.line + 1, where.column + 1, message);
	return false;
}

static const char *scalar(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

/* A 0 before digits makes an octal number of them for some readers of YAML. */
static bool is_padded(const char *text)
{
	text += *text == '-';
	return text[0] == '0' && g_ascii_isdigit(text[1]);
}

/* Lines may be several. */
static bool is_visible(const char *text)
{
	g_autofree char *shown = visible_lines(text);

	/* YAML takes U+FFFE and U+FFFF as escapes only, and they are written as they are. */
	return strcmp(shown, text) == 0 && !strstr(text, "\xef\xbf\xbe") &&
	       !strstr(text, "\xef\xbf\xbf");
}

/*
 * Reads one value into its field or entry; `kind` is that of the key, or of each entry of its list.
 */
static bool read_scalar(const struct walk *walk, const yaml_node_t *node,
			const struct config_key *key, enum config_kind kind, const char *path,
			void *place)
{
	const guint64 max =
		key->size >= 8 ? G_MAXUINT64 : (G_GUINT64_CONSTANT(1) << (key->size * 8)) - 1;
	const yaml_mark_t where = node->start_mark;
	const char *text = scalar(node);
	g_autofree char *words = NULL;
	uint64_t whole = 0;
	double number = 1;

	if (!text)
		return refuse(walk, where, "%s: takes one value, not a list or mapping", path);
	switch (kind) {
	case CONFIG_KIND_UINT:
		if (is_padded(text) || !read_number_unsigned(text, 0, max, &whole))
			return refuse(
				walk, where,
				"%s: '%s' is not a whole number in range; write digits only, the "
				"unit is in the key's name",
				path, text);
		number = (double)whole;
		break;
	case CONFIG_KIND_NUMBER:
		if (is_padded(text) || !read_number(text, -DBL_MAX, DBL_MAX, &number))
			return refuse(
				walk, where,
				"%s: '%s' is not a number; write digits only, the unit is in the "
				"key's name",
				path, text);
		break;
	case CONFIG_KIND_FLAG:
		whole = strcmp(text, "true") == 0;
		if (!whole && strcmp(text, "false") != 0)
			return refuse(walk, where, "%s: '%s' is neither true nor false", path,
				      text);
		break;
	case CONFIG_KIND_WORD:
		while (key->words[whole] && strcmp(key->words[whole], text) != 0)
			whole++;
		words = g_strjoinv(", ", (char **)key->words);
		if (!key->words[whole])
			return refuse(walk, where, "%s: '%s' is not one of %s", path, text, words);
		break;
	default:
		if (!is_visible(text))
			return refuse(
				walk, where,
				"%s: '%s' has a character that is not shown and changes how it "
				"reads",
				path, text);
		if (strlen(text) > TEXT_MAX)
			return refuse(walk, where, "%s: longer than %d characters", path, TEXT_MAX);
		g_free(*(char **)place);
		*(char **)place = g_strdup(text);
		return true;
	}
	if (fpclassify(number) == FP_ZERO && key->zero == CONFIG_ZERO_IS_REFUSED)
		return refuse(walk, where,
			      "%s: 0 makes no sense; give more, or leave it out for the default",
			      path);
	if (fpclassify(number) == FP_ZERO && key->zero == CONFIG_ZERO_IS_ABSENT)
		return true;
	memcpy(place, kind == CONFIG_KIND_NUMBER ? (const void *)&number : &whole, key->size);
	return true;
}

static bool read_list(const struct walk *walk, yaml_node_t *node, const struct config_key *key,
		      const char *path, void *data)
{
	yaml_node_item_t *start = node->data.sequence.items.start;
	uint32_t *count = (uint32_t *)((char *)data + key->count_offset);
	char *entries;
	size_t items;

	if (key->or_one && scalar(node)) {
		*(void **)((char *)data + key->offset) = entries = g_malloc0(key->size);
		*count = 1;
		return read_scalar(walk, node, key, key->entry, path, entries);
	}
	if (node->type != YAML_SEQUENCE_NODE)
		return refuse(walk, node->start_mark, "%s: takes a list", path);
	items = (size_t)(node->data.sequence.items.top - start);
	if (items < key->least)
		return refuse(walk, node->start_mark, "%s: empty; give at least %u", path,
			      key->least);
	entries = g_malloc0_n(items, key->size);
	*(void **)((char *)data + key->offset) = entries;
	for (size_t i = 0; i < items; i++) {
		yaml_node_t *item = yaml_document_get_node(walk->document, start[i]);
		g_autofree char *below = g_strdup_printf("%s[%zu]", path, i);
		void *entry = entries + i * key->size;

		*count = (uint32_t)i + 1;
		if (!(key->entry == CONFIG_KIND_SECTION
			      ? read_section(walk, item, key->section, below, entry)
			      : read_scalar(walk, item, key, key->entry, below, entry)))
			return false;
	}
	return true;
}

static bool refuse_key(const struct walk *walk, const yaml_node_t *node,
		       const struct config_section *section)
{
	g_autoptr(GString) known = g_string_new(NULL);

	if (section->gone && g_strcmp0(scalar(node), section->gone) == 0)
		return refuse(walk, node->start_mark, "key '%s' is gone: %s", section->gone,
			      section->advice);
	for (const struct config_key *key = section->keys; key->name; key++)
		g_string_append_printf(known, "%s%s", known->len ? ", " : "", key->name);
	return refuse(walk, node->start_mark, "unknown key '%s'; known here: %s",
		      scalar(node) ?: "?", known->str);
}

/* `data`: zeros; what is read or has a default is in it afterwards, also where it fails. */
static bool read_section(const struct walk *walk, yaml_node_t *node,
			 const struct config_section *section, const char *path, void *data)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	config_section_fill(section, data);
	if (node->type != YAML_MAPPING_NODE)
		return refuse(walk, node->start_mark, "%s: takes a mapping of keys", path);
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		yaml_node_t *name = yaml_document_get_node(walk->document, pair->key);
		yaml_node_t *value = yaml_document_get_node(walk->document, pair->value);
		const struct config_key *key =
			scalar(name) ? config_key_find(section, scalar(name)) : NULL;
		g_autofree char *below = NULL;
		void *place;
		bool good = true;

		if (!key)
			return refuse_key(walk, name, section);
		if (!g_hash_table_add(seen, (gpointer)key->name))
			return refuse(walk, name->start_mark, "mapping field already seen: %s",
				      key->name);
		if (g_strcmp0(key->former, scalar(name)) == 0)
			log_warning(
				"%s:%zu:%zu: key '%s' is now '%s'; rename it, the next version refuses it",
				walk->path, name->start_mark.line + 1, name->start_mark.column + 1,
				key->former, key->name);
		below = *path ? g_strdup_printf("%s.%s", path, key->name) : g_strdup(key->name);
		place = (char *)data + key->offset;
		if (key->kind == CONFIG_KIND_LIST)
			good = read_list(walk, value, key, below, data);
		else if (key->kind != CONFIG_KIND_SECTION)
			good = read_scalar(walk, value, key, key->kind, below, place);
		else if (value->type != YAML_MAPPING_NODE)
			good = refuse(walk, value->start_mark, "%s: takes a mapping of keys",
				      below);
		else if (key->section)
			good = read_section(walk, value, key->section, below,
					    *(void **)place = g_malloc0(key->section->size));
		if (!good)
			return false;
		if (walk->given)
			g_hash_table_add(walk->given, g_steal_pointer(&below));
	}
	for (const struct config_key *key = section->keys; key->name; key++)
		if (key->needed && !g_hash_table_contains(seen, key->name))
			return refuse(walk, node->start_mark, "missing required mapping field: %s",
				      key->name);
	return true;
}

/*
 * What YAML has beside plain values: named once and used again, or of a kind that the file names.
 */
static const char *find_extra(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return event->data.document_start.tag_directives.start !=
				       event->data.document_start.tag_directives.end
			       ? "a %TAG directive"
			       : NULL;
	case YAML_ALIAS_EVENT:
		return "an alias (*)";
	case YAML_SCALAR_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT: /* the three begin with the same two fields */
		return event->data.scalar.anchor ? "an anchor (&)"
		       : event->data.scalar.tag  ? "a tag (!)"
						 : NULL;
	default:
		return NULL;
	}
}

static bool refuse_text(const struct walk *walk, const yaml_parser_t *parser)
{
	return refuse(walk, parser->problem_mark, "not YAML: %s",
		      parser->problem ?: "cannot be read");
}

static void start_parser(yaml_parser_t *parser, const char *text, size_t length)
{
	if (!yaml_parser_initialize(parser))
		g_error("out of memory");
	yaml_parser_set_input_string(parser, (const unsigned char *)text, length);
}

/*
 * Whether the text is one document, of plain values alone that are no more than MAX_DEPTH within
 * each other: libyaml's documents would take anchors and tags without a word.
 */
static bool check_plain(const struct walk *walk, const char *text, size_t length)
{
	yaml_parser_t parser;
	yaml_event_t event;
	yaml_event_type_t former = YAML_NO_EVENT, type = YAML_NO_EVENT;
	bool good = true;
	int documents = 0;
	int depth = 0; /* of what follows the event */

	start_parser(&parser, text, length);
	while (good && type != YAML_STREAM_END_EVENT) {
		const char *extra;

		if (!yaml_parser_parse(&parser, &event)) {
			good = refuse_text(walk, &parser);
			break;
		}
		former = type;
		type = event.type;
		documents += type == YAML_DOCUMENT_START_EVENT;
		depth += (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT) -
			 (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT);
		extra = find_extra(&event);
		if (extra)
			good = refuse(walk, event.start_mark,
				      "%s; a file has no anchors, aliases or tags: write the "
				      "value itself",
				      extra);
		else if (depth > MAX_DEPTH)
			good = refuse(walk, event.start_mark,
				      "nested too deeply; no key takes that");
		else if (type == YAML_SCALAR_EVENT &&
			 memchr(event.data.scalar.value, '\0', event.data.scalar.length))
			good = refuse(walk, event.start_mark,
				      "a character of code 0; leave it out");
		else if (documents > 1 && former == YAML_DOCUMENT_START_EVENT)
			good = refuse(walk, event.start_mark,
				      "a second YAML document begins here; a file holds one");
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return good;
}

static bool read_text(struct walk *walk, const char *text, size_t length,
		      const struct config_section *section, void *data)
{
	yaml_parser_t parser;
	yaml_document_t document;
	yaml_node_t *root;
	bool good;

	if (!check_plain(walk, text, length))
		return false;
	start_parser(&parser, text, length);
	if (!yaml_parser_load(&parser, &document)) {
		good = refuse_text(walk, &parser);
	} else {
		walk->document = &document;
		root = yaml_document_get_root_node(&document);
		if (!root)
			g_set_error(walk->error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX,
				    "%s: holds no YAML document", walk->path);
		else if (root->type != YAML_MAPPING_NODE)
			refuse(walk, root->start_mark,
			       "the file takes a mapping of keys, as in `name: x`");
		good = root && root->type == YAML_MAPPING_NODE &&
		       read_section(walk, root, section, "", data);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	return good;
}

void *config_read(const char *path, const struct config_section *section, GHashTable *given,
		  GError **error)
{
	g_autoptr(GError) reason = NULL;
	gsize length = 0;
	g_autofree char *text = read_file(path, CONFIG_FILE_BYTES_MAX, &length, &reason);
	struct walk walk = {NULL, path, given, error};
	void *data;

	if (!text)
		g_set_error_literal(error, CONFIG_ERROR, CONFIG_ERROR_READ, reason->message);
	else if (length == 0)
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_READ,
			    "%s: is empty; a configuration is YAML text of at most 4 MiB", path);
	if (length == 0)
		return NULL;
	data = g_malloc0(section->size);
	if (read_text(&walk, text, length, section, data))
		return data;
	config_section_free(section, data);
	return NULL;
}
