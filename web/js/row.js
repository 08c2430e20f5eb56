/* A device's line in the table. */
import {copyButton} from "./copy.js";
import {h} from "./dom.js";
import {icon} from "./icons.js";
import {confirmOne} from "./remove.js";
import {deviceHref} from "./router.js";
import {walkLine} from "./walk.js";

/* removed(line) is called once the device is gone. */
export const deviceRow = (device, removed) => {
	const type = device.device_type ?? "Default";
	const place = device.location ?? "";
	const line = h("tr", {});
	const remove = h("button", {
		class: "button bare danger", type: "button", title: `Delete ${device.ip}`,
		"aria-label": `Delete ${device.ip}`,
		onclick: async () => {
			if (await confirmOne(device)) removed(line);
		},
	}, icon("trash"));
	line.append(
		h("th", {scope: "row"},
			h("a", {class: "mono", href: deviceHref(device.id)}, device.ip),
			h("span", {class: "sub"}, place ? `${type}, ${place}` : type)),
		h("td", {class: "widest"}, device.detail.sys_name),
		h("td", {class: "medium whole"}, type),
		h("td", {class: "wide quiet"}, place),
		h("td", {class: "num medium"}, String(device.snmp_port)),
		h("td", {class: "medium"},
			h("span", {class: device.running ? "state up" : "state down"},
				device.running ? "Running" : "Stopped")),
		h("td", {class: "tight"},
			copyButton(`Copy the snmpwalk line of ${device.ip}`, () => walkLine(device)), remove));
	return line;
};
