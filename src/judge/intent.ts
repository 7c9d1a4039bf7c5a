/**
 * What a call is meant to do, told apart from how it is written: a shell command without what only dresses it (a folder to go to, a
 * pipe that cuts the output, a redirection), and an edit as the two texts that it exchanges. Models write one intent in many ways.
 */
import { isFields, parseJson } from "../core/json.ts";
import { hashOf } from "./shape.ts";

/** Before the command and behind it; neither changes what is asked. */
const BEFORE = /^(?:cd [^;&|]+(?:&&|;) ?|export [^;&|]+(?:&&|;) ?|(?:time|command|sudo) |[A-Z_][A-Z0-9_]*=\S* )+/;
const BEHIND =
  / ?(?:[12]?> ?&? ?(?:\/dev\/null|[12])|\| ?(?:cat|(?:tail|head)(?: (?:-n ?)?[-+]?\d+)?)|(?:;|\|\||&&) ?(?:true|echo (?:"[^"]*"|'[^']*'|\S+)))$/;
const MOST_PARTS = 8;

/** The command of a shell; a description beside it is worded anew each time and asks for nothing. */
export function commandIn(input: unknown): string | undefined {
  const fields = fieldsIn(input);
  const command = fields === undefined ? input : (fields["command"] ?? fields["cmd"]);
  return typeof command === "string" ? command : undefined;
}

export function intentOf(command: string): string {
  const flat = command.replaceAll(/\s+/g, " ").trim();
  let rest = (/^\((.*)\)$/.exec(flat)?.[1] ?? flat).replace(BEFORE, "");
  for (let part = 0; part < MOST_PARTS && BEHIND.test(rest); part++) rest = rest.replace(BEHIND, "");
  return rest.trim() || flat;
}

/** The same for an edit and for the one that takes it back; null for what is no edit of a part of a file. */
export function editOf(input: unknown): number | null {
  const fields = Object.entries(fieldsIn(input) ?? {});
  const text = (name: RegExp): string | undefined => {
    const value = fields.find(([key]) => name.test(key))?.[1];
    return typeof value === "string" ? value : undefined;
  };
  const path = text(/^(?:file_?path|path|file|target_file)$/i);
  const [before, after] = [text(/^old_?(?:str|string|text)$/i), text(/^new_?(?:str|string|text)$/i)];
  if (path === undefined || before === undefined || after === undefined) return null;
  return hashOf([path, ...[before, after].sort()].join("\0"));
}

function fieldsIn(input: unknown): Readonly<Record<string, unknown>> | undefined {
  const value = typeof input === "string" && /^\s*\{/.test(input) ? parseJson(input) : input;
  return isFields(value) ? value : undefined;
}
