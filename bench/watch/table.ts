/** Tables for a person at a terminal, and the few ways in which figures are written in them. */

export function print(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  for (const row of all) {
    console.log(`| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
    if (row === head) console.log(`|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  }
  console.log("");
}

export function percent(share: number): string {
  return Number.isNaN(share) ? "-" : `${(share * 100).toFixed(1)} %`;
}

export function count<T>(list: readonly T[], test: (item: T) => boolean): string {
  const found = list.filter(test).length;
  return list.length === 0 ? "-" : `${percent(found / list.length)} (${found} of ${list.length})`;
}

export function range([low, high]: readonly [number, number]): string {
  return `${low.toFixed(2)} to ${high.toFixed(2)}`;
}
