/* The band of figures: the fleet's size, live rates with their curves, the host's state. */
import {h, setText} from "./dom.js";
import {bytes, count, plural, rate} from "./format.js";
import {rateOf} from "./rate.js";
import {sparkline} from "./spark.js";

const fleetFigures = [
	{label: "Devices", of: (status) => status.total_devices},
	{label: "Running", of: (status) => status.running_devices},
	{label: "Types in use", of: (status) => status.fleet.types},
	{label: "Interfaces", of: (status) => status.fleet.interfaces},
];
const sum = (group = {}, fits) =>
	Object.entries(group).reduce((all, [name, value]) => (fits.test(name) ? all + value : all), 0);
/* Counters of the SNMP agents, as the status has them. */
const rates = [
	{label: "SNMP requests", of: ({responder}) => sum(responder, /_requests$/)},
	{label: "Answers", of: ({agent_worker}) => sum(agent_worker, /^sent_datagrams$/)},
	{label: "Malformed", of: ({responder}) => sum(responder, /^malformed_/), kind: "second"},
	{label: "To unknown devices", of: ({agent_worker}) => sum(agent_worker, /^unknown_device_/),
		kind: "second"},
];

const figure = (label, dd, ...more) => h("div", {class: "figure"}, h("dt", {}, label), dd, ...more);

export const figuresPanel = () => {
	const shown = fleetFigures.map(({label, of}) => ({label, of, dd: h("dd", {}, "–")}));
	const flows = rates.map(({label, of, kind}) => ({
		label, of, rate: rateOf(), number: h("span", {}, "–"), spark: sparkline(kind),
	}));
	const host = h("p", {class: "host"});
	const el = h("section", {class: "panel", "aria-label": "Fleet figures"},
		h("dl", {class: "figures"}, ...shown.map(({label, dd}) => figure(label, dd))),
		h("dl", {class: "figures rates"}, ...flows.map(({label, number, spark}) =>
			figure(label, h("dd", {}, number, h("small", {}, "/s")), spark.el))),
		host);
	return {
		el,
		status(status, nowMs) {
			for (const {of, dd} of shown) setText(dd, count(of(status)));
			for (const flow of flows) {
				const grown = flow.rate.next(flow.of(status.counters), nowMs);
				if (grown === null) continue;
				setText(flow.number, rate(grown));
				flow.spark.push(grown);
			}
		},
		host(stats) {
			const mb = 1024 * 1024;
			host.replaceChildren(...[
				`nl6 memory ${bytes(stats.simulator_memory_mb * mb)}`,
				`Host memory ${stats.memory_usage_percent.toFixed(0)} % of `
					+ bytes(stats.total_memory_mb * mb),
				`CPU ${stats.cpu_usage_percent.toFixed(0)} % of ${plural(stats.num_cpu, "core", "cores")}`,
				`Load ${[stats.load_avg_1, stats.load_avg_5, stats.load_avg_15]
					.map((load) => load.toFixed(2)).join("  ")}`,
			].map((text) => h("span", {}, text)));
		},
	};
};
