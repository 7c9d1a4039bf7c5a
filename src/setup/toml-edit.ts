/** Sets or removes one table of a TOML text and leaves every other line as it is. Knows only as much TOML as it needs to find the table. */

/** The text with the table `name` (dotted, bare keys) as these lines; undefined when it is written in a way that cannot be set so. */
export function setTable(text: string, name: string, values: Readonly<Record<string, unknown>>): string | undefined {
  const [parent = ""] = name.split(".");
  // `a = { ... }` and `a.b.c = 1` define the same table in another way; a second definition is an error.
  if (new RegExp(`^\\s*"?${parent}"?\\s*(?:=|\\.)`, "m").test(withoutStrings(text))) return undefined;
  const table = [
    `[${name}]`,
    // A JSON string, number, boolean or list of strings is TOML too.
    ...Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
  ];
  const { lines, from, to } = tableIn(text, name);
  if (from === -1) return `${[...lines, ...(lines.length > 0 ? [""] : []), ...table].join("\n")}\n`;
  return `${[...lines.slice(0, from), ...table, ...lines.slice(to)].join("\n")}\n`;
}

/** The text without the table and those below it: itself when there is none. */
export function removeTable(text: string, name: string): string {
  const { lines, from, to } = tableIn(text, name);
  if (from === -1) return text;
  const before = lines.slice(0, from);
  if (to === lines.length) while (before.at(-1) === "") before.pop();
  const left = [...before, ...lines.slice(to)];
  return left.length === 0 ? "" : `${left.join("\n")}\n`;
}

/** Its lines, with the tables below it; -1 where it is not. */
function tableIn(text: string, name: string): { lines: string[]; from: number; to: number } {
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const headers = lines.map((line) => /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1]?.replaceAll(/["'\s]/g, ""));
  const isOurs = (header: string | undefined): boolean => header === name || header?.startsWith(`${name}.`) === true;
  const from = headers.findIndex(isOurs);
  let to = from + 1;
  while (from !== -1 && to < lines.length && (headers[to] === undefined || isOurs(headers[to]))) to++;
  // Empty lines and comments before the next table belong to that one.
  while (to > from + 1 && /^\s*(#.*)?$/.test(lines[to - 1] ?? "")) to--;
  return { lines, from, to };
}

function withoutStrings(text: string): string {
  return text.replaceAll(/"""[\s\S]*?"""|'''[\s\S]*?'''/g, '""');
}
