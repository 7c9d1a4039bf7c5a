/** `NAME=value` lines, as shells and other tools write them. */
import { MidwatchError } from "./errors.ts";

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/;

/** Quotes round a value are taken off; `#` begins a comment on a line of its own. A value is never part of an error. */
export function parseEnvFile(text: string, name: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const match = LINE.exec(line);
    if (match === null) {
      throw new MidwatchError("BAD_CONFIG", `${name}, line ${i + 1} is not NAME=value.`, {
        hint: "Each line gives one variable; # begins a comment.",
      });
    }
    const [, variable = "", raw = ""] = match;
    const quoted = /^(["'])(.*)\1$/.exec(raw);
    values[variable] = quoted?.[1] === '"' ? (quoted[2] ?? "").replace(/\\(["\\$`])/g, "$1") : (quoted?.[2] ?? raw);
  }
  return values;
}
