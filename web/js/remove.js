/* Asks before it deletes, and deletes. */
import {send} from "./api.js";
import {openDialog} from "./dialog.js";
import {h, newId} from "./dom.js";
import {count, plural} from "./format.js";
import {say} from "./say.js";

/* A form whose main button deletes path; ready() says whether it may. */
const sheet = (close, {path, label, done, ready, fields, focusCancel}) => {
	const problem = h("p", {class: "error", role: "alert"});
	const main = h("button", {class: "button danger main", type: "submit"}, label);
	const cancel = h("button", {
		class: "button", type: "button", autofocus: focusCancel, onclick: () => close(false),
	}, "Cancel");
	const submit = async (event) => {
		event.preventDefault();
		if (!ready() || main.disabled) return;
		main.disabled = true;
		main.textContent = "Deleting…";
		try {
			await send(path, {method: "DELETE", patient: true});
			say(done);
			close(true);
		} catch (error) {
			problem.textContent = error.message;
			main.disabled = false;
			main.textContent = label;
		}
	};
	return h("form", {class: "fields", novalidate: true, onsubmit: submit},
		...fields, h("div", {class: "field"}, problem), h("footer", {class: "field actions"},
			cancel, main));
};

/* Resolves to true when the device is gone. */
export const confirmOne = (device) =>
	openDialog(`Delete ${device.ip}?`, (close) => [
		h("p", {}, `${device.device_type ?? "Default"}. It stops answering at once.`),
		sheet(close, {
			path: `/api/v1/devices/${encodeURIComponent(device.id)}`, label: "Delete device",
			done: `Deleted ${device.ip}`, ready: () => true, fields: [], focusCancel: true,
		}),
	]);

/* The user types the number of devices, so that a slip of the hand deletes nothing. */
export const confirmAll = (total) =>
	openDialog(`Delete all ${plural(total, "device", "devices")}?`, (close) => {
		const id = newId("total"), hint = newId("hint");
		const input = h("input", {
			id, inputmode: "numeric", autocomplete: "off", autofocus: true, "aria-describedby": hint,
		});
		const error = h("p", {id: hint, class: "hint"}, `That is ${count(total)}.`);
		const ready = () => {
			const right = input.value.replace(/[\s,._']/g, "") === String(total);
			input.setAttribute("aria-invalid", String(!right));
			error.className = right ? "hint" : "error";
			if (!right) input.focus();
			return right;
		};
		return [
			h("p", {}, "The fleet stops answering at once, and nothing brings it back."),
			sheet(close, {
				path: "/api/v1/devices", label: "Delete all", done: "All devices deleted", ready,
				fields: [h("div", {class: "field"},
					h("label", {for: id}, "Number of devices, to confirm"), input, error)],
			}),
		];
	});
