/** The environment a keeper starts with: ours without any trace of a run that we ourselves may be part of. */

const NONCE_PATH = /^\/tmp\/mw-[0-9a-f]{32}(\/|$)/;
/** The folder of a program that some midwatch put on PATH for the runs that it started. */
const OWN_COMMAND = /\/midwatch\/bin\/[0-9a-f]{16}$/;
/** What midwatch sets for the processes of a run. */
const OF_A_RUN = [
  "MIDWATCH_NONCE",
  "MIDWATCH_AGENT",
  "MIDWATCH_RUN",
  "MIDWATCH_WORKSPACE",
  "MIDWATCH_CAPABILITY",
  "MIDWATCH_RIGHTS",
];

export const isOwnCommand = (part: string): boolean => OWN_COMMAND.test(part);

export function withoutOuterRun(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const clean: NodeJS.ProcessEnv = { ...env };
  for (const name of OF_A_RUN) delete clean[name];
  // How this host reaches the hub of its fleet is no agent's business.
  for (const name of Object.keys(clean)) if (name.startsWith("MIDWATCH_NATS_")) delete clean[name];
  if (NONCE_PATH.test(clean["TMPDIR"] ?? "")) delete clean["TMPDIR"];
  if (clean["PATH"] !== undefined) {
    clean["PATH"] = clean["PATH"]
      .split(":")
      .filter((part) => !NONCE_PATH.test(part) && !isOwnCommand(part))
      .join(":");
  }
  return clean;
}
