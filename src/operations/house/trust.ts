import { MidwatchError } from "../../core/errors.ts";
import { type TrustedConfig, type TrustRecord, trustProject, type Workspace } from "../../fleet/workspace.ts";
import { type Context, type Operation, operation, type RenderOptions, workspaceOf, z } from "../operation.ts";
import { paint, table } from "../render.ts";

interface Trusted extends Omit<TrustRecord, "workspace"> {
  /** Null before there is one. */
  workspace: string | null;
  recorded: "config" | "workspace" | null;
}

export const trust: Operation = operation({
  name: "trust",
  summary: "Let the configuration of this project, or its workspace, act on this machine",
  details:
    "midwatch.config.json comes with the project. What in it runs code, reaches the network, reads secrets or deletes counts only when you trusted the file as it is: path and SHA-256 are recorded in $XDG_STATE_HOME/midwatch, outside of every project, and a changed file is untrusted again. A workspace that you did not make here (cloned, copied, moved, or of 0.1) is only read. `midwatch trust --workspace` lists what lives and what waits in it, and takes it over. Scripts can set MIDWATCH_TRUST=SHA256[,SHA256] for a configuration; inside a run that has no effect.",
  positionals: [],
  input: z.strictObject({
    take_over: z
      .boolean()
      .describe("What `trust --workspace` means: adopt what lives in the workspace, start what is queued")
      .default(false),
    show: z.boolean().describe("Only show what would act").default(false),
  }),
  changes: true,
  cliOnly: true,
  examples: ["midwatch trust --show", "midwatch trust", "midwatch trust --workspace"],
  run: async (context, { take_over, show }): Promise<Trusted> => {
    using workspace = existing(context);
    if (workspace === undefined) {
      if (take_over)
        throw new MidwatchError("NOT_FOUND_WORKSPACE", "There is no workspace here.", {
          hint: "`midwatch run` makes one.",
        });
      const config = trustProject(context.cwd, context.env, show);
      return { workspace: null, ours: false, why: null, runs: [], config, recorded: show ? null : "config" };
    }
    const before = await workspace.trust.look();
    if (show) return { ...before, recorded: null };
    if (take_over) await workspace.trust.workspace();
    else workspace.trust.config();
    const recorded = take_over ? "workspace" : "config";
    return { ...before, ...(take_over ? { ours: true, why: null } : { config: trusted(before.config) }), recorded };
  },
  render,
  next: ({ recorded, ours, workspace }) =>
    recorded === null ? (workspace !== null && !ours ? "midwatch trust --workspace" : "midwatch trust") : "midwatch",
});

function trusted(config: TrustedConfig | null): TrustedConfig | null {
  return config && { ...config, trusted: true, modules: config.modules.map((one) => ({ ...one, trusted: true })) };
}

function existing(context: Context): Workspace | undefined {
  try {
    // What it has to say is this command's answer.
    return workspaceOf({ ...context, notice: () => undefined });
  } catch (error) {
    if (error instanceof MidwatchError && error.code === "NOT_FOUND_WORKSPACE") return undefined;
    throw error;
  }
}

function render({ workspace, ours, why, runs, config, recorded }: Trusted, options: RenderOptions): string {
  const lines: string[] = [];
  if (workspace !== null) {
    const state = ours ? paint("yours", "green", options) : paint(`only read: ${why}`, "yellow", options);
    lines.push(`workspace  ${workspace}: ${state}`);
    if (runs.length === 0) lines.push("  nothing lives or waits in it");
    else
      lines.push(
        table(
          runs.map(({ agent, phase, queued, command }) => [`  ${agent}`, queued ? "queued" : phase, command]),
          options,
        ),
      );
  }
  if (config === null) lines.push("config     none");
  else {
    const state = config.trusted ? paint("trusted", "green", options) : paint("not trusted", "yellow", options);
    lines.push(`config     ${config.path}: ${state}`, `  SHA-256  ${config.sha256}`);
    for (const { name, value } of config.settings) lines.push(`  ${name} = ${value}`);
    for (const one of config.modules) lines.push(`  runs the code of ${one.path}`);
    if (config.settings.length === 0) lines.push("  nothing in it needs trust");
  }
  if (recorded === "config") lines.push("The configuration counts from now on, as it is.");
  if (recorded === "workspace") lines.push("The workspace is yours from now on.");
  return lines.join("\n");
}
