/* Who a device is. */
import {h, setText} from "./dom.js";
import {count, duration} from "./format.js";

const left = [
	["Name", (d) => d.detail.sys_name],
	["Type", (d) => d.detail.type_name],
	["Description", (d) => d.detail.sys_descr],
	["Object identifier", (d) => d.detail.sys_object_id],
	["Location", (d) => d.location],
];
const right = [
	["State", (d) => (d.running ? "Running" : "Stopped")],
	["Up for", (d) => duration(d.detail.uptime_seconds)],
	["Serial number", (d) => d.detail.serial],
	["Chassis MAC", (d) => d.detail.mac],
	["SNMP packets", ({detail}) =>
		`${count(detail.snmp.in_pkts)} in, ${count(detail.snmp.out_pkts)} out`],
	["Engine id", (d) => d.detail.engine_id],
	["Id", (d) => d.id],
];

const list = (rows) => {
	const items = rows.map(([label, of]) => ({of, dt: h("dt", {}, label), dd: h("dd", {})}));
	return {
		el: h("dl", {class: "facts"}, ...items.flatMap(({dt, dd}) => [dt, dd])),
		show(device) {
			for (const {of, dt, dd} of items) {
				const text = of(device) ?? "";
				setText(dd, text);
				dt.hidden = dd.hidden = text === "";
			}
		},
	};
};

export const identityPanel = () => {
	const lists = [list(left), list(right)];
	return {
		el: h("section", {class: "panel columns", "aria-label": "Identity"},
			...lists.map(({el}) => el)),
		show(device) {
			for (const item of lists) item.show(device);
		},
	};
};
