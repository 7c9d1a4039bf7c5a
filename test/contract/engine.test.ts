import { MemoryEngine, MemoryStore } from "../support/memory-engine.ts";
import { engineContract } from "./engine.ts";

engineContract("memory", () => {
  const store = new MemoryStore();
  return { engine: new MemoryEngine(store), another: () => new MemoryEngine(store) };
});
