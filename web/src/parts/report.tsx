/** The receipt of a stop: what was ended, by what, and the proof. */
import type { JSX } from "preact";
import type { Report } from "../../../src/core/types.ts";
import { bytes, plural } from "../format.ts";
import { Icon } from "./icon.tsx";

const PROOF = {
  cgroup: "its cgroup is empty",
  subreaper: "its keeper has no child left",
  scan: "no process with its mark was found in two looks",
};

export function ReportView({ report }: { report: Report }): JSX.Element {
  const { verified, guarantee, processes, processes_total, left, files, freed_bytes, took_ms, already_stopped } =
    report;
  const done = files.filter(({ action }) => action !== "missing");
  return (
    <div class="report">
      <p class={verified ? "proof ok" : "proof bad"}>
        <Icon name={verified ? "check" : "warn"} />
        <span>
          <b>{verified ? "Nothing is left" : "Not proven to be gone"}</b>
          {verified && guarantee ? ` · ${PROOF[guarantee]}` : ""}
        </span>
      </p>
      <p class="meta">
        {plural(processes_total, "process", "processes")} ended
        {already_stopped ? "" : ` in ${took_ms} ms`} · {left.length} left
        {done.length > 0 ? ` · ${plural(done.length, "file")}, ${bytes(freed_bytes)} freed` : ""}
      </p>
      <ul class="processes">
        {left.map(({ pid, name, why }) => (
          <li class="problem" key={pid}>
            <code>{pid}</code> {name}: {why}
          </li>
        ))}
        {processes.slice(0, 50).map(({ pid, name, ended_by }) => (
          <li key={pid}>
            <code>{pid}</code> {name} <span class="meta">{ended_by}</span>
          </li>
        ))}
      </ul>
      {files
        .filter(({ error }) => error !== null)
        .map(({ path, error }) => (
          <p class="problem" key={path}>
            {path}: {error}
          </p>
        ))}
    </div>
  );
}
