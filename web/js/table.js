/* The devices, a page at a time as the server gives them: the same work at ten and at a million. */
import {getJson, isAbort} from "./api.js";
import {h, setText} from "./dom.js";
import {count, plural} from "./format.js";
import {devicesFilter} from "./filter.js";
import {pagerLine} from "./pager.js";
import {pushFleet, replaceFleet} from "./router.js";
import {deviceRow} from "./row.js";
import {say} from "./say.js";

const LIMIT = 50;
const filterOf = (query) => ({q: query.get("q") ?? "", type: query.get("type") ?? ""});
const isEmpty = ({q, type}) => q === "" && type === "";

const emptyFleet = (create) =>
	h("div", {class: "lone"},
		h("h2", {}, "No devices yet"),
		h("p", {class: "quiet"}, "Create some here, or start nl6 with a fleet:"),
		h("code", {}, "nl6 -auto-start-ip 127.10.0.1 -auto-count 1000 -snmp-port 1161"),
		h("button", {class: "button main", type: "button", onclick: create}, "Create devices"));
const noMatch = (clear) =>
	h("div", {class: "lone"},
		h("p", {}, "No device matches."),
		h("button", {class: "button", type: "button", onclick: clear}, "Clear search"));

/* create() opens the form; changed() is called after a device was deleted here. */
export const devicesPanel = ({create, changed, signal}) => {
	let query = new URLSearchParams(), trail = [], from = 0, page = {}, loading = null;
	const lines = new Map(); /* JSON of a device -> its line */
	const body = h("tbody", {});
	const caption = h("caption", {class: "unseen"}, "Devices");
	const table = h("table", {}, caption,
		h("thead", {}, h("tr", {},
			h("th", {scope: "col"}, "Address"),
			h("th", {scope: "col", class: "widest"}, "Name"),
			h("th", {scope: "col", class: "medium"}, "Type"),
			h("th", {scope: "col", class: "wide"}, "Location"),
			h("th", {scope: "col", class: "num medium"}, "SNMP port"),
			h("th", {scope: "col", class: "medium"}, "State"),
			h("th", {scope: "col", class: "tight"}, h("span", {class: "unseen"}, "Actions")))),
		body);
	const scroll = h("div", {class: "scroll"}, table);
	const lone = h("div", {hidden: true});
	const filter = devicesFilter((next) => go(next, [], 0, true), signal);
	const pager = pagerLine({
		first: () => go(filterOf(query), [], 0),
		back: () => go({...filterOf(query), after: trail.at(-1)}, trail.slice(0, -1), from - LIMIT),
		next: () => go({...filterOf(query), after: page.next},
			[...trail.slice(-99), query.get("after") ?? ""], from + LIMIT),
	});
	const el = h("section", {class: "panel", "aria-label": "Devices", id: "devices", tabindex: "-1"},
		filter.el, scroll, lone, pager.el);

	const go = (want, nextTrail, nextFrom, replace = false) => {
		const next = new URLSearchParams();
		for (const [key, value] of Object.entries(want)) if (value) next.set(key, value);
		(replace ? replaceFleet : pushFleet)(next, {trail: nextTrail, from: nextFrom});
		show(next, {trail: nextTrail, from: nextFrom}, true);
	};
	const empty = (content) => {
		scroll.hidden = content !== null;
		lone.hidden = content === null;
		lone.replaceChildren(...(content ? [content] : []));
	};
	/* A line that says the same stays where it is, and with it focus and selection. */
	const render = (rows) => {
		const texts = rows.map((row) => JSON.stringify(row)), wanted = new Set(texts);
		for (const [text, line] of lines) {
			if (wanted.has(text)) continue;
			line.remove();
			lines.delete(text);
		}
		rows.forEach((row, i) => {
			const line = lines.get(texts[i]) ?? deviceRow(row, removed);
			lines.set(texts[i], line);
			if (body.rows[i] !== line) body.insertBefore(line, body.rows[i] ?? null);
		});
	};
	/* The focus goes to the device that moves up into the place of the one deleted. */
	const removed = async (line) => {
		const at = [...body.rows].indexOf(line);
		await load(false);
		(body.rows[Math.min(at, body.rows.length - 1)]?.querySelector(".danger") ?? el).focus();
		changed();
	};
	const tell = (rows) => {
		const n = rows.length;
		if (n === 0) return "No devices";
		const span = `${count(from + 1)} to ${count(from + n)}`;
		if (page.total !== undefined) return `${span} of ${plural(page.total, "device", "devices")}`;
		return page.next ? span : `${span}, the last`;
	};
	const load = async (aloud) => {
		loading?.abort();
		const mine = (loading = new AbortController());
		const ask = new URLSearchParams({limit: LIMIT});
		for (const key of ["after", "type", "q"]) if (query.get(key)) ask.set(key, query.get(key));
		el.classList.add("busy");
		table.setAttribute("aria-busy", "true");
		try {
			const answer = await getJson(`/api/v1/devices?${ask}`,
				AbortSignal.any([mine.signal, signal]));
			const rows = answer.data ?? [];
			page = answer.page ?? {};
			render(rows);
			const filtered = !isEmpty(filterOf(query));
			empty(rows.length || from ? null
				: filtered ? noMatch(() => (filter.clear(), go({}, [], 0))) : emptyFleet(create));
			filter.el.hidden = !rows.length && !from && !filtered;
			pager.show(tell(rows), from > 0, trail.length > 0, Boolean(page.next));
			setText(caption, `Devices: ${tell(rows)}`);
			if (aloud) say(tell(rows));
		} catch (error) {
			if (isAbort(error)) return;
			/* After a new form of page nothing old may pass for its content. */
			if (error.status >= 400 && error.status !== 401) {
				empty(h("p", {class: "lone error"}, error.message));
			}
		}
		if (mine !== loading) return;
		el.classList.remove("busy");
		table.removeAttribute("aria-busy");
	};
	const show = (next, state, aloud = false) => {
		query = next;
		trail = state?.trail ?? [];
		from = state?.from ?? 0;
		filter.show(filterOf(query));
		return load(aloud);
	};
	return {el, show, reload: () => load(false), restart: () => go({}, [], 0, true)};
};
