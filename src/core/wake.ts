/** What a run waits for that has everything but a process: a turn under `max_running`, or a budget. */
export interface Wake {
  on: "room" | "budget";
  /** In one sentence, with what to type where a person can change it. */
  why: string;
  /** It is not started before; null where no time decides it. */
  not_before: string | null;
}
