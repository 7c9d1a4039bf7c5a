/** One agent that needs a person: why, the line behind it, and what can be done at once. */
import type { JSX } from "preact";
import { act } from "../act.ts";
import { isLive, shortName } from "../fleet.ts";
import { age } from "../format.ts";
import { needOf } from "../needs.ts";
import { Button, Chip } from "../parts/bits.tsx";
import { agentLink } from "../route.ts";
import { summaryOf } from "../summaries.ts";
import { dismiss, entryOf, selected } from "./structure.ts";

export function NeedCard({ agent }: { agent: string }): JSX.Element | null {
  const entry = entryOf(agent);
  if (entry === undefined) return null;
  const item = entry.item.value;
  const need = needOf(item, summaryOf(agent, item.run).value);
  if (need === undefined) return null;
  const { run } = item;
  const since = item.ended_at ?? item.hold?.since ?? (need.kind === "lost" ? null : item.summary?.since);
  return (
    <article
      class="need"
      data-kind={need.kind}
      data-brief={need.brief || undefined}
      data-agent={agent}
      data-selected={selected.value === agent || undefined}
    >
      <div class="need-head">
        <a class="name" href={agentLink(agent)} title={`${agent}, ${item.driver}`}>
          {shortName(agent)}
        </a>
        <Chip tone="bad">{need.label}</Chip>
        <span class="meta">{since ? `${age(since)} ago` : ""}</span>
      </div>
      <p class="why">{need.why}</p>
      {need.quote && (
        <a class="quote" href={agentLink(agent, { run, line: need.line ?? undefined })}>
          {need.line !== null && <span class="line">{need.line}</span>}
          <code>{need.quote}</code>
        </a>
      )}
      <div class="need-foot">
        <p class="advice">
          <code title="Type this in a terminal">{need.next}</code>
        </p>
        <div class="actions">
          {!isLive(item) && (
            <>
              <Button onClick={() => dismiss(item)}>Dismiss</Button>
              <Button icon="restart" onClick={() => (act.value = { kind: "restart", item })}>
                Restart
              </Button>
            </>
          )}
          {isLive(item) && (
            <Button icon="stop" onClick={() => (act.value = { kind: "stop", item })}>
              Stop
            </Button>
          )}
          <a
            class={need.brief ? "button" : "button primary"}
            href={agentLink(agent, { run, line: need.line ?? undefined })}
          >
            Open
          </a>
        </div>
      </div>
    </article>
  );
}
