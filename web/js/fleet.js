/* The first view: figures, running creations, the table of devices and what can be done to all. */
import {openCreate} from "./create.js";
import {h} from "./dom.js";
import {downloadButton} from "./download.js";
import {figuresPanel} from "./figures.js";
import {gatePanel} from "./gate.js";
import {firewallHint} from "./hint.js";
import {icon} from "./icons.js";
import {jobsPanel} from "./jobs.js";
import {onBack} from "./link.js";
import {watchFleet} from "./live.js";
import {confirmAll} from "./remove.js";
import {devicesPanel} from "./table.js";

export const fleetView = (main, at, state, signal) => {
	document.title = "Fleet · nl6";
	let total = null;
	const figures = figuresPanel(), hint = firewallHint();
	const gate = gatePanel({signal});
	const create = async () => {
		const batch = await openCreate();
		if (batch) jobs.follow(batch);
	};
	const table = devicesPanel({create, changed: () => refresh(), signal});
	const jobs = jobsPanel({changed: () => (table.reload(), refresh()), signal});
	const removeAll = h("button", {
		class: "button danger", type: "button", id: "delete-all", disabled: true,
		onclick: async () => {
			if (!(await confirmAll(total))) return;
			table.restart();
			refresh();
		},
	}, "Delete all…");
	const exports = [
		downloadButton("Export CSV", "/api/v1/devices/export", "devices.csv"),
		downloadButton("Route script", "/api/v1/devices/routes", "add_simulator_routes.sh"),
	];
	main.append(
		h("div", {class: "head"},
			h("h1", {tabindex: "-1"}, "Fleet"),
			h("div", {class: "actions"},
				...exports, removeAll,
				h("button", {class: "button main", type: "button", id: "create", onclick: create},
					icon("plus"), "Create devices"))),
		figures.el, hint.el, jobs.el, gate.el, table.el);

	const refresh = watchFleet({
		status(status, nowMs) {
			figures.status(status, nowMs);
			hint.status(status);
			jobs.status(status);
			for (const button of [...exports, removeAll])
				button.disabled = status.total_devices === 0;
			if (total !== null && total !== status.total_devices) table.reload();
			total = status.total_devices;
		},
		host: figures.host,
	}, signal);
	table.show(at.query, state);
	onBack(() => table.reload(), signal);
	return (query, nextState) => table.show(query, nextState);
};
