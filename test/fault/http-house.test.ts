import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ask, bearer, startUp, tokenOf } from "../support/http.ts";
import { lab } from "../support/lab.ts";
import { until } from "../support/workspace.ts";

it("when the house cannot be kept the server goes on, and the house is kept again when it can be", async () => {
  const here = lab();
  const up = await startUp(here, "--port", "0", "--leader-ttl", "1s");
  let rounds = "";
  up.child.stdout?.on("data", (part) => (rounds += part));
  const leases = join(here.root, "leases");
  await until(() => /"term":\d/.test(rounds));
  const term = Number(/"term":(\d+)/.exec(rounds)?.[1]);
  renameSync(leases, `${leases}.aside`);
  writeFileSync(leases, "in its way");
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect((await ask(up.url, "/api/ls", { headers: bearer(tokenOf(here)) })).status).toBe(200);
  expect(up.child.exitCode).toBeNull();
  rmSync(leases);
  renameSync(`${leases}.aside`, leases);
  // That it had failed shows in what comes now: it leads anew.
  await until(() => [...rounds.matchAll(/"term":(\d+)/g)].some(([, found]) => Number(found) > term), 30_000);
});
