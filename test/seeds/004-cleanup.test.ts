// Seed 004: its tests 6 and 7 with the defaults; the others are in test/integration/seed-004.test.ts, in its order.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { lab } from "../support/lab.ts";
import { stdioClient } from "../support/mcp/mcp-client.ts";
import { text, until } from "../support/workspace.ts";

it("R-004.5, R-004.24, R-004.27: 6 update_agent_progress(status='completed'): its processes end, its prompt goes and its log is archived, and nobody asked for it", async () => {
  const at = lab({ done_silence: "1s" });
  const { call } = await stdioClient(at, "modern");
  const command = ["sh", "-c", "echo done; exec sleep 300"];
  const { data } = await call("deploy_headless_agent", { driver: "command", command });
  expect(data).toMatchObject({ success: true });
  const { agent_id, task_id, log_file } = data as Record<string, string>;
  await until(() => text(log_file ?? "") !== "");
  await call("update_agent_progress", { agent_id, status: "completed", message: "all done", progress: 100 });
  const prompt = join(at.root, task_id ?? "", `agent_prompt_${agent_id}.txt`);
  const loop = at.workspace.up.loop();
  await until(async () => {
    await loop.round();
    return (await at.workspace.runs.show(agent_id)).outcome !== null;
  });
  expect(existsSync(prompt)).toBe(false);
  expect(at.survivors()).toEqual([]);
  await until(() => !existsSync(log_file ?? ""));
  expect((await at.raw(agent_id ?? "")).toString()).toBe("done\n");
});

it("R-004.9, R-004.24: 7 among 1,000 other processes a stop with its cleanup is over in less than 2 s", async () => {
  const at = lab();
  const record = await at.sh("sleep 300 & echo ready; wait");
  await until(() => text(record.log) !== "");
  const script = "i=0; while [ $i -lt 1000 ]; do sleep 120 & i=$((i+1)); done; echo up; wait";
  const others = spawn("sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    const gone = once(others, "exit");
    process.kill(-(others.pid ?? 0), "SIGKILL"); // Its own group: exactly what was started here.
    await gone;
  });
  await once(others.stdout, "data");
  const begun = performance.now();
  const [report] = await at.workspace.runs.stop([record.agent]);
  const elapsed = performance.now() - begun;
  expect(report).toMatchObject({ verified: true, left: [] });
  expect(text(`/proc/${others.pid}/task/${others.pid}/children`).trim().split(" ")).toHaveLength(1000);
  expect(elapsed).toBeLessThan(2000);
});
