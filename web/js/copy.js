/* Puts text on the clipboard, also where the page came over plain HTTP from another host. */
import {h} from "./dom.js";
import {icon, setIcon} from "./icons.js";
import {say} from "./say.js";

const byHand = (text) => {
	const area = h("textarea", {class: "unseen", readonly: true});
	area.value = text;
	document.body.append(area);
	area.select();
	const done = document.execCommand("copy");
	area.remove();
	return done;
};
const copy = async (text) => {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return byHand(text);
	}
};

/* A button that copies text() and says so; label names what it copies. */
export const copyButton = (label, text, words = "") => {
	const picture = icon("copy");
	const button = h("button", {
		class: words ? "button" : "button bare", type: "button", title: label,
		"aria-label": label,
	}, picture, words || null);
	button.addEventListener("click", async () => {
		const done = await copy(text());
		button.focus();
		say(done ? `Copied: ${text()}` : "The browser did not let the console copy");
		if (!done) return;
		setIcon(picture, "done");
		setTimeout(() => setIcon(picture, "copy"), 1500);
	});
	return button;
};
