/* A device's interfaces: state, octets so far, rates between two polls against the speed. */
import {h, setText, svg} from "./dom.js";
import {bitRate, count, plural} from "./format.js";
import {rateOf} from "./rate.js";

const states = {1: "up", 2: "down", 3: "testing", 5: "dormant", 6: "not present"};

const meter = () => {
	const level = svg("rect", {width: "0", height: "3"});
	return {
		el: svg("svg", {class: "meter", viewBox: "0 0 72 3", preserveAspectRatio: "none", "aria-hidden": "true"},
			svg("rect", {width: "72", height: "3"}), level),
		set(share) {
			level.setAttribute("width", (Math.min(1, share) * 72).toFixed(1));
		},
	};
};
const flow = () => {
	const octets = h("td", {class: "num quiet wide"});
	const text = h("span", {class: "rate"}, "–"), level = meter();
	return {octets, text, level, rate: rateOf(), cell: h("td", {class: "num"}, level.el, text)};
};

const line = (port) => {
	const state = h("span", {class: "state"}), inward = flow(), outward = flow();
	const el = h("tr", {},
		h("td", {class: "num tight quiet medium"}, String(port.index)),
		h("th", {scope: "row"}, port.name,
			h("span", {class: "sub"}, port.speed_bps ? bitRate(port.speed_bps) : "")),
		h("td", {class: "quiet wide"}, port.alias ?? ""),
		h("td", {}, state),
		h("td", {class: "num medium"}, port.speed_bps ? bitRate(port.speed_bps) : ""),
		inward.cell, outward.cell, inward.octets, outward.octets);
	const move = (part, octets, nowMs) => {
		setText(part.octets, count(octets));
		const grown = part.rate.next(octets, nowMs);
		if (grown === null) return;
		setText(part.text, bitRate(grown * 8));
		part.level.set(port.speed_bps ? (grown * 8) / port.speed_bps : 0);
	};
	return {
		el,
		show(now, nowMs) {
			const word = states[now.oper_status] ?? now.oper_status;
			state.className = `state ${word}`;
			setText(state, word[0].toUpperCase() + word.slice(1));
			move(inward, now.in_octets, nowMs);
			move(outward, now.out_octets, nowMs);
		},
	};
};

export const interfacesPanel = () => {
	const lines = new Map();
	const body = h("tbody", {});
	const amount = h("span", {class: "quiet"});
	const col = (text, kind = "") => h("th", {scope: "col", class: kind}, text);
	const el = h("section", {class: "panel", "aria-labelledby": "interfaces"},
		h("div", {class: "panel-head"}, h("h2", {id: "interfaces"}, "Interfaces"), amount),
		h("div", {class: "scroll"},
			h("table", {class: "interfaces", "aria-labelledby": "interfaces"},
				h("thead", {}, h("tr", {}, col("Index", "num medium"), col("Name"),
					col("Alias", "wide"), col("State"), col("Speed", "num medium"), col("In", "num"),
					col("Out", "num"), col("Octets in", "num wide"), col("Octets out", "num wide"))),
				body)));
	return {
		el,
		show(device, nowMs) {
			const ports = device.detail.interfaces;
			const up = ports.filter((port) => states[port.oper_status] === "up").length;
			setText(amount, `${plural(ports.length, "interface", "interfaces")}, ${up} up`);
			for (const port of ports) {
				if (!lines.has(port.index)) {
					lines.set(port.index, line(port));
					body.append(lines.get(port.index).el);
				}
				lines.get(port.index).show(port, nowMs);
			}
		},
	};
};
