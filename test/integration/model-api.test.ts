import { expect, it, onTestFinished } from "vitest";
import { type Fault, NO_TOKENS, type Scenario, usageOf } from "../support/model/model-api/scenario.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { patient } from "../support/patience.ts";

const SCRIPT: Scenario = {
  steps: [{ say: "I run it, and it will take a while.", call: { bash: "make test" } }, { say: "It passed." }],
};

async function playing(scenario: Scenario): Promise<{ api: ModelApi; url: string }> {
  const api = await ModelApi.start();
  onTestFinished(() => api.close());
  return { api, url: api.play("one", scenario) };
}

function post(url: string, body: object, signal = AbortSignal.timeout(patient(10_000))): Promise<Response> {
  return fetch(url, { method: "POST", body: JSON.stringify(body), signal });
}

type Body = Readonly<Record<string, unknown>>;

/** The first request of a conversation and the one with the tool's result, as each client sends them. */
const CLIENTS: readonly [dialect: string, path: string, first: Body, second: Body, wholePath?: string][] = [
  [
    "anthropic",
    "/v1/messages",
    { model: "m", tools: [{ name: "Bash" }], messages: [{ role: "user", content: "go" }] },
    {
      model: "m",
      tools: [{ name: "Bash" }],
      messages: [
        { role: "user", content: "go" },
        { role: "assistant", content: [{ type: "tool_use" }] },
        {
          role: "user",
          content: [{ type: "tool_result" }, { type: "text", text: "<system-reminder>be good</system-reminder>" }],
        },
      ],
    },
  ],
  [
    "responses",
    "/v1/responses",
    { model: "m", tools: [{ type: "function", name: "exec_command" }], input: [{ role: "user" }] },
    {
      model: "m",
      tools: [{ type: "function", name: "exec_command" }],
      input: [{ role: "user" }, { type: "function_call" }, { type: "function_call_output" }],
    },
  ],
  [
    "chat",
    "/v1/chat/completions",
    { model: "m", tools: [{ function: { name: "bash" } }], messages: [{ role: "user" }] },
    {
      model: "m",
      tools: [{ function: { name: "bash" } }],
      messages: [{ role: "user" }, { role: "assistant" }, { role: "tool" }],
    },
  ],
  [
    "gemini",
    "/v1beta/models/m:streamGenerateContent",
    { tools: [{ functionDeclarations: [{ name: "run_shell_command" }] }], contents: [{ role: "user", parts: [{}] }] },
    {
      tools: [{ functionDeclarations: [{ name: "run_shell_command" }] }],
      contents: [
        { role: "user", parts: [{}] },
        { role: "model", parts: [{ functionCall: {} }] },
        { role: "user", parts: [{ functionResponse: {} }] },
      ],
    },
    "/v1beta/models/m:generateContent",
  ],
];

it.each(CLIENTS)(
  "%s: each step follows from the conversation, streamed or whole",
  async (_, path, first, second, wholePath) => {
    const { api, url } = await playing(SCRIPT);
    const streamed = async (body: object): Promise<string> =>
      (await post(url + path, { ...body, stream: true })).text();
    const whole = async (body: object): Promise<string> => (await post(url + (wholePath ?? path), body)).text();
    for (const ask of [streamed, whole]) {
      const call = await ask(first);
      expect(call).toMatch(/Bash|bash|exec_command|run_shell_command/);
      expect(call).toContain(String(usageOf(0, false).output));
      const end = await ask(second);
      expect(end).toContain("It passed");
      expect(end).toContain(String(usageOf(1, false).output));
    }
    expect(api.steps("one").map(({ step }) => step)).toEqual([0, 1, 0, 1]);
    expect(api.usage("one")).toMatchObject({ input: 4020, output: 402, cache_read: 200 });
    expect(api.requests[0]).toMatchObject({ method: "POST", path, body: JSON.stringify({ ...first, stream: true }) });
  },
);

it.each(CLIENTS)("%s: a new prompt in an old conversation begins the script again", async (_, path, first, second) => {
  const { api, url } = await playing(SCRIPT);
  await post(url + path, { ...merged(second, first), stream: true });
  expect(api.steps("one").map(({ step }) => step)).toEqual([0]);
});

/** The messages of both, in order, however the dialect calls them. */
function merged(before: Body, after: Body): object {
  const behind = (key: string): unknown[] => (key === "tools" ? [] : [after[key]].flat());
  return Object.fromEntries(
    Object.entries(before).map(([key, value]) => [key, Array.isArray(value) ? [...value, ...behind(key)] : value]),
  );
}

const [, , ASK] = CLIENTS[0] as (typeof CLIENTS)[number];
const ask = (url: string, signal?: AbortSignal): Promise<Response> =>
  post(`${url}/v1/messages`, { ...ASK, stream: true }, signal);

it("faults strike in their order, as often as they say, and cost nothing", async () => {
  const faults: Fault[] = [
    { kind: "status", status: 429, headers: { "retry-after": "3" }, times: 2 },
    { kind: "status", status: 529, message: "Too much to do", times: 1 },
  ];
  const { api, url } = await playing({ ...SCRIPT, faults });
  const limited = [await ask(url), await ask(url)];
  expect(limited.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual([
    [429, "3"],
    [429, "3"],
  ]);
  expect(await (await ask(url)).json()).toMatchObject({
    error: { type: "overloaded_error", message: "Too much to do" },
  });
  expect(api.usage("one")).toEqual(NO_TOKENS);
  expect((await ask(url)).status).toBe(200);
  expect(api.requests.map(({ fault }) => fault)).toEqual(["status", "status", "status", null]);
});

it("a slow answer comes in parts", async () => {
  const { url } = await playing({ ...SCRIPT, chunkMs: 50 });
  const parts: string[] = [];
  for await (const part of (await ask(url)).body ?? []) parts.push(Buffer.from(part).toString());
  expect(parts.length).toBeGreaterThan(2);
  expect(parts[0]).not.toContain("message_stop");
  expect(parts.join("")).toContain("message_stop");
});

it("it can fall silent before and within an answer, and break off", async () => {
  const { api, url } = await playing({
    ...SCRIPT,
    faults: [{ kind: "silent", times: 1 }, { kind: "stall", times: 1 }, { kind: "cut" }],
  });
  await expect(ask(url, AbortSignal.timeout(200))).rejects.toThrow("aborted");
  const ending = new AbortController();
  const stalled = await ask(url, ending.signal);
  const parts: string[] = [];
  const reading = async (): Promise<void> => {
    for await (const part of stalled.body ?? []) {
      parts.push(Buffer.from(part).toString());
      if (parts.join("").includes("I run it")) setTimeout(() => ending.abort(), 200); // What would come now has time to.
    }
  };
  await expect(reading()).rejects.toThrow("aborted");
  expect(parts.join("")).toContain("I run it");
  expect(parts.join("")).not.toContain("message_stop");
  await expect((await ask(url)).text()).rejects.toThrow("terminated");
  expect(api.usage("one")).toEqual(NO_TOKENS);
});
