/** One line of events.log. The first six fields are the seeds'; unknown fields are kept. */
export interface JournalEvent {
  v: 1;
  /** UUIDv7 of the writer; derived from the place for lines of plain shells. */
  id: string;
  interaction: number;
  actor: string;
  type: string;
  content: string;
  timestamp: string;
  task?: string;
  agent?: string;
  to?: string | string[];
  /** The id of the event that led to this one. */
  cause?: string;
  origin?: string;
  /** Only on what a leader writes: void behind the election of a higher term. */
  term?: number;
  data?: unknown;
  [more: string]: unknown;
}
