/** One agent: its log, what is said of it, what it left. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { KIND_WORDS, stateOf } from "../../../src/core/state-words.ts";
import type { ShowRecord } from "../../../src/core/types.ts";
import { act } from "../act.ts";
import { get } from "../api.ts";
import { entries, type FleetItem, idTail, isLive, shortName, tasks } from "../fleet.ts";
import { age, dateTime, doing, readable } from "../format.ts";
import { withKeys } from "../keys.ts";
import { Button, Chip, Empty, Failed, Segments, VerdictChip } from "../parts/bits.tsx";
import { agentLink, go, type Route } from "../route.ts";
import { summaryOf } from "../summaries.ts";
import { LogPanel } from "./log-panel.tsx";
import { SidePanel } from "./side-panel.tsx";

/** `show` as the page has it: ids are plain text here. */
export type Shown = Omit<ShowRecord, "agent" | "task" | "parent"> & Pick<FleetItem, "agent" | "task" | "parent">;

const AGAIN_MS = 5000;

export function AgentPage({ route }: { route: Route }): JSX.Element {
  const { agent } = route;
  const shown = useSignal<Shown | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const item = entries.value.get(agent)?.item.value;
  const read = (): void => {
    get<Shown>("show", { agent }).then(
      (record) => {
        shown.value = record;
        error.value = undefined;
      },
      (problem: unknown) => {
        error.value = problem;
      },
    );
  };
  const state = `${agent} ${item?.run} ${item?.phase} ${item?.outcome}`;
  useEffect(read, [state]);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && shown.value && isLive(shown.value) && read(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [agent]);
  useEffect(
    () =>
      withKeys({
        Escape: () => go("#/"),
        x: () => {
          if (shown.value && !ended(shown.value)) act.value = { kind: "stop", item: shown.value };
        },
      }),
    [agent],
  );
  if (shown.value === undefined || shown.value.agent !== agent) {
    if (error.value === undefined) return <div class="agent-page" role="status" aria-label="Loading" />;
    return (
      <Empty title="This agent cannot be shown">
        <Failed error={error.value} retry={read} />
        <a class="button" href="#/">
          All agents
        </a>
      </Empty>
    );
  }
  // The list is fresher than `show`.
  const now: Shown = item ? { ...shown.value, ...pick(item) } : shown.value;
  return <Page key={agent} shown={now} route={route} read={read} now={item?.now ?? null} />;
}

function pick(item: FleetItem): Partial<Shown> {
  const { phase, outcome, verdict, attention, hold, alive, bytes, last_output_at, run, reason } = item;
  return { phase, outcome, verdict, attention, hold, alive, bytes, last_output_at, run, reason };
}

export function ended(shown: Pick<Shown, "phase">): boolean {
  return !isLive(shown);
}

interface PageProps {
  shown: Shown;
  route: Route;
  now: string | null;
  read(): void;
}

function Page({ shown, route, now, read }: PageProps): JSX.Element {
  const run = Number(route.query.get("run")) || shown.run;
  const stderr = route.query.get("stderr") === "1";
  const line = Number(route.query.get("line")) || undefined;
  const side = useSignal<"log" | "facts">("log");
  const one = shown.runs.find((each) => each.run === run);
  const summary = summaryOf(shown.agent, run).value;
  return (
    <div class="agent-page" data-side={side.value}>
      <Head shown={shown} run={run} now={now} />
      <div class="phone-tabs">
        <Segments
          label="What to show"
          value={side.value}
          onChange={(value) => {
            side.value = value;
          }}
          of={[
            { value: "log", text: "Log" },
            { value: "facts", text: "Verdict & facts" },
          ]}
        />
      </div>
      <div class="agent-body">
        <LogPanel
          key={`${run}${stderr}`}
          agent={shown.agent}
          run={run}
          driver={shown.driver}
          stderr={stderr}
          line={line}
          newest={shown.run}
          startedAt={one?.started_at ?? null}
          endedAt={one?.ended_at ?? null}
        />
        <SidePanel shown={shown} run={run} summary={summary} read={read} onJump={() => (side.value = "log")} />
      </div>
    </div>
  );
}

function Head({ shown, run, now }: { shown: Shown; run: number; now: string | null }): JSX.Element {
  const state = stateOf(shown);
  const { attention } = shown;
  const need = attention && KIND_WORDS[attention.kind];
  const task = tasks.value.get(shown.task)?.description.split("\n")[0] ?? shown.task;
  const live = isLive(shown);
  return (
    <header class="agent-head">
      <nav class="crumbs" aria-label="Where this is">
        <a href="#/">Watch</a>
        <span title={task}>{task}</span>
        {shown.parent && <a href={agentLink(shown.parent)}>{shortName(shown.parent)}</a>}
      </nav>
      <div class="agent-title">
        <h1>
          {shortName(shown.agent)} <small>{idTail(shown.agent)}</small>
        </h1>
        <Chip tone={state.tone}>{state.word}</Chip>
        {live && <VerdictChip verdict={shown.verdict} />}
        {need && !state.word.startsWith(need) && shown.verdict !== attention.kind && <Chip tone="bad">{need}</Chip>}
        {shown.runs.length > 1 && <Runs shown={shown} run={run} />}
        <div class="actions">
          {ended(shown) ? (
            <Button icon="restart" onClick={() => (act.value = { kind: "restart", item: shown })}>
              Restart
            </Button>
          ) : (
            <Button icon="stop" kind="danger" onClick={() => (act.value = { kind: "stop", item: shown })}>
              Stop
            </Button>
          )}
        </div>
      </div>
      <p class="doing">
        {doing(attention ? readable(attention.why) : live ? now : (shown.reason ?? now))}
        <span class="meta">
          {shown.driver}
          {shown.role ? ` · ${shown.role}` : ""} ·{" "}
          {live ? `started ${age(shown.started_at)} ago` : `ended ${dateTime(shown.ended_at)}`}
        </span>
      </p>
    </header>
  );
}

function Runs({ shown, run }: { shown: Shown; run: number }): JSX.Element {
  return (
    <label class="runs">
      <span class="hidden">Run</span>
      <select value={run} onChange={(event) => go(agentLink(shown.agent, { run: event.currentTarget.value }))}>
        {shown.runs.toReversed().map((one) => (
          <option key={one.run} value={one.run} selected={one.run === run}>
            Run {one.run} · {one.outcome ?? one.phase}
          </option>
        ))}
      </select>
    </label>
  );
}
