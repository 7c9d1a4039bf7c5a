/**
 * Figures of a workspace in the text format of Prometheus. Counts of runs are the registry's; what stops and cleanups did is told by
 * the journal, which is read on from where the last look ended; only the latency of appends is this process's own.
 */
import { statSync } from "node:fs";
import { MidwatchError } from "../core/errors.ts";
import type { Phase } from "../core/types.ts";
import { freeSpace } from "../disk/free-space.ts";
import { appendLatency } from "../journal/append-latency.ts";
import type { Cursor } from "../journal/engine.ts";
import type { JournalEvent } from "../journal/event.ts";
import { Histogram } from "../journal/histogram.ts";
import { type Context, withReader } from "../workspace/context.ts";

type Kind = "gauge" | "counter" | "histogram";

export class Metrics {
  readonly #context: Context;
  #stops = new Histogram();
  #counts = new Map<string, number>();
  #cursor: Cursor | undefined;
  #reading: Promise<void> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  async text(): Promise<string> {
    this.#reading ??= this.#readOn().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    return `${[...this.#runs(), ...this.#cleanups(), ...this.#lines(), ...this.#disk(), ...lag(this.#context), ...appends()].join("\n")}\n`;
  }

  async #readOn(): Promise<void> {
    const { own } = this.#context; // What other machines did is in their metrics.
    if (this.#cursor !== undefined && !(await own.holds(this.#cursor))) {
      // Another journal lies there now: counted from its beginning.
      this.#cursor = undefined;
      this.#stops = new Histogram();
      this.#counts = new Map();
    }
    for await (const item of own.read({ after: this.#cursor })) {
      if ("bad" in item) this.#add("bad lines");
      else this.#take(item.event);
      this.#cursor = item.next;
    }
  }

  #take({ type, data }: JournalEvent): void {
    const fields = (typeof data === "object" && data !== null ? data : {}) as Record<string, unknown>;
    this.#add(`events ${type === "error" ? "error" : "other"}`);
    if (type === "http.change") this.#add("http");
    if (type === "stop.failed") this.#add("stop failed");
    if (type === "cleanup.failed") this.#add("cleanup failed");
    if (type === "cleanup.deleted" || type === "prune.deleted") this.#add("freed", Number(fields["bytes"]) || 0);
    if (type !== "agent.ended" || typeof fields["took_ms"] !== "number") return;
    this.#add(fields["verified"] === true ? "stop ok" : "stop failed");
    this.#add(fields["failures"] === 0 ? "cleanup ok" : "cleanup incomplete");
    this.#stops.add(fields["took_ms"] / 1000);
  }

  #add(key: string, n = 1): void {
    this.#counts.set(key, this.#count(key) + n);
  }

  #count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #runs(): string[] {
    const { counts, live } = withReader(this.#context, (registry) => ({
      counts: registry.counts(),
      live: registry.list(),
    }));
    const phases = new Map<Phase, number>();
    const outcomes = new Map<string, number>();
    let bytes = 0;
    for (const { phase, outcome, runs, bytes: recorded } of counts) {
      phases.set(phase, (phases.get(phase) ?? 0) + runs);
      if (outcome !== null) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + runs);
      bytes += recorded;
    }
    // The rows of living runs are behind their files.
    for (const { run } of live) bytes += Math.max(0, sizeOf(run.log) - run.bytes);
    const verdicts = new Map<string, number>();
    for (const { run } of live)
      verdicts.set(run.verdict ?? "unknown", (verdicts.get(run.verdict ?? "unknown") ?? 0) + 1);
    return [
      ...family("midwatch_runs", "gauge", "Runs by phase", labelled("phase", phases)),
      ...family("midwatch_runs_ended", "gauge", "Ended runs by outcome", labelled("outcome", outcomes)),
      ...family("midwatch_agents_verdict", "gauge", "Live agents by verdict", labelled("verdict", verdicts)),
      ...family("midwatch_recorded_bytes", "gauge", "What the known runs printed", [["", bytes]]),
    ];
  }

  #cleanups(): string[] {
    const of = (what: string, results: readonly string[]): [string, number][] =>
      results.map((result) => [`{result="${result}"}`, this.#count(`${what} ${result}`)]);
    return [
      ...family(
        "midwatch_stops_total",
        "counter",
        "Ended runs: proven that nothing is left, or not",
        of("stop", ["ok", "failed"]),
      ),
      ...family(
        "midwatch_cleanups_total",
        "counter",
        "Cleanups at the end of a run; failed: a step that did not succeed three times",
        of("cleanup", ["ok", "incomplete", "failed"]),
      ),
      ...family("midwatch_freed_bytes_total", "counter", "Deleted by cleanups and prune", [["", this.#count("freed")]]),
      ...head(
        "midwatch_stop_seconds",
        "histogram",
        "From the first signal, or the end of the main process, to the proof",
      ),
      ...this.#stops.lines("midwatch_stop_seconds"),
      ...family("midwatch_errors_total", "counter", "Events of the type error", [["", this.#count("events error")]]),
      ...family("midwatch_http_changes_total", "counter", "Changes through HTTP", [["", this.#count("http")]]),
    ];
  }

  /** Torn lines are among the bad ones: what is missing of a line nobody can tell. */
  #lines(): string[] {
    const { lines, bad } = withReader(this.#context, ({ watched }) => watched.linesRead());
    return [
      ...family("midwatch_read_lines", "gauge", "Lines of the known runs that the watch has read", [["", lines]]),
      ...family("midwatch_bad_lines", "gauge", "Lines that are torn or corrupt", [
        ['{of="logs"}', bad],
        ['{of="journal"}', this.#count("bad lines")],
      ]),
    ];
  }

  #disk(): string[] {
    const { layout, config } = this.#context;
    try {
      const { bytes, inodes } = freeSpace(layout.root);
      return [
        ...family("midwatch_disk_free_bytes", "gauge", "Room for this workspace", [["", bytes]]),
        ...family("midwatch_disk_free_inodes", "gauge", "Files that can still be made", [
          ["", Number.isFinite(inodes) ? inodes : "+Inf"],
        ]),
        ...family("midwatch_disk_limit_bytes", "gauge", "Free space below which something happens", [
          ['{limit="warn"}', config.disk_warn],
          ['{limit="refuse"}', config.disk_refuse],
          ['{limit="floor"}', config.disk_floor],
        ]),
      ];
    } catch (error) {
      if (error instanceof MidwatchError) return [];
      throw error;
    }
  }
}

/** How far the watch is behind what was printed. */
function lag(context: Context): string[] {
  const behind = withReader(context, ({ watched }) => watched.cursors()).map(({ log, offset }) =>
    Math.max(0, sizeOf(log) - offset),
  );
  return family("midwatch_cursor_lag_bytes", "gauge", "Printed and not read yet by kept cursors", [
    ['{of="all"}', behind.reduce((sum, bytes) => sum + bytes, 0)],
    ['{of="worst"}', Math.max(0, ...behind)],
  ]);
}

const SYNC = "midwatch_journal_sync_seconds";

function appends(): string[] {
  const name = "midwatch_journal_append_seconds";
  return [
    ...head(name, "histogram", "Appends of this process; durable ones wait for stable storage"),
    ...appendLatency.durable.lines(name, 'durable="yes"'),
    ...appendLatency.own.lines(name, 'durable="no"'),
    ...head(SYNC, "histogram", "Syncs of the journal by this process; one is for all that was appended meanwhile"),
    ...appendLatency.sync.lines(SYNC),
  ];
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function labelled(label: string, counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].map(([value, n]) => [`{${label}="${value}"}`, n]);
}

function head(name: string, kind: Kind, about: string): string[] {
  return [`# HELP ${name} ${about}`, `# TYPE ${name} ${kind}`];
}

function family(
  name: string,
  kind: Kind,
  about: string,
  values: readonly (readonly [string, number | string])[],
): string[] {
  return [...head(name, kind, about), ...values.map(([labels, value]) => `${name}${labels} ${value}`)];
}
