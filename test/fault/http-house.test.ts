import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { lab } from "../support/lab.ts";
import { ask, bearer, startUp, tokenOf } from "../support/net/http.ts";
import { until } from "../support/workspace.ts";

it("when the house cannot be kept the server goes on, and the house is kept again when it can be", async () => {
  const here = lab();
  const up = await startUp(here, "--port", "0", "--leader-ttl", "1s");
  let rounds = "";
  up.child.stdout?.on("data", (part) => (rounds += part));
  const leases = join(here.root, "leases");
  await until(() => /"term":\d/.test(rounds));
  const term = Number(/"term":(\d+)/.exec(rounds)?.[1]);
  // That it has failed shows afterwards: it leads anew. A server that got no turn meanwhile has noticed nothing, and is tried for longer.
  const leadsAnew = (): boolean => [...rounds.matchAll(/"term":(\d+)/g)].some(([, found]) => Number(found) > term);
  for (let brokenMs = 1500; !leadsAnew() && brokenMs < 60_000; brokenMs *= 2) {
    renameSync(leases, `${leases}.aside`);
    writeFileSync(leases, "in its way");
    await sleep(brokenMs);
    expect((await ask(up.url, "/api/ls", { headers: bearer(tokenOf(here)) })).status).toBe(200);
    expect(up.child.exitCode).toBeNull();
    rmSync(leases);
    renameSync(`${leases}.aside`, leases);
    await until(leadsAnew, 5000).catch(() => undefined);
  }
  expect(leadsAnew()).toBe(true);
});
