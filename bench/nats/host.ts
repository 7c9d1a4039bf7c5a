/** A workspace that has joined a hub: `midwatch up --join` in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openWorkspace, type Workspace } from "../../src/fleet/workspace.ts";
import { FleetLink } from "../../src/nats/link.ts";
import { ended } from "../support/process.ts";

const CLI = fileURLToPath(new URL("../../src/doors/cli/midwatch.ts", import.meta.url));
const JOIN_MS = 30_000;
const END_MS = 10_000;

export const HOST = "alpha";
const FLEET = "fleet";

export class JoinedHost implements AsyncDisposable {
  readonly workspace: Workspace;
  /** As a person elsewhere has it. */
  readonly fleet: FleetLink;
  readonly #child: ChildProcess;
  readonly #end: Promise<number>;

  private constructor(workspace: Workspace, fleet: FleetLink, child: ChildProcess) {
    this.workspace = workspace;
    this.fleet = fleet;
    this.#child = child;
    this.#end = ended(child);
  }

  /** Its workspace may hold agents already: `prepare` sees to that before it joins. */
  static async start(
    dir: string,
    url: string,
    prepare: (workspace: Workspace) => Promise<void> = async () => undefined,
  ): Promise<JoinedHost> {
    mkdirSync(dir, { recursive: true });
    const workspace = openWorkspace({
      workspace: join(dir, ".agent-workspace"),
      cwd: dir,
      make: true,
      config: { grace: "0" },
    });
    await prepare(workspace);
    const fleet = await FleetLink.open({ servers: [url], name: "bench" }, FLEET, "person");
    const args = [CLI, "up", "--no-http", "--workspace", workspace.root, "--join", url, "--name", HOST];
    const child = spawn(process.execPath, args, { cwd: dir, stdio: "ignore" });
    const host = new JoinedHost(workspace, fleet, child);
    try {
      for (const until = performance.now() + JOIN_MS; !(await fleet.isThere(HOST)); await sleep(100))
        if (performance.now() > until || child.exitCode !== null) throw new Error("the host did not join");
      return host;
    } catch (error) {
      await host[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    const hard = setTimeout(() => this.#child.kill("SIGKILL"), END_MS);
    await this.#end;
    clearTimeout(hard);
    await this.fleet.close();
    this.workspace.close();
  }
}
