/**
 * Whether an agent gets on, told from its steps: repeats, cycles, errors and steps that bring nothing new. Values only; which value
 * is too much is the table's. Memory is bounded by the window and by what `Steps` keeps.
 */
import type { RuleName } from "./rules.ts";
import type { LineRange, Step } from "./steps.ts";

export interface Measure {
  rule: RuleName;
  value: number;
  seq: LineRange;
  quote: string;
}

const ERROR_WINDOW = 24;
const LONGEST_CYCLE = 6;
/** Enough for the rounds of the longest cycle that the table may ask for. */
const WINDOW = LONGEST_CYCLE * 8;
/** Polling gives the same answer by nature: it takes three times as much of it to mean something. */
const WAITING_WEIGHT = 1 / 3;

export class Stuck {
  readonly #steps: Step[] = [];
  #idle = 0;

  /** What this step brings each rule to. */
  add(step: Step): Measure[] {
    this.#steps.push(step);
    if (this.#steps.length > WINDOW) this.#steps.shift();
    const weight = step.waits ? WAITING_WEIGHT : 1;
    if (isNews(step)) this.#idle = 0;
    else if (!step.empty) this.#idle += weight;
    const last = (count: number): Step => this.#steps[Math.max(0, this.#steps.length - count)] ?? step;
    const measure = (rule: RuleName, value: number, from: Step, quote: string = step.text): Measure => ({
      rule,
      value: Math.floor(value),
      seq: { from: from.seq.from, to: step.seq.to },
      quote,
    });

    const row = this.#inRow(step);
    const cycle = this.#cycle();
    const since = this.#sinceChange();
    const again = since.filter((other) => same(other, step));
    const measures = [
      measure("repeat", row * weight, last(row)),
      measure("cycle", cycle.rounds * weight, last(cycle.rounds * cycle.length)),
      measure("again", again.length * weight, again[0] ?? step),
      measure("no_news", this.#idle, last(Math.ceil(this.#idle))),
    ];
    if (step.answer !== null && step.error === null) {
      const answered = since.filter(({ answer }) => answer === step.answer);
      measures.push(measure("same_answer", answered.length * weight, answered[0] ?? step));
    }
    if (step.edit !== null) {
      const edits = this.#steps.filter(({ edit }) => edit === step.edit);
      measures.push(measure("same_edit", edits.length, edits[0] ?? step));
    }
    if (step.error !== null) {
      const errors = this.#steps.filter(({ error }) => error === step.error);
      const retries = errors.filter(({ call, answer }) => call === step.call && answer === step.answer);
      const lately = this.#steps.slice(-ERROR_WINDOW).filter(({ error, failed }) => failed && error === step.error);
      measures.push(
        measure("retry", retries.length * weight, retries[0] ?? step, step.errorText),
        measure("same_error", lately.length, lately[0] ?? step, step.errorText),
      );
      if (step.gone) measures.push(measure("gone", errors.length, errors[0] ?? step, step.errorText));
    }
    return measures;
  }

  #inRow(step: Step): number {
    let count = 0;
    while (count < this.#steps.length && same(this.#steps[this.#steps.length - 1 - count], step)) count++;
    return count;
  }

  /** The most rounds of one cycle at the end of the window. */
  #cycle(): { rounds: number; length: number } {
    const count = this.#steps.length;
    let best = { rounds: 1, length: 1 };
    for (let length = 2; length <= LONGEST_CYCLE; length++) {
      let covered = Math.min(length, count);
      while (covered < count && same(this.#steps[count - 1 - covered], this.#steps[count - 1 - covered + length])) {
        covered++;
      }
      const rounds = Math.floor(covered / length);
      if (rounds > best.rounds) best = { rounds, length };
    }
    return best;
  }

  /** The newest steps up to the last change: after one it is right to look again. */
  #sinceChange(): Step[] {
    return this.#steps.slice(this.#steps.findLastIndex(({ wrote }) => wrote) + 1);
  }
}

/** Something that the run had not seen or not done before. */
export function isNews(step: Step): boolean {
  return step.wrote || step.changed || (step.fresh > 0 && step.again === 0);
}

function same(a: Step | undefined, b: Step | undefined): boolean {
  return a !== undefined && b !== undefined && a.call === b.call && a.result === b.result;
}
