/** Finished logs go to the hub when they are archived, if `nats_logs` says so, and can be read there while their host is away. */
import { lstatSync } from "node:fs";
import type { AgentId } from "../core/ids.ts";
import { masker, maskValue, nothingBefore } from "../core/mask/mask.ts";
import { scratchFile } from "../disk/scratch.ts";
import { Log } from "../log/log.ts";
import type { LogRecord } from "../log/record.ts";
import { awayHost } from "../nats/ask.ts";
import type { FleetLink } from "../nats/link.ts";
import { LogStore } from "../nats/log-store.ts";
import { type Context, withReader } from "../workspace/context.ts";

/** One look does not take longer than this many. */
const AT_ONCE = 20;

function nameOf(agent: string, run: number): string {
  return `${agent}/${run}/stream.jsonl.zst`;
}

export class LogShipper {
  readonly #context: Context;
  readonly #link: FleetLink;
  readonly #host: string;
  readonly #there = new Set<string>();
  #store: LogStore | undefined;

  constructor(context: Context, link: FleetLink, host: string) {
    this.#context = context;
    this.#link = link;
    this.#host = host;
  }

  async round(): Promise<void> {
    const { hub, names } = this.#link;
    const waiting = this.#archived().filter(({ name }) => !this.#there.has(name));
    if (waiting.length === 0) return;
    this.#store ??= await LogStore.open(hub, names, this.#host, true);
    for (const { name, path } of waiting.slice(0, AT_ONCE)) {
      // An archive is never changed, so what is there under its name is it.
      if (!(await this.#store?.has(name))) await this.#store?.put(name, path);
      this.#there.add(name);
    }
  }

  #archived(): { name: string; path: string }[] {
    const { layout } = this.#context;
    const rows = withReader(this.#context, (registry) =>
      registry.list({ all: true }).flatMap(({ agent }) => registry.runsOf(agent.id).map(({ run }) => ({ agent, run }))),
    );
    return (
      rows
        .map(({ agent, run }) => ({
          name: nameOf(agent.id, run),
          path: `${layout.run(agent.task, agent.id, run).archivedLog}.zst`,
        }))
        // A link in its place leads to what an agent wants to be sent.
        .filter(({ name, path }) => !this.#there.has(name) && lstatSync(path, { throwIfNoEntry: false })?.isFile())
    );
  }
}

export interface ShippedOptions {
  agent: string;
  run?: number | undefined;
  /** The last N lines, unless an offset is given. */
  lines: number;
  offset?: number | undefined;
  limit?: number | undefined;
}

export interface ShippedLine {
  text: string;
  record: LogRecord | undefined;
}

/** The lines of a log whose host is away. The fingerprints of a run's own secrets stay with the host; what looks like one is hidden. */
export async function* readShipped(
  link: FleetLink,
  host: string,
  options: ShippedOptions,
): AsyncGenerator<ShippedLine> {
  const known = await link.lastKnownOf(host, options.agent);
  const store = await LogStore.open(link.hub, link.names, host, false);
  const data = await store?.get(nameOf(known.agent as AgentId, options.run ?? known.run));
  if (data === undefined) throw awayHost(host, "it gives no answer, and the hub has no copy of this log");
  using file = await scratchFile(data, "stream.jsonl.zst");
  using log = Log.open(file.path, undefined, { type: "stdout", json: false });
  if (log === undefined) throw awayHost(host, "the hub's copy of this log cannot be read");
  const end = log.end(false);
  const { offset, limit, lines } = options;
  const from = offset === undefined ? log.tail(lines, end) : log.atLine(offset, end);
  const to = offset === undefined || limit === undefined ? end : log.atLine(offset + limit, end).offset;
  const hide = masker();
  const before = nothingBefore();
  for (const { raw, record } of log.records(from, to)) {
    const text = hide.line(Buffer.from(raw.bytes), before).toString();
    const shown = record && (maskValue(record) as LogRecord);
    yield { text, record: shown?.text === undefined ? shown : { ...shown, text } };
  }
}
