/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/meters/fake_ipmitool.h"

#include <stdlib.h>
#include <string.h>

#define PROMPT "ipmitool> "

enum { SILENT_MS = 5000 }; /* after which ipmitool gives up, by the meter's timeout_s */

struct child {
	struct child_process base; /* first: operations cast back */
	struct child_setup setup;
	uint16_t port;
	unsigned session; /* 0: none */
	uint8_t controller;
	guint timer_id;
	GString *text; /* what it prints next */
	bool ends;     /* after that */
	bool *gone;    /* while it is heard: set when it is dismissed */
};

static struct fake_ipmitool *tools_of(const struct child *child)
{
	return (struct fake_ipmitool *)child->base.platform;
}

static gboolean on_print(gpointer data)
{
	struct child *child = data;
	g_autofree char *text = g_strdup(child->text->str);
	const bool ends = child->ends;
	bool gone = false;

	child->timer_id = 0;
	g_string_truncate(child->text, 0);
	child->gone = &gone;
	child->setup.heard(CHILD_OUTPUT, text, strlen(text), child->setup.data);
	if (gone)
		return G_SOURCE_REMOVE;
	child->gone = NULL;
	if (ends)
		child->setup.heard(CHILD_OUTPUT, "", 0, child->setup.data);
	return G_SOURCE_REMOVE;
}

static void print_after(struct child *child, guint ms)
{
	g_clear_handle_id(&child->timer_id, g_source_remove);
	child->timer_id = g_timeout_add(ms, on_print, child);
}

static struct child_process *start(const struct platform *platform, const struct child_setup *setup,
				   GError **error)
{
	struct child *child = g_new0(struct child, 1);
	guint ms = 0;

	child->base.platform = platform;
	child->setup = *setup;
	child->text = g_string_new(NULL);
	child->controller = 0x20; /* the BMC */
	for (gsize i = 0; setup->argv[i]; i++)
		if (strcmp(setup->argv[i], "-p") == 0)
			child->port = (uint16_t)atoi(setup->argv[i + 1]);
	child->session = tools_of(child)->log_in(child->port, &ms, tools_of(child)->data);
	child->ends = child->session == 0;
	g_string_assign(child->text, child->session ? PROMPT
						    : "Error: Unable to establish IPMI v2 / RMCP+ "
						      "session\n");
	print_after(child, child->session ? ms : 2 * SILENT_MS);
	return &child->base;
}

static void answer(struct child *child, const char *line)
{
	g_auto(GStrv) words = g_strsplit(line, " ", -1);
	struct fake_ipmi_answer answer = {.code = -1};
	uint8_t request[32];
	size_t size = 0;

	for (gsize i = 1; words[i] && size < sizeof request; i++)
		request[size++] = (uint8_t)strtoul(words[i], NULL, 16);
	tools_of(child)->ask(child->port, child->session, child->controller, request, size, &answer,
			     tools_of(child)->data);
	if (answer.code != 0)
		g_string_append_printf(child->text,
				       "Unable to send RAW command (channel=0x0 netfn=0x%x lun=0x0 "
				       "cmd=0x%x",
				       request[0], request[1]);
	if (answer.code < 0)
		g_string_append(child->text, ")\n");
	else if (answer.code > 0)
		g_string_append_printf(child->text, " rsp=0x%02x): refused\n",
				       (unsigned)answer.code);
	for (size_t i = 0; answer.code == 0 && i < answer.size; i++)
		g_string_append_printf(child->text, " %02x%s", answer.bytes[i],
				       i % 16 == 15 || i + 1 == answer.size ? "\n" : "");
	g_string_append(child->text, PROMPT);
	print_after(child, answer.code < 0 ? SILENT_MS : answer.after_ms);
}

static void leave(struct child *child)
{
	const struct fake_ipmitool *tools = tools_of(child);
	const bool answered =
		!tools->log_out || tools->log_out(child->port, child->session, tools->data);

	child->ends = true;
	print_after(child, answered ? 0 : SILENT_MS);
}

static void say(struct child_process *base, const char *text)
{
	struct child *child = (struct child *)base;
	g_autofree char *line = g_strchomp(g_strdup(text));

	g_string_append_printf(child->text, "%s\n", line);
	if (g_str_has_prefix(line, "raw ")) {
		answer(child, line);
	} else if (strcmp(line, "exit") == 0) {
		leave(child);
	} else {
		if (g_str_has_prefix(line, "set targetaddr ")) {
			child->controller = (uint8_t)strtoul(line + 15, NULL, 16);
			g_string_append_printf(child->text, "Set remote IPMB address to 0x%02x\n",
					       child->controller);
		}
		g_string_append(child->text, PROMPT);
		print_after(child, 0);
	}
}

static void kill_child(struct child_process *base)
{
}

/* It has nothing to do before it ends. */
static bool settle(struct child_process *base, double timeout_s)
{
	return true;
}

static void dismiss(struct child_process *base, guint term_ms, guint kill_ms)
{
	struct child *child = (struct child *)base;

	g_clear_handle_id(&child->timer_id, g_source_remove);
	if (child->gone)
		*child->gone = true;
	g_string_free(child->text, TRUE);
	g_free(child);
}

static const struct platform_children fake_children = {
	.start = start,
	.say = say,
	.kill = kill_child,
	.settle = settle,
	.dismiss = dismiss,
};

void fake_ipmi_reply(struct fake_ipmi_answer *answer, const uint8_t *bytes, size_t size)
{
	g_assert_cmpuint(size, <=, sizeof answer->bytes);
	answer->code = 0;
	answer->size = size;
	memcpy(answer->bytes, bytes, size);
}

void fake_ipmi_reply_record(struct fake_ipmi_answer *answer, uint8_t id, uint8_t next,
			    uint8_t owner, uint8_t number, uint8_t factor, const char *name)
{
	const uint8_t length = (uint8_t)strlen(name);
	uint8_t bytes[2 + 48 + FAKE_IPMI_NAME_MAX] = {next, next == 0xff ? 0xff : 0};
	uint8_t *record = bytes + 2;

	g_assert_cmpuint(length, <=, FAKE_IPMI_NAME_MAX);
	record[0] = id;
	record[2] = 0x51;
	record[3] = 0x01;
	record[4] = (uint8_t)(43 + length);
	record[5] = owner;
	record[7] = number;
	record[21] = 6; /* watts */
	record[24] = factor;
	record[47] = 0xc0 | length;
	memcpy(record + 48, name, length);
	fake_ipmi_reply(answer, bytes, 2 + 48 + (size_t)length);
}

void fake_ipmitool_init(struct fake_ipmitool *tools, const struct platform *base)
{
	tools->platform = *base;
	tools->platform.children = &fake_children;
}
