/** Neutral calls as the tools that a client offers: the same script drives every CLI. */
import type { Tool, ToolCall } from "./dialect.ts";
import type { Call } from "./scenario.ts";

type Input = ToolCall["input"];
type Offer = Readonly<Record<string, (first: string, second: string) => Input>>;

const described = (command: string): Input => ({ command, description: "Does what the script says" });

const SHELLS: Offer = {
  Bash: described,
  bash: described,
  run_shell_command: described,
  // The longest time it may wait: a command that takes longer is otherwise answered while it runs.
  exec_command: (cmd) => ({ cmd, yield_time_ms: 30_000 }),
};
const WRITERS: Offer = {
  Write: (file_path, content) => ({ file_path, content }),
  write_file: (file_path, content) => ({ file_path, content }),
  write: (filePath, content) => ({ filePath, content }),
  // Codex takes this command for the edit that it is.
  exec_command: (path, content) => ({ cmd: `apply_patch <<'EOF'\n${addition(path, content)}\nEOF\n` }),
};
const READERS: Offer = {
  Read: (file_path) => ({ file_path }),
  read_file: (file_path) => ({ file_path }),
  read: (filePath) => ({ filePath }),
  exec_command: (path) => ({ cmd: `cat '${path}'` }),
};

/** Null when the client offers nothing of the kind. */
export function toolFor(call: Call, tools: readonly Tool[]): ToolCall | null {
  if ("bash" in call) return offered(tools, SHELLS, call.bash);
  if ("write" in call) return offered(tools, WRITERS, call.write, call.content);
  if ("read" in call) return offered(tools, READERS, call.read);
  if ("own" in call) {
    const own = tools.find(({ name }) => name === call.own);
    return own === undefined ? null : { ...own, input: call.input };
  }
  const names = [`mcp__${call.mcp}__${call.tool}`, `mcp_${call.mcp}_${call.tool}`, `${call.mcp}_${call.tool}`];
  const tool = tools.find(({ name, namespace }) =>
    namespace === undefined ? names.includes(name) : name === call.tool && namespace.endsWith(call.mcp),
  );
  return tool === undefined ? null : { ...tool, input: call.input };
}

function offered(tools: readonly Tool[], offer: Offer, first: string, second = ""): ToolCall | null {
  const tool = tools.find(({ name }) => name in offer);
  const input = tool && offer[tool.name]?.(first, second);
  return tool && input ? { name: tool.name, namespace: tool.namespace, input } : null;
}

/** A new file as a patch: every line of it ends with a newline. */
function addition(path: string, content: string): string {
  const lines = content.replace(/\n$/, "").split("\n");
  return ["*** Begin Patch", `*** Add File: ${path}`, ...lines.map((line) => `+${line}`), "*** End Patch"].join("\n");
}
