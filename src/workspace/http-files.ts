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
const OF_THIS_MACHINE = /^http:\/\/(127(\.\d{1,3}){3}|localhost|\[::1\]):\d{1,5}$/;
const TOKEN = /^[0-9a-f]{64}$/;

/** The token of this workspace. An agent is not given it: it has its own capability. */
export function httpToken(context: Context): string {
  assertPerson(context, "open the HTTP door");
  const { root, httpToken: path } = context.layout;
  createInside(root, path, `${randomBytes(32).toString("hex")}\n`);
  const token = storedToken(context);
  if (token !== undefined) return token;
  throw new MidwatchError("NOT_WRITABLE", `${path} does not hold a token.`, {
    hint: "Remove the file; the next `midwatch up` makes a new one.",
  });
}

/** As it lies there, to check what others say by it; undefined when there is none. */
export function storedToken({ layout }: Context): string | undefined {
  const token = readOwn(layout.httpToken)?.trim() ?? "";
  return TOKEN.test(token) ? token : undefined;
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

/** A server that lives, as the file has it; undefined when there is none, it was killed and left its file, or it is said to be elsewhere. */
export function announcedServer({ layout }: Context): ServerFact | undefined {
  const fact = readJson<ServerFact>(layout.httpServer, { shape: SERVER }).value;
  const lives = fact !== undefined && readProcess(fact.pid)?.start_ticks === fact.start_ticks;
  return lives && OF_THIS_MACHINE.test(fact.url) ? fact : undefined;
}
