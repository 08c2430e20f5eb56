/* First, previous and next page, and where one is. */
import {h, setText} from "./dom.js";
import {icon} from "./icons.js";

export const pagerLine = ({first, back, next}) => {
	const place = h("span", {id: "place"});
	const button = (text, name, press, after) =>
		h("button", {class: "button", type: "button", onclick: press, disabled: true},
			after ? null : icon(name), text, after ? icon(name) : null);
	const buttons = {
		first: button("First", "first", first),
		back: button("Previous", "back", back),
		next: button("Next", "next", next, true),
	};
	const el = h("nav", {class: "pager", "aria-label": "Pages of devices", hidden: true}, place,
		h("div", {class: "actions"}, ...Object.values(buttons)));
	return {
		el,
		show(text, canFirst, canBack, canNext) {
			setText(place, text);
			const at = document.activeElement;
			el.hidden = !canFirst && !canNext && text === "No devices";
			buttons.first.disabled = !canFirst;
			buttons.back.disabled = !canBack;
			buttons.next.disabled = !canNext;
			/* The last page disables the button just pressed: keep the focus in this line. */
			if (Object.values(buttons).includes(at) && at.disabled)
				Object.values(buttons).find((b) => !b.disabled)?.focus();
		},
	};
};
