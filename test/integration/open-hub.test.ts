// A hub that anybody may use is not joined: whoever may ask a host may run commands there.
import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { ownNetwork } from "../support/nats/lan.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { patient } from "../support/patience.ts";
import { supportFile } from "../support/workspace.ts";

const network = ownNetwork();
if (network === undefined) console.warn("SKIPPED: a network namespace needs root, ip and unshare(1).");

it.skipIf(!hasNats("current") || network === undefined)(
  "`up --join` refuses a hub without keys that other machines reach, and says what to do",
  { timeout: patient(60_000) },
  () => {
    const [program = "", ...args] = [...(network?.via ?? []), process.execPath, supportFile("nats/open-hub-worker.ts")];
    const env = { ...process.env, ...network?.env };
    const { stdout, status } = spawnSync(program, args, { env, encoding: "utf8", timeout: patient(50_000) });
    expect(status).toBe(0);
    expect(stdout).toContain("The hub asks nobody for a key");
    expect(stdout).toContain("midwatch nats init");
    expect(stdout).not.toContain("this is alpha");
  },
);
