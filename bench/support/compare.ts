/** Two trees measured in turns: what the new one's figure is to the old one's, with an interval that a lucky run does not decide. */

export interface Comparison {
  ratio: number;
  low: number;
  high: number;
}

/**
 * The median of the ratios of neighbours, with the interval that holds the true median in at least 95 of 100 cases: two order statistics,
 * so nothing is assumed of how the times are spread.
 */
export function compare(ours: readonly number[], theirs: readonly number[]): Comparison {
  const ratios = ours.map((value, i) => value / (theirs[i] as number)).sort((a, b) => a - b);
  const cut = orderFor(ratios.length);
  const middle = (ratios.length - 1) / 2;
  const ratio = ((ratios[Math.floor(middle)] as number) + (ratios[Math.ceil(middle)] as number)) / 2;
  return { ratio, low: ratios[cut] as number, high: ratios[ratios.length - 1 - cut] as number };
}

/** How many may be cut off at each end: the chance that the median is among them stays below 2.5 % for each. */
function orderFor(count: number): number {
  let [cut, below, ways] = [0, 0, 1];
  for (let k = 0; k < count; k++) {
    below += ways / 2 ** count;
    if (below > 0.025) break;
    cut = k + 1;
    ways = (ways * (count - k)) / (k + 1);
  }
  return Math.min(Math.max(0, cut - 1), Math.floor((count - 1) / 2));
}

/** The figure of a row's text: its median where it names one, else its first number. */
export function figureOf(measured: string): number {
  const text = /median ([\d.,]+)/.exec(measured)?.[1] ?? /[\d.,]*\d/.exec(measured)?.[0] ?? "";
  return text === "" ? Number.NaN : Number(text.replaceAll(",", ""));
}

/** The rows of a printed table: `promise: figure` and what was measured. */
export function rowsOf(printed: string): Map<string, string> {
  const lines = printed.split("\n").filter((line) => line.startsWith("| "));
  const cells = lines.slice(1).map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));
  return new Map(cells.map(([, , promise, figure, measured = ""]) => [`${promise}: ${figure}`, measured]));
}
