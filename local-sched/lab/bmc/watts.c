/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/bmc/watts.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DECIMALS = 3 };

bool watts_parse(const char *text, uint32_t *ret_mw)
{
	uint64_t value = 0;
	int decimals = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text) && value <= WATTS_MAX_MW; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text) && decimals < DECIMALS; text++) {
			value = value * 10 + (uint64_t)(*text - '0');
			decimals++;
		}
		if (decimals == 0)
			return false;
	}
	for (; decimals < DECIMALS; decimals++)
		value *= 10;
	if (*text == '\n')
		text++;
	if (*text || value > WATTS_MAX_MW)
		return false;
	*ret_mw = (uint32_t)value;
	return true;
}

static double age_s(const struct stat *status)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)(now.tv_sec - status->st_mtim.tv_sec) +
	       (double)(now.tv_nsec - status->st_mtim.tv_nsec) / 1e9;
}

bool watts_read(const char *path, double max_age_s, uint32_t *ret_mw)
{
	char text[WATTS_TEXT_MAX + 1];
	struct stat status;
	ssize_t length = -1;
	/* Not blocking, so that a pipe put in the file's place cannot stop the BMC. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && age_s(&status) <= max_age_s)
		length = read(fd, text, sizeof text);
	close(fd);
	if (length <= 0 || length > WATTS_TEXT_MAX)
		return false;
	text[length] = '\0';
	return watts_parse(text, ret_mw);
}
