/**
 * The window of rows that is in the document, and where it stands. The scroll bar stands for the whole log, whatever its length
 * and however tall its rows are:
 *
 * - The space has a height of its own, at most MOST_HEIGHT (browsers stop at some 16 to 33 million pixels). Rows of a window of
 *   lines stand in it at `top`, in their natural height.
 * - Scrolling within reach of the window moves the window along and keeps the row at the top of the view where it is.
 * - Dragging the bar out of reach goes to the line at that share of the log.
 * - When the scrolling rests, bar and window are put where they belong together; nothing moves on the screen.
 */
import { type Signal, signal } from "@preact/signals";

const ROW_HEIGHT = 26;
const MOST_HEIGHT = 6_000_000;
/** Lines on each side of the one that is looked at. */
const HALF = 90;
const REST_MS = 140;
const AT_END_PX = 24;

export interface Lines {
  readonly lines: Signal<number>;
  need(from: number, to: number): Promise<void>;
}

export interface Range {
  from: number;
  to: number;
}

interface Anchor {
  line: number;
  /** Pixels from the top of the view. */
  at: number;
}

export class Viewport {
  /** Lines that are in the document; the view renders them and calls `settle`. */
  readonly range = signal<Range>({ from: 1, to: 0 });
  /** The line at the top of the view. */
  readonly topLine = signal(1);
  readonly following = signal(false);
  readonly busy = signal(false);
  readonly #lines: Lines;
  #scroller: HTMLElement | undefined;
  #space: HTMLElement | undefined;
  #rows: HTMLElement | undefined;
  #top = 0;
  #anchor: Anchor | "end" | undefined;
  /** Somebody is scrolling: the bar is theirs. */
  #keepBar = false;
  #wanted = 0;
  #coming = 0;
  #lastSet = -1;
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  attach(scroller: HTMLElement, space: HTMLElement, rows: HTMLElement): void {
    this.#scroller = scroller;
    this.#space = space;
    this.#rows = rows;
  }

  /** Shows a line, a third from the top so that what led to it is in sight. */
  async goTo(line: number): Promise<void> {
    this.following.value = false;
    const target = Math.min(Math.max(1, line), Math.max(1, this.#lines.lines.peek()));
    await this.#show(target, { line: target, at: Math.round(this.#view() / 3) });
  }

  async goToEnd(follow: boolean): Promise<void> {
    this.following.value = follow;
    await this.#show(this.#lines.lines.peek(), "end");
  }

  toggle(): void {
    if (this.following.peek()) this.following.value = false;
    else void this.goToEnd(true);
  }

  /** Lines have come: a view that follows goes on with them. */
  async grown(): Promise<void> {
    if (this.following.peek()) return await this.#show(this.#lines.lines.peek(), "end");
    const { from, to } = this.range.peek();
    // Nobody has said yet what is to be looked at, or it is on its way.
    if (to === 0 || this.#coming > 0) return;
    // The last rows are in sight but are not followed: those behind them can be reached.
    if (to < this.#lines.lines.peek() && to - from < 2 * HALF) await this.#moveAlong();
    else this.#fit();
  }

  onScroll(): void {
    const scroller = this.#scroller;
    if (scroller === undefined) return;
    const ours = Math.abs(scroller.scrollTop - this.#lastSet) < 2;
    if (!ours) {
      this.#lastSet = -1;
      const left = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
      const atEnd = left < AT_END_PX && this.range.peek().to >= this.#lines.lines.peek();
      this.following.value = atEnd;
      void this.#reach(scroller);
      clearTimeout(this.#rest);
      this.#rest = setTimeout(() => this.#settleDown(), REST_MS);
    }
    this.#note();
  }

  /** After the rows of `range` are in the document: puts them where they belong. */
  settle(): void {
    this.#fit();
    this.#note();
  }

  async #reach(scroller: HTMLElement): Promise<void> {
    const { from, to } = this.range.peek();
    const view = scroller.clientHeight;
    const start = scroller.scrollTop;
    const end = this.#top + this.#height();
    if (start + view < this.#top || start > end) {
      const share = start / Math.max(1, scroller.scrollHeight - view);
      const line = Math.round(1 + share * (this.#lines.lines.peek() - 1));
      return await this.#show(line, { line, at: 0 });
    }
    const above = start < this.#top + view && from > 1;
    const below = start + view > end - view && to < this.#lines.lines.peek();
    if (above || below) await this.#moveAlong();
  }

  async #moveAlong(): Promise<void> {
    const anchor = this.#seen();
    await this.#show(anchor?.line ?? this.range.peek().from, "seen");
  }

  /** Moves the window to these lines once they are here. A later wish wins. */
  async #show(line: number, anchor: Anchor | "end" | "seen"): Promise<void> {
    const wanted = ++this.#wanted;
    const last = this.#lines.lines.peek();
    const from = Math.max(1, Math.min(line - HALF, last - 2 * HALF));
    const to = Math.min(last, from + 2 * HALF);
    const slow = setTimeout(() => {
      this.busy.value = true;
    }, 120);
    this.#coming++;
    await this.#lines.need(from, to);
    this.#coming--;
    clearTimeout(slow);
    if (wanted !== this.#wanted) return;
    this.busy.value = false;
    // The view may have been scrolled on while the lines came.
    this.#anchor = anchor === "seen" ? this.#seen() : anchor;
    this.#keepBar = anchor === "seen";
    const old = this.range.peek();
    if (old.from === from && old.to === to) this.#fit();
    else this.range.value = { from, to };
  }

  #view(): number {
    return this.#scroller?.clientHeight ?? 0;
  }

  #height(): number {
    return this.#rows?.offsetHeight ?? 0;
  }

  /** The height of the space: true when all rows are there, else as if each line had an ordinary height. */
  #whole(): number {
    const { from, to } = this.range.peek();
    const lines = this.#lines.lines.peek();
    if (from <= 1 && to >= lines) return this.#height();
    return Math.min(MOST_HEIGHT, Math.max(lines * ROW_HEIGHT, this.#height() + 2 * this.#view()));
  }

  /** Puts space, rows and bar so that the anchor is where it should be. */
  #fit(): void {
    const [scroller, space, rows] = [this.#scroller, this.#space, this.#rows];
    if (!scroller || !space || !rows) return;
    const anchor = this.#anchor ?? this.#seen();
    this.#anchor = undefined;
    const { from, to } = this.range.peek();
    const lines = this.#lines.lines.peek();
    const whole = this.#whole();
    const height = this.#height();
    space.style.height = `${whole}px`;
    const within = anchor === "end" ? height - this.#view() : anchor ? this.#offset(anchor.line) - anchor.at : 0;
    const share = (from - 1 + (within / Math.max(1, height)) * (to - from + 1)) / Math.max(1, lines);
    const bar = this.#keepBar ? scroller.scrollTop : Math.round(share * Math.max(0, whole - this.#view()));
    this.#keepBar = false;
    let top = bar - within;
    if (from <= 1) top = 0;
    else if (to >= lines) top = whole - height;
    else top = Math.min(Math.max(0, top), whole - height);
    this.#scrollTo(Math.max(0, top + within));
    // A browser scrolls to whole pixels: what it leaves, the rows take up, where they need not meet an end of the log.
    if (from > 1 && to < lines) top = scroller.scrollTop - within;
    this.#place(top);
  }

  /** The scrolling rests: the bar may be put right without anybody being moved. */
  #settleDown(): void {
    if (!this.following.peek() && this.busy.peek() === false) this.#fit();
  }

  #place(top: number): void {
    this.#top = top;
    if (this.#rows) this.#rows.style.transform = `translateY(${top}px)`;
  }

  #scrollTo(px: number): void {
    const scroller = this.#scroller;
    if (!scroller || Math.abs(scroller.scrollTop - px) < 1) return;
    scroller.scrollTop = px;
    this.#lastSet = scroller.scrollTop;
  }

  #offset(line: number): number {
    const row = this.#rowAt(line);
    return row === undefined ? 0 : this.#below(row);
  }

  /** How far a row stands below the first; offsetTop is rounded, and of other rows above it rounded otherwise. */
  #below(row: HTMLElement): number {
    return row.getBoundingClientRect().top - (this.#rows?.getBoundingClientRect().top ?? 0);
  }

  /** The row of this line, or the next one: empty lines have none. */
  #rowAt(line: number): HTMLElement | undefined {
    for (const child of this.#rows?.children ?? [])
      if (Number((child as HTMLElement).dataset["seq"]) >= line) return child as HTMLElement;
    return (this.#rows?.lastElementChild ?? undefined) as HTMLElement | undefined;
  }

  /** The first row in sight. */
  #seen(): Anchor | undefined {
    const start = (this.#scroller?.scrollTop ?? 0) - this.#top;
    const children = this.#rows?.children;
    if (!children || children.length === 0) return undefined;
    let low = 0;
    let high = children.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = children[middle] as HTMLElement;
      if (row.offsetTop + row.offsetHeight > start) high = middle;
      else low = middle + 1;
    }
    const row = children[low] as HTMLElement;
    return { line: Number(row.dataset["seq"]), at: this.#below(row) - start };
  }

  #note(): void {
    const line = this.#seen()?.line;
    if (line !== undefined) this.topLine.value = line;
  }
}
