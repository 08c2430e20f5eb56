/* Hands a finished reply to libmicrohttpd, with the headers that every answer has. */
#pragma once
#include "api/request.h"
#include "api/watch.h"
#include "base/attr.h"
#include "base/span.h"
#include <microhttpd.h>

/* Queues rq->reply on the connection and takes its body or stream; enters WATCH_SEND. What a stream
 * makes is work of the span, which ends after it; NULL: none. -ENOMEM. */
MUST_CHECK int send_reply(struct request *rq, struct MHD_Connection *connection,
	struct watch *watch, struct watched *watched, struct span *span);
