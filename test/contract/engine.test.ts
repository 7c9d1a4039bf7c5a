import { onTestFinished } from "vitest";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../src/journal/embedded-engine.ts";
import { MemoryEngine, MemoryStore } from "../support/data/memory-engine.ts";
import { folder } from "../support/folder.ts";
import { engineContract } from "./engine.ts";

engineContract("memory", () => {
  const store = new MemoryStore();
  return { engine: new MemoryEngine(store), another: () => new MemoryEngine(store) };
});

engineContract("embedded", () => {
  const root = layout(folder());
  const another = (): EmbeddedEngine => {
    const engine = new EmbeddedEngine(root);
    onTestFinished(() => engine.close());
    return engine;
  };
  return { engine: another(), another };
});
