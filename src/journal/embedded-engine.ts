/** The engine of one machine: events.log and files of registers beside it. */
import type { Layout } from "../disk/layout.ts";
import { EmbeddedLog } from "./embedded.ts";
import type { Engine, Register } from "./engine.ts";
import { FileRegisters, type RegisterStep } from "./registers.ts";

export class EmbeddedEngine extends EmbeddedLog implements Engine {
  readonly #registers: FileRegisters;

  constructor(layout: Layout, onStep?: (step: RegisterStep, key: string) => void) {
    super(layout.events);
    this.#registers = new FileRegisters(layout, onStep);
  }

  get<T>(key: string): Promise<Register<T> | undefined> {
    return this.#registers.get(key);
  }

  set(key: string, value: unknown, rev: number): Promise<number | undefined> {
    return this.#registers.set(key, value, rev);
  }

  keys(prefix: string): Promise<string[]> {
    return this.#registers.keys(prefix);
  }
}
