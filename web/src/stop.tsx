/** Stop and restart: asked once more, then done, then the receipt. */
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Report } from "../../src/core/types.ts";
import { type Act, act } from "./act.ts";
import { type Items, post } from "./api.ts";
import { shortName } from "./fleet.ts";
import { Button, Failed } from "./parts/bits.tsx";
import { Dialog } from "./parts/dialog.tsx";
import { ReportView } from "./parts/report.tsx";
import { agentLink, go } from "./route.ts";

/** Receipts of this visit, by `agent.run`. */
export const reports = signal<ReadonlyMap<string, Report>>(new Map());

function close(): void {
  act.value = undefined;
}

export function ActDialog(): JSX.Element | null {
  const now = act.value;
  if (now === undefined) return null;
  return now.kind === "stop" ? <Stop key={now.item.agent} item={now.item} /> : <Restart item={now.item} />;
}

function Stop({ item }: Pick<Act, "item">): JSX.Element {
  const reason = useSignal("");
  const tree = useSignal(true);
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const report = useSignal<readonly Report[] | undefined>(undefined);
  const stop = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    error.value = undefined;
    try {
      const why = reason.value.trim();
      const { items } = await post<Items<Report>>("stop", {
        agents: [item.agent],
        tree: tree.value,
        ...(why ? { reason: why } : {}),
      });
      report.value = items;
      reports.value = new Map([...reports.value, ...items.map((one) => [`${one.agent}.${one.run}`, one] as const)]);
    } catch (problem) {
      error.value = problem;
    }
    busy.value = false;
  };
  const name = shortName(item.agent);
  if (report.value)
    return (
      <Dialog title={`Receipt of ${name}`} onClose={close}>
        {report.value.map((one) => (
          <div key={one.agent}>
            {(report.value?.length ?? 0) > 1 && <h3>{one.agent}</h3>}
            <ReportView report={one} />
          </div>
        ))}
        <div class="dialog-foot">
          <Button kind="primary" onClick={close}>
            Done
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={`Stop ${name}?`} onClose={close}>
      <form onSubmit={(event) => void stop(event)}>
        <p>
          Every process that it started is ended: politely first, by force after the grace. You get a receipt. Its log
          stays.
        </p>
        <label class="field">
          Why <small>optional, kept with the run</small>
          <input
            value={reason.value}
            maxLength={1000}
            onInput={(event) => {
              reason.value = event.currentTarget.value;
            }}
          />
        </label>
        <label class="tick">
          <input
            type="checkbox"
            checked={tree.value}
            onChange={(event) => {
              tree.value = event.currentTarget.checked;
            }}
          />
          Agents that it started too
        </label>
        {error.value !== undefined && <Failed error={error.value} />}
        <div class="dialog-foot">
          <Button onClick={close}>Let it work</Button>
          <Button kind="danger" icon="stop" type="submit" disabled={busy.value}>
            {busy.value ? "Stopping …" : "Stop it"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Restart({ item }: Pick<Act, "item">): JSX.Element {
  const resume = useSignal(item.driver !== "command");
  const text = useSignal("");
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const restart = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    try {
      await post("restart", { agent: item.agent, ...(resume.value ? { resume: text.value } : {}) });
      close();
      go(agentLink(item.agent));
    } catch (problem) {
      error.value = problem;
    }
    busy.value = false;
  };
  return (
    <Dialog title={`Restart ${shortName(item.agent)}?`} onClose={close}>
      <form onSubmit={(event) => void restart(event)}>
        <p>The next run begins a log of its own; this one is kept.</p>
        {item.driver !== "command" && (
          <>
            <label class="tick">
              <input
                type="checkbox"
                checked={resume.value}
                onChange={(event) => {
                  resume.value = event.currentTarget.checked;
                }}
              />
              Go on with its session instead of beginning anew
            </label>
            {resume.value && (
              <label class="field">
                What it should know <small>optional</small>
                <textarea
                  rows={3}
                  value={text.value}
                  onInput={(event) => {
                    text.value = event.currentTarget.value;
                  }}
                />
              </label>
            )}
          </>
        )}
        {error.value !== undefined && <Failed error={error.value} />}
        <div class="dialog-foot">
          <Button onClick={close}>Not now</Button>
          <Button kind="primary" icon="restart" type="submit" disabled={busy.value}>
            Restart
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
