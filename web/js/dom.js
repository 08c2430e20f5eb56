/* Makes elements. Text is always text: nothing here parses HTML. */
const SVG = "http://www.w3.org/2000/svg";

const fill = (el, props, children) => {
	for (const [name, value] of Object.entries(props ?? {})) {
		if (value === undefined || value === null || value === false) continue;
		if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
		else if (name === "value" || name === "checked" || name === "disabled") el[name] = value;
		else el.setAttribute(name, value === true ? "" : value);
	}
	el.append(...children.filter((child) => child !== null && child !== undefined));
	return el;
};

/* h("button", {class: "button", onclick: f}, "Text", child…) */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) =>
	fill(document.createElementNS(SVG, tag), props, children);

/* Writes only what changed: a live region or a selection is not disturbed without need. */
export const setText = (el, text) => {
	if (el.textContent !== String(text)) el.textContent = text;
};

let ids = 0;
export const newId = (stem) => `${stem}-${++ids}`;
