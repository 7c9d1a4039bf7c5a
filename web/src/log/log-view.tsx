/** A log to scroll through. The rows are Preact's; where they stand is the viewport's. */
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { Component, type JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { LogRecord } from "../../../src/log/record.ts";
import { grouped } from "../format.ts";
import { Button, Failed } from "../parts/bits.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { agentLink } from "../route.ts";
import type { Row } from "./read.ts";
import { type RowContext, RowView } from "./row.tsx";
import type { LogSource } from "./source.ts";
import type { Viewport } from "./viewport.ts";

interface LogViewProps {
  source: LogSource;
  viewport: Viewport;
  /** The line that a link or a jump named. */
  target: number | undefined;
}

export function LogView({ source, viewport, target }: LogViewProps): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const opened = useSignal<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (scroller.current && space.current && rows.current)
      viewport.attach(scroller.current, space.current, rows.current);
    const sized = new ResizeObserver(() => viewport.settle());
    if (scroller.current) sized.observe(scroller.current);
    return () => sized.disconnect();
  }, [viewport]);
  useSignalEffect(() => {
    source.version.value;
    void viewport.grown();
  });
  // Wide enough for the longest number there is.
  useSignalEffect(() => {
    rows.current?.style.setProperty("--digits", `${String(source.lines.value).length}ch`);
  });
  const context = useMemo<RowContext>(
    () => ({
      open: (seq) => {
        opened.value = seq;
      },
      link: (line) =>
        agentLink(source.of.agent, { run: source.of.run, line, stderr: source.of.stderr ? 1 : undefined }),
    }),
    [source],
  );
  return (
    <div class="log-frame">
      <section
        ref={scroller}
        class="log"
        aria-label="Log"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
        tabIndex={0}
        onScroll={() => viewport.onScroll()}
      >
        <div ref={space} class="log-space">
          <div ref={rows} class="log-rows">
            <Rows source={source} viewport={viewport} target={target} context={context} />
          </div>
        </div>
      </section>
      <Overlay source={source} viewport={viewport} />
      {opened.value !== undefined && (
        <RawLine source={source} seq={opened.value} onClose={() => (opened.value = undefined)} />
      )}
    </div>
  );
}

interface RowsProps extends LogViewProps {
  context: RowContext;
}

function Rows({ source, viewport, target, context }: RowsProps): JSX.Element {
  const shown = useComputed(() => {
    source.version.value;
    const { from, to } = viewport.range.value;
    return source.rows(from, to);
  });
  const found = shown.value;
  useLayoutEffect(() => viewport.settle());
  return (
    <>
      {found.map((row) => (
        <LineRow key={row.seq} row={row} context={context} isTarget={row.seq === target} />
      ))}
    </>
  );
}

interface LineRowProps {
  row: Row;
  context: RowContext;
  isTarget: boolean;
}

/** A row that was drawn once is not drawn again while it stays: a busy log adds rows, it changes none. */
class LineRow extends Component<LineRowProps> {
  override shouldComponentUpdate(next: LineRowProps): boolean {
    const { row, context, isTarget } = this.props;
    return next.row !== row || next.context !== context || next.isTarget !== isTarget;
  }

  override render({ row, context, isTarget }: LineRowProps): JSX.Element {
    const quiet = row.blocks.every(({ kind }) => kind === "note") ? " quiet" : "";
    return (
      <div class={`line-row ${row.stream}${quiet}${isTarget ? " target" : ""}`} data-seq={row.seq}>
        <RowView row={row} context={context} />
      </div>
    );
  }
}

function Overlay({ source, viewport }: Omit<LogViewProps, "target">): JSX.Element {
  const empty = source.opened.value && source.lines.value === 0;
  const behind = source.live.value && !viewport.following.value && source.lines.value > 0;
  return (
    <>
      {source.error.value !== undefined && <Failed error={source.error.value} retry={() => void source.open()} />}
      {viewport.busy.value && <div class="loading" role="progressbar" aria-label="Loading lines" />}
      {empty && (
        <p class="log-empty">{source.live.value ? "It has printed nothing yet." : "It printed nothing here."}</p>
      )}
      {behind && (
        <button type="button" class="to-end" onClick={() => void viewport.goToEnd(true)}>
          <Icon name="down" /> Follow
        </button>
      )}
    </>
  );
}

function RawLine({ source, seq, onClose }: { source: LogSource; seq: number; onClose: () => void }): JSX.Element {
  const record = useSignal<LogRecord | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    source.whole(seq).then(
      (found) => {
        record.value = found;
      },
      (problem: unknown) => {
        error.value = problem;
      },
    );
  }, [source, seq]);
  const text = record.value && rawText(record.value);
  return (
    <Dialog title={`Line ${grouped(seq)}`} wide onClose={onClose}>
      {error.value !== undefined && <Failed error={error.value} />}
      {record.value && (
        <p class="meta">
          byte {grouped(record.value.offset)}
          {record.value.timestamp ? ` · ${record.value.timestamp}` : ""}
          {record.value.truncated ? " · only its beginning" : ""}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <pre class="raw-line" tabIndex={0}>
        {text ?? "…"}
      </pre>
      <div class="dialog-foot">
        <Button onClick={() => void navigator.clipboard?.writeText(text ?? "")}>Copy</Button>
      </div>
    </Dialog>
  );
}

/** Escapes are made visible, not obeyed. */
function rawText({ data, text, b64, raw_content }: LogRecord): string {
  if (data !== undefined) return JSON.stringify(data, null, 2);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are made visible
  return (text ?? raw_content ?? b64 ?? "").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (control) =>
    control === "\u001b" ? "␛" : "�",
  );
}
