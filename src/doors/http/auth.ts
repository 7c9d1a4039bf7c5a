/**
 * Who may come in. A person has the workspace's token or, in a browser, a session that a one-time link began; an agent has its
 * id and capability. Sessions are signed, not stored: they outlive the server, and end with the token. A page of another
 * site gets nowhere: its Origin is refused, a name that was bent to this address (DNS rebinding) is refused by its Host, and nothing
 * that a browser sends by itself lets anybody in: no cookie is set or believed, because every port of this machine would get it.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { hostname } from "node:os";
import type { Caller, Workspace } from "../../fleet/workspace.ts";
import type { Limits } from "./limits.ts";

export interface Who extends Caller {
  /** A session of a browser, or what a program shows. */
  via: "bearer" | "session";
}

/** A request's headers, by their names in lower case. */
export type Headers = (name: string) => string | undefined;

const CODES_MOST = 100;
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

export class Auth {
  readonly #workspace: Workspace;
  readonly #token: string;
  readonly #limits: Limits;
  readonly #codes = new Map<string, number>();
  readonly #port: number;
  readonly #remote: boolean;
  readonly #public: URL | undefined;

  constructor(
    workspace: Workspace,
    place: { port: number; remote: boolean; publicUrl?: string | undefined },
    limits: Limits,
  ) {
    this.#workspace = workspace;
    this.#token = workspace.http.token();
    this.#limits = limits;
    this.#port = place.port;
    this.#remote = place.remote;
    this.#public = place.publicUrl === undefined ? undefined : new URL(place.publicUrl);
  }

  /** Undefined when nobody known asks. */
  who(headers: Headers): Who | undefined {
    const bearer =
      /^bearer +(\S+)$/i.exec(headers("authorization") ?? "")?.[1] ??
      // All that a browser can say with a WebSocket.
      /(?:^|,) *session\.([\w.-]+) *(?:,|$)/.exec(headers("sec-websocket-protocol") ?? "")?.[1];
    return bearer === undefined ? undefined : this.#bearer(bearer);
  }

  #bearer(value: string): Who | undefined {
    if (value.includes(".")) return this.#isSession(value) ? { agent: undefined, via: "session" } : undefined;
    const at = value.indexOf(":");
    if (at === -1) return same(value, this.#token) ? { agent: undefined, via: "bearer" } : undefined;
    const agent = this.#workspace.http.agentOf(value.slice(0, at), value.slice(at + 1));
    return agent && { agent, via: "bearer" };
  }

  /** Whether the request was meant for us: the name it was sent to, and the page it comes from. */
  isForUs(headers: Headers): boolean {
    const host = headers("host") ?? "";
    const origin = headers("origin");
    // A proxy passes on the name that it was asked by.
    if (host.toLowerCase() === this.#public?.host) return origin === undefined || origin === this.#public.origin;
    return this.#isOurName(host) && (origin === undefined || origin === `http://${host}`);
  }

  #isOurName(host: string): boolean {
    const [, name = "", port = "80"] = /^(\[[0-9a-f:.]+\]|[^:]+)(?::(\d+))?$/i.exec(host) ?? [];
    if (Number(port) !== this.#port) return false;
    if (LOCAL.includes(name.toLowerCase())) return true;
    // Addresses cannot be bent as names can.
    return (
      this.#remote && (isIP(name.replace(/^\[|\]$/g, "")) !== 0 || name.toLowerCase() === hostname().toLowerCase())
    );
  }

  /** Shows who asks that this server, at this address, knows the token. */
  proof(url: string, nonce: string): string {
    return this.#workspace.http.proof(this.#token, url, nonce);
  }

  /** For a link that opens the page, once. */
  newCode(): string {
    const now = performance.now();
    for (const [old, until] of this.#codes) if (until < now || this.#codes.size >= CODES_MOST) this.#codes.delete(old);
    const code = randomBytes(18).toString("base64url");
    this.#codes.set(code, now + this.#limits.codeMs);
    return code;
  }

  /** A new session; undefined for a code that is spent, old or wrong. */
  spend(code: string): string | undefined {
    const until = this.#codes.get(code);
    this.#codes.delete(code);
    if (until === undefined || until < performance.now()) return undefined;
    const session = `${randomBytes(12).toString("base64url")}.${Date.now() + this.#limits.sessionMs}`;
    return `${session}.${this.#sign(session)}`;
  }

  #isSession(value: string): boolean {
    const [id = "", until = "", signature = ""] = value.split(".");
    return Number(until) > Date.now() && same(signature, this.#sign(`${id}.${until}`));
  }

  /** In other words than 0.1 signed its cookies with: those went to every port. */
  #sign(session: string): string {
    return createHmac("sha256", this.#token).update(`page ${session}`).digest("base64url");
  }
}

/** In a time that does not tell how much of it fits. */
function same(given: string, known: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(given), hash(known));
}
