/** What an agent printed lately, as a line without figures. */
import { computed, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

const W = 88;
const H = 22;
const SAMPLES = 32;

/** The root makes a quiet agent's output visible beside a busy moment. */
function shapeOf(rates: readonly number[]): { line: string; area: string } {
  const most = Math.max(64, ...rates);
  const x = (i: number): number => W - (rates.length - 1 - i) * (W / (SAMPLES - 1));
  const points = rates.map((rate, i) => `${x(i).toFixed(1)},${(H - 2 - Math.sqrt(rate / most) * (H - 5)).toFixed(1)}`);
  if (points.length < 2) return { line: "", area: "" };
  const line = `M${points.join("L")}`;
  return { line, area: `${line}L${W},${H}L${x(0).toFixed(1)},${H}Z` };
}

export function Spark({ rates, live }: { rates: Signal<readonly number[]>; live: boolean }): JSX.Element {
  const shape = useMemo(() => computed(() => shapeOf(rates.value)), [rates]);
  return (
    <svg class={live ? "spark live" : "spark"} viewBox={`0 0 ${W} ${H}`} aria-hidden="true">
      <path class="base" d={`M0 ${H - 2}H${W}`} />
      <path class="area" d={shape.value.area} />
      <path class="line" d={shape.value.line} />
    </svg>
  );
}
