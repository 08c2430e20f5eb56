/* The one way to the server: JSON in and out, the token where one is held, faults as ApiError. */
import {linkLive, linkLocked, linkLost} from "./link.js";
import {askForToken, token} from "./token.js";

const PATIENCE_MS = 15000;

export class ApiError extends Error {
	constructor(status, body) {
		super(body?.message || `nl6 answered with status ${status}`);
		this.status = status;
		this.field = body?.detail?.field ?? "";
		this.allowed = body?.detail?.allowed ?? "";
	}
}
export const isAbort = (error) => error.name === "AbortError";

const unlock = async () => {
	if (await askForToken(token(), true)) getJson("/api/v1/status").catch(() => {});
};

const once = async (path, {method = "GET", body, headers = {}, signal, patient = false}, used) => {
	const all = {Accept: "application/json", ...headers};
	if (body !== undefined) all["Content-Type"] = "application/json";
	if (used !== null) all.Authorization = `Bearer ${used}`;
	const limits = [signal, patient ? null : AbortSignal.timeout(PATIENCE_MS)].filter(Boolean);
	try {
		return await fetch(path, {
			method, headers: all, cache: "no-store", redirect: "error",
			body: body === undefined ? undefined : JSON.stringify(body),
			signal: limits.length ? AbortSignal.any(limits) : undefined,
		});
	} catch (error) {
		if (signal?.aborted) throw error;
		linkLost();
		throw new ApiError(0, {message: "nl6 does not answer"});
	}
};

/* The response, whatever its status but 401. patient: no limit on how long it may take. */
export const request = async (path, how = {}) => {
	for (;;) {
		const used = token();
		const response = await once(path, how, used);
		if (response.status !== 401) {
			linkLive();
			return response;
		}
		if (await askForToken(used)) continue;
		linkLocked(unlock);
		throw new ApiError(401, {message: "The API token is missing"});
	}
};

/* The answer's JSON together with its response. */
export const send = async (path, how) => {
	const response = await request(path, how);
	const body = await response.json().catch(() => null);
	if (!response.ok) throw new ApiError(response.status, body);
	return {body, response};
};
export const getJson = async (path, signal) => (await send(path, {signal})).body;
