/** One line of a log, for reading; or as it is, when asked. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { timeOfDay } from "../format.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { pieces } from "./ansi.ts";
import { Prose } from "./prose.tsx";
import type { Block, Edit, Row } from "./read.ts";

/** Lines of a result that are shown before somebody asks for more. */
const FEW = 8;

export interface RowContext {
  /** Opens the whole record. */
  open(seq: number): void;
  link(seq: number): string;
}

export function RowView({ row, context }: { row: Row; context: RowContext }): JSX.Element {
  const { seq, time, blocks, stream, cut } = row;
  return (
    <>
      <a class="seq" href={context.link(seq)} tabIndex={-1} title={time ?? `line ${seq}`}>
        {seq}
      </a>
      <span class="at">{timeOfDay(time)}</span>
      <div class="blocks">
        {stream === "parse_error" && <span class="tag">not JSON</span>}
        {blocks.map((block, i) => (
          <BlockView key={i} block={block} />
        ))}
        {blocks.length === 0 && <span class="note">·</span>}
        {cut && (
          <button type="button" class="more" onClick={() => context.open(seq)}>
            the whole line
          </button>
        )}
      </div>
      <button
        type="button"
        class="raw"
        tabIndex={-1}
        aria-label={`Line ${seq} as it is`}
        onClick={() => context.open(seq)}
      >
        {"{ }"}
      </button>
    </>
  );
}

function BlockView({ block }: { block: Block }): JSX.Element {
  switch (block.kind) {
    case "text":
      return <Terminal text={block.text} />;
    case "said":
      return <Prose text={block.text} />;
    case "thought":
      return <Fold text={block.text} kind="thought" few={3} />;
    case "json":
      return <code class="json">{block.text}</code>;
    case "tool":
      return <Tool {...block} />;
    case "result":
      return (
        <div class={block.ok ? "result" : "result bad"}>
          <Fold text={block.text || (block.ok ? "(nothing)" : "failed")} kind="output" few={FEW} />
        </div>
      );
    case "trouble":
      return (
        <div class="banner bad">
          <Icon name="warn" /> {block.text}
        </div>
      );
    case "finished":
      return (
        <div class={block.ok ? "banner ok" : "banner bad"}>
          <Icon name={block.ok ? "check" : "warn"} />
          <Prose text={block.ok ? block.text || "Done." : `Failed: ${block.text}`} />
        </div>
      );
    case "note":
    case "binary":
      return <span class="note">{block.text}</span>;
  }
}

function Terminal({ text }: { text: string }): JSX.Element {
  return (
    <span class="terminal">
      {pieces(text).map(({ text: part, look }, i) =>
        look === "" ? (
          part
        ) : (
          <span key={i} class={look}>
            {part}
          </span>
        ),
      )}
    </span>
  );
}

function Fold({ text, kind, few }: { text: string; kind: string; few: number }): JSX.Element {
  const open = useSignal(false);
  const lines = text.replace(/\n+$/, "").split("\n");
  const more = lines.length - few;
  const shown = open.value || more <= 1 ? lines : lines.slice(0, few);
  return (
    <div class={kind}>
      <Terminal text={shown.join("\n")} />
      {more > 1 && (
        <button type="button" class="more" onClick={() => (open.value = !open.value)}>
          {open.value ? "less" : `${more} more lines`}
        </button>
      )}
    </div>
  );
}

const TOOL_ICONS: readonly [RegExp, IconName][] = [
  [/bash|shell|command|exec|terminal/i, "tool"],
  [/edit|write|patch|replace/i, "edit"],
  [/grep|glob|search|find/i, "search"],
  [/fetch|web/i, "globe"],
  [/read|file|ls|list/i, "file"],
];

function Tool({ name, brief, detail, edit }: Extract<Block, { kind: "tool" }>): JSX.Element {
  const open = useSignal(false);
  const icon = TOOL_ICONS.find(([pattern]) => pattern.test(name))?.[1] ?? "tool";
  return (
    <div class="tool">
      <div class="tool-head">
        <Icon name={icon} />
        <b>{name}</b>
        <code>{brief}</code>
        {detail && (
          <button type="button" class="more" onClick={() => (open.value = !open.value)} aria-expanded={open.value}>
            {open.value ? "less" : "details"}
          </button>
        )}
      </div>
      {edit && <Diff {...edit} />}
      {open.value && <pre class="detail">{detail}</pre>}
    </div>
  );
}

function Diff({ before, after }: Edit): JSX.Element {
  const open = useSignal(false);
  const all = [
    ...before
      .split("\n")
      .filter((line, i) => i > 0 || line !== "")
      .map((line) => ["del", "−", line] as const),
    ...after.split("\n").map((line) => ["add", "+", line] as const),
  ];
  const shown = open.value || all.length <= FEW + 2 ? all : all.slice(0, FEW);
  return (
    <div class="diff">
      {shown.map(([kind, sign, line], i) => (
        <div key={i} class={kind}>
          <span>{sign}</span>
          {line}
        </div>
      ))}
      {shown.length < all.length && (
        <button type="button" class="more" onClick={() => (open.value = true)}>
          {all.length - shown.length} more lines
        </button>
      )}
    </div>
  );
}
