/* A labelled field of the request's body with its hint, and the errors of a form's fields. */
import {h, newId} from "./dom.js";

export const field = (key, label, {hint, width = "", ...props}) => {
	const id = newId("field"), hintId = `${id}-hint`;
	const input = h("input", {
		id, name: key, autocomplete: "off", "aria-describedby": hint ? hintId : undefined, ...props,
	});
	return {
		key, input,
		el: h("div", {class: `field ${width}`}, h("label", {for: id}, label), input,
			hint ? h("p", {class: "hint", id: hintId}, hint) : null),
	};
};

/* inputs: the key of the request's body → its input. The errors of a form: at the field that
 * error.field (a JSON pointer) names, else in el. */
export const problems = (inputs) => {
	const el = h("p", {class: "field error block", role: "alert", hidden: true});
	const clear = () => {
		el.hidden = true;
		for (const input of Object.values(inputs)) {
			const note = document.getElementById(`${input.id}-error`);
			if (!note) continue;
			note.remove();
			input.removeAttribute("aria-invalid");
			input.setAttribute("aria-describedby", input.dataset.described ?? "");
		}
	};
	const show = (error) => {
		const key = error.field.replace(/^\//, "");
		const input = inputs[key];
		/* The message names the key; the label already says which field it is. */
		const text = error.message.replace(`${key}: `, "")
			+ (error.allowed && !error.message.includes(error.allowed)
				? `; allowed: ${error.allowed}` : "");
		if (!input) {
			el.textContent = text;
			el.hidden = false;
			return;
		}
		const id = `${input.id}-error`;
		input.dataset.described ??= input.getAttribute("aria-describedby") ?? "";
		input.setAttribute("aria-describedby", `${id} ${input.dataset.described}`.trim());
		input.setAttribute("aria-invalid", "true");
		input.parentElement.append(h("p", {class: "error", id}, text));
		input.focus();
	};
	return {el, clear, show};
};
