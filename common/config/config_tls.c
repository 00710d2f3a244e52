/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_tls.h"

static const struct config_key tls_keys[] = {
	{CONFIG_TEXT(tls, ca), .needed = true,
	 .help = "file (PEM): whose certificates are trusted. Every certificate of it is as good as a controller's."},
	{CONFIG_TEXT(tls, certificate), .needed = true,
	 .help = "file (PEM): what this machine's daemons show."},
	{CONFIG_TEXT(tls, key), .needed = true, .help = "file with its key, mode 0600."},
	{NULL},
};

const struct config_section config_tls_section = {
	tls_keys, sizeof(struct config_tls),
	"Needed where a `local_scheduler` is on another machine. On each machine the files are its own."};
