/* The page of one device: who it is, how to walk it, what its interfaces carry now. */
import {getJson} from "./api.js";
import {copyButton} from "./copy.js";
import {h, setText} from "./dom.js";
import {interfacesPanel} from "./interfaces.js";
import {identityPanel} from "./identity.js";
import {poll} from "./poll.js";
import {confirmOne} from "./remove.js";
import {walkLine} from "./walk.js";

const EVERY_MS = 2000;

const gone = (id) =>
	h("div", {class: "lone panel"},
		h("h2", {}, "No such device"),
		h("p", {class: "quiet"}, h("code", {}, id), " is not in the fleet; it may have been deleted."),
		h("a", {class: "button", href: "#/"}, "To the fleet"));

const build = (main, device, heading) => {
	const identity = identityPanel(), interfaces = interfacesPanel();
	const line = walkLine(device);
	setText(heading, device.ip);
	document.title = `${device.ip} · nl6`;
	const remove = h("button", {class: "button danger", type: "button", onclick: async () => {
		if (await confirmOne(device)) location.hash = "#/";
	}}, "Delete…");
	heading.parentElement.after(h("div", {class: "actions"}, remove));
	main.append(
		h("section", {class: "panel command", "aria-label": "Walk this device"},
			h("code", {id: "walk"}, line),
			copyButton("Copy the snmpwalk line", () => line, "Copy")),
		identity.el, interfaces.el);
	return (now) => {
		identity.show(now);
		interfaces.show(now, performance.now());
	};
};

export const deviceView = (main, at, state, signal) => {
	document.title = `${at.id} · nl6`;
	const heading = h("h1", {class: "mono", tabindex: "-1"}, at.id);
	const name = h("span", {class: "quiet"});
	main.append(
		h("nav", {class: "crumb", "aria-label": "Place"}, h("a", {href: "#/"}, "Fleet")),
		h("div", {class: "head"}, h("div", {class: "title"}, heading, name)));
	const here = new AbortController();
	let show = null;
	poll(async () => {
		try {
			const device = (await getJson(`/api/v1/devices/${encodeURIComponent(at.id)}`, signal)).data;
			show ??= build(main, device, heading);
			setText(name, device.device_type ?? "Default");
			show(device);
		} catch (error) {
			if (error.status >= 400 && error.status !== 401) setText(name, error.message);
			if (error.status !== 404) throw error;
			main.replaceChildren(h("h1", {class: "unseen", tabindex: "-1"}, at.id), gone(at.id));
			here.abort();
		}
	}, EVERY_MS, AbortSignal.any([signal, here.signal]));
	return () => {};
};
