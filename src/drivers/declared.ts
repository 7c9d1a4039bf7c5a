/**
 * A driver written as JSON, for a CLI that midwatch does not know: what to call, what to look for in its lines, what is success.
 *
 *   { "name": "aider", "program": "aider", "args": ["--yes", ["--model", "{model}"]], "stdin": "prompt" }
 *
 * A list within `args` is a group: it is left out when a placeholder in it has no value. The prompt has no placeholder: it goes
 * through stdin, because every user of the machine can read argv.
 */
import { z } from "zod";
import { MidwatchError } from "../core/errors.ts";
import type { Tokens } from "../core/types.ts";
import { lineText } from "./command.ts";
import type { Activity, Driver, Ending, Judged, Launch, LaunchRequest, StreamReader } from "./driver.ts";
import { at, countOf, type Fields, numberOf, textOf } from "./fields.ts";
import { judgeExit, judgeStream } from "./judge.ts";
import { checkNames, refuseInteractive, unsupported } from "./refuse.ts";
import { addTokens, NO_TOKENS, note, streamReader } from "./stream.ts";

const PLACEHOLDERS = ["model", "session", "resume", "cwd"] as const;
type Placeholder = (typeof PLACEHOLDERS)[number];

const argument = z.string().superRefine((text, context) => {
  for (const [, name] of text.matchAll(/\{(\w+)\}/g)) {
    if (!(PLACEHOLDERS as readonly string[]).includes(name ?? "")) {
      const known = PLACEHOLDERS.map((known) => `{${known}}`).join(", ");
      context.addIssue({ code: "custom", message: `{${name}} is no placeholder; there are ${known}` });
    }
  }
});
const args = z.array(z.union([argument, z.array(argument)]));
const path = z.string().min(1);
/** Every path must have its value: `{"type": "result", "error": null}`. */
const match = z
  .record(path, z.union([z.string(), z.number(), z.boolean(), z.null()]))
  .refine((paths) => Object.keys(paths).length > 0, "must name at least one path");

const schema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, "must be lower case letters, digits, - and _"),
  program: z.string().min(1),
  install: z.string().optional(),
  versions: z.array(z.string()).default([]),
  args: args.default([]),
  permission: z
    .strictObject({ ask: args.optional(), edit: args.optional(), all: args.optional(), plan: args.optional() })
    .default({}),
  env: z.record(z.string(), z.string()).default({}),
  stdin: z.enum(["prompt", "none"]).default("prompt"),
  json: z.boolean().default(false),
  success: z
    .strictObject({ exit_codes: z.array(z.int().min(0).max(255)).min(1).default([0]), result: match.optional() })
    .default({ exit_codes: [0] }),
  failure: z.strictObject({ result: match, why: path.optional() }).optional(),
  session: path.optional(),
  model: path.optional(),
  text: path.optional(),
  tool: path.optional(),
  cost_usd: path.optional(),
  tokens: z
    .strictObject({
      input: path.optional(),
      output: path.optional(),
      cache_read: path.optional(),
      cache_write: path.optional(),
      /** `total`: the last line that has them tells all. `part`: each line's are added. */
      each: z.enum(["total", "part"]).default("total"),
    })
    .optional(),
});
type Declared = z.output<typeof schema>;

/** Paths and results mean something only in JSON lines. */
const NEED_JSON = ["session", "model", "text", "tool", "cost_usd", "tokens", "failure"] as const;

export function declaredDriver(json: unknown): Driver {
  const parsed = schema.safeParse(json);
  const named = textOf((json as Fields | null | undefined)?.["name"]);
  const where = named === null ? "A declared driver" : `The driver ${JSON.stringify(named)}`;
  if (!parsed.success) throw bad(`${where} is wrong: ${z.prettifyError(parsed.error).replaceAll(/\s*\n\s*/g, " ")}`);
  const declared = parsed.data;
  const needy = NEED_JSON.find((key) => declared[key] !== undefined) ?? (declared.success.result && "success.result");
  if (!declared.json && needy) throw bad(`${where} is wrong: ${needy} needs "json": true.`);
  return {
    name: declared.name,
    program: declared.program,
    install: declared.install ?? null,
    json: declared.json,
    mcp: false,
    knownVersions: declared.versions,
    launch: (request) => launch(declared, request),
    reader: () => reader(declared),
    judge: (ending) => judge(declared, ending),
  };
}

function bad(message: string): MidwatchError {
  return new MidwatchError("BAD_CONFIG", message, { hint: "See docs/drivers.md." });
}

function launch(declared: Declared, request: LaunchRequest): Launch {
  const { name } = declared;
  refuseInteractive(name, request);
  checkNames(request);
  if (request.mcp.length > 0) throw unsupported(name, "takes no MCP servers", "Configure them in the CLI itself.");
  const permission = declared.permission[request.permission];
  if (permission === undefined && request.permission !== "ask") {
    throw unsupported(
      name,
      `declares no permission ${request.permission}`,
      `Add "permission": {"${request.permission}": [...]} to it.`,
    );
  }
  const all = [...declared.args, ...(permission ?? [])];
  for (const key of ["model", "resume"] as const) {
    if (request[key] !== null && !JSON.stringify(all).includes(`{${key}}`)) {
      throw unsupported(
        name,
        `has no place for ${key === "model" ? "a model" : "a session to resume"}`,
        `Add ["--option", "{${key}}"] to its args.`,
      );
    }
  }
  const chosen = request.resume === null ? request.session : null;
  const values: Record<Placeholder, string | null> = {
    model: request.model,
    session: chosen,
    resume: request.resume,
    cwd: request.cwd,
  };
  return {
    argv: [declared.program, ...all.flatMap((entry) => fill(name, entry, values)), ...request.args],
    env: declared.env,
    stdin: declared.stdin === "prompt" ? request.prompt : "",
    files: [],
    session: request.resume ?? (JSON.stringify(all).includes("{session}") ? chosen : null),
  };
}

function fill(name: string, entry: string | string[], values: Record<Placeholder, string | null>): string[] {
  const group = typeof entry === "string" ? [entry] : entry;
  const missing = PLACEHOLDERS.find((key) => values[key] === null && group.some((text) => text.includes(`{${key}}`)));
  if (missing === undefined)
    return group.map((text) => text.replaceAll(/\{(\w+)\}/g, (_, key: Placeholder) => values[key] ?? ""));
  if (typeof entry === "string")
    throw unsupported(name, `needs a value for {${missing}}`, "Give one, or make it a group in the driver's args.");
  return [];
}

function reader(declared: Declared): StreamReader {
  let tokens = NO_TOKENS;
  let cost: number | null = null;
  let answer: string | null = null;
  const read = streamReader((line, result) => {
    const activities: Activity[] = [];
    const get = (where: string | undefined): unknown => (where === undefined ? undefined : at(line, where));
    const session = textOf(get(declared.session));
    const model = textOf(get(declared.model));
    if ((session !== null && session !== result.session) || (model !== null && model !== result.model)) {
      activities.push({ kind: "started", session, model });
    }
    const text = textOf(get(declared.text));
    if (text !== null) activities.push({ kind: "said", text });
    answer = text ?? answer;
    const tool = textOf(get(declared.tool));
    if (tool !== null) activities.push({ kind: "tool", id: null, name: tool, input: line, paths: [] });
    const used = usage(declared, line);
    const spent = numberOf(get(declared.cost_usd));
    const add = declared.tokens?.each === "part";
    if (used !== null) tokens = add ? addTokens(tokens, used) : used;
    if (spent !== null) cost = add ? (cost ?? 0) + spent : spent;
    if (used !== null || spent !== null) activities.push({ kind: "usage", tokens, cost_usd: cost, model });
    const { failure, success } = declared;
    if (failure && matches(line, failure.result)) {
      const why = textOf(get(failure.why)) ?? "it reported an error";
      activities.push({ kind: "finished", ok: false, why, text: answer });
    } else if (success.result && matches(line, success.result)) {
      activities.push({ kind: "finished", ok: true, why: null, text: answer });
    }
    return activities.length > 0 ? activities : [note(line["type"])];
  });
  return declared.json ? read : { ...read, read: (line) => [{ kind: "said", text: lineText(line) }] };
}

function matches(line: Fields, wanted: z.output<typeof match>): boolean {
  return Object.entries(wanted).every(([where, value]) => at(line, where) === value);
}

function usage(declared: Declared, line: Fields): Tokens | null {
  const { input, output, cache_read, cache_write } = declared.tokens ?? {};
  const paths = { input, output, cache_read, cache_write };
  const found = Object.entries(paths).map(([kind, where]) => [kind, where && numberOf(at(line, where))] as const);
  if (!found.some(([, value]) => typeof value === "number")) return null;
  return { ...NO_TOKENS, ...Object.fromEntries(found.map(([kind, value]) => [kind, countOf(value)])) };
}

function judge({ success, failure }: Declared, ending: Ending): Judged {
  const { code } = ending.exit;
  // A declared exit code of success counts as 0; then the result line, when one was declared, must agree.
  const good = code !== null && success.exit_codes.includes(code);
  if (success.result)
    return judgeStream(good ? { ...ending, exit: { code: 0, signal: null } } : code === 0 ? wrongZero(ending) : ending);
  if (failure && ending.result.finished?.ok === false) return judgeStream(ending);
  return judgeExit(ending, success.exit_codes);
}

/** Exit 0 where the driver declares other codes: no result makes that a success. */
function wrongZero(ending: Ending): Ending {
  const finished = ending.result.finished?.ok === false ? ending.result.finished : null;
  return {
    ...ending,
    result: { ...ending.result, finished: finished ?? { ok: false, why: "it exited with 0", text: null } },
  };
}
