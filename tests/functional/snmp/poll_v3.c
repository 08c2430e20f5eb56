/* One process of net-snmp's library that polls many agents in a row by SNMPv3, as pollers do: what
 * it learns of an engine it keeps for all of them. For each line on standard input, "FIRST COUNT",
 * it asks COUNT addresses from FIRST on for sysName.0 and snmpEngineTime.0, and writes a line with
 * how many answered, how many did not, and what went wrong with the first of these. */
#include <arpa/inet.h>
#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct poll {
	struct snmp_session session;
	const char *port;
	unsigned answered, failed;
	char first_failure[256];
};

static void note_failure(struct poll *p, const char *peer, const char *what)
{
	if (p->failed++ == 0)
		(void)snprintf(p->first_failure, sizeof(p->first_failure), "%s: %s", peer, what);
}

static void ask(struct poll *p, uint32_t address)
{
	static const oid name[] = {1, 3, 6, 1, 2, 1, 1, 5, 0};
	static const oid engine_time[] = {1, 3, 6, 1, 6, 3, 10, 2, 1, 3, 0};
	char peer[64];
	struct in_addr in = {htonl(address)};
	(void)snprintf(peer, sizeof(peer), "%s:%s", inet_ntoa(in), p->port);
	p->session.peername = peer;
	struct snmp_session *s = snmp_open(&p->session);
	if (!s) {
		note_failure(p, peer, snmp_api_errstring(p->session.s_snmp_errno));
		return;
	}
	struct snmp_pdu *answer = NULL, *pdu = snmp_pdu_create(SNMP_MSG_GET);
	snmp_add_null_var(pdu, name, OID_LENGTH(name));
	snmp_add_null_var(pdu, engine_time, OID_LENGTH(engine_time));
	int r = snmp_synch_response(s, pdu, &answer);
	if (r == STAT_SUCCESS && answer->errstat == SNMP_ERR_NOERROR && answer->variables &&
		answer->variables->type == ASN_OCTET_STR && answer->variables->next_variable &&
		answer->variables->next_variable->type == ASN_INTEGER)
		p->answered++;
	else
		note_failure(p, peer,
			r == STAT_TIMEOUT ? "timeout" : snmp_api_errstring(s->s_snmp_errno));
	if (answer)
		snmp_free_pdu(answer);
	snmp_close(s);
}

static void make_key(
	const oid *hash, unsigned hash_len, const char *password, u_char *key, size_t *key_len)
{
	*key_len = USM_AUTH_KU_LEN;
	if (generate_Ku(hash, hash_len, (const u_char *)password, strlen(password), key, key_len) !=
		SNMPERR_SUCCESS)
		exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	static oid hash[] = {1, 3, 6, 1, 6, 3, 10, 1, 1, 3};   /* usmHMACSHAAuthProtocol */
	static oid cipher[] = {1, 3, 6, 1, 6, 3, 10, 1, 2, 4}; /* usmAesCfb128PrivProtocol */
	static struct poll p;
	char first[64];
	unsigned count;
	if (argc != 5) {
		(void)fprintf(stderr, "poll-v3 PORT USER PASSWORD SECONDS\n");
		return EXIT_FAILURE;
	}
	init_snmp("poll-v3");
	snmp_sess_init(&p.session);
	p.port = argv[1];
	p.session.version = SNMP_VERSION_3;
	p.session.securityName = argv[2];
	p.session.securityNameLen = strlen(argv[2]);
	p.session.securityLevel = SNMP_SEC_LEVEL_AUTHPRIV;
	p.session.securityAuthProto = hash;
	p.session.securityAuthProtoLen = OID_LENGTH(hash);
	p.session.securityPrivProto = cipher;
	p.session.securityPrivProtoLen = OID_LENGTH(cipher);
	make_key(hash, OID_LENGTH(hash), argv[3], p.session.securityAuthKey,
		&p.session.securityAuthKeyLen);
	make_key(hash, OID_LENGTH(hash), argv[3], p.session.securityPrivKey,
		&p.session.securityPrivKeyLen);
	p.session.timeout = atol(argv[4]) * 1000000;
	p.session.retries = 0;
	while (scanf("%63s %u", first, &count) == 2) {
		p.answered = p.failed = 0;
		p.first_failure[0] = 0;
		for (unsigned i = 0; i < count; i++)
			ask(&p, ntohl(inet_addr(first)) + i);
		(void)printf("%u %u %s\n", p.answered, p.failed, p.first_failure);
		(void)fflush(stdout);
	}
	return EXIT_SUCCESS;
}
