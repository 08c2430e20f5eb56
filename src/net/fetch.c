#include "net/fetch.h"
#include "base/num.h"
#include "base/text.h"
#include <curl/curl.h>
#include <errno.h>
#include <string.h>

/* Of an answer that is told in part are read; what comes after it says no more. */
#define BODY_MAX_BYTES (64u << 10)
#define TYPE_HEADER "Content-Type: "

struct fetch {
	const struct mem *mem;
	struct fetch_conf conf;
	CURLM *multi;
	struct request *first;
	uint32_t n;
};
struct request {
	struct fetch *fetch;
	struct request *next, **at; /* among all */
	CURL *easy;
	curl_mime *mime;
	struct curl_slist *headers;
	void (*done)(void *arg, const struct fetch_answer *answer);
	void *arg;
	size_t read_bytes;
	struct text body; /* what is told of it */
	char error[CURL_ERROR_SIZE];
};

int fetch_new(const struct mem *mem, const struct fetch_conf *conf, struct fetch **ret_fetch)
{
	struct fetch *f = mem_zalloc(mem, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->mem = mem;
	f->conf = *conf;
	/* Counted, and safe in any thread since 7.84: the last to leave gives all back. */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		(void)mem_free(mem, f);
		return -ENOMEM;
	}
	f->multi = curl_multi_init();
	if (!f->multi) {
		(void)fetch_free(f);
		return -ENOMEM;
	}
	long n = conf->connections;
	(void)curl_multi_setopt(f->multi, CURLMOPT_MAX_HOST_CONNECTIONS, n);
	(void)curl_multi_setopt(f->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, n);
	*ret_fetch = f;
	return 0;
}

static void drop(struct request *rq)
{
	struct fetch *f = rq->fetch;
	if (rq->at) {
		(void)curl_multi_remove_handle(f->multi, rq->easy);
		*rq->at = rq->next;
		if (rq->next)
			rq->next->at = rq->at;
		f->n--;
	}
	curl_easy_cleanup(rq->easy);
	curl_mime_free(rq->mime);
	/* Headers may tell a tenant. */
	for (struct curl_slist *h = rq->headers; h; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	curl_slist_free_all(rq->headers);
	text_done(&rq->body);
	(void)mem_free(f->mem, rq);
}

struct fetch *fetch_free(struct fetch *f)
{
	if (!f)
		return NULL;
	while (f->first)
		drop(f->first);
	(void)curl_multi_cleanup(f->multi);
	curl_global_cleanup();
	return mem_free(f->mem, f);
}

static size_t on_body(char *bytes, size_t size UNUSED, size_t n, void *arg)
{
	struct request *rq = arg;
	size_t max = rq->fetch->conf.answer_max_bytes;
	rq->read_bytes += n;
	if (max) {
		if (rq->read_bytes <= max)
			text_write(&rq->body, bytes, n);
		return rq->read_bytes > max || rq->body.err ? CURL_WRITEFUNC_ERROR : n;
	}
	text_write(&rq->body, bytes, MIN(n, FETCH_BODY_BYTES - rq->body.len));
	return rq->read_bytes > BODY_MAX_BYTES ? CURL_WRITEFUNC_ERROR : n;
}

/* Sticky: the first failure stays. */
#define SET(option, value) \
	do { \
		if (r == CURLE_OK) \
			r = curl_easy_setopt(e, option, value); \
	} while (0)

static bool is_https(const char *url)
{
	return strncasecmp(url, "https:", 6) == 0;
}

static long http_version(const struct fetch_conf *conf, const char *url)
{
	return !conf->http2    ? CURL_HTTP_VERSION_1_1
	       : is_https(url) ? CURL_HTTP_VERSION_2TLS
			       : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
}

static CURLcode set_manners(CURL *e, const struct fetch_conf *conf)
{
	CURLcode r = CURLE_OK;
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	SET(CURLOPT_PATH_AS_IS, 1L);
	SET(CURLOPT_TIMEOUT_MS, (long)conf->timeout_ms);
	SET(CURLOPT_USERAGENT, conf->user_agent);
	/* A resolver that hangs is left alone at the end. */
	SET(CURLOPT_QUICK_EXIT, 1L);
	SET(CURLOPT_PROXY, conf->proxy ? conf->proxy : "");
	SET(CURLOPT_NOPROXY, "");
	if (conf->http2) /* a proxy would answer in HTTP/1.1 */
		SET(CURLOPT_HTTPPROXYTUNNEL, 1L);
	SET(CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	return r;
}

/* libcurl before 8.0 begins HTTP/2 anew on a connection that speaks it from its first byte on
 * (https://github.com/curl/curl/issues/10634). */
static bool keeps(const struct fetch_conf *conf, const char *url)
{
	return conf->keep_alive &&
	       (!conf->http2 || is_https(url) ||
		       curl_version_info(CURLVERSION_NOW)->version_num >= 0x080000);
}

static CURLcode set_connection(CURL *e, const struct fetch_conf *conf, const char *url)
{
	CURLcode r = CURLE_OK;
	SET(CURLOPT_HTTP_VERSION, http_version(conf, url));
	/* On a kept connection that ends without an answer libcurl would send the request again,
	 * though it may have been obeyed (RFC 9110 9.2.2). */
	SET(CURLOPT_FORBID_REUSE, keeps(conf, url) ? 0L : 1L);
	SET(CURLOPT_FRESH_CONNECT, keeps(conf, url) ? 0L : 1L);
	return r;
}

static CURLcode set_tls(CURL *e, const struct fetch_conf *conf)
{
	CURLcode r = CURLE_OK;
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (conf->ca_file) {
		SET(CURLOPT_CAINFO, conf->ca_file);
		SET(CURLOPT_CAPATH, NULL);
	}
	if (conf->cert_file) {
		SET(CURLOPT_SSLCERT, conf->cert_file);
		SET(CURLOPT_SSLKEY, conf->key_file);
	}
	return r;
}

static CURLcode set_ask(struct request *rq, const struct fetch_ask *ask)
{
	CURL *e = rq->easy;
	CURLcode r = CURLE_OK;
	SET(CURLOPT_URL, ask->url);
	SET(CURLOPT_PRIVATE, rq);
	SET(CURLOPT_ERRORBUFFER, rq->error);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, rq);
	if (ask->get) {
		SET(CURLOPT_HTTPGET, 1L);
	} else if (ask->content_type) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body_bytes);
		SET(CURLOPT_POSTFIELDS, ask->body ? ask->body : "");
	} else {
		SET(CURLOPT_MIMEPOST, rq->mime);
	}
	SET(CURLOPT_HTTPHEADER, rq->headers);
	if (ask->user && ask->password) {
		SET(CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		SET(CURLOPT_USERNAME, ask->user);
		SET(CURLOPT_PASSWORD, ask->password);
	}
	return r;
}

static int add_header(struct request *rq, const char *header)
{
	struct curl_slist *more = curl_slist_append(rq->headers, header);
	if (!more)
		return -ENOMEM;
	rq->headers = more;
	return 0;
}

static int add_type(struct request *rq, const char *type)
{
	AUTO_TEXT struct text header = TEXT(rq->fetch->mem);
	text_printf(&header, TYPE_HEADER "%s", type);
	return header.err ? header.err : add_header(rq, header.s);
}

static int add_part(struct request *rq, const struct fetch_part *part)
{
	curl_mimepart *p = curl_mime_addpart(rq->mime);
	CURLcode r = p ? curl_mime_name(p, part->name) : CURLE_OUT_OF_MEMORY;
	if (r == CURLE_OK)
		r = curl_mime_filename(p, part->filename);
	if (r == CURLE_OK)
		r = curl_mime_type(p, "application/octet-stream");
	if (r == CURLE_OK)
		r = curl_mime_data(p, part->data, part->bytes);
	return r == CURLE_OK ? 0 : -ENOMEM;
}

static int fill(struct request *rq, const struct fetch_ask *ask)
{
	rq->easy = curl_easy_init();
	rq->mime = rq->easy ? curl_mime_init(rq->easy) : NULL;
	if (!rq->mime)
		return -ENOMEM;
	int r = add_header(rq, "Expect:"); /* it would wait for a server to say "go on" */
	for (const char *const *h = ask->headers; r == 0 && h && *h; h++)
		r = add_header(rq, *h);
	if (r == 0 && ask->content_type)
		r = add_type(rq, ask->content_type);
	for (uint32_t i = 0; r == 0 && i < ask->n_parts; i++)
		r = add_part(rq, &ask->parts[i]);
	if (r < 0)
		return r;
	CURLcode c = set_manners(rq->easy, &rq->fetch->conf);
	if (c == CURLE_OK)
		c = set_connection(rq->easy, &rq->fetch->conf, ask->url);
	if (c == CURLE_OK)
		c = set_tls(rq->easy, &rq->fetch->conf);
	if (c == CURLE_OK)
		c = set_ask(rq, ask);
	return c == CURLE_OK ? 0 : -ENOMEM;
}

int fetch_post(struct fetch *f, const struct fetch_ask *ask)
{
	struct request *rq = mem_zalloc(f->mem, sizeof(*rq));
	if (!rq)
		return -ENOMEM;
	rq->fetch = f;
	rq->body = (struct text)TEXT(f->mem);
	rq->done = ask->done;
	rq->arg = ask->arg;
	int r = fill(rq, ask);
	if (r == 0 && curl_multi_add_handle(f->multi, rq->easy) != CURLM_OK)
		r = -ENOMEM;
	if (r < 0) {
		drop(rq);
		return r;
	}
	rq->next = f->first;
	rq->at = &f->first;
	if (f->first)
		f->first->at = &rq->next;
	f->first = rq;
	f->n++;
	return 0;
}

const char *fetch_header(const struct fetch_answer *answer, const char *name)
{
	struct request *rq = answer->request;
	struct curl_header *h;
	CURLHcode r = curl_easy_header(rq->easy, name, 0, CURLH_HEADER | CURLH_TRAILER, -1, &h);
	return r == CURLHE_OK ? h->value : NULL;
}

/* Was there an answer? Else why not. */
static bool is_answered(struct request *rq, CURLcode code, struct fault *why)
{
	size_t max = rq->fetch->conf.answer_max_bytes;
	bool refused = code == CURLE_WRITE_ERROR; /* by on_body, most likely */
	if (code == CURLE_OK || (refused && !max && rq->read_bytes > BODY_MAX_BYTES))
		return true;
	if (refused && max && rq->read_bytes > max)
		(void)fault_set(why, -EFBIG, "", NULL, "the answer is over %zu bytes", max);
	else if (refused && max && rq->body.err)
		(void)fault_set(why, -ENOMEM, "", NULL, "no memory for the answer");
	else
		(void)fault_set(why, -EIO, "", NULL, "%s",
			rq->error[0] ? rq->error : curl_easy_strerror(code));
	return false;
}

static void finish(struct request *rq, CURLcode code)
{
	struct fetch_answer a = {
		.body = rq->body.s ? rq->body.s : "", .body_bytes = rq->body.len, .request = rq};
	struct fault why = {0};
	long status = 0;
	curl_off_t after = 0;
	if (is_answered(rq, code, &why)) {
		(void)curl_easy_getinfo(rq->easy, CURLINFO_RESPONSE_CODE, &status);
		(void)curl_easy_getinfo(rq->easy, CURLINFO_RETRY_AFTER, &after);
	} else {
		a.error = why.text;
		a.code = why.code;
	}
	a.status = (int)status;
	a.retry_after_s = after > 0 ? (uint32_t)MIN(after, (curl_off_t)UINT32_MAX) : 0;
	rq->done(rq->arg, &a);
	drop(rq);
}

void fetch_run(struct fetch *f, uint32_t timeout_ms)
{
	int left;
	(void)curl_multi_perform(f->multi, &left);
	for (const CURLMsg *m; (m = curl_multi_info_read(f->multi, &left));) {
		struct request *rq = NULL;
		CURLcode code = m->data.result;
		(void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &rq);
		finish(rq, code);
		timeout_ms = 0; /* its end is news */
	}
	if (timeout_ms)
		(void)curl_multi_poll(f->multi, NULL, 0, (int)MIN(timeout_ms, 3600000u), NULL);
}

void fetch_wake(struct fetch *f)
{
	(void)curl_multi_wakeup(f->multi);
}

uint32_t fetch_count(const struct fetch *f)
{
	return f->n;
}
