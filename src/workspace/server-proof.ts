/**
 * A server of this workspace, asked to prove itself before anything is said to it: http.json is a file that an agent can write. It has to be on this machine
 * and to show that it knows the token, for this address and this question: the answer of the real one, passed on by another, proves nothing.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { MidwatchError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import { terminalText } from "../core/text/terminal-text.ts";
import type { Context } from "./context.ts";
import { announcedServer, httpToken, type ServerFact, storedToken } from "./http-files.ts";
import { isOurs } from "./trust.ts";

const PATIENCE_MS = 5000;
const ANSWER_BYTES = 4096;
const LINK = /^https?:\/\/[^\s/]+\/login\/[\w-]+$/;

/** What only who has the token can say, to whoever asks a server at this address. */
export function serverProof(token: string, url: string, nonce: string): string {
  return createHmac("sha256", token).update(`server ${url} ${nonce}`).digest("hex");
}

/** The server that began last, if it lives and is ours. */
export async function provenServer(context: Context): Promise<ServerFact | undefined> {
  if (!isOurs(context)) return undefined; // A file of somebody else's names no server of ours.
  const server = announcedServer(context);
  const token = storedToken(context);
  if (server === undefined || token === undefined) return undefined;
  const nonce = randomBytes(32).toString("hex");
  const expected = Buffer.from(serverProof(token, server.url, nonce));
  const shown = Buffer.from(await ask("GET", `${server.url}/proof/${nonce}`).catch(() => ""));
  return shown.length === expected.length && timingSafeEqual(shown, expected) ? server : undefined;
}

/** A new link to the page, from the server that runs; good once. */
export async function loginLink(context: Context): Promise<string> {
  const token = httpToken(context);
  const server = await provenServer(context);
  const answer = server && (await ask("POST", `${server.url}/login`, token).catch(() => ""));
  const { link } = (parseJson(answer ?? "") ?? {}) as { link?: unknown };
  if (typeof link === "string" && LINK.test(link)) return terminalText(link, false);
  throw new MidwatchError(
    "NOT_FOUND_SERVER",
    "No server of this workspace answers at an address of this machine's own.",
    {
      hint: "midwatch up",
    },
  );
}

/** Neither long nor elsewhere, whoever answers. */
async function ask(method: string, url: string, token?: string): Promise<string> {
  const { request } = await import("node:http"); // Most commands ask nobody.
  return await new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const asked = request(url, { method, headers, agent: false, signal: AbortSignal.timeout(PATIENCE_MS) });
    asked.on("error", reject);
    asked.on("response", (answer) => {
      let text = "";
      answer.on("data", (part) => {
        text += part;
        if (text.length > ANSWER_BYTES) asked.destroy(new Error("too long"));
      });
      answer.on("error", reject);
      answer.on("end", () => (answer.statusCode === 200 ? resolve(text) : reject(new Error("refused"))));
    });
    asked.end();
  });
}
