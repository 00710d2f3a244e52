/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config_strict.h"

#include <float.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <yaml.h>

#include "common/config.h"
#include "common/config_schema.h"
#include "common/read_number.h"
#include "common/visible.h"

/* No configuration nests deeper; libyaml takes time that grows with the square of it. */
#define MAX_DEPTH 64

struct walk {
	yaml_document_t *document;
	const char *path;
	GHashTable *given; /* paths of keys, or NULL */
	GError **error;
};

static bool check_node(const struct walk *walk, yaml_node_t *node,
		       const cyaml_schema_value_t *schema, const char *key);

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

/* A 0 before digits makes an octal number of them for some readers of YAML, libcyaml among them. */
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

/* One of the words of the schema, which are all told where it is not. */
static bool check_word(const struct walk *walk, const yaml_node_t *node,
		       const cyaml_schema_value_t *schema, const char *key)
{
	g_autoptr(GString) known = g_string_new(NULL);

	for (uint32_t i = 0; i < schema->enumeration.count; i++) {
		const char *word = schema->enumeration.strings[i].str;

		if (strcmp(scalar(node), word) == 0)
			return true;
		g_string_append_printf(known, "%s%s", i ? ", " : "", word);
	}
	return refuse(walk, node, "%s: '%s' is not one of %s", key, scalar(node), known->str);
}

/* Lines may be several. */
static bool is_visible(const char *text)
{
	g_autofree char *shown = visible_lines(text);

	return strcmp(shown, text) == 0;
}

static bool check_scalar(const struct walk *walk, const yaml_node_t *node,
			 const cyaml_schema_value_t *schema, const char *key)
{
	if (node->type != YAML_SCALAR_NODE)
		return refuse(walk, node, "%s: takes one value, not a list or mapping", key);
	if (schema->type == CYAML_UINT && !is_unsigned(scalar(node), schema->data_size))
		return refuse(walk, node,
			      "%s: '%s' is not a whole number in range; write digits only, the unit is "
			      "in the key's name",
			      key, scalar(node));
	if (schema->type == CYAML_FLOAT && !is_double(scalar(node)))
		return refuse(walk, node,
			      "%s: '%s' is not a number; write digits only, the unit is in the "
			      "key's name",
			      key, scalar(node));
	/* libcyaml takes any word that it does not know for true. */
	if (schema->type == CYAML_BOOL && strcmp(scalar(node), "true") != 0 &&
	    strcmp(scalar(node), "false") != 0)
		return refuse(walk, node, "%s: '%s' is neither true nor false", key, scalar(node));
	if (schema->type == CYAML_STRING && !is_visible(scalar(node)))
		return refuse(walk, node, "%s: '%s' has a character that is not shown and changes how it reads", key,
			      scalar(node));
	return schema->type != CYAML_ENUM || check_word(walk, node, schema, key);
}

/* The value of a field whose 0 makes no sense. */
static bool check_zero(const struct walk *walk, const yaml_node_t *node,
		       const cyaml_schema_field_t *field, const char *key)
{
	if ((field->value.type != CYAML_UINT && field->value.type != CYAML_FLOAT) ||
	    config_schema_zero(field->key) != CONFIG_ZERO_IS_REFUSED || !is_zero(scalar(node)))
		return true;
	return refuse(walk, node, "%s: 0 makes no sense; give more, or leave it out for the default",
		      key);
}

static const cyaml_schema_field_t *find_field(const cyaml_schema_field_t *fields, const char *key)
{
	for (; fields->key; fields++)
		if (strcmp(fields->key, key) == 0)
			return fields;
	return NULL;
}

/* Keys of former versions, and what to do with them. */
static const struct {
	const char *key;
	const char *advice;
} former[] = {
	{ "virtual_time_is_progress", "leave it out where it is true, for virtual time stands still in the penalty "
				      "by default; write virtual_time_in_penalty: true where it is false" },
};

static bool refuse_key(const struct walk *walk, const yaml_node_t *node,
		       const cyaml_schema_field_t *fields)
{
	g_autoptr(GString) known = g_string_new(NULL);

	for (gsize i = 0; node->type == YAML_SCALAR_NODE && i < G_N_ELEMENTS(former); i++)
		if (strcmp(scalar(node), former[i].key) == 0)
			return refuse(walk, node, "key '%s' is gone: %s", former[i].key, former[i].advice);
	for (; fields->key; fields++)
		g_string_append_printf(known, "%s%s", known->len ? ", " : "", fields->key);
	return refuse(walk, node, "unknown key '%s'; known here: %s",
		      node->type == YAML_SCALAR_NODE ? scalar(node) : "?", known->str);
}

static bool check_mapping(const struct walk *walk, yaml_node_t *node,
			  const cyaml_schema_value_t *schema, const char *key)
{
	if (node->type != YAML_MAPPING_NODE)
		return refuse(walk, node, "%s: takes a mapping of keys", key);
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		yaml_node_t *name = yaml_document_get_node(walk->document, pair->key);
		yaml_node_t *value = yaml_document_get_node(walk->document, pair->value);
		const cyaml_schema_field_t *field =
			name->type == YAML_SCALAR_NODE ?
				find_field(schema->mapping.fields, scalar(name)) :
				NULL;
		g_autofree char *below = NULL;

		if (!field)
			return refuse_key(walk, name, schema->mapping.fields);
		below = *key ? g_strdup_printf("%s.%s", key, field->key) : g_strdup(field->key);
		if (!check_node(walk, value, &field->value, below) ||
		    !check_zero(walk, value, field, below))
			return false;
		if (walk->given)
			g_hash_table_add(walk->given, g_steal_pointer(&below));
	}
	return true;
}

static bool check_list(const struct walk *walk, yaml_node_t *node,
		       const cyaml_schema_value_t *schema, const char *key)
{
	yaml_node_item_t *start = node->data.sequence.items.start;

	if (node->type != YAML_SEQUENCE_NODE)
		return refuse(walk, node, "%s: takes a list", key);
	if (node->data.sequence.items.top - start < (ptrdiff_t)schema->sequence.min)
		return refuse(walk, node, "%s: empty; give at least %u", key, schema->sequence.min);
	for (yaml_node_item_t *item = start; item < node->data.sequence.items.top; item++) {
		g_autofree char *below = g_strdup_printf("%s[%td]", key, item - start);

		if (!check_node(walk, yaml_document_get_node(walk->document, *item),
				schema->sequence.entry, below))
			return false;
	}
	return true;
}

static bool check_node(const struct walk *walk, yaml_node_t *node,
		       const cyaml_schema_value_t *schema, const char *key)
{
	switch (schema->type) {
	case CYAML_MAPPING:
		return check_mapping(walk, node, schema, key);
	case CYAML_SEQUENCE:
		return check_list(walk, node, schema, key);
	default:
		return check_scalar(walk, node, schema, key);
	}
}

static bool refuse_text(const yaml_parser_t *parser, const char *path, GError **error)
{
	g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s:%zu:%zu: not YAML: %s", path,
		    parser->problem_mark.line + 1, parser->problem_mark.column + 1,
		    parser->problem ? parser->problem : "cannot be read");
	return false;
}

static bool check_document(yaml_document_t *document, const char *path,
			   const cyaml_schema_value_t *schema, GHashTable *given, GError **error)
{
	const struct walk walk = { document, path, given, error };
	yaml_node_t *root = yaml_document_get_root_node(document);

	if (root && root->type != YAML_MAPPING_NODE)
		return refuse(&walk, root, "the file takes a mapping of keys, as in `name: x`");
	if (root)
		return check_node(&walk, root, schema, "");
	g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s: holds no YAML document", path);
	return false;
}

/* A second document in the file would be read by nobody. */
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
 * Whether the text has nothing beside plain values, and no more than MAX_DEPTH within each other: libcyaml, and
 * libyaml's documents, would take anchors and tags without a word.
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

bool config_strict_check(const char *text, size_t length, const char *path,
			 const cyaml_schema_value_t *schema, GHashTable *given, GError **error)
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
		good = check_document(&document, path, schema, given, error);
		yaml_document_delete(&document);
		good = good && check_end(&parser, path, error);
	} else {
		good = refuse_text(&parser, path, error);
	}
	yaml_parser_delete(&parser);
	return good;
}
