/** The log with what finds a place in it: search, jump, the timeline. */
import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { entries } from "../fleet.ts";
import { bytes, plural } from "../format.ts";
import { withKeys } from "../keys.ts";
import { LogView } from "../log/log-view.tsx";
import { LogSource } from "../log/source.ts";
import { Viewport } from "../log/viewport.ts";
import { Button, Segments } from "../parts/bits.tsx";
import { agentLink, go, rewrite } from "../route.ts";
import { Search } from "./search.tsx";
import { Timeline } from "./timeline.tsx";

interface LogPanelProps {
  agent: string;
  run: number;
  driver: string;
  stderr: boolean;
  /** From the link. */
  line: number | undefined;
  newest: number;
  startedAt: string | null;
  endedAt: string | null;
}

const COUNT_MS = 2000;

export function LogPanel(props: LogPanelProps): JSX.Element {
  const { agent, run, driver, stderr, line } = props;
  const source = useMemo(() => new LogSource({ agent, run, driver, stderr }), [agent, run, stderr]);
  const viewport = useMemo(() => new Viewport(source), [source]);
  const problem = useSignal("");
  const link = (at: number | undefined): string => agentLink(agent, { run, line: at, stderr: stderr ? 1 : undefined });
  useEffect(() => {
    void source.open().then(() => (line === undefined ? viewport.goToEnd(source.live.peek()) : viewport.goTo(line)));
    return () => source.close();
  }, [source]);
  // Another line of the same log was asked for by a link.
  useEffect(() => {
    if (line !== undefined && source.opened.peek()) void viewport.goTo(line);
  }, [line]);
  useSignalEffect(() => {
    if (viewport.following.value && source.live.value) source.follow((next) => go(agentLink(agent, { run: next })));
    else source.unfollow();
  });
  useEffect(() => {
    const timer = setInterval(() => {
      const now = entries.peek().get(agent)?.item.peek().bytes ?? 0;
      if (!document.hidden && source.live.peek() && (stderr || now !== source.bytes.peek())) void source.refresh();
    }, COUNT_MS);
    return () => clearInterval(timer);
  }, [source]);
  const goTo = (to: number): void => {
    rewrite(link(to));
    void viewport.goTo(to);
  };
  const goToTime = async (time: string): Promise<void> => {
    try {
      goTo(await source.lineAt(time));
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  const jump = (text: string): void => {
    problem.value = "";
    const share = /^(\d+(?:\.\d+)?)%$/.exec(text);
    const number = /^#?([\d,_ ]+)$/.exec(text)?.[1]?.replaceAll(/[,_ ]/g, "");
    if (share) goTo(Math.max(1, Math.round((Number(share[1]) / 100) * source.lines.peek())));
    else if (number) goTo(Number(number));
    else if (text.trim()) void goToTime(timeText(text.trim()));
  };
  useLogKeys(viewport, goTo);
  return (
    <section class="log-panel" aria-label="What it printed">
      <Timeline
        agent={agent}
        run={run}
        live={source.live.value}
        startedAt={props.startedAt}
        endedAt={props.endedAt}
        version={source.live.value ? Math.floor(source.lines.value / 20) : source.lines.value}
        topLine={viewport.topLine.value}
        lines={source.lines.value}
        atEnd={viewport.following.value}
        goTo={goTo}
        goToTime={(at) => void goToTime(at)}
      />
      <div class="log-bar">
        <Search agent={agent} run={run} goTo={goTo} />
        <JumpBox jump={jump} problem={problem.value} />
        <Segments
          label="Which output"
          value={stderr ? "stderr" : "stdout"}
          onChange={(value) => go(agentLink(agent, { run, stderr: value === "stderr" ? 1 : undefined }))}
          of={[
            { value: "stdout", text: "stdout" },
            { value: "stderr", text: "stderr" },
          ]}
        />
        {source.live.value && (
          <Button
            icon={viewport.following.value ? "pause" : "down"}
            pressed={viewport.following.value}
            onClick={() => viewport.toggle()}
          >
            {viewport.following.value ? "Pause" : "Follow"}
          </Button>
        )}
        <span class="meta size">
          {plural(source.lines.value, "line")} · {bytes(source.bytes.value)}
        </span>
      </div>
      <LogView source={source} viewport={viewport} target={line} />
    </section>
  );
}

/** "10m" and full times are the server's to read; a time of day is today's. */
function timeText(text: string): string {
  if (!/^\d{1,2}:\d\d(:\d\d)?$/.test(text)) return text;
  const [h = 0, m = 0, s = 0] = text.split(":").map(Number);
  const at = new Date();
  at.setHours(h, m, s, 0);
  return at.toISOString();
}

function useLogKeys(viewport: Viewport, goTo: (line: number) => void): void {
  useEffect(
    () =>
      withKeys({
        j: () => scrollLog(60),
        k: () => scrollLog(-60),
        d: () => scrollLog(400),
        u: () => scrollLog(-400),
        G: () => void viewport.goToEnd(true),
        f: () => viewport.toggle(),
        t: () => goTo(1),
        ":": () => document.querySelector<HTMLInputElement>("[data-jump]")?.focus(),
      }),
    [viewport],
  );
}

function scrollLog(by: number): void {
  document.querySelector(".log")?.scrollBy({ top: by });
}

function JumpBox({ jump, problem }: { jump(text: string): void; problem: string }): JSX.Element {
  return (
    <form
      class="jump"
      onSubmit={(event) => {
        event.preventDefault();
        const box = event.currentTarget.querySelector("input");
        jump(box?.value ?? "");
        box?.blur();
      }}
    >
      <input
        data-jump
        type="text"
        placeholder="line, 50%, 14:05, 10m"
        aria-label="Go to a line, a share, a time of day, or so long ago"
        aria-invalid={problem !== "" || undefined}
        title={problem || "Go to a line, a share of the log, a time of day, or so long ago"}
      />
    </form>
  );
}
