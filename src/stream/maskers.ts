/** What hides secrets in the text of each run: made once from the fingerprints that the run's folder holds. */
import type { AgentId } from "../core/ids.ts";
import { type Before, type Masker, masker, nothingBefore } from "../core/mask/mask.ts";
import type { ListRecord } from "../core/types.ts";
import { runMasker } from "../facts/facts.ts";
import { isInBlock } from "../log/in-block.ts";
import { type LogRecord, toRecord } from "../log/record.ts";
import type { Source } from "../log/source.ts";
import { type Context, withReader } from "../workspace/context.ts";
import type { LogItem } from "./read.ts";

export class Maskers {
  readonly #context: Context;
  readonly #made = new Map<string, Masker>();
  /** How far each log was shown, and what its lines left open. */
  readonly #read = new WeakMap<Source, { end: number; before: Before }>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Places hidden so far. */
  get count(): number {
    return [...this.#made.values()].reduce((sum, { count }) => sum + count, 0);
  }

  of(agent: AgentId, run: number): Masker {
    const key = `${agent}.${run}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const task = withReader(this.#context, (registry) => registry.get(agent))?.agent.task;
    const made = task ? runMasker(this.#context.layout.run(task, agent, run)) : masker();
    this.#made.set(key, made);
    return made;
  }

  /** For what belongs to no run in particular: its newest knows best. */
  ofAgent(agent: AgentId): Masker {
    return this.of(agent, withReader(this.#context, (registry) => registry.get(agent))?.run.run ?? 1);
  }

  line({ agent, run, raw, source }: LogItem): Buffer {
    const known = this.#read.get(source);
    const before =
      known?.end === raw.offset
        ? known.before
        : { ...nothingBefore(), block: isInBlock(source, raw.offset, raw.bytes) };
    this.#read.set(source, { end: raw.end, before });
    return this.of(agent, run).line(raw.bytes, before);
  }

  record(item: LogItem): LogRecord | undefined {
    const { agent, run, record, raw } = item;
    if (record === undefined) return undefined;
    const bytes = this.line(item);
    if (bytes === raw.bytes) return record;
    // Made anew, so that neither a cut nor the message of an error shows a part.
    const json = record.type === "parse_error";
    const type = record.type === "stderr" || record.type === "line" ? record.type : "stdout";
    const made = toRecord({ ...raw, bytes }, record.seq, 0, { type, json });
    // What is hidden in a number leaves no JSON behind: then each string of it is masked.
    if ("data" in record && made?.data === undefined)
      return { ...record, data: this.of(agent, run).value(record.data) };
    return made && { ...made, ...("timestamp" in record ? { timestamp: record.timestamp ?? null } : {}) };
  }

  /** These come from the agent's own words. */
  listed(record: ListRecord): ListRecord {
    const { agent, run, reason, attention } = record;
    if (reason === null && attention === null) return record;
    const hide = (text: string): string => this.of(agent, run).text(text);
    return {
      ...record,
      reason: reason === null ? null : hide(reason),
      attention: attention && { ...attention, why: hide(attention.why) },
    };
  }
}
