/* Running creations: those started here by their batch, others as the status tells of them. */
import {getJson, isAbort} from "./api.js";
import {h, setText} from "./dom.js";
import {count, plural} from "./format.js";
import {poll} from "./poll.js";
import {say} from "./say.js";

const EVERY_MS = 500;
const KEY = "nl6.batches";

/* Batches of this tab survive a reload. */
const remembered = () => {
	try {
		return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
	} catch {
		return [];
	}
};
const remember = (paths) => {
	try {
		sessionStorage.setItem(KEY, JSON.stringify(paths));
	} catch {
		/* Storage may be forbidden; then a reload forgets them. */
	}
};

const bar = () => {
	const text = h("p", {});
	const meter = h("progress", {max: "1", "aria-label": "Devices created"});
	const el = h("div", {class: "job panel"}, text, meter);
	return {el, text, meter};
};
const doneText = (batch) => {
	const parts = [`Created ${plural(batch.created, "device", "devices")}`];
	if (batch.existing) parts.push(`${count(batch.existing)} were there already`);
	return `${parts.join(", ")}.`;
};

/* changed() is called when the number of devices may have changed. */
export const jobsPanel = ({changed, signal}) => {
	const el = h("section", {class: "jobs", "aria-label": "Creations", hidden: true});
	const mine = new Map();
	const other = bar();
	other.el.hidden = true;
	el.append(other.el);
	const tidy = () => {
		el.hidden = mine.size === 0 && other.el.hidden;
	};
	const keep = () => remember([...mine].filter(([, job]) => !job.ended).map(([path]) => path));

	const finish = (path, job, text, failed, warnings = []) => {
		job.ended = true;
		job.stop.abort();
		keep();
		setText(job.text, text);
		job.meter.remove();
		job.el.classList.toggle("failed", failed);
		job.el.append(
			h("button", {class: "button", type: "button", onclick: () => {
				job.el.remove();
				mine.delete(path);
				tidy();
				document.getElementById("create")?.focus();
			}}, "Dismiss"),
			...(warnings.length ? [h("ul", {}, ...warnings.map((w) => h("li", {}, w.message)))] : []));
		say(text);
		changed();
	};
	const see = (path, job, batch) => {
		const share = batch.requested ? batch.done / batch.requested : 0;
		if (batch.state === "done") return finish(path, job, doneText(batch), false, batch.warnings);
		if (batch.state === "failed") return finish(path, job, batch.message, true, batch.warnings);
		setText(job.text, batch.state === "waiting"
			? `Waiting to create ${plural(batch.requested, "device", "devices")} from ${batch.first}`
			: `Creating ${count(batch.done)} of ${plural(batch.requested, "device", "devices")} from `
				+ batch.first);
		job.meter.value = share;
		const quarter = Math.floor(share * 4);
		if (quarter > job.quarter) say(`${quarter * 25} percent created`);
		job.quarter = quarter;
	};
	const follow = (path, aloud = true) => {
		const job = {...bar(), stop: new AbortController(), quarter: 0, ended: false};
		setText(job.text, "Creating devices");
		mine.set(path, job);
		keep();
		el.prepend(job.el);
		tidy();
		if (aloud) say("Creation started");
		poll(async () => {
			try {
				see(path, job, (await getJson(path, signal)).data);
			} catch (error) {
				if (isAbort(error) || error.status !== 404) throw error;
				finish(path, job, "This creation is no longer known to nl6.", true);
			}
		}, EVERY_MS, AbortSignal.any([signal, job.stop.signal]));
	};
	for (const path of remembered()) follow(path, false);
	return {
		el,
		follow,
		status(status) {
			const busy = status.create_batch_in_progress && ![...mine.values()].some((j) => !j.ended);
			other.el.hidden = !busy;
			tidy();
			if (!busy) return;
			const done = status.device_create_progress, all = status.device_create_total;
			setText(other.text, `Creating ${count(done)} of ${plural(all, "device", "devices")}`);
			other.meter.value = all ? done / all : 0;
		},
	};
};
