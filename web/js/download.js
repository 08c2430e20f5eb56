/* Saves what the server makes as a file. Without a token the browser streams it to disk itself; with
 * one it has to be fetched, as a link cannot carry it. */
import {request} from "./api.js";
import {h} from "./dom.js";
import {bytes} from "./format.js";
import {icon} from "./icons.js";
import {say} from "./say.js";
import {token} from "./token.js";

const follow = (href, name) => h("a", {href, download: name}).click();

const fetchAndSave = async (path, name, progress) => {
	const response = await request(path, {patient: true, headers: {Accept: "*/*"}});
	if (!response.ok) throw new Error(`status ${response.status}`);
	const parts = [];
	let size = 0;
	for (const reader = response.body.getReader(); ;) {
		const {done, value} = await reader.read();
		if (done) break;
		parts.push(value);
		progress((size += value.length));
	}
	const named = /filename="?([^";]+)/.exec(response.headers.get("Content-Disposition") ?? "");
	const href = URL.createObjectURL(new Blob(parts));
	follow(href, named?.[1] ?? name);
	setTimeout(() => URL.revokeObjectURL(href), 60000);
};

export const downloadButton = (label, path, name) => {
	const words = h("span", {}, label);
	const button = h("button", {class: "button", type: "button", disabled: true}, icon("save"), words);
	button.addEventListener("click", async () => {
		if (token() === null) return follow(path, name);
		button.setAttribute("aria-busy", "true");
		try {
			await fetchAndSave(path, name, (size) => (words.textContent = bytes(size)));
			say(`${label}: saved`);
		} catch (error) {
			say(`${label} failed: ${error.message}`);
		}
		words.textContent = label;
		button.removeAttribute("aria-busy");
	});
	return button;
};
