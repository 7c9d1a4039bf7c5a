/** A small ext4 in a file, and what of it would be there after a power cut. No vitest in here: the soak uses it too. */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { patient } from "../patience.ts";

const run = (command: string, ...args: string[]): void =>
  void execFileSync(command, args, { stdio: "pipe", timeout: patient(30_000) });

export class LoopDisk {
  readonly path: string;
  readonly #folder: string;
  readonly #mounts: string[] = [];

  /** Throws where there is no loop device or no right to mount. */
  constructor(size = "96M") {
    this.#folder = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-loop-")));
    this.path = join(this.#folder, "disk");
    try {
      run("truncate", "-s", size, this.#image("image"));
      run("mkfs.ext4", "-q", "-F", this.#image("image"));
      this.#mount("image", this.path);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  #image(name: string): string {
    return join(this.#folder, name);
  }

  #mount(image: string, at: string): void {
    mkdirSync(at);
    run("mount", "-o", "loop", this.#image(image), at);
    this.#mounts.push(at);
  }

  /** What has reached the device so far, as another mounted disk: the rest was only in memory. */
  cut(): string {
    copyFileSync(this.#image("image"), this.#image("after"));
    const at = join(this.#folder, "disk-after");
    this.#mount("after", at);
    return at;
  }

  end(): void {
    for (const at of this.#mounts) spawnSync("umount", ["-l", at], { timeout: patient(30_000) });
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/** Why there can be no such disk here; undefined when there can. */
export function noLoopDisk(): string | undefined {
  if (process.getuid?.() !== 0) return "mounting needs root";
  try {
    new LoopDisk("8M").end();
    return undefined;
  } catch (error) {
    return `no loop device or mkfs.ext4 here: ${error instanceof Error ? error.message.split("\n")[0] : error}`;
  }
}
