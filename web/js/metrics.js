/* Reads OpenMetrics text, and makes rates of counters. */

/* A map from metric name to the sum over its label sets. */
export const parseMetrics = (text) => {
	const sums = new Map();
	for (const line of text.split("\n")) {
		if (line === "" || line[0] === "#") continue;
		const brace = line.indexOf("{");
		const space = line.indexOf(" ", brace < 0 ? 0 : line.lastIndexOf("}"));
		const name = line.slice(0, brace < 0 ? space : brace);
		const value = parseFloat(line.slice(space + 1));
		if (Number.isFinite(value)) sums.set(name, (sums.get(name) ?? 0) + value);
	}
	return sums;
};

/* next(value, nowMs) gives the growth a second since the call before, null at first and after a
 * restart of the counter. */
export const rateOf = () => {
	let last = null, lastMs = 0;
	return {
		next(value, nowMs) {
			const grown = last === null || value < last || nowMs <= lastMs
				? null
				: ((value - last) * 1000) / (nowMs - lastMs);
			last = value;
			lastMs = nowMs;
			return grown;
		},
	};
};
