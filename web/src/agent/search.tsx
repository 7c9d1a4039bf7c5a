/** Finding text in one run's log. The server searches; hits are a list to walk through. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get, type Items } from "../api.ts";
import { grouped } from "../format.ts";
import { withKeys } from "../keys.ts";
import { strip } from "../log/ansi.ts";
import { Button, Failed, SearchBox } from "../parts/bits.tsx";

interface Hit {
  run: number;
  seq: number | null;
  timestamp: string | null;
  text: string;
}

interface SearchProps {
  agent: string;
  run: number;
  goTo(line: number): void;
}

const SHOWN = 200;
/** Characters around the text that was found. */
const AROUND = 60;

export function Search({ agent, run, goTo }: SearchProps): JSX.Element {
  const text = useSignal("");
  const hits = useSignal<readonly Hit[] | undefined>(undefined);
  const more = useSignal(false);
  const at = useSignal(-1);
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const abort = useRef<AbortController | undefined>(undefined);
  const close = (): void => {
    abort.current?.abort();
    hits.value = undefined;
    error.value = undefined;
    busy.value = false;
  };
  const find = async (): Promise<void> => {
    close();
    if (text.value === "") return;
    const mine = new AbortController();
    abort.current = mine;
    busy.value = true;
    try {
      const answer = await get<Items<Hit>>("search", { text: text.value, agent }, mine.signal);
      hits.value = answer.items.filter((hit) => hit.run === run && hit.seq !== null);
      more.value = answer.truncated;
      if (answer.warnings) error.value = new Error(answer.warnings.join(" "));
      at.value = -1;
      step(1);
    } catch (problem) {
      if (!mine.signal.aborted) error.value = problem;
    } finally {
      if (abort.current === mine) busy.value = false;
    }
  };
  const step = (by: number): void => {
    const found = hits.value ?? [];
    if (found.length === 0) return;
    at.value = (at.value + by + found.length) % found.length;
    goTo(found[at.value]?.seq ?? 1);
  };
  useEffect(() => withKeys({ n: () => step(1), N: () => step(-1) }), [agent, run]);
  return (
    <form
      class="search-log"
      onSubmit={(event) => {
        event.preventDefault();
        void find();
      }}
    >
      <SearchBox
        label="Search this log"
        placeholder="Search this log"
        value={text.value}
        onInput={(value) => {
          text.value = value;
          if (value === "") close();
        }}
      />
      {(hits.value !== undefined || busy.value || error.value !== undefined) && (
        <div class="hits">
          <header>
            <span role="status">
              {busy.value
                ? "Searching …"
                : hits.value
                  ? `${at.value + 1} of ${grouped(hits.value.length)}${more.value ? "+" : ""}`
                  : ""}
            </span>
            <Button icon="close" label="Close the search" onClick={close} />
          </header>
          {error.value !== undefined && <Failed error={error.value} />}
          {hits.value?.length === 0 && <p class="meta">No line of this run has it.</p>}
          <ol>
            {hits.value?.slice(0, SHOWN).map((hit, i) => (
              <li key={hit.seq}>
                <button
                  type="button"
                  aria-current={i === at.value}
                  onClick={() => {
                    at.value = i;
                    goTo(hit.seq ?? 1);
                  }}
                >
                  <span class="line">{hit.seq}</span>
                  <Found text={hit.text} of={text.value} />
                </button>
              </li>
            ))}
          </ol>
        </div>
      )}
    </form>
  );
}

function Found({ text, of }: { text: string; of: string }): JSX.Element {
  const plain = strip(text);
  const at = plain.indexOf(of);
  if (at < 0) return <code>{plain.slice(0, 2 * AROUND)}</code>;
  const from = Math.max(0, at - AROUND);
  return (
    <code>
      {from > 0 ? "…" : ""}
      {plain.slice(from, at)}
      <mark>{of}</mark>
      {plain.slice(at + of.length, at + of.length + 2 * AROUND)}
    </code>
  );
}
