/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/config/config_variant.h"

#include <glib/gstdio.h>
#include <string.h>

const char config_variant_base[] =
	"name: t\n"
	"clusters:\n"
	"  - name: a\n"
	"    nodes: 2\n"
	"    cores: 1\n"
	"    memory_mib: 100\n"
	"types:\n"
	"  - {name: x, benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1}\n"
	"estimates:\n"
	"  - {type: x, cluster: a, etc_s: 0.1, eec_j: 3}\n"
	"workload:\n"
	"  arrival_mean_s: 1.1\n"
	"  duration_s: 10\n"
	"  utility_max: [1, 2]\n"
	"experiment:\n"
	"  policies: [easy]\n"
	"  limits: [1, 0.7]\n"
	"  mapping_interval_s: 1\n"
	"  duration_s: 10\n";

char *config_variant_write(const char *from, const char *to)
{
	g_autofree char *path = NULL;
	const char *place = strstr(config_variant_base, from);
	g_autoptr(GString) text = g_string_new(NULL);
	int fd = g_file_open_tmp("virtbed-config-XXXXXX.yaml", &path, NULL);

	g_assert_nonnull(place);
	g_string_append_len(text, config_variant_base, place - config_variant_base);
	g_string_append(text, to);
	g_string_append(text, place + strlen(from));
	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
	return g_steal_pointer(&path);
}
