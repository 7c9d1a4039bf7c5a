import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Changes } from "./changes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("looks once a second for all who listen, also when one comes in the middle of a look that nobody waits for any more", async () => {
  let looks = 0;
  let answer: (versions: Map<string, string>) => void = () => undefined;
  const changes = new Changes(() => {
    looks++;
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  const leave = changes.subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(1);
  const first = answer; // Under way.
  leave();
  const heard: unknown[] = [];
  const end = changes.subscribe((event) => heard.push(event));
  await vi.advanceTimersByTimeAsync(1);
  first(new Map([["a", "0"]]));
  for (let second = 1; second <= 5; second++) {
    answer(new Map([["a", String(second)]]));
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(looks).toBe(1 + 1 + 5);
  expect(heard).toHaveLength(4); // What the first look found is where it began.
  leave(); // A second time: it ends nobody else's.
  answer(new Map([["a", "6"]]));
  await vi.advanceTimersByTimeAsync(1000);
  expect(heard).toHaveLength(5);
  end();
  await vi.advanceTimersByTimeAsync(5000);
  expect(looks).toBe(8);
});
