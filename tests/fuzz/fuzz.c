/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = g_malloc(size + 1);

	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
	static int file = -1;
	static char path[64];

	if (file < 0) {
		file = memfd_create("fuzz", MFD_CLOEXEC);
		g_assert_cmpint(file, >=, 0);
		g_snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	g_assert_cmpint(ftruncate(file, 0), ==, 0);
	g_assert_cmpint(pwrite(file, data, size, 0), ==, (gssize)size);
	return path;
}

void fuzz_silence(void)
{
	g_setenv("VIRTBED_LOG", "error", TRUE);
}
