/** Things that keep a busy stream from filling a page or a server. */

/** The last few of very many, in a list that never grows beyond its room. */
export class Ring<T> {
  private items: T[] = [];
  private start = 0;

  constructor(readonly room: number) {}

  push(item: T): void {
    if (this.items.length < this.room) this.items.push(item);
    else {
      this.items[this.start] = item;
      this.start = (this.start + 1) % this.room;
    }
  }

  get size(): number {
    return this.items.length;
  }

  /** The last so many, the newest first. */
  last(count: number): T[] {
    const found: T[] = [];
    for (let i = 1; i <= Math.min(count, this.items.length); i++) {
      const place = (this.start + this.items.length - i) % this.items.length;
      found.push(this.items[place] as T);
    }
    return found;
  }
}

/** Milliseconds to wait: never sooner than `soonest` after the last begin, and four times what that one took, up to a second and a half. */
export function pace(since: number, took: number, soonest: number): number {
  return Math.max(0, Math.max(soonest, Math.min(took * 4, 1500)) - since);
}
