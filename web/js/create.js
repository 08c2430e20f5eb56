/* The form that creates devices. The server judges; what it says of a field is shown at the field. */
import {getJson, send} from "./api.js";
import {openDialog} from "./dialog.js";
import {h} from "./dom.js";
import {categories, deviceTypes} from "./types.js";
import {field, problems} from "./field.js";
import {typeOptions} from "./filter.js";

/* What is already there is the best guess for what comes next. */
const guess = async () => {
	const [types, fleet] = await Promise.all([deviceTypes(), getJson("/api/v1/devices?limit=1")]);
	const device = fleet.data?.[0];
	return {
		types,
		start: device ? "" : "127.10.0.1",
		port: device?.snmp_port ?? 1161,
	};
};

const wholeNumber = (input) => {
	const text = input.value.replace(/[\s,_']/g, "");
	return /^\d+$/.test(text) ? Number(text) : text;
};

const choice = (value, label, name, more, checked) => {
	const id = `mode-${value}`;
	const radio = h("input", {type: "radio", name, id, value, checked});
	return {el: h("div", {class: "choice"}, h("label", {for: id}, radio, label), more), radio};
};

const typeChoices = (types) => {
	const one = h("select", {"aria-label": "Type", id: "one-type"}, ...typeOptions(types));
	const group = h("select", {"aria-label": "Category", id: "one-category"},
		...categories(types).map((category) => h("option", {value: category}, category)));
	const modes = [
		choice("all", `Every type in turn (${types.length})`, "mode", null, true),
		choice("category", "Every type of a category", "mode", group),
		choice("one", "One type", "mode", one),
	];
	const mode = () => modes.find(({radio}) => radio.checked).radio.value;
	const sync = () => {
		group.disabled = mode() !== "category";
		one.disabled = mode() !== "one";
	};
	const el = h("fieldset", {class: "choices", onchange: sync}, h("legend", {}, "Types"),
		...modes.map((item) => item.el));
	sync();
	return {
		el, one, group,
		body() {
			if (mode() === "one") return {resource_file: one.value};
			if (mode() === "category") return {round_robin: true, category: group.value};
			return {round_robin: true};
		},
	};
};

const sheet = (close, {types, start, port}) => {
	const fields = [
		field("start_ip", "First address", {
			value: start, autofocus: true, spellcheck: "false", autocapitalize: "off", width: "half",
			hint: "127.x.y.z needs no privileges; others need the lab network.",
		}),
		field("device_count", "Number of devices", {
			value: "1000", inputmode: "numeric", width: "half", hint: "Up to 16,000,000",
		}),
		field("netmask", "Prefix length", {
			placeholder: "16", inputmode: "numeric", width: "half",
			hint: "Optional. If given, the devices must fit in the one network.",
		}),
		field("snmp_port", "SNMP port", {
			value: String(port), inputmode: "numeric", width: "half",
			hint: "UDP; below 1024 needs privileges.",
		}),
	];
	const inputs = Object.fromEntries(fields.map(({key, input}) => [key, input]));
	const chosen = typeChoices(types);
	const shown = problems({...inputs, resource_file: chosen.one, category: chosen.group});
	const main = h("button", {class: "button main", type: "submit"}, "Create");
	const submit = async (event) => {
		event.preventDefault();
		if (main.disabled) return;
		shown.clear();
		main.disabled = true;
		try {
			const {body, response} = await send("/api/v1/devices", {
				method: "POST", patient: true, headers: {Prefer: "respond-async"},
				body: {
					start_ip: inputs.start_ip.value.trim(),
					device_count: wholeNumber(inputs.device_count),
					netmask: inputs.netmask.value.trim() || undefined,
					snmp_port: wholeNumber(inputs.snmp_port),
					...chosen.body(),
				},
			});
			close(response.headers.get("Location") ?? body);
		} catch (error) {
			main.disabled = false;
			shown.show(error);
		}
	};
	return h("form", {class: "fields", novalidate: true, onsubmit: submit},
		...fields.map((item) => item.el), chosen.el, shown.el,
		h("footer", {class: "field actions"},
			h("button", {class: "button", type: "button", onclick: () => close()}, "Cancel"), main));
};

/* Resolves to the path of the batch that the server has begun; undefined when the user left. */
export const openCreate = async () => {
	let known;
	try {
		known = await guess();
	} catch (error) {
		return openDialog("Create devices", (close) => [
			h("p", {class: "error"}, `${error.message}.`),
			h("footer", {}, h("button", {class: "button", type: "button", autofocus: true,
				onclick: () => close()}, "Close")),
		]);
	}
	return openDialog("Create devices", (close) => [sheet(close, known)]);
};
