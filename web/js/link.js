/* Whether the server answers: shown in the bar, and in a notice when it does not. */
import {h, setText} from "./dom.js";

const state = document.getElementById("link-state");
const notice = document.getElementById("notice");
const words = {wait: "Connecting", live: "Live", lost: "No answer", locked: "Locked"};
const events = new EventTarget();
let now = "wait";

/* run() whenever the server answers again: what was asked only once may be missing or old. */
export const onBack = (run, signal) => events.addEventListener("back", run, {signal});

/* action: {label, run} makes a button of the notice. */
const show = (next, text, action) => {
	if (next === now) return;
	const back = next === "live" && now !== "wait";
	now = next;
	state.dataset.state = next;
	setText(state, words[next]);
	document.body.classList.toggle("stale", next === "lost" || next === "locked");
	notice.hidden = !text;
	notice.replaceChildren();
	if (text) notice.append(h("span", {}, text));
	if (action)
		notice.append(h("button", {class: "button", type: "button", onclick: action.run},
			action.label));
	if (back) events.dispatchEvent(new Event("back"));
};

export const linkLive = () => show("live");
export const linkLost = () =>
	show("lost", "nl6 does not answer. What you see is from before; the console keeps trying.");
export const linkLocked = (unlock) =>
	show("locked", "This nl6 asks for its API token.", {label: "Enter token", run: unlock});
