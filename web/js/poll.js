/* Repeats work while the page is seen and the view lives; never two at a time. */
export const poll = (work, everyMs, signal) => {
	let timer = 0, running = false;
	const turn = async () => {
		clearTimeout(timer);
		if (running || signal.aborted || document.hidden) return;
		running = true;
		try {
			await work();
		} catch {
			/* The link's state already shows it; the next turn tries again. */
		}
		running = false;
		if (!signal.aborted) timer = setTimeout(turn, everyMs);
	};
	document.addEventListener("visibilitychange", turn, {signal});
	signal.addEventListener("abort", () => clearTimeout(timer));
	turn();
	return turn;
};
