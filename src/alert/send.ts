/** Sends one message on one route, once, and says what became of it. It never throws. */

import { cut } from "../core/text/one-line.ts";
import { feed } from "../process/feed.ts";
import { RefusedAddress } from "./address.ts";
import { type Alert, fullText, inOneLine } from "./message.ts";
import type { Answer, Resolve } from "./post.ts";
import type { Severity } from "./rules.ts";
import type { Route, WebRoute } from "./settings.ts";
import { signed } from "./sign.ts";

export type Sent =
  | { state: "delivered" }
  /** It may work later. */
  | { state: "again"; error: string; afterMs?: number | undefined }
  /** It never will. */
  | { state: "never"; error: string }
  /** The receiver wants no more messages at all. */
  | { state: "off"; error: string };

export interface Outside {
  env: NodeJS.ProcessEnv;
  /** Where commands run. */
  folder: string;
  /** A line for the person at the terminal. */
  tell(text: string): void;
  signal: AbortSignal;
  /** How long a receiver may take. */
  timeoutMs?: number;
  resolve?: Resolve | undefined;
}

const TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 30_000;
const LINE_CHARS = 200;
const BELL = "\u0007";

export async function send(route: Route, alert: Alert, outside: Outside): Promise<Sent> {
  try {
    switch (route.to) {
      case "bell":
        outside.tell(`${BELL}${inOneLine(alert, LINE_CHARS)}`);
        return { state: "delivered" };
      case "desktop":
        return ended(await call(desktopCommand(alert), "", outside));
      case "command":
        return ended(await call(route.argv, `${JSON.stringify(payload(alert))}\n`, outside));
      default:
        return judge(await toWeb(route, alert, outside));
    }
  } catch (error) {
    if (error instanceof RefusedAddress) return { state: "never", error: error.message };
    return { state: "again", error: reason(error) };
  }
}

async function toWeb(route: WebRoute, alert: Alert, outside: Outside): Promise<Answer> {
  const { signal, resolve, timeoutMs = TIMEOUT_MS } = outside;
  const { post } = await import("./post.ts"); // TLS takes a while to load, and most commands send nothing.
  const { url, body, headers } = request(route, alert, Date.now());
  return post(url, {
    body,
    headers: { "content-type": "application/json", ...headers },
    private: route.private,
    timeoutMs,
    signal,
    resolve,
  });
}

function judge({ status, retryAfterMs }: Answer): Sent {
  if (status >= 200 && status < 300) return { state: "delivered" };
  const error = `the receiver answered ${status}`;
  if (status === 410) return { state: "off", error: `${error} (gone)` };
  if (status >= 300 && status < 400) return { state: "never", error: `${error}, a redirect, which is not followed` };
  if (status === 429 || status === 503) return { state: "again", error, afterMs: retryAfterMs };
  return { state: status >= 500 || status === 408 ? "again" : "never", error };
}

/** What a webhook and a command get. */
function payload(alert: Alert): { type: string; timestamp: string; data: unknown } {
  const { type, timestamp, id, severity, title, actor, task, agent, data, more, rest } = alert;
  const event = { id, actor, task, agent, data };
  return { type, timestamp, data: { severity, title, text: fullText(alert), event, more, rest } };
}

interface WebRequest {
  url: URL;
  body: string;
  headers: Record<string, string>;
}

export function request(route: WebRoute, alert: Alert, nowMs: number): WebRequest {
  const { url } = route;
  const text = fullText(alert);
  const json = (value: unknown, headers = {}): WebRequest => ({ url, body: JSON.stringify(value), headers });
  switch (route.to) {
    case "webhook": {
      const made = json(payload(alert));
      return { ...made, headers: signed(route.key, alert.id, nowMs, made.body) };
    }
    case "slack": {
      // Escaped, so that no text can call a whole channel.
      const escaped = (part: string): string =>
        part.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
      return json({ text: `${MARKS[alert.severity]} *${escaped(alert.title)}*\n${escaped(cut(text, 3000))}` });
    }
    case "discord":
      return json({
        content: cut(`${MARKS[alert.severity]} **${alert.title}**\n${text}`, 2000),
        allowed_mentions: { parse: [] },
      });
    case "ntfy": {
      // As JSON, which takes any text, goes to the server itself; headers would take ASCII only.
      const topic = decodeURIComponent(url.pathname.split("/").filter(Boolean).at(-1) ?? "");
      const server = new URL(url.pathname.replace(/[^/]+\/?$/, ""), url);
      const priority = { info: 2, warning: 3, error: 4, critical: 5 }[alert.severity];
      const made = json({ topic, title: alert.title, message: cut(text, 2000), priority, tags: [alert.type] });
      return { ...made, url: server, headers: route.token ? { authorization: `Bearer ${route.token}` } : {} };
    }
  }
}
const MARKS: Readonly<Record<Severity, string>> = { info: "ℹ️", warning: "⚠️", error: "❌", critical: "🚨" };

/** Which program shows notifications here. */
export function desktopProgram(platform: NodeJS.Platform = process.platform): string {
  return platform === "darwin" ? "osascript" : "notify-send";
}

/** Text is an argument of its own, never a part of a script. */
export function desktopCommand(
  alert: Alert,
  platform: NodeJS.Platform = process.platform,
): readonly [string, ...string[]] {
  const { title, severity } = alert;
  const text = cut(fullText(alert), 500);
  if (platform === "darwin") {
    const script = ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];
    return [desktopProgram(platform), ...script.flatMap((line) => ["-e", line]), title, text];
  }
  const urgency = { info: "low", warning: "normal", error: "critical", critical: "critical" }[severity];
  // Its text may hold markup; the title may not.
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return [desktopProgram(platform), "--app-name=midwatch", `--urgency=${urgency}`, "--", title, escaped];
}

function call(argv: readonly [string, ...string[]], input: string, outside: Outside): Promise<string | undefined> {
  const { env, folder: cwd, signal, timeoutMs = COMMAND_TIMEOUT_MS } = outside;
  return feed(argv, input, { env, cwd, timeoutMs, signal });
}

function ended(problem: string | undefined): Sent {
  return problem === undefined ? { state: "delivered" } : { state: "again", error: `the command: ${problem}` };
}

/** The code says enough; a message may hold the address. */
function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message ?? "failed";
}
