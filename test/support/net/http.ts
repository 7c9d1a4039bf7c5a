/** A server for a test or a campaign, and clients that send exactly what they are told to. No vitest in here. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { patient } from "../patience.ts";
import { CLI, type Lab, until } from "../workspace.ts";

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  json: any;
}

export interface Asking {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export function tokenOf(lab: Lab): string {
  return readFileSync(join(lab.root, "http-token"), "utf8").trim();
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** What a login link gave to the page. */
export function sessionOf(page: string): string {
  return /<meta name="midwatch-session" content="([\w.-]+)">/.exec(page)?.[1] ?? "";
}

/** One request with these headers and no others of ours; `host` too may be anything. */
export async function ask(
  url: string,
  path: string,
  { method = "GET", headers = {}, body }: Asking = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const sent = request({ hostname, port, path, method, headers, agent: false, timeout: patient(20_000) });
  sent.end(body);
  const [answer] = await once(sent, "response");
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part);
  const text = Buffer.concat(parts).toString();
  const isJson = String(answer.headers["content-type"]).startsWith("application/json");
  return { status: answer.statusCode, headers: answer.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

export interface Up {
  child: ChildProcess;
  url: string;
  link: string;
  pid: number;
}

/** `midwatch up` in a process of its own. */
export async function startUp(lab: Lab, ...args: string[]): Promise<Up> {
  const child = spawn(process.execPath, [CLI, "--workspace", lab.root, "up", "--json", ...args], {
    cwd: lab.folder,
    env: { ...process.env, MIDWATCH_GRACE: "500ms" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  lab.watch(child);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = await Promise.race([once(lines, "line"), once(child, "exit").then(() => ["{}"])]);
  const { link } = JSON.parse(line) as { link?: string };
  if (link === undefined) throw new Error(`up did not begin to serve: ${line}`);
  return { child, link, url: new URL(link).origin, pid: child.pid as number };
}

export interface Message {
  sub: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  items?: any[];
  cursor?: unknown;
  whole?: boolean;
  run?: number;
  end?: boolean;
  error?: { code: string };
}

/** A WebSocket that keeps what it was told; `pause` stops reading from the socket itself. */
export class Follower {
  readonly socket: WebSocket;
  readonly messages: Message[] = [];
  closed: { code: number; reason: string } | undefined;
  refused: number | undefined;

  constructor(
    url: string,
    headers: Record<string, string>,
    onMessage?: (message: Message) => void,
    protocols: string[] = [],
  ) {
    this.socket = new WebSocket(`${url.replace("http", "ws")}/live`, protocols, { headers, maxPayload: 64 << 20 });
    this.socket.on("message", (data) => {
      const message = JSON.parse(data.toString()) as Message;
      if (onMessage === undefined) this.messages.push(message);
      else onMessage(message);
    });
    this.socket.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    this.socket.on("unexpected-response", (_, response) => {
      this.refused = response.statusCode;
      this.socket.terminate();
    });
    this.socket.on("error", () => undefined);
  }

  async open(): Promise<this> {
    await until(() => this.socket.readyState === WebSocket.OPEN, 30_000, "the WebSocket opens");
    return this;
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  of(sub: number): Message[] {
    return this.messages.filter((message) => message.sub === sub);
  }

  /** All items of a subscription so far. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  items(sub: number): any[] {
    return this.of(sub).flatMap(({ items }) => items ?? []);
  }
}

/** A connection to the port, for what no client library would send. `allowHalfOpen`: it stays open when the server has ended its side. */
export async function wire(url: string, allowHalfOpen = false): Promise<Socket & { received: () => string }> {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen });
  let text = "";
  socket.on("data", (part) => {
    text += part.toString("latin1");
  });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return Object.assign(socket, { received: () => text });
}

/** Kilobytes of memory that a process has now. */
export function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
}
