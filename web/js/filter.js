/* Search and type of the device table. */
import {h, newId} from "./dom.js";
import {onBack} from "./link.js";
import {categories, deviceTypes} from "./types.js";

const WAIT_MS = 250;

/* Options for a select: the types in groups of their category. value names the key used. */
export const typeOptions = (types) =>
	categories(types).map((category) =>
		h("optgroup", {label: category}, ...types
			.filter((type) => type.category === category)
			.map((type) => h("option", {value: type.filename}, type.name))));

/* seek({q, type}) when the user has changed one of them. */
export const devicesFilter = (seek, signal) => {
	let timer = 0;
	const search = h("input", {
		id: newId("q"), type: "search", autocomplete: "off", spellcheck: "false",
		placeholder: "Address, name or place",
	});
	const type = h("select", {id: newId("type")}, h("option", {value: ""}, "All types"));
	let wanted = "";
	const ask = () => {
		clearTimeout(timer);
		wanted = type.value;
		seek({q: search.value.trim(), type: type.value});
	};
	search.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(ask, WAIT_MS);
	});
	type.addEventListener("change", ask);
	const fillTypes = () =>
		deviceTypes().then((types) => {
			type.replaceChildren(type.options[0], ...typeOptions(types));
			type.value = wanted;
		}).catch(() => {});
	fillTypes();
	onBack(fillTypes, signal);
	const el = h("form", {class: "tool-line", role: "search", onsubmit: (event) => {
		event.preventDefault();
		ask();
	}},
		h("label", {for: search.id}, h("span", {}, "Search"), search),
		h("label", {for: type.id}, h("span", {}, "Type"), type));
	return {
		el,
		show({q, type: slug}) {
			wanted = slug;
			if (document.activeElement !== search) search.value = q;
			type.value = slug;
		},
		clear: () => (search.value = type.value = ""),
	};
};
