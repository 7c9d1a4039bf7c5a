/** Tasks with their agents as trees. Rows come a few at a time, so that hundreds of agents do not stop the page. */
import { computed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { stateOf } from "../../../src/core/state-words.ts";
import { type AgentEntry, type FleetItem, idTail, isLive, shortName, tasks } from "../fleet.ts";
import { age, count, doing, span, spentText, tokensOf } from "../format.ts";
import { Dot, VerdictChip } from "../parts/bits.tsx";
import { Spark } from "../parts/spark.tsx";
import { agentLink } from "../route.ts";
import { entryOf, selected, type TaskGroup, type TreeRow } from "./structure.ts";

const FIRST_ROWS = 30;
const MORE_ROWS = 20;

export function TaskTree({ groups }: { groups: readonly TaskGroup[] }): JSX.Element {
  const total = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  const most = useSignal(FIRST_ROWS);
  useEffect(() => {
    if (most.value >= total) return undefined;
    const frame = requestAnimationFrame(() => {
      most.value += MORE_ROWS;
    });
    return () => cancelAnimationFrame(frame);
  }, [most.value, total]);
  let left = most.value;
  return (
    <div class="tasks">
      <div class="row heads" aria-hidden="true">
        <span>Agent</span>
        <span class="state">State</span>
        <span>Now</span>
        <span>Verdict</span>
        <span>Output</span>
        <span class="last">Last</span>
        <span class="started">Runs for</span>
        <span class="used">Used</span>
      </div>
      {groups.map((group) => {
        const rows = left > 0 ? group.rows.slice(0, left) : [];
        left -= group.rows.length;
        return rows.length > 0 && <Task key={group.task} task={group.task} rows={rows} />;
      })}
    </div>
  );
}

function Task({ task, rows }: { task: string; rows: readonly TreeRow[] }): JSX.Element {
  const fact = tasks.value.get(task);
  const title = fact?.description.split("\n")[0] || task;
  return (
    <section class="task" aria-label={title}>
      <header>
        <h3 title={fact?.description}>{title}</h3>
        {fact?.priority && fact.priority !== "normal" && <span class="label">{fact.priority}</span>}
        {fact?.labels?.map((label) => (
          <span class="label" key={label}>
            {label}
          </span>
        ))}
        <code class="task-id">{task.slice(-8)}</code>
      </header>
      <ul>
        {rows.map(({ agent, depth }) => (
          <AgentRow key={agent} agent={agent} depth={depth} />
        ))}
      </ul>
    </section>
  );
}

function AgentRow({ agent, depth }: TreeRow): JSX.Element | null {
  const entry = entryOf(agent);
  return entry === undefined ? null : <Row entry={entry} depth={depth} />;
}

function Row({ entry, depth }: { entry: AgentEntry; depth: number }): JSX.Element {
  const item = entry.item.value;
  const { agent, role, driver } = item;
  const { word, tone } = stateOf(item);
  const live = isLive(item);
  const tokens = tokensOf(item.tokens);
  const name = shortName(agent);
  return (
    <li data-agent={agent} data-selected={selected.value === agent || undefined} data-depth={Math.min(depth, 6)}>
      <a class={live ? "row" : "row ended"} href={agentLink(agent)}>
        <span class="who">
          <Dot tone={tone} />
          <span class="name">{name}</span>
          <small>{idTail(agent)}</small>
          <span class="kind">{role && role !== name ? `${role} · ${driver}` : driver}</span>
        </span>
        <span class="state">
          {word}
          {item.run > 1 && <small> run {item.run}</small>}
        </span>
        <span class="now">{doing((live ? item.now : (item.attention?.why ?? item.reason)) || item.now)}</span>
        <span class="verdict">{live && <VerdictChip verdict={item.verdict} />}</span>
        <span class="sparkline">{live ? <Spark rates={entry.rates} live /> : <Ended at={item.ended_at} />}</span>
        <span class="last" title="Last output">
          {live && <Age at={item.last_output_at} />}
        </span>
        <span class="started" title="How long it runs">
          {live ? <Age at={item.started_at} /> : ranFor(item)}
        </span>
        <span class="used">
          {tokens > 0 || item.cost_usd !== null ? spentText(item.cost_usd, item.cost_estimated, true) : ""}
          <small>{tokens > 0 ? count(tokens) : ""}</small>
        </span>
      </a>
    </li>
  );
}

function ranFor({ started_at, ended_at }: FleetItem): string {
  return started_at && ended_at ? span(Date.parse(ended_at) - Date.parse(started_at)) : "";
}

/** When the clock ticks, only a text that has become another is changed; nothing is drawn again. */
function Age({ at }: { at: string | null }): JSX.Element {
  const text = useMemo(() => computed(() => age(at)), [at]);
  return <>{text}</>;
}

function Ended({ at }: { at: string | null }): JSX.Element {
  return (
    <small>
      ended <Age at={at} /> ago
    </small>
  );
}
