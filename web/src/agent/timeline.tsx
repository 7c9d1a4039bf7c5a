/** A run at a glance: what it did when. A click or a drag goes to that moment in the log. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get, type Items } from "../api.ts";
import { clock, span, timeOfDay } from "../format.ts";
import { colours } from "../theme.ts";

interface Moment {
  at: string;
  seq: number | null;
  kind: string;
  label: string;
  level?: string | null;
}

interface TimelineProps {
  agent: string;
  run: number;
  live: boolean;
  startedAt: string | null;
  endedAt: string | null;
  /** Changes when there may be more. */
  version: number;
  /** Line at the top of the log, and how many there are. */
  topLine: number;
  lines: number;
  /** The end is in sight. */
  atEnd: boolean;
  goTo(line: number): void;
  goToTime(at: string): void;
}

const READ_MS = 4000;

export function Timeline(props: TimelineProps): JSX.Element | null {
  const { agent, run, live, version, topLine, lines, atEnd } = props;
  const moments = useSignal<readonly Moment[]>([]);
  const hover = useSignal<{ x: number; text: string } | undefined>(undefined);
  const canvas = useRef<HTMLCanvasElement>(null);
  const readAt = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, readAt.current + READ_MS - Date.now());
    const timer = setTimeout(() => {
      readAt.current = Date.now();
      get<Items<Moment>>("timeline", { agent, run }).then(
        ({ items }) => {
          moments.value = items;
        },
        () => undefined, // The log tells the same; the strip just stays away.
      );
    }, wait);
    return () => clearTimeout(timer);
  }, [agent, run, version]);
  const range = rangeOf(props, moments.value);
  const place = range === undefined || atEnd ? 1 : shareOfLine(moments.value, topLine, lines, range);
  useEffect(() => {
    const draw = (): void => {
      if (canvas.current && range) paint(canvas.current, moments.value, range, place);
    };
    draw();
    const sized = new ResizeObserver(draw);
    if (canvas.current) sized.observe(canvas.current);
    return () => sized.disconnect();
  }, [moments.value, place, colours.value, range?.from, range?.to]);
  if (range === undefined || moments.value.length === 0) return null;
  const atX = (clientX: number): { share: number; x: number } => {
    const box = canvas.current?.getBoundingClientRect();
    const x = clientX - (box?.left ?? 0);
    return { x, share: Math.min(1, Math.max(0, x / Math.max(1, box?.width ?? 1))) };
  };
  const goAt = (share: number): void => {
    const ms = range.from + share * (range.to - range.from);
    const near = nearest(moments.value, ms);
    const close = near && Math.abs(Date.parse(near.at) - ms) < (range.to - range.from) * 0.012;
    if (close && near.seq !== null) props.goTo(near.seq);
    else props.goToTime(new Date(ms).toISOString());
  };
  const step = (by: number): void => {
    const places = moments.value.filter(({ seq }) => seq !== null);
    const at = places.findIndex(({ seq }) => (seq ?? 0) >= topLine);
    const next = places[Math.min(places.length - 1, Math.max(0, (at < 0 ? places.length : at) + by))];
    if (next?.seq) props.goTo(next.seq);
  };
  return (
    <div class="timeline">
      <canvas
        ref={canvas}
        role="slider"
        tabIndex={0}
        aria-label="Timeline of the run"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(place * 100)}
        aria-valuetext={`line ${topLine}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          goAt(atX(event.clientX).share);
        }}
        onPointerMove={(event) => {
          const { share, x } = atX(event.clientX);
          const ms = range.from + share * (range.to - range.from);
          const near = nearest(moments.value, ms);
          hover.value = {
            x,
            text: near ? `${timeOfDay(near.at)} ${near.label}` : timeOfDay(new Date(ms).toISOString()),
          };
          if (event.buttons === 1) goAt(share);
        }}
        onPointerLeave={() => {
          hover.value = undefined;
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight") step(1);
          if (event.key === "ArrowLeft") step(-1);
        }}
      />
      {hover.value && (
        <div class="tip" style={{ left: `${hover.value.x}px` }}>
          {hover.value.text}
        </div>
      )}
      <div class="ends">
        <span>{timeOfDay(new Date(range.from).toISOString())}</span>
        <Legend />
        <span>
          {span(range.to - range.from)} · {live ? "now" : timeOfDay(new Date(range.to).toISOString())}
        </span>
      </div>
    </div>
  );
}

function Legend(): JSX.Element {
  return (
    <span class="legend">
      <i class="tool" /> tools <i class="said" /> words <i class="bad" /> errors <i class="verdict" /> verdicts
    </span>
  );
}

interface Range {
  from: number;
  to: number;
}

function rangeOf({ startedAt, endedAt, live }: TimelineProps, moments: readonly Moment[]): Range | undefined {
  const times = moments.map(({ at }) => Date.parse(at)).filter((ms) => !Number.isNaN(ms));
  const first = startedAt ? Date.parse(startedAt) : times[0];
  if (first === undefined) return undefined;
  const last = live ? clock.value : endedAt ? Date.parse(endedAt) : (times.at(-1) ?? first);
  return { from: Math.min(first, times[0] ?? first), to: Math.max(last, times.at(-1) ?? last, first + 1000) };
}

function nearest(moments: readonly Moment[], ms: number): Moment | undefined {
  let best: Moment | undefined;
  let distance = Number.POSITIVE_INFINITY;
  for (const one of moments) {
    const away = Math.abs(Date.parse(one.at) - ms);
    if (away <= distance) {
      best = one;
      distance = away;
    }
  }
  return best;
}

/** When a line was printed, as a share of the run: between the moments before and behind it. */
function shareOfLine(moments: readonly Moment[], line: number, lines: number, { from, to }: Range): number {
  let before = { line: 0, ms: from };
  let behind = { line: Math.max(lines, line), ms: to };
  for (const { seq, at } of moments) {
    if (seq === null) continue;
    if (seq <= line) before = { line: seq, ms: Date.parse(at) };
    else {
      behind = { line: seq, ms: Date.parse(at) };
      break;
    }
  }
  const share = (line - before.line) / Math.max(1, behind.line - before.line);
  return Math.min(1, Math.max(0, (before.ms + share * (behind.ms - before.ms) - from) / (to - from)));
}

/** Colours come from the style sheet, so that both themes have theirs. */
function paint(canvas: HTMLCanvasElement, moments: readonly Moment[], range: Range, place: number): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  if (pen === null || width === 0) return;
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  pen.scale(scale, scale);
  const x = (at: string): number => ((Date.parse(at) - range.from) / (range.to - range.from)) * (width - 4) + 2;
  pen.fillStyle = colour("--track");
  pen.beginPath();
  pen.roundRect(0, height / 2 - 2, width, 4, 2);
  pen.fill();
  for (const { at, kind, level } of moments) {
    const bad = level === "error" || level === "alert" || level === "bad" || kind === "error";
    const tall = bad
      ? height - 8
      : kind === "tool"
        ? height - 16
        : kind === "verdict" || kind === "phase"
          ? height - 4
          : height - 22;
    pen.fillStyle = colour(
      bad
        ? "--bad"
        : kind === "tool"
          ? "--accent"
          : kind === "verdict"
            ? "--warn"
            : kind === "phase"
              ? "--dim"
              : "--mark",
    );
    if (kind === "verdict") diamond(pen, x(at), height / 2, 5);
    else pen.fillRect(Math.round(x(at)) - 1, (height - tall) / 2, bad || kind === "phase" ? 2 : 1.5, tall);
  }
  const here = place * (width - 4) + 2;
  pen.fillStyle = colour("--text");
  pen.beginPath();
  pen.roundRect(here - 1.5, 0, 3, height, 1.5);
  pen.fill();
}

function diamond(pen: CanvasRenderingContext2D, x: number, y: number, r: number): void {
  pen.beginPath();
  pen.moveTo(x, y - r);
  pen.lineTo(x + r, y);
  pen.lineTo(x, y + r);
  pen.lineTo(x - r, y);
  pen.fill();
}
