/**
 * The operations over HTTP: GET with the fields as a query for what changes nothing, POST with a JSON object for all of them. No
 * rules of its own: fields, checks and answers come from the operation. Lists and streams are bounded; what is endless is
 * for the WebSocket.
 */

import type { Context as Hono } from "hono";
import type { z } from "zod";
import { MidwatchError, toMidwatchError } from "../../core/errors.ts";
import { isFields, parseJson } from "../../core/json.ts";
import { maskValue } from "../../core/mask/mask.ts";
import { operations } from "../../operations/index.ts";
import { type Context, isStream, type Operation, usage } from "../../operations/operation.ts";
import { schemaOf } from "../../operations/schema.ts";
import { fieldsOf } from "../flags.ts";
import { Notices } from "../notices.ts";
import type { Who } from "./auth.ts";
import type { Door } from "./door.ts";

/** By path: `jsonl/tail` is the operation `jsonl tail`. */
export const SERVED: ReadonlyMap<string, Operation> = new Map(
  operations.filter(({ cliOnly }) => !cliOnly).map((operation) => [operation.name.replaceAll(" ", "/"), operation]),
);

export function findOperation(path: string): Operation {
  const found = SERVED.get(path);
  if (found !== undefined) return found;
  throw new MidwatchError("NOT_FOUND_ROUTE", "There is no such operation here.", {
    hint: "GET /api/openapi.json lists them; some make sense in a terminal only.",
  });
}

/** The text of a query as the types that the schema has. */
export function fromQuery(operation: Operation, query: URLSearchParams): Record<string, unknown> {
  const fields = new Map(fieldsOf(operation).map((field) => [field.field, field]));
  const input: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const field = fields.get(name);
    const values = query.getAll(name).map((text) => convert(field?.kind, text));
    input[name] = field?.many ? values : values.at(-1);
  }
  return input;
}

function convert(kind: string | undefined, text: string): unknown {
  if (kind === "boolean")
    return text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : text;
  return kind === "number" && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** It goes on until something happens, or until an answer is due. */
export function isLong({ name }: Operation, { follow, wait }: Record<string, unknown>): boolean {
  return name === "wait" || name === "watch" || Boolean(follow) || Boolean(wait);
}

function validate(operation: Operation, input: unknown): unknown {
  const checked = schemaOf(operation).safeParse(input);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw usage(`${sentence(issue)}.`, `/api/openapi.json has the fields of ${operation.name}.`);
}

function sentence(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return "The input is not valid";
  const message = issue.message.replace(/\.$/, "");
  return issue.path.length === 0 ? message : `${issue.path.join(".")}: ${message}`;
}

/** Runs it in the caller's name. */
export async function call(
  door: Door,
  who: Who,
  operation: Operation,
  input: unknown,
  gone: AbortSignal,
): Promise<string> {
  const notices = new Notices();
  const context: Context = {
    door: "http",
    // An agent's paths begin where it works.
    cwd: (who.agent && door.workspace.runs.folderOf(who.agent)) ?? door.cwd,
    env: door.env,
    workspace: undefined,
    served: { workspace: door.workspace, caller: { agent: who.agent } },
    json: true,
    terminal: false,
    signal: AbortSignal.any([gone, AbortSignal.timeout(door.limits.answerMs)]),
    progress: () => undefined,
    notice: (text) => notices.tell(text),
  };
  const valid = validate(operation, input);
  if (!operation.changes || operation.looks?.(valid))
    return await gathered(door, await operation.run(context, valid), notices);
  const change = { operation: operation.name, input, by: who.agent };
  try {
    const answer = await gathered(door, await operation.run(context, valid), notices);
    door.changed({ ...change, error: null });
    return answer;
  } catch (error) {
    door.changed({ ...change, error: toMidwatchError(error).code });
    throw error;
  }
}

/** Data as it is; of a list or stream as much as an answer takes. Secrets are hidden in all of it. */
async function gathered(door: Door, answer: unknown, notices: Notices): Promise<string> {
  const stream = isStream(answer);
  if (!stream && !Array.isArray(answer)) return JSON.stringify(maskValue(answer) ?? null);
  const { answerItems, answerBytes } = door.limits;
  const items: string[] = [];
  let bytes = 0;
  let truncated = false;
  for await (const piece of answer as AsyncIterable<unknown> | unknown[]) {
    // A stream may give lists, and text for people as bytes.
    for (const item of Array.isArray(piece) && stream ? piece : [piece]) {
      const text = JSON.stringify(maskValue(item instanceof Uint8Array ? Buffer.from(item).toString() : item) ?? null);
      truncated ||= items.length >= answerItems || (items.length > 0 && bytes + text.length > answerBytes);
      if (truncated) break;
      items.push(text);
      bytes += text.length;
    }
    if (truncated) break;
  }
  const told = notices.all();
  const warnings = told.length === 0 ? "" : `,"warnings":${JSON.stringify(maskValue(told))}`;
  return `{"items":[${items.join(",")}],"truncated":${truncated}${warnings}}`;
}

/** The JSON object of a POST; no body at all counts as an empty one. */
export async function bodyOf(request: Hono["req"]): Promise<Record<string, unknown>> {
  const text = await request.text();
  if (text.trim() === "") return {};
  const value = parseJson(text);
  if (isFields(value)) return value;
  throw usage("The body is not a JSON object.", 'Send the fields as {"name": value}.');
}
