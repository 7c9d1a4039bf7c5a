/** What agents spent: over time, by whom, today, and how fast now. From the ledger; no log is read. */
import { computed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { CostBucket, CostBy, CostRecord } from "../../../src/core/cost-record.ts";
import { type Items, post } from "../api.ts";
import { entries, tasks } from "../fleet.ts";
import { clock, count, grouped, money, plural, spentText, tokensOf } from "../format.ts";
import { Empty, Failed, Segments, Tile } from "../parts/bits.tsx";
import { agentLink } from "../route.ts";
import { Budgets } from "./budgets.tsx";
import { Chart, namesOf, serieOf } from "./chart.tsx";

type By = Exclude<CostBy, "day">;
type Since = "24h" | "7d" | "30d" | "";
type Where = "here" | "everywhere";

interface Figures {
  buckets: readonly CostBucket[];
  records: readonly CostRecord[];
  today: CostRecord | undefined;
}

const AGAIN_MS = 10_000;
/** Before any ledger. */
const EVER = "2000-01-01T00:00:00Z";

const burn = computed(() => {
  const rates = [...entries.value.values()].flatMap(({ item }) => item.value.usd_per_hour ?? []);
  return { agents: rates.length, usd: rates.reduce((sum, one) => sum + one, 0) };
});

async function read(by: By, since: Since, where: Where): Promise<Figures> {
  const asked = { by, everywhere: where === "everywhere" };
  const midnight = new Date(new Date().setHours(0, 0, 0, 0)).toISOString();
  const [chart, sums, today] = await Promise.all([
    post<Items<CostBucket>>("cost", { ...asked, chart: true, since: since || EVER }),
    post<Items<CostRecord>>("cost", { ...asked, ...(since ? { since } : {}) }),
    post<Items<CostRecord>>("cost", { ...asked, since: midnight }),
  ]);
  return { buckets: chart.items, records: sums.items, today: today.items.at(-1) };
}

export function Cost(): JSX.Element {
  const by = useSignal<By>("task");
  const since = useSignal<Since>("24h");
  const where = useSignal<Where>("here");
  const figures = useSignal<Figures | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const look = (): (() => void) => {
    let left = false;
    const once = (): void => {
      read(by.value, since.value, where.value).then(
        (found) => {
          if (left) return;
          figures.value = found;
          error.value = undefined;
        },
        (problem: unknown) => {
          if (!left) error.value = problem;
        },
      );
    };
    once();
    const timer = setInterval(() => document.hidden || once(), AGAIN_MS);
    return () => {
      left = true;
      clearInterval(timer);
    };
  };
  useEffect(look, [by.value, since.value, where.value]);
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
            { value: "30d", text: "30 days" },
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
            { value: "project", text: "Project" },
          ]}
        />
        <Segments
          label="Of which projects"
          value={where.value}
          onChange={(value) => {
            where.value = value;
          }}
          of={[
            { value: "here", text: "This project" },
            { value: "everywhere", text: "All projects" },
          ]}
        />
      </header>
      {error.value !== undefined && <Failed error={error.value} retry={() => look()()} />}
      {figures.value && <Spent figures={figures.value} by={by.value} />}
    </>
  );
}

function Spent({ figures: { buckets, records, today }, by }: { figures: Figures; by: By }): JSX.Element {
  const all = records.at(-1);
  const rows = records.slice(0, -1).filter(({ tokens, cost_usd }) => (cost_usd ?? 0) > 0 || tokensOf(tokens) > 0);
  return (
    <>
      <div class="tiles">
        {today && <Today today={today} />}
        <Tile
          title="An hour, now"
          value={burn.value.agents > 0 ? `~${money(burn.value.usd)}` : "–"}
          note={burn.value.agents > 0 ? `by ${plural(burn.value.agents, "agent")}, last 10 minutes` : "nobody spends"}
        />
        {all && (
          <>
            <Tile title="Spent" value={costText(all)} note={noteOf(all)} />
            <Tile
              title="Tokens"
              value={count(tokensOf(all.tokens))}
              note={`${count(all.tokens.output)} out · ${count(all.tokens.cache_read + all.tokens.cache_write)} cached`}
            />
          </>
        )}
      </div>
      <Budgets />
      {rows.length === 0 ? (
        <Empty title="Nothing was used yet">
          <p>Tokens and money are read from what the agent CLIs print, also of runs that were killed.</p>
        </Empty>
      ) : (
        <>
          <Chart buckets={buckets} label={(name) => labelOf(name, by)} />
          <Table rows={rows} by={by} names={namesOf(buckets)} />
        </>
      )}
      {all && all.unpriced > 0 && (
        <p class="meta">
          {plural(all.unpriced, "run")} used a model without a known price (prices as of {all.prices_as_of}).
        </p>
      )}
    </>
  );
}

function Today({ today }: { today: CostRecord }): JSX.Element {
  const day = new Date(clock.value).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "short" });
  return <Tile title="Today" value={costText(today)} note={today.unpriced > 0 ? noteOf(today) : day} />;
}

function costText({ cost_usd, estimated_usd }: CostRecord): string {
  return spentText(cost_usd, estimated_usd > 0, true);
}

function noteOf({ runs, cost_usd, estimated_usd, unpriced }: CostRecord): string {
  if (unpriced > 0) return `${cost_usd === null ? "" : "at the least; "}${plural(unpriced, "run")} without a price`;
  return estimated_usd > 0 ? `${money(estimated_usd)} of it estimated` : plural(runs, "run");
}

function Table({ rows, by, names }: { rows: readonly CostRecord[]; by: By; names: readonly string[] }): JSX.Element {
  const most = Math.max(...rows.map(({ cost_usd }) => cost_usd ?? 0), 0.0001);
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
            <th scope="col" class="share">
              <span class="hidden">Share</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.of}>
              <th scope="row">
                <span class="keyed">
                  <i class={`swatch ${serieOf(names, row.of)}`} aria-hidden="true" />
                  <Of name={row.of} by={by} />
                </span>
              </th>
              <td class="n">{grouped(row.runs)}</td>
              <td class="n">{count(tokensOf(row.tokens))}</td>
              <td class="n">
                {costText(row)}
                {row.unpriced > 0 && row.cost_usd !== null && " + unknown"}
              </td>
              <td class="share">
                <meter min={0} max={most} value={row.cost_usd ?? 0} aria-label={`Share of ${row.of}`} />
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
  return <span title={name}>{labelOf(name, by)}</span>;
}

/** A task by what it is for, a project by its folder's name. */
function labelOf(name: string, by: By): string {
  if (by === "task") return tasks.value.get(name)?.description.split("\n")[0] || name;
  return by === "project" ? (name.split("/").at(-1) ?? name) : name;
}
