import { expect, it } from "vitest";
import { makeEvent } from "../journal/event.ts";
import { type Rule, routesFor, severityOf } from "./rules.ts";

const event = (type: string, data?: unknown) =>
  makeEvent({ interaction: 0, actor: "midwatch", type, content: "x", data });

it.each([
  ["error", undefined, "error"],
  ["note", undefined, "info"],
  ["note", { severity: "critical" }, "critical"],
  ["finding", { severity: "high" }, "error"],
  ["finding", { severity: "medium" }, "warning"],
  ["agent.ended", { outcome: "completed" }, "info"],
  ["agent.ended", { outcome: "stopped" }, "info"],
  ["agent.ended", { outcome: "limit" }, "warning"],
  ["agent.ended", { outcome: "failed" }, "error"],
  ["agent.ended", { outcome: "lost" }, "error"],
  ["agent.ended", { outcome: null }, "error"],
  ["agent.limit", {}, "warning"],
  ["agent.restored", {}, "error"],
  ["agent.cut", {}, "error"],
  ["cleanup.failed", null, "warning"],
  ["verdict.changed", { verdict: "blocked", level: "alert" }, "error"],
  ["verdict.changed", { verdict: "drifting", level: "watch" }, "warning"],
  ["verdict.changed", { verdict: "on_track", level: "none" }, "info"],
])("%s %j is %s", (type, data, severity) => expect(severityOf(event(type, data))).toBe(severity));

it("R-003.22: rules lead to routes by type, severity, verdict and outcome; all that is given has to fit", () => {
  const rules: Rule[] = [
    { type: ["error"], routes: ["errors"] },
    { type: ["agent.*"], routes: ["agents"] },
    { severity: "error", routes: ["bad"] },
    { type: ["agent.ended"], outcome: ["completed", "unknown"], routes: ["ended"] },
    { verdict: ["blocked", "off_track"], severity: "error", routes: ["stuck"] },
    { routes: ["all"] },
  ];
  const routes = (type: string, data?: unknown): string[] => [...routesFor(event(type, data), rules)].sort();
  expect(routes("error")).toEqual(["all", "bad", "errors"]);
  expect(routes("note")).toEqual(["all"]);
  expect(routes("agent.ended", { outcome: "completed" })).toEqual(["agents", "all", "ended"]);
  expect(routes("agent.ended", { outcome: null })).toEqual(["agents", "all", "bad", "ended"]);
  expect(routes("verdict.changed", { verdict: "blocked", level: "alert" })).toEqual(["all", "bad", "stuck"]);
  expect(routes("verdict.changed", { verdict: "blocked", level: "watch" })).toEqual(["all"]);
});
