/* The profiling gate: how it stands, a switch with a duration, and profiles to save. */
import {getJson, request, send} from "./api.js";
import {h, newId, setText} from "./dom.js";
import {bytes, duration, plural} from "./format.js";
import {icon} from "./icons.js";
import {poll} from "./poll.js";
import {say} from "./say.js";

const EVERY_MS = 2000;
const CPU_SECONDS = 5;

/* What a refusal says: the message of the API, else the text, else the status. */
const reason = async (response) => {
	const text = await response.text().catch(() => "");
	try {
		return JSON.parse(text).message ?? text;
	} catch {
		return text.trim() || `HTTP ${response.status}: ${response.statusText}`;
	}
};

const saveAs = (blob, name) => {
	const href = URL.createObjectURL(blob);
	h("a", {href, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(href), 1000);
};

const saveProfile = async (path, name) => {
	const response = await request(path, {patient: true, headers: {Accept: "*/*"}});
	if (!response.ok) throw new Error(await reason(response));
	const blob = await response.blob();
	saveAs(blob, name);
	return blob.size;
};

/* A button that saves a profile; takes seconds, which its bar counts down. */
const profileButton = (label, loadingId, seconds, save, tell) => {
	const bar = h("progress", {id: loadingId, hidden: true, max: seconds || undefined,
		"aria-label": `${label}: under way`});
	const button = h("button", {class: "button", type: "button"}, icon("save"), label);
	button.addEventListener("click", async () => {
		if (button.disabled) return;
		button.disabled = true;
		bar.hidden = false;
		const begun = performance.now();
		const timer = setInterval(() => {
			if (seconds) bar.value = Math.min(seconds, (performance.now() - begun) / 1000);
		}, 100);
		try {
			tell("");
			say(`${label}: saved, ${bytes(await save())}`);
		} catch (error) {
			tell(error.message);
		}
		clearInterval(timer);
		bar.hidden = true;
		bar.removeAttribute("value");
		button.disabled = false;
	});
	return h("span", {class: "profile-button"}, button, bar);
};

const downloadPprofMemory = () => saveProfile("/debug/pprof/heap", "nl6_heap.pprof.gz");
const downloadCpuProfile = () =>
	saveProfile(`/debug/pprof/profile?seconds=${CPU_SECONDS}`, "nl6_cpu.pprof.gz");

const until = (at) => duration((Date.parse(at) - Date.now()) / 1000);
const target = (gate) => {
	if (!gate.revert_to) return "closes";
	return gate.revert_to_address ? `opens for ${gate.revert_to_address}` : "opens";
};

const uploads = ({push, sdk_errors: errors = 0}) =>
	`${plural(push.uploads, "upload", "uploads")}`
	+ (push.last_upload_at ? `, the last at ${push.last_upload_at.slice(11, 19)} UTC` : "")
	+ (errors ? `, ${plural(errors, "error", "errors")}` : "");

/* Sentences about the gate. */
const describe = (gate) => {
	const {sampler} = gate;
	const said = [];
	if (sampler) {
		const by = {flag: "a flag", rest: sampler.opened_from ?? "REST", revert: "its timer"};
		said.push(`Opened by ${by[sampler.opened_by]} at ${sampler.opened_at.slice(11, 19)} UTC`);
		said.push(`${plural(sampler.threads, "thread", "threads")}, `
			+ `${plural(sampler.samples, "sample", "samples")}, ${bytes(sampler.bytes)} of its own`);
	} else {
		said.push("Closed: nothing is measured");
	}
	if (gate.server_address)
		said.push(`${gate.pushing ? "Pushing" : "Not pushing"} to ${gate.server_address}`
			+ (gate.push ? `: ${uploads(gate)}` : ""));
	if (gate.last_error) said.push(gate.last_error);
	if (gate.revert_pending) said.push(`It ${target(gate)} in ${until(gate.revert_at)}`);
	return said;
};

const times = [["", "until it is closed"], ["5m", "for 5 minutes"], ["30m", "for 30 minutes"],
	["4h", "for 4 hours"]];

export const gatePanel = ({signal}) => {
	const state = h("span", {class: "gate-state", id: "gate-state"}, "–");
	const facts = h("p", {class: "host", id: "gate-facts"});
	const problem = h("p", {class: "error", id: "gate-problem", role: "alert", hidden: true});
	const tell = (text) => {
		setText(problem, text);
		problem.hidden = !text;
	};
	const time = h("select", {id: newId("gate-time"), "aria-label": "How long it stays open"},
		...times.map(([value, text]) => h("option", {value}, text)));
	const server = h("input", {id: newId("gate-server"), type: "url", class: "gate-server",
		"aria-label": "Pyroscope server to push to", autocomplete: "off", spellcheck: "false",
		placeholder: "push to http://… (optional)"});
	const turn = h("button", {class: "button", type: "button", id: "gate-turn", disabled: true},
		"Open");
	let gate = null;
	const show = (now) => {
		gate = now;
		setText(state, gate.enabled ? "Open" : "Closed");
		state.dataset.open = gate.enabled;
		setText(turn, gate.enabled ? "Close" : "Open");
		turn.disabled = false;
		time.hidden = server.hidden = gate.enabled;
		facts.replaceChildren(...describe(gate).map((text) => h("span", {}, text)));
	};
	turn.addEventListener("click", async () => {
		turn.disabled = true;
		tell("");
		const body = gate.enabled ? {enabled: false}
			: {enabled: true, ...(time.value ? {duration: time.value} : {}),
				...(server.value.trim() ? {server_address: server.value.trim()} : {})};
		try {
			show((await send("/api/v1/profiling", {method: "POST", patient: true, body})).body.data);
			say(gate.enabled ? "The profiling gate is open" : "The profiling gate is closed");
		} catch (error) {
			tell(error.message);
			turn.disabled = false;
			refresh();
		}
	});
	const refresh = poll(async () => show((await getJson("/api/v1/profiling", signal)).data),
		EVERY_MS, signal);
	return {
		el: h("section", {class: "panel gate", "aria-label": "Profiling"},
			h("div", {class: "gate-line"},
				h("h2", {}, "Profiling"), state, server, time, turn,
				h("span", {class: "gate-gap"}),
				profileButton("Heap profile", "pprofMemoryLoading", 0, downloadPprofMemory, tell),
				profileButton("CPU profile", "cpuProfileLoading", CPU_SECONDS, downloadCpuProfile,
					tell)),
			problem, facts),
	};
};
