/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An external decision component of Batsim 5: the C functions of its batsim_edc.h. The component
 * may keep its state in variables of its own, so that a process has one of a file.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "common/error_fail.h"
#include "controller/plugin/batsim/batprotocol.h"
#include "controller/plugin/batsim/batsim_peer.h"

struct edc {
	struct batsim_peer peer; /* first */
	void *object;
	bool begun; /* batsim_edc_init() succeeded */
	uint8_t (*init)(const uint8_t *data, uint32_t size, uint32_t *flags, uint8_t **reply,
			uint32_t *reply_size);
	uint8_t (*deinit)(void);
	uint8_t (*take)(const uint8_t *happened, uint32_t size, uint8_t **decisions,
			uint32_t *decisions_size);
};

static void edc_free(struct batsim_peer *peer, bool kindly G_GNUC_UNUSED)
{
	struct edc *edc = (struct edc *)peer;

	if (edc->begun)
		edc->deinit();
	if (edc->object)
		dlclose(edc->object);
	g_free(edc);
}

static char *edc_ask(struct batsim_peer *peer, const char *message, GError **error)
{
	struct edc *edc = (struct edc *)peer;
	g_autofree char *text = batprotocol_text_to_5(message, error);
	uint8_t *decisions = NULL;
	uint32_t size = 0;

	if (!text)
		return NULL;
	if (edc->take((const uint8_t *)text, (uint32_t)strlen(text), &decisions, &size) != 0 ||
	    !decisions)
		return error_null(error, BATSIM_ERROR, BATSIM_ERROR_ENDED,
				  "batsim_edc_take_decisions() has failed");
	/* A text with a final 0; whether the size includes it is not said. */
	return batprotocol_text_to_4((const char *)decisions, error);
}

static bool load(struct edc *edc, const char *file, GError **error)
{
	g_autofree char *path = strchr(file, '/') ? g_strdup(file) : g_strconcat("./", file, NULL);

	edc->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!edc->object)
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START, "cannot load \"%s\": %s",
				  file, dlerror());
	*(void **)&edc->init = dlsym(edc->object, "batsim_edc_init");
	*(void **)&edc->deinit = dlsym(edc->object, "batsim_edc_deinit");
	*(void **)&edc->take = dlsym(edc->object, "batsim_edc_take_decisions");
	if (!edc->init || !edc->deinit || !edc->take)
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START,
				  "\"%s\" is no decision component of Batsim 5: it has no %s()",
				  file,
				  !edc->init     ? "batsim_edc_init"
				  : !edc->deinit ? "batsim_edc_deinit"
						 : "batsim_edc_take_decisions");
	return true;
}

static bool begin(struct edc *edc, const char *file, const char *init, GError **error)
{
	uint32_t flags = 0, size = 0;
	uint8_t *reply = NULL;

	if (edc->init((const uint8_t *)init, (uint32_t)strlen(init), &flags, &reply, &size) != 0)
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START,
				  "batsim_edc_init() of \"%s\" has failed", file);
	edc->begun = true;
	if (!(flags & BATPROTOCOL_JSON))
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START,
				  "\"%s\" speaks the binary format (flags 0x%x), and virtbed only "
				  "JSON (0x2); its initialisation data may choose, as in '%s'",
				  file, flags, "{\"format_json\": true}");
	return true;
}

struct batsim_peer *batsim_peer_edc(const char *file, const char *init, GError **error)
{
	struct edc *edc = g_new0(struct edc, 1);

	edc->peer = (struct batsim_peer){.ask = edc_ask, .free = edc_free};
	if (load(edc, file, error) && begin(edc, file, init, error))
		return &edc->peer;
	edc_free(&edc->peer, false);
	return NULL;
}
