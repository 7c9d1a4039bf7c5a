/** Starting an agent: a prompt for an agent CLI, or any command. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { type Items, post } from "./api.ts";
import { argvOf } from "./argv.ts";
import { tasks } from "./fleet.ts";
import { startOpen } from "./keys.ts";
import { CLIS } from "./log/read.ts";
import { Button, Failed, Segments } from "./parts/bits.tsx";
import { Dialog } from "./parts/dialog.tsx";
import { agentLink, go } from "./route.ts";

interface Started {
  agent: string;
  phase: string;
  error?: { message: string };
}

const PERMISSIONS = [
  ["ask", "as the CLI has it"],
  ["edit", "edit files"],
  ["all", "everything"],
  ["plan", "only plan"],
];

function close(): void {
  startOpen.value = false;
}

export function StartDialog(): JSX.Element {
  const kind = useSignal<"prompt" | "command">("prompt");
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const command = useSignal("");
  const start = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    busy.value = true;
    error.value = undefined;
    try {
      const { items } = await post<Items<Started>>("run", inputOf(form, kind.value));
      const [one] = items;
      if (one?.error) throw new Error(one.error.message);
      close();
      if (one) go(agentLink(one.agent));
    } catch (problem) {
      error.value = problem;
    }
    busy.value = false;
  };
  const words = argvOf(command.value);
  return (
    <Dialog title="Start an agent" onClose={close}>
      <form class="start" onSubmit={(event) => void start(event)}>
        <Segments
          label="What to run"
          value={kind.value}
          onChange={(value) => {
            kind.value = value;
          }}
          of={[
            { value: "prompt", text: "Agent CLI" },
            { value: "command", text: "Any command" },
          ]}
        />
        {kind.value === "prompt" ? (
          <>
            <Field name="What should it do?">
              <textarea name="prompt" rows={4} required placeholder="Fix the failing tests in src/parser" />
            </Field>
            <div class="columns">
              <Field name="CLI">
                <select name="driver">
                  {["", ...CLIS].map((driver) => (
                    <option key={driver} value={driver}>
                      {driver || "the one that is installed"}
                    </option>
                  ))}
                </select>
              </Field>
              <Field name="It may, without asking">
                <select name="permission">
                  {PERMISSIONS.map(([value, text]) => (
                    <option key={value} value={value}>
                      {text}
                    </option>
                  ))}
                </select>
              </Field>
              <Field name="Model" note="optional">
                <input name="model" />
              </Field>
            </div>
          </>
        ) : (
          <Field name="Command" note="no shell is involved">
            <input
              name="command"
              class="mono"
              required
              placeholder="make test"
              value={command.value}
              onInput={(event) => {
                command.value = event.currentTarget.value;
              }}
            />
            <span class="argv" aria-hidden="true">
              {words.map((word, i) => (
                <code key={i}>{word}</code>
              ))}
            </span>
          </Field>
        )}
        <div class="columns">
          <Field name="Name" note="optional">
            <input name="name" />
          </Field>
          <Field name="Role" note="optional">
            <input name="role" />
          </Field>
          <Field name="Task">
            <select name="task">
              <option value="">a new one</option>
              {[...tasks.value.values()].slice(0, 50).map((task) => (
                <option key={task.task} value={task.task}>
                  {task.description.split("\n")[0]?.slice(0, 60) || task.task}
                </option>
              ))}
            </select>
          </Field>
        </div>
        <label class="tick">
          <input type="checkbox" name="worktree" /> A git worktree and branch of its own
        </label>
        <label class="tick">
          <input type="checkbox" name="interactive" /> Keep its input open for messages
        </label>
        {error.value !== undefined && <Failed error={error.value} />}
        <div class="dialog-foot">
          <Button onClick={close}>Not now</Button>
          <Button kind="primary" type="submit" icon="plus" disabled={busy.value}>
            {busy.value ? "Starting …" : "Start"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Field({ name, note, children }: { name: string; note?: string; children: ComponentChildren }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is among the children
    <label class="field">
      <span>
        {name} {note && <small>{note}</small>}
      </span>
      {children}
    </label>
  );
}

/** Only what was filled in: everything else has its default at the operation. */
function inputOf(form: FormData, kind: "prompt" | "command"): object {
  const input: Record<string, unknown> = {};
  for (const name of ["prompt", "driver", "permission", "model", "name", "role", "task"]) {
    const value = String(form.get(name) ?? "").trim();
    if (value !== "") input[name] = value;
  }
  if (kind === "command") {
    input["driver"] = "command";
    input["command"] = argvOf(String(form.get("command") ?? ""));
  }
  for (const name of ["worktree", "interactive"]) if (form.get(name) !== null) input[name] = true;
  return input;
}
