/* Makes a rate of a counter that is read now and then. */

/* next(value, nowMs) gives the growth a second since the call before; null at first and after the
 * counter began anew. */
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
