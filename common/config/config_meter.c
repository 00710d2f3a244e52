/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which keys each kind of meter takes and needs, and their defaults. A key that the kind does not
 * take is refused: it would be ignored otherwise, and be read as if it were obeyed. Kind none takes
 * all keys: it is how a meter is switched off for a while.
 */
#include "common/config/config_meter.h"

#include <string.h>

#include "common/read_number.h"

/* Kinds as bits. */
enum {
	IPMI = 1 << CONFIG_METER_IPMI,
	REDFISH = 1 << CONFIG_METER_REDFISH,
	AMM = 1 << CONFIG_METER_AMM,
	SNMP = 1 << CONFIG_METER_SNMP,
	BMC = IPMI | REDFISH | AMM | SNMP,
	RAPL = 1 << CONFIG_METER_RAPL,
	ACPI = 1 << CONFIG_METER_ACPI,
	HWMON = 1 << CONFIG_METER_HWMON,
	SYSFS = RAPL | ACPI | HWMON,
	COMMAND = 1 << CONFIG_METER_COMMAND,
	HTTP = 1 << CONFIG_METER_HTTP,
	TEXTS = COMMAND | HTTP,
	VALUES = TEXTS | SNMP,
	MODEL = 1 << CONFIG_METER_MODEL,
};

enum {
	BYTE_LENGTH = 4,  /* of "0x2e" */
	REQUEST_MAX = 64, /* bytes of a request that a BMC takes */
	CHANNEL_MAX = 15, /* IPMI 2.0, table 6-1 */
};

static const char *const kind_names[] = {
	[CONFIG_METER_NONE] = "none",
	[CONFIG_METER_IPMI] = "ipmi",
	[CONFIG_METER_REDFISH] = "redfish",
	[CONFIG_METER_AMM] = "amm",
	[CONFIG_METER_RAPL] = "rapl",
	[CONFIG_METER_ACPI] = "acpi",
	[CONFIG_METER_HWMON] = "hwmon",
	[CONFIG_METER_COMMAND] = "command",
	[CONFIG_METER_SNMP] = "snmp",
	[CONFIG_METER_HTTP] = "http",
	[CONFIG_METER_MODEL] = "model",
	[CONFIG_METER_SIMULATED] = "simulated",
	NULL,
};

static const char *const value_names[] = {
	[CONFIG_METER_WATTS] = "watts",
	[CONFIG_METER_MILLIWATTS] = "milliwatts",
	[CONFIG_METER_MICROWATTS] = "microwatts",
	[CONFIG_METER_KILOWATTS] = "kilowatts",
	[CONFIG_METER_JOULES] = "joules",
	[CONFIG_METER_MICROJOULES] = "microjoules",
	[CONFIG_METER_WATT_HOURS] = "watt_hours",
	[CONFIG_METER_KILOWATT_HOURS] = "kilowatt_hours",
	NULL,
};

static const char *const tlses[] = {"verify", "insecure", NULL};
static const char *const auths[] = {"auto", "basic", "session", NULL};
static const char *const ipmis[] = {"v2.0", "v1.5", NULL};
static const char *const privacies[] = {"des", "aes", NULL};
static const char *const snmps[] = {"v3", "v1", "v2c", NULL};

/*
 * IPMI 2.0 has cipher suites up to 19 (table 22-20), and a BladeCenter H 14 bays. RAPL is not to be
 * read more often than every 50 ms (docs/reference/meters.md).
 */
static const struct config_key meter_keys[] = {
	{CONFIG_WORD(meter, kind, kind_names), .needed = true,
	 .help = "`ipmi` (a BMC, by ipmitool), `redfish` (a BMC, by https), `amm` (a bay of an IBM BladeCenter, by "
		 "SNMP), `rapl` (CPU packages of this machine only), `acpi` (power meter of this machine), `hwmon` (another "
		 "chip of this machine), `command` (what a program prints), `snmp` (a metered outlet), `http` (what a web server answers), `model` (computed from this machine's CPU time), `simulated` (hosts of a simulated cluster, and no others) or `none`."},
	{CONFIG_TEXT(meter, address), .takers = BMC, .cure = "name the BMC's host or IP address",
	 .help = "host name or IP address of the BMC; needed with ipmi, redfish, amm and snmp, which also take `port`, "
		 "`user` and `password_file`."},
	{CONFIG_UINT(meter, port), .takers = BMC, CONFIG_NOT_ZERO,
	 .help = "default: 623 (ipmi), 443 (redfish), 161 (amm, snmp)."},
	{CONFIG_TEXT(meter, user), .takers = BMC | HTTP,
	 .help = "default: ADMIN; with SNMP v1 and v2c, and with http and a token, there is none."},
	{CONFIG_TEXT(meter, password_file), .takers = BMC | HTTP,
	 .cure = "name a file that holds the password",
	 .help = "file whose first line is the password, or the community of SNMP v1 and v2c; needed with ipmi, "
		 "redfish, amm and snmp. With http and without `user` it is a token (Authorization: Bearer). Mode 0600, of the user that the local scheduler runs as."},
	{CONFIG_UINT(meter, cipher_suite), .takers = IPMI, CONFIG_NOT_ZERO, CONFIG_TO(1, 19),
	 .help = "ipmi; default: 17."},
	{CONFIG_TEXT(meter, raw), .takers = IPMI,
	 .help = "ipmi: request whose answer has the watts, in place of DCMI: net function, command and data as bytes, "
		 "such as `0x2e 0xc8 0x57 0x01 0x00 0x01 0x00 0x00` (statistics of Intel's Node Manager)."},
	{CONFIG_UINT(meter, raw_at), .takers = IPMI, CONFIG_NOT_ZERO, CONFIG_TO(1, 64),
	 .help = "ipmi: byte of the answer to `raw` at which the watts begin, two bytes, the low one first; default: 4, "
		 "as Node Manager has them."},
	{CONFIG_TEXT(meter, controller), .takers = IPMI,
	 .help = "ipmi: controller that `raw` is for, by its address on the IPMB and the channel that leads there "
		 "(`0x2c/6`); default: the BMC."},
	{CONFIG_TEXT(meter, kg_file), .takers = IPMI,
	 .help = "ipmi: file whose first line is the BMC's key K_g, up to 40 hexadecimal digits, of BMCs that have one. "
		 "Mode 0600."},
	{CONFIG_WORD(meter, ipmi, ipmis), .takers = IPMI,
	 .help = "ipmi: version `v2.0`, or `v1.5` of BMCs that have no other: anyone on the network may read what they "
		 "say."},
	{CONFIG_TEXT(meter, privilege), .takers = IPMI,
	 .help = "ipmi: USER, OPERATOR or ADMINISTRATOR; default: USER."},
	{CONFIG_LIST(meter, sensor, TEXT), .or_one = true, .once = true, .least = 1,
	 .most = CONFIG_METER_SENSORS_MAX, .takers = IPMI | REDFISH,
	 .help = "ipmi, redfish: sensor to read where the BMC has no power reading of the whole machine, or a list "
		 "of sensors (such as one for each power supply) whose sum is the machine's power."},
	{CONFIG_TEXT(meter, ca_file), .takers = REDFISH | HTTP,
	 .help = "redfish, http: file (PEM) of the certificates to trust; default: the system's."},
	{CONFIG_WORD(meter, tls, tlses), .takers = REDFISH | HTTP,
	 .help = "redfish, http: `verify` the peer's certificate, or "
		 "take any (`insecure`): a machine in between may then read the password."},
	{CONFIG_WORD(meter, auth, auths), .takers = REDFISH,
	 .help = "redfish: one login for all requests (`session`), name and password with each (`basic`), or a session "
		 "where the BMC offers sessions (`auto`)."},
	{CONFIG_TEXT(meter, chassis), .takers = REDFISH,
	 .help = "redfish: Id of the chassis; default: that of the machine, by its type and its links."},
	{CONFIG_UINT(meter, bay), .takers = AMM, .cure = "give the blade's bay, 1 to 14",
	 CONFIG_TO(1, 14), .help = "amm: the blade's bay; needed."},
	{CONFIG_WORD(meter, snmp, snmps), .takers = AMM | SNMP,
	 .help = "amm, snmp: version `v3`, `v1` or `v2c`."},
	{CONFIG_TEXT(meter, chip), .takers = HWMON,
	 .cure = "name the chip, as /sys/class/hwmon/hwmon*/name has it",
	 .help = "hwmon: name of the chip or of its driver; needed."},
	{CONFIG_LIST(meter, device, TEXT), .takers = ACPI | HWMON, .or_one = true, .least = 1,
	 .most = 64, .once = true,
	 .help = "acpi, hwmon: device of the chip where several have its name, or a list of devices, whose "
		 "watts are added."},
	{CONFIG_LIST(meter, channel, TEXT), .takers = HWMON, .or_one = true, .least = 1,
	 .most = 1024, .once = true,
	 .help = "hwmon: channel of the chip, powerN, energyN or a label, or a list of channels, whose watts are "
		 "added; default: the only one."},
	{CONFIG_WORD(meter, privacy, privacies), .takers = AMM | SNMP,
	 .help = "amm, snmp: encryption of SNMP v3, `des` or `aes`."},
	{CONFIG_LIST(meter, oid, TEXT), .takers = SNMP, .or_one = true, .least = 1, .most = 16,
	 .once = true, .cure = "give the object as digits with points between them",
	 .help = "snmp: object in digits, or a list of objects, whose watts are added; needed."},
	{CONFIG_LIST(meter, command, TEXT), .takers = COMMAND, .or_one = true, .least = 1,
	 .most = 64, .cure = "give the program and its arguments as a list",
	 .help = "command: program and arguments, a list; no shell is involved. It prints the number; needed."},
	{CONFIG_TEXT(meter, run_as), .takers = COMMAND,
	 .help = "command: user that executes it; default: an unprivileged user where the local scheduler is root, else the "
		 "same user."},
	{CONFIG_TEXT(meter, url), .takers = HTTP, .cure = "give the URL, http:// or https://",
	 .help = "http: URL that answers with the number; needed."},
	{CONFIG_TEXT(meter, json), .takers = TEXTS,
	 .help = "command, http: path of the number in JSON, such as data.result[0].value[1]."},
	{CONFIG_TEXT(meter, metric), .takers = TEXTS,
	 .help = "command, http: metric of Prometheus's text that is the number, such as name{label=\"value\"}."},
	{CONFIG_WORD(meter, value, value_names), .takers = VALUES,
	 .help = "command, http, snmp: unit of the number: `watts`, `milliwatts`, `microwatts` or `kilowatts` of a gauge, "
		 "`joules`, `microjoules`, `watt_hours` or `kilowatt_hours` of a counter."},
	{CONFIG_NUMBER(meter, scale), .takers = VALUES, CONFIG_ABOVE(0, 1e9), CONFIG_NOT_ZERO,
	 .help = "command, http, snmp: what the number is multiplied by to be in that unit; default: 1."},
	{CONFIG_TEXT(meter, sys_root), .takers = SYSFS,
	 .help = "rapl, acpi, hwmon: where sysfs is; default: /sys."},
	{CONFIG_TEXT(meter, proc_root), .takers = MODEL,
	 .help = "model: where procfs is; default: /proc."},
	{CONFIG_NUMBER(meter, idle_w), .takers = MODEL, .max = INFINITY,
	 .says = "watts are numbers that are not negative, core_w too",
	 .help = "model: watts at no load."},
	{CONFIG_NUMBER(meter, core_w), .takers = MODEL, .max = INFINITY,
	 .says = "watts are numbers that are not negative",
	 .help = "model: watts more per busy CPU; one of both is above 0."},
	{CONFIG_NUMBER(meter, timeout_s), .takers = IPMI | REDFISH | AMM | VALUES, CONFIG_NOT_ZERO,
	 CONFIG_TO(1, 120), .says = "# s is outside @ s",
	 .help = "amm, command, http, snmp: longest time that a reading may take; default: 5. ipmi: longest time that an answer may "
		 "take, of which a login or a walk of the sensor records needs several; default: 5. redfish: longest time of an "
		 "answer; default: 15."},
	{CONFIG_NUMBER(meter, interval_s), CONFIG_NOT_ZERO, CONFIG_TO(0.05, 60),
	 .says = "# s is outside @ s",
	 .help = "time between two samples; default: 1, of amm, command and snmp 5, for each takes a process."},
	{CONFIG_NUMBER(meter, mean_s), .takers = BMC | ACPI | HWMON | TEXTS, CONFIG_NOT_ZERO,
	 CONFIG_TO(0.001, 3600), .says = "# s is outside @ s",
	 .help = "time that each reading is a mean of, where the source averages and does not tell: tables and plots say "
		 "so from 10 s on."},
	{NULL},
};

const struct config_section config_meter_section = {
	meter_keys, sizeof(struct config_meter),
	"A key that the kind does not take is refused; `none` takes all, so that a meter can be switched off and "
	"its keys stay. Ranges hold for every kind."};

const char *config_meter_value_name(enum config_meter_value value)
{
	return value_names[value];
}

const char *config_meter_kind_name(enum config_meter_kind kind)
{
	return kind_names[kind];
}

/* A number that is negative is refused by its range. */
static bool is_absent(double number)
{
	return number >= 0 && number <= 0;
}

void config_meter_fill_in(struct config_meter *meter)
{
	static const uint16_t ports[CONFIG_METER_SIMULATED + 1] = {
		[CONFIG_METER_IPMI] = 623,
		[CONFIG_METER_REDFISH] = 443,
		[CONFIG_METER_AMM] = 161,
		[CONFIG_METER_SNMP] = 161,
	};
	const unsigned kind = 1U << meter->kind;

	if (meter->port == 0)
		meter->port = ports[meter->kind];
	if ((kind & BMC) && meter->snmp == CONFIG_METER_SNMP_V3 && !meter->user)
		meter->user = g_strdup("ADMIN");
	if (kind == IPMI && !meter->privilege)
		meter->privilege = g_strdup("USER");
	if ((kind & (IPMI | REDFISH | AMM | VALUES)) && is_absent(meter->timeout_s))
		meter->timeout_s = kind == REDFISH ? 15 : 5;
	if (is_absent(meter->interval_s))
		meter->interval_s = (kind & (AMM | COMMAND | SNMP)) ? 5 : 1;
	if (kind == IPMI && meter->raw && meter->raw_at == 0)
		meter->raw_at = 4;
	if (kind == IPMI && meter->cipher_suite == 0)
		meter->cipher_suite = 17;
	if ((kind & SYSFS) && !meter->sys_root)
		meter->sys_root = g_strdup("/sys");
	if (kind == MODEL && !meter->proc_root)
		meter->proc_root = g_strdup("/proc");
}

/* Whether `text` begins with a byte as "0x2e". */
static bool is_byte(const char *text)
{
	return g_str_has_prefix(text, "0x") && g_ascii_isxdigit(text[2]) &&
	       g_ascii_isxdigit(text[3]);
}

/* Whether `text` is the bytes of a request: ipmitool gets it as it is. */
static bool is_request(const char *text)
{
	size_t bytes = 0;

	for (;; text += BYTE_LENGTH + 1) {
		if (!is_byte(text) || ++bytes > REQUEST_MAX)
			return false;
		if (text[BYTE_LENGTH] == '\0')
			return bytes >= 2;
		if (text[BYTE_LENGTH] != ' ')
			return false;
	}
}

bool config_meter_controller(const char *text, uint8_t *ret_address, uint8_t *ret_channel)
{
	uint64_t channel = 0;

	if (!is_byte(text) ||
	    (text[BYTE_LENGTH] != '\0' &&
	     (text[BYTE_LENGTH] != '/' ||
	      !read_number_unsigned(text + BYTE_LENGTH + 1, 0, CHANNEL_MAX, &channel))))
		return false;
	*ret_address =
		(uint8_t)(g_ascii_xdigit_value(text[2]) * 16 + g_ascii_xdigit_value(text[3]));
	*ret_channel = (uint8_t)channel;
	return true;
}

char *config_meter_check(const struct config_meter *meter, bool local)
{
	static const char *const privileges[] = {"USER", "OPERATOR", "ADMINISTRATOR", NULL};
	const unsigned kind = 1U << meter->kind;
	uint8_t address, channel;

	/* A web server may ask for no name and no token. */
	const bool is_open = kind == HTTP && !meter->user;

	if (meter->kind == CONFIG_METER_NONE)
		return NULL;
	for (const struct config_key *key = meter_keys; key->name; key++) {
		const bool absent = config_key_is_absent(key, meter);

		if (!absent && key->takers && !(key->takers & kind))
			return g_strdup_printf(
				"meter.%s: a meter of kind %s has no such key; remove it",
				key->name, kind_names[meter->kind]);
		if (is_open && key->offset == offsetof(struct config_meter, password_file))
			continue;
		if (absent && key->cure && (key->takers & kind))
			return g_strdup_printf("meter.%s: missing; %s", key->name, key->cure);
	}
	if (meter->privilege && !g_strv_contains(privileges, meter->privilege))
		return g_strdup_printf("meter.privilege: '%s' is none of USER, OPERATOR, "
				       "ADMINISTRATOR",
				       meter->privilege);
	if (meter->raw && !is_request(meter->raw))
		return g_strdup(
			"meter.raw: takes 2 to 64 bytes as 0x2e, with one blank between two");
	if ((meter->raw_at || meter->controller) && !meter->raw)
		return g_strdup_printf("meter.%s: belongs to `raw`; give that too",
				       meter->raw_at ? "raw_at" : "controller");
	if (meter->controller && !config_meter_controller(meter->controller, &address, &channel))
		return g_strdup_printf("meter.controller: '%s' is no address such as 0x2c, or "
				       "address and channel such as 0x2c/6",
				       meter->controller);
	if (meter->kg_file && meter->ipmi == CONFIG_METER_IPMI_1_5)
		return g_strdup(
			"meter.kg_file: IPMI 1.5 has no such key; remove it, or the `ipmi`");
	if (meter->snmp != CONFIG_METER_SNMP_V3 && meter->user)
		return g_strdup(
			"meter.user: only SNMP v3 has users; remove it, or ask by `snmp: v3`");
	for (uint32_t i = 0; i < meter->oid_count; i++)
		if (!g_ascii_isdigit(*meter->oid[i]) ||
		    strspn(meter->oid[i], "0123456789.") != strlen(meter->oid[i]))
			return g_strdup_printf("meter.oid: '%s' is no object; write digits with "
					       "points between them",
					       meter->oid[i]);
	if (meter->json && meter->metric)
		return g_strdup("meter.metric: a number is in JSON or in Prometheus's text; remove "
				"this key or `json`");
	if (kind == HTTP && !g_str_has_prefix(meter->url, "http://") &&
	    !g_str_has_prefix(meter->url, "https://"))
		return g_strdup("meter.url: write it with http:// or https://");
	if (kind == HTTP && meter->ca_file && !g_str_has_prefix(meter->url, "https://"))
		return g_strdup("meter.ca_file: of no use without https; change the url, or remove "
				"it");
	if (meter->ca_file && meter->tls == CONFIG_METER_INSECURE)
		return g_strdup(
			"meter.ca_file: of no use with `tls: insecure`; remove one of the two");
	if (kind == MODEL && !(meter->idle_w + meter->core_w > 0))
		return g_strdup(
			"meter.idle_w: missing; give the host's watts at no load, and core_w, those more per "
			"busy CPU");
	if ((kind & (SYSFS | MODEL)) && !local)
		return g_strdup_printf(
			"meter.kind: %s is read from the machine that the local scheduler runs on, "
			"and the host's uri is of another; use ipmi, redfish or "
			"amm",
			kind_names[meter->kind]);
	return NULL;
}

void config_meter_clear(struct config_meter *meter)
{
	const double interval_s = meter->interval_s;

	config_section_clear(&config_meter_section, meter);
	*meter = (struct config_meter){.interval_s = interval_s};
}
