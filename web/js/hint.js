/* What the user has to do on the host himself: nl6 never edits the firewall. */
import {copyButton} from "./copy.js";
import {h, setText} from "./dom.js";

export const firewallHint = () => {
	const command = h("code", {});
	const el = h("section", {class: "hint-panel panel", "aria-label": "Firewall", hidden: true},
		h("p", {}, "This host's firewall may drop what is forwarded to and from the devices. This lets "
			+ "it through:"),
		h("div", {class: "command"}, command,
			copyButton("Copy the firewall command", () => command.textContent, "Copy")));
	return {
		el,
		status(status) {
			const hint = status.lab?.forward_hint;
			el.hidden = !hint;
			setText(command, hint ?? "");
		},
	};
};
