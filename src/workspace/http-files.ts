/**
 * The two files of the HTTP door: the token that opens it, made once, and where a server listens now. Several may serve one
 * workspace; the file names the one that began last, and each takes away only its own.
 */
import { randomBytes } from "node:crypto";
import { MidwatchError } from "../core/errors.ts";
import { name, pid, type Shape, whole } from "../core/shape/shape.ts";
import { iso } from "../core/time.ts";
import type { ProcessIdentity } from "../core/types.ts";
import { removeFile } from "../disk/inside.ts";
import { readJson, readOwn } from "../disk/replace.ts";
import { createInside, replaceInside } from "../disk/write-inside.ts";
import { readProcess } from "../process/identity.ts";
import { assertPerson } from "./caller.ts";
import type { Context } from "./context.ts";

/** A server of this workspace that listens. */
export interface ServerFact extends ProcessIdentity {
  url: string;
  started_at: string;
}

const SERVER: Shape = { url: name, pid, start_ticks: whole };
const TOKEN = /^[0-9a-f]{64}$/;

/** The token of this workspace. An agent is not given it: it has its own capability. */
export function httpToken(context: Context): string {
  assertPerson(context, "open the HTTP door");
  const { root, httpToken: path } = context.layout;
  createInside(root, path, `${randomBytes(32).toString("hex")}\n`);
  const token = readOwn(path)?.trim() ?? "";
  if (TOKEN.test(token)) return token;
  throw new MidwatchError("NOT_WRITABLE", `${path} does not hold a token.`, {
    hint: "Remove the file; the next `midwatch up` makes a new one.",
  });
}

export function announceServer({ layout }: Context, url: string): void {
  const fact: ServerFact = {
    url,
    pid: process.pid,
    start_ticks: readProcess(process.pid)?.start_ticks ?? 0,
    started_at: iso(),
  };
  replaceInside(layout.root, layout.httpServer, `${JSON.stringify(fact)}\n`);
}

export function withdrawServer({ layout }: Context, url: string): void {
  const fact = readJson<ServerFact>(layout.httpServer, { shape: SERVER }).value;
  if (fact?.url === url && fact.pid === process.pid) removeFile(layout.root, layout.httpServer);
}

/** A server that lives; undefined when there is none, or it was killed and left its file. */
export function announcedServer({ layout }: Context): ServerFact | undefined {
  const fact = readJson<ServerFact>(layout.httpServer, { shape: SERVER }).value;
  const lives = fact !== undefined && readProcess(fact.pid)?.start_ticks === fact.start_ticks;
  return lives && /^http:\/\/[^/]+$/.test(fact.url) ? fact : undefined;
}

/** A new link to the page, from the server that runs; good once. */
export async function loginLink(context: Context): Promise<string> {
  const none = (cause?: unknown): MidwatchError =>
    new MidwatchError("NOT_FOUND_SERVER", "No server of this workspace answers.", { hint: "midwatch up", cause });
  const server = announcedServer(context);
  if (server === undefined) throw none();
  let answer: { link?: string };
  try {
    const headers = { authorization: `Bearer ${httpToken(context)}` };
    const asked = await fetch(`${server.url}/login`, { method: "POST", headers, signal: AbortSignal.timeout(5000) });
    answer = (await asked.json()) as { link?: string };
  } catch (error) {
    throw none(error);
  }
  if (answer.link === undefined) throw none();
  return answer.link;
}
