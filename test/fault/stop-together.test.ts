/** Several agents in one stop: what fails for one of them costs no other its receipt, and nothing is tried without pause. */
import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Report } from "../../src/core/types.ts";
import { keeperBinary } from "../../src/process/keeper-binary.ts";
import { keeperOf, kill9 } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { CLI, type Ended, ended, type Lab, text, until } from "../support/workspace.ts";

/** `midwatch ARGS` with a keeper that fails for one verb and notes each try in the file `tries`. */
function cliWithout(at: Lab, verb: string, ...args: string[]): Promise<Ended> {
  const fails = `echo '{"error":{"code":"EIO","message":"the run cannot be taken over"}}'; exit 5`;
  const keeper = join(at.folder, `keeper-without-${verb}`);
  const script = `#!/bin/sh\n[ "$1" = ${verb} ] && { echo x >>"${at.folder}/tries"; ${fails}; }\nexec "${keeperBinary().path}" "$@"\n`;
  writeFileSync(keeper, script, { mode: 0o755 });
  const env = { ...process.env, MIDWATCH_KEEPER: keeper };
  const stdio = ["ignore", "pipe", "pipe"] as const;
  return ended(at.watch(spawn(process.execPath, [CLI, "--workspace", at.root, ...args], { env, stdio: [...stdio] })));
}

it("R-004.8: an agent that cannot be looked for costs the others neither their stop nor their receipt", async () => {
  const at = lab();
  const stubborn = await at.sh('trap "" INT TERM; echo ready; while :; do sleep 0.05; done');
  const forgotten = await at.sh("exec sleep 300");
  await until(() => text(stubborn.log) !== "");
  await kill9(keeperOf(at, forgotten));
  rmSync(at.runDir(forgotten), { recursive: true });

  const asked = ["stop", "--json", "--grace", "500ms", stubborn.agent, forgotten.agent];
  const { code, stdout, stderr } = await cliWithout(at, "scan", ...asked);
  const reports = stdout
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Report);
  expect({ code, stderr, agents: reports.map(({ agent }) => agent) }).toEqual({
    code: 1,
    stderr: "",
    agents: [stubborn.agent, forgotten.agent],
  });
  const unproven = { verified: false, left: [{ why: expect.stringContaining("could not be looked for") }] };
  expect(reports).toMatchObject([{ ...unproven, exit: { code: null, signal: "SIGKILL" } }, unproven]);
  const alone = await cliWithout(at, "scan", "stop", "--json", forgotten.agent);
  expect(JSON.parse(alone.stderr)).toMatchObject({ error: { code: "KEEPER_FAILED" } });

  // The one with a keeper was ended all the same; the proof is had as soon as somebody can look.
  const [again] = await at.workspace.runs.stop([stubborn.agent]);
  expect(again).toMatchObject({ verified: true, already_stopped: true, left: [] });
});

it("R-004.8: a keeper that cannot be replaced is tried again at growing intervals", async () => {
  const at = lab();
  const record = await at.sh("exec sleep 300");
  await kill9(keeperOf(at, record));
  const { code, stdout } = await cliWithout(at, "adopt", "stop", "--json", "--grace", "0", record.agent);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ verified: false });
  const tries = text(join(at.folder, "tries")).split("\n").length - 1;
  expect(tries).toBeGreaterThan(1);
  expect(tries).toBeLessThan(12);
});
