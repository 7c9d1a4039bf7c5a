import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { alone } from "./alone.ts";

const name = (): string => `test ${process.pid} ${Math.random()}`;

it("lets one in at a time, and the next when it has ended or thrown", async () => {
  const lock = name();
  let inside = 0;
  let most = 0;
  const turn = async (i: number): Promise<number> => {
    most = Math.max(most, ++inside);
    await sleep(2);
    inside--;
    if (i === 3) throw new Error("three");
    return i;
  };
  const turns = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => alone(lock, () => turn(i))));
  expect(most).toBe(1);
  expect(turns.filter(({ status }) => status === "fulfilled")).toHaveLength(9);
});

it("is given up with its holder, also by kill -9", async () => {
  const lock = name();
  const script = `import { alone } from ${JSON.stringify(new URL("./alone.ts", import.meta.url).href)};
    await alone(${JSON.stringify(lock)}, () => { console.log("held"); return new Promise((r) => setTimeout(r, 60000)); });`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(holder.stdout, "data");
  let entered = false;
  const waiting = alone(lock, () => {
    entered = true;
  });
  await sleep(50);
  expect(entered).toBe(false);
  holder.kill("SIGKILL");
  await waiting;
  expect(entered).toBe(true);
});
