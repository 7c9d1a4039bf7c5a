/** What agents used, by task, model or agent. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { CostRecord } from "../../src/spend/spent.ts";
import { type Items, post } from "./api.ts";
import { entries, tasks } from "./fleet.ts";
import { count, grouped, money, tokensOf } from "./format.ts";
import { Empty, Failed, Segments, Tile } from "./parts/bits.tsx";
import { agentLink } from "./route.ts";

type By = "task" | "model" | "agent";
type Since = "24h" | "7d" | "";

export function Cost(): JSX.Element {
  const by = useSignal<By>("task");
  const since = useSignal<Since>("24h");
  const records = useSignal<readonly CostRecord[] | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const read = (): void => {
    post<Items<CostRecord>>("cost", { by: by.value, ...(since.value ? { since: since.value } : {}) }).then(
      ({ items }) => {
        records.value = items;
        error.value = undefined;
      },
      (problem: unknown) => {
        error.value = problem;
      },
    );
  };
  useEffect(read, [by.value, since.value]);
  const all = records.value?.at(-1);
  const rows = (records.value ?? [])
    .slice(0, -1)
    .filter(({ tokens, cost_usd }) => cost_usd > 0 || tokensOf(tokens) > 0);
  return (
    <>
      <header class="page-head">
        <h1>Cost</h1>
        <Segments
          label="Since when"
          value={since.value}
          onChange={(value) => {
            since.value = value;
          }}
          of={[
            { value: "24h", text: "24 h" },
            { value: "7d", text: "7 days" },
            { value: "", text: "All" },
          ]}
        />
        <Segments
          label="Summed by"
          value={by.value}
          onChange={(value) => {
            by.value = value;
          }}
          of={[
            { value: "task", text: "Task" },
            { value: "model", text: "Model" },
            { value: "agent", text: "Agent" },
          ]}
        />
      </header>
      {error.value !== undefined && <Failed error={error.value} retry={read} />}
      {all && (
        <div class="tiles">
          <Tile
            title="Spent"
            value={money(all.cost_usd)}
            note={all.estimated_usd > 0 ? `${money(all.estimated_usd)} of it estimated` : `${grouped(all.runs)} runs`}
          />
          <Tile title="Input" value={count(all.tokens.input)} note="tokens, not cached" />
          <Tile title="Output" value={count(all.tokens.output)} note="tokens" />
          <Tile
            title="Cached"
            value={count(all.tokens.cache_read + all.tokens.cache_write)}
            note="tokens read and written"
          />
        </div>
      )}
      {records.value && rows.length === 0 && (
        <Empty title="Nothing was used yet">
          <p>Tokens and money are read from what the agent CLIs print, also of runs that were killed.</p>
        </Empty>
      )}
      {rows.length > 0 && <Table rows={rows} by={by.value} />}
      {all && all.unpriced > 0 && (
        <p class="meta">
          {all.unpriced} runs used a model without a known price (prices as of {all.prices_as_of}).
        </p>
      )}
    </>
  );
}

function Table({ rows, by }: { rows: readonly CostRecord[]; by: By }): JSX.Element {
  const most = Math.max(...rows.map(({ cost_usd }) => cost_usd), 0.0001);
  return (
    <section class="card table">
      <table>
        <thead>
          <tr>
            <th scope="col">{by}</th>
            <th scope="col" class="n">
              Runs
            </th>
            <th scope="col" class="n">
              Tokens
            </th>
            <th scope="col" class="n">
              Cost
            </th>
            <th scope="col">
              <span class="hidden">Share</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.of}>
              <th scope="row">
                <Of name={row.of} by={by} />
              </th>
              <td class="n">{grouped(row.runs)}</td>
              <td class="n">{count(tokensOf(row.tokens))}</td>
              <td class="n">
                {row.estimated_usd > 0 ? "~" : ""}
                {money(row.cost_usd)}
              </td>
              <td class="share">
                <meter min={0} max={most} value={row.cost_usd} aria-label={`Share of ${row.of}`} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Of({ name, by }: { name: string; by: By }): JSX.Element {
  if (by === "agent" && entries.value.has(name)) return <a href={agentLink(name)}>{name}</a>;
  return <>{(by === "task" && tasks.value.get(name)?.description.split("\n")[0]) || name}</>;
}
