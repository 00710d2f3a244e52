/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which keys each kind of meter takes and needs, and their defaults. A key that the kind does not
 * take is refused: it would be ignored otherwise, and be read as if it were obeyed.
 */
#include "common/config/config_meter.h"

#include <string.h>

enum {
	PORT_IPMI = 623,
	PORT_HTTPS = 443,
	PORT_SNMP = 161,
	CIPHER_SUITE = 17,
	CIPHER_SUITE_MAX = 19, /* the last that IPMI 2.0 has, table 22-20 */
	BAYS = 14, /* of a BladeCenter H */
	/* Kinds as bits. */
	IPMI = 1 << CONFIG_METER_IPMI,
	REDFISH = 1 << CONFIG_METER_REDFISH,
	AMM = 1 << CONFIG_METER_AMM,
	RAPL = 1 << CONFIG_METER_RAPL,
	ACPI = 1 << CONFIG_METER_ACPI,
	MODEL = 1 << CONFIG_METER_MODEL,
};

#define INTERVAL_S 1.0
#define INTERVAL_MIN_S 0.05 /* RAPL is not to be read faster (docs/reference/meters.md) */
#define INTERVAL_MAX_S 60.0

static const char *const kind_names[] = {
	[CONFIG_METER_NONE] = "none", [CONFIG_METER_IPMI] = "ipmi",
	[CONFIG_METER_REDFISH] = "redfish", [CONFIG_METER_AMM] = "amm",
	[CONFIG_METER_RAPL] = "rapl", [CONFIG_METER_ACPI] = "acpi",
	[CONFIG_METER_MODEL] = "model", [CONFIG_METER_SIMULATED] = "simulated", NULL,
};

static const char *const tlses[] = {"verify", "insecure", NULL};
static const char *const auths[] = {"basic", "session", NULL};
static const char *const snmps[] = {"v3", "v1", "v2c", NULL};

static const struct config_key meter_keys[] = {
	{CONFIG_WORD(meter, kind, kind_names), .needed = true,
	 .help = "`ipmi` (a BMC, by ipmitool), `redfish` (a BMC, by https), `amm` (a bay of an IBM BladeCenter, by "
	 "SNMP), `rapl` (CPU packages of this machine only), `acpi` (power meter of this machine), `model` (computed "
	 "from this machine's CPU time), `simulated` (hosts of a simulated cluster, and no others) or `none`."},
	{CONFIG_TEXT(meter, address), .help = "host name or IP address of the BMC; needed with ipmi, redfish and "
	 "amm, which also take `port`, `user` and `password_file`."},
	{CONFIG_UINT(meter, port), .zero = CONFIG_ZERO_IS_REFUSED,
	 .help = "default: 623 (ipmi), 443 (redfish), 161 (amm)."},
	{CONFIG_TEXT(meter, user), .help = "default: ADMIN; with SNMP v1 and v2c there is none."},
	{CONFIG_TEXT(meter, password_file), .help = "file whose first line is the password, or the community of SNMP "
	 "v1 and v2c; needed with ipmi, redfish and amm. Mode 0600, of the user that the local scheduler runs as."},
	{CONFIG_UINT(meter, cipher_suite), .zero = CONFIG_ZERO_IS_REFUSED, CONFIG_TO(1, CIPHER_SUITE_MAX),
	 .help = "ipmi; default: 17."},
	{CONFIG_TEXT(meter, privilege), .help = "ipmi: USER, OPERATOR or ADMINISTRATOR; default: USER."},
	{CONFIG_TEXT(meter, sensor), .help = "ipmi: sensor to read where DCMI is missing."},
	{CONFIG_TEXT(meter, ca_file),
	 .help = "redfish: file (PEM) of the certificates to trust; default: the system's."},
	{CONFIG_WORD(meter, tls, tlses), .help = "redfish: `verify` the BMC's certificate, or take any (`insecure`): "
	 "a machine in between may then read the password."},
	{CONFIG_WORD(meter, auth, auths),
	 .help = "redfish: name and password with every request (`basic`), or one login for all (`session`)."},
	{CONFIG_TEXT(meter, chassis), .help = "redfish: Id of the chassis; default: the first that has watts."},
	{CONFIG_UINT(meter, bay), CONFIG_TO(1, BAYS), .help = "amm: the blade's bay; needed."},
	{CONFIG_WORD(meter, snmp, snmps), .help = "amm: version `v3`, `v1` or `v2c`."},
	{CONFIG_TEXT(meter, sys_root), .help = "rapl, acpi: where sysfs is; default: /sys."},
	{CONFIG_TEXT(meter, proc_root), .help = "model: where procfs is; default: /proc."},
	{CONFIG_NUMBER(meter, idle_w), .max = INFINITY, .says = "watts are numbers that are not negative, core_w too",
	 .help = "model: watts at no load."},
	{CONFIG_NUMBER(meter, core_w), .max = INFINITY, .says = "watts are numbers that are not negative",
	 .help = "model: watts more per busy CPU; one of both is above 0."},
	{CONFIG_NUMBER(meter, interval_s), .fallback = INTERVAL_S, .zero = CONFIG_ZERO_IS_REFUSED,
	 CONFIG_TO(INTERVAL_MIN_S, INTERVAL_MAX_S), .says = "# s is outside @ s",
	 .help = "time between two samples."},
	{NULL},
};

const struct config_section config_meter_section = {meter_keys, sizeof(struct config_meter),
	"A key that the kind does not take is refused."};

/* A key: where it lies, and which kinds take it and cannot do without. */
struct key {
	const char *name;
	size_t offset;
	enum { TEXT, NUMBER, PORT, WATTS } type;
	unsigned takers;
	unsigned needers;
	const char *cure; /* for a missing one */
};

#define KEY(name, type, takers, needers, cure) \
	{ #name, offsetof(struct config_meter, name), type, takers, needers, cure }

static const struct key keys[] = {
	KEY(address, TEXT, IPMI | REDFISH | AMM, IPMI | REDFISH | AMM,
	    "name the BMC's host or IP address"),
	KEY(port, PORT, IPMI | REDFISH | AMM, 0, NULL),
	KEY(user, TEXT, IPMI | REDFISH | AMM, 0, NULL),
	KEY(password_file, TEXT, IPMI | REDFISH | AMM, IPMI | REDFISH | AMM,
	    "name a file that holds the BMC password"),
	KEY(cipher_suite, NUMBER, IPMI, 0, NULL),
	KEY(privilege, TEXT, IPMI, 0, NULL),
	KEY(sensor, TEXT, IPMI, 0, NULL),
	KEY(ca_file, TEXT, REDFISH, 0, NULL),
	KEY(tls, NUMBER, REDFISH, 0, NULL),
	KEY(auth, NUMBER, REDFISH, 0, NULL),
	KEY(chassis, TEXT, REDFISH, 0, NULL),
	KEY(bay, NUMBER, AMM, AMM, "give the blade's bay, 1 to 14"),
	KEY(snmp, NUMBER, AMM, 0, NULL),
	KEY(sys_root, TEXT, RAPL | ACPI, 0, NULL),
	KEY(proc_root, TEXT, MODEL, 0, NULL),
	KEY(idle_w, WATTS, MODEL, MODEL, "give the host's watts at no load"),
	KEY(core_w, WATTS, MODEL, MODEL, "give the watts more per busy CPU"),
};

const char *config_meter_kind_name(enum config_meter_kind kind)
{
	return kind_names[kind];
}

static void *field(const struct config_meter *meter, const struct key *key)
{
	return (char *)meter + key->offset;
}

/* Whether a key has a value; a number that is 0 was left out. */
static bool is_given(const struct config_meter *meter, const struct key *key)
{
	switch (key->type) {
	case TEXT:
		return *(char **)field(meter, key) != NULL;
	case NUMBER:
		return *(const uint32_t *)field(meter, key) != 0;
	case PORT:
		return *(const uint16_t *)field(meter, key) != 0;
	case WATTS:
		return fpclassify(*(const double *)field(meter, key)) != FP_ZERO;
	}
	return false;
}

static void default_text(char **text, const char *value)
{
	if (!*text)
		*text = g_strdup(value);
}

static void fill_in_bmc(struct config_meter *meter, uint16_t port)
{
	if (meter->port == 0)
		meter->port = port;
	if (meter->snmp == CONFIG_METER_SNMP_V3)
		default_text(&meter->user, "ADMIN");
}

void config_meter_fill_in(struct config_meter *meter)
{
	switch (meter->kind) {
	case CONFIG_METER_IPMI:
		fill_in_bmc(meter, PORT_IPMI);
		default_text(&meter->privilege, "USER");
		if (meter->cipher_suite == 0)
			meter->cipher_suite = CIPHER_SUITE;
		break;
	case CONFIG_METER_REDFISH:
		fill_in_bmc(meter, PORT_HTTPS);
		break;
	case CONFIG_METER_AMM:
		fill_in_bmc(meter, PORT_SNMP);
		break;
	case CONFIG_METER_RAPL:
	case CONFIG_METER_ACPI:
		default_text(&meter->sys_root, "/sys");
		break;
	case CONFIG_METER_MODEL:
		default_text(&meter->proc_root, "/proc");
		break;
	case CONFIG_METER_NONE:
	case CONFIG_METER_SIMULATED:
		break;
	}
}

/* NULL, or what is wrong with the keys that are there and that are not. */
static char *check_keys(const struct config_meter *meter)
{
	const unsigned kind = 1U << meter->kind;

	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
		const bool given = is_given(meter, &keys[i]);

		if (given && !(keys[i].takers & kind))
			return g_strdup_printf("%s: a meter of kind %s has no such key; remove it",
					       keys[i].name, kind_names[meter->kind]);
		/* 0 W are watts, too. */
		if (!given && (keys[i].needers & kind) && keys[i].type != WATTS)
			return g_strdup_printf("%s: missing; %s", keys[i].name, keys[i].cure);
	}
	return NULL;
}

static char *check_values(const struct config_meter *meter, bool local)
{
	static const char *const privileges[] = { "USER", "OPERATOR", "ADMINISTRATOR", NULL };

	if (meter->privilege && !g_strv_contains(privileges, meter->privilege))
		return g_strdup_printf("privilege: '%s' is none of USER, OPERATOR, ADMINISTRATOR",
				       meter->privilege);
	if (meter->snmp != CONFIG_METER_SNMP_V3 && meter->user)
		return g_strdup("user: only SNMP v3 has users; remove it, or ask by `snmp: v3`");
	if (meter->ca_file && meter->tls == CONFIG_METER_INSECURE)
		return g_strdup("ca_file: of no use with `tls: insecure`; remove one of the two");
	if (meter->kind == CONFIG_METER_MODEL && !(meter->idle_w + meter->core_w > 0))
		return g_strdup("idle_w: missing; give the host's watts at no load, and core_w, "
				"those more per busy CPU");
	if (((1U << meter->kind) & (RAPL | ACPI | MODEL)) && !local)
		return g_strdup_printf("kind: %s is read from the machine that the local scheduler "
				       "runs on, and the host's uri is of another; use ipmi, "
				       "redfish or amm",
				       kind_names[meter->kind]);
	return NULL;
}

char *config_meter_check(const struct config_meter *meter, bool local)
{
	char *wrong;

	if (meter->kind == CONFIG_METER_NONE)
		return NULL;
	wrong = check_keys(meter);
	return wrong ? wrong : check_values(meter, local);
}

void config_meter_clear(struct config_meter *meter)
{
	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
		if (keys[i].type == TEXT)
			g_free(*(char **)field(meter, &keys[i]));
	*meter = (struct config_meter){ .interval_s = meter->interval_s };
}

