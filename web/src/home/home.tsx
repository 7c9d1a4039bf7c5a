/** The first screen. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { entries, loaded } from "../fleet.ts";
import { count, plural, spentText } from "../format.ts";
import { startOpen, withKeys } from "../keys.ts";
import { Button, Command, Empty, SearchBox, Segments } from "../parts/bits.tsx";
import { agentLink, go } from "../route.ts";
import { NeedCard } from "./need-card.tsx";
import { counts, filter, groups, needs, select, selected, show } from "./structure.ts";
import { TaskTree } from "./task-tree.tsx";

export function Home(): JSX.Element {
  useEffect(
    () =>
      withKeys({
        j: () => select(1),
        k: () => select(-1),
        ArrowDown: () => select(1),
        ArrowUp: () => select(-1),
        Enter: () => selected.value && go(agentLink(selected.value)),
        Escape: () => {
          selected.value = undefined;
          filter.value = "";
        },
      }),
    [],
  );
  if (!loaded.value) return <Skeleton />;
  if (entries.value.size === 0) return <Nobody />;
  return (
    <>
      <Headline />
      {needs.value.length > 0 && (
        <section aria-label="Needs you" class="needs">
          {needs.value.map((agent) => (
            <NeedCard key={agent} agent={agent} />
          ))}
        </section>
      )}
      <Toolbar />
      {groups.value.length === 0 ? (
        <Empty title="Nobody matches">
          <p>No agent fits this filter.</p>
          <Button onClick={clear}>Show all</Button>
        </Empty>
      ) : (
        <TaskTree groups={groups.value} />
      )}
    </>
  );
}

function clear(): void {
  filter.value = "";
  show.value = "all";
}

function Headline(): JSX.Element {
  const waiting = needs.value.length;
  const { running, queued, completed, failed, stopped, tokens, cost, estimated } = counts.value;
  return (
    <header class="headline">
      <h1 class={waiting > 0 ? "calls" : ""}>
        {waiting > 0 ? (
          <>
            <b>{plural(waiting, "agent")}</b> {waiting === 1 ? "needs" : "need"} you
          </>
        ) : running > 0 ? (
          "All is well"
        ) : (
          "All quiet"
        )}
      </h1>
      <dl class="counts">
        <Figure name="running" value={running} tone="live" />
        {queued > 0 && <Figure name="queued" value={queued} />}
        <Figure name="completed" value={completed} tone="ok" />
        <Figure name="failed" value={failed} tone={failed > 0 ? "bad" : ""} />
        {stopped > 0 && <Figure name="stopped" value={stopped} />}
        <Figure name="tokens" value={count(tokens)} />
        <Figure name="spent" value={spentText(cost, estimated, true)} />
      </dl>
    </header>
  );
}

function Figure({ name, value, tone = "" }: { name: string; value: string | number; tone?: string }): JSX.Element {
  return (
    <div class={`figure ${tone}`}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Toolbar(): JSX.Element {
  return (
    <div class="toolbar">
      <h2>Agents</h2>
      <SearchBox
        label="Filter agents"
        placeholder="Filter by name, task, state …"
        value={filter.value}
        onInput={(value) => {
          filter.value = value;
        }}
      />
      <Segments
        label="Which agents"
        value={show.value}
        onChange={(value) => {
          show.value = value;
        }}
        of={[
          { value: "all", text: "Last 24 h" },
          { value: "live", text: "Live" },
          { value: "ended", text: "Ended" },
        ]}
      />
    </div>
  );
}

function Nobody(): JSX.Element {
  return (
    <Empty title="No agents yet">
      <p>Start an agent here or in a terminal. It goes on when this page, the server or your login ends.</p>
      <Command text='midwatch run "fix the failing tests"' />
      <Command text="midwatch run -- make test" />
      <Button
        kind="primary"
        icon="plus"
        onClick={() => {
          startOpen.value = true;
        }}
      >
        Start an agent
      </Button>
    </Empty>
  );
}

function Skeleton(): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {[...Array(6).keys()].map((n) => (
        <div key={n} />
      ))}
    </div>
  );
}
