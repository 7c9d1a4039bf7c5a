/** Sets one table of a TOML text and leaves every other line as it is. Knows only as much TOML as it needs to find the table. */

/** The text with the table `name` (dotted, bare keys) as these lines; undefined when it is written in a way that cannot be set so. */
export function setTable(text: string, name: string, values: Readonly<Record<string, unknown>>): string | undefined {
  const [parent = ""] = name.split(".");
  // `a = { ... }` and `a.b.c = 1` define the same table in another way; a second definition is an error.
  if (new RegExp(`^\\s*"?${parent}"?\\s*(?:=|\\.)`, "m").test(withoutStrings(text))) return undefined;
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const headers = lines.map((line) => /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1]?.replaceAll(/["'\s]/g, ""));
  const isOurs = (header: string | undefined): boolean => header === name || header?.startsWith(`${name}.`) === true;
  const table = [
    `[${name}]`,
    // A JSON string, number, boolean or list of strings is TOML too.
    ...Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
  ];
  const from = headers.findIndex(isOurs);
  if (from === -1) return `${[...lines, ...(lines.length > 0 ? [""] : []), ...table].join("\n")}\n`;
  let to = from + 1;
  while (to < lines.length && (headers[to] === undefined || isOurs(headers[to]))) to++;
  // Empty lines and comments before the next table belong to that one.
  while (to > from + 1 && /^\s*(#.*)?$/.test(lines[to - 1] ?? "")) to--;
  return `${[...lines.slice(0, from), ...table, ...lines.slice(to)].join("\n")}\n`;
}

function withoutStrings(text: string): string {
  return text.replaceAll(/"""[\s\S]*?"""|'''[\s\S]*?'''/g, '""');
}
