/** Text in columns, for people. */
import { terminalText } from "../core/text/terminal-text.ts";
import type { RenderOptions } from "./operation.ts";

const GAP = 2;
/** A column that has to give room keeps this much. */
const NARROWEST = 6;

/**
 * Columns as wide as their longest cell; the last is not padded. On a terminal that is too narrow the widest give room first, and the
 * first column, which holds what a person will type next, gives last. A pipe is read by a program, which gets everything.
 */
export function table(rows: readonly (readonly string[])[], options?: RenderOptions): string {
  const cells = rows.map((row) => row.map(oneLine));
  const widths: number[] = [];
  for (const row of cells) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell));
  if (options?.fit) shrink(widths, options.width - GAP * (widths.length - 1));
  const padded = (cell: string, i: number, last: boolean): string => {
    const fits = cut(cell, widths[i] ?? 0);
    return last ? fits : fits + " ".repeat((widths[i] ?? 0) - width(fits) + GAP);
  };
  return cells
    .map((row) =>
      row
        .map((cell, i) => padded(cell, i, i === row.length - 1))
        .join("")
        .trimEnd(),
    )
    .join("\n");
}

function shrink(widths: number[], room: number): void {
  const over = (): number => widths.reduce((sum, one) => sum + one, 0) - room;
  while (over() > 0) {
    const others = widths.slice(1);
    const most = Math.max(0, ...others);
    const at = most > NARROWEST ? others.indexOf(most) + 1 : 0;
    const before = widths[at] ?? 0;
    if (before <= NARROWEST) return; // It cannot fit; the terminal wraps.
    const next = at === 0 ? NARROWEST : Math.max(NARROWEST, ...others.filter((one) => one < most));
    widths[at] = Math.max(next, before - over(), NARROWEST);
    if (widths[at] === before) widths[at] = before - 1;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: our colours
const COLOR = /\u001b\[\d+m/g;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** As a terminal will show it, which is what has to fit. */
function oneLine(cell: string): string {
  return terminalText(cell.replace(/[\t\r\n]+/g, " "));
}

function width(cell: string): number {
  let columns = 0;
  const plain = cell.replace(COLOR, "");
  if (/^[ -~]*$/.test(plain)) return plain.length;
  for (const character of plain) columns += columnsOf(character);
  return columns;
}

function columnsOf(character: string): number {
  if (/\p{M}|\u200d/u.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** At most so many columns, with an ellipsis where something is missing; a colour is kept. */
function cut(cell: string, most: number): string {
  if (width(cell) <= most) return cell;
  const [start = "", end = ""] = cell.match(COLOR) ?? [];
  let text = "";
  let columns = 0;
  for (const character of cell.replace(COLOR, "")) {
    columns += columnsOf(character);
    if (columns >= most) break;
    text += character;
  }
  return `${start}${text}…${end}`;
}
