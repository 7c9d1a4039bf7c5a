/**
 * How much of a fleet's journal its hub keeps. A host may not change a stream: it happens with whatever a person asks of the fleet. What would
 * take away something that is there is told first, to the person and as an event of the fleet, and done a day later at the earliest.
 */
import { formatDuration } from "../core/duration.ts";
import { formatSize } from "../core/size.ts";
import { iso } from "../core/time.ts";
import { makeEvent } from "../journal/event.ts";
import type { Opened } from "./engine.ts";
import { isDenied } from "./fault.ts";

/** 0 is none. */
export interface Bounds {
  ageMs: number;
  bytes: number;
}

/** The register `bounds`: what a person has decided last, and when it was told. */
interface BoundsFact {
  v: 1;
  age_ms: number;
  bytes: number;
  told_at: string;
}

const WAIT_MS = 24 * 3_600_000;
/** Within which the server stores an id once: it takes no shorter age. */
const LEAST_MS = 600_000;

/**
 * Says what was told or done; undefined when nothing was. `usual`: the person's configuration says nothing, so that it changes nothing that
 * another one has decided.
 */
export async function bound(
  opened: Pick<Opened, "hub" | "names" | "log" | "registers">,
  given: Bounds,
  usual: boolean,
  nowMs: number = Date.now(),
): Promise<string | undefined> {
  const { hub, names, log, registers } = opened;
  const { stream } = names.events;
  const wanted = { ...given, ageMs: given.ageMs && Math.max(given.ageMs, LEAST_MS) };
  try {
    const { config, state } = await hub.ask(({ streams }) => streams.info(stream));
    const asked = { max_age: wanted.ageMs * 1e6, max_bytes: wanted.bytes || -1 };
    if (config.max_age === asked.max_age && config.max_bytes === asked.max_bytes) return undefined;
    const told = await registers.get<BoundsFact>("bounds");
    const isTold = told?.value.age_ms === wanted.ageMs && told.value.bytes === wanted.bytes;
    if (usual && told !== undefined && !isTold) return undefined;
    const tooOld = state.messages > 0 && nowMs - Date.parse(String(state.first_ts)) > (wanted.ageMs || Infinity);
    const takes = tooOld || state.bytes > (wanted.bytes || Infinity);
    const words = wordsOf(wanted);
    if (!isTold) {
      const fact: BoundsFact = { v: 1, age_ms: wanted.ageMs, bytes: wanted.bytes, told_at: iso(nowMs) };
      if ((await registers.set("bounds", fact, told?.rev ?? 0)) === undefined) return undefined; // Another person is faster.
      const when = takes ? "from tomorrow on" : "from now on";
      const content = `The hub keeps the events of the fleet ${words} ${when}; nats_keep and nats_keep_bytes say so.`;
      await log.append([makeEvent({ interaction: 0, actor: "midwatch", type: "fleet.bounds", content })]);
      if (takes) return content;
    } else if (takes && nowMs - Date.parse(told.value.told_at) < WAIT_MS) return undefined;
    await hub.once(({ streams }) => streams.update(stream, asked));
    return `The hub keeps the events of the fleet ${words} from now on.`;
  } catch (error) {
    if (isDenied(error)) return undefined; // With the key of a host.
    throw error;
  }
}

function wordsOf({ ageMs, bytes }: Bounds): string {
  const parts = [ageMs > 0 ? `for ${formatDuration(ageMs)}` : "", bytes > 0 ? `up to ${formatSize(bytes)}` : ""];
  return parts.filter(Boolean).join(", ") || "without bounds";
}
