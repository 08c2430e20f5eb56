/* A modal dialog: the browser traps the focus, closes on Esc and gives the focus back. */
import {h, newId} from "./dom.js";

/* Shows a sheet with a heading and what build(close) returns. Resolves when closed, with what
 * close() was given; undefined after Esc. The element with `autofocus` gets the focus. */
export const openDialog = (heading, build) =>
	new Promise((resolve) => {
		const id = newId("dialog");
		const from = document.activeElement;
		let result;
		const dialog = h("dialog", {"aria-labelledby": id});
		const close = (value) => {
			result = value;
			dialog.close();
		};
		dialog.append(h("div", {class: "sheet"}, h("h2", {id}, heading), ...build(close, dialog)));
		dialog.addEventListener("close", () => {
			dialog.remove();
			if (from?.isConnected) from.focus();
			resolve(result);
		});
		document.body.append(dialog);
		dialog.showModal();
	});
