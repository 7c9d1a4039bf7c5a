/**
 * One HTTP POST to somebody else's address. The addresses that the resolver gives are looked at before one of them is connected to, and
 * the one that was connected to once more: a name that leads elsewhere the second time leads nowhere. No redirect is followed.
 */
import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { isPrivate, RefusedAddress } from "./address.ts";

export interface PostOptions {
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Private addresses may be connected to. */
  private: boolean;
  timeoutMs: number;
  signal: AbortSignal;
  /** As node:dns has it. */
  resolve?: Resolve | undefined;
}

export type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface Answer {
  status: number;
  /** What the receiver asks us to wait. */
  retryAfterMs: number | undefined;
}

/** Resolves with the head of the answer; its body does not matter. Throws what the connection met, in words without the address. */
export function post(url: URL, options: PostOptions): Promise<Answer> {
  const { headers, body, timeoutMs, signal } = options;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // Node asks no resolver about an address.
  if (!options.private && isIP(host) !== 0 && isPrivate(host)) return Promise.reject(new RefusedAddress());
  return new Promise((resolve, reject) => {
    // Loaded here and not above: an import of node:http loads undici too, 40 ms for every command, which never posts anything.
    const { request: start } = process.getBuiltinModule(url.protocol === "http:" ? "node:http" : "node:https");
    const request = start(url, {
      method: "POST",
      agent: false, // A connection of its own: none that another address may have opened.
      headers: { ...headers, "content-length": String(Buffer.byteLength(body)), "user-agent": "midwatch" },
      lookup: checked(options),
      signal,
    });
    const timer = setTimeout(() => request.destroy(new Error(`no answer in ${timeoutMs / 1000} s`)), timeoutMs);
    request.once("socket", (socket) =>
      socket.once("connect", () => {
        const address = socket.remoteAddress;
        if (!options.private && (address === undefined || isPrivate(address))) request.destroy(new RefusedAddress());
      }),
    );
    request.once("response", (response) => {
      response.on("error", () => undefined);
      response.resume();
      const { statusCode: status = 0, headers: told } = response;
      resolve({ status, retryAfterMs: retryAfter(told["retry-after"], Date.now()) });
    });
    request.on("error", reject);
    request.once("close", () => clearTimeout(timer));
    request.end(body);
  });
}

function checked({
  private: allowed,
  resolve = process.getBuiltinModule("node:dns").lookup,
}: PostOptions): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname, { all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error ?? new Error("its name leads nowhere"), "");
      else if (!allowed && addresses.some(({ address }) => isPrivate(address))) callback(new RefusedAddress(), "");
      else if (all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Seconds, or a date. */
export function retryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(text.trim())) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
