/**
 * A model API on loopback, so that real agent CLIs run in tests without a key and without a network: Anthropic Messages, OpenAI
 * Responses and Chat Completions, Gemini. It plays a scenario, named in the base URL: `http://127.0.0.1:PORT/s/NAME/...`.
 * What it answers follows from the conversation in the request alone, so retries, resumed sessions and any number of agents
 * work; only the faults are counted.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tokens } from "../../../../src/core/types.ts";
import { anthropic } from "./anthropic.ts";
import { chat } from "./chat.ts";
import { type Answer, type Conversation, type Dialect, pieces } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { responses } from "./responses.ts";
import { add, type Fault, NO_TOKENS, type Scenario, usageOf } from "./scenario.ts";
import { toolFor } from "./tools.ts";

export interface ModelRequest {
  scenario: string;
  method: string;
  path: string;
  bytes: number;
  body: string;
  /** Null: it asks for no answer of the model, or asks without tools (for a title, say). */
  step: number | null;
  fault: Fault["kind"] | null;
  /** What the answer was said to cost; null until all of it is sent. */
  sent: Tokens | null;
}

interface Playing {
  scenario: Scenario;
  /** How often each fault has struck since the scenario began. */
  struck: Map<Fault, number>;
}

const DIALECTS: readonly Dialect[] = [anthropic, responses, chat, gemini];

export class ModelApi {
  readonly requests: ModelRequest[] = [];
  readonly #scenarios = new Map<string, Playing>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error) => {
        // A client that goes away in the middle is no fault of the test's; a request that we cannot read is ours.
        if (response.headersSent || response.destroyed) response.destroy();
        else json(response, 500, { error: { message: `The scripted model: ${error}` } });
      });
    });
  }

  static async start(): Promise<ModelApi> {
    const api = new ModelApi();
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  /** Lets the model play this scenario; returns the base URL for it. */
  play(name: string, scenario: Scenario): string {
    this.#scenarios.set(name, { scenario, struck: new Map() });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/s/${name}`;
  }

  /** Requests of one scenario that asked the model for its next step. */
  steps(name: string): ModelRequest[] {
    return this.requests.filter(({ scenario, step }) => scenario === name && step !== null);
  }

  /** What all answers that were sent whole are said to have cost. */
  usage(name: string): Tokens {
    return this.requests
      .filter(({ scenario }) => scenario === name)
      .reduce((sum, { sent }) => (sent === null ? sum : add(sum, sent)), NO_TOKENS);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "", "http://127.0.0.1");
    const [, name = "", path = pathname] = /^\/s\/([^/]+)(.*)$/.exec(pathname) ?? [];
    const method = request.method ?? "";
    const body = (await buffer(request)).toString();
    const bytes = Buffer.byteLength(body);
    const noted: ModelRequest = { scenario: name, method, path, bytes, body, step: null, fault: null, sent: null };
    this.requests.push(noted);
    const dialect = method === "POST" ? DIALECTS.find((one) => one.path.test(path)) : undefined;
    const playing = this.#scenarios.get(name);
    if (dialect && playing) await answer(dialect, playing, noted, response);
    else json(response, ...besides(method, path, bytes));
  }
}

async function answer(
  dialect: Dialect,
  { scenario, struck }: Playing,
  noted: ModelRequest,
  response: ServerResponse,
): Promise<void> {
  const conversation = dialect.read(JSON.parse(noted.body), noted.path);
  const isSide = conversation.tools.length === 0 && scenario.aside === undefined;
  noted.step = isSide ? null : conversation.step;
  const fault = isSide ? undefined : strike(scenario, struck);
  noted.fault = fault?.kind ?? null;
  if (fault?.kind === "silent") return;
  if (fault?.kind === "status") {
    const { status, message = `scripted answer ${status}`, code, headers } = fault;
    return json(response, status, dialect.failure(status, message, code), headers);
  }
  const given = isSide ? title(conversation) : answerOf(scenario, conversation, dialect);
  const parts = conversation.stream ? dialect.stream(given) : pieces(JSON.stringify(dialect.whole(given)));
  if (!isSide && scenario.thinkMs) await sleep(scenario.thinkMs);
  response.writeHead(200, { "content-type": conversation.stream ? "text/event-stream" : "application/json" });
  if (await send(response, parts, scenario.chunkMs ?? 0, fault)) noted.sent = given.usage;
}

function strike({ faults = [] }: Scenario, struck: Playing["struck"]): Fault | undefined {
  const fault = faults.find((one) => (struck.get(one) ?? 0) < (one.times ?? Number.POSITIVE_INFINITY));
  if (fault) struck.set(fault, (struck.get(fault) ?? 0) + 1);
  return fault;
}

function answerOf({ steps, aside }: Scenario, { model, step, tools }: Conversation, dialect: Dialect): Answer {
  if (tools.length === 0 && aside !== undefined)
    return { model, think: "", say: aside, call: null, usage: usageOf(step, dialect.cacheWrites) };
  const { think = "", say = "", call } = steps[Math.min(step, steps.length - 1)] ?? {};
  const use = call === undefined ? null : toolFor(call, tools);
  const missing = call !== undefined && use === null;
  const offer = missing
    ? ` No tool for ${JSON.stringify(call)} among ${tools.map(({ name }) => name).join(", ")}.`
    : "";
  return { model, think, say: say + offer, call: use, usage: usageOf(step, dialect.cacheWrites) };
}

function title({ model }: Conversation): Answer {
  return { model, think: "", say: "A scripted title", call: null, usage: NO_TOKENS };
}

/** True when all of it was sent. */
async function send(
  response: ServerResponse,
  parts: readonly string[],
  chunkMs: number,
  fault?: Fault,
): Promise<boolean> {
  for (const part of fault ? parts.slice(0, Math.ceil(parts.length / 2)) : parts) {
    if (chunkMs > 0) await sleep(chunkMs);
    if (!response.write(part)) await once(response, "drain");
  }
  if (fault === undefined) response.end();
  // What was written reaches the client first: a reset at once may throw it away.
  if (fault?.kind === "cut") setTimeout(() => response.destroy(), 20);
  return fault === undefined;
}

/** What clients ask for besides answers: is it there, which models, how many tokens would this be. */
function besides(method: string, path: string, bytes: number): [status: number, value: unknown] {
  if (method === "HEAD") return [200, {}];
  if (/\/count_tokens$/.test(path)) return [200, { input_tokens: Math.ceil(bytes / 4) }];
  if (/:countTokens$/.test(path)) return [200, { totalTokens: Math.ceil(bytes / 4) }];
  return [404, { error: { message: `The scripted model has no ${method} ${path}` } }];
}

function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}
