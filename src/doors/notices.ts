/** What a person should know of an answer: some, and how many more. A journal may have a million bad lines. */
const MOST = 20;

export class Notices {
  readonly #told: string[] = [];
  #more = 0;

  tell(text: string): void {
    if (this.#told.length < MOST) this.#told.push(text);
    else this.#more++;
  }

  all(): string[] {
    return this.#more === 0 ? [...this.#told] : [...this.#told, `and ${this.#more} more`];
  }
}
