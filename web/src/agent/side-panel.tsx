/** Beside the log: the verdict with its evidence, what was used, who lives, what is kept, what was said to it. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { SILENT_RULES, standingWords, sureWords } from "../../../src/core/state-words.ts";
import type { AgentSummary } from "../../../src/core/summary.ts";
import type { Message, Report } from "../../../src/core/types.ts";
import { get, type Items, post } from "../api.ts";
import { isLive } from "../fleet.ts";
import {
  age,
  bytes,
  clock,
  count,
  dateTime,
  doing,
  grouped,
  plural,
  readable,
  spentText,
  tokensOf,
  words,
} from "../format.ts";
import { VERDICT_TONES } from "../needs.ts";
import { Button, Card, Chip, Command, Failed } from "../parts/bits.tsx";
import { ReportView } from "../parts/report.tsx";
import { agentLink } from "../route.ts";
import { reports } from "../stop.tsx";
import { ended, type Shown } from "./page.tsx";

interface SideProps {
  shown: Shown;
  run: number;
  summary: AgentSummary | undefined;
  read(): void;
  /** A line was asked for. */
  onJump(): void;
}

export function SidePanel({ shown, run, summary, onJump }: SideProps): JSX.Element {
  return (
    <aside class="side" aria-label="Verdict and facts">
      <Receipt shown={shown} run={run} />
      <Verdict shown={shown} summary={summary} onJump={onJump} />
      <Used shown={shown} summary={summary} />
      <Messages shown={shown} />
      <Processes shown={shown} />
      <Children shown={shown} />
      <Worktree shown={shown} />
      <Files shown={shown} />
    </aside>
  );
}

function Verdict({ shown, summary, onJump }: Pick<SideProps, "shown" | "summary" | "onJump">): JSX.Element {
  if (summary === undefined)
    return (
      <Card title="Verdict">
        <p class="meta">
          The watch has not looked at this run yet. `midwatch up` looks within seconds after it printed.
        </p>
      </Card>
    );
  const { on_track_status, evidence, cause, resets_at, since } = summary;
  const sure =
    on_track_status === "unknown"
      ? " · not enough data yet"
      : on_track_status === "on_track"
        ? ""
        : ` · ${sureWords(summary)}`;
  const silentMs = isLive(shown) && shown.last_output_at ? clock.value - Date.parse(shown.last_output_at) : null;
  return (
    <Card
      title="Verdict"
      more={
        <Chip tone={VERDICT_TONES[on_track_status] ?? "quiet"}>
          {words(on_track_status)}
          {cause ? `: ${words(cause)}` : ""}
        </Chip>
      }
    >
      <p>
        {doing(summary.current_activity)}
        {resets_at && <> · resets {dateTime(resets_at)}</>}
      </p>
      <p class="meta">
        for {age(since)}
        {sure}
      </p>
      {evidence.map((one) => (
        <div class={`evidence ${one.level}`} key={one.rule}>
          <p>
            {standingWords(one.rule, one.about, { ...one, cause, silentMs: silentMs ?? one.value * 1000 })}
            <span class="meta">
              {" "}
              {words(one.rule)}
              {one.threshold > 1 && `, threshold ${grouped(one.threshold)}`}
            </span>
          </p>
          {one.log && !SILENT_RULES.includes(one.rule) ? (
            <a
              class="quote"
              href={agentLink(shown.agent, { run: one.log.run, line: one.log.line_start })}
              onClick={onJump}
            >
              <span class="line">
                {one.log.line_start}
                {one.log.line_end > one.log.line_start ? `–${one.log.line_end}` : ""}
              </span>
              <code>{one.quote}</code>
            </a>
          ) : (
            one.quote && !SILENT_RULES.includes(one.rule) && <code class="quote plain">{one.quote}</code>
          )}
        </div>
      ))}
      {shown.attention ? (
        <Command text={shown.attention.next} />
      ) : (
        readable(summary.recommended_action) && <p class="advice">{readable(summary.recommended_action)}</p>
      )}
    </Card>
  );
}

function Used({ shown, summary }: Pick<SideProps, "shown" | "summary">): JSX.Element {
  const tokens = shown.tokens ?? summary?.tokens;
  const cost = shown.cost_usd ?? summary?.cost_usd;
  const estimated = shown.cost_usd === null ? summary?.cost_estimated : shown.cost_estimated;
  const rows: [string, ComponentChildren][] = [
    ["Model", summary?.model ?? "–"],
    ["Cost", spentText(cost, estimated ?? false, tokensOf(tokens) > 0)],
    ["Tokens", tokens ? `${count(tokens.input)} in · ${count(tokens.output)} out` : "–"],
    ["Cached", tokens ? count(tokens.cache_read + tokens.cache_write) : "–"],
    ["Tool calls", summary ? grouped(summary.tools) : "–"],
    ["Output", `${bytes(shown.bytes)}${shown.last_output_at ? ` · last ${age(shown.last_output_at)} ago` : ""}`],
    ["Started", dateTime(shown.started_at)],
    ...(shown.ended_at ? ([["Ended", dateTime(shown.ended_at)]] as [string, string][]) : []),
    ["Guarantee", shown.guarantee ?? "–"],
  ];
  return (
    <Card title="Run">
      <dl class="facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Receipt({ shown, run }: Pick<SideProps, "shown" | "run">): JSX.Element | null {
  const report = reports.value.get(`${shown.agent}.${run}`);
  const error = useSignal<unknown>(undefined);
  if (!ended(shown) || run !== shown.run || shown.phase === "launch_failed") return null;
  const ask = async (): Promise<void> => {
    try {
      // Stopping what has ended changes nothing; the answer is the proof that was kept.
      const { items } = await post<Items<Report>>("stop", { agents: [shown.agent] });
      if (items[0]) reports.value = new Map([...reports.value, [`${shown.agent}.${run}`, items[0]]]);
    } catch (problem) {
      error.value = problem;
    }
  };
  return (
    <Card title="Receipt" more={report === undefined && <Button onClick={() => void ask()}>Show</Button>}>
      {error.value !== undefined && <Failed error={error.value} />}
      {report ? (
        <ReportView report={report} />
      ) : (
        <p class="meta">What was ended, and the proof that nothing is left.</p>
      )}
    </Card>
  );
}

function Messages({ shown }: Pick<SideProps, "shown">): JSX.Element {
  const all = useSignal<readonly Message[]>([]);
  const text = useSignal("");
  const error = useSignal<unknown>(undefined);
  const read = (): void => {
    get<Items<Message>>("messages", { agent: shown.agent }).then(
      ({ items }) => {
        all.value = items;
      },
      () => undefined,
    );
  };
  useEffect(() => {
    read();
    const timer = setInterval(
      () => isLive(shown) && all.value.some(({ state }) => state !== "consumed") && read(),
      2000,
    );
    return () => clearInterval(timer);
  }, [shown.agent, shown.phase]);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (text.value.trim() === "") return;
    try {
      await post("send", { agent: shown.agent, text: text.value });
      text.value = "";
      error.value = undefined;
    } catch (problem) {
      error.value = problem;
    }
    read();
  };
  return (
    <Card title="Messages">
      <ol class="messages">
        {all.value.map((one) => (
          <li key={one.id}>
            <p>{one.text}</p>
            <span class="meta">
              {one.from} · {age(one.at)} ago ·{" "}
              <b class={one.state}>{one.taken_by ? `taken by run ${one.taken_by}` : one.state}</b>
              {one.why ? `: ${one.why}` : ""}
            </span>
          </li>
        ))}
      </ol>
      <form class="send" onSubmit={(event) => void send(event)}>
        <textarea
          rows={2}
          aria-label="Message to this agent"
          placeholder={isLive(shown) ? "Tell it something …" : "For its next run …"}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send(event);
          }}
        />
        <Button type="submit" icon="send" label="Send" disabled={text.value.trim() === ""} />
      </form>
      {error.value !== undefined && <Failed error={error.value} />}
    </Card>
  );
}

function Processes({ shown }: Pick<SideProps, "shown">): JSX.Element | null {
  if (!shown.alive?.length) return null;
  return (
    <Card title="Processes" more={<span class="meta">{plural(shown.alive.length, "process", "processes")}</span>}>
      <ul class="processes">
        {shown.alive.map(({ pid, name }) => (
          <li key={pid}>
            <code>{pid}</code> {name}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Children({ shown }: Pick<SideProps, "shown">): JSX.Element | null {
  if (shown.children.length === 0) return null;
  return (
    <Card title="Started by it">
      <ul class="processes">
        {shown.children.map((child) => (
          <li key={child.agent}>
            <a href={agentLink(child.agent)}>{child.agent}</a> <span class="meta">{child.outcome ?? child.phase}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Worktree({ shown }: Pick<SideProps, "shown">): JSX.Element | null {
  const { worktree } = shown;
  if (worktree === null) return null;
  const commits = worktree.commits === null ? "not readable" : plural(worktree.commits, "commit");
  return (
    <Card title="Worktree">
      <p>
        <code>{worktree.branch}</code>
      </p>
      <p class="meta">
        {commits}
        {worktree.dirty ? " · uncommitted changes" : ""}
      </p>
    </Card>
  );
}

function Files({ shown }: Pick<SideProps, "shown">): JSX.Element {
  const there = shown.files.filter(({ created_at }) => created_at !== null);
  return (
    <Card title="Files" more={<span class="meta">{there.length}</span>}>
      <ul class="files">
        {there.map(({ path, kind, bytes: size }) => (
          <li key={path} title={path}>
            <span>{kind}</span>
            <code>{path.split("/").at(-1)}</code>
            <span class="meta">{size === null ? "" : bytes(size)}</span>
          </li>
        ))}
      </ul>
      {shown.cleanup_failures.map(({ path, error }) => (
        <p class="problem" key={path}>
          {path}: {error}
        </p>
      ))}
    </Card>
  );
}
