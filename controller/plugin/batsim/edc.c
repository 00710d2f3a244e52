/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libvirtbed-batsim.so: policies of the tree as an external decision component of Batsim 5, which
 * has these three functions (its batsim_edc.h). Messages are JSON. The initialisation data is the
 * name of a policy, or an object: {"policy": "easy", "immediate": false}.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/version/build_version.h"
#include "controller/plugin/batsim/batprotocol.h"
#include "controller/plugin/batsim/batsim_scheduler.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED uint8_t batsim_edc_init(const uint8_t *data, uint32_t size, uint32_t *ret_flags,
				 uint8_t **ret_reply, uint32_t *ret_size);
EXPORTED uint8_t batsim_edc_deinit(void);
EXPORTED uint8_t batsim_edc_take_decisions(const uint8_t *happened, uint32_t size,
					   uint8_t **ret_decisions, uint32_t *ret_size);

/* Batsim has one component of a file: it loads a copy of its own for each. */
static struct batsim_scheduler *scheduler;
static char *said; /* what was answered last, which Batsim reads until the next call */

/* Keeps a message for Batsim; takes over `message`. A size counts the final 0. */
static void say(char *message, uint8_t **ret_text, uint32_t *ret_size)
{
	g_free(said);
	said = message;
	*ret_text = (uint8_t *)said;
	*ret_size = (uint32_t)strlen(said) + 1;
}

/* Says why a call failed: Batsim shows a code alone. */
static uint8_t fail(const char *what, const char *why)
{
	fprintf(stderr, "libvirtbed-batsim: %s: %s\n", what, why);
	return 1;
}

uint8_t batsim_edc_init(const uint8_t *data, uint32_t size, uint32_t *ret_flags,
			uint8_t **ret_reply, uint32_t *ret_size)
{
	g_autofree char *text = g_strndup((const char *)data, data ? size : 0);
	g_autoptr(json_t) object =
		*text == '{' ? json_parse(text, strlen(text), "init", NULL) : NULL;
	const char *name = object ? json_string_value(json_object_get(object, "policy")) : text;
	g_autoptr(GError) error = NULL;
	struct policy policy;
	g_autoptr(json_t) hello = batprotocol_hello("virtbed", build_version());
	char message[1024];

	if (!name || !*name)
		return fail("init", "give a policy: its name, or {\"policy\": \"easy\"}");
	if (policy_parse(name, &policy, message, sizeof(message)) < 0)
		return fail("init", message);
	batsim_scheduler_free(scheduler);
	scheduler =
		batsim_scheduler_new(&policy, json_is_true(json_object_get(object, "immediate")),
				     &error);
	if (!scheduler)
		return fail("init", error->message);
	*ret_flags = BATPROTOCOL_JSON;
	say(json_text(hello), ret_reply, ret_size);
	return 0;
}

uint8_t batsim_edc_deinit(void)
{
	g_clear_pointer(&scheduler, batsim_scheduler_free);
	g_clear_pointer(&said, g_free);
	return 0;
}

uint8_t batsim_edc_take_decisions(const uint8_t *happened, uint32_t size G_GNUC_UNUSED,
				  uint8_t **ret_decisions, uint32_t *ret_size)
{
	const char *text = (const char *)happened;
	g_autoptr(GError) error = NULL;
	g_autofree char *asked = batprotocol_text_to_4(text, &error);
	g_autofree char *answer = NULL;
	char *decisions;
	bool over = false;

	if (!scheduler)
		return fail("decisions", "batsim_edc_init() has not been called");
	answer = asked ? batsim_scheduler_answer(scheduler, asked, &over, &error) : NULL;
	decisions = answer ? batprotocol_text_to_5(answer, &error) : NULL;
	if (!decisions)
		return fail("decisions", error->message);
	say(decisions, ret_decisions, ret_size);
	return 0;
}
