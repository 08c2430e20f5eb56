/* The few pictures on buttons, as paths in a field of 16 by 16. */
import {svg} from "./dom.js";

const paths = {
	plus: "M8 3v10M3 8h10",
	trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M7 7v3.5M9 7v3.5",
	copy: "M6 5.5h7v8H6zM3 10.5v-8h7",
	done: "M3 8.5l3.5 3.5L13 4.5",
	save: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13.5h10",
	auto: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
	light: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4"
		+ "M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
	dark: "M13 9.6A5.5 5.5 0 0 1 6.4 3 5.5 5.5 0 1 0 13 9.6z",
	key: "M6.2 9.8a3 3 0 1 0-1.9 1.9 3 3 0 0 0 1.9-1.9zM6 8.2L13 2.5M10.6 4.5l1.7 2",
	back: "M9.5 3.5L5 8l4.5 4.5",
	next: "M6.5 3.5L11 8l-4.5 4.5",
	first: "M11.5 3.5L7 8l4.5 4.5M4 3.5v9",
};

export const icon = (name) =>
	svg("svg", {class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true"},
		svg("path", {d: paths[name]}));

/* Changes the picture of an icon that is shown. */
export const setIcon = (el, name) => el.firstChild.setAttribute("d", paths[name]);
