/** The journal: what agents and people said to each other as conversations, or every event as it came. */
import { computed, signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get, type Items, post } from "./api.ts";
import { dateTime, plural, timeOfDay } from "./format.ts";
import { subscribe } from "./live.ts";
import { Prose } from "./log/prose.tsx";
import { Button, Command, Empty, Failed, SearchBox, Segments } from "./parts/bits.tsx";
import { agentLink } from "./route.ts";

interface JournalMessage {
  seq: number;
  interaction: number;
  actor: string;
  type: string;
  content: string;
  timestamp: string;
  agent?: string;
  to?: string | string[];
}

/** As many as the page keeps; older ones are in the file. */
const KEPT = 2000;
const FIRST = 400;
const HUES = 8;

const events = signal<readonly JournalMessage[]>([]);
const loaded = signal(false);
const failed = signal<unknown>(undefined);

/** Reads what there is, and goes on from there: an event that comes both ways is known by its place. */
function useJournal(): void {
  useEffect(() => {
    const add = (some: readonly JournalMessage[]): void => {
      const known = new Set(events.peek().map(({ seq }) => seq));
      const fresh = some.filter(({ seq }) => !known.has(seq));
      if (fresh.length > 0) events.value = [...events.peek(), ...fresh].sort((a, b) => a.seq - b.seq).slice(-KEPT);
    };
    const end = subscribe({ stream: "journal", cursor: "end" }, ({ items, error }) => {
      if (items) add(items as JournalMessage[]);
      if (error) failed.value = error;
    });
    get<Items<JournalMessage>>("events", { lines: FIRST }).then(
      ({ items }) => {
        add(items);
        loaded.value = true;
      },
      (problem: unknown) => {
        failed.value = problem;
      },
    );
    return end;
  }, []);
}

const text = signal("");

const matching = computed(() => {
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return events.value;
  return events.value.filter(({ actor, type, content, interaction }) => {
    const all = `${actor} ${type} ${content} #${interaction}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
});

export function Journal(): JSX.Element {
  useJournal();
  const view = useSignal<"talk" | "events">("talk");
  return (
    <>
      <header class="page-head">
        <h1>Journal</h1>
        <Segments
          label="How to show it"
          value={view.value}
          onChange={(value) => {
            view.value = value;
          }}
          of={[
            { value: "talk", text: "Conversations" },
            { value: "events", text: "All events" },
          ]}
        />
        <SearchBox
          label="Filter events"
          placeholder="Filter by actor, type, text, #number"
          value={text.value}
          onInput={(value) => {
            text.value = value;
          }}
        />
      </header>
      {failed.value !== undefined && <Failed error={failed.value} />}
      {view.value === "talk" ? <Conversations /> : <Events />}
    </>
  );
}

/** Interaction 0 is midwatch's own; what people talk about has a number. */
function Conversations(): JSX.Element {
  const groups = new Map<number, JournalMessage[]>();
  for (const one of matching.value) {
    if (one.interaction === 0) continue;
    const list = groups.get(one.interaction);
    if (list) list.push(one);
    else groups.set(one.interaction, [one]);
  }
  const newest = [...groups].sort(([, a], [, b]) => (b.at(-1)?.seq ?? 0) - (a.at(-1)?.seq ?? 0));
  if (loaded.value && newest.length === 0)
    return (
      <Empty title="Nobody has said anything yet">
        <p>Agents and people talk through the journal. Begin a conversation:</p>
        <Command text='midwatch event + "Agent A" question "How do I start the server?"' />
        <Say interaction="+" />
      </Empty>
    );
  return (
    <div class="conversations">
      {newest.map(([interaction, list]) => (
        <section class="conversation" key={interaction} aria-label={`Conversation ${interaction}`}>
          <header>
            <h2>#{interaction}</h2>
            <span class="meta">
              {plural(list.length, "event")} · {dateTime(list.at(-1)?.timestamp)}
            </span>
          </header>
          <ol>
            {list.map((one, i) => (
              <Bubble key={one.seq} told={one} first={list[i - 1]?.actor !== one.actor} side={sideOf(list, one)} />
            ))}
          </ol>
          <Say interaction={interaction} />
        </section>
      ))}
    </div>
  );
}

/** Who began is on the left, the one who answered first on the right. */
function sideOf(list: readonly JournalMessage[], { actor }: JournalMessage): "left" | "right" {
  return list[0]?.actor === actor ? "left" : "right";
}

function hue(actor: string): number {
  let sum = 0;
  for (const c of actor) sum = (sum * 31 + (c.codePointAt(0) ?? 0)) >>> 0;
  return sum % HUES;
}

function Bubble({ told, first, side }: { told: JournalMessage; first: boolean; side: string }): JSX.Element {
  const { actor, type, content, timestamp, agent } = told;
  return (
    <li class={`bubble ${side} hue${hue(actor)}`}>
      {first && (
        <p class="speaker">
          {agent ? <a href={agentLink(agent)}>{actor}</a> : actor}
          {told.to ? <span> → {[told.to].flat().join(", ")}</span> : ""}
        </p>
      )}
      <div class="said">
        <Prose text={content} />
        <span class="meta">
          {type} · {timeOfDay(timestamp)}
        </span>
      </div>
    </li>
  );
}

function Say({ interaction }: { interaction: number | "+" }): JSX.Element {
  const draft = useSignal("");
  const error = useSignal<unknown>(undefined);
  const say = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (draft.value.trim() === "") return;
    try {
      await post("event", { interaction, actor: "person", type: "note", content: draft.value });
      draft.value = "";
      error.value = undefined;
    } catch (problem) {
      error.value = problem;
    }
  };
  return (
    <form class="send" onSubmit={(event) => void say(event)}>
      <input
        aria-label={interaction === "+" ? "Begin a conversation" : `Say something in conversation ${interaction}`}
        placeholder="Say something …"
        value={draft.value}
        onInput={(event) => {
          draft.value = event.currentTarget.value;
        }}
      />
      <Button type="submit" icon="send" label="Say" disabled={draft.value.trim() === ""} />
      {error.value !== undefined && <Failed error={error.value} />}
    </form>
  );
}

const ROWS_FIRST = 300;

function Events(): JSX.Element {
  const most = useSignal(ROWS_FIRST);
  const top = useRef<HTMLDivElement>(null);
  const all = matching.value;
  const shown = all.slice(-most.value).toReversed();
  if (loaded.value && all.length === 0) return <Empty title="No event fits" />;
  return (
    <div class="events" ref={top}>
      <ol>
        {shown.map((one) => (
          <EventRow key={one.seq} told={one} />
        ))}
      </ol>
      {all.length > most.value && <Button onClick={() => (most.value += ROWS_FIRST)}>Show older ones</Button>}
    </div>
  );
}

function EventRow({ told }: { told: JournalMessage }): JSX.Element {
  const open = useSignal(false);
  const { timestamp, interaction, actor, type, content, agent } = told;
  const bad = type === "error" || type.endsWith("failed");
  return (
    <li class={bad ? "event bad" : "event"}>
      <time dateTime={timestamp}>{dateTime(timestamp)}</time>
      <span class="type">{type}</span>
      <span class="actor">{agent ? <a href={agentLink(agent)}>{actor}</a> : actor}</span>
      <span class="content">
        {interaction > 0 && <b>#{interaction} </b>}
        {content}
      </span>
      <button type="button" class="more" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        {"{ }"}
        <span class="hidden">The whole event</span>
      </button>
      {open.value && <pre>{JSON.stringify(told, null, 2)}</pre>}
    </li>
  );
}
