/** Is all well: who leads, who is alive, what failed, how much room is left. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Tone } from "../../src/core/state-words.ts";
import type { HealthRecord } from "../../src/journal/health.ts";
import { post } from "./api.ts";
import { age, bytes, dateTime, plural } from "./format.ts";
import { Button, Card, type CardProps, Chip, Command, Dot, Failed, Tile } from "./parts/bits.tsx";

const AGAIN_MS = 5000;
const TONES: Readonly<Record<HealthRecord["state"], Tone>> = { ok: "ok", warning: "warn", failed: "bad" };
const WORDS = { ok: "All is well", warning: "Worth a look", failed: "Something failed" };

export function Health(): JSX.Element {
  const health = useSignal<HealthRecord | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const read = async (resume = false): Promise<void> => {
    try {
      health.value = await post<HealthRecord>("health", resume ? { resume } : {});
      error.value = undefined;
    } catch (problem) {
      error.value = problem;
    }
  };
  useEffect(() => {
    void read();
    const timer = setInterval(() => !document.hidden && void read(), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const now = health.value;
  return (
    <>
      <header class="page-head">
        <h1>Health</h1>
        {now && <Chip tone={TONES[now.state]}>{WORDS[now.state]}</Chip>}
      </header>
      {error.value !== undefined && <Failed error={error.value} retry={() => void read()} />}
      {now && (
        <div class="tiles">
          <Leader {...now.leader} />
          <Tile title="Disk" value={bytes(now.disk.free_bytes)} note="free" />
          <Tile
            title="Snapshot"
            value={now.snapshot ? age(now.snapshot.at) : "none"}
            note={now.snapshot ? "old" : "`midwatch up` makes one"}
          />
          <Tile
            title="Journal"
            value={now.engine.engine}
            note={now.engine.problems.join("; ") || (now.engine.durable ? "durable" : "not durable")}
          />
        </div>
      )}
      {now && now.paused.length > 0 && (
        <Block title="Paused" more={<Button onClick={() => void read(true)}>Let them go on</Button>}>
          {now.paused.map((one) => (
            <li key={one.actor}>
              <Dot tone="bad" />
              <b>{one.actor}</b> {one.message} <span class="meta">since {age(one.since)}</span>
            </li>
          ))}
        </Block>
      )}
      {now && (
        <div class="halves">
          <Block title="Heartbeats" more={<span class="meta">{plural(now.alive.length, "process", "processes")}</span>}>
            {now.alive.map((one) => (
              <li key={`${one.actor}${one.pid}`}>
                <Dot tone={one.state === "alive" ? "live" : "warn"} />
                <b>{one.actor}</b>
                <span class="meta">
                  {one.state} · last {age(one.last)} ago · since {age(one.since)}
                </span>
              </li>
            ))}
            {now.alive.length === 0 && <li class="meta">Nobody reports. Agents go on without.</li>}
          </Block>
          <Block title="Errors" more={<span class="meta">{now.errors.length || "none"}</span>}>
            {now.errors.toReversed().map((one) => (
              <li key={`${one.timestamp}${one.content}`}>
                <Dot tone="bad" />
                <span>
                  {one.content}
                  <span class="meta">
                    {" "}
                    {one.actor} · {dateTime(one.timestamp)}
                  </span>
                </span>
              </li>
            ))}
            {now.errors.length === 0 && <li class="meta">Nothing failed lately.</li>}
          </Block>
          <Block title="Elections">
            {now.elections.toReversed().map((one) => (
              <li key={one.term}>
                <Dot tone="quiet" />
                <b>{one.actor}</b>
                <span class="meta">
                  term {one.term} · {dateTime(one.timestamp)}
                </span>
              </li>
            ))}
            {now.elections.length === 0 && <li class="meta">Nobody has led yet.</li>}
          </Block>
        </div>
      )}
    </>
  );
}

function Leader({ holder, state, term, since }: HealthRecord["leader"]): JSX.Element {
  if (holder === null) return <Tile title="Leader" value="none" note={<Command text="midwatch up" />} />;
  return <Tile title="Leader" value={holder} note={`${state} · term ${term} · since ${age(since)}`} />;
}

/** What is in it comes as entries. */
function Block({ children, ...card }: CardProps): JSX.Element {
  return (
    <Card {...card}>
      <ul class="entries">{children}</ul>
    </Card>
  );
}
