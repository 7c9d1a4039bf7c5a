/** Spend over time as stacked bars. Arrow keys go from bar to bar; who cannot see it has the same as a table. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { CostBucket } from "../../../src/core/cost-record.ts";
import { money, spentText } from "../format.ts";

const HEIGHT = 220;
const LEFT = 52;
const TOP = 10;
const BOTTOM = 24;
const GAP = 0.2;
const BAR_MOST = 64;
const TICKS = 4;
const LABEL_PX = 76;
const DAY_MS = 24 * 3_600_000;

interface Stretch {
  since: number;
  until: number;
  parts: readonly CostBucket[];
}

/** The dearest first; those that are too many for a colour come as one, the last. */
export function namesOf(buckets: readonly CostBucket[]): string[] {
  const sums = new Map<string, number>();
  for (const { of, cost_usd } of buckets) sums.set(of, (sums.get(of) ?? 0) + cost_usd);
  const rank = ([of, usd]: [string, number]): number => (of === "other" ? -1 : usd);
  return [...sums].sort((a, b) => rank(b) - rank(a)).map(([of]) => of);
}

/** The class of its colour. */
export function serieOf(names: readonly string[], name: string): string {
  const n = names.indexOf(name);
  return n < 0 || name === "other" ? "serie" : `serie s${n}`;
}

export function Chart({
  buckets,
  label,
}: {
  buckets: readonly CostBucket[];
  label: (of: string) => string;
}): JSX.Element {
  const place = useRef<HTMLFieldSetElement>(null);
  const width = useSignal(600);
  const at = useSignal<number | undefined>(undefined);
  useLayoutEffect(() => {
    const element = place.current as HTMLFieldSetElement;
    const observer = new ResizeObserver(() => {
      width.value = element.clientWidth;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const stretches = stretchesOf(buckets, Date.now());
  const names = namesOf(buckets);
  const shown = at.value === undefined ? undefined : stretches[Math.min(at.value, stretches.length - 1)];
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = stretches.length - 1;
    const now = at.value ?? (event.key === "ArrowRight" ? -1 : last + 1);
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    at.value = Math.max(0, Math.min(last, to));
  };
  return (
    <section class="card spend">
      <h2>Over time</h2>
      <fieldset
        ref={place}
        class="bars"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from bar to bar
        tabIndex={0}
        aria-label="Spend over time; arrow keys go from bar to bar"
        onKeyDown={onKeyDown}
        onPointerLeave={() => {
          at.value = undefined;
        }}
        onBlur={() => {
          at.value = undefined;
        }}
      >
        <Bars stretches={stretches} names={names} width={width.value} at={at.value} onAt={(n) => (at.value = n)} />
      </fieldset>
      <p class="readout" role="status">
        {shown ? <Readout stretch={shown} label={label} /> : <span class="meta">{rangeOf(stretches)}</span>}
      </p>
      <Figures stretches={stretches} names={names} label={label} />
    </section>
  );
}

interface BarsProps {
  stretches: readonly Stretch[];
  names: readonly string[];
  width: number;
  at: number | undefined;
  onAt: (n: number) => void;
}

function Bars({ stretches, names, width, at, onAt }: BarsProps): JSX.Element {
  const step = stepFor(Math.max(...stretches.map(({ parts }) => sumOf(parts)), 0.0001));
  const ticks = Math.max(1, Math.ceil(Math.max(...stretches.map(({ parts }) => sumOf(parts))) / step - 1e-9));
  const floor = HEIGHT - BOTTOM;
  const y = (usd: number): number => floor - (usd / (ticks * step)) * (floor - TOP);
  const slot = Math.max(1, width - LEFT) / Math.max(1, stretches.length);
  const bar = Math.max(1, Math.min(BAR_MOST, slot * (1 - GAP)));
  const every = Math.max(1, Math.ceil(LABEL_PX / slot));
  const daily = isDaily(stretches);
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {Array.from({ length: ticks + 1 }, (_, n) => (
        <g key={n}>
          <path class={n === 0 ? "axis" : "grid"} d={`M${LEFT} ${Math.round(y(n * step)) + 0.5}H${width}`} />
          <text class="tick" x={LEFT - 8} y={y(n * step) + 4} text-anchor="end">
            {money(n * step)}
          </text>
        </g>
      ))}
      {stretches.map(({ since, parts }, n) => {
        const x = LEFT + n * slot;
        let sum = 0;
        return (
          <g key={since} class={at === n ? "stretch at" : "stretch"} onPointerEnter={() => onAt(n)}>
            <rect class="hit" x={x} y={TOP} width={slot} height={floor - TOP} />
            {names.map((name) => {
              const usd = sumOf(parts.filter(({ of }) => of === name));
              if (usd <= 0) return null;
              sum += usd;
              const height = Math.max(0.5, y(sum - usd) - y(sum));
              return (
                <rect
                  key={name}
                  class={serieOf(names, name)}
                  x={x + (slot - bar) / 2}
                  y={y(sum)}
                  width={bar}
                  height={height}
                />
              );
            })}
            {n % every === 0 && x + LABEL_PX / 2 < width && (
              <text class="tick" x={x + slot / 2} y={HEIGHT - 6} text-anchor="middle">
                {timeText(since, daily)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

function Readout({ stretch, label }: { stretch: Stretch; label: (of: string) => string }): JSX.Element {
  const dearest = [...stretch.parts].sort((a, b) => b.cost_usd - a.cost_usd);
  const said = dearest.slice(0, 3).map((part) => `${label(part.of)} ${amountOf([part])}`);
  if (dearest.length > 3) said.push(`${dearest.length - 3} more`);
  return (
    <>
      <b>{stretchText(stretch)}</b> {amountOf(stretch.parts)}
      {said.length > 1 && <span class="meta"> {said.join(" · ")}</span>}
    </>
  );
}

/** For those who cannot see the bars; only stretches in which something was spent. */
function Figures({
  stretches,
  names,
  label,
}: Pick<BarsProps, "stretches" | "names"> & { label: (of: string) => string }): JSX.Element {
  return (
    <details class="figures">
      <summary>As a table</summary>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {names.map((name) => (
                <th scope="col" class="n" key={name}>
                  {label(name)}
                </th>
              ))}
              <th scope="col" class="n">
                Sum
              </th>
            </tr>
          </thead>
          <tbody>
            {stretches
              .filter(({ parts }) => parts.length > 0)
              .map((stretch) => (
                <tr key={stretch.since}>
                  <th scope="row">{stretchText(stretch)}</th>
                  {names.map((name) => {
                    const own = stretch.parts.filter(({ of }) => of === name);
                    return (
                      <td class="n" key={name}>
                        {own.length === 0 ? "–" : amountOf(own)}
                      </td>
                    );
                  })}
                  <td class="n">{amountOf(stretch.parts)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** With those in which nothing was spent, up to now. */
function stretchesOf(buckets: readonly CostBucket[], nowMs: number): Stretch[] {
  const all: Stretch[] = [];
  for (const bucket of buckets) {
    const [since, until] = [Date.parse(bucket.since), Date.parse(bucket.until)];
    let last = all.at(-1);
    if (last?.since === since) {
      all[all.length - 1] = { ...last, parts: [...last.parts, bucket] };
      continue;
    }
    // A day may have an hour less or more than the one before.
    while (last !== undefined && since - last.until > (until - since) / 2) {
      last = after(last, until - since);
      all.push(last);
    }
    all.push({ since, until, parts: [bucket] });
  }
  for (let last = all.at(-1); last !== undefined && last.until < nowMs; last = all.at(-1))
    all.push(after(last, last.until - last.since));
  return all;
}

function after({ until }: Stretch, widthMs: number): Stretch {
  return { since: until, until: until + widthMs, parts: [] };
}

/** 1, 2 or 5 of a power of ten. */
function stepFor(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most / TICKS));
  return (([1, 2, 5].find((n) => n * power * TICKS >= most) ?? 10) as number) * power;
}

function sumOf(parts: readonly CostBucket[]): number {
  return parts.reduce((sum, { cost_usd }) => sum + Math.max(0, cost_usd), 0);
}

function amountOf(parts: readonly CostBucket[]): string {
  const usd = parts.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
  const unknown = parts.some(({ unpriced_tokens }) => unpriced_tokens > 0);
  const estimated = parts.some(({ estimated_usd }) => estimated_usd !== 0);
  if (unknown && usd === 0) return "unknown";
  return `${spentText(usd, estimated, true)}${unknown ? " + unknown" : ""}`;
}

function isDaily(stretches: readonly Stretch[]): boolean {
  const [first] = stretches;
  return first !== undefined && first.until - first.since > DAY_MS / 2;
}

function timeText(ms: number, daily: boolean): string {
  const at = new Date(ms);
  return daily
    ? at.toLocaleDateString("en-GB", { day: "numeric", month: "short" })
    : at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

function stretchText({ since, until }: Stretch): string {
  if (until - since > 1.5 * DAY_MS) return `${timeText(since, true)} – ${timeText(until - 1, true)}`;
  if (until - since > DAY_MS / 2) return timeText(since, true);
  return `${timeText(since, true)} ${timeText(since, false)}–${timeText(until, false)}`;
}

function rangeOf(stretches: readonly Stretch[]): string {
  const [first, last] = [stretches[0], stretches.at(-1)];
  if (first === undefined || last === undefined) return "Nothing was spent in this time.";
  const daily = isDaily(stretches);
  return `${timeText(first.since, true)}${daily ? "" : ` ${timeText(first.since, false)}`} – ${timeText(last.until - 1, true)}${daily ? "" : ` ${timeText(last.until, false)}`}`;
}
