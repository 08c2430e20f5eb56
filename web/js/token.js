/* The API token: asked for when the server wants one, kept for this tab only. */
import {openDialog} from "./dialog.js";
import {h, newId} from "./dom.js";

const KEY = "nl6.token";
let held = null;
try {
	held = sessionStorage.getItem(KEY);
} catch {
	/* Storage may be forbidden; then the token lives as long as the page. */
}
let asking = null;
let declined = false;
const watchers = new Set();

const keep = (token) => {
	held = token;
	try {
		if (token === null) sessionStorage.removeItem(KEY);
		else sessionStorage.setItem(KEY, token);
	} catch {
		/* As above. */
	}
	for (const watch of watchers) watch(token !== null);
};

export const token = () => held;
export const forgetToken = () => {
	declined = true;
	keep(null);
};
/* watch(held) is called now and whenever a token comes or goes. */
export const watchToken = (watch) => {
	watchers.add(watch);
	watch(held !== null);
};

const prompt = (refused) =>
	openDialog("API token", (close) => {
		const field = newId("token"), hint = newId("hint"), error = newId("error");
		const input = h("input", {
			id: field, type: "password", autocomplete: "off", autofocus: true,
			spellcheck: "false", "aria-describedby": `${hint} ${error}`,
			"aria-invalid": refused ? "true" : undefined,
		});
		const problem = h("p", {id: error, class: "error"}, refused ? "nl6 refused this token." : "");
		const submit = (event) => {
			event.preventDefault();
			const value = input.value.trim();
			if (value) return close(value);
			input.setAttribute("aria-invalid", "true");
			problem.textContent = "Enter the token.";
			input.focus();
		};
		return [
			h("form", {class: "fields", novalidate: true, onsubmit: submit},
				h("div", {class: "field"},
					h("label", {for: field}, "Token"), input,
					h("p", {id: hint, class: "hint"},
						"As given to -api-token-file. This tab keeps it until it is closed."),
					problem),
				h("footer", {class: "field actions"},
					h("button", {class: "button", type: "button", onclick: () => close()}, "Cancel"),
					h("button", {class: "button main", type: "submit"}, "Unlock"))),
		];
	});

/* After a 401: asks once however many requests wait. used: the token that was refused or null.
 * Resolves to whether it is worth trying again. again: also if the user has declined before. */
export const askForToken = async (used, again = false) => {
	if (held !== used) return held !== null;
	if (declined && !again) return false;
	asking ??= prompt(used !== null).then((value) => {
		asking = null;
		declined = value === undefined;
		if (!declined) keep(value);
		else if (used !== null) keep(null);
		return !declined;
	});
	return asking;
};
