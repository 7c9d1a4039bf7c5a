import { describe, expect, it } from "vitest";
import { riskOf, unitOf } from "./unit.ts";

describe("the unit of a process", () => {
  it.each([
    [
      "0::/user.slice/user-1000.slice/user@1000.service/app.slice/midwatch-x.service\n",
      { name: "midwatch-x.service", user: true },
    ],
    [
      "0::/user.slice/user-1000.slice/user@1000.service/app.slice/fleet.service/mgr\n",
      { name: "fleet.service", user: true },
    ],
    ["0::/system.slice/ci-runner.service\n", { name: "ci-runner.service", user: false }],
    ["0::/user.slice/user-1000.slice/session-3.scope\n", { name: "session-3.scope", user: false }],
    ["4:memory:/x\n1:name=systemd:/system.slice/cron.service\n0::/\n", { name: "cron.service", user: false }],
    ["0::/\n", undefined],
    ["0::/docker/abc\n", undefined],
  ])("%j", (text, unit) => {
    expect(unitOf(text)).toEqual(unit);
  });

  it("is a risk when its end takes the keepers along", () => {
    const service = { name: "up.service", user: true };
    expect(riskOf(service, () => "control-group")).toMatch(/KillMode=control-group/);
    expect(riskOf(service, () => "mixed")).toMatch(/KillMode=mixed/);
    expect(riskOf(service, () => "process")).toBeUndefined();
    expect(riskOf(service, () => undefined)).toBeUndefined();
    expect(riskOf({ name: "run-u42.scope", user: true }, () => "control-group")).toMatch(/systemd-run/);
    expect(riskOf({ name: "session-3.scope", user: false }, () => "control-group")).toBeUndefined();
  });
});
