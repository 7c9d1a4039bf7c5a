import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { age, paint, table } from "../render.ts";

const test = operation({
  name: "alert test",
  summary: "Send a test message on a route, at once",
  details:
    "Exit 1 when it does not arrive. A message that arrives switches a route on again that its receiver had closed (410).",
  positionals: ["route"],
  input: z.strictObject({
    route: z.string().min(1).describe("A route of `alerts` in midwatch.config.json").meta({ value: "ROUTE" }),
  }),
  changes: true,
  examples: ["midwatch alert test ops"],
  async run(context, { route }) {
    using workspace = workspaceOf(context);
    const terminal = context.terminal && !context.json;
    return await workspace.alerts.test(route, {
      terminal,
      tell: (text) => context.notice(text),
      signal: context.signal,
    });
  },
  render: ({ route, delivered, took_ms, error }) =>
    delivered ? `A message arrived at ${route} in ${took_ms} ms.` : `No message arrived at ${route}: ${error}.`,
  next: () => "midwatch alert status",
  exitCode: ({ delivered }) => (delivered ? 0 : 1),
});

const STATES = { ok: "green", failing: "red", off: "red", unused: "dim" } as const;

const status = operation({
  name: "alert status",
  summary: "Tell how each route for alerts fares: what waits, what arrived, what was given up",
  input: z.strictObject({}),
  changes: false,
  examples: ["midwatch alert status", "midwatch alert status --json"],
  async run(context) {
    using workspace = workspaceOf(context);
    return await workspace.alerts.status();
  },
  render: (routes, options) =>
    routes.length === 0
      ? "No routes in midwatch.config.json (docs/alerts.md)."
      : table([
          ["ROUTE", "TO", "STATE", "WAITING", "ARRIVED", "GIVEN UP", "LAST", "ERROR"],
          ...routes.map((one) => [
            one.route,
            one.to,
            paint(one.state, STATES[one.state], options),
            String(one.waiting),
            String(one.delivered),
            String(one.dead),
            age(one.last_delivered_at),
            one.error ?? "",
          ]),
        ]),
  next: ([first]) => (first === undefined ? undefined : `midwatch alert test ${first.route}`),
});

export const alert: readonly Operation[] = [test, status];
