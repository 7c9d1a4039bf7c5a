/**
 * An operation on an agent of another host: `midwatch stop HOST/ID`. It is the same operation, run there; here only the way to it is
 * found and what it gave is shown. `run` names its host, or is given the one that fits best.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import { type FleetLink, type FleetRecord, type Page, place, readShipped } from "../fleet/workspace.ts";
import { fleetOf } from "./fleet-of.ts";
import { type Context, type Operation, usage } from "./operation.ts";
import { type PromptInput, promptOf } from "./text-input.ts";

/** What a host answers to others. */
export const REMOTE: readonly string[] = [
  ...["ls", "show", "logs", "page", "timeline", "summary", "diff", "messages"],
  ...["run", "stop", "restart", "send"],
];

/** How an answer travels: what it was there it is here. */
export type Travelled =
  | { kind: "data"; data: unknown }
  | { kind: "list" | "stream"; items: unknown[]; truncated: boolean };

type Input = Record<string, unknown>;

const PAGE_LINES = 500;
const FOLLOW_MS = 500;
const LINES = 100;

export function remotely(operation: Operation): Operation {
  if (!REMOTE.includes(operation.name) || operation.name === "ls") return operation;
  return {
    ...operation,
    run: (context, given) => {
      const input = given as Input;
      const found = operation.name === "run" ? placed(input) : named(input);
      return found === undefined ? operation.run(context, given) : elsewhere(context, operation, found);
    },
  };
}

interface Elsewhere {
  host: string | undefined;
  on: string[];
  input: Input;
}

function placed({ host, on, anywhere, ...input }: Input): Elsewhere | undefined {
  const labels = (on ?? []) as string[];
  if (host === undefined && labels.length === 0 && anywhere !== true) return undefined;
  const local = ["each", "stdin", "env_file", "fallback_dir"].find((field) => input[field] !== undefined);
  if (local !== undefined || input["wait"] === true)
    throw usage(
      `--${(local ?? "wait").replaceAll("_", "-")} does not go to another host.`,
      "Leave it out; `midwatch logs -f HOST/ID` follows the agent there.",
    );
  return { host: host as string | undefined, on: labels, input };
}

/** What has a slash and is not this is no id at all, and refused as such. */
const HOST_AND_ID = /^([a-z0-9][a-z0-9_-]{0,63})\/[a-z0-9][a-z0-9_-]{0,63}$/i;

/** `HOST/ID` in one field or in several; ids have no slash. */
function named(input: Input): Elsewhere | undefined {
  const { agent, agents } = input as { agent?: string; agents?: string[] };
  const all = agents ?? (agent === undefined ? [] : [agent]);
  const hosts = new Set(all.map((one) => HOST_AND_ID.exec(one)?.[1]?.toLowerCase() ?? ""));
  if (hosts.size === 0 || (hosts.size === 1 && hosts.has(""))) return undefined;
  const [host, ...more] = hosts;
  if (more.length > 0) throw usage("These agents are on several hosts.", "Name those of one host at a time.");
  const ids = all.map((one) => one.slice(one.indexOf("/") + 1));
  return { host, on: [], input: { ...input, ...(agents === undefined ? { agent: ids[0] } : { agents: ids }) } };
}

async function elsewhere(
  context: Context,
  operation: Operation,
  { host: text, on, input }: Elsewhere,
): Promise<unknown> {
  const fleet = await fleetOf(context);
  let held = false;
  try {
    const named = text === undefined ? undefined : await fleet.find(text);
    const host = operation.name === "run" ? place(await fleet.hosts(), { host: named, on }).host : (named as string);
    if (operation.name === "logs") {
      held = true;
      return closing(fleet, logsOrCopy(context, fleet, host, input));
    }
    const asked = operation.name === "run" ? await withPrompt(context, input) : input;
    return await ask(fleet, host, operation, asked, context.json);
  } finally {
    if (!held) await fleet.close();
  }
}

/** Files and the standard input are here, not there. */
async function withPrompt(context: Context, { prompt_file, ...input }: Input): Promise<Input> {
  const given = { prompt: input["prompt"], prompt_file } as PromptInput;
  return { ...input, prompt: await promptOf(context, given) };
}

async function ask(
  fleet: FleetLink,
  host: string,
  operation: Operation,
  input: Input,
  json: boolean,
): Promise<unknown> {
  const question = { operation: operation.name, input: { json, fields: plain(input) }, changes: operation.changes };
  // What is typed next needs the host's name before that of the agent.
  const named = (item: unknown): unknown => {
    const record = item as { agent: string };
    return json ? { ...record, host } : { ...record, agent: `${host}/${record.agent}` };
  };
  try {
    const answer = (await fleet.ask(host, question)) as Travelled;
    return arrived(answer, operation.name === "run" ? named : (item) => item);
  } catch (error) {
    const away = error instanceof MidwatchError && error.code === "HOST_AWAY";
    if (!away || operation.name !== "show") throw error;
    return shownLast(await fleet.lastKnownOf(host, String(input["agent"])));
  }
}

/** Times were read already; on the way they are text again. */
function plain(input: Input): Input {
  const text = ([name, value]: [string, unknown]): [string, unknown] =>
    (name === "since" || name === "time") && typeof value === "number" ? [name, iso(value)] : [name, value];
  return Object.fromEntries(
    Object.entries(input)
      .filter(([, value]) => value !== undefined)
      .map(text),
  );
}

function arrived(answer: Travelled, show: (item: unknown) => unknown): unknown {
  if (answer.kind === "data") return answer.data;
  const items = answer.items.map((item) => show(bytesBack(item)));
  return answer.kind === "list" ? items : streamOf(items);
}

async function* streamOf(items: readonly unknown[]): AsyncGenerator<unknown> {
  yield* items;
}

function bytesBack(item: unknown): unknown {
  const bytes = (item as { $bytes?: unknown } | null)?.$bytes;
  return typeof bytes === "string" ? Buffer.from(bytes, "base64") : item;
}

async function* closing(fleet: FleetLink, items: AsyncGenerator<unknown>): AsyncGenerator<unknown> {
  try {
    yield* items;
  } finally {
    await fleet.close();
  }
}

/** While its host is away, the copy at the hub, where there is one. */
async function* logsOrCopy(context: Context, fleet: FleetLink, host: string, input: Input): AsyncGenerator<unknown> {
  let given = false;
  try {
    for await (const item of logs(context, fleet, host, input)) {
      given = true;
      yield item;
    }
  } catch (error) {
    if (given || !(error instanceof MidwatchError && error.code === "HOST_AWAY")) throw error;
    const { agent, run, lines, offset, limit } = input as Record<string, number | undefined>;
    const options = { agent: String(agent), run, lines: lines ?? LINES, offset, limit };
    for await (const { text, record } of readShipped(fleet, host, options)) {
      if (!given) context.notice(`${host} is away: this is the copy at the hub`);
      given = true;
      if (!context.json) yield Buffer.from(`${text}\n`);
      else if (record !== undefined) yield record;
    }
  }
}

/** A log in windows: each answer says where the next begins, so nothing is lost or given twice when one has to be asked for again. */
async function* logs(context: Context, fleet: FleetLink, host: string, input: Input): AsyncGenerator<unknown> {
  const { follow, lines, offset, limit, raw, mask, ...rest } = input;
  if (raw === true || mask === false)
    throw new MidwatchError("REFUSED_RIGHT", "A log leaves its host with its secrets hidden.", {
      hint: "Read it on its own host.",
    });
  const { agent, stderr, run: wanted } = rest;
  const window = async (more: Input): Promise<Page> => {
    const fields = plain({ agent, stderr, run: wanted, ...more });
    const question = { operation: "page", input: { json: true, fields }, changes: false };
    return ((await fleet.ask(host, question)) as { data: Page }).data;
  };
  const read = async (fields: Input): Promise<unknown[]> => {
    const question = { operation: "logs", input: { json: context.json, fields: plain(fields) }, changes: false };
    return ((await fleet.ask(host, question)) as { items: unknown[] }).items.map(bytesBack);
  };
  if (["grep", "since", "pretty", "task"].some((field) => rest[field])) {
    if (follow) throw usage("Filters of another host's log do not follow.", "Leave out -f.");
    yield* await read({ ...rest, lines, offset, limit });
    return;
  }
  const first = await window({ tail: true, limit: Math.min(Number(lines ?? LINES) || 1, 1000) });
  let at = offset === undefined ? (first.first_line ?? 0) : Number(offset);
  let left = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  while (left > 0 && !context.signal.aborted) {
    const { records, next, live } = await window({ run: first.run, line: at, limit: Math.min(PAGE_LINES, left) });
    const count = (next.line ?? at) - at;
    if (count > 0) yield* context.json ? records : await read({ ...rest, run: first.run, offset: at, limit: count });
    at += count;
    left -= count;
    if (count > 0) continue;
    if (!follow || !live) return;
    await sleep(FOLLOW_MS, undefined, { signal: context.signal }).catch(() => undefined);
  }
}

function shownLast(record: FleetRecord): unknown {
  return {
    ...record,
    runs: [],
    files: [],
    cleanup_failures: [],
    pinned: false,
    children: [],
    worktree: null,
    subagents: null,
    deferred: null,
    watched_by: { by: null, agent: null, pid: null },
    claim: null,
  };
}
