/* What the fleet view polls: the state of the fleet, the counters, now and then the host. */
import {getJson, getText} from "./api.js";
import {parseMetrics} from "./metrics.js";
import {poll} from "./poll.js";

const EVERY_MS = 2000;
const HOST_EVERY = 5; /* turns */

/* Calls see.status(data), see.metrics(sums, nowMs) and see.host(data) until the signal aborts.
 * Returns a function that asks at once. */
export const watchFleet = (see, signal) => {
	let turns = 0;
	return poll(async () => {
		const host = turns++ % HOST_EVERY === 0;
		const [status, metrics, stats] = await Promise.all([
			getJson("/api/v1/status", signal),
			getText("/metrics", signal),
			host ? getJson("/api/v1/system-stats", signal) : null,
		]);
		see.status(status.data);
		see.metrics(parseMetrics(metrics), performance.now());
		if (stats) see.host(stats.data);
	}, EVERY_MS, signal);
};
