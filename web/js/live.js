/* What the fleet view polls: the state with its counters, now and then the host. */
import {getJson} from "./api.js";
import {poll} from "./poll.js";

const EVERY_MS = 2000;
const HOST_EVERY = 5; /* turns */

/* Calls see.status(data, nowMs) and see.host(data) until the signal aborts. Returns a function that
 * asks at once. */
export const watchFleet = (see, signal) => {
	let turns = 0;
	return poll(async () => {
		const host = turns++ % HOST_EVERY === 0;
		const [status, stats] = await Promise.all([
			getJson("/api/v1/status", signal),
			host ? getJson("/api/v1/system-stats", signal) : null,
		]);
		see.status(status.data, performance.now());
		if (stats) see.host(stats.data);
	}, EVERY_MS, signal);
};
