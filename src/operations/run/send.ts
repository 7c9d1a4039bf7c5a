import { maskText, maskValue } from "../../core/mask/mask.ts";
import { oneLine } from "../../core/text/one-line.ts";
import type { Message } from "../../core/types.ts";
import { agentRef, duration } from "../fields.ts";
import { type Operation, operation, usage, workspaceOf, z } from "../operation.ts";
import { age, table } from "../render.ts";
import { readInput } from "../text-input.ts";

/** Where a message is refused for its length in characters, none of them is lost before. */
const MESSAGE_BYTES = 4 << 20;
const WAIT_MS = 60_000;
const SHOWN = 60;

export const send: Operation = operation({
  name: "send",
  summary: "Send a message to an agent, and see what becomes of it",
  details:
    "An agent started with --interactive gets it as its next input, in the order of acceptance, once and whole. For others it is kept: the next `midwatch restart ID --resume` gives it to the session. accepted: it is on disk; injected: handed to the agent; consumed: the agent has read it, or its stream says that it took it up. An agent may send to agents of its own task.",
  positionals: ["agent", "text"],
  input: z.strictObject({
    agent: agentRef(),
    text: z.string().describe("The message; `-` reads it from the input").meta({ value: "TEXT" }).optional(),
    wait: z.boolean().describe("Wait until it is consumed; exit 1 if that does not come to be").default(false),
    timeout: duration("With --wait: give up after this time (60s)").optional(),
    close: z
      .boolean()
      .describe("Then end its input: the agent reads what was sent, and that nothing more will come")
      .default(false),
  }),
  changes: true,
  examples: [
    'midwatch send fix-1 "the tests moved to test/unit"',
    'midwatch send --wait fix-1 "stop after this one"',
    "midwatch send fix-1 - < review.md",
    "midwatch send --close filter-1",
  ],
  run: async (context, { agent, text, wait, timeout, close }) => {
    const workspace = workspaceOf(context);
    if (text === undefined) {
      if (!close) throw usage("There is no message.", 'midwatch send ID "text"');
      return { agent: await workspace.mail.close(agent), closed: true as const };
    }
    const message = await workspace.mail.send(
      agent,
      text === "-" && context.door === "cli" ? await readInput(context, text, "The message", MESSAGE_BYTES) : text,
    );
    if (close) await workspace.mail.close(agent);
    const timeoutMs = timeout ?? WAIT_MS;
    const last = wait ? await workspace.mail.delivered(message, { timeoutMs, signal: context.signal }) : message;
    return { ...last, text: maskText(last.text), waited: wait };
  },
  render: (sent) =>
    "closed" in sent
      ? `${sent.agent}  its input ends`
      : `${sent.agent}  ${sent.state}${sent.why ? `: ${sent.why}` : ""}`,
  next: (sent) =>
    "closed" in sent
      ? `midwatch wait ${sent.agent}`
      : sent.state === "consumed"
        ? `midwatch logs -f ${sent.agent}`
        : `midwatch messages ${sent.agent}`,
  exitCode: (sent) => ("closed" in sent || !sent.waited || sent.state === "consumed" ? 0 : 1),
});

export const messages: Operation = operation({
  name: "messages",
  summary: "List the messages to an agent, with what became of each",
  details:
    "What is accepted and was taken up by no run goes into the prompt of the next `midwatch restart ID --resume`. failed: it may have arrived in part, and is not sent again.",
  positionals: ["agent"],
  input: z.strictObject({ agent: agentRef().optional() }),
  changes: false,
  examples: ["midwatch messages fix-1", "midwatch messages --json fix-1 | jq .state"],
  run: async (context, { agent }) => {
    const all = await workspaceOf(context).mail.list(agent);
    return all.map((message) => maskValue(message) as Message);
  },
  render: (all, options) =>
    all.length === 0
      ? "No messages."
      : table(
          [
            ["STATE", "AGE", "FROM", "RUN", "TEXT"],
            ...all.map(({ state, at, from, run, taken_by, text }) => [
              taken_by === null ? state : `${state} by run ${taken_by}`,
              age(at),
              from,
              String(run),
              oneLine(text, SHOWN),
            ]),
          ],
          options,
        ),
  next: ([first]) => (first === undefined ? undefined : `midwatch logs -f ${first.agent}`),
});
